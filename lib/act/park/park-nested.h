/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Confining a tree of cgroups in which every group has CPUs of its own: cgroup v1.
 */
#ifndef IDLED_PARK_NESTED_H
#define IDLED_PARK_NESTED_H

#include "act/park/park-common.h"

/* Confines every group of `groups` and all that is below it; `groups` are paths of whole subtrees,
 * parents before their children. Returns the first error. */
int park_nested_apply(const ActContext *context, Knobs *knobs, const KnobKind *kind,
                      const char *const *groups, const CpuSet *allowed, const CpuSet *online);

#endif
