/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arms.
 *
 * While idled runs, a trial is open in both arms, even where it changes nothing: idled then leaves
 * out measurements of its own, and there can be no second comparison at the same time.
 */
#include "arms.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "cli/client.h"
#include "sense/sensor.h"
#include "sweep.h"

struct Arms {
        Ctl *ctl;
        char *labels[2];
        char *reason; /* for idled's log */
        Sweep *sweep; /* of knobs; NULL: another kind */
        int trial, hold;
        char *hold_path; /* object of the hold; NULL: there is none */
};

ArmsAsked arms_asked;

static const struct {
        const char *name, *form; /* the form of names, for messages */
        const char *values;
} kinds[] = {
        [ARMS_NONE] = { "" },
        [ARMS_POLICY] = { "policy", "the name of a policy, such as ondemand" },
        [ARMS_PROFILE] = { "profile", "profiles",
                           "two profiles such as balanced,power-saver, or one to compare with the "
                           "active profile" },
        [ARMS_OPTION] = { "option", "SECTION.KEY=VALUES, such as ondemand.MinCores=1,2",
                          "one or two values that differ, such as ondemand.MinCores=1,2" },
        [ARMS_KNOB] = { "knob", "NAME=VALUES with governor, epp, latency, dma-latency or states",
                        "one or two values that differ, such as governor=powersave,performance" },
};

const char *arms_kind_text(ArmsKind kind)
{
        return kinds[kind].name;
}

static bool is_named(const char *name)
{
        return arms_asked.kind != ARMS_NONE &&
               g_ptr_array_find_with_equal_func(arms_asked.names, name, g_str_equal, NULL);
}

/* What the values are of, and these, as a new list; NULL: the text is not of that form. */
static char **split(ArmsKind kind, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(kind == ARMS_PROFILE ? "profile" : text, "=", 2);
        const char *name = *parts ? *parts : "", *dot = strchr(name, '.');
        bool two = g_strv_length(parts) == 2 && *name;
        const bool right[] = {
                [ARMS_POLICY] = *text && !strpbrk(text, ",= "),
                [ARMS_PROFILE] = true,
                [ARMS_OPTION] = two && dot && dot != name && dot[1],
                [ARMS_KNOB] = two && !g_str_equal(name, "profile"),
        };

        return right[kind] ? g_steal_pointer(&parts) : NULL;
}

/* Adds the two values of a name, which a semicolon separates, or without one a comma. A single one
 * is compared with what is found. */
static int add_values(ArmsKind kind, const char *text)
{
        g_auto(GStrv) values = g_strsplit(text, strchr(text, ';') ? ";" : ",", -1);
        guint n = g_strv_length(values);

        if (n > 2 || (n == 2 && strcmp(values[0], values[1]) == 0) || n == 0 || !*values[n - 1])
                return complain_usage(NULL, "--%s: found \"%s\", expected %s", kinds[kind].name,
                                      text, kinds[kind].values);
        g_ptr_array_add(arms_asked.values[0], g_strdup(n == 2 ? g_strstrip(values[0]) : ""));
        g_ptr_array_add(arms_asked.values[1], g_strdup(g_strstrip(values[n - 1])));
        return EXIT_FINE;
}

/* Checks values of the knob that was added last. */
static int check_knob(const char *name)
{
        g_autoptr(GPtrArray) parsed = g_ptr_array_new_with_free_func(g_free);
        int status = EXIT_FINE;

        for (int arm = 0; arm < 2 && status == EXIT_FINE; arm++) {
                const GPtrArray *values = arms_asked.values[arm];
                const char *value = g_ptr_array_index(values, values->len - 1);
                g_autofree char *point = g_strdup_printf("%s=%s", name, value);

                if (*value)
                        status = sweep_parse("--knob", point, parsed);
        }
        return status;
}

static int take(Ctl *ctl, const VerbOption *row, const char *text)
{
        ArmsKind kind = ARMS_POLICY + (ArmsKind)(row - arms_options);
        g_auto(GStrv) parts = split(kind, text);
        int status;

        if (!parts)
                return complain_usage(NULL, "--%s: found \"%s\", expected %s", kinds[kind].name,
                                      text, kinds[kind].form);
        if (arms_asked.kind != ARMS_NONE && arms_asked.kind != kind)
                return complain_usage(NULL, "--%s and --%s: expected one of them",
                                      kinds[arms_asked.kind].name, kinds[kind].name);
        if (kind != ARMS_POLICY && is_named(parts[0]))
                return complain_usage(NULL, "--%s%s%s: expected once", kinds[kind].name,
                                      kind == ARMS_PROFILE ? "" : " ",
                                      kind == ARMS_PROFILE ? "" : parts[0]);
        if (arms_asked.kind == ARMS_NONE) {
                arms_asked.kind = kind;
                arms_asked.names = g_ptr_array_new_with_free_func(g_free);
                for (int i = 0; i < 2; i++)
                        arms_asked.values[i] = g_ptr_array_new_with_free_func(g_free);
        }
        g_ptr_array_add(arms_asked.names, g_strdup(parts[0]));
        if (kind == ARMS_POLICY)
                return EXIT_FINE;
        status = add_values(kind, kind == ARMS_PROFILE ? text : parts[1]);
        return status == EXIT_FINE && kind == ARMS_KNOB ? check_knob(parts[0]) : status;
}

