/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a change of the parked CPUs costs by each way of parking, and by CPU hotplug, in a guest of
 * tools/vm with four CPUs: vm-transitions is the way to run it. README.md has the figures.
 *
 * A round parks CPUs 2-3, then 1-3, then 3, then none, 2-3 again, and ends as idled does. Each step
 * is what the daemon would do, record included, in one process; hotplug takes the CPUs offline.
 * After each step the program checks that it may run on exactly the active CPUs, or, with hotplug,
 * that it cannot run on the offline ones.
 *
 * It prints for each step: the time until it was done; how often the kernel built scheduling
 * domains, counted by a probe on build_sched_domains(); and how often CPUs 2-3 and CPUs 0-1 woke up
 * in the step and the 50 ms after it (`usage` of their idle states). The first row has their
 * wake-ups in 50 ms without a step.
 *
 * Without arguments, which are names of ways, a second table has the wake-ups a second while CPUs
 * 2-3 stay parked, without and with a light load. The load begins before they are parked, so its
 * timers may be there: half of its threads wait by timers of high resolution, half by those of the
 * wheel.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "act/park/park-common.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "systemd/unit-control.h"

#define ROUNDS      20
#define N_CPUS      4
#define SETTLE_USEC 50000
#define N_THREADS   10
#define LOAD_USEC   10000
#define WORK_USEC   200
#define STAY_SEC    20
#define PROBE       "idled_rebuild"
#define TRACING     "sys/kernel/tracing/"
#define BARE        "/run/bench-bare"

enum { FIRST, MORE, LESS, NONE, AGAIN, END, STEPS };

static const struct {
        const char *name, *parked;
} steps[STEPS] = {
        [FIRST] = { "first: 2-3", "2-3" }, [MORE] = { "1-3", "1-3" },         [LESS] = { "3", "3" },
        [NONE] = { "none", "" },           [AGAIN] = { "again: 2-3", "2-3" }, [END] = { "end", "" },
};

typedef struct Sample {
        double usec, rebuilds, near, far; /* wake-ups of CPUs 2-3, of CPUs 0-1 */
} Sample;

/* A run with one way of parking. */
typedef struct Run {
        const ParkBackendOps *ops; /* NULL: hotplug */
        bool bare;                 /* as if there were no systemd */
        int root;
        Units *units;
        Knobs *knobs;
        void *state;
} Run;

static int root_fd; /* the machine's */
static int loaded;  /* threads of the load go on */

static void die(const char *what, int error)
{
        fprintf(stderr, "bench-transitions: %s: %s\n", what, strerror(-error));
        exit(EXIT_FAILURE);
}

static CpuSet set_of(const char *text)
{
        CpuSet set = { 0 };

        if (cpuset_parse(text, &set) < 0)
                die(text, -EINVAL);
        return set;
}

static double now_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int append(const char *path, const char *text)
{
        _fd_ int fd = openat(root_fd, path, O_WRONLY | O_APPEND | O_CLOEXEC);

        return fd >= 0 && write(fd, text, strlen(text)) > 0 ? 0 : -errno;
}

static void probe(void)
{
        int r = append(TRACING "kprobe_events", "p:" PROBE " build_sched_domains");

        if (r == 0)
                r = file_write(root_fd, TRACING "events/kprobes/" PROBE "/enable", "1");
        if (r < 0)
                die("a probe on build_sched_domains()", r);
}

static void unprobe(void)
{
        file_write(root_fd, TRACING "events/kprobes/" PROBE "/enable", "0");
        append(TRACING "kprobe_events", "-:" PROBE);
}

static double count_rebuilds(void)
{
        g_autofree char *text = NULL;
        const char *line;
        int r = file_read(root_fd, TRACING "kprobe_profile", &text);

        if (r < 0 || !(line = strstr(text, PROBE)))
                die("/" TRACING "kprobe_profile", r < 0 ? r : -ENODATA);
        return g_ascii_strtod(line + strlen(PROBE), NULL);
}

static double count_wakes(int first, int last)
{
        double wakes = 0;

        for (int cpu = first; cpu <= last; cpu++)
                for (int state = 0;; state++) {
                        g_autofree char *path = g_strdup_printf(
                                "sys/devices/system/cpu/cpu%d/cpuidle/state%d/usage", cpu, state);
                        uint64_t usage;

                        if (file_read_u64(root_fd, path, &usage) < 0)
                                break;
                        wakes += (double)usage;
                }
        return wakes;
}

static void settle(void)
{
        g_usleep(SETTLE_USEC);
}

