/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPUs that the kubelet's static CPU manager gave to containers alone, from the file in which it
 * keeps them.
 */
#ifndef IDLED_KUBELET_H
#define IDLED_KUBELET_H

#include "model/plan.h"

#define KUBELET_DIR   "var/lib/kubelet"
#define KUBELET_STATE "cpu_manager_state"

/* Adds to `affinities` a set of its own for each online CPU in "entries" of the file, because all
 * of them must be active. Owners: "the kubelet's container app (exclusive CPUs 2-3)". Without the
 * file there are none. If it cannot be read, or is not whole (-EBADMSG), any CPU may be a
 * container's: there is a set for each. */
int kubelet_read(int root, const Topology *topology, Affinities *affinities);

#endif
