/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by AllowedCPUs of systemd's units, at run time.
 *
 * The units directly below the root slice are confined, and all that is in them follows; where one
 * that is excluded is among these, its neighbours are confined instead of the slice. The value
 * found is what is configured, not what is in effect. A unit with AllowedCPUs= of its own is left
 * alone, and so is all that is in it: the administrator chose its CPUs.
 *
 * CPUs that come back must be available before a program that starts asks for them, and systemd,
 * which starts it, has no time for calls meanwhile. So lists that grow are first written into the
 * cgroups of the units, where systemd then writes the same.
 *
 * systemd answers "done" to values that the kernel then refuses, so after each change idled reads
 * the CPUs in effect. It removes a limit by writing an empty list, which the kernel refuses for a
 * group with tasks (ENOSPC, a warning in the journal) as long as the controller stays on. So while
 * nothing is parked the units keep a limit of all possible CPUs, and only restoring removes it.
 */
#include "act/park/park-common.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"

typedef struct State {
        ActContext context;
        const ParkOptions *options;
} State;

static int unit_read(const ActContext *context, const char *name, char **ret_value)
{
        const UnitControl *units = context->units;
        CpuSet allowed;
        int r;

        if (!units)
                return -ENOTCONN;
        r = units->get_allowed(units->userdata, name, &allowed);
        if (r < 0)
                return r;
        *ret_value = cpuset_format(&allowed);
        return 0;
}

/* Sets the limit and checks whether it is in effect. A unit that is not running has none in
 * effect. */
static int set_checked(const UnitControl *units, const char *name, const CpuSet *cpus)
{
        CpuSet effective;
        int r;

        r = units->set_allowed(units->userdata, name, cpus);
        if (r < 0)
                return r;
        r = units->get_effective(units->userdata, name, &effective);
        if (r < 0)
                return r;
        return cpuset_is_subset(&effective, cpus) ? 0 : -EPERM;
}

static int unit_write(const ActContext *context, const char *name, const char *value)
{
        const UnitControl *units = context->units;
        CpuSet cpus, possible, now;
        int r;

        if (!units)
                return -ENOTCONN;
        r = cpuset_parse(value, &cpus);
        if (r < 0)
                return r;
        if (!cpuset_is_empty(&cpus))
                return set_checked(units, name, &cpus);
        r = park_possible(context->root, &possible);
        if (r == 0)
                r = units->get_allowed(units->userdata, name, &now);
        if (r == 0 && !cpuset_equal(&now, &possible))
                r = units->set_allowed(units->userdata, name, &possible);
        return r < 0 ? r : units->set_allowed(units->userdata, name, &cpus);
}

static bool unit_passes(const ActContext *context, const char *to, const char *now)
{
        CpuSet cpus, possible;

        return !*to && cpuset_parse(now, &cpus) == 0 &&
               park_possible(context->root, &possible) == 0 && cpuset_equal(&cpus, &possible);
}

/* A unit that is gone takes its limit with it, and its group. One that has no group at the top, or
 * none at all, is taken for the same as long as it has its name. */
static uint64_t unit_identity(const ActContext *context, const char *name)
{
        g_autofree char *path = g_build_filename(PARK_UNIFIED, name, NULL);
        uint64_t number = park_group_number(context->root, path);

        return number ? number : 1;
}

bool park_has_own(const char *original)
{
        CpuSet own;

        return cpuset_parse(original, &own) < 0 || !cpuset_is_empty(&own);
}

const KnobKind park_unit_kind = {
        .name = "unit",
        .read = unit_read,
        .write = unit_write,
        .identity = unit_identity,
        .equal = park_cpus_equal,
        .passes = unit_passes,
        .kept_free = park_kept_free,
};

const KnobKind park_kinds_kind = {
        .name = "kinds",
        .read = unit_read,
        .write = unit_write,
        .identity = unit_identity,
        .equal = park_cpus_equal,
        .passes = unit_passes,
};

static int list_units(void *userdata, const char *group, char ***ret_children)
{
        const UnitControl *units = ((State *)userdata)->context.units;

        if (*group && !g_str_has_suffix(group, ".slice")) {
                *ret_children = g_new0(char *, 1);
                return 0;
        }
        return units->list_children(units->userdata, *group ? group : "-.slice", ret_children);
}

/* systemd takes every limit for done, also where cgroup v2 has no cpusets at all. */
static bool lacks_cpusets(int root)
{
        return faccessat(root, PARK_UNIFIED "/cgroup.controllers", F_OK, 0) == 0 &&
               !park_offers_cpusets(root);
}

int park_check_systemd(const ActContext *context)
{
        const UnitControl *units = context->units;
        g_auto(GStrv) children = NULL;
        int r;

        if (!units || lacks_cpusets(context->root))
                return -EOPNOTSUPP;
        r = units->list_children(units->userdata, "-.slice", &children);
        return r == -ENOTCONN ? -EOPNOTSUPP : r;
}

static int open_systemd(const ActContext *context, const ParkOptions *options, void **ret_state)
{
        int r = park_check_systemd(context);
        State *state;

        if (r < 0)
                return r;
        state = g_new0(State, 1);
        state->context = *context;
        state->options = options;
        *ret_state = state;
        return 0;
}

static char *systemd_lacks(const ActContext *context, const ParkOptions *options)
{
        return lacks_cpusets(context->root) ? park_controller_lacks(context->root)
                                            : g_strdup("systemd cannot be reached");
}

