/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * With slows=Y work takes longer at lower frequencies: an emulator executes as fast at any.
 *
 * A timer interrupts each CPU that executes tasks, whenever they have run for a slice, and keeps
 * the CPU busy for as long as a slice at this frequency takes longer than at the highest. What is
 * left of a slice when the CPU becomes idle counts for the next task, and no timer wakes an idle
 * CPU. CPU time of tasks, but not of cgroups, leaves that out: loads that compute for some CPU
 * time do as much work at any frequency. Meanwhile the CPU takes no interrupt, so a wake-up can be
 * late by what a slice takes longer.
 */
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#include "pmlab.h"

#ifdef CONFIG_IRQ_TIME_ACCOUNTING
#error "CPU time of tasks leaves out interrupts already"
#endif

#define SLICE_NSEC     100000 /* of work; at the lowest default frequency it takes 4.5 times that */
#define SLICE_MIN_NSEC 1000

static bool slows;
module_param(slows, bool, 0444);
MODULE_PARM_DESC(slows, "work takes longer at lower frequencies");

struct slice {
        struct hrtimer timer; /* runs while the CPU executes tasks */
        s64 left_nsec;
};

static DEFINE_PER_CPU(struct slice, slices);
static struct tracepoint *task_switch;

static enum hrtimer_restart slice_ends(struct hrtimer *timer)
{
        unsigned int khz = READ_ONCE(lab_cpus[raw_smp_processor_id()].core->khz);
        u64 nsec = div_u64((u64)SLICE_NSEC * (lab_freqs_khz[0] - khz), khz);

        /* Its CPU went offline, where nothing is traced. */
        if (timer != this_cpu_ptr(&slices.timer))
                return HRTIMER_NORESTART;
        lab_spend(nsec);
        /* The kernel adds it when it looks next. Without the run queue's lock: a CPU that looks at
         * the same time may lose one of the two. */
        current->se.sum_exec_runtime -= nsec;
        hrtimer_set_expires(timer, ktime_add_ns(hrtimer_cb_get_time(timer), SLICE_NSEC));
        return HRTIMER_RESTART;
}

/* With interrupts disabled, so no slice of this CPU ends meanwhile. */
static void task_switches(void *unused, bool preempt, struct task_struct *previous,
                          struct task_struct *next, unsigned int state)
{
        struct slice *slice = this_cpu_ptr(&slices);

        if (is_idle_task(next)) {
                s64 left = ktime_to_ns(hrtimer_get_remaining(&slice->timer));

                hrtimer_try_to_cancel(&slice->timer);
                slice->left_nsec = clamp_t(s64, left, SLICE_MIN_NSEC, SLICE_NSEC);
        } else if (is_idle_task(previous)) {
                hrtimer_start(&slice->timer, ns_to_ktime(slice->left_nsec),
                              HRTIMER_MODE_REL_PINNED_HARD);
        }
}

static void prepare(struct slice *slice)
{
        slice->left_nsec = SLICE_NSEC;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
        hrtimer_setup(&slice->timer, slice_ends, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
        hrtimer_init(&slice->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
        slice->timer.function = slice_ends;
#endif
}

/* Its symbol is not exported to modules. */
static void find_task_switch(struct tracepoint *point, void *unused)
{
        if (strcmp(point->name, "sched_switch") == 0)
                task_switch = point;
}

int lab_slow_register(void)
{
        int cpu;

        if (!slows)
                return 0;
        for_each_possible_cpu(cpu) prepare(&per_cpu(slices, cpu));
        for_each_kernel_tracepoint(find_task_switch, NULL);
        return task_switch ? tracepoint_probe_register(task_switch, task_switches, NULL) : -ENOENT;
}

void lab_slow_unregister(void)
{
        int cpu;

        if (!slows)
                return;
        tracepoint_probe_unregister(task_switch, task_switches, NULL);
        tracepoint_synchronize_unregister();
        for_each_possible_cpu(cpu) hrtimer_cancel(&per_cpu(slices, cpu).timer);
}
