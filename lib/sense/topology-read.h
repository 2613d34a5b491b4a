/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the machine's topology from sysfs.
 */
#ifndef IDLED_TOPOLOGY_READ_H
#define IDLED_TOPOLOGY_READ_H

#include "model/topology-build.h"

/* Reads the machine below `root`. What a kernel does not say is taken as "the same for all". Fails
 * only if no list of CPUs can be read at all, with the errno of the last try. */
int topology_read(int root, Topology **ret_topology);

#endif
