/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl status --dump: everything that idled knows in one document, for a report; or the bare
 * values of all knobs, for a comparison.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/verb.h"
#include "cpus.h"
#include "cli/facts.h"
#include "cli/offline.h"
#include "model/idle-table.h"
#include "status.h"
#include "systemd/unit-control.h"
#include "verbs.h"

#define CGROUPS   "sys/fs/cgroup"
#define ROOTSLICE "-.slice"
#define CPUS      "sys/devices/system/cpu"

/* Directories this close to the mount point are looked into even if they have no cpuset: in v1 the
 * controllers' mounts, in v2 the root. */
#define DEPTH_ALWAYS 1
#define DEPTH_MAX    32

static void add_file(GTree *values, int root, const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, name, NULL);
        char *text = NULL;

        if (faccessat(root, path, F_OK, 0) < 0)
                return;
        file_read(root, path, &text);
        g_tree_insert(values, g_strconcat("/", path, NULL), text);
}

static void add_group(GTree *values, int root, const char *dir, int depth)
{
        static const char *const names[] = { "cpuset.cpus", "cpuset.cpus.partition",
                                             "cgroup.subtree_control" };
        g_autofree char *cpus = g_build_filename(dir, names[0], NULL);
        _dir_ DIR *handle = NULL;
        struct dirent *entry;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                add_file(values, root, dir, names[i]);
        if (depth >= DEPTH_MAX || (depth > DEPTH_ALWAYS && faccessat(root, cpus, F_OK, 0) < 0))
                return;
        handle = dir_open(root, dir);
        while (handle && (entry = readdir(handle))) {
                g_autofree char *path = g_build_filename(dir, entry->d_name, NULL);

                if (entry->d_type == DT_DIR && !g_str_equal(entry->d_name, ".") &&
                    !g_str_equal(entry->d_name, ".."))
                        add_group(values, root, path, depth + 1);
        }
}

static void add_files(GTree *values, int root, const char *dir, const char *const *names)
{
        for (; *names; names++)
                add_file(values, root, dir, *names);
}

/* What a CPU, or a cpufreq policy, has of its own. */
static void add_cpu(GTree *values, int root, const char *dir)
{
        static const char *const files[] = { "power/pm_qos_resume_latency_us",
                                             "power/energy_perf_bias",
                                             "scaling_governor",
                                             "scaling_min_freq",
                                             "scaling_max_freq",
                                             "energy_performance_preference",
                                             "boost",
                                             NULL };

        add_files(values, root, dir, files);
        for (int i = 0; i < IDLE_STATES_MAX; i++) {
                g_autofree char *file = g_strdup_printf("cpuidle/state%d/disable", i);

                add_file(values, root, dir, file);
        }
}

/* A file of those below `dir` whose names are `prefix` and a number; NULL: all that CPUs have. */
static void add_numbered(GTree *values, int root, const char *dir, const char *prefix,
                         const char *file)
{
        _dir_ DIR *handle = dir_open(root, dir);
        struct dirent *entry;
        int number;

        while (handle && (entry = readdir(handle))) {
                g_autofree char *path = g_build_filename(dir, entry->d_name, NULL);

                if (!g_str_has_prefix(entry->d_name, prefix) ||
                    int_parse(entry->d_name + strlen(prefix), &number) < 0)
                        continue;
                if (file)
                        add_file(values, root, path, file);
                else
                        add_cpu(values, root, path);
        }
}

static void add_tunings(GTree *values, int root)
{
        static const char *const files[] = { "cpufreq/boost", "intel_pstate/no_turbo",
                                             "cpuidle/current_governor", NULL };

        add_files(values, root, CPUS, files);
        add_numbered(values, root, CPUS, "cpu", NULL);
        add_numbered(values, root, CPUS "/cpufreq", "policy", NULL);
}

/* What the policy quiet changes. */
static void add_housekeeping(GTree *values, int root)
{
        add_numbered(values, root, "proc/irq", "", "smp_affinity_list");
        add_file(values, root, "proc/irq", "default_smp_affinity");
        add_file(values, root, "sys/devices/virtual/workqueue", "cpumask");
        add_file(values, root, "proc/sys/vm", "stat_interval");
        add_file(values, root, "proc/sys/vm", "dirty_writeback_centisecs");
        add_numbered(values, root, "sys/devices/system/machinecheck", "machinecheck",
                     "check_interval");
}

static void add_units(GTree *values, const char *bus)
{
        g_autoptr(Units) units = units_new(NULL, bus);
        const UnitControl *control = units_control(units);
        g_auto(GStrv) names = NULL;

        if (control->list_children(control->userdata, ROOTSLICE, &names) < 0)
                return;
        for (char **name = names; *name; name++) {
                CpuSet cpus;
                bool known = control->get_allowed(control->userdata, *name, &cpus) >= 0;

                g_tree_insert(values, g_strconcat(*name, " AllowedCPUs", NULL),
                              known ? cpuset_format(&cpus) : NULL);
        }
}

static gboolean put_value(gpointer key, gpointer value, gpointer userdata)
{
        json_put_text(userdata, key, value);
        return FALSE;
}

static int compare(gconstpointer a, gconstpointer b, gpointer userdata)
{
        return strcmp(a, b);
}

/* An object with a member per knob, its path or the unit's name, sorted; the value is a string, or
 * null if it cannot be read. Two of these are equal if nothing has been changed in between. */
