/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Refused affinities: sees them while CPUs are parked, and knows which CPUs stay active because of
 * them. model/refused-cpus.h has the rules.
 */
#ifndef IDLED_REFUSALS_H
#define IDLED_REFUSALS_H

#include <systemd/sd-event.h>

#include "model/refused-cpus.h"

typedef struct Refusals Refusals;

typedef struct RefusalsCalls {
        /* Whether thread `target` (0: the caller) could have one of the CPUs if idled had parked
         * none: kernel threads refuse any. `path`: the caller's cgroup, such as
         * "/a.slice/b.service"; NULL: not known. */
        bool (*permits)(const char *path, pid_t target, const CpuSet *cpus, void *userdata);
        bool (*loaded)(const char *unit, const void *userdata);
        void (*act)(void *userdata);    /* other CPUs must be active, now */
        void (*decide)(void *userdata); /* or no longer, soon */
        void (*changed)(void *userdata);
        void (*missing)(void *userdata); /* refusals_error() is another now */
} RefusalsCalls;

/* Reads the services of an earlier instance from the directory `state`, which must outlive it.
 * NULL: there is none. Writes them only if it may `keep` them. */
Refusals *refusals_new(sd_event *event, const char *state, bool keep, const RefusalsCalls *calls,
                       void *userdata);
void refusals_free(Refusals *refusals);

/* Watches from now on if CPUs are parked: these, of those that are online. */
void refusals_follow(Refusals *refusals, const Topology *topology, const CpuSet *parked);

/* Ends to watch. */
void refusals_rest(Refusals *refusals);

/* Why refusals go unseen, as negative errno of the last parking; 0: they do not. */
int refusals_error(const Refusals *refusals);

/* What is known. */
const RefusedTable *refusals_table(const Refusals *refusals);

/* CPUs that must be active; valid until the next call. */
const Affinities *refusals_affinities(Refusals *refusals);

/* refused_forget(), also on the disk. */
unsigned refusals_forget(Refusals *refusals, const char *unit);

#endif
