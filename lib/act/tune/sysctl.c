/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Housekeeping of the kernel that wakes CPUs: where unbound work runs, and intervals.
 *
 * Intervals are for the whole machine. One that is as long as requested stays, and so does 0, which
 * switches its work off. That of machine checks is one number for all CPUs, which each of them
 * shows.
 *
 * Where unbound work is kept off an isolated partition anyway, parking decides about its mask
 * (park-workqueue.c).
 */
#include <errno.h>

#include "act/park/park-workqueue.h"
#include "act/tune/quiet.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

#define SYSCTLS   "proc/sys/"
#define STAT      "vm/stat_interval"
#define WRITEBACK "vm/dirty_writeback_centisecs"
#define CHECKS    "sys/devices/system/machinecheck/"

typedef struct State {
        ActContext context;
        bool manage;
        char *about;
} State;

static int read_below(const ActContext *context, const char *dir, const char *name,
                      char **ret_value)
{
        g_autofree char *path = g_strconcat(dir, name, NULL);

        return path_is_below(name) ? file_read(context->root, path, ret_value) : -ENOENT;
}

static int write_below(const ActContext *context, const char *dir, const char *name,
                       const char *value)
{
        g_autofree char *path = g_strconcat(dir, name, NULL);

        return path_is_below(name) ? file_write(context->root, path, value) : -ENOENT;
}

static int sysctl_read(const ActContext *context, const char *name, char **ret_value)
{
        return read_below(context, SYSCTLS, name, ret_value);
}

static int sysctl_write(const ActContext *context, const char *name, const char *value)
{
        return write_below(context, SYSCTLS, name, value);
}

static const KnobKind sysctl_kind = {
        .name = "sysctl",
        .read = sysctl_read,
        .write = sysctl_write,
        .dir = SYSCTLS,
        .identity = quiet_identity,
};

static int check_read(const ActContext *context, const char *name, char **ret_value)
{
        return read_below(context, CHECKS, name, ret_value);
}

static int check_write(const ActContext *context, const char *name, const char *value)
{
        return write_below(context, CHECKS, name, value);
}

static const KnobKind check_kind = {
        .name = "machinecheck",
        .read = check_read,
        .write = check_write,
        .dir = CHECKS,
        .identity = quiet_identity,
};

/* The knob of the interval of machine checks, as a new string; NULL if the machine has none. */
static char *find_check(const ActContext *context)
{
        g_auto(GStrv) names = dir_list(context->root, CHECKS, "machinecheck");

        return *names ? g_strconcat(*names, "/check_interval", NULL) : NULL;
}

static bool exists(const ActContext *context, const char *path)
{
        return path && faccessat(context->root, path, F_OK, 0) == 0;
}

/* What of it is here and what is not, as a new string; NULL: nothing is. */
static char *look_around(const ActContext *context)
{
        g_autofree char *name = find_check(context);
        g_autofree char *check = name ? g_strconcat(CHECKS, name, NULL) : NULL;
        const struct {
                const char *path, *name;
        } parts[] = {
                { PARK_UNBOUND_PATH, "unbound workqueues" },
                { SYSCTLS STAT, "memory statistics" },
                { check, "machine checks" },
                { SYSCTLS WRITEBACK, "writeback" },
        };
        GString *here = g_string_new(NULL), *missing = g_string_new(NULL);
        g_autofree char *absent = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                GString *list = exists(context, parts[i].path) ? here : missing;

                g_string_append_printf(list, "%s%s", list->len ? ", " : "", parts[i].name);
        }
        absent = g_string_free(missing, FALSE);
        if (here->len && *absent)
                g_string_append_printf(here, "; this machine does not have: %s", absent);
        return g_string_free(here, here->len == 0);
}

static int open_sysctl(const ActContext *context, const void *data, void **ret_state)
{
        const HousekeepingOptions *options = data;
        char *about = look_around(context);
        State *state;

        if (!about)
                return -ENOENT;
        state = g_new0(State, 1);
        state->context = *context;
        state->manage = options->manage;
        state->about = about;
        *ret_state = state;
        return 0;
}

static void close_sysctl(void *data)
{
        State *state = data;

        g_free(state->about);
        g_free(state);
}

/* A knob that was taken over, or is not there, is no error. */
static int soften(int r)
{
        return r == -ESTALE || r == -ENOENT ? 0 : MIN(r, 0);
}

static int apply_interval(Knobs *knobs, const KnobKind *kind, const char *name, uint32_t wished)
{
        g_autofree char *original = NULL, *value = NULL;
        uint64_t found;
        int r;

        if (!name)
                return 0;
        if (wished > 0) {
                r = knob_original(knobs, kind, name, &original);
                if (r < 0)
                        return soften(r);
                if (u64_parse(original, &found) == 0 && found > 0 && found < wished)
                        value = g_strdup_printf("%u", wished);
        }
        return soften(value ? knob_set(knobs, kind, name, value) : knob_release(knobs, kind, name));
}

static int apply_workqueues(Knobs *knobs, const CpuSet *resting, const Topology *topology)
{
        g_autofree char *original = NULL, *value = NULL;
        CpuSet found, cpus;
        int r;

        if (!cpuset_is_empty(resting)) {
                r = knob_original(knobs, &park_workqueue_kind, PARK_UNBOUND, &original);
                if (r < 0)
                        return soften(r);
                if (cpuset_parse_mask(original, &found) == 0 &&
                    quiet_cpus(&found, resting, topology, &cpus))
                        value = cpuset_format_mask(&cpus);
        }
        return soften(value ? knob_set(knobs, &park_workqueue_kind, PARK_UNBOUND, value)
                            : knob_release(knobs, &park_workqueue_kind, PARK_UNBOUND));
}

static int apply_sysctl(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        State *state = data;
        static const CpuSet none;
        g_autofree char *check = find_check(&state->context);
        const QuietWish *quiet = &plan->quiet;
        int r[4];

        if (!state->manage)
                return 0;
        r[0] = workqueue_is_parked(knobs, state->context.root)
                       ? 0
                       : apply_workqueues(knobs, quiet->workqueues ? &plan->resting : &none,
                                          facts->topology);
        r[1] = apply_interval(knobs, &sysctl_kind, STAT, quiet->stat_s);
        r[2] = apply_interval(knobs, &check_kind, check, quiet->check_s);
        r[3] = apply_interval(knobs, &sysctl_kind, WRITEBACK, quiet->writeback_cs);
        for (size_t i = 0; i < G_N_ELEMENTS(r); i++)
                if (r[i] < 0)
                        return r[i];
        return 0;
}

/* It looks at every knob each time. */
static void forget_sysctl(void *data, Knobs *knobs, const CpuSet *returned)
{
}

static const char *describe_sysctl(void *data)
{
        const State *state = data;

        return state->manage ? state->about : "left alone, since Manage= of [Housekeeping] is no";
}

/* That of workqueues is also parking's, which is not lost with it. */
static const KnobKind *const kinds[] = { &sysctl_kind, &check_kind, &park_workqueue_kind, NULL };

const Actuator actuator_sysctl = {
        .name = "sysctl",
        .section = "Housekeeping",
        .kinds = kinds,
        .open = open_sysctl,
        .apply = apply_sysctl,
        .forget = forget_sysctl,
        .same = plan_equal_quiet,
        .describe = describe_sysctl,
        .follows_park = true,
        .close = close_sysctl,
};
