/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cpuidle driver: the kernel's own governor chooses among states that differ in name, latency and
 * residency, and the counters, `disable` files and PM QoS behind them are the real ones. Every
 * state is entered in the same way, with "sti; hlt". With exit_wait leaving it takes its latency,
 * in which the core draws what it does in the shallowest state.
 *
 * Hardware is awake before it takes the interrupt that woke it, so the latency belongs to the
 * sleep: /proc/stat counts it as idle, and a task that is woken is not runnable yet. "hlt" has the
 * interrupt handled at once. Hence the probe in interrupt.c: there the latency passes. Interrupts
 * that leave the idle time alone (reschedule) are not seen there; for them it passes after "hlt".
 *
 * The driver names no owner: each device would hold a reference to the module and it could never be
 * unloaded. Unregistering a device wakes its CPU but does not wait until that has left the driver's
 * code, and on a slow host it may not have when the module is gone. Work that is done on a CPU
 * proves that its idle task does not run.
 */
#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "pmlab.h"

static char *state_names[LAB_STATES_MAX] = { "C1", "C1E", "C3", "C6", "C7" };
module_param_array(state_names, charp, &lab_n_states, 0444);
MODULE_PARM_DESC(state_names, "names of the idle states after POLL");

static unsigned int latency_us[LAB_STATES_MAX] = { 2, 10, 70, 150, 400 };
static int n_latencies = 5;
module_param_array(latency_us, uint, &n_latencies, 0444);
MODULE_PARM_DESC(latency_us, "their exit latencies");

static unsigned int residency_us[LAB_STATES_MAX] = { 2, 20, 200, 600, 1600 };
static int n_residencies = 5;
module_param_array(residency_us, uint, &n_residencies, 0444);
MODULE_PARM_DESC(residency_us, "their target residencies");

static int reject_state = -1;
module_param(reject_state, int, 0644);
MODULE_PARM_DESC(reject_state, "a state, POLL being 0, that every fourth entry of fails");

static bool exit_wait;
module_param(exit_wait, bool, 0644);
MODULE_PARM_DESC(exit_wait, "leaving a state takes as long as its exit latency");

int lab_n_states = 5;

static struct cpuidle_driver driver = { .name = "intel_idle" };
static DEFINE_PER_CPU(struct cpuidle_device, devices);
static DEFINE_PER_CPU(int, entered); /* the state that the CPU is in; 0 if none */
static enum cpuhp_state online_state, dead_state;

/* The inner loop is for an emulator that counts instructions: it is fast at these, and slow at the
 * clock and at giving way to other CPUs. */
void notrace lab_spend(u64 nsec)
{
        u64 began = ktime_get_mono_fast_ns(), gone = 0;

        while (gone < nsec) {
                for (int i = nsec - gone > 20000 ? 2000 : 200; i > 0; i--)
                        barrier();
                cpu_relax();
                gone = ktime_get_mono_fast_ns() - began;
        }
}

void notrace lab_leave_state(int cpu)
{
        int index = per_cpu(entered, cpu);

        if (index == 0)
                return;
        per_cpu(entered, cpu) = 0;
        if (exit_wait) {
                lab_set_depth(cpu, 1);
                lab_spend(latency_us[index - 1] * (u64)NSEC_PER_USEC);
        }
        lab_set_depth(cpu, 0);
}

static noinstr int enter_state(struct cpuidle_device *device, struct cpuidle_driver *unused,
                               int index)
{
        if (index == reject_state && ++lab_cpus[device->cpu].entries % 4 == 0)
                return -EBUSY;
        lab_set_depth(device->cpu, index);
        per_cpu(entered, device->cpu) = index;
        asm volatile("sti; hlt; cli" ::: "memory");
        lab_leave_state(device->cpu);
        return index;
}

/* A device stays registered while its CPU is offline, as with real drivers. */
static int cpu_comes(unsigned int cpu)
{
        struct cpuidle_device *device = &per_cpu(devices, cpu);

        lab_set_depth((int)cpu, 0);
        if (device->registered)
                return 0;
        device->cpu = cpu;
        return cpuidle_register_device(device);
}

/* On another CPU, for one that goes leaves its idle state some times more before it is dead. */
static int cpu_is_dead(unsigned int cpu)
{
        lab_set_depth((int)cpu, lab_n_states);
        return 0;
}

static void fill_states(void)
{
        cpuidle_poll_state_init(&driver);
        for (int i = 0; i < lab_n_states; i++) {
                struct cpuidle_state *state = &driver.states[i + 1];

                strscpy(state->name, state_names[i], sizeof(state->name));
                snprintf(state->desc, sizeof(state->desc), "model of %s", state_names[i]);
                state->exit_latency = latency_us[i];
                state->target_residency = residency_us[i];
                state->enter = enter_state;
        }
        driver.state_count = lab_n_states + 1;
}

bool lab_idle_check(void)
{
        if (n_latencies == lab_n_states && n_residencies == lab_n_states)
                return true;
        pr_err("pmlab: %d names, %d latencies and %d residencies of idle states\n", lab_n_states,
               n_latencies, n_residencies);
        return false;
}

static long leave_idle(void *unused)
{
        return 0;
}

static void unregister_devices(void)
{
        int cpu;

        for_each_possible_cpu(cpu) if (per_cpu(devices, cpu).registered)
                cpuidle_unregister_device(&per_cpu(devices, cpu));
        cpus_read_lock();
        for_each_online_cpu(cpu) work_on_cpu((int)cpu, leave_idle, NULL);
        cpus_read_unlock();
}

static int follow_hotplug(void)
{
        int r = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "pmlab:dead", NULL, cpu_is_dead);

        if (r < 0)
                return r;
        dead_state = r;
        r = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "pmlab:online", cpu_comes, NULL);
        if (r < 0) {
                cpuhp_remove_state_nocalls(dead_state);
                unregister_devices();
                return r;
        }
        online_state = r;
        return 0;
}

int lab_idle_register(void)
{
        int r;

        fill_states();
        r = cpuidle_register_driver(&driver);
        if (r < 0)
                return r;
        r = follow_hotplug();
        if (r < 0)
                cpuidle_unregister_driver(&driver);
        return r;
}

void lab_idle_unregister(void)
{
        cpuhp_remove_state_nocalls(online_state);
        cpuhp_remove_state_nocalls(dead_state);
        unregister_devices();
        cpuidle_unregister_driver(&driver);
}
