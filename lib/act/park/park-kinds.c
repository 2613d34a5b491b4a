/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeping units to kinds of cores, as holds request: AllowedCPUs of these units, at run time.
 *
 * A unit gets the active CPUs of its kinds. While there are none it gets all that are active: the
 * list never names a parked CPU, because before Linux 7.0 a partition loses its CPUs to a
 * neighbour that names them. So idled calls this before it parks, when lists become shorter, and
 * once more after it has parked, when they become longer. Where parking failed the plan's CPUs do
 * not matter: all that are not parked are active.
 *
 * The limit is the one that parking through systemd sets, too, and has one owner. A unit that
 * parking confines passes to this file with its original value, and back when the request ends.
 * Parking leaves it alone meanwhile, as all units that have CPUs of their own.
 *
 * The kernel refuses to empty the list of a group with tasks while the cpuset controller stays on,
 * and before Linux 7.0 no partition may have CPUs that a group next to it lists. So where parking
 * may use a partition, a unit next to it keeps a list of the active CPUs when its request ends.
 * Only restoring removes that limit.
 *
 * While the kind with the large cache is requested, AMD's driver is set to prefer these cores, also
 * for processes without a unit of their own.
 */
#include "act/park/park-isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "model/kind.h"

#define X3D_DIR  "sys/bus/platform/drivers/amd_x3d_vcache/"
#define X3D_MODE "/amd_x3d_mode"

/* A unit with more cgroups is left alone. */
#define GROUPS_MAX 1024

typedef struct State {
        ActContext context;
        bool units;     /* systemd can limit units */
        bool partition; /* parking may use one */
} State;

static int x3d_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = g_strconcat(X3D_DIR, name, NULL);
        char text[32];
        int r = path_is_below(name) ? file_read_value(context->root, path, text, sizeof(text))
                                    : -ENOENT;

        if (r < 0)
                return r;
        *ret_value = g_strndup(text, strcspn(text, "\n"));
        return 0;
}

static int x3d_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = g_strconcat(X3D_DIR, name, NULL);
        g_autofree char *line = g_strconcat(value, "\n", NULL);

        return path_is_below(name) ? file_write(context->root, path, line) : -ENOENT;
}

static const KnobKind x3d_kind = {
        .name = "x3d",
        .read = x3d_read,
        .write = x3d_write,
};

/* The names of all knobs of the driver, as new strings. */
static GPtrArray *x3d_names(int root)
{
        g_auto(GStrv) devices = dir_list(root, X3D_DIR, "");
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (char **device = devices; *device; device++) {
                g_autofree char *path = g_strconcat(X3D_DIR, *device, X3D_MODE, NULL);

                if (faccessat(root, path, F_OK, 0) == 0)
                        g_ptr_array_add(names, g_strconcat(*device, X3D_MODE, NULL));
        }
        return names;
}

static bool may_use_partition(const ParkOptions *options)
{
        return (options->backend == PARK_AUTO || options->backend == PARK_PARTITION) &&
               !park_restricts_units(options);
}

static int open_kinds(const ActContext *context, const void *options, void **ret_state)
{
        g_autoptr(GPtrArray) x3d = x3d_names(context->root);
        int r = park_check_systemd(context);
        State *state;

        if (park_would_harm(context, options) || !park_offers_cpusets(context->root))
                r = -EOPNOTSUPP;
        if (r < 0 && x3d->len == 0)
                return r;
        state = g_new0(State, 1);
        *state = (State){ *context, r >= 0, may_use_partition(options) };
        *ret_state = state;
        return 0;
}

static char *lacks_kinds(const ActContext *context, const void *options)
{
        return park_would_harm(context, options)
                       ? g_strdup_printf("the kernel resets affinities (%s)", context->affinities)
                       : park_controller_lacks(context->root)
                                 ?: g_strdup("systemd cannot be reached");
}

/* True if a cgroup below the one at `path` has a list of CPUs, none of them in `cpus`; or if there
 * are too many cgroups to know. */
