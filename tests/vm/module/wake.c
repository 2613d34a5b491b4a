/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakes a CPU at a known pace in a known way, and counts how often: what a ledger of sleeps should
 * find. Writing "KIND CPU PERIOD_US COUNT" to the parameter `wake` begins:
 *
 *   timer  a timer of high resolution on the CPU (lab_wake_timer)
 *   list   a timer of the kernel's wheel on the CPU (lab_wake_list), whose period is in ticks
 *   call   a function called from another CPU (lab_wake_call)
 *
 * Reading it shows how many are left; `woken`, how many of them found the CPU's idle task. The pace
 * is kept by a timer on CPU 0, or on the CPU itself.
 */
#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <linux/version.h>

#include "pmlab.h"

enum kind { KIND_NONE, KIND_TIMER, KIND_LIST, KIND_CALL };

static const char *const kind_names[] = { "none", "timer", "list", "call" };

static enum kind kind;
static int target;
static u64 period_ns;
static atomic_t left;

static int woken;
module_param(woken, int, 0444);
MODULE_PARM_DESC(woken, "how many of these found the CPU idle");

static struct hrtimer pace;
static struct timer_list wheel;

static void lab_wake_call(void *unused)
{
        woken += is_idle_task(current);
}

static call_single_data_t call = CSD_INIT(lab_wake_call, NULL);

static enum hrtimer_restart lab_wake_timer(struct hrtimer *timer)
{
        if (kind == KIND_CALL)
                smp_call_function_single_async(target, &call);
        else
                woken += is_idle_task(current);
        if (atomic_dec_return(&left) <= 0)
                return HRTIMER_NORESTART;
        hrtimer_forward_now(timer, ns_to_ktime(period_ns));
        return HRTIMER_RESTART;
}

static void lab_wake_list(struct timer_list *timer)
{
        woken += is_idle_task(current);
        if (atomic_dec_return(&left) <= 0)
                return;
        mod_timer(timer, jiffies + nsecs_to_jiffies(period_ns));
}

static long begin(void *unused)
{
        if (kind == KIND_LIST) {
                wheel.expires = jiffies + nsecs_to_jiffies(period_ns);
                add_timer_on(&wheel, target);
        } else {
                hrtimer_start(&pace, ns_to_ktime(period_ns), HRTIMER_MODE_REL_PINNED_HARD);
        }
        return 0;
}

static int wake_set(const char *text, const struct kernel_param *unused)
{
        unsigned int cpu, usec, count, i;
        char name[8];

        if (sscanf(text, "%7s %u %u %u", name, &cpu, &usec, &count) != 4 || usec == 0 ||
            cpu >= nr_cpu_ids || !cpu_online(cpu))
                return -EINVAL;
        for (i = 1; i < ARRAY_SIZE(kind_names); i++)
                if (strcmp(name, kind_names[i]) == 0)
                        break;
        if (i == ARRAY_SIZE(kind_names))
                return -EINVAL;
        if (atomic_read(&left) > 0)
                return -EBUSY;
        kind = i;
        woken = 0;
        target = cpu;
        period_ns = usec * (u64)NSEC_PER_USEC;
        atomic_set(&left, count);
        return (int)work_on_cpu(kind == KIND_CALL ? 0 : target, begin, NULL);
}

static int wake_get(char *buffer, const struct kernel_param *unused)
{
        return sysfs_emit(buffer, "%d\n", max(atomic_read(&left), 0));
}

static const struct kernel_param_ops wake_ops = { .set = wake_set, .get = wake_get };
module_param_cb(wake, &wake_ops, NULL, 0644);
MODULE_PARM_DESC(wake, "wakes a CPU: \"timer|list|call CPU PERIOD_US COUNT\"");

int lab_wake_register(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
        hrtimer_setup(&pace, lab_wake_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
        hrtimer_init(&pace, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
        pace.function = lab_wake_timer;
#endif
        timer_setup(&wheel, lab_wake_list, TIMER_PINNED);
        return 0;
}

void lab_wake_unregister(void)
{
        atomic_set(&left, 0);
        hrtimer_cancel(&pace);
        timer_delete_sync(&wheel);
}
