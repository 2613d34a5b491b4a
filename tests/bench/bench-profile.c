/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What going from one profile to another costs, with everything that it changes written, read back
 * and put on record: from the call to the last knob. On a tree of files, so without what drivers
 * take to obey.
 *
 * The reference is a loop that knows the paths of the same files and opens, writes once and closes
 * them, without any guarantee: a lower bound.
 */
#include <systemd/sd-event.h>

#include "act/tune/tuning.h"
#include "bench.h"
#include "manager/manager-view.h"

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
                           need_variable("IDLED_POLICIES") },
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

/* The files that one of the two profiles changes, each once. */
static GPtrArray *list_files(Manager *manager)
{
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        const Knob *const *knobs;
        void *name;
        double cpu;

        for (int round = 0; round < 2; round++) {
                set_profile(manager, round ? "power-saver" : "latency", &cpu);
                for (int i = 0, n = knobs_list(manager_knobs(manager), &knobs); i < n; i++)
                        g_hash_table_add(seen, g_strdup(knobs[i]->name));
        }
        g_hash_table_iter_init(&iter, seen);
        while (g_hash_table_iter_next(&iter, &name, NULL))
                g_ptr_array_add(files, g_strconcat(TUNE_DIR, name, NULL));
        return files;
}

/* Microseconds to write into each file what is in it. */
static double write_files(int root, const GPtrArray *files, double *ret_cpu)
{
        g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
        double cpu;
        gint64 start;

        for (guint i = 0; i < files->len; i++) {
                char *text = NULL;

                if (file_read(root, files->pdata[i], &text) < 0)
                        exit(EXIT_FAILURE);
                g_ptr_array_add(texts, text);
        }
        start = g_get_monotonic_time();
        cpu = cpu_usec();
        for (guint i = 0; i < files->len; i++)
                if (file_write(root, files->pdata[i], texts->pdata[i]) < 0)
                        exit(EXIT_FAILURE);
        *ret_cpu = cpu_usec() - cpu;
        return (double)(g_get_monotonic_time() - start);
}

static double print_sorted(double *values)
{
        qsort(values, SWITCHES, sizeof(values[0]), compare_doubles);
        printf(" %7.0f %7.0f", values[SWITCHES / 2], values[SWITCHES * 99 / 100]);
        return values[SWITCHES / 2];
}

static void print_row(const char *title, unsigned writes, double *wall, double *cpu)
{
        printf("  %-32s %6u", title, writes);
        print_sorted(wall);
        print_sorted(cpu);
        printf("\n");
}

static void bench(const Machine *machine)
{
        Manager *manager = manager_make(machine->path);
        double changed[SWITCHES], same[SWITCHES], plain[SWITCHES];
        double changed_cpu[SWITCHES], same_cpu[SWITCHES], plain_cpu[SWITCHES];
        unsigned writes = 0, same_writes = 0, before;
        g_autoptr(GPtrArray) files = list_files(manager);

        for (int i = 0; i < SWITCHES; i++) {
                const char *name = i % 2 ? "power-saver" : "latency";

                before = knobs_writes(manager_knobs(manager));
                changed[i] = set_profile(manager, name, &changed_cpu[i]);
                writes = knobs_writes(manager_knobs(manager)) - before;
                same[i] = set_profile(manager, name, &same_cpu[i]);
                same_writes += knobs_writes(manager_knobs(manager)) - before - writes;
                plain[i] = write_files(manager_setup(manager)->root, files, &plain_cpu[i]);
        }
        printf("%s; at most %.0f us for a switch\n", machine->title, machine->target_usec);
        print_row("switch", writes, changed, changed_cpu);
        print_row("to the same again", same_writes, same, same_cpu);
        print_row("the files opened, written, closed", files->len, plain, plain_cpu);
        manager_free(manager);
}

int main(void)
{
        need_variable("IDLED_POLICIES");
        log_set_level(LOG_ERR);
        limit_files(RLIM_INFINITY);
        printf("From power-saver to latency and back. us: median and 99%%\n");
        printf("%-34s %6s %15s %15s\n", "", "writes", "wall clock", "CPU time");
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                machine_build(&machines[i]);
                apart(bench, &machines[i]);
                machine_remove(&machines[i]);
        }
        return bench_status;
}
