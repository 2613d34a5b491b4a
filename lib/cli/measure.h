/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the machine without the daemon, in the form of the daemon's answers.
 */
#ifndef IDLED_MEASURE_H
#define IDLED_MEASURE_H

#include "cli/json.h"

/* Watches the machine below `root` for so long; the result is as facts.h says. Negative errno if
 * its CPUs or their load cannot be read. */
int measure(int root, uint64_t interval_usec, json_object **ret_facts);

#endif
