/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What all parts of the manager stand on: the command line, the event loop, the configuration in
 * effect, and one word for what is due.
 *
 * A part does not call those that use it. It raises what has changed or what is due now (Change and
 * Due flags), and the manager attends to that: before it returns, or, if the loop has called the
 * part, as the next thing that the loop does.
 */
#ifndef IDLED_GROUND_H
#define IDLED_GROUND_H

#include <glib.h>
#include <systemd/sd-event.h>

#include "act/knob/knob.h"
#include "config/config.h"
#include "holds/timer.h"
#include "model/kind.h"
#include "stats/estimate.h"
#include "systemd/unit-control.h"

/* The length of the blocks of trials, how long the machine settles before each, and the share of an
 * hour that they take at most. */
typedef struct TrialPace {
        uint64_t block_usec, washout_usec;
        double duty;
} TrialPace;

/* Where the daemon lives and what it may do; from the command line. */
typedef struct ManagerSetup {
        ConfigPaths paths;
        int root;
        int run;              /* directory of the undo record */
        const char *run_path; /* its name, for messages; NULL: none */
        const char *state;    /* directory for state that outlives a restart; NULL: there is none */
        bool dry_run;         /* decide and publish, write nothing */
        bool keep_log_level;  /* it was given on the command line */
        bool live; /* `root` is the running system: PSI triggers and uevents make sense */
        const TrialPace *pace;    /* of trials, for tests; NULL: the usual one */
        uint64_t (*slept)(void);  /* microseconds that the machine has slept; NULL: by its clocks */
        const UnitControl *units; /* NULL: no systemd */
        bool resets_affinities;   /* as ActContext's, and how that is known */
        const char *affinities;
} ManagerSetup;

/* What changed, for the listener. */
typedef enum Change {
        CHANGE_PARKED = 1 << 0, /* the plan or what is in effect */
        CHANGE_PAUSED = 1 << 1,
        CHANGE_DEGRADED = 1 << 2, /* knobs that failed or were taken over */
        CHANGE_CONFIG = 1 << 3,
        CHANGE_TOPOLOGY = 1 << 4, /* CPUs came or went: objects too */
        CHANGE_MISSING = 1 << 5,  /* something turned out not to be there */
        CHANGE_HOLDS = 1 << 6,    /* holds came or went */
        CHANGE_PROFILE = 1 << 7,  /* the profile in effect, or why */
        CHANGE_LIMITS = 1 << 8,   /* what single CPUs are held to: governor, latency, idle states */
        CHANGE_HOLD_CPUS = 1 << 10,  /* one is about other CPUs than before */
        CHANGE_EVALUATION = 1 << 11, /* what a policy saves */
        CHANGE_TRIAL = 1 << 12,      /* a client's trial came or went */
        CHANGE_REFUSED = 1 << 13,    /* an affinity was refused, or forgotten */
        CHANGE_CONTRACTS = 1 << 14,  /* of units: whose there are, or what a policy found out */
        CHANGE_OBSTACLES = 1 << 9,   /* perhaps: what stands in the way of holds */
} Change;

#define CHANGE_ANY ((1u << 15) - 1)

/* What the manager must do. */
typedef enum Due {
        DUE_TICK = 1 << 28,      /* tick now */
        DUE_TICK_SOON = 1 << 15, /* as soon as the loop is free */
        DUE_READING = 1 << 16,   /* as soon as a reading may differ from the last one */
        DUE_HOLDS = 1 << 17,     /* decide again where holds matter, and act */
        DUE_SAFETY = 1 << 18,    /* decide again by the last reading, and act */
        DUE_REOPEN = 1 << 19,    /* before acting: restore, and open actuators with new options */
        DUE_OPEN = 1 << 27,      /* before acting: open actuators that were not available */
        DUE_STALE = 1 << 20,     /* at the next decision: carry out the plan even if it is the same,
                                    and forget what was carried out */
        DUE_UNSAFE = 1 << 21,    /* at the next decision: make the plan safe again, because what
                                    depends on CPUs changed */
} Due;

/* Whatever is measured now is of no use, for one of the reasons DROP_CONFIG to DROP_CLOCK. */
#define DUE_DROP(why) (1u << (22 + (why)-DROP_CONFIG))

/* These wait for the next decision. */
#define DUE_LATER ((unsigned)(DUE_REOPEN | DUE_OPEN | DUE_STALE | DUE_UNSAFE))

typedef struct Ground {
        ManagerSetup setup;
        sd_event *event;
        Config *config;        /* NULL before the first */
        GPtrArray *unit_kinds; /* of UnitKinds: what holds request, while not paused */
        unsigned due;
        sd_event_source *attend; /* fires when something is due; NULL: not started, or over */
} Ground;

/* CLOCK_MONOTONIC in microseconds. */
static inline uint64_t manager_now(void)
{
        return (uint64_t)g_get_monotonic_time();
}

/* These flags are due. Before the start, and when all is over, they only wait. */
void ground_raise(Ground *ground, unsigned due);

/* Those of the flags that are due, which they are no longer then. */
unsigned ground_take(Ground *ground, unsigned flags);

#endif