/* In the order of ArmsKind. */
const VerbOption arms_options[] = {
        { "policy", "NAME", "compare NAME ignored with NAME active", .take = take },
        { "profile", "NAMES", "compare two profiles, or one with the active one", .take = take },
        { "option", "KEY=VALUES", "SECTION.KEY=A,B: compare two values; repeatable", .take = take },
        { "knob", "NAME=VALUES", "governor, epp, latency, dma-latency or states", .take = take },
        { 0 },
};

/* What the arm is called. */
static char *label_of(int arm)
{
        g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
        bool option = arms_asked.kind == ARMS_OPTION;

        for (guint i = 0; i < arms_asked.names->len; i++) {
                const char *name = arms_asked.names->pdata[i], *value = NULL;
                char *part = NULL;

                if (arms_asked.kind == ARMS_POLICY)
                        part = g_strdup_printf("%s %s", name, arm ? "active" : "ignored");
                else
                        value = arms_asked.values[arm]->pdata[i];
                if (option)
                        name = strchr(name, '.') + 1;
                if (value && *value)
                        part = arms_asked.kind == ARMS_PROFILE
                                       ? g_strdup(value)
                                       : g_strdup_printf("%s=%s", name, value);
                else if (option)
                        part = g_strdup_printf("%s as configured", name);
                if (part)
                        g_ptr_array_add(parts, part);
        }
        if (parts->len == 0)
                return g_strdup("as found");
        g_ptr_array_add(parts, NULL);
        return g_strjoinv(", ", (char **)parts->pdata);
}

/* Finds the points of both arms. EXIT_FAILED after a message. */
static int open_knobs(Arms *arms, const Topology *topology)
{
        g_autoptr(GPtrArray) wanted = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < arms_asked.names->len; i++)
                for (int arm = 0; arm < 2; arm++) {
                        const char *value = arms_asked.values[arm]->pdata[i];

                        if (*value)
                                g_ptr_array_add(wanted,
                                                g_strdup_printf("%s=%s",
                                                                (char *)arms_asked.names->pdata[i],
                                                                value));
                }
        arms->sweep = sweep_new(arms->ctl, "--knob", wanted, topology, &topology->online);
        return arms->sweep ? EXIT_FINE : EXIT_FAILED;
}

/* EXIT_FAILED after a message if the daemon cannot switch anything. */
static int check_daemon(const Arms *arms)
{
        json_object *manager = client_manager(arms->ctl->client);
        bool paused;

        if (!manager)
                return complain("--%s: %s", kinds[arms_asked.kind].name,
                                client_problem(arms->ctl->client));
        paused = json_length(json_get(manager, "Pauses")) > 0;
        if (json_true(manager, "DryRun") || paused)
                return complain("--%s: idled %s, so nothing would change",
                                kinds[arms_asked.kind].name,
                                paused ? "is paused" : "runs with --dry-run");
        return EXIT_FINE;
}

Arms *arms_new(Ctl *ctl, const Topology *topology)
{
        g_autoptr(Arms) arms = g_new0(Arms, 1);
        g_autofree char *reason = NULL;

        arms->ctl = ctl;
        arms->trial = arms->hold = -1;
        for (int arm = 0; arm < 2; arm++)
                arms->labels[arm] = label_of(arm);
        reason = g_strdup_printf("idlelab prove: %.80s, %.80s", arms->labels[0], arms->labels[1]);
        arms->reason = g_utf8_make_valid(reason, -1); /* a character may have been cut */
        if ((arms_asked.kind == ARMS_KNOB ? open_knobs(arms, topology) : check_daemon(arms)) !=
            EXIT_FINE)
                return NULL;
        return g_steal_pointer(&arms);
}

const char *arms_label(const Arms *arms, int arm)
{
        return arms->labels[arm];
}

int arms_descriptor(const Arms *arms)
{
        return arms->trial;
}

static void replace(int *fd, int by)
{
        fd_close(fd);
        *fd = by;
}

