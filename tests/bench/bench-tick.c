/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What reading costs: one tick's sensors with the snapshot made of them, and the idle states'
 * counters side by side with libcpupower, by which `cpupower monitor` reads them.
 * Where a described machine cannot be mounted for libcpupower its line is left out. Times are CPU
 * time, the median of several rounds.
 */
#include "bench.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"

#define ROUNDS 9

static Machine machines[] = {
        { "this machine", NULL, 25, NULL },
        { "256 CPUs, 5 states", "gnr3", 400, NULL },
        { "576 CPUs, no states", "cwf0", 1200, NULL },
};

/* A machine as the daemon has it open. */
typedef struct Run {
        int root;
        unsigned senses;
        Topology *topology;
        Sensors *sensors;
        Counters *previous, *current;
        Snapshot *snapshot;
        GArray *usage_fds; /* of every `usage` file, to be changed */
        uint64_t generation;
} Run;

typedef void (*Step)(Run *run);

/* CPU time of one `step`, in microseconds; `before` is done before each and does not count. */
static double measure(Run *run, Step before, Step step)
{
        double rounds[ROUNDS];

        for (int i = 0; i < ROUNDS; i++) {
                double spent = 0;
                int n = 0;

                for (; spent < 20000; n++) {
                        double start;

                        if (before)
                                before(run);
                        start = cpu_usec();
                        for (int k = 0; k < (before ? 1 : 8); k++)
                                step(run);
                        spent += cpu_usec() - start;
                }
                rounds[i] = spent / n / (before ? 1 : 8);
        }
        qsort(rounds, ROUNDS, sizeof(rounds[0]), compare_doubles);
        return rounds[ROUNDS / 2];
}

static void run_open(Run *run, const char *path, unsigned senses)
{
        *run = (Run){ .root = root_open(path), .senses = senses };
        if (run->root < 0 || topology_read(run->root, &run->topology) < 0) {
                fprintf(stderr, "%s: no machine\n", path);
                exit(EXIT_FAILURE);
        }
        run->sensors = sensors_new(run->root, run->topology);
        run->previous = counters_new(run->topology->n_cpus);
        run->current = counters_new(run->topology->n_cpus);
        run->snapshot = snapshot_new(run->topology->n_cpus);
}

static void run_close(Run *run)
{
        for (guint i = 0; run->usage_fds && i < run->usage_fds->len; i++)
                close(g_array_index(run->usage_fds, int, i));
        if (run->usage_fds)
                g_array_unref(run->usage_fds);
        snapshot_free(run->snapshot);
        counters_free(run->current);
        counters_free(run->previous);
        sensors_free(run->sensors);
        topology_free(run->topology);
        close(run->root);
}

static void read_once(Run *run)
{
        if (counters_read(run->sensors, run->senses, run->current) < 0)
                abort();
}

static void tick_once(Run *run)
{
        Counters *swap = run->previous;

        read_once(run);
        snapshot_compute(run->previous, run->current, run->snapshot);
        run->previous = run->current;
        run->current = swap;
}

static void libcpupower_once(Run *run)
{
        CPUSET_FOREACH(cpu, &run->topology->online)
                for (int s = 0; s < run->current->idle[cpu].n_states; s++) {
                        cpuidle_state_usage((unsigned)cpu, (unsigned)s);
                        cpuidle_state_time((unsigned)cpu, (unsigned)s);
                }
}

/* Lets every state of every CPU be used once more. */
static void use_all(Run *run)
{
        char text[32];
        int length = snprintf(text, sizeof(text), "%013lu\n", (unsigned long)++run->generation);

        for (guint i = 0; i < run->usage_fds->len; i++)
                if (pwrite(g_array_index(run->usage_fds, int, i), text, (size_t)length, 0) < 0)
                        abort();
}

static void open_usages(Run *run)
{
        run->usage_fds = g_array_new(FALSE, FALSE, sizeof(int));
        CPUSET_FOREACH(cpu, &run->topology->online)
                for (int s = 0; s < run->current->idle[cpu].n_states; s++) {
                        g_autofree char *path = g_strdup_printf(
                                CPU_TREE "/cpu%d/cpuidle/state%d/usage", cpu, s);
                        int fd = openat(run->root, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

                        if (fd < 0)
                                abort();
                        g_array_append_val(run->usage_fds, fd);
                }
}

static int count_counters(const Run *run)
{
        int n = 0;

        for (int cpu = 0; cpu < run->topology->n_cpus; cpu++)
                n += 2 * run->current->idle[cpu].n_states;
        return n;
}

static void print_residency(const char *title, const char *how, double usec, double reference)
{
        printf("%-22s %-44s %10.1f %7.1fx\n", title, how, usec, reference / usec);
}

static void bench_residency(const Machine *machine)
{
        const char *path = machine->path ? machine->path : "/";
        double library;
        Run run;

        run_open(&run, path, SENSE_RESIDENCY);
        if (!(sensors_have(run.sensors) & SENSE_RESIDENCY) ||
            (machine->path && !tree_mount(machine))) {
                printf("%-22s not measured: no idle states, or no right to mount\n",
                       machine->title);
                run_close(&run);
                return;
        }
        read_once(&run);
        library = measure(&run, NULL, libcpupower_once);
        printf("%-22s %-44s %10.1f        (%d counters)\n", machine->title, "libcpupower", library,
               count_counters(&run));
        print_residency("", machine->path ? "idled, no state used since" : "idled, as it comes",
                        measure(&run, NULL, read_once), library);
        if (machine->path) {
                open_usages(&run);
                print_residency("", "idled, every state used since",
                                measure(&run, use_all, read_once), library);
                run.senses = SENSE_IDLE_STATISTICS;
                print_residency("", "idled, with above, below, rejected, all used",
                                measure(&run, use_all, read_once), library);
        }
        run_close(&run);
        if (!machine->path)
                return;

        limit_files(64);
        run_open(&run, path, SENSE_RESIDENCY);
        print_residency("", "idled, no state used since, nothing kept open",
                        measure(&run, NULL, read_once), library);
        run_close(&run);
}

static void bench_tick(const Machine *machine)
{
        Run run;

        run_open(&run, machine->path ? machine->path : "/",
                 SENSE_LOAD | SENSE_LOADAVG | SENSE_PRESSURE);
        tick_once(&run);
        printf("%-22s %10.1f %10.1f %14.0f\n", machine->title, measure(&run, NULL, read_once),
               measure(&run, NULL, tick_once), machine->target_usec);
        run_close(&run);
}

int main(void)
{
        limit_files(RLIM_INFINITY);
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++)
                if (machines[i].name)
                        machine_build(&machines[i]);

        printf("One tick's reading: load, load averages, pressure. us of CPU time\n");
        printf("%-22s %10s %10s %14s\n", "", "read", "+ snapshot", "for whole tick");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++)
                apart(bench_tick, &machines[i]);

        printf("\nIdle states: usage and time of every CPU and state. us of CPU time\n");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++)
                apart(bench_residency, &machines[i]);

        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++)
                if (machines[i].name)
                        machine_remove(&machines[i]);
        return bench_status;
}
