/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mask of unbound workqueues, and its part in isolated partitions.
 */
#ifndef IDLED_PARK_WORKQUEUE_H
#define IDLED_PARK_WORKQUEUE_H

#include "act/park/park-common.h"

/* The CPUs that unbound work may run on, as a mask: what was requested last, which in the kernel's
 * own file may lack the CPUs of isolated partitions. The only name is "cpumask". */
extern const KnobKind park_workqueue_kind;
#define PARK_UNBOUND      "cpumask"
#define PARK_UNBOUND_PATH "sys/devices/virtual/workqueue/" PARK_UNBOUND

/* True if the kernel takes the CPUs of isolated partitions out of the mask (Linux 6.8 and later).
 * Then the mask must not have them when a partition changes. */
bool workqueue_follows_partitions(int root);

/* Before a partition of `before` (empty: none yet) changes to `after`: takes the CPUs of both out
 * of the mask. `online` has at least one more. Does nothing where the kernel does not follow
 * partitions. -EBUSY: another program decides about the mask or isolates CPUs, and the partition
 * must stay as it is; -EROFS and others: the mask cannot be written. `*ret_why` is a new string
 * then, unless it is the record that cannot be written. */
int workqueue_leave(Knobs *knobs, int root, const CpuSet *before, const CpuSet *after,
                    const CpuSet *online, char **ret_why);

/* After the partition changed: the mask is the original without the CPUs of `after`; empty: the
 * original, unless the partition is still there. A failure is noted with the knob only. */
void workqueue_return(Knobs *knobs, int root, const CpuSet *after, const CpuSet *online);

/* True if the mask is kept off a partition of idled's: then the partition alone decides about it.
 */
bool workqueue_is_parked(const Knobs *knobs, int root);

#endif
