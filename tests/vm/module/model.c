/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the machine draws.
 *
 * A package draws pkg_power_mw when all its cores are in that state at the highest frequency. A
 * part of it, uncore_mw, is the package's own, and a third of that when all cores are power gated;
 * the rest is shared out among cores. A core's voltage falls with its frequency, from 1 to 3/4:
 *
 *      running       a third is leakage, by V; two thirds are switching, by f V^2
 *      clock gated   leakage, by V
 *      power gated   no matter what the frequency is
 *
 * A core sleeps as deep as the thread that sleeps least. Energy is the sum of power over time,
 * taken whenever power changes or a program reads it. The default powers are those of a server of
 * 2011, 90 W running, 63 W in C1, 55 W in C3, 20 W in C6.
 *
 * A core of smaller capacity has lower frequencies and draws less in proportion.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sysfs.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>

#include "pmlab.h"

#define DRAM_MW 3000 /* power of idle memory; twice that with all cores running */

static unsigned int pkg_power_mw[LAB_STATES_MAX + 1] = { 90000, 63000, 60000, 55000, 20000, 18000 };
static int n_powers = 6;
module_param_array(pkg_power_mw, uint, &n_powers, 0644);
MODULE_PARM_DESC(pkg_power_mw, "power of a package, running and in each state");

static unsigned int uncore_mw = 12000;
module_param(uncore_mw, uint, 0644);
MODULE_PARM_DESC(uncore_mw, "what of it is not the cores'");

static int gated_from = 4;
module_param(gated_from, int, 0444);
MODULE_PARM_DESC(gated_from, "the first state, POLL being 0, in which a core is power gated");

static unsigned int capacity[LAB_CPUS_MAX];
static int n_capacities;
module_param_array(capacity, uint, &n_capacities, 0444);
MODULE_PARM_DESC(capacity, "capacity of each CPU, of 1024; none: all are alike");

static bool freeze_energy;
module_param(freeze_energy, bool, 0644);
MODULE_PARM_DESC(freeze_energy, "stop the counters");

/* A line for each package: the truth, which never wraps, to compare what RAPL's readers say. */
static int show_drawn(char *buffer, const struct kernel_param *unused)
{
        int length = 0;

        for (int i = 0; i < lab_n_packages; i++) {
                struct lab_package *package = &lab_packages[i];
                u64 cores = lab_energy_uj(package, LAB_CORES);
                u64 uncore = lab_energy_uj(package, LAB_UNCORE);
                u64 dram = lab_energy_uj(package, LAB_DRAM);

                length += sysfs_emit_at(buffer, length, "%llu %llu %llu\n", cores, uncore, dram);
        }
        return length;
}
static const struct kernel_param_ops drawn_ops = { .get = show_drawn };
module_param_cb(drawn, &drawn_ops, NULL, 0444);
MODULE_PARM_DESC(drawn, "microjoules of cores, uncore and memory");

struct lab_cpu lab_cpus[LAB_CPUS_MAX];
struct lab_core lab_cores[LAB_CPUS_MAX];
struct lab_package lab_packages[LAB_CPUS_MAX];
int lab_n_cores, lab_n_packages;

static u64 notrace core_power(const struct lab_core *core)
{
        bool gated = core->depth >= gated_from;
        u64 total = pkg_power_mw[core->depth], own = gated ? uncore_mw / 3 : uncore_mw;
        u64 full, f, v, leakage;

        full = total > own ? div_u64(total - own, core->package->n_cores) : 0;
        full = full * core->capacity / LAB_CAPACITY_MAX;
        if (gated)
                return full;
        f = div_u64((u64)core->khz * 1024, lab_freqs_khz[0]);
        v = 768 + f / 4;
        if (core->depth > 0)
                return (full * v) >> 10;
        leakage = full / 3;
        return ((leakage * v) >> 10) + (((full - leakage) * f * v * v) >> 30);
}

static void notrace meter_add(struct lab_meter *meter, u64 nsec)
{
        u64 whole;

        meter->picojoules += meter->milliwatts * nsec;
        whole = div_u64(meter->picojoules, 1000000);
        meter->microjoules += whole;
        meter->picojoules -= whole * 1000000;
}

/* Accounts for the time since this was last done. The package is locked. */
static void notrace account(struct lab_package *package)
{
        u64 now = ktime_get_mono_fast_ns();
        s64 left = (s64)(now - package->accounted_nsec);

        if (left <= 0)
                return;
        package->accounted_nsec = now;
        while (left > 0 && !freeze_energy) {
                u64 step = min_t(u64, left, NSEC_PER_SEC); /* so that no product overflows */

                for (int i = 0; i < LAB_DOMAINS; i++)
                        meter_add(&package->meters[i], step);
                left -= step;
        }
}

