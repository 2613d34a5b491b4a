/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long a client waits for a hold: ADDRESS of the bus, PID of the daemon.
 *
 * From the call to the limit in the kernel's file, which a thread polls, and to the answer. When
 * that comes the limit is in the files of all CPUs that this process may run on; this is checked
 * each time. The same run measures for comparison: a call on the same bus to the same daemon that
 * does nothing (Ping), which is the cost of the bus, and the kernel's interfaces without a daemon:
 * /dev/cpu_dma_latency opened and written, and the CPUs' files.
 */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench-hold.h"

#define CALLS  2000
#define MANY   1000
#define CYCLES 10000

static int n_cpus, *limits; /* the CPUs' files, open */
static unsigned n_wrong;
static bool has_limits;

/* Shared by the caller and the thread that polls the limit. */
static _Atomic int awaited_us; /* 0: none, or it was seen */
static _Atomic bool done;
static double seen_usec;

static void open_limits(void)
{
        cpu_set_t set;

        sched_getaffinity(0, sizeof(set), &set);
        limits = g_new0(int, CPU_COUNT(&set));
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
                char path[96];

                if (!CPU_ISSET(cpu, &set))
                        continue;
                snprintf(path, sizeof(path),
                         "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us", cpu);
                limits[n_cpus] = open(path, O_RDWR | O_CLOEXEC);
                if (limits[n_cpus] >= 0)
                        n_cpus++;
        }
}

/* True if every CPU of ours has this limit. */
static bool is_effective(const char *expected)
{
        for (int i = 0; i < n_cpus; i++) {
                char text[16] = "";

                if (pread(limits[i], text, sizeof(text) - 1, 0) < 0)
                        return false;
                g_strchomp(text);
                if (!g_str_equal(text, expected))
                        return false;
        }
        return n_cpus > 0;
}

static void ping(void)
{
        int r = sd_bus_call_method(bus, NAME, PATH, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
                                   "");

        if (r < 0)
                fail("Ping", r, NULL);
}

static unsigned count_holds(void)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;
        const char *path;
        unsigned n = 0;
        int r = sd_bus_get_property(bus, NAME, PATH, MANAGER, "Holds", &error, &reply, "ao");

        if (r < 0)
                fail("Holds", r, &error);
        sd_bus_message_enter_container(reply, 'a', "o");
        while (sd_bus_message_read(reply, "o", &path) > 0)
                n++;
        sd_bus_message_unref(reply);
        return n;
}

static void wait_for_none(void)
{
        while (count_holds() > 0)
                g_usleep(1000);
}

/* The other doors: what the bus costs, and what the kernel does. */
static void bench_references(void)
{
        static double times[CALLS];
        int32_t latency_us = 50;

        for (int i = 0; i < CALLS; i++) {
                double start = now_usec();

                ping();
                times[i] = now_usec() - start;
        }
        print_times("Ping on the same bus (the floor)", times, CALLS, 0, 0);
        for (int i = 0; i < CALLS; i++) {
                double start = now_usec();
                int fd = open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);

                if (fd < 0 || write(fd, &latency_us, sizeof(latency_us)) < 0)
                        return;
                times[i] = now_usec() - start;
                close(fd);
        }
        print_times("/dev/cpu_dma_latency (all CPUs)", times, CALLS, 0, 0);
        for (int i = 0; i < CALLS && n_cpus > 0; i++) {
                double start = now_usec();

                for (int j = 0; j < n_cpus; j++)
                        if (pwrite(limits[j], i % 2 ? "0" : "50", i % 2 ? 1 : 2, 0) < 0)
                                return;
                times[i] = now_usec() - start;
        }
        if (n_cpus > 0)
                print_times("pm_qos_resume_latency_us, written directly", times, CALLS, 0, 0);
}

/* Each hold changes the limit: it is stricter than `strictest`, and gone before the next comes. */
static void bench_calls(const char *what, const char *what_release, int calls, double p50_target,
                        double p99_target)
{
        g_autofree double *begins = g_new(double, calls), *ends = g_new(double, calls);

        for (int i = 0; i < calls; i++) {
                uint32_t latency_us = i % 2 ? 40 : 50;
                double start = now_usec();
                char *path;
                int fd = hold(latency_us, &path);

                begins[i] = now_usec() - start;
                if (has_limits)
                        n_wrong += !is_effective(latency_us == 40 ? "40" : "50");
                start = now_usec();
                release(path);
                ends[i] = now_usec() - start;
                close(fd);
                g_free(path);
        }
        print_times(what, begins, calls, p50_target, p99_target);
        print_times(what_release, ends, calls, 0, 0);
}

/* Looks at the last of our CPUs, which is limited after the others, until it has what is awaited.
 */
static void *watch(void *unused)
{
        while (!done) {
                char text[16] = "";
                int us = awaited_us;

                if (us == 0) {
                        sched_yield();
                } else if (pread(limits[n_cpus - 1], text, sizeof(text) - 1, 0) > 0 &&
                           atoi(text) == us) {
                        seen_usec = now_usec();
                        awaited_us = 0;
                }
        }
        return NULL;
}

