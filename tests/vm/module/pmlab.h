/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of pmlab, for each other.
 *
 *   model.c      what the machine is, and what it draws
 *   frequency.c  a cpufreq driver
 *   slow.c       what lower frequencies cost
 *   preference.c energy preferences (EPP) of the cpufreq driver, as amd-pstate has them
 *   interrupt.c  when one finds a CPU idle
 *   idle.c       a cpuidle driver
 *   energy.c     the zones of RAPL or of SCMI
 *   hwmon.c      a sensor of energy and power, in place of them
 *   platform.c   platform profiles
 *   wake.c       wakes a CPU at a known pace
 *   main.c       puts them up and takes them down
 */
#ifndef PMLAB_H
#define PMLAB_H

#include <linux/cpumask.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#define LAB_CPUS_MAX     64
#define LAB_STATES_MAX   9 /* cpuidle has room for ten, and one is POLL */
#define LAB_FREQ_MAX     32
#define LAB_CAPACITY_MAX 1024

/* What draws power by itself. */
enum lab_domain { LAB_CORES, LAB_UNCORE, LAB_DRAM, LAB_DOMAINS };

/* How deep a CPU sleeps is 0 while it runs, else 1 + the row in the table of states. */
struct lab_cpu {
        struct lab_core *core;
        int depth;
        unsigned int entries;
};

struct lab_core {
        struct lab_package *package;
        cpumask_t cpus;
        unsigned int capacity; /* of LAB_CAPACITY_MAX */
        unsigned int khz;
        int depth; /* of the thread that sleeps least */
        u64 milliwatts;
};

struct lab_meter {
        u64 milliwatts; /* now */
        u64 picojoules; /* drawn and not yet among the microjoules */
        u64 microjoules;
};

struct lab_package {
        raw_spinlock_t lock;
        cpumask_t cpus;
        int n_cores;
        int n_running; /* cores */
        int n_powered; /* cores that are not power gated */
        u64 accounted_nsec;
        struct lab_meter meters[LAB_DOMAINS];
};

extern struct lab_cpu lab_cpus[LAB_CPUS_MAX];
extern struct lab_core lab_cores[LAB_CPUS_MAX];
extern struct lab_package lab_packages[LAB_CPUS_MAX];
extern int lab_n_cores, lab_n_packages;

struct freq_attr;

/* Parameters that more than one part needs. */
extern unsigned int lab_freqs_khz[LAB_FREQ_MAX]; /* highest first */
extern int lab_n_freqs;
extern int lab_n_states; /* without POLL */
extern bool lab_epp;
extern int lab_fail_energy;

/* True if the parameters of a part make sense; else the kernel's log says why. Call these first:
 * the other functions rely on them. */
bool lab_model_check(void);
bool lab_idle_check(void);
bool lab_frequency_check(void);
bool lab_energy_check(void);
bool lab_platform_check(void);

/* Looks at the machine. -EINVAL if a CPU is offline or has a number that is too high. */
int lab_model_init(void);

/* The CPU's depth, or the frequency of all cores that have a CPU of `cpus`, is another from now. */
void lab_set_depth(int cpu, int depth);
void lab_set_khz(const struct cpumask *cpus, unsigned int khz);

/* Returns this much later. */
void lab_spend(u64 nsec);

/* The CPU runs from now on, and did not leave its state any sooner than it can. */
void lab_leave_state(int cpu);

/* Microjoules drawn since the module was loaded, in addition to start_energy_uj; and microwatts
 * drawn now. */
u64 lab_energy_uj(struct lab_package *package, enum lab_domain domain);
u64 lab_power_uw(struct lab_package *package, enum lab_domain domain);

/* Files of each policy for the cpufreq driver; ends with NULL. */
extern struct freq_attr *lab_preference_attributes[];

/* Each part registers what it has with the kernel, or takes it back. */
int lab_interrupt_register(void);
void lab_interrupt_unregister(void);
int lab_preference_register(void);
void lab_preference_unregister(void);
int lab_frequency_register(void);
void lab_frequency_unregister(void);
int lab_slow_register(void);
void lab_slow_unregister(void);
int lab_idle_register(void);
void lab_idle_unregister(void);
int lab_energy_register(void);
void lab_energy_unregister(void);
int lab_hwmon_register(bool counts);
void lab_hwmon_unregister(void);
int lab_platform_register(void);
void lab_platform_unregister(void);
int lab_wake_register(void);
void lab_wake_unregister(void);

#endif
