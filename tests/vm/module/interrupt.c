/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe of tick_irq_enter(), which is what the kernel does first when an interrupt finds a CPU
 * idle, before it ends the sleep in its own books.
 *
 * The kernel writes a probe into its text while its CPUs run; a breakpoint is there until all have
 * seen the new text. An emulator with a thread for each CPU may translate the text at this moment
 * and keep the breakpoint. The next CPU that executes it has no handler for it and jumps to address
 * 0 (seen with QEMU 7.2 on a busy host). Only idle CPUs execute it, so all CPUs are busy meanwhile.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>

#include "pmlab.h"

static struct task_struct *spinners[LAB_CPUS_MAX];
static atomic_t n_spinning;

static int notrace interrupt_comes(struct kprobe *unused, struct pt_regs *regs)
{
        lab_leave_state(raw_smp_processor_id());
        return 0;
}

static struct kprobe probe = { .symbol_name = "tick_irq_enter", .pre_handler = interrupt_comes };

static int spin(void *unused)
{
        set_user_nice(current, MAX_NICE);
        atomic_inc(&n_spinning);
        while (!kthread_should_stop()) {
                cpu_relax();
                cond_resched();
        }
        return 0;
}

static void let_idle(void)
{
        for (int i = 0; i < LAB_CPUS_MAX; i++)
                if (spinners[i] != NULL) {
                        kthread_stop(spinners[i]);
                        spinners[i] = NULL;
                }
}

/* Until let_idle(). On failure all may be idle. */
static int keep_from_idling(void)
{
        int cpu, r = 0, n = 0;

        atomic_set(&n_spinning, 0);
        cpus_read_lock();
        for_each_online_cpu(cpu)
        {
                struct task_struct *task = kthread_run_on_cpu(spin, NULL, cpu, "pmlab/%u");

                if (IS_ERR(task)) {
                        r = (int)PTR_ERR(task);
                        break;
                }
                spinners[cpu] = task;
                n++;
        }
        cpus_read_unlock();
        while (r == 0 && atomic_read(&n_spinning) < n)
                usleep_range(1000, 2000);
        if (r < 0)
                let_idle();
        return r;
}

int lab_interrupt_register(void)
{
        int r = keep_from_idling();

        if (r < 0)
                return r;
        r = register_kprobe(&probe);
        let_idle();
        return r;
}

void lab_interrupt_unregister(void)
{
        int r = keep_from_idling();

        if (r < 0)
                pr_warn("pmlab: a CPU may be idle while the probe is removed: error %d\n", r);
        unregister_kprobe(&probe);
        let_idle();
}
