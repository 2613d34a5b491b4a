/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /proc/schedstat: a line for each CPU that is online, of nine numbers, among others. The seventh
 * is the nanoseconds that tasks ran, the ninth how often one began to. Kernels without
 * CONFIG_SCHEDSTATS have no such file.
 */
#include "sense/task-time.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "sense/scan.h"

#define NUMBERS  9
#define LONG_RUN 0.01   /* seconds: runs of which a reading may cut off much */
#define ROUNDING 0.01   /* seconds, of busy time, and of one sample of it */
#define WAKE_UP  100e-6 /* seconds, at most */

TaskTime *task_time_new(int n_cpus)
{
        TaskTime *time = g_new0(TaskTime, 1);

        time->n_cpus = n_cpus;
        time->last = g_new0(CpuTasks, n_cpus);
        time->before = g_new0(CpuTasks, n_cpus);
        time->share = g_new0(float, n_cpus);
        return time;
}

void task_time_free(TaskTime *time)
{
        if (!time)
                return;
        g_free(time->last);
        g_free(time->before);
        g_free(time->share);
        g_free(time);
}

/* "cpu0 0 0 0 0 0 0 1234567 890 12"; false: no line of a CPU. */
static bool parse_cpu(const char *text, uint64_t *ret_cpu, CpuTasks *ret_tasks)
{
        uint64_t x[NUMBERS];

        if (!scan_word(&text, "cpu") || !scan_u64(&text, ret_cpu))
                return false;
        for (int i = 0; i < NUMBERS; i++)
                if (*text != ' ' || !scan_u64(&text, &x[i]))
                        return false;
        *ret_tasks = (CpuTasks){ .run_nsec = x[6], .switches = x[8] };
        return true;
}

static int read_tasks(int root, CpuTasks *tasks, int n_cpus)
{
        g_autofree char *content = NULL;
        int r = file_read(root, "proc/schedstat", &content), n = 0;
        CpuTasks of_cpu;
        uint64_t cpu;

        memset(tasks, 0, sizeof(*tasks) * (size_t)n_cpus);
        if (r < 0)
                return r;
        for (const char *line = content; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (!parse_cpu(line, &cpu, &of_cpu) || cpu >= (uint64_t)n_cpus)
                        continue;
                tasks[cpu] = of_cpu;
                n++;
        }
        return n > 0 ? 0 : -EBADMSG;
}

/* False if the CPU was offline, or its counters went backwards. */
static bool counts(const CpuTasks *before, const CpuTasks *last)
{
        return before->switches > 0 && last->switches >= before->switches &&
               last->run_nsec >= before->run_nsec;
}

/* Busy time that neither tasks nor waking up nor sampling explains is work of interrupts. */
static float share_of(const CpuTasks *before, const CpuTasks *last, float busy, double seconds)
{
        double run = (double)(last->run_nsec - before->run_nsec) / 1e9;
        double switches = (double)(last->switches - before->switches);
        double sampled = (double)busy * seconds;
        double noise = ROUNDING + 3 * sqrt(sampled * ROUNDING);

        if (sampled >= LONG_RUN * (switches + 1) || sampled - run > WAKE_UP * switches + noise)
                return busy;
        return (float)(MIN(run, sampled + ROUNDING) / seconds);
}

void task_time_read(TaskTime *time, int root, const Snapshot *snapshot)
{
        CpuTasks *before = time->last, *last = time->before;
        double seconds = (double)snapshot->interval_usec / 1e6;
        bool read = read_tasks(root, last, time->n_cpus) == 0;

        time->before = before;
        time->last = last;
        time->known = read && time->read && seconds > 0;
        time->read = read;
        time->cpus = time->switches_per_sec = 0;
        for (int cpu = 0; cpu < time->n_cpus; cpu++) {
                time->share[cpu] = snapshot->busy[cpu];
                if (time->known && counts(&before[cpu], &last[cpu])) {
                        time->share[cpu] = share_of(&before[cpu], &last[cpu], snapshot->busy[cpu],
                                                    seconds);
                        time->switches_per_sec += (double)(last[cpu].switches -
                                                           before[cpu].switches) /
                                                  seconds;
                }
                time->cpus += (double)time->share[cpu];
        }
}
