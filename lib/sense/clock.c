/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Clocks of CPUs: two files of cpufreq, read at each call. Reading them wakes no sleeping CPU.
 */
#include "sense/clock.h"

#include <math.h>
#include <stdio.h>

#include "base/file.h"

double cpufreq_khz(int root, int cpu, const char *file)
{
        char path[96];
        uint64_t khz;

        snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file);
        return file_read_u64(root, path, &khz) == 0 && khz > 0 ? (double)khz : NAN;
}

double clock_share(int root, int cpu)
{
        double share = cpufreq_khz(root, cpu, "scaling_cur_freq") /
                       cpufreq_khz(root, cpu, "cpuinfo_max_freq");

        return share > 1 ? 1 : share;
}