static int confine(State *state, Knobs *knobs, const char *unit, const CpuSet *allowed,
                   const CpuSet *online)
{
        g_autofree char *original = NULL, *wanted = NULL;
        int r;

        r = knob_original(knobs, &park_unit_kind, unit, &original);
        if (r < 0)
                return r;
        if (park_has_own(original))
                return 0;
        wanted = park_wanted(original, allowed, online);
        if (!park_cpus_equal(wanted, original) && park_has_systemd(state->context.root)) {
                r = knob_set(knobs, &park_dropin_kind, unit, "present");
                if (r < 0)
                        return r;
        }
        return knob_set(knobs, &park_unit_kind, unit, wanted);
}

/* Adds `cpus` to the list in the cgroup of a unit that is confined; nothing, if it is not where
 * units of the root slice are. systemd does the same a moment later, and reports what fails. */
static void widen_group(int root, const char *unit, const CpuSet *cpus)
{
        g_autofree char *path = g_build_filename(PARK_UNIFIED, unit, "cpuset.cpus", NULL);
        g_autofree char *text = NULL, *wide = NULL;
        CpuSet now, both;

        if (file_read(root, path, &text) < 0 || cpuset_parse(text, &now) < 0 ||
            cpuset_is_empty(&now))
                return;
        both = now;
        cpuset_or(&both, cpus);
        wide = cpuset_format(&both);
        if (!cpuset_equal(&both, &now))
                file_write(root, path, wide);
}

/* systemd writes the old list of a slice again when it starts a unit there, until it has the new
 * one. So groups are checked after each of its answers. */
static void widen_groups(State *state, const Knobs *knobs, const CpuSet *allowed,
                         const CpuSet *online)
{
        const Knob *const *list;
        CpuSet cpus = *allowed;

        if (knobs_is_dry_run(knobs))
                return;
        cpuset_and(&cpus, online);
        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (list[i]->kind == &park_unit_kind && list[i]->state == KNOB_OURS &&
                    !park_has_own(list[i]->original))
                        widen_group(state->context.root, list[i]->name, &cpus);
}

/* Gives every unit that is confined all CPUs that there can be, which the kernel takes from a group
 * with tasks. The limit itself goes when idled ends. */
static int open_units(State *state, Knobs *knobs, const CpuSet *online)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *every = NULL;
        const UnitControl *units = state->context.units;
        const Knob *const *list;
        CpuSet possible, unused;
        int first = 0, r;

        r = park_possible(state->context.root, &possible);
        if (r < 0)
                return r;
        every = cpuset_format(&possible);
        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (list[i]->kind == &park_unit_kind && list[i]->state != KNOB_FOREIGN &&
                    list[i]->original && !park_has_own(list[i]->original))
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (unsigned i = 0; i < names->len && !knobs_is_dry_run(knobs); i++) {
                units->get_allowed(units->userdata, names->pdata[i], &unused);
                widen_groups(state, knobs, online, online);
        }
        for (unsigned i = 0; i < names->len; i++) {
                r = knob_set(knobs, &park_unit_kind, names->pdata[i], every);
                first = park_first_error(first, r);
                widen_groups(state, knobs, online, online);
        }
        return first;
}

static bool is_limit(const Knob *knob)
{
        return knob->kind == &park_unit_kind || knob->kind == &park_kinds_kind;
}

/* The file of a limit that another program has set is that program's. */
static void leave_files_of_others(Knobs *knobs)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const Knob *const *list;

        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (is_limit(list[i]) && list[i]->state == KNOB_FOREIGN)
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (unsigned i = 0; i < names->len; i++)
                knobs_drop(knobs, &park_dropin_kind, names->pdata[i]);
}

/* systemd keeps the file of a limit when its unit goes. The next unit of that name would have the
 * limit of the last one, which would look like the administrator's. */
static int remove_old_files(Knobs *knobs)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const Knob *const *list;
        int first = 0;

        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (list[i]->kind == &park_dropin_kind && list[i]->state == KNOB_OURS &&
                    list[i]->original && !knob_find(knobs, &park_unit_kind, list[i]->name) &&
                    !knob_find(knobs, &park_kinds_kind, list[i]->name))
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (unsigned i = 0; i < names->len; i++)
                first = park_first_error(first,
                                         knob_release(knobs, &park_dropin_kind, names->pdata[i]));
        return first;
}

int park_tidy_dropins(Knobs *knobs)
{
        leave_files_of_others(knobs);
        return remove_old_files(knobs);
}

static int confine_units(State *state, Knobs *knobs, const CpuSet *allowed,
                         const Topology *topology)
{
        g_auto(GStrv) chosen = NULL;
        int first = 0, r;

        r = park_select(state->options, list_units, state, &chosen);
        if (r < 0)
                return r;
        for (char **unit = chosen; *unit; unit++)
                first = park_first_error(first,
                                         confine(state, knobs, *unit, allowed, &topology->online));
        r = park_release(knobs, &park_unit_kind, (const char *const *)chosen);
        return park_first_error(first, r);
}

static int apply_systemd(void *data, Knobs *knobs, const CpuSet *allowed, const Topology *topology)
{
        State *state = data;
        int r;

        widen_groups(state, knobs, allowed, &topology->online);
        if (cpuset_is_subset(&topology->online, allowed))
                r = open_units(state, knobs, &topology->online);
        else
                r = confine_units(state, knobs, allowed, topology);
        return park_first_error(r, park_tidy_dropins(knobs));
}

static const char *describe_systemd(void *data)
{
        return "AllowedCPUs of systemd's units";
}

const ParkBackendOps park_systemd = {
        .name = "systemd",
        .open = open_systemd,
        .lacks = systemd_lacks,
        .apply = apply_systemd,
        .describe = describe_systemd,
        .close = g_free,
};
