/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sweeps.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "act/actuator.h"
#include "act/tune/cpufreq-knobs.h"
#include "base/file.h"
#include "base/number.h"
#include "cli/client.h"
#include "sense/frequency-read.h"
#include "sense/sensor.h"

#define LATENCY_MAX_US 1000000

struct Sweep {
        Ctl *ctl;
        const Topology *topology;
        CpuSet cpus;
        GPtrArray *points; /* of SweepPoint */
        guint n_found;     /* values, with those that were there already */
        FreqPolicy *policies;
        int n_policies;
        IdleTable *tables; /* by CPU */
        int run;           /* directory of the record, locked; -1: no point needs it */
        Knobs *knobs;
        int descriptor;     /* of cpu_dma_latency or of a hold; -1: none */
        char *hold;         /* its path; NULL: none */
        const char *option; /* what asked for it, for messages: "--sweep" */
};

static const char *const kind_names[] = {
        [SWEEP_FOUND] = "",          [SWEEP_GOVERNOR] = "governor",       [SWEEP_EPP] = "epp",
        [SWEEP_LATENCY] = "latency", [SWEEP_DMA_LATENCY] = "dma-latency", [SWEEP_STATES] = "states",
        [SWEEP_PROFILE] = "profile",
};

static const char point_names[] = "governor, epp, latency, dma-latency, states or profile";

/* The kind that the text begins with, up to its end or a "="; SWEEP_FOUND if it is none. */
static SweepKind kind_find(const char *text)
{
        size_t length = strcspn(text, "=");

        for (SweepKind kind = SWEEP_GOVERNOR; kind <= SWEEP_PROFILE; kind++)
                if (strlen(kind_names[kind]) == length &&
                    strncmp(text, kind_names[kind], length) == 0)
                        return kind;
        return SWEEP_FOUND;
}

static bool is_latency(SweepKind kind)
{
        return kind == SWEEP_LATENCY || kind == SWEEP_DMA_LATENCY;
}

static int latency_parse(const char *text, uint64_t *ret_us)
{
        int r = duration_parse(text, ret_us);

        return r < 0 ? r : *ret_us > LATENCY_MAX_US ? -ERANGE : 0;
}

int sweep_parse(const char *option, const char *text, GPtrArray *wanted)
{
        SweepKind kind = kind_find(text);
        const char *equals = strchr(text, '=');
        g_auto(GStrv) values = equals ? g_strsplit(equals + 1, ",", -1) : NULL;
        uint64_t us;

        if (kind == SWEEP_FOUND)
                return complain_usage(NULL, "%s: found \"%s\", expected %s", option, text,
                                      point_names);
        if (values && !*values)
                return complain_usage(NULL,
                                      "%s %s: found no value, expected one behind the =", option,
                                      kind_names[kind]);
        for (char **value = values; value && *value; value++)
                if (!**value || (is_latency(kind) && latency_parse(*value, &us) < 0))
                        return complain_usage(NULL, "%s %s: found \"%s\", expected %s", option,
                                              kind_names[kind], *value,
                                              is_latency(kind) ? "0 or a duration up to 1s, such "
                                                                 "as 50us"
                                                               : "a value");
        g_ptr_array_add(wanted, g_strdup(text));
        return EXIT_FINE;
}

static void point_free(gpointer data)
{
        SweepPoint *point = data;

        g_free(point->value);
        g_free(point->label);
        g_free(point);
}

/* Adds a point unless it is there. */
static void add_point(Sweep *sweep, SweepKind kind, const char *value)
{
        SweepPoint *point = g_new(SweepPoint, 1);

        *point = (SweepPoint){ kind, g_strdup(value),
                               kind == SWEEP_FOUND
                                       ? g_strdup("as found")
                                       : g_strdup_printf("%s=%s", kind_names[kind], value) };
        sweep->n_found++;
        if (sweep_find(sweep, point->label))
                point_free(point);
        else
                g_ptr_array_add(sweep->points, point);
}

/* The values of all policies of cpufreq. */
static void add_words(Sweep *sweep, SweepKind kind)
{
        for (int i = 0; i < sweep->n_policies; i++) {
                char **words = kind == SWEEP_GOVERNOR ? sweep->policies[i].governors
                                                      : sweep->policies[i].preferences;

                for (; *words; words++)
                        /* The first needs a frequency, the second is another name of one. */
                        if (!g_str_equal(*words, "userspace") && !g_str_equal(*words, "default"))
                                add_point(sweep, kind, *words);
        }
}