static int plug(const CpuSet *allowed)
{
        for (int cpu = 1; cpu < N_CPUS; cpu++) {
                g_autofree char *path = g_strdup_printf("sys/devices/system/cpu/cpu%d/online", cpu);
                const char *wanted = cpuset_has(allowed, cpu) ? "1" : "0";
                g_autofree char *now = NULL;
                int r = file_read(root_fd, path, &now);

                if (r == 0 && !g_str_equal(now, wanted))
                        r = file_write(root_fd, path, wanted);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int park(Run *run, const CpuSet *allowed)
{
        const Topology topology = { .online = set_of("0-3") };

        return run->ops ? run->ops->apply(run->state, run->knobs, allowed, &topology)
                        : plug(allowed);
}

static int finish(Run *run)
{
        const CpuSet all = set_of("0-3");
        int r = run->ops ? knobs_restore(run->knobs, NULL, NULL) : plug(&all);

        units_free(g_steal_pointer(&run->units));
        return r;
}

static void expect_affinity(const char *step, const CpuSet *allowed)
{
        cpu_set_t mask;
        CpuSet mine = { 0 };

        sched_getaffinity(0, sizeof(mask), &mask);
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                if (CPU_ISSET(cpu, &mask))
                        cpuset_add(&mine, cpu);
        if (!cpuset_equal(&mine, allowed))
                die(step, -ESTALE);
}

static Sample measure(Run *run, int step)
{
        CpuSet allowed = set_of("0-3"), parked = set_of(steps[step].parked);
        double far = count_wakes(0, 1), near = count_wakes(2, 3), rebuilds = count_rebuilds();
        double began = now_usec();
        Sample sample;
        int r;

        cpuset_subtract(&allowed, &parked);
        r = step == END ? finish(run) : park(run, &allowed);
        sample.usec = now_usec() - began;
        if (r < 0)
                die(steps[step].name, r);
        settle();
        expect_affinity(steps[step].name, &allowed);
        sample.near = count_wakes(2, 3) - near;
        sample.far = count_wakes(0, 1) - far;
        sample.rebuilds = count_rebuilds() - rebuilds;
        return sample;
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

/* Sorts the field at `offset` of all samples into `values`. */
static double *sorted(const Sample *samples, size_t offset, double values[static ROUNDS])
{
        for (int i = 0; i < ROUNDS; i++)
                values[i] = *(const double *)((const char *)&samples[i] + offset);
        qsort(values, ROUNDS, sizeof(values[0]), compare);
        return values;
}

static double median(const Sample *samples, size_t offset)
{
        double values[ROUNDS];

        return sorted(samples, offset, values)[ROUNDS / 2];
}

static void print_row(const char *name, const char *step, const Sample *samples)
{
        double times[ROUNDS];

        sorted(samples, offsetof(Sample, usec), times);
        printf("| %s | %s | %.1f | %.1f | %.1f | %.0f | %.0f | %.0f |\n", name, step,
               times[0] / 1e3, times[ROUNDS / 2] / 1e3, times[ROUNDS - 1] / 1e3,
               median(samples, offsetof(Sample, rebuilds)), median(samples, offsetof(Sample, near)),
               median(samples, offsetof(Sample, far)));
        fflush(stdout);
}

/* A root without systemd's files: only what the raw partition and libcgroup look at. */
static int bare_root(void)
{
        static const char *const trees[] = { "sys", "proc" };

        mkdir(BARE, 0755);
        for (size_t i = 0; i < G_N_ELEMENTS(trees); i++) {
                g_autofree char *from = g_strdup_printf("/%s", trees[i]);
                g_autofree char *to = g_strdup_printf(BARE "/%s", trees[i]);

                if (mkdir(to, 0755) == 0 && mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
                        die(to, -errno);
        }
        return root_open(BARE);
}

static void begin(Run *run, int record)
{
        static char *all[] = { (char *)"*", NULL }, *none[] = { NULL };
        static const ParkOptions options = { .units = all, .exclude = none };
        const UnitControl *control;
        ActContext context;
        CpuSet unused;
        int r = 0;

        run->units = units_new(NULL, NULL);
        control = units_control(run->units);
        if (!run->bare) /* connected before anything is measured, as the daemon is */
                r = control->get_allowed(control->userdata, "-.slice", &unused);
        context = (ActContext){ run->root, run->bare ? NULL : control };
        run->knobs = knobs_new(&context, record, false);
        if (r >= 0 && run->ops)
                r = run->ops->open(&context, &options, &run->state);
        if (r < 0)
                die(run->ops ? run->ops->name : "hotplug", r);
}

static void end(Run *run)
{
        int r = run->units ? finish(run) : 0;

        if (r < 0)
                die("restoring", r);
        knobs_free(run->knobs);
        if (run->ops)
                run->ops->close(run->state);
}

static gpointer work(gpointer data)
{
        const struct timeval timeout = { .tv_usec = LOAD_USEC };
        bool wheel = GPOINTER_TO_INT(data) & 1;
        int ends[2];
        char byte;

        if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0 ||
            setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
                die("socketpair", -errno);
        while (g_atomic_int_get(&loaded)) {
                double until;

                if (!wheel)
                        g_usleep(LOAD_USEC);
                else if (recv(ends[0], &byte, 1, 0) >= 0)
                        die("recv", -EPROTO);
                until = now_usec() + WORK_USEC;
                while (now_usec() < until)
                        ;
        }
        close(ends[0]);
        close(ends[1]);
        return NULL;
}

/* The wake-ups of CPUs while nothing changes. */
static void print_stay(const char *name, const char *load)
{
        double before[3], after[3];

        g_usleep(2 * G_USEC_PER_SEC);
        for (int i = 0; i < 3; i++)
                before[i] = i < 2 ? count_wakes(2 + i, 2 + i) : count_wakes(0, 1);
        g_usleep(STAY_SEC * G_USEC_PER_SEC);
        for (int i = 0; i < 3; i++)
                after[i] = i < 2 ? count_wakes(2 + i, 2 + i) : count_wakes(0, 1);
        printf("| %s, %s | %.1f | %.1f | %.1f |\n", name, load, (after[0] - before[0]) / STAY_SEC,
               (after[1] - before[1]) / STAY_SEC, (after[2] - before[2]) / STAY_SEC);
        fflush(stdout);
}

/* With no way: while nothing is parked. */
static void measure_stay(const char *name, Run *run, int record)
{
        const CpuSet allowed = set_of("0-1");
        GThread *threads[N_THREADS];

        for (int i = 0; i < 2; i++) {
                int r = 0;

                g_atomic_int_set(&loaded, i);
                for (int n = 0; i && n < N_THREADS; n++)
                        threads[n] = g_thread_new("load", work, GINT_TO_POINTER(n));
                g_usleep(G_USEC_PER_SEC);
                if (run) {
                        begin(run, record);
                        r = park(run, &allowed);
                }
                if (r < 0)
                        die(name, r);
                print_stay(name, i ? "a light load" : "no load");
                if (run)
                        end(run);
                g_atomic_int_set(&loaded, 0);
                for (int n = 0; i && n < N_THREADS; n++)
                        g_thread_join(threads[n]);
        }
}

static void measure_way(const char *name, const ParkBackendOps *ops, bool bare, bool stay,
                        int record)
{
        static Sample samples[STEPS][ROUNDS];
        Run run = { .ops = ops, .bare = bare, .root = bare ? bare_root() : root_fd };
        bool held = false;

        if (bare) /* no older kernel than 6.2 may be switched over by it */
                held = !park_kernel_is(root_fd, 6, 2) &&
                       file_write(root_fd, PARK_UNIFIED "/cgroup.subtree_control", "+cpuset") == 0;
        for (int round = 0; round < ROUNDS; round++) {
                begin(&run, record);
                for (int step = FIRST; step < STEPS; step++)
                        samples[step][round] = measure(&run, step);
                end(&run);
        }
        for (int step = FIRST; step < STEPS; step++)
                print_row(name, steps[step].name, samples[step]);
        if (stay)
                measure_stay(name, &run, record);
        if (held)
                file_write(root_fd, PARK_UNIFIED "/cgroup.subtree_control", "-cpuset");
}

static void measure_usual(void)
{
        Sample samples[ROUNDS] = { 0 };

        for (int i = 0; i < ROUNDS; i++) {
                double far = count_wakes(0, 1), near = count_wakes(2, 3);

                settle();
                samples[i].near = count_wakes(2, 3) - near;
                samples[i].far = count_wakes(0, 1) - far;
        }
        print_row("nothing", "-", samples);
}

int main(int argc, char **argv)
{
        static const struct {
                const char *name;
                const ParkBackendOps *ops;
                bool bare;
        } ways[] = {
                { "partition, slice", &park_partition, false },
                { "partition, bare", &park_partition, true },
                { "systemd", &park_systemd, false },
                { "cgroup", &park_cgroup, true },
                { "hotplug", NULL, false },
        };
        g_autofree char *directory = g_dir_make_tmp("bench.XXXXXX", NULL);
        int record = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        root_fd = root_open("/");
        if (access("/sys/module/pmlab", F_OK) < 0 || record < 0 || root_fd < 0)
                die("not in a guest of tools/vm", -EPERM);
        probe();
        measure_usual();
        if (argc == 1)
                measure_stay("nothing", NULL, -1);
        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++)
                if (argc == 1 || g_strv_contains((const char *const *)argv + 1, ways[i].name))
                        measure_way(ways[i].name, ways[i].ops, ways[i].bare, argc == 1, record);
        unprobe();
        return EXIT_SUCCESS;
}