static bool has_other_list(int root, const char *path, const CpuSet *cpus, unsigned *left)
{
        _dir_ DIR *dir = dir_open(root, path);
        struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                g_autofree char *below = g_build_filename(path, entry->d_name, NULL);
                g_autofree char *file = g_build_filename(below, "cpuset.cpus", NULL), *text = NULL;
                CpuSet own = { 0 };

                if (entry->d_type != DT_DIR || *entry->d_name == '.')
                        continue;
                if (*left == 0)
                        return true;
                --*left;
                if (file_read(root, file, &text) == 0)
                        cpuset_parse(text, &own);
                if ((!cpuset_is_empty(&own) && !cpuset_intersects(&own, cpus)) ||
                    has_other_list(root, below, cpus, left))
                        return true;
        }
        return false;
}

/* True if others chose CPUs for the unit, or for a cgroup below it that would have none of
 * `cpus`. */
static bool has_own_cpus(const State *state, const UnitKinds *unit, const char *original,
                         const CpuSet *cpus)
{
        const UnitControl *units = state->context.units;
        g_autofree char *path = g_strconcat(PARK_UNIFIED, unit->cgroup, NULL);
        unsigned left = GROUPS_MAX;
        CpuSet affinity;

        return park_has_own(original) ||
               (units->get_affinity &&
                units->get_affinity(units->userdata, unit_kinds_name(unit), &affinity) >= 0 &&
                !cpuset_is_empty(&affinity)) ||
               has_other_list(state->context.root, path, cpus, &left);
}

/* The unit's AllowedCPUs without idled, whichever knob has changed them. */
static int read_original(const Knobs *knobs, const char *unit, char **ret_original)
{
        const KnobKind *kind = knob_find(knobs, &park_kinds_kind, unit) ? &park_kinds_kind
                                                                        : &park_unit_kind;

        return knob_original(knobs, kind, unit, ret_original);
}

static int limit_unit(Knobs *knobs, const char *unit, const char *original, const char *cpus)
{
        bool parks = knob_find(knobs, &park_unit_kind, unit);
        KnobChange change = { &park_kinds_kind, unit, cpus, 0, parks ? original : NULL };

        knobs_set(knobs, &change, 1);
        if (parks && change.result >= 0)
                knobs_drop(knobs, &park_unit_kind, unit);
        return change.result;
}

/* True if parking confines units, as it does after a partition failed. */
static bool parks_units(const Knobs *knobs)
{
        const Knob *const *list;

        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (list[i]->kind == &park_unit_kind)
                        return true;
        return false;
}

/* Ends the limit of a unit to its kinds. */
static int let_go(const State *state, Knobs *knobs, const char *unit, const CpuSet *active)
{
        g_autofree char *path = g_build_filename(PARK_UNIFIED, unit, NULL);
        g_autofree char *text = cpuset_format(active);
        const Knob *knob = knob_find(knobs, &park_kinds_kind, unit);

        if (!state->partition || parks_units(knobs) || !knob || knob->state == KNOB_FOREIGN ||
            !knob_is_on_record(knob) || park_group_number(state->context.root, path) == 0)
                return knob_release(knobs, &park_kinds_kind, unit);
        return knob_set(knobs, &park_kinds_kind, unit, text);
}

/* Does that for all units that are not among `keep`. */
static int let_others_go(const State *state, Knobs *knobs, const char *const *keep,
                         const CpuSet *active)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const Knob *const *list;
        int first = 0;

        for (int i = knobs_list(knobs, &list); i-- > 0;)
                if (list[i]->kind == &park_kinds_kind && list[i]->state != KNOB_FOREIGN &&
                    !g_strv_contains(keep, list[i]->name))
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (guint i = 0; i < names->len; i++)
                first = park_first_error(first, let_go(state, knobs, names->pdata[i], active));
        return first;
}

