/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by an isolated partition of cgroup v2: a cgroup without tasks that takes the parked CPUs
 * away from all others in one write, and leaves the settings of all others alone.
 *
 * It is made when the first CPU is parked and dissolved when none is. Its cgroup is that of a slice
 * where systemd runs (park-slice.c), and one that we make where it does not:
 *
 *      controller cpuset                                 off -> on, unless it is on
 *      partition  idled.parked                           absent -> present (mkdir, rmdir)
 *      partition  idled.parked/cpuset.cpus               "" -> the parked CPUs
 *
 * or its cpuset.cpus.exclusive, where the kernel has that; a slice then has all CPUs in
 * cpuset.cpus, so that another mask needs no call of systemd. In both the last knob is the type, so
 * that an instance that finds the record restores them in the right order: the CPUs come back with
 * the first one.
 *
 *      partition  GROUP/cpuset.cpus.partition            member -> isolated
 *
 * Another mask is written straight into the list, by ourselves or by systemd: a detour through
 * `member` would unpark all CPUs for a moment. Whatever fails, the partition is dissolved. Unbound
 * workqueues leave the CPUs before and return after (park-workqueue.c).
 */
#include <errno.h>

#include "act/park/park-isolate.h"
#include "act/park/park-workqueue.h"
#include "base/cpuset-text.h"
#include "base/sched-ext.h"

/* Whose the cgroup is. */
typedef struct Holder {
        const char *group, *type; /* its name, and that of the knob of its type */
        const KnobKind *kind;     /* of the knob of its own name */
        const char *about;
        int (*hold)(Knobs *knobs, int root, const char *mask); /* has it there, with these CPUs */
} Holder;

typedef struct State {
        ActContext context;
        const Holder *holder;
        bool lists_matter; /* those of sibling groups; false: not tried yet, or they do not */
        char *way;         /* how */
        char *about;       /* that, and what stood in the way last */
} State;

static int hold_group(Knobs *knobs, int root, const char *mask)
{
        const struct {
                const KnobKind *kind;
                const char *name, *value;
        } parts[] = {
                { &park_controller_kind, PARK_CONTROLLER, "on" },
                { &park_partition_kind, PARK_GROUP, "present" },
                { &park_partition_kind,
                  isolate_has_exclusive(root) ? PARK_EXCLUSIVE_OF(PARK_GROUP)
                                              : PARK_CPUS_OF(PARK_GROUP),
                  mask },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                int r = knob_set(knobs, parts[i].kind, parts[i].name, parts[i].value);

                if (r < 0)
                        return r;
        }
        return 0;
}

/* Where exclusive CPUs make the partition, the slice has all CPUs and systemd is not asked again.
 */
static int hold_slice(Knobs *knobs, int root, const char *mask)
{
        g_autofree char *all = NULL;
        CpuSet possible;
        int r;

        if (!isolate_has_exclusive(root))
                return knob_set(knobs, &park_slice_kind, PARK_SLICE, mask);
        r = park_possible(root, &possible);
        if (r < 0)
                return r;
        all = cpuset_format(&possible);
        r = knob_set(knobs, &park_slice_kind, PARK_SLICE, all);
        return r < 0 ? r
                     : knob_set(knobs, &park_partition_kind, PARK_EXCLUSIVE_OF(PARK_SLICE), mask);
}

static const Holder group_holder = {
        .group = PARK_GROUP,
        .type = PARK_TYPE_OF(PARK_GROUP),
        .kind = &park_partition_kind,
        .about = "isolated partition /" PARK_UNIFIED "/" PARK_GROUP,
        .hold = hold_group,
};

static const Holder slice_holder = {
        .group = PARK_SLICE,
        .type = PARK_TYPE_OF(PARK_SLICE),
        .kind = &park_slice_kind,
        .about = "isolated partition " PARK_SLICE,
        .hold = hold_slice,
};

