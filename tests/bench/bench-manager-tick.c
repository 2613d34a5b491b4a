/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a whole tick of the manager costs while nothing changes: reading, deciding with ondemand,
 * comparing, setting the timer. For comparison, libcpupower reads the idle states' counters of the
 * same tree, as `cpupower monitor` does for one line of its output.
 *
 * CPU time, medians. "At once" is one after the other; "as they come" is with 60 ms of sleep before
 * each, a tick and a reading by libcpupower in turns, so that caches and clocks are as cold for
 * both as they are in the daemon. A tick makes six system calls (two readings, and four of the
 * loop) and allocates nothing: what it costs more then is the way back into caches.
 */
#include <systemd/sd-event.h>

#include "bench.h"
#include "manager/manager-parts.h"
#include "virtual-clock.h"

#define SINGLE_TICKS 41

static Machine machines[] = {
        { "this machine", NULL, 25, NULL },
        { "256 CPUs, 5 states", "gnr3", 400, NULL },
        { "576 CPUs, no states", "cwf0", 1200, NULL },
};

static Manager *manager_make(const char *path)
{
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        int root = root_open(path);
        ManagerSetup setup = {
                .paths = { root, path, "nowhere", "nowhere", need_variable("IDLED_POLICIES") },
                .root = root,
                .run = -1,
                .dry_run = true,
                .keep_log_level = true,
        };
        sd_event *event;
        Manager *manager;

        if (sd_event_default(&event) < 0 || manager_new(&setup, event, errors, &manager) < 0) {
                fprintf(stderr, "%s: no manager\n", path);
                exit(EXIT_FAILURE);
        }
        manager_start(manager);
        sd_event_unref(event);
        return manager;
}

/* CPU time of one tick, the last reading being 100 ms old; negative if it changed something. */
static double tick_once(Manager *manager)
{
        uint64_t transitions = history_count(manager_history(manager));
        double start;

        skipped_usec += 100000;
        start = cpu_usec();
        manager_tick(manager);
        return transitions == history_count(manager_history(manager)) ? cpu_usec() - start : -1;
}

static double median(double *values, int n)
{
        qsort(values, (size_t)n, sizeof(values[0]), compare_doubles);
        return n ? values[n / 2] : NAN;
}

static double ticks_at_once(Manager *manager)
{
        double ticks[400];
        int kept = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(ticks); i++) {
                ticks[kept] = tick_once(manager);
                kept += ticks[kept] >= 0;
        }
        return median(ticks, kept);
}

/* The second is not a number if there is no library to be read. */
static void as_they_come(Manager *manager, bool library, double *ret_tick, double *ret_library)
{
        double ticks[SINGLE_TICKS], readings[SINGLE_TICKS], start;
        int kept = 0;

        for (int i = 0; i < SINGLE_TICKS; i++) {
                g_usleep(60000);
                ticks[kept] = tick_once(manager);
                kept += ticks[kept] >= 0;
                if (library) {
                        g_usleep(60000);
                        start = cpu_usec();
                        libcpupower_read(&manager_topology(manager)->online);
                        readings[i] = cpu_usec() - start;
                }
        }
        *ret_tick = median(ticks, kept);
        *ret_library = library ? median(readings, SINGLE_TICKS) : NAN;
}

static void bench(const Machine *machine)
{
        const char *path = machine->path ? machine->path : "/";
        int counters = 0;
        double at_once, single, library = NAN, library_single;
        Manager *manager = manager_make(path);

        at_once = ticks_at_once(manager);
        if (!machine->path || tree_mount(machine))
                library = bench_libcpupower(&manager_topology(manager)->online, &counters);
        as_they_come(manager, counters > 0, &single, &library_single);
        printf("%-22s %8.1f %13.1f %9.0f", machine->title, at_once, single, machine->target_usec);
        if (counters)
                printf(" %9d %8.1f %13.1f %7.1fx %12.1fx\n", counters, library, library_single,
                       library / at_once, library_single / single);
        else
                printf(" %9s\n", "-");
        manager_free(manager);
}

int main(void)
{
        log_set_level(LOG_WARNING);
        limit_files(RLIM_INFINITY);
        printf("A whole tick, nothing changed, and libcpupower's counters. us of CPU time\n");
        printf("%-22s %8s %13s %9s %9s %8s %13s %8s %13s\n", "", "at once", "as they come",
               "at most", "counters", "at once", "as they come", "at once", "as they come");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                if (machines[i].name)
                        machine_build(&machines[i]);
                apart(bench, &machines[i]);
                if (machines[i].name)
                        machine_remove(&machines[i]);
        }
        return bench_status;
}