static int apply_unit(const State *state, Knobs *knobs, const UnitKinds *unit, const CpuSet *active,
                      const Topology *topology)
{
        const char *name = unit_kinds_name(unit);
        CpuSet cpus = kinds_choose(topology, unit->kinds, active);
        g_autofree char *original = NULL, *text = cpuset_format(&cpus);
        bool ours = knob_find(knobs, &park_kinds_kind, name);
        int r = read_original(knobs, name, &original);

        if (r < 0)
                return r;
        if (cpuset_equal(&cpus, &topology->online))
                return let_go(state, knobs, name, active);
        if (!ours &&
            (cpuset_is_subset(active, &cpus) || has_own_cpus(state, unit, original, &cpus)))
                return 0;
        if (!ours && park_has_systemd(state->context.root))
                r = knob_set(knobs, &park_dropin_kind, name, "present");
        return r < 0 ? r : limit_unit(knobs, name, original, text);
}

static int apply_units(const State *state, Knobs *knobs, const CpuSet *active,
                       const ActFacts *facts)
{
        g_autoptr(GPtrArray) keep = g_ptr_array_new();
        int first = 0;

        for (guint i = 0; i < facts->unit_kinds->len; i++) {
                const UnitKinds *unit = g_ptr_array_index(facts->unit_kinds, i);

                if (unit->cgroup)
                        g_ptr_array_add(keep, (char *)unit_kinds_name(unit));
        }
        g_ptr_array_add(keep, NULL);
        first = let_others_go(state, knobs, (const char *const *)keep->pdata, active);
        for (guint i = 0; i < facts->unit_kinds->len; i++) {
                const UnitKinds *unit = g_ptr_array_index(facts->unit_kinds, i);

                if (unit->cgroup)
                        first = park_first_error(
                                first, apply_unit(state, knobs, unit, active, facts->topology));
        }
        return park_first_error(first, park_tidy_dropins(knobs));
}

/* The driver may be loaded at any time. */
static int apply_x3d(const State *state, Knobs *knobs, const ActFacts *facts)
{
        g_autoptr(GPtrArray) names = x3d_names(state->context.root);
        bool cache = false;
        int first = 0;

        for (guint i = 0; i < facts->unit_kinds->len; i++)
                cache |= ((UnitKinds *)g_ptr_array_index(facts->unit_kinds, i))->kinds & KIND_CACHE;
        for (guint i = 0; i < names->len; i++)
                first = park_first_error(
                        first, knob_set(knobs, &x3d_kind, names->pdata[i], cache ? "cache" : NULL));
        return first;
}

static int apply_kinds(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        const State *state = data;
        CpuSet active = facts->topology->online, parked = knobs_kept_free(knobs);
        int r = apply_x3d(state, knobs, facts);

        if (facts->parks)
                cpuset_and(&active, &plan->allowed);
        cpuset_subtract(&active, &parked);
        if (!state->units || cpuset_is_empty(&active)) /* until parking has changed */
                return r;
        return park_first_error(r, apply_units(state, knobs, &active, facts));
}

static bool same_kinds(const Plan *a, const Plan *b)
{
        return cpuset_equal(&a->allowed, &b->allowed);
}

static const char *describe_kinds(void *data)
{
        const State *state = data;
        g_autoptr(GPtrArray) x3d = x3d_names(state->context.root);

        if (!state->units)
                return "amd_x3d_mode";
        return x3d->len > 0 ? "AllowedCPUs of units, and amd_x3d_mode" : "AllowedCPUs of units";
}

static const KnobKind *const kinds[] = { &x3d_kind, &park_dropin_kind, &park_kinds_kind, NULL };

const Actuator actuator_kinds = {
        .name = "kinds",
        .section = "Park",
        .kinds = kinds,
        .open = open_kinds,
        .lacks = lacks_kinds,
        .apply = apply_kinds,
        .same = same_kinds,
        .describe = describe_kinds,
        .follows_park = true,
        .close = g_free,
};
