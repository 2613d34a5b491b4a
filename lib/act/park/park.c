/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The park actuator: its options, and the choice among the three ways.
 *
 * `auto` takes the first row of the table below that fits and opens. It takes the next one for good
 * when the first turns out not to work: when a sibling group has CPUs of its own, which a partition
 * may not include. It begins again when the configuration is loaded.
 *
 * Where systemd runs, it owns the tree of cgroup v2 and undoes changes by others (a change of any
 * unit's resources may switch the cpuset controller off again), so there idled parks through
 * systemd or not at all.
 *
 * Why the partition comes first, before AllowedCPUs of all units:
 * - it has no gap: it confines later groups as well, and idled need not listen for them;
 * - it touches no setting of other programs. A limit that is removed leaves a full list in the
 *   kernel where the controller stays on, and a drop-in that makes systemd read all its files
 *   again;
 * - if idled is killed with its service, systemd stops the slice and all CPUs are back;
 * - one unit changes instead of all: with four of them another mask takes a third of the time or
 *   less, the first one less than half, and parked CPUs sleep through it. It rebuilds the
 *   scheduling domains, as hotplug does, and AllowedCPUs does not;
 * - without a load parked CPUs wake up less, on Linux 6.12 and 7.3 (tests/bench/README.md).
 *
 * Both outlast daemon-reload and daemon-reexec. What a partition cannot do is make exceptions
 * (Units=, Exclude=).
 *
 * A scheduler of sched_ext chooses CPUs by itself: while one is loaded `auto` parks nothing.
 *
 * Each way changes cpusets. Where the kernel then resets affinities (park-affinities.c), `auto`
 * takes none: a program that pins itself must not pay for it. The administrator may name one.
 */
#include "act/park/park.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "act/park/park-common.h"
#include "base/sched-ext.h"
#include "base/setting-value.h"

bool park_restricts_units(const ParkOptions *options)
{
        return *options->exclude || !g_strv_contains((const char *const *)options->units, "*");
}

const char *park_check(const void *data, const char **ret_key)
{
        const ParkOptions *options = data;

        *ret_key = "Backend";
        if (options->backend == PARK_PARTITION && park_restricts_units(options))
                return "confines all units, so it cannot be combined with Units= or Exclude=; "
                       "expected auto, systemd or cgroup";
        return NULL;
}

static bool exists(int root, const char *path)
{
        return faccessat(root, path, F_OK, 0) == 0;
}

static bool has_unified(const ActContext *context)
{
        return exists(context->root, PARK_UNIFIED "/cgroup.controllers");
}

static bool under_systemd(const ActContext *context)
{
        return context->units && has_unified(context) && park_has_systemd(context->root);
}

static bool not_owned_by_systemd(const ActContext *context)
{
        return !has_unified(context) || !park_has_systemd(context->root);
}

static const struct {
        ParkBackend backend;
        const ParkBackendOps *ops;
        bool (*fits)(const ActContext *context); /* for `auto` */
} ways[] = {
        { PARK_PARTITION, &park_partition, has_unified },
        { PARK_SYSTEMD, &park_systemd, under_systemd },
        { PARK_CGROUP, &park_cgroup, not_owned_by_systemd },
};

typedef struct State {
        ActContext context;
        ParkOptions *options; /* a copy: the configuration may be exchanged meanwhile */
        size_t way;           /* index of `ops` in ways[] */
        const ParkBackendOps *ops;
        void *state;
        char *about;  /* NULL: what the back end says */
        char *yields; /* why nothing is parked although the way works; NULL: it may be */
} State;

static void close_way(State *state)
{
        if (state->state)
                state->ops->close(state->state);
        state->state = NULL;
}

bool park_would_harm(const ActContext *context, const ParkOptions *options)
{
        return options->backend == PARK_AUTO && context->resets_affinities;
}

/* Opens the first way from number `first` on that is wanted and can be gone, in place of the one
 * that is open. */
static int open_way(State *state, size_t first)
{
        const ParkOptions *options = state->options;
        int r = options->backend == PARK_NONE ? ACTUATOR_OFF : -EOPNOTSUPP;
        void *opened;

        if (park_would_harm(&state->context, options))
                return r;
        for (size_t i = first; i < G_N_ELEMENTS(ways); i++) {
                bool wanted = options->backend == (int)ways[i].backend ||
                              (options->backend == PARK_AUTO && ways[i].fits(&state->context));

                if (!wanted)
                        continue;
                r = ways[i].ops->open(&state->context, options, &opened);
                if (r < 0)
                        continue;
                close_way(state);
                state->way = i;
                state->ops = ways[i].ops;
                state->state = opened;
                return 0;
        }
        return r;
}

/* What each way that is wanted lacks; with Backend=auto also those that do not fit this machine. */
static char *lacks_park(const ActContext *context, const void *data)
{
        const ParkOptions *options = data;
        GString *text;

        if (park_would_harm(context, options))
                return g_strdup_printf("the kernel resets affinities when CPUs are parked (%s), so "
                                       "Backend=auto parks none",
                                       context->affinities);
        text = g_string_new(NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(ways); i++) {
                g_autofree char *lack = NULL;

                if (options->backend != PARK_AUTO && options->backend != (int)ways[i].backend)
                        continue;
                lack = options->backend == PARK_AUTO && ways[i].backend == PARK_CGROUP &&
                                       !ways[i].fits(context)
                               ? g_strdup("systemd owns the cgroups")
                               : ways[i].ops->lacks(context, options);
                if (lack)
                        g_string_append_printf(text, "%s%s: %s", text->len > 0 ? "; " : "",
                                               ways[i].ops->name, lack);
        }
        return g_string_free(text, text->len == 0);
}

static void close_park(void *data)
{
        State *state = data;

        close_way(state);
        settings_free(park_settings, state->options);
        g_free(state->about);
        g_free(state->yields);
        g_free(state);
}

static int open_park(const ActContext *context, const void *data, void **ret_state)
{
        State *state = g_new0(State, 1);
        int r;

        state->context = *context;
        state->options = settings_copy(park_settings, sizeof(ParkOptions), data);
        r = open_way(state, 0);
        if (r < 0) {
                close_park(state);
                return r;
        }
        *ret_state = state;
        return 0;
}

/* All back ends: another one than today's may have left the record. */
static const KnobKind *const kinds[] = {
        &park_controller_kind,
        &park_cgroup_kind,
        &park_partition_kind,
        &park_slice_kind,
        &park_dropin_kind,
        &park_unit_kind,
        NULL,
};

bool park_is_of_kinds(const Knobs *knobs, const Knob *knob)
{
        return knob->kind == &park_dropin_kind && knob_find(knobs, &park_kinds_kind, knob->name);
}

static bool holds_nothing(const Knobs *knobs)
{
        const Knob *const *list;

        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (knob_is_of(list[i], kinds) && !park_is_of_kinds(knobs, list[i]))
                        return false;
        return true;
}

/* After a failure: whether another way is open now. Two never have knobs at once. */
static bool take_next_way(State *state, const Knobs *knobs, int error)
{
        g_autofree char *before = g_strdup(state->ops->describe(state->state));

        if (error == -ENOTCONN || error == -ETIMEDOUT) /* then systemd does not answer at all */
                return false;
        if (knobs_record_error(knobs) < 0) /* nor could any other way change anything */
                return false;
        if (state->options->backend != PARK_AUTO || !holds_nothing(knobs) ||
            open_way(state, state->way + 1) < 0)
                return false;
        g_free(state->about);
        state->about = g_strdup_printf("%s, not %s", state->ops->describe(state->state), before);
        return true;
}

/* Whether `auto` leaves all CPUs to a scheduler that is loaded; `yields` says so then. */
static bool yields_now(State *state, const Plan *plan, const Topology *topology)
{
        g_autofree char *name = NULL;

        g_clear_pointer(&state->yields, g_free);
        if (state->options->backend != PARK_AUTO ||
            cpuset_is_subset(&topology->online, &plan->allowed))
                return false;
        name = sched_ext_loaded(state->context.root);
        if (name)
                state->yields = g_strdup_printf("nothing while the scheduler %s is loaded "
                                                "(sched_ext), which chooses CPUs by itself",
                                                name);
        return name;
}

static int apply_park(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        State *state = data;
        const Topology *topology = facts->topology;
        int r;

        if (yields_now(state, plan, topology)) {
                r = state->ops->apply(state->state, knobs, &topology->online, topology);
                return r < 0 ? r : ACTUATOR_YIELDS;
        }
        do
                r = state->ops->apply(state->state, knobs, &plan->allowed, topology);
        while (r < 0 && take_next_way(state, knobs, r));
        return r;
}

static bool same_park(const Plan *a, const Plan *b)
{
        return cpuset_equal(&a->allowed, &b->allowed);
}

static const char *describe_park(void *data)
{
        State *state = data;

        return state->yields ?: state->about ?: state->ops->describe(state->state);
}

static bool follows_units(void *data)
{
        return !((State *)data)->ops->confines_all;
}

static const char *park_groups(void *data)
{
        State *state = data;

        return state->ops->groups ? state->ops->groups(state->state) : NULL;
}

static void group_moved(void *data, Knobs *knobs, const char *name)
{
        knobs_drop(knobs, &park_cgroup_kind, name);
}

const Actuator actuator_park = {
        .name = "park",
        .section = "Park",
        .kinds = kinds,
        .open = open_park,
        .lacks = lacks_park,
        .apply = apply_park,
        .same = same_park,
        .describe = describe_park,
        .follows_units = follows_units,
        .groups = park_groups,
        .group_moved = group_moved,
        .close = close_park,
};
