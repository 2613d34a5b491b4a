/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of ondemand share: options, state, and one call of decide(). ondemand.c has the
 * algorithm, docs/ondemand.md the reasons for it.
 */
#ifndef IDLED_ONDEMAND_H
#define IDLED_ONDEMAND_H

#include "idled-policy.h"
#include "ondemand/demand.h"

#define SECOND UINT64_C(1000000) /* microseconds */
#define MINUTE (60 * SECOND)

#define CHANGES_MAX 60 /* the largest MaxTransitions */

typedef struct OndemandOptions {
        uint64_t period_usec, filter_usec, dwell_usec, max_wait_usec;
        double target, up, down;
        uint64_t min_cores, max_cores, max_transitions;
        int pack_order;
        char **kinds; /* that come first, in this order */
        bool park;
} OndemandOptions;

typedef struct Ondemand {
        Pack pack;
        PackSize active; /* the other cores are parked */
        Reason reason;   /* for `active` */

        uint64_t seen_usec;                   /* end of the last interval; 0: load is not known */
        Load load;                            /* filtered */
        uint64_t full_since_usec[CPUSET_MAX]; /* by CPU number; 0: it is not full */
        double waited_usec;       /* that tasks waited beyond WAITING_SHARE, up to MaxWait */
        int doubted_cores;        /* waiting that calls for no more cores than this is doubted */
        unsigned runnable_before; /* at the end of the last call */
        bool checking;            /* that call requested a second reading, and this is it */

        uint64_t low_since_usec; /* fewer cores suffice since then; 0: they do not */
        PackSize peak;           /* the largest size wanted since then, whatever MaxCores is */
        uint64_t parked_usec;    /* the last change was a parking, at this time; 0: it was not */
        unsigned patience;       /* how many times Dwell parking takes */
        uint64_t changes_usec[CHANGES_MAX]; /* the last changes, newest first; 0: none */
} Ondemand;

typedef enum Sign {
        SIGN_NONE,
        SIGN_LEAST,     /* MinCores or a contract requests more than are active */
        SIGN_LOAD,      /* the filtered load */
        SIGN_SATURATED, /* an active CPU */
        SIGN_FULL,      /* all active CPUs are saturated */
        SIGN_WAITING,   /* tasks waited for longer than MaxWait */
} Sign;

/* What keeps cores from being parked. */
typedef enum Obstacle {
        OBSTACLE_NONE,  /* nothing: some were */
        OBSTACLE_LEAST, /* all are requested by MinCores, a contract or Park=no */
        OBSTACLE_SIGN,  /* more are needed */
        OBSTACLE_DOUBT, /* a second reading decides whether more are needed */
        OBSTACLE_LOAD,  /* uses them */
        OBSTACLE_SIZE,  /* no fewer are wanted */
        OBSTACLE_DWELL,
        OBSTACLE_BUDGET, /* of changes */
        OBSTACLE_TASKS,  /* of this moment */
} Obstacle;

/* One call of decide(). */
typedef struct Call {
        Ondemand *self;
        const PolicyInput *input;
        const OndemandOptions *options;
        uint64_t now_usec;
        Demand demand;
        int n_active;       /* cores that are active */
        double capacity;    /* and their capacity */
        double waited_usec; /* as of Ondemand, but not bounded */
        bool waiting;       /* tasks waited in this interval, and for MaxWait by now */
        bool doubt;         /* it needs a second reading before it grows */
        bool filling;       /* a task has come that will call for more if it goes on */
        bool changed;       /* it parked or unparked CPUs */
        Sign sign;
        Obstacle obstacle;
} Call;

extern const Setting ondemand_settings[];

/* The kinds that the option names, of which only the first of each counts. */
PackKinds ondemand_kinds(const OndemandOptions *options);

/* As IdledPolicy.check. */
const char *ondemand_check(const void *options, const char **ret_key);

/* As IdledPolicy.unmet: numbers of cores that the machine does not have. */
int ondemand_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max);

/* Size (size.c). MinCores, or what a contract requests if that is more, and MaxCores on this
 * machine: from 1 to the cores that may be parked; all with Park=no. */
int size_min(const Call *call);
int size_max(const Call *call);

/* How full the load may make the active cores: TargetUtilization, or UpThreshold where contracts
 * judge delays. */
double size_target(const Call *call);
PackSize size_all(const Call *call);

/* How many cores a size has, and their capacity in CPUs of the fastest kind. */
int size_count(const Call *call, PackSize size);
double size_capacity(const Call *call, PackSize size);

/* `size` with at least `least` cores, within MaxCores. */
PackSize size_resize(const Call *call, PackSize size, int least);

/* The fewest cores, `fast` of them fast, that `work` uses to at most
 * size_target(). */
PackSize size_fitting(const Call *call, double work, int fast);

/* What `load`, saturated CPUs and demand for fast cores want. */
PackSize size_wanted(const Call *call, Load load);

/* The same if the CPUs that were full in this interval stay so, and `more` others become it. */
PackSize size_if_full(const Call *call, Load load, int more);

/* What may be parked down to: what `load` wants, and a CPU for each of the tasks; `max` cores. */
PackSize size_to_park(const Call *call, Load load, unsigned tasks, int max);

/* True if Kinds= keeps tasks off fast cores that `size` lacks. */
bool size_is_kept(const Call *call, PackSize size);

/* True if `size` has more cores than MaxCores. */
bool size_is_capped(const Call *call, PackSize size);

/* True if `size` has a core, or a fast core, more or less than are active. */
bool size_is_larger(const Call *call, PackSize size);
bool size_is_smaller(const Call *call, PackSize size);

/* True if `load` uses the active cores to less than DownThreshold, or they are beyond MaxCores. */
bool load_is_low(const Call *call, Load load);

/* True if `load` uses the active cores to more than UpThreshold. */
bool load_is_high(const Call *call, Load load);

/* How long the load must be low before cores are parked. */
uint64_t dwell_time(const Call *call);

/* Explanations (explain.c): why cores are unparked because of `sign`, also if that was the last
 * change of the budget; why they are parked; and why all are active. */
Reason explain_sign(const Call *call, Sign sign, PackSize size);
Reason explain_last_change(const Call *call, PackSize size);
Reason explain_parking(const Call *call, PackSize size);
Reason explain_start(const Call *call);
Reason explain_all_active(const Call *call);

/* Why those that are active while others are parked cannot be parked, too. */
Reason explain_some_active(const Call *call);

#endif