/* After something about a core changed. The package is locked and accounted for. */
static void notrace refresh(struct lab_core *core)
{
        struct lab_package *package = core->package;
        struct lab_meter *meters = package->meters;
        int cpu, depth = lab_n_states;

        for_each_cpu(cpu, &core->cpus) depth = min(depth, lab_cpus[cpu].depth);
        package->n_running += (depth == 0) - (core->depth == 0);
        package->n_powered += (depth < gated_from) - (core->depth < gated_from);
        core->depth = depth;
        meters[LAB_CORES].milliwatts -= core->milliwatts;
        core->milliwatts = core_power(core);
        meters[LAB_CORES].milliwatts += core->milliwatts;
        meters[LAB_UNCORE].milliwatts = package->n_powered ? uncore_mw : uncore_mw / 3;
        meters[LAB_DRAM].milliwatts = DRAM_MW + DRAM_MW * package->n_running / package->n_cores;
}

void notrace lab_set_depth(int cpu, int depth)
{
        struct lab_package *package = lab_cpus[cpu].core->package;
        unsigned long flags;

        raw_spin_lock_irqsave(&package->lock, flags);
        account(package);
        lab_cpus[cpu].depth = depth;
        refresh(lab_cpus[cpu].core);
        raw_spin_unlock_irqrestore(&package->lock, flags);
}

void lab_set_khz(const struct cpumask *cpus, unsigned int khz)
{
        for (struct lab_core *core = lab_cores; core < lab_cores + lab_n_cores; core++) {
                unsigned long flags;

                if (!cpumask_intersects(cpus, &core->cpus))
                        continue;
                raw_spin_lock_irqsave(&core->package->lock, flags);
                account(core->package);
                core->khz = khz;
                refresh(core);
                raw_spin_unlock_irqrestore(&core->package->lock, flags);
        }
}

u64 lab_energy_uj(struct lab_package *package, enum lab_domain domain)
{
        unsigned long flags;
        u64 microjoules;

        raw_spin_lock_irqsave(&package->lock, flags);
        account(package);
        microjoules = package->meters[domain].microjoules;
        raw_spin_unlock_irqrestore(&package->lock, flags);
        return microjoules;
}

u64 lab_power_uw(struct lab_package *package, enum lab_domain domain)
{
        unsigned long flags;
        u64 milliwatts;

        raw_spin_lock_irqsave(&package->lock, flags);
        milliwatts = package->meters[domain].milliwatts;
        raw_spin_unlock_irqrestore(&package->lock, flags);
        return milliwatts * 1000;
}

static struct lab_package *find_package(int cpu)
{
        struct lab_package *package;

        for (package = lab_packages; package < lab_packages + lab_n_packages; package++)
                if (cpumask_test_cpu(cpu, &package->cpus))
                        return package;
        lab_n_packages++;
        raw_spin_lock_init(&package->lock);
        cpumask_copy(&package->cpus, topology_core_cpumask(cpu));
        package->accounted_nsec = ktime_get_mono_fast_ns();
        return package;
}

static struct lab_core *find_core(int cpu)
{
        struct lab_core *core;

        for (core = lab_cores; core < lab_cores + lab_n_cores; core++)
                if (cpumask_test_cpu(cpu, &core->cpus))
                        return core;
        lab_n_cores++;
        core->package = find_package(cpu);
        core->package->n_cores++;
        core->package->n_running++;
        core->package->n_powered++;
        cpumask_copy(&core->cpus, topology_sibling_cpumask(cpu));
        core->capacity = cpu < n_capacities ? capacity[cpu] : LAB_CAPACITY_MAX;
        core->khz = lab_freqs_khz[0];
        return core;
}

bool lab_model_check(void)
{
        if (n_powers < lab_n_states + 1) {
                pr_err("pmlab: %d powers in pkg_power_mw, expected at least %d\n", n_powers,
                       lab_n_states + 1);
                return false;
        }
        if (gated_from < 1 || gated_from > lab_n_states) {
                pr_err("pmlab: gated_from is %d, expected one of the states, 1 to %d\n", gated_from,
                       lab_n_states);
                return false;
        }
        for (int i = 0; i < n_capacities; i++)
                if (capacity[i] == 0 || capacity[i] > LAB_CAPACITY_MAX) {
                        pr_err("pmlab: a capacity of %u, expected 1 to %d\n", capacity[i],
                               LAB_CAPACITY_MAX);
                        return false;
                }
        return true;
}

int lab_model_init(void)
{
        int cpu;

        for_each_present_cpu(cpu)
        {
                if (cpu >= LAB_CPUS_MAX || !cpu_online(cpu)) {
                        pr_err("pmlab: CPU %d, expected CPUs below %d, all of them online\n", cpu,
                               LAB_CPUS_MAX);
                        return -EINVAL;
                }
                lab_cpus[cpu].core = find_core(cpu);
        }
        for (int i = 0; i < lab_n_cores; i++)
                refresh(&lab_cores[i]);
        return 0;
}