/* The trial of the arm, in place of that of the other. */
static int enter_trial(Arms *arms, int arm, char **ret_error)
{
        g_autoptr(GPtrArray) policies = g_ptr_array_new();
        g_autoptr(GPtrArray) options = g_ptr_array_new_with_free_func(g_free);
        int fd, r;

        for (guint i = 0; i < arms_asked.names->len; i++) {
                const char *name = arms_asked.names->pdata[i], *dot = strchr(name, '.');

                if (arms_asked.kind == ARMS_POLICY)
                        g_ptr_array_add(policies, (gpointer)name);
                if (arms_asked.kind != ARMS_OPTION || !*(char *)arms_asked.values[arm]->pdata[i])
                        continue;
                g_ptr_array_add(options, g_strndup(name, (gsize)(dot - name)));
                g_ptr_array_add(options, g_strdup(dot + 1));
                g_ptr_array_add(options, g_strdup(arms_asked.values[arm]->pdata[i]));
        }
        g_ptr_array_add(policies, NULL);
        g_ptr_array_add(options, NULL);
        r = client_trial(arms->ctl->client, (const char *const *)policies->pdata, arm == 1,
                         (const char *const *)options->pdata, arms->reason, &fd, ret_error);
        replace(&arms->trial, r < 0 ? -1 : fd);
        return r;
}

static void leave_profile(Arms *arms)
{
        client_release(arms->ctl->client, &arms->hold_path);
        replace(&arms->hold, -1);
}

static int enter_knobs(Arms *arms, int arm, char **ret_error)
{
        int r = sweep_leave(arms->sweep);

        if (r < 0)
                *ret_error = g_strdup("the other setting could not be restored");
        for (guint i = 0; i < arms_asked.names->len && r >= 0; i++) {
                g_autofree char *label = g_strdup_printf("%s=%s",
                                                         (char *)arms_asked.names->pdata[i],
                                                         (char *)arms_asked.values[arm]->pdata[i]);
                const SweepPoint *point = sweep_find(arms->sweep, label);

                if (point)
                        r = sweep_enter(arms->sweep, point, ret_error);
        }
        return r;
}

int arms_enter(Arms *arms, int arm, char **ret_error)
{
        const char *profile;
        int r;

        if (arms->sweep)
                return enter_knobs(arms, arm, ret_error);
        r = enter_trial(arms, arm, ret_error);
        leave_profile(arms);
        profile = arms_asked.kind == ARMS_PROFILE ? arms_asked.values[arm]->pdata[0] : "";
        if (r >= 0 && *profile)
                r = sweep_hold(arms->ctl, profile, arms->reason, &arms->hold_path, &arms->hold,
                               ret_error);
        if (r < 0)
                arms_leave(arms);
        return r;
}

char *arms_in_effect(const Arms *arms)
{
        g_autoptr(json_object) answer = NULL;
        g_autofree char *error = NULL;
        json_object *setting;
        GString *text;

        if ((arms_asked.kind != ARMS_OPTION && arms_asked.kind != ARMS_PROFILE) ||
            client_call(arms->ctl->client, "GetSettings", "", NULL, &answer, &error) < 0)
                return NULL;
        text = g_string_new(NULL);
        JSON_FOREACH(setting, answer) {
                g_autofree char *name = g_strdup_printf("%s.%s", json_text(setting, "section"),
                                                        json_text(setting, "key"));

                if (arms_asked.kind == ARMS_PROFILE || is_named(name))
                        g_string_append_printf(text, "%s=%s\n", name, json_text(setting, "value"));
        }
        return g_string_free(text, FALSE);
}

char *arms_state(const Arms *arms)
{
        static const char *const properties[] = { "Parked", "Knobs" };
        g_autoptr(GString) text = g_string_new(NULL);
        int fd;

        if (arms_asked.kind != ARMS_POLICY)
                return NULL;
        for (size_t i = 0; i < G_N_ELEMENTS(properties); i++) {
                g_autoptr(json_object) value = client_property(arms->ctl->client, properties[i]);

                if (!value)
                        return NULL;
                g_string_append_printf(text, "%s\n", json_object_get_string(value));
        }
        fd = idle_global_open(arms->ctl->root); /* idled keeps it apart from knobs */
        g_string_append_printf(text, "%" G_GINT64_FORMAT, idle_global_limit(fd));
        if (fd >= 0)
                fd_close(&fd);
        return g_strdup(text->str);
}

int64_t arms_transitions(const Arms *arms)
{
        g_autoptr(json_object) value = NULL;

        if (arms_asked.kind != ARMS_POLICY)
                return -1;
        value = client_property(arms->ctl->client, "Transitions");
        return value ? json_object_get_int64(value) : -1;
}

int arms_leave(Arms *arms)
{
        replace(&arms->trial, -1);
        leave_profile(arms);
        return arms->sweep ? sweep_leave(arms->sweep) : 0;
}

void arms_free(Arms *arms)
{
        if (!arms)
                return;
        arms_leave(arms);
        sweep_free(arms->sweep);
        for (int arm = 0; arm < 2; arm++)
                g_free(arms->labels[arm]);
        g_free(arms->reason);
        g_free(arms);
}
