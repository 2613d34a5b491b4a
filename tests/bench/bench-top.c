/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a sample of idlectl top costs: reading, and the rows made of it, on this machine and on
 * trees of described ones; side by side with libcpupower's functions, by which `cpupower monitor`
 * reads. Times are CPU time, the median of several rounds. Energy is left out: it is read once a
 * second.
 */
#include "bench.h"

#include "ctl/top-rows.h"

#define ROUNDS 9

static Machine machines[] = {
        { "this machine", NULL, 20, NULL },
        { "256 CPUs, 5 states", "gnr3", 2000, NULL },
        { "576 CPUs, no states", "cwf0", 2000, NULL },
};

typedef struct Run {
        Watch *watch;
        TopCpu *cpus;
        GArray *rows;
} Run;

static void sample(Run *run)
{
        if (watch_sample(run->watch, SENSE_RESIDENCY | SENSE_IDLE_STATISTICS, false) < 0)
                abort();
        top_follow(run->watch, run->cpus);
        top_make(&(TopInput){ .watch = run->watch, .cpus = run->cpus }, TOP_BY_CPU, run->rows);
}

static double measure(Run *run)
{
        double rounds[ROUNDS];

        for (int i = 0; i < ROUNDS; i++) {
                double start = cpu_usec();
                int n = 0;

                while (cpu_usec() - start < 20000) {
                        sample(run);
                        n++;
                }
                rounds[i] = (cpu_usec() - start) / n;
        }
        qsort(rounds, ROUNDS, sizeof(rounds[0]), compare_doubles);
        return rounds[ROUNDS / 2];
}

static void bench(const Machine *machine)
{
        Run run = { .rows = g_array_new(FALSE, FALSE, sizeof(TopRow)) };
        int root = root_open(machine->path ? machine->path : "/"), counters = 0;
        double library = 0;

        if (root < 0 || watch_new(root, &run.watch) < 0)
                exit(EXIT_FAILURE);
        run.cpus = g_new0(TopCpu, run.watch->topology->n_cpus);
        sample(&run);
        if (!machine->path || tree_mount(machine))
                library = bench_libcpupower(&run.watch->topology->online, &counters);
        printf("%-22s %10.1f %10.0f %14.1f (%d counters)\n", machine->title, measure(&run),
               machine->target_usec, library, counters);
        watch_free(run.watch);
        g_array_unref(run.rows);
        g_free(run.cpus);
        close(root);
}

int main(void)
{
        printf("%-22s %10s %10s %14s\n", "us of CPU time", "top", "asked for", "libcpupower");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                if (machines[i].name)
                        machine_build(&machines[i]);
                apart(bench, &machines[i]);
                if (machines[i].name)
                        machine_remove(&machines[i]);
        }
        return bench_status;
}
