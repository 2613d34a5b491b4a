/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of cstates share; cstates.c describes the algorithm.
 */
#ifndef IDLED_CSTATES_H
#define IDLED_CSTATES_H

#include "idled-policy.h"
#include "model/weights.h"

typedef struct CstatesOptions {
        char *deepest;
        bool by_utilization, by_history;
        double threshold, release;
        uint64_t dwell_usec, period_usec;
        int idle_governor; /* index of cstates_governors[] */
        char *advised;     /* "": idle_governor auto waits for advice */
} CstatesOptions;

/* What was best on recorded sleeps (lab/governors/README.md): the share of the weights that one
 * update moves, and the share that it forgets. */
#define HISTORY_LEARN  0.4
#define HISTORY_FORGET 0.005

/* How DeepestState= became a state of one CPU. */
typedef enum LimitKind {
        LIMIT_NONE,      /* nothing is requested */
        LIMIT_TIME,      /* the exit latencies were compared with a time */
        LIMIT_SHORT,     /* no state is as fast, the shallowest is left */
        LIMIT_NAME,      /* the CPU has a state of this name */
        LIMIT_ELSEWHERE, /* other CPUs have: their exit latency was the limit */
        LIMIT_NUMBER,    /* no CPU has it: the number in the name was the limit */
        LIMIT_UNKNOWN,   /* the name means nothing here: no limit */
} LimitKind;

/* What DeepestState= requests, for all CPUs. */
typedef struct Limit {
        const char *text; /* "": nothing */
        bool is_time;
        double latency_us; /* if it is a time; else of the state of this name of any CPU, the
                              slowest; -1: no CPU has it */
} Limit;

/* A value that changes only after another was wanted for some time. */
typedef struct Dwell {
        int8_t value, wanted;
        bool waiting;
        uint64_t since_usec;
} Dwell;

/* How one CPU is used. */
typedef struct Use {
        bool loaded;          /* above the threshold, not yet below that of release */
        Dwell held;           /* 0 or 1 */
        Dwell cap;            /* while held: the deepest state allowed */
        int8_t fits;          /* the state that the mean sleep fits */
        float busy, sleep_us; /* of the last interval that had sleeps */
} Use;

/* What is learned from the sleeps of one CPU. */
typedef struct History {
        Weights weights;                 /* of the states from `Cpu.floor` on */
        int8_t drawn;                    /* the deepest state allowed, -1: nothing is known yet */
        int8_t row;                      /* that it was drawn from: the state entered most */
        uint32_t weight;                 /* of the one in the other then */
        uint64_t correct, deep, shallow; /* sleeps since the start */
} History;

typedef struct Cpu {
        uint32_t fingerprint; /* of the idle states that all this is about */
        int8_t floor; /* the shallowest state that does not burn power: where lowering ends */
        int8_t limit; /* deepest state allowed by DeepestState */
        LimitKind limited;
        Use use;
        History history;
} Cpu;

typedef struct Cstates {
        CpuSet held;        /* CPUs that an application holds a latency for */
        uint64_t seen_usec; /* when the last snapshot ended */
        uint8_t unreported; /* calls since the kernel last reported how sleeps turned out, 2 at
                             * most */
        uint64_t random;
        double limit_us; /* the time that was decided by, -1 if it was a name */
        Cpu cpus[CPUSET_MAX];
} Cstates;

/* One call of decide(). */
typedef struct Call {
        Cstates *self;
        const PolicyInput *input;
        const CstatesOptions *options;
        Limit limit;
        bool is_new; /* the snapshot was not seen in an earlier call */
        bool settled;
} Call;

/* IdleGovernor=; from IDLE_GOVERNOR_FIRST on they are governors of the kernel. */
enum { IDLE_GOVERNOR_KEEP, IDLE_GOVERNOR_AUTO, IDLE_GOVERNOR_FIRST };

extern const Setting cstates_settings[];
extern const char *const cstates_governors[];

/* The governor that IdleGovernor=auto uses, as an index of cstates_governors[]. -1: not advised
 * yet. */
int cstates_advised(const CstatesOptions *options);

/* As IdledPolicy.check, .reads and .explain. */
const char *cstates_check(const void *options, const char **ret_key);
unsigned cstates_reads(const void *options);
int cstates_explain(const void *state, const PolicyInput *input, int cpu, Reason *ret_reasons);

/* As IdledPolicy.unmet: the limits of which no CPU makes anything. */
int cstates_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max);

/* True if `text` is a time, could be the name of a state, or is empty. */
bool limit_is_sound(const char *text);

/* What is requested. Its text is that of the options. */
Limit limit_read(const PolicyInput *input, const CstatesOptions *options);

/* The deepest state of `table` that `limit` allows, and how that was found. The table is not empty.
 */
int limit_resolve(const Limit *limit, const IdleTable *table, LimitKind *ret_kind);

/* The states of `table` that are forbidden if `state` is the deepest allowed; with a limit that is
 * a time, also those before it that are slower. */
uint16_t limit_forbids(const Limit *limit, LimitKind kind, const IdleTable *table, int state);

/* Looks at the use of a CPU; returns the deepest state allowed because of it, -1: any. */
int use_decide(Call *call, int cpu, const IdleTable *table);

/* Learns from a CPU's sleeps; returns the deepest state allowed because of them, -1: any. */
int history_decide(Call *call, int cpu, const IdleTable *table);

#endif
