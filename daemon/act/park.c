/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The park actuator: its options, and the choice among the three ways.
 *
 * `auto` takes the first row of the table below that fits and opens. Where systemd runs, it owns
 * the tree of cgroup v2 and takes away what others do in it (a change of any unit's resources may
 * switch the cpuset controller off again), so there the way leads through it or not at all; the
 * other two can be asked for by name.
 */
#include "act/park.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "act/park-common.h"
#include "base/setting-value.h"

static const char *const backend_names[] = {
        "auto", "systemd", "partition", "cgroup", "none", NULL
};

const Setting park_settings[] = {
        { .section = "Park",
          .key = "Backend",
          .type = SETTING_CHOICE,
          .offset = offsetof(ParkOptions, backend),
          .fallback = "auto",
          .choices = backend_names,
          .help = "How work is kept off parked CPUs" },
        { .section = "Park",
          .key = "Units",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, units),
          .fallback = "*",
          .help = "Globs of units or cgroups that may be confined" },
        { .section = "Park",
          .key = "Exclude",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, exclude),
          .fallback = "",
          .help = "Globs of units or cgroups that never are" },
        { .key = NULL },
};

static bool exists(int root, const char *path)
{
        return faccessat(root, path, F_OK, 0) == 0;
}

static bool has_unified(const ActContext *context)
{
        return exists(context->root, PARK_UNIFIED "/cgroup.controllers");
}

static bool has_systemd(const ActContext *context)
{
        return exists(context->root, "run/systemd/system");
}

static bool under_systemd(const ActContext *context)
{
        return context->units && has_unified(context) && has_systemd(context);
}

static bool unified_without_systemd(const ActContext *context)
{
        return has_unified(context) && !has_systemd(context);
}

static bool not_owned_by_systemd(const ActContext *context)
{
        return !has_unified(context) || !has_systemd(context);
}

static const struct {
        ParkBackend backend;
        const ParkBackendOps *ops;
        bool (*fits)(const ActContext *context); /* for `auto` */
} ways[] = {
        { PARK_SYSTEMD, &park_systemd, under_systemd },
        { PARK_PARTITION, &park_partition, unified_without_systemd },
        { PARK_CGROUP, &park_cgroup, not_owned_by_systemd },
};

typedef struct State {
        const ParkBackendOps *ops;
        void *state;
        ParkOptions *options; /* a copy: the configuration is exchanged while we are at work */
} State;

static void close_park(void *data)
{
        State *state = data;

        if (state->state)
                state->ops->close(state->state);
        settings_free(park_settings, state->options);
        g_free(state);
}

static int open_park(const ActContext *context, const void *data, void **ret_state)
{
        State *state = g_new0(State, 1);
        int r = -EOPNOTSUPP;

        state->options = settings_copy(park_settings, sizeof(ParkOptions), data);

        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
                bool wanted = state->options->backend == (int)ways[i].backend ||
                              (state->options->backend == PARK_AUTO && ways[i].fits(context));

                if (!wanted)
                        continue;
                r = ways[i].ops->open(context, state->options, &state->state);
                if (r < 0)
                        continue;
                state->ops = ways[i].ops;
                *ret_state = state;
                return 0;
        }
        close_park(state);
        return r;
}

static int apply_park(void *data, Knobs *knobs, const Plan *plan, const Topology *topology)
{
        State *state = data;

        return state->ops->apply(state->state, knobs, &plan->allowed, topology);
}

static bool same_park(const Plan *a, const Plan *b)
{
        return cpuset_equal(&a->allowed, &b->allowed);
}

static const char *describe_park(void *data)
{
        State *state = data;

        return state->ops->describe(state->state);
}

/* Of all back ends: a record may have been left by another one than today's. */
static const KnobKind *const kinds[] = {
        &park_controller_kind, &park_cgroup_kind, &park_partition_kind,
        &park_dropin_kind,     &park_unit_kind,   NULL,
};

const Actuator actuator_park = {
        .name = "park",
        .section = "Park",
        .kinds = kinds,
        .open = open_park,
        .apply = apply_park,
        .same = same_park,
        .describe = describe_park,
        .close = close_park,
};