/* The limit counts, not the answer: a thread records when it is there. */
static void bench_effective(void)
{
        static double times[CALLS];
        pthread_t watcher;

        if (!has_limits || pthread_create(&watcher, NULL, watch, NULL) != 0)
                return;
        for (int i = 0; i < CALLS; i++) {
                double start = now_usec();
                char *path;
                int fd;

                awaited_us = i % 2 ? 40 : 50;
                fd = hold(i % 2 ? 40 : 50, &path);
                while (awaited_us)
                        sched_yield();
                times[i] = seen_usec - start;
                release(path);
                close(fd);
                g_free(path);
        }
        done = true;
        pthread_join(watcher, NULL);
        print_times("Hold to the limit in effect, seen by another process", times, CALLS, 150,
                    1000);
}

/* One call at a time, everything asleep in between: caches are cold and CPUs must wake up. */
static void bench_single(void)
{
        static double calls[200], holds[200];

        for (size_t i = 0; i < G_N_ELEMENTS(holds); i++) {
                double start;
                int fd;

                g_usleep(5000);
                start = now_usec();
                ping();
                calls[i] = now_usec() - start;
                g_usleep(5000);
                start = now_usec();
                fd = hold(50, NULL);
                holds[i] = now_usec() - start;
                if (has_limits)
                        n_wrong += !is_effective("50");
                close(fd);
        }
        print_times("Ping, one every 10 ms", calls, (int)G_N_ELEMENTS(calls), 0, 0);
        print_times("Hold, one every 10 ms", holds, (int)G_N_ELEMENTS(holds), 0, 0);
        wait_for_none();
}

typedef struct Traces {
        long rss_kb, descriptors;
} Traces;

static Traces look(pid_t daemon)
{
        g_autofree char *status = NULL, *path = g_strdup_printf("/proc/%d/status", (int)daemon);
        g_autofree char *dir_path = g_strdup_printf("/proc/%d/fd", (int)daemon);
        GDir *dir = g_dir_open(dir_path, 0, NULL);
        Traces traces = { 0 };
        const char *line;

        g_file_get_contents(path, &status, NULL, NULL);
        line = status ? strstr(status, "VmRSS:") : NULL;
        traces.rss_kb = line ? atol(line + strlen("VmRSS:")) : -1;
        while (dir && g_dir_read_name(dir))
                traces.descriptors++;
        if (dir)
                g_dir_close(dir);
        return traces;
}

static void print_traces(const char *what, Traces before, Traces after)
{
        printf("%-46s descriptors %ld -> %ld, RSS %ld -> %ld kB: %s\n", what, before.descriptors,
               after.descriptors, before.rss_kb, after.rss_kb,
               before.descriptors == after.descriptors && after.rss_kb - before.rss_kb < 1024
                       ? "met"
                       : "MISSED");
}

static void bench_many(pid_t daemon)
{
        g_autofree int *fds = g_new(int, MANY);
        Traces before, during, after;
        long room_kb = 0;

        for (int round = 0; round < 2;
             round++) { /* the first makes room, the second must need none */
                before = look(daemon);
                for (int i = 0; i < MANY; i++)
                        fds[i] = hold(100, NULL);
                during = look(daemon);
                room_kb = MAX(room_kb, during.rss_kb - before.rss_kb);
                if (round == 1)
                        bench_calls("Hold, with 1,000 others", "ReleaseHold, with 1,000 others",
                                    300, 2000, 2000);
                for (int i = 0; i < MANY; i++)
                        close(fds[i]);
                wait_for_none();
                ping();
                after = look(daemon);
        }
        printf("%-46s %.2f kB each\n", "memory of a hold", (double)room_kb / MANY);
        print_traces("1,000 holds, all released", before, after);
}

/* Holders that die by SIGKILL. */
static void bench_deaths(pid_t daemon)
{
        Traces before = look(daemon), after;
        double start = now_usec();

        for (int i = 0; i < CYCLES; i++) {
                int fd = hold(50, NULL);
                pid_t holder = fork();

                if (holder == 0)
                        for (;;)
                                pause();
                close(fd);
                kill(holder, SIGKILL);
                waitpid(holder, NULL, 0);
        }
        wait_for_none();
        ping();
        after = look(daemon);
        print_traces("10,000 holders killed", before, after);
        printf("%-46s %8.0f us a cycle, limits %s\n", "", (now_usec() - start) / CYCLES,
               !has_limits || is_effective("0") ? "as found" : "LEFT BEHIND");
}

int main(int argc, char **argv)
{
        struct rlimit limit;
        pid_t daemon = argc == 3 ? atoi(argv[2]) : 0;
        int fd, r;

        if (daemon <= 0)
                return EXIT_FAILURE;
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_address(bus, argv[1]);
        if (r >= 0)
                r = sd_bus_set_bus_client(bus, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(bus, true);
        if (r >= 0)
                r = sd_bus_start(bus);
        if (r < 0)
                fail("bus", r, NULL);
        open_limits();
        fd = hold(50, NULL);
        has_limits = is_effective("50");
        close(fd);
        wait_for_none();
        printf("%-46s %8s %8s %8s\n", "us", "p50", "p99", "max");
        bench_references();
        bench_effective();
        bench_calls("Hold, one after the other, to the answer", "ReleaseHold", CALLS, 0, 0);
        bench_single();
        bench_many(daemon);
        bench_deaths(daemon);
        if (has_limits)
                printf("%-46s %u\n", "answers before the limit was in effect", n_wrong);
        else
                puts("This kernel, or this build, has no limits to look at: times are of the calls "
                     "alone.");
        sd_bus_flush_close_unref(bus);
        return n_wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
