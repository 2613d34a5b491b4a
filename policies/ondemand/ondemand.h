/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of ondemand share; ondemand.c describes the algorithm.
 */
#ifndef IDLED_ONDEMAND_H
#define IDLED_ONDEMAND_H

#include "ondemand/demand.h"
#include "idled-policy.h"

#define SECOND UINT64_C(1000000) /* microseconds */
#define MINUTE (60 * SECOND)

#define CHANGES_MAX 60 /* the largest MaxTransitions */
#define PATIENCE    8

#define WAITING_SHARE   0.25 /* of the time: tasks that come at random wait so, and need no more */
#define SATURATION_USEC UINT64_C(80000) /* the shortest that distinguishes 90 % from less */
_Static_assert(SATURATION_USEC <= 2 * READING_USEC, "two intervals show saturation");

typedef struct OndemandOptions {
        uint64_t period_usec, filter_usec, dwell_usec, max_wait_usec;
        double target, up, down;
        uint64_t min_cores, max_cores, max_transitions;
        int pack_order;
        bool park;
} OndemandOptions;

typedef struct Ondemand {
        Pack pack;
        PackSize kept;
        int n_kept;      /* cores that `kept` means */
        double capacity; /* and their capacity */
        CpuSet parked;   /* the others' CPUs */
        Reason reason;   /* of `kept` */

        bool loaded;          /* `load` and `busiest` have a value */
        double load, busiest; /* filtered */

        bool dwelling;
        uint64_t dwell_since_usec;
        PackSize peak; /* wanted since then, whatever MaxCores is */

        bool parked_last; /* the last change was a parking, at: */
        uint64_t parked_usec;
        unsigned patience; /* how many times Dwell parking takes; 0 is 1 */

        unsigned runnable_before; /* at the end of the call before */
        bool looking;             /* that call asked for a second reading, and this is it */

        uint64_t seen_usec;             /* end of the last interval */
        uint64_t full_usec[CPUSET_MAX]; /* how long a CPU has been saturated, by its number */
        double waited_usec; /* tasks waited this much longer than WAITING_SHARE; up to MaxWait */
        int doubted_cores;  /* waiting proved to need no more cores than this; 0: it did not */

        uint64_t changes_usec[CHANGES_MAX]; /* ring */
        unsigned n_changes;
} Ondemand;

typedef enum Sign {
        SIGN_NONE,
        SIGN_LEAST,     /* MinCores asks for more than is kept */
        SIGN_LOAD,      /* the filtered load */
        SIGN_SATURATED, /* a CPU in use */
        SIGN_FULL,      /* all CPUs in use are saturated */
        SIGN_WAITING,   /* tasks waited for longer than MaxWait */
} Sign;

/* What keeps cores from being parked. */
typedef enum Obstacle {
        OBSTACLE_NONE,  /* nothing: some were */
        OBSTACLE_LEAST, /* MinCores are all */
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
        double waited_usec; /* as of Ondemand, not bounded */
        bool waiting;       /* tasks waited in this interval, too */
        Sign sign;
        Obstacle obstacle;
        bool changed; /* it parked or unparked CPUs */
        bool doubt;   /* it needs a second reading before it does */
        bool filling; /* a task has come that will call for more if it goes on */
} Call;

extern const Setting ondemand_settings[];

/* As IdledPolicy.check. */
const char *ondemand_check(const void *options, const char **ret_key);

/* MinCores and MaxCores on this machine: from 1 to the cores that may be parked; all with Park=no.
 */
int size_min(const Call *call);
int size_max(const Call *call);

/* How long the load must be low before cores are parked. */
uint64_t dwell_time(const Call *call);

/* How many cores `size` means. */
int size_count(const Call *call, PackSize size);

/* `size` with at least `least` cores, within MaxCores. */
PackSize size_resize(const Call *call, PackSize size, int least);

/* The fewest cores, with these `fast` ones, that `load` (in CPUs of the fastest kind) uses to at
 * most TargetUtilization; and the capacity that cores are taken to have for that. */
PackSize size_fitting(const Call *call, double load, int fast);
double size_capacity(const Call *call, PackSize size);

/* What `load`, saturated CPUs and demand for fast cores want. */
PackSize size_wanted(const Call *call, double load);

/* What would be wanted if the CPUs that this interval saturated stayed so, and `more` others were.
 */
PackSize size_if_lasting(const Call *call, double load, int more);

/* What may be parked down to: what `load` wants, and a CPU for each of the tasks. */
PackSize size_to_park(const Call *call, double load, unsigned tasks);

/* As size_to_park(), but not bounded by MaxCores; and whether it is more than that. */
PackSize size_uncapped(const Call *call, double load, unsigned tasks);
bool size_is_capped(const Call *call, PackSize size);

/* True if `size` has a core, or a fast core, more or less than is kept. */
bool size_is_larger(const Call *call, PackSize size);
bool size_is_smaller(const Call *call, PackSize size);

/* True if `load` uses the kept cores to less than DownThreshold, or they are beyond MaxCores. */
bool load_is_low(const Call *call, double load);

/* True if `load` uses the kept cores to more than UpThreshold. */
bool load_is_high(const Call *call, double load);

/* Takes in which CPUs this interval saturated. Once in each call, before demand_read(). */
void sign_note_saturated(const Call *call);

/* Takes in what tasks waited in this interval, and whether that needs more cores. Once in each
 * call. */
void sign_note_waiting(Call *call);

/* The most important sign of this call. */
Sign sign_read(const Call *call);

/* Why `size` is wanted if that is because of `sign`. */
Reason sign_reason(const Call *call, Sign sign, PackSize size);

/* True if tasks waited although the CPUs in use had little to do, and no second reading has
 * followed. */
bool sign_is_doubtful(const Call *call);

/* `because` with the inputs that every decision has. */
Reason reason_new(const Call *call, const char *because, PackSize size);

/* Adds the input that this decision was about, and what it was compared with. */
void reason_input(Reason *reason, const char *name, double value, const char *unit);
void reason_threshold(Reason *reason, const char *option, double threshold, const char *unit);

/* Keeps `size`, whatever it is; if that parks or unparks a CPU it is a change, because of `reason`.
 */
void change_keep(Call *call, PackSize size, const Reason *reason);

/* Keeps what is kept and `size`, or everything if that takes the last change of the budget. */
void change_grow(Call *call, PackSize size, Reason *reason);

/* Keeps the largest size that was wanted during the dwell time, within MaxCores. */
void change_park(Call *call);

/* True if the budget has room for a change and another one after it. */
bool change_has_reserve(const Call *call);

/* Says why all cores are in use. */
void why_all_in_use(Call *call);

#endif
