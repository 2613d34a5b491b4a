/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What going from one profile to another costs, with everything that it changes written, read back
 * and put on record: from the call to the last knob. On a tree of files, so without what drivers
 * take to obey.
 */
#include <systemd/sd-event.h>

#include "bench.h"
#include "core/manager.h"

#define SWITCHES 101

static Machine machines[] = {
        { "256 CPUs", "gnr3", 5000, NULL },
        { "576 CPUs, no states", "cwf0", 0, NULL },
};

static Manager *manager_make(const char *path)
{
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        g_autofree char *run = g_build_filename(path, "run", NULL);
        int root = root_open(path);
        ManagerSetup setup = {
                .paths = { root, path, TESTS_DIR "/../conf", "nowhere",
                           g_getenv("IDLED_POLICIES") },
                .root = root,
                .keep_log_level = true,
        };
        sd_event *event;
        Manager *manager;

        g_mkdir_with_parents(run, 0755);
        setup.run = root_open(run);
        if (sd_event_default(&event) < 0 || manager_new(&setup, event, errors, &manager) < 0) {
                fprintf(stderr, "%s: no manager\n", path);
                exit(EXIT_FAILURE);
        }
        manager_start(manager);
        sd_event_unref(event);
        return manager;
}

/* Microseconds until all is as the profile says, and of CPU time for it. */
static double set_profile(Manager *manager, const char *name, double *ret_cpu)
{
        g_autofree char *error = NULL;
        gint64 start = g_get_monotonic_time();
        double cpu = cpu_usec();

        if (manager_set_profile(manager, name, &error) < 0) {
                fprintf(stderr, "%s: %s\n", name, error);
                exit(EXIT_FAILURE);
        }
        *ret_cpu = cpu_usec() - cpu;
        return (double)(g_get_monotonic_time() - start);
}

static void print_sorted(double *values)
{
        qsort(values, SWITCHES, sizeof(values[0]), compare_doubles);
        printf(" %8.0f %8.0f", values[SWITCHES / 2], values[SWITCHES * 99 / 100]);
}

static void bench(const Machine *machine)
{
        Manager *manager = manager_make(machine->path);
        double changed[SWITCHES], same[SWITCHES], changed_cpu[SWITCHES], same_cpu[SWITCHES];
        const Knob *const *knobs;

        set_profile(manager, "power-saver", changed_cpu);
        for (int i = 0; i < SWITCHES; i++) {
                const char *name = i % 2 ? "power-saver" : "latency";

                changed[i] = set_profile(manager, name, &changed_cpu[i]);
                same[i] = set_profile(manager, name, &same_cpu[i]);
        }
        printf("%-22s %6d", machine->title, knobs_list(manager->knobs, &knobs));
        print_sorted(changed);
        print_sorted(changed_cpu);
        print_sorted(same);
        print_sorted(same_cpu);
        printf(" %8.0f\n", machine->target_usec);
        manager_free(manager);
}

int main(void)
{
        log_set_level(LOG_ERR);
        limit_files(RLIM_INFINITY);
        printf("From power-saver to latency and back, and to the same again. us: median and "
               "99%%\n");
        printf("%-22s %6s %17s %17s %17s %17s %8s\n", "", "knobs", "wall clock", "CPU time",
               "same, wall clock", "same, CPU time", "at most");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                machine_build(&machines[i]);
                apart(bench, &machines[i]);
                machine_remove(&machines[i]);
        }
        return EXIT_SUCCESS;
}