/* Where systemd runs the way leads through it or not at all. */
static int check_holder(const ActContext *context, const Holder *holder)
{
        const UnitControl *units = context->units;
        CpuSet unused;
        int r;

        if (!park_offers_cpusets(context->root))
                return -EOPNOTSUPP;
        if (holder == &group_holder)
                return 0;
        if (!units)
                return -EOPNOTSUPP;
        r = units->get_allowed(units->userdata, "-.slice", &unused);
        return r == -ENOTCONN ? -EOPNOTSUPP : r;
}

static int open_partition(const ActContext *context, const ParkOptions *options, void **ret_state)
{
        const Holder *holder = park_has_systemd(context->root) ? &slice_holder : &group_holder;
        State *state;
        int r;

        if (park_restricts_units(options)) /* a partition cannot make exceptions */
                return -EOPNOTSUPP;
        r = check_holder(context, holder);
        if (r < 0)
                return r;
        state = g_new0(State, 1);
        state->context = *context;
        state->holder = holder;
        state->lists_matter = !isolate_has_exclusive(context->root);
        state->way = g_strconcat(holder->about,
                                 sched_ext_is_known(context->root)
                                         ? " (while CPUs are parked, the kernel may refuse to load "
                                           "schedulers of sched_ext)"
                                         : "",
                                 NULL);
        state->about = g_strdup(state->way);
        *ret_state = state;
        return 0;
}

static char *partition_lacks(const ActContext *context, const ParkOptions *options)
{
        if (park_restricts_units(options))
                return g_strdup("it cannot make the exceptions of Units= and Exclude=");
        if (!park_has_systemd(context->root) || !park_offers_cpusets(context->root))
                return park_controller_lacks(context->root);
        return g_strdup("systemd cannot be reached");
}

static void note_obstacle(State *state, const char *obstacle)
{
        g_free(state->about);
        state->about = obstacle ? g_strdup_printf("%s: %s", state->way, obstacle)
                                : g_strdup(state->way);
}

static int release(Knobs *knobs, const KnobKind *kind)
{
        return park_release(knobs, kind, (const char *const[]){ NULL });
}

/* Type, CPUs, directory or slice, controller, workqueues: the reverse of how they were set. */
static int dissolve(const State *state, Knobs *knobs, bool keep_slice)
{
        static const CpuSet none;
        int first = release(knobs, &park_partition_kind);

        if (!keep_slice) {
                first = park_first_error(first, release(knobs, &park_slice_kind));
                first = park_first_error(first, release(knobs, &park_controller_kind));
        }
        workqueue_return(knobs, state->context.root, &none, &none);
        return first;
}

/* A slice that parks nothing now is kept for the next time: to start and stop it is much dearer
 * than to change its type, and systemd logs both. Not where the kernel resets affinities, for
 * there it would do so at every hotplug for as long as the controller is on. */
static bool keeps_slice(const State *state)
{
        return state->holder == &slice_holder && !state->context.resets_affinities;
}

/* Makes the partition, or changes its CPUs. A dry run makes none. */
static int make(State *state, Knobs *knobs, const CpuSet *parked, const CpuSet *allowed)
{
        const Holder *holder = state->holder;
        int root = state->context.root, r;
        g_autofree char *mask = cpuset_format(parked);
        CpuSet before = isolate_cpus(root, holder->group);
        unsigned writes = knobs_writes(knobs);

        r = holder->hold(knobs, root, mask);
        if (r >= 0)
                r = knob_set(knobs, &park_partition_kind, holder->type, "isolated");
        if (r == -ENOENT && !knob_find(knobs, holder->kind, holder->group))
                return 0;
        if (r < 0 || knobs_writes(knobs) == writes)
                return MIN(r, 0);
        return isolate_rebuild(root, holder->group, &before, parked, allowed);
}

/* Has unbound workqueues leave the CPUs that are and that will be parked. If these are all, there
 * is no partition for a moment. */
