/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * As much of the kernel as its idle governors need, in user space: one CPU's view of the clock, the
 * next timer, the tick and the load, set by reference.c for each period. The interfaces are the
 * kernel's; they behave as in a replay (TRACE FORMAT in idlectl(1)).
 */
#ifndef SHIM_H
#define SHIM_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef s64 ktime_t;

#define U64_MAX       UINT64_MAX
#define S64_MAX       INT64_MAX
#define KTIME_MAX     INT64_MAX
#define NSEC_PER_USEC 1000L
#define HZ            250
#define TICK_NSEC     (1000000000L / HZ)
#define CPUS          1024

#define __init
#define likely(x)   (x)
#define unlikely(x) (x)
#define min(a, b)   ((a) < (b) ? (a) : (b))

#define DEFINE_PER_CPU(type, name) type name[CPUS]
#define per_cpu(name, cpu)         ((name)[cpu])
#define per_cpu_ptr(name, cpu)     (&(*(name))[cpu])
#define this_cpu_ptr(name)         (&(*(name))[shim_cpu])

#define CPUIDLE_STATE_MAX    10
#define CPUIDLE_FLAG_POLLING 1

struct cpuidle_state {
        unsigned int flags;
        s64 exit_latency_ns, target_residency_ns;
};

struct cpuidle_state_usage {
        unsigned long long disable;
};

struct cpuidle_device {
        unsigned int poll_time_limit : 1;
        unsigned int cpu;
        int last_state_idx;
        u64 last_residency_ns;
        struct cpuidle_state_usage states_usage[CPUIDLE_STATE_MAX];
};

struct cpuidle_driver {
        struct cpuidle_state states[CPUIDLE_STATE_MAX];
        int state_count;
};

struct cpuidle_governor {
        char name[16];
        unsigned int rating;
        int (*enable)(struct cpuidle_driver *drv, struct cpuidle_device *dev);
        int (*select)(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick);
        void (*reflect)(struct cpuidle_device *dev, int index);
};

/* What the functions below answer. */
static int shim_cpu;
static u64 shim_clock;
static s64 shim_sleep, shim_tick, shim_limit;
static unsigned int shim_waiting;
static unsigned long shim_util;
static bool shim_got_tick;
static int tick_nohz_enabled = 1;
static struct cpuidle_governor *shim_governor;

static inline u64 local_clock(void)
{
        return shim_clock;
}

static inline ktime_t tick_nohz_get_sleep_length(ktime_t *delta_next)
{
        *delta_next = shim_tick;
        return shim_sleep;
}

static inline bool tick_nohz_tick_stopped(void)
{
        return false;
}

/* True only for the first call after a tick, as in the kernel. */
static inline bool tick_nohz_idle_got_tick(void)
{
        bool got = shim_got_tick;

        shim_got_tick = false;
        return got;
}

static inline s64 cpuidle_governor_latency_req(unsigned int cpu)
{
        return shim_limit;
}

static inline unsigned long nr_iowait_cpu(int cpu)
{
        return shim_waiting;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
        return dividend / divisor;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
        return dividend / divisor;
}

#define do_div(n, base) ((n) /= (base))

static inline s64 ktime_to_us(ktime_t time)
{
        return time / 1000;
}

static inline int cpuidle_register_governor(struct cpuidle_governor *governor)
{
        shim_governor = governor;
        return 0;
}

#define postcore_initcall(function)                                                                \
        static int shim_start(void)                                                                \
        {                                                                                          \
                return function();                                                                 \
        }

/* What utilization awareness (version 5, 2022) adds to teo of 6.1; compare puts the calls there. */
static inline bool shim_used(void)
{
        return shim_util > 1024 >> 6;
}

static inline int shim_of_two(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
        for (int i = 0; shim_used() && drv->state_count < 3 && i < drv->state_count; i++)
                if (!dev->states_usage[i].disable && !(drv->states[i].flags & CPUIDLE_FLAG_POLLING))
                        return i;
        return -1;
}

static inline int shim_shallower(struct cpuidle_driver *drv, struct cpuidle_device *dev, int idx,
                                 s64 duration)
{
        for (int i = idx - 1; shim_used() && i >= 0; i--) {
                if (dev->states_usage[i].disable || (drv->states[i].flags & CPUIDLE_FLAG_POLLING))
                        continue;
                idx = i;
                if (drv->states[i].target_residency_ns <= duration)
                        break;
        }
        return idx;
}

#endif
