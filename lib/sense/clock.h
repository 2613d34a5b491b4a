/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How fast a CPU runs, by the cpufreq of the kernel.
 */
#ifndef IDLED_CLOCK_H
#define IDLED_CLOCK_H

/* A frequency in kHz that this file of cpufreq has; NaN where there is none. */
double cpufreq_khz(int root, int cpu, const char *file);

/* The clock of `cpu` as a share of its highest, above 0, at most 1; NaN where cpufreq does not say.
 * Ask for CPUs that are busy: the clock of an idle one is old. The kernel has it from the latest
 * timer tick; before Linux 5.18 it interrupts the CPU unless that is idle. */
double clock_share(int root, int cpu);

#endif