static int make_way(State *state, Knobs *knobs, const CpuSet *parked, const CpuSet *allowed,
                    char **ret_why)
{
        const char *type = state->holder->type;
        int root = state->context.root;
        CpuSet before = { 0 }, online = *parked;

        cpuset_or(&online, allowed);
        if (knob_find(knobs, &park_partition_kind, type))
                before = isolate_cpus(root, state->holder->group);
        if (cpuset_is_subset(allowed, &before) && workqueue_follows_partitions(root)) {
                knob_release(knobs, &park_partition_kind, type);
                before = (CpuSet){ 0 };
        }
        return workqueue_leave(knobs, root, &before, parked, &online, ret_why);
}

/* As isolate_check(). If the kernel minds a list of a sibling, it is not tried again. */
static int check(State *state, const CpuSet *parked, char **ret_why)
{
        const char *group = state->holder->group;
        int root = state->context.root, r = isolate_check(root, group, parked, ret_why);
        char *rival;

        if (r != -EBUSY || state->lists_matter)
                return r;
        rival = isolate_rival(root, group, parked, true);
        if (!rival)
                return r;
        state->lists_matter = true;
        g_free(*ret_why);
        *ret_why = rival;
        return r;
}

/* Describes the CPUs that the kernel lost, as a new string; NULL: none. */
static char *describe_lost(int root, const CpuSet *parked, const CpuSet *allowed)
{
        CpuSet online = *parked, lost;
        g_autofree char *list = NULL;

        cpuset_or(&online, allowed);
        lost = isolate_lost(root, &online);
        list = cpuset_format(&lost);
        return cpuset_is_empty(&lost)
                       ? NULL
                       : g_strdup_printf("the kernel lost CPUs %s when partitions overlapped, so "
                                         "no task can run there until a reboot",
                                         list);
}

/* -EBUSY: the kernel has no such partition; `*ret_why` says whose fault that is. Else it is NULL,
 * or says what else is wrong. */
static int park(State *state, Knobs *knobs, const CpuSet *parked, const CpuSet *allowed,
                char **ret_why)
{
        const Holder *holder = state->holder;
        int root = state->context.root, r, checked;

        *ret_why = isolate_rival(root, holder->group, parked, state->lists_matter);
        if (*ret_why)
                return -EBUSY;
        r = make_way(state, knobs, parked, allowed, ret_why);
        if (r < 0)
                return r;
        r = make(state, knobs, parked, allowed);
        if (r >= 0)
                workqueue_return(knobs, root, parked, allowed);
        if (!knob_find(knobs, &park_partition_kind, holder->type) || (r < 0 && r != -EPERM))
                return r;
        checked = check(state, parked, ret_why);
        if (checked < 0)
                return checked;
        if (r >= 0)
                *ret_why = describe_lost(root, parked, allowed);
        return r;
}

static int apply_partition(void *data, Knobs *knobs, const CpuSet *allowed,
                           const Topology *topology)
{
        CpuSet parked = topology->online, left = topology->online;
        g_autofree char *why = NULL;
        State *state = data;
        int r;

        cpuset_subtract(&parked, allowed);
        cpuset_subtract(&left, &parked);
        if (cpuset_is_empty(&parked))
                return dissolve(state, knobs, keeps_slice(state));
        if (cpuset_is_empty(&left))
                return -EINVAL;
        r = park(state, knobs, &parked, &left, &why);
        note_obstacle(state, why);
        if (r < 0)
                dissolve(state, knobs, false);
        return r;
}

static const char *describe_partition(void *data)
{
        return ((State *)data)->about;
}

static void close_partition(void *data)
{
        State *state = data;

        g_free(state->way);
        g_free(state->about);
        g_free(state);
}

const ParkBackendOps park_partition = {
        .name = "partition",
        .open = open_partition,
        .lacks = partition_lacks,
        .apply = apply_partition,
        .describe = describe_partition,
        .close = close_partition,
        .confines_all = true,
};
