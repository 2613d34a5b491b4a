/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the ways of parking share. For these files only.
 */
#ifndef IDLED_PARK_COMMON_H
#define IDLED_PARK_COMMON_H

#include "act/park/park.h"

/* True if both are lists of the same CPUs. */
bool park_cpus_equal(const char *a, const char *b);

/* The CPUs that this machine can ever have; -EOPNOTSUPP if the kernel does not say. */
int park_possible(int root, CpuSet *ret_cpus);

/* True if the kernel is Linux `major`.`minor` or newer; false if it does not say. */
bool park_kernel_is(int root, int major, int minor);

/* Names of the groups directly below `group` ("" is the root) as a new string vector, whole
 * paths. */
typedef int (*ParkList)(void *userdata, const char *group, char ***ret_children);

/*
 * Chooses the groups to confine: the highest groups that match `units`, or are below one that does,
 * and neither match `exclude` nor have a group below them that does. Globs are matched with the
 * whole path and with its last component; '*' matches '/' too. Groups are listed only if needed:
 * without excluded groups, those below a matching group are not read.
 */
int park_select(const ParkOptions *options, ParkList list, void *userdata, char ***ret_groups);

/* The CPUs that a group with this original may have now: those of the original that are allowed. It
 * is the original itself if all of it is allowed, and also if nothing is, because no group may be
 * left without a CPU. "" means no limit. */
char *park_wanted(const char *original, const CpuSet *allowed, const CpuSet *online);

/* Restores the knobs of `kind` that are not among `keep`. Returns the first error. */
int park_release(Knobs *knobs, const KnobKind *kind, const char *const *keep);

/* The number of the group with that path below the root; a later group of the same name has another
 * one. 0: there is none. */
uint64_t park_group_number(int root, const char *path);

/* A KnobKind's kept_free() where the value is the list of CPUs that tasks may use: those of the
 * original that it lacks. */
CpuSet park_kept_free(const ActContext *context, const Knob *knob);

/* The first of two errors; that a group is gone is none. */
int park_first_error(int first, int error);

/* True if these AllowedCPUs of a unit are CPUs of its own. */
bool park_has_own(const char *original);

/* Whether systemd can limit units here: 0, -EOPNOTSUPP, or its error. */
int park_check_systemd(const ActContext *context);

/* Removes drop-ins of limits that are no longer ours. Returns the first error. */
int park_tidy_dropins(Knobs *knobs);

/* True if systemd runs below this root, and keeps its files there. */
bool park_has_systemd(int root);

/* Where cgroup v2 is, if it is the only one, and how it shares out CPUs. */
#define PARK_UNIFIED    "sys/fs/cgroup"
#define PARK_CONTROLLER "cpuset"

/* Whether children of the root of cgroup v2 have cpusets: "on" or "off". */
extern const KnobKind park_controller_kind;

/* True if they can have. */
bool park_offers_cpusets(int root);

/* What is missing of that, as a new string; NULL: nothing. */
char *park_controller_lacks(int root);

#endif