static json_object *knob_values(const Ctl *ctl)
{
        g_autoptr(GTree) values = g_tree_new_full(compare, NULL, g_free, g_free);
        json_object *answer = json_object_new_object();

        add_group(values, ctl->root, CGROUPS, 0);
        add_tunings(values, ctl->root);
        add_housekeeping(values, ctl->root);
        if (!ctl->root_path || ctl->bus)
                add_units(values, ctl->bus);
        g_tree_foreach(values, put_value, answer);
        return answer;
}

static bool all, knobs;

const VerbOption dump_options[] = {
        { "dump", NULL, "print all values, for a report", .flag = &all },
        { "knobs", NULL, "print PATH<TAB>VALUE of all that idled could change", .flag = &knobs },
        { 0 },
};

int dump_check(const Ctl *ctl, const Verb *verb)
{
        if (all && knobs)
                return complain_usage(verb, "--dump and --knobs: expected one of them");
        return EXIT_FINE;
}

bool dump_asked(void)
{
        return all || knobs;
}

static void put_file(const Ctl *ctl, json_object *answer, const char *key, const char *path)
{
        g_autofree char *text = NULL;

        file_read(ctl->root, path, &text);
        json_put_text(answer, key, text);
}

/* So many of the latest changes. */
#define CHANGES 32

/* What a query method answers; null without the daemon. */
static void put_answer(Ctl *ctl, json_object *answer, const char *key, const char *method)
{
        const ClientArgument latest[] = { { .t = 0 }, { .u = CHANGES } };
        bool is_history = g_str_equal(method, "History");
        g_autofree char *error = NULL;
        json_object *found = NULL;

        client_call(ctl->client, method, is_history ? "tu" : "", latest, &found, &error);
        json_put(answer, key, found);
}

int dump_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) facts = NULL;
        json_object *answer;

        if (knobs) {
                *ret_answer = knob_values(ctl);
                return EXIT_FINE;
        }
        facts = facts_get(ctl);
        answer = answer_new(ctl);
        json_put_text(answer, "idlectl_version", IDLED_VERSION);
        put_file(ctl, answer, "kernel", "proc/sys/kernel/osrelease");
        put_file(ctl, answer, "kernel_version", "proc/version");
        put_file(ctl, answer, "idle_driver", "sys/devices/system/cpu/cpuidle/current_driver");
        put_file(ctl, answer, "idle_governor", "sys/devices/system/cpu/cpuidle/current_governor");
        json_put_members(answer, facts, "manager=Manager policies=Policies energy=Energy");
        json_put(answer, "cpus", cpus_describe(facts));
        put_answer(ctl, answer, "explain", "Explain");
        put_answer(ctl, answer, "history", "History");
        put_answer(ctl, answer, "verify", "Verify");
        put_answer(ctl, answer, "settings_in_force", "GetSettings");
        json_put(answer, "configuration", offline_config(ctl, NULL));
        json_put(answer, "knob_values", knob_values(ctl));
        *ret_answer = answer;
        return EXIT_FINE;
}

/* "PATH<TAB>VALUE" lines. Paths and values are the kernel's, but a line is a line. */
static void show_knobs(json_object *answer)
{
        json_object_object_foreach(answer, path, value)
        {
                g_autofree char *name = g_strescape(path, NULL);
                const char *text = value ? json_object_get_string(value) : "(unreadable)";
                g_autofree char *clean = g_strescape(text, NULL);

                printf("%s\t%s\n", name, clean);
        }
}

static bool is_simple(json_object *value)
{
        return !json_object_is_type(value, json_type_object) &&
               !json_object_is_type(value, json_type_array);
}

static void show_value(const Screen *screen, const char *key, json_object *value, int depth);

static void show_members(const Screen *screen, json_object *value, int depth)
{
        json_object *element;

        if (json_object_is_type(value, json_type_object)) {
                json_object_object_foreach(value, key, member)
                {
                        show_value(screen, key, member, depth);
                }
        }
        JSON_FOREACH(element, value)
                show_value(screen, "-", element, depth);
}

/* An array of simple values stands in one line. */
static bool is_short(json_object *value)
{
        json_object *element;

        if (!json_object_is_type(value, json_type_array))
                return is_simple(value);
        JSON_FOREACH(element, value)
                if (!is_simple(element))
                        return false;
        return true;
}

static void show_value(const Screen *screen, const char *key, json_object *value, int depth)
{
        const char *text = value ? json_object_to_json_string_ext(
                                           value,
                                           JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)
                                 : "-";
        const char *separator = g_str_equal(key, "-") ? " " : ": ";

        if (json_object_is_type(value, json_type_string))
                text = json_object_get_string(value);
        if (!is_short(value)) {
                screen_line(screen, STYLE_TITLE, "%*s%s%s", depth * 2, "", key,
                            g_str_equal(key, "-") ? "" : ":");
                show_members(screen, value, depth + 1);
                return;
        }
        screen_line(screen, STYLE_PLAIN, "%*s%s%s%s", depth * 2, "", key, separator, text);
}

void dump_show(const Ctl *ctl, json_object *answer)
{
        if (knobs) {
                show_knobs(answer);
                return;
        }
        answer_show_daemon(ctl, answer);
        show_members(&ctl->screen, answer, 0);
}

const Verb verb_dump = {
        .name = "dump",
        .renamed = "status --dump",
        .summary = "Print all values, for a report",
        .options = { dump_options },
        .ask = dump_ask,
        .show = dump_show,
};
