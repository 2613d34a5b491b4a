/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a whole tick of the manager costs while nothing changes: reading, deciding with ondemand,
 * comparing, setting the timer. Beside it libcpupower reading the idle states' counters of the same
 * tree, as `cpupower monitor` does for one line of its output.
 *
 * CPU time, medians. "At once" is ticks one after the other; "as they come" is single ticks with
 * 60 ms of sleep between them, so that caches and clocks are cold as they are in the daemon.
 */
#include <systemd/sd-event.h>

#include "bench.h"
#include "core/manager.h"

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
                .paths = { root, path, "nowhere", "nowhere", g_getenv("IDLED_POLICIES") },
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
        uint64_t transitions = manager->n_transitions;
        double start;

        manager->current->time_usec -= 100000;
        start = cpu_usec();
        manager_tick(manager);
        return transitions == manager->n_transitions ? cpu_usec() - start : -1;
}

static double median_of_ticks(Manager *manager, int n, bool sleep)
{
        g_autofree double *ticks = g_new(double, n);
        int kept = 0;

        for (int i = 0; i < n; i++) {
                if (sleep)
                        g_usleep(60000);
                ticks[kept] = tick_once(manager);
                kept += ticks[kept] >= 0;
        }
        qsort(ticks, (size_t)kept, sizeof(ticks[0]), compare_doubles);
        return kept ? ticks[kept / 2] : NAN;
}

static void bench(const Machine *machine)
{
        const char *path = machine->path ? machine->path : "/";
        int counters = 0;
        double at_once, single, library = NAN;
        Manager *manager = manager_make(path);

        at_once = median_of_ticks(manager, 400, false);
        single = median_of_ticks(manager, SINGLE_TICKS, true);
        if (!machine->path || tree_mount(machine))
                library = bench_libcpupower(&manager->topology->online, &counters);
        printf("%-22s %8.1f %13.1f %9.0f", machine->title, at_once, single, machine->target_usec);
        if (counters)
                printf(" %12.1f (%d) %6.1fx\n", library, counters, library / at_once);
        else
                printf(" %12s\n", "-");
        manager_free(manager);
}

int main(void)
{
        log_set_level(LOG_WARNING);
        limit_files(RLIM_INFINITY);
        printf("A whole tick, nothing changed. us of CPU time\n");
        printf("%-22s %8s %13s %9s %12s\n", "", "at once", "as they come", "at most",
               "libcpupower (counters)");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                if (machines[i].name)
                        machine_build(&machines[i]);
                apart(bench, &machines[i]);
                if (machines[i].name)
                        machine_remove(&machines[i]);
        }
        return EXIT_SUCCESS;
}
