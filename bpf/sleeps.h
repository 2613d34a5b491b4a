/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sleep ledger's BPF programs and their loader share: the records in the maps, and how a
 * sleep is counted. It compiles for both.
 *
 * A *sleep* lasts from the kernel's cpu_idle event with a state to the one without. A *cause* is
 * the first thing that happened on the CPU from then on: an interrupt, a timer, a wake-up.
 */
#ifndef IDLED_SLEEPS_H
#define IDLED_SLEEPS_H

#include <linux/types.h>

#include "model/octaves.h"

/* The kernel has at most 10 idle states a CPU; the last index is for any other. */
#define SLEEPS_STATES 11

/* Histogram of lengths: 4 buckets per power of 2, from 256 ns to 2^42 ns (73 minutes); bucket 0 is
 * for all below, the last for all above. */
#define SLEEPS_SUB     2  /* bits: 2^2 buckets per power of 2 */
#define SLEEPS_SHIFT   8  /* 2^8 ns: the end of bucket 0 */
#define SLEEPS_OCTAVES 34 /* powers of 2 with buckets of their own */
#define SLEEPS_BUCKETS OCTAVES_BINS(SLEEPS_SUB, SLEEPS_OCTAVES)

/* Lengths of sleeps, or latencies, in ns. The sum of squares has 128 bits. */
struct sleep_stats {
        __u64 count;
        __u64 sum_ns;
        __u64 squares_high, squares_low;
        __u64 min_ns, max_ns; /* 0 while count is */
        __u64 unstored;       /* sleeps whose cause found no room in the table of causes */
        __u64 violations;     /* latencies above the CPU's limit */
        __u32 hist[SLEEPS_BUCKETS];
};

enum cause_kind {
        CAUSE_UNKNOWN,
        CAUSE_TIMER,         /* function; name: the task that it woke */
        CAUSE_TICK,          /* the scheduler's tick, and no timer behind it */
        CAUSE_IRQ,           /* function: number; name: of the handler */
        CAUSE_RESCHEDULE,    /* interrupt of another CPU, without a task */
        CAUSE_FUNCTION_CALL, /* the same; function, where the kernel says it */
        CAUSE_IRQ_WORK,
        CAUSE_VECTOR,      /* other interrupts of the local APIC; name */
        CAUSE_TASK,        /* name: the task that was woken up */
        CAUSE_LOCAL_TIMER, /* the timer's interrupt, and no timer that expired */
        CAUSE_UNSTORED,    /* the table of causes is full */
        CAUSE_POLL,        /* nothing happened, and the state was one that polls for a while */
        CAUSE_KINDS,
};

#define CAUSE_NAME 24

/* What ended a sleep. */
struct cause {
        __u64 function; /* address; number of an IRQ; 0: none */
        __u64 cgroup;   /* of the task, in cgroup v2; 0: none */
        char name[CAUSE_NAME];
};

struct cause_key {
        struct cause cause;
        __u32 cpu;
        __u8 epoch, state, kind, spare;
};

struct cause_value {
        __u64 count;
        __u64 slept_ns;
        __u64 short_ns; /* what the sleeps lacked to deserve the deepest state */
};

/* What traces have of a CPU's sleep, and of the next one. */
struct sleep_trace {
        __u64 reported_length_ns;  /* to the next timer, as the next governor sees it */
        __u64 reported_ns;         /* when it was reported */
        __s64 reported_latency_us; /* PM QoS limit, the same; -1: none */
        __u64 length_ns;           /* of this sleep's governor */
        __u64 chosen_ns;           /* when it chose */
        __s64 latency_us;
        __u64 switches;          /* the CPU's context switches at entry */
        __u64 run_queue, timers; /* the kernel's own objects of this CPU; 0: not seen yet */
        __u32 utilization, io_waiting;
        __u8 length_reported, length_guessed, got_tick, spare[5];
};

/* What a CPU is doing. The loader reads it while the kernel writes it. */
struct sleeper {
        __u64 entered_ns; /* when the sleep began, monotonic; 0: no sleep seen or it is counted */
        __u64 left_ns;    /* when it ended; 0: it goes on */
        __u64 woken_ns;   /* when the first thing happened; 0: nothing yet */
        __u64 sent_ns;    /* when another CPU began to wake a task for this one; 0: none did */
        __u32 state;
        __u32 kind;
        __u32 sent_pid; /* that task */
        struct cause cause;
        __u64 deepest_ns; /* target residency of the deepest state; by the loader */
        __u64 limit_ns;   /* of wake-up latency; by the loader; 0: none */
        struct sleep_trace trace;
} __attribute__((aligned(64)));

/* The value of a CPU that is always busy. The kernel's average exceeds it when tasks move there. */
#define UTILIZATION_MAX 1024

/* One sleep, for a trace. */
struct sleep_record {
        __u64 entered_ns, idle_ns, length_ns;
        __s64 latency_us; /* -1: no limit */
        struct cause cause;
        __u32 cpu, utilization /* 0 .. UTILIZATION_MAX */, io_waiting;
        __u8 state, kind, resched, got_tick, length_guessed;
        __u8 spare[3];
};

#define FUNCTION_NAME 48

/* What is known of a function. */
struct function {
        __u32 class;
        char name[FUNCTION_NAME];
};

/* One service or user has at most this many names of units. */
#define UNITS_SHARE 512

#define UNIT_LEVELS 4
#define UNIT_NAME   64

/* The last names of a cgroup's path, the innermost first. */
struct unit {
        char names[UNIT_LEVELS][UNIT_NAME];
};

static inline __u32 sleep_bucket(__u64 ns)
{
        return octaves_bin(ns, SLEEPS_SUB, SLEEPS_SHIFT, SLEEPS_OCTAVES);
}

static inline void sleep_stats_add(struct sleep_stats *s, __u64 ns)
{
        __u64 top = ns >> 32, rest = ns & 0xffffffff, middle = top * rest;
        __u64 low = rest * rest + (middle << 33);
        __u32 bucket = sleep_bucket(ns);

        s->squares_high += top * top + (middle >> 31) + (low < middle << 33);
        s->squares_low += low;
        s->squares_high += s->squares_low < low;
        s->sum_ns += ns;
        if (!s->count || ns < s->min_ns)
                s->min_ns = ns;
        if (ns > s->max_ns)
                s->max_ns = ns;
        s->count++;
        if (bucket < SLEEPS_BUCKETS) /* for the verifier */
                s->hist[bucket]++;
}

#endif