/* The first CPU's states, or limits that each permit one more of them. */
static void add_states(Sweep *sweep, SweepKind kind)
{
        int first = cpuset_next(&sweep->cpus, -1);
        const IdleTable *table = &sweep->tables[first];

        if (is_latency(kind))
                add_point(sweep, kind, "0");
        for (int s = 0; s < table->n_states; s++) {
                g_autofree char *limit = duration_format(table->states[s].exit_latency_us);

                add_point(sweep, kind, is_latency(kind) ? limit : table->states[s].name);
        }
}

static void add_profiles(Sweep *sweep)
{
        json_object *profiles = json_get(client_manager(sweep->ctl->client), "Profiles"), *row;

        JSON_FOREACH(row, profiles)
                add_point(sweep, SWEEP_PROFILE, json_element_text(row, 0));
}

/* True if a value is one that the machine has. */
static bool is_offered(const Sweep *sweep, SweepKind kind, const char *value)
{
        for (int i = 0; i < sweep->n_policies; i++) {
                const FreqPolicy *policy = &sweep->policies[i];

                if (g_strv_contains((const char *const *)(kind == SWEEP_GOVERNOR
                                                                  ? policy->governors
                                                                  : policy->preferences),
                                    value))
                        return true;
        }
        return false;
}

static int find_state(const IdleTable *table, const char *name)
{
        for (int s = 0; s < table->n_states; s++)
                if (g_str_equal(table->states[s].name, name))
                        return s;
        return -1;
}

/* Refuses what this machine does not have. EXIT_FAILED after a message. */
static int check_value(const Sweep *sweep, SweepKind kind, const char *value)
{
        if ((kind == SWEEP_GOVERNOR || kind == SWEEP_EPP) && !is_offered(sweep, kind, value))
                return complain("%s %s: found \"%s\", which cpufreq does not offer here",
                                sweep->option, kind_names[kind], value);
        if (kind == SWEEP_STATES &&
            find_state(&sweep->tables[cpuset_next(&sweep->cpus, -1)], value) < 0)
                return complain("%s states: found \"%s\", expected an idle state of CPU %d",
                                sweep->option, value, cpuset_next(&sweep->cpus, -1));
        return EXIT_FINE;
}

/* Adds the points of one --sweep. EXIT_FAILED after a message. */
static int add_points(Sweep *sweep, const char *text)
{
        SweepKind kind = kind_find(text);
        const char *equals = strchr(text, '=');
        g_auto(GStrv) values = equals ? g_strsplit(equals + 1, ",", -1) : NULL;
        guint before = sweep->n_found;

        for (char **value = values; value && *value; value++) {
                if (check_value(sweep, kind, *value) != EXIT_FINE)
                        return EXIT_FAILED;
                add_point(sweep, kind, *value);
        }
        if (!values && (kind == SWEEP_GOVERNOR || kind == SWEEP_EPP))
                add_words(sweep, kind);
        else if (!values && kind == SWEEP_PROFILE)
                add_profiles(sweep);
        else if (!values)
                add_states(sweep, kind);
        if (kind == SWEEP_PROFILE && !client_manager(sweep->ctl->client))
                return complain("%s profile: %s", sweep->option,
                                client_problem(sweep->ctl->client));
        if (sweep->n_found == before)
                return complain("%s %s: this machine does not have it", sweep->option,
                                kind_names[kind]);
        return EXIT_FINE;
}

static const KnobKind *kind_by_name(const char *name)
{
        g_autofree const KnobKind **kinds = actuators_kinds();

        for (int i = 0; kinds[i]; i++)
                if (g_str_equal(kinds[i]->name, name))
                        return kinds[i];
        g_assert_not_reached();
}

