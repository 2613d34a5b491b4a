/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who depends on particular CPUs: affinity masks of tasks, and memory bound to NUMA nodes.
 *
 * The scan visits every thread in /proc and is too dear for every tick: the manager asks before
 * CPUs are to be parked, and no more often than keeps the cost under one percent.
 */
#ifndef IDLED_PINS_H
#define IDLED_PINS_H

#include <glib.h>

#include "model/plan.h"

/* Scans the tasks below `root`/proc. Kernel threads do not count: they are bound to their CPU and
 * parking does not touch them. A task that ends meanwhile is skipped. */
int pins_read(int root, const Topology *topology, Pins **ret_pins);

void pins_free(Pins *pins);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pins, pins_free)

#endif
