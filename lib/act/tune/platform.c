/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Platform profiles: the firmware's choice between quiet and fast, which people also make by a key.
 *
 * Several drivers may offer one, each with its own words, below /sys/class/platform-profile. Each
 * is set to the word next to the requested one that it offers. Before Linux 6.14 there is only the
 * file of ACPI, which later stands for all of them and is left alone.
 *
 * Their drivers may be loaded after idled has started, so they are listed whenever the plan is
 * carried out.
 *
 * A profile that a person chose meanwhile counts as taken over: it is left alone.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "act/tune/quiet.h"
#include "base/file.h"

#define TREE    "sys/"
#define CLASS   "class/platform-profile"
#define ACPI    "firmware/acpi/platform_profile"
#define PROFILE "/profile"

typedef struct State {
        ActContext context;
        bool manage;
} State;

/* What is nearest to each word, the word first. */
static const char *const nearest[][5] = {
        { "low-power", "quiet", "cool", "balanced", NULL },
        { "cool", "quiet", "low-power", "balanced", NULL },
        { "quiet", "cool", "low-power", "balanced", NULL },
        { "balanced", "balanced-performance", "quiet", "cool", NULL },
        { "performance", "balanced-performance", "balanced", NULL },
        { "custom", NULL },
};

/* False for what can be no knob's name: the record of originals could have been damaged. */
static bool is_name(const char *name)
{
        return g_str_equal(name, ACPI) ||
               (path_is_below(name) && g_str_has_prefix(name, CLASS "/") &&
                g_str_has_suffix(name, PROFILE));
}

static int platform_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = g_strconcat(TREE, name, NULL);
        char text[64];
        int r = is_name(name) ? file_read_value(context->root, path, text, sizeof(text)) : -ENOENT;

        if (r < 0)
                return r;
        *ret_value = g_strndup(text, strcspn(text, "\n"));
        return 0;
}

static int platform_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = g_strconcat(TREE, name, NULL);
        g_autofree char *line = g_strconcat(value, "\n", NULL);

        return is_name(name) ? file_write(context->root, path, line) : -ENOENT;
}

/* A driver that is loaded again gets the number of an earlier one. */
static uint64_t platform_identity(const ActContext *context, const char *name)
{
        g_autofree char *path = g_strconcat(TREE, name, NULL);
        struct stat st;

        return fstatat(context->root, path, &st, 0) < 0 ? 0 : st.st_ino;
}

static const KnobKind platform_kind = {
        .name = "platform",
        .read = platform_read,
        .write = platform_write,
        .identity = platform_identity,
};

static const KnobKind *const kinds[] = { &platform_kind, NULL };

/* The names of all knobs: one for each driver, or that of ACPI; a new array of new strings. */
static GPtrArray *list_names(const ActContext *context)
{
        g_auto(GStrv) drivers = dir_list(context->root, TREE CLASS, "");
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (char **driver = drivers; *driver; driver++)
                g_ptr_array_add(names, g_strconcat(CLASS "/", *driver, PROFILE, NULL));
        if (names->len == 0 && faccessat(context->root, TREE ACPI, F_OK, 0) == 0)
                g_ptr_array_add(names, g_strdup(ACPI));
        return names;
}

/* The offered word that is nearest to `wanted`; NULL: none is. */
static const char *choose(const ActContext *context, const char *name, const char *wanted)
{
        g_autofree char *path = NULL;

        if (g_str_equal(name, ACPI))
                path = g_strdup(TREE ACPI "_choices");
        else
                path = g_strdup_printf(TREE "%.*s/choices", (int)(strlen(name) - strlen(PROFILE)),
                                       name);
        for (size_t i = 0; i < G_N_ELEMENTS(nearest); i++)
                for (int j = 0; g_str_equal(nearest[i][0], wanted) && nearest[i][j]; j++)
                        if (file_has_word(context->root, path, nearest[i][j]) > 0)
                                return nearest[i][j];
        return NULL;
}

static int open_platform(const ActContext *context, const void *options, void **ret_state)
{
        State *state = g_new0(State, 1);

        state->context = *context;
        state->manage = ((const TuneOptions *)options)->manage;
        *ret_state = state;
        return 0;
}

static int apply_platform(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        const State *state = data;
        g_autoptr(GPtrArray) names = NULL;
        int first = 0;

        if (!state->manage || !plan->platform)
                return quiet_release(knobs, &platform_kind);
        names = list_names(&state->context);
        for (guint i = 0; i < names->len; i++) {
                const char *word = choose(&state->context, names->pdata[i], plan->platform);
                bool effective;
                int r = tune_set(knobs, &platform_kind, names->pdata[i], word, &effective);

                first = first ?: r;
        }
        return first;
}

static bool same_platform(const Plan *a, const Plan *b)
{
        return a->platform == b->platform;
}

/* It checks every knob each time. */
static void forget_platform(void *data, Knobs *knobs, const CpuSet *returned)
{
}

static const char *describe_platform(void *data)
{
        const State *state = data;
        g_autoptr(GPtrArray) names = NULL;

        if (!state->manage)
                return "not managed, because Manage= of [Frequency] is no";
        names = list_names(&state->context);
        return names->len > 0 ? "platform profiles of the firmware"
                              : "nothing, because the firmware offers no profile";
}

const Actuator actuator_platform = {
        .name = "platform",
        .section = "Frequency",
        .kinds = kinds,
        .open = open_platform,
        .apply = apply_platform,
        .forget = forget_platform,
        .same = same_platform,
        .describe = describe_platform,
        .close = g_free,
};
