/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of ondemand share: options, state, and one call of decide(). ondemand.c has the
 * algorithm, docs/ondemand.md the reasons and the measurements behind it.
 */
#ifndef IDLED_ONDEMAND_H
#define IDLED_ONDEMAND_H

#include "ondemand/demand.h"
#include "ondemand/worth.h"

typedef struct OndemandOptions {
        uint64_t period_usec, filter_usec, dwell_usec, max_wait_usec;
        double target, up, down;
        uint64_t min_cores, max_cores, max_transitions;
        int pack_order;
        bool park, back_off;
} OndemandOptions;

typedef struct Ondemand {
        Pack pack;
        PackSize kept;
        CpuSet parked; /* the CPUs of the other cores */
        Reason reason; /* for `kept` */

        uint64_t seen_usec;       /* end of the last interval; 0: none yet */
        double load;              /* work, filtered over FilterTime */
        float recent[CPUSET_MAX]; /* busy share by CPU number, filtered over a twentieth */
        double waited, runs;      /* waiting share, and runs of tasks a second, over half of it */
        double usual_usec;        /* waiting that more cores do not cure */
        unsigned runnable_before; /* at the end of the last interval */

        uint64_t low_since_usec;  /* fewer cores have sufficed since then; 0: they do not */
        PackSize peak;            /* the largest size wanted since then, whatever MaxCores is */
        uint64_t calm_since_usec; /* the load wants fewer cores than are kept, or not, since then */
        double tokens;            /* changes that may be made now */

        Worth worth;
        bool compared; /* all cores are active to compare: they are parked again without Dwell */
} Ondemand;

typedef enum Sign {
        SIGN_NONE,
        SIGN_LEAST,     /* MinCores asks for more than is kept */
        SIGN_LOAD,      /* the filtered load */
        SIGN_SATURATED, /* an active CPU */
        SIGN_FULL,      /* all active CPUs are saturated */
        SIGN_WAITING,   /* tasks wait too long */
} Sign;

/* What keeps cores from being parked. */
typedef enum Obstacle {
        OBSTACLE_NONE,   /* nothing: some were */
        OBSTACLE_LEAST,  /* MinCores are all, or Park=no */
        OBSTACLE_SIGN,   /* more are needed */
        OBSTACLE_SAVING, /* it saved nothing, or idled measures whether it does */
        OBSTACLE_LOAD,   /* uses them */
        OBSTACLE_SIZE,   /* no fewer are wanted */
        OBSTACLE_DWELL,
        OBSTACLE_BUDGET, /* of changes */
} Obstacle;

/* One call of decide(). */
typedef struct Call {
        Ondemand *self;
        const PolicyInput *input;
        const OndemandOptions *options;
        uint64_t now_usec;
        Demand demand; /* by `recent` */
        Demand limit;  /* by this interval: where `demand` is going */
        unsigned runnable;
        int n_kept;      /* cores that `kept` means */
        double capacity; /* and their capacity */
        Sign sign;
        Obstacle obstacle;
        bool changed; /* it parked or unparked CPUs */
} Call;

extern const Setting ondemand_settings[];

/* As IdledPolicy.check. */
const char *ondemand_check(const void *options, const char **ret_key);

/* Microseconds that a run of a task waited for a CPU, on average over half of FilterTime. */
double waiting_usec(const Ondemand *self);

/* Size (size.c). MinCores and MaxCores on this machine: from 1 to the cores that may be parked. */
int size_min(const Call *call);
int size_max(const Call *call);
PackSize size_all(const Call *call);

/* `size` with at least `least` cores, within MaxCores. */
PackSize size_resize(const Call *call, PackSize size, int least);

/* How many cores a size has, and their capacity in CPUs of the fastest kind. */
int size_count(const Call *call, PackSize size);
double size_capacity(const Call *call, PackSize size);

/* The fewest cores, `fast` of them fast, that `load` uses to at most TargetUtilization. */
PackSize size_fitting(const Call *call, double load, int fast);

/* What `load` and the saturated CPUs of `demand` want, up to `max` cores. */
PackSize size_wanted(const Call *call, const Demand *demand, double load, int max);

/* True if `size` has a core, or a fast core, more or less than is kept. */
bool size_is_larger(const Call *call, PackSize size);
bool size_is_smaller(const Call *call, PackSize size);

/* True if `size` is larger than MaxCores. */
bool size_is_capped(const Call *call, PackSize size);

/* True if `load` uses the kept cores to less than DownThreshold, or they are beyond MaxCores. */
bool load_is_low(const Call *call, double load);

/* True if `load` uses the kept cores to more than UpThreshold. */
bool load_is_high(const Call *call, double load);

/* Seconds until the budget allows to park; 0: it does. */
double budget_wait(const Call *call);

/* Whether parking saves anything (saving.c). What this call is advised to do. */
WorthAdvice saving_watch(const Call *call);

/* True if the next calls measure that, and energy is to be read for it. Once in each call. */
bool saving_wants_energy(const Call *call);

/* Why nothing is parked if saving_watch() forbids it; false if it does not. */
bool saving_explain(const Call *call, Reason *ret_reason);

/* Why all cores are active to measure, or stay active after it. */
Reason saving_reason(const Call *call, WorthAdvice advice);

/* Explanations (explain.c). `because` with the inputs that every decision has. */
Reason reason_new(const Call *call, const char *because, PackSize size);
void reason_input(Reason *reason, const char *name, double value, const char *unit);
void reason_threshold(Reason *reason, const char *option, double threshold, const char *unit);

/* Why cores were unparked, parked, and why all are active. */
Reason explain_sign(const Call *call, Sign sign, PackSize size);
Reason explain_parking(const Call *call, PackSize size);
Reason explain_all_active(const Call *call);

#endif
