/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one policy requests, and why.
 *
 * Every field has a value that means "no request", which wish_init() sets. Each field's comment
 * says how the requests of several policies become one plan; plan_merge() in plan.c does it.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_WISH_H
#define IDLED_WISH_H

#include <stdbool.h>

#include "base/cpuset.h"

#define REASON_INPUTS 4

/* Why a policy decided so: one sentence, the inputs it looked at, and the option whose value was
 * the threshold. All strings are static in the policy's module. */
typedef struct Reason {
        const char *because; /* "the filtered load needs fewer cores"; NULL: no reason given */
        struct {
                const char *name; /* "filtered load"; NULL ends the list */
                const char *unit; /* "CPUs", "%", "s", ... */
                double value;     /* in that unit */
        } inputs[REASON_INPUTS];
        const char *option;            /* key of the option behind the decision; NULL: none */
        double threshold;              /* the option's value as configured, in `threshold_unit`; the
                                          inputs were compared with it, unless `effective_because` */
        const char *threshold_unit;    /* NULL: the option's value is no number, see it there */
        double effective;              /* what they were compared with instead, in the same unit */
        const char *effective_because; /* "after 2 reversals"; NULL: the configured value counts */
} Reason;

/* What a policy requests for one CPU's frequency and idle states. */
typedef struct CpuWish {
        int32_t latency_us; /* PM QoS: wake up within this time; 0 forbids every sleep. No request:
                               -1. Merge: minimum. */
        uint16_t disabled;  /* idle states to switch off, bit n for state n of this CPU. No request:
                               0. Merge: union; never all of them. */
        int8_t bias;        /* EPB, 0 (performance) .. 15 (power). No request: -1. Merge: by
                               rank. */
        int8_t boost;       /* 0 or 1. No request: -1. Merge: by rank. */
        uint32_t min_khz;   /* No request: 0. Merge: maximum. */
        uint32_t max_khz;   /* No request: 0. Merge: minimum of the requests; raised to min_khz. */
        const char *governor;   /* that the CPU's FreqPolicy has. No request: NULL. Merge: by
                                   rank. */
        const char *preference; /* EPP. No request: NULL. Merge: by rank. */
} CpuWish;

/* The longest times that are carried out for QuietWish. */
#define QUIET_STAT_MAX_S       3600
#define QUIET_CHECK_MAX_S      86400
#define QUIET_WRITEBACK_MAX_CS 60000

/* What wakes parked CPUs is kept off them, or done less often. It is carried out while CPUs are
 * parked; a window, in which they are active for a moment, changes nothing of it. Times are lower
 * limits for the whole machine: what is longer already, or off, stays. */
typedef struct QuietWish {
        bool interrupts;       /* off parked CPUs. No request: false. Merge: or. */
        bool workqueues;       /* unbound ones, off parked CPUs. No request: false. Merge: or. */
        uint32_t stat_s;       /* vm.stat_interval, seconds. No request: 0. Merge: maximum. */
        uint32_t check_s;      /* of machine checks, seconds. No request: 0. Merge: maximum. */
        uint32_t writeback_cs; /* vm.dirty_writeback_centisecs. No request: 0. Merge: maximum. */
} QuietWish;

typedef struct Wish {
        CpuSet allowed;        /* CPUs for ordinary work. No request: all CPUs. Merge:
                                  intersection. */
        Reason allowed_reason; /* of the set as it is now */
        uint64_t period_usec;  /* call again after this time, READING_USEC at least. The timer has
                                  slack: it may go off a quarter of the period later, together with
                                  others. While all requests are `settled` and nothing changes the
                                  period doubles with each call, up to 12 periods. No
                                  request: 0, never. Merge: minimum. */
        uint64_t wake_at_usec; /* call at this time of CLOCK_MONOTONIC, which is that of
                                  snapshot->time_usec, however the period stretches, and without
                                  slack; READING_USEC from now at the soonest. Ask for it in each
                                  call until the time has come. No request: 0. Merge: minimum. */
        CpuSet kept;           /* CPUs that no policy may park. No request: none. Merge: union. */
        unsigned min_cores;    /* to keep active, whichever policy parks. No request: 0. Merge:
                                  maximum. */
        unsigned max_cores;    /* this many cores of `allowed`, without those that policies of
                                  higher rank take, are enough. idled chooses which: whole clusters
                                  and packages first, the cheapest capacity kept. It takes the
                                  others out of `allowed`. No request: 0. Merge: as `allowed`. */
        int n_cpus;            /* entries of `cpus`: 0, or the topology's number */
        CpuWish *cpus;         /* by CPU number, of policies with WISHES_CPUS; else NULL */
        const char *idle_governor; /* of the kernel: "menu", "teo". No request: NULL. Merge: by
                                      rank. */
        const char *platform;      /* the firmware's profile, as the kernel names it: "quiet". No
                                      request: NULL. Merge: by rank. */
        int32_t global_latency_us; /* of all CPUs, by /dev/cpu_dma_latency, only if a hold requested
                                      just that. No request: -1. Merge: minimum. */
        bool for_saving;  /* it requests something now, and only to save energy: idled measures what
                             that saves, by ignoring it for some seconds now and then, and may
                             ignore it for longer where it costs. With `kept`, no policy of lower
                             rank parks meanwhile. Default: false. Merge: none. */
        QuietWish quiet;  /* see there */
        bool settled;     /* the next calls will decide the same as long as the load stays as it is,
                             so the period may stretch. Set it to false while a dwell time runs, or
                             if the period must stay as it is. No request: true. Merge: and. */
        bool on_pressure; /* call at once when tasks begin to wait for CPUs. No request: false.
                             Merge: or. */
        unsigned reads;   /* Sense flags that the next reading must include in addition to those of
                             `needs`. A snapshot has a difference only if the readings at both its
                             ends had the flag. No request: 0. Merge: union. */
        unsigned contract_cores; /* so many active cores keep the delays of wake-ups within all
                                    contracts: policies of lower rank that park keep as many, within
                                    their own limits, and need not judge for how long tasks wait. No
                                    request: 0, nothing was judged. Merge: maximum. */
        uint32_t p99_us;      /* the limit of a contract (contract.h) for all units that have none,
                                 which counts them as one. No request: 0. Merge: minimum. */
        Reason active_reason; /* why the CPUs of `allowed` are active, if `allowed_reason` is why
                                 others are not. None: `allowed_reason` is of all CPUs. */
} Wish;

/* Requests nothing. */
static inline void wish_init(Wish *wish)
{
        *wish = (Wish){ .settled = true, .global_latency_us = -1 };
        memset(&wish->allowed, 0xff, sizeof(wish->allowed));
}

/* Gives `wish` one empty request for each of `n_cpus` CPUs. The caller keeps ownership of
 * `cpus`. */
static inline void wish_init_cpus(Wish *wish, CpuWish *cpus, int n_cpus)
{
        for (int i = 0; i < n_cpus; i++)
                cpus[i] = (CpuWish){ .latency_us = -1, .bias = -1, .boost = -1 };
        wish->cpus = cpus;
        wish->n_cpus = n_cpus;
}

#endif