/* Opens and locks the daemon's record. EXIT_FAILED after a message. */
static int open_record(Sweep *sweep)
{
        const Ctl *ctl = sweep->ctl;
        const char *root = ctl->root_path ? ctl->root_path : "/";
        g_autofree char *usual = g_build_filename(root, RUN_DIR, NULL);
        const char *path = ctl->run_path ? ctl->run_path : usual;
        g_autofree const KnobKind **kinds = actuators_kinds();
        int skipped = 0, n;

        if (g_mkdir_with_parents(path, 0755) < 0 ||
            (sweep->run = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
                return complain("%s: %s, where originals are recorded: %s%s", sweep->option, path,
                                g_strerror(errno), geteuid() != 0 ? " (it needs root)" : "");
        if (flock(sweep->run, LOCK_EX | LOCK_NB) < 0)
                return complain("%s: idled is running (it has locked %s) and may change the same "
                                "settings: stop it first",
                                sweep->option, path);
        sweep->knobs = knobs_new(&(ActContext){ ctl->root, NULL, !ctl->root_path }, sweep->run,
                                 false);
        n = knobs_recover(sweep->knobs, kinds, &skipped);
        if (n != 0 || skipped > 0)
                return complain("%s: an idled or a sweep that died left settings changed: run "
                                "\"idled --restore\" first",
                                sweep->option);
        return EXIT_FINE;
}

static bool needs_record(const Sweep *sweep)
{
        for (guint i = 0; i < sweep->points->len; i++) {
                SweepKind kind = ((SweepPoint *)sweep->points->pdata[i])->kind;

                if (kind != SWEEP_FOUND && kind != SWEEP_PROFILE && kind != SWEEP_DMA_LATENCY)
                        return true;
        }
        return false;
}

Sweep *sweep_new(Ctl *ctl, const char *option, const GPtrArray *wanted, const Topology *topology,
                 const CpuSet *cpus)
{
        g_autoptr(Sweep) sweep = g_new0(Sweep, 1);

        sweep->ctl = ctl;
        sweep->option = option;
        sweep->topology = topology;
        sweep->cpus = *cpus;
        sweep->points = g_ptr_array_new_with_free_func(point_free);
        sweep->run = sweep->descriptor = -1;
        sweep->tables = g_new0(IdleTable, topology->n_cpus);
        CPUSET_FOREACH(cpu, cpus)
                sweep->tables[cpu].n_states = idle_states_read(ctl->root, cpu,
                                                               sweep->tables[cpu].states);
        frequency_read(ctl->root, topology, &sweep->policies, &sweep->n_policies);
        add_point(sweep, SWEEP_FOUND, NULL);
        for (guint i = 0; wanted && i < wanted->len; i++)
                if (add_points(sweep, wanted->pdata[i]) != EXIT_FINE)
                        return NULL;
        if (needs_record(sweep) && open_record(sweep) != EXIT_FINE)
                return NULL;
        return g_steal_pointer(&sweep);
}

const GPtrArray *sweep_points(const Sweep *sweep)
{
        return sweep->points;
}

static int set(Sweep *sweep, const KnobKind *kind, const char *name, const char *value,
               char **ret_error)
{
        int r = knob_set(sweep->knobs, kind, name, value);

        if (r < 0)
                *ret_error = g_strdup_printf("failed to write %s to %s: %s", value, name,
                                             r == -EPERM && geteuid() == 0
                                                     ? "the kernel kept another value"
                                                     : g_strerror(-r));
        return MIN(r, 0);
}

/* Governor or EPP of every policy that offers it. */
static int enter_words(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        bool governor = point->kind == SWEEP_GOVERNOR;
        int r = 0;

        for (int i = 0; i < sweep->n_policies && r == 0; i++) {
                const FreqPolicy *policy = &sweep->policies[i];
                char name[TUNE_NAME];

                if (!g_strv_contains((const char *const *)(governor ? policy->governors
                                                                    : policy->preferences),
                                     point->value))
                        continue;
                cpufreq_name(name, policy->number,
                             governor ? "scaling_governor" : "energy_performance_preference");
                r = set(sweep, governor ? &cpufreq_governor_kind : &cpufreq_choice_kind, name,
                        point->value, ret_error);
        }
        return r;
}

static int enter_latency(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        const KnobKind *kind = kind_by_name("pmqos");
        uint64_t us = 0;
        char text[24];
        int r = latency_parse(point->value, &us);

        snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, us);
        CPUSET_FOREACH(cpu, &sweep->cpus) {
                char name[TUNE_NAME];

                tune_name(name, "cpu", cpu, "/power/pm_qos_resume_latency_us");
                if (r == 0) /* "0" would be no limit at all */
                        r = set(sweep, kind, name, us == 0 ? "n/a" : text, ret_error);
        }
        return r;
}

/* Switches off the states that take longer to leave than the one named, on every CPU by its own
 * table. */
static int enter_states(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        const IdleTable *first = &sweep->tables[cpuset_next(&sweep->cpus, -1)];
        uint32_t limit = first->states[find_state(first, point->value)].exit_latency_us;
        const KnobKind *kind = kind_by_name("cpuidle");
        int r = 0;

        CPUSET_FOREACH(cpu, &sweep->cpus) {
                const IdleTable *table = &sweep->tables[cpu];

                for (int s = idle_table_deepest(table, limit) + 1; s > 0 && s < table->n_states;
                     s++) {
                        g_autofree char *file = g_strdup_printf("/cpuidle/state%d/disable", s);
                        char name[TUNE_NAME];

                        tune_name(name, "cpu", cpu, file);
                        if (r == 0)
                                r = set(sweep, kind, name, "1", ret_error);
                }
        }
        return r;
}

static int enter_dma_latency(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        uint64_t us = 0;
        int32_t value;

        latency_parse(point->value, &us);
        value = (int32_t)us;
        sweep->descriptor = openat(sweep->ctl->root, "dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC);
        if (sweep->descriptor >= 0 &&
            write(sweep->descriptor, &value, sizeof(value)) == sizeof(value))
                return 0;
        *ret_error = g_strdup_printf("failed to request %s from /dev/cpu_dma_latency: %s",
                                     point->value, g_strerror(errno));
        return -EIO;
}

int sweep_hold(const Ctl *ctl, const char *profile, const char *reason, char **ret_path,
               int *ret_fd, char **ret_error)
{
        const HoldArguments request = { .profile = profile, .reason = reason };
        g_autoptr(json_object) active = NULL;
        int r = client_hold(ctl->client, &request, ret_path, ret_fd, ret_error);

        if (r < 0)
                return r;
        *ret_error = client_hold_text(ctl->client, *ret_path, "Obstacle");
        if (*ret_error)
                return -EBUSY;
        active = client_property(ctl->client, "Profile");
        if (active && g_str_equal(json_object_get_string(active), profile))
                return 0;
        *ret_error = g_strdup_printf("profile %s is active instead of %s",
                                     active ? json_object_get_string(active) : "?", profile);
        return -EBUSY;
}

static int enter_profile(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        return sweep_hold(sweep->ctl, point->value, "idlelab latency --sweep", &sweep->hold,
                          &sweep->descriptor, ret_error);
}

const SweepPoint *sweep_find(const Sweep *sweep, const char *label)
{
        for (guint i = 0; i < sweep->points->len; i++) {
                const SweepPoint *point = sweep->points->pdata[i];

                if (g_str_equal(point->label, label))
                        return point;
        }
        return NULL;
}

int sweep_enter(Sweep *sweep, const SweepPoint *point, char **ret_error)
{
        static int (*const enter[])(Sweep * sweep, const SweepPoint *point, char **ret_error) = {
                [SWEEP_GOVERNOR] = enter_words,  [SWEEP_EPP] = enter_words,
                [SWEEP_LATENCY] = enter_latency, [SWEEP_DMA_LATENCY] = enter_dma_latency,
                [SWEEP_STATES] = enter_states,   [SWEEP_PROFILE] = enter_profile,
        };
        int r = point->kind == SWEEP_FOUND ? 0 : enter[point->kind](sweep, point, ret_error);

        if (r < 0)
                sweep_leave(sweep);
        return r;
}

static void report(const Knob *knob, const char *value, int error, void *userdata)
{
        if (error == -ESTALE)
                complain("another program has taken over %s; it is left unchanged (%s)", knob->name,
                         value ? value : "not readable");
        else if (error < 0 && error != -ENOENT)
                complain("failed to restore %s to %s: %s", knob->name, knob->original,
                         g_strerror(-error));
}

int sweep_leave(Sweep *sweep)
{
        client_release(sweep->ctl->client, &sweep->hold);
        fd_close(&sweep->descriptor);
        sweep->descriptor = -1;
        return sweep->knobs ? knobs_restore(sweep->knobs, report, NULL) : 0;
}

void sweep_free(Sweep *sweep)
{
        if (!sweep)
                return;
        sweep_leave(sweep);
        knobs_free(sweep->knobs);
        fd_close(&sweep->run);
        frequency_free(sweep->policies, sweep->n_policies);
        g_ptr_array_unref(sweep->points);
        g_free(sweep->tables);
        g_free(sweep);
}
