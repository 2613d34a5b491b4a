/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking: keeping ordinary work off CPUs, so that they sleep.
 *
 * Three ways, chosen by [Park] Backend:
 *   systemd    AllowedCPUs of all top-level units, over D-Bus
 *   partition  one cgroup without tasks that takes the parked CPUs away from all others; where
 *              systemd runs, that of a slice
 *   cgroup     cpuset.cpus of the top-level cgroups, through libcgroup: cgroup v1, or no systemd
 * None moves a process, and none passes through a state in which all CPUs are active.
 */
#ifndef IDLED_PARK_H
#define IDLED_PARK_H

#include "act/actuator.h"
#include "base/setting.h"

typedef enum ParkBackend {
        PARK_AUTO,
        PARK_SYSTEMD,
        PARK_PARTITION,
        PARK_CGROUP,
        PARK_NONE,
} ParkBackend;

typedef struct ParkOptions {
        int backend;
        char **units;             /* globs of units or cgroups that may be confined; "*": all */
        char **exclude;           /* globs of units or cgroups that never are */
        uint64_t start_window;    /* all CPUs are active for so long after a unit started; 0: not */
        uint64_t terminal_window; /* and after input to a terminal */
} ParkOptions;

/* Section [Park] of idled.conf. */
extern const Setting park_settings[];

/* As IdledPolicy.check: a partition cannot leave out units. */
const char *park_check(const void *options, const char **ret_key);

/* True if the options leave out units or cgroups. */
bool park_restricts_units(const ParkOptions *options);

/* True if changing cpusets resets affinities here and the administrator named no way to park. */
bool park_would_harm(const ActContext *context, const ParkOptions *options);

/* One back end: as Actuator, but chosen by park.c. */
typedef struct ParkBackendOps {
        const char *name;
        int (*open)(const ActContext *context, const ParkOptions *options, void **ret_state);
        char *(*lacks)(const ActContext *context, const ParkOptions *options); /* as Actuator's */
        int (*apply)(void *state, Knobs *knobs, const CpuSet *allowed, const Topology *topology);
        const char *(*describe)(void *state);
        const char *(*groups)(void *state);
        void (*close)(void *state);
        bool confines_all; /* for all groups in one write, later ones too */
} ParkBackendOps;

/* Their knobs: a unit's AllowedCPUs and its drop-in, the parts of the partition, its slice, a
 * cgroup's cpuset.cpus. The kind that park-kinds.c uses is for AllowedCPUs, too. */
extern const KnobKind park_unit_kind, park_dropin_kind, park_partition_kind, park_slice_kind,
        park_cgroup_kind, park_kinds_kind;

/* True if the knob is the drop-in of a limit that park-kinds.c set. */
bool park_is_of_kinds(const Knobs *knobs, const Knob *knob);

extern const ParkBackendOps park_systemd, park_partition, park_cgroup;

#endif
