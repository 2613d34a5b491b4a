/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a sample of idlectl top costs: reading, and the rows made of it, on this machine and on
 * trees of described ones; side by side with libcpupower's functions, by which `cpupower monitor`
 * reads. Times are CPU time, the median of several rounds. Energy is left out: it is read once a
 * second.
 *
 * "program" is all that idlectl does for a sample of one second, as its user started it: waiting,
 * reading, limits and temperatures as well, and printing the table.
 */
#include "bench.h"

#include <spawn.h>

#include "ctl/verbs/top.h"

#define ROUNDS  9
#define SAMPLES 8

extern char **environ;

static Machine machines[] = {
        { "this machine", NULL, 20, NULL },
        { "256 CPUs, 5 states", "gnr3", 2000, NULL },
        { "576 CPUs, no states", "cwf0", 2000, NULL },
        { "576 CPUs, 10 states", "", 2000, NULL },
};

static void sample(Top *run)
{
        if (watch_sample(run->watch, SENSE_RESIDENCY | SENSE_IDLE_STATISTICS, false) < 0)
                abort();
        top_follow(run);
        top_make(run);
}

static double measure(Top *run)
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

/* CPU time of the program in us, for so many samples. */
static double run_program(const char *root, int samples)
{
        g_autofree char *count = g_strdup_printf("%d", samples);
        char *const argv[] = { (char *)need_variable("IDLECTL"),
                               (char *)"top",
                               (char *)"--root",
                               (char *)root,
                               (char *)"--count",
                               count,
                               NULL };
        posix_spawn_file_actions_t actions;
        struct rusage usage;
        int status = -1;
        pid_t pid;

        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0 ||
            wait4(pid, &status, 0, &usage) != pid || status != 0)
                exit(EXIT_FAILURE);
        posix_spawn_file_actions_destroy(&actions);
        return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static double measure_program(const char *root)
{
        double once = run_program(root, 1);

        return (run_program(root, 1 + SAMPLES) - once) / SAMPLES;
}

/* Puts a file below the tree. */
static void put(const Machine *machine, const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(machine->path, name, NULL);
        g_autofree char *directory = g_path_get_dirname(path);

        if (g_mkdir_with_parents(directory, 0755) < 0 || !g_file_set_contents(path, text, -1, NULL))
                exit(EXIT_FAILURE);
}

/* More than any recorded machine: 576 CPUs with 10 states. */
static void build_large(Machine *machine)
{
        static const struct {
                const char *file, *text;
        } files[] = { { "latency", "10\n" }, { "residency", "30\n" }, { "usage", "5\n" },
                      { "time", "500\n" },   { "above", "1\n" },      { "below", "1\n" },
                      { "rejected", "0\n" }, { "disable", "0\n" } };
        g_autoptr(GString) stat = g_string_new("cpu  1 0 1 1 0 0 0 0 0 0\n");

        machine->path = g_mkdtemp(g_strdup(access("/dev/shm", W_OK) == 0
                                                   ? "/dev/shm/idled-bench-XXXXXX"
                                                   : "/tmp/idled-bench-XXXXXX"));
        put(machine, CPU_TREE "/possible", "0-575\n");
        put(machine, CPU_TREE "/present", "0-575\n");
        put(machine, CPU_TREE "/online", "0-575\n");
        put(machine, CPU_TREE "/cpuidle/current_driver", "none\n");
        put(machine, MARKER, "");
        for (int cpu = 0; cpu < 576; cpu++) {
                g_autofree char *limit = g_strdup_printf(
                        CPU_TREE "/cpu%d/power/pm_qos_resume_latency_us", cpu);
                g_autofree char *online = g_strdup_printf(CPU_TREE "/cpu%d/online", cpu);

                g_string_append_printf(stat, "cpu%d 100 0 100 9000 0 0 0 0 0 0\n", cpu);
                put(machine, limit, "0\n");
                put(machine, online, "1\n");
                for (int s = 0; s < 10; s++) {
                        g_autofree char *state = g_strdup_printf(CPU_TREE "/cpu%d/cpuidle/state%d",
                                                                 cpu, s);
                        g_autofree char *file = g_build_filename(state, "name", NULL);
                        g_autofree char *name = g_strdup_printf("C%d\n", s);

                        put(machine, file, name);
                        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                                g_autofree char *path = g_build_filename(state, files[i].file,
                                                                         NULL);

                                put(machine, path, files[i].text);
                        }
                }
        }
        put(machine, "proc/stat", stat->str);
}

static void bench(const Machine *machine)
{
        Top run = { .rows = g_array_new(FALSE, FALSE, sizeof(TopRow)) };
        int root = root_open(machine->path ? machine->path : "/"), counters = 0;
        double library = 0, program = measure_program(machine->path ? machine->path : "/");

        if (root < 0 || watch_new(root, &run.watch) < 0)
                exit(EXIT_FAILURE);
        run.cpus = g_new0(TopCpu, run.watch->topology->n_cpus);
        run.celsius = g_new0(double, run.watch->topology->n_packages);
        sample(&run);
        if (!machine->path || tree_mount(machine))
                library = bench_libcpupower(&run.watch->topology->online, &counters);
        printf("%-22s %10.1f %10.0f %10.1f %14.1f (%d counters)\n", machine->title, measure(&run),
               machine->target_usec, program, library, counters);
        watch_free(run.watch);
        g_array_unref(run.rows);
        g_free(run.cpus);
        g_free(run.celsius);
        close(root);
}

int main(void)
{
        printf("%-22s %10s %10s %10s %14s\n", "us of CPU time", "top", "asked for", "program",
               "libcpupower");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                if (machines[i].name && *machines[i].name)
                        machine_build(&machines[i]);
                else if (machines[i].name)
                        build_large(&machines[i]);
                apart(bench, &machines[i]);
                if (machines[i].name)
                        machine_remove(&machines[i]);
        }
        return bench_status;
}
