/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1/policy/NAME, one for every active policy.
 *
 * Reason, Settled and PeriodUSec change with the load at every tick, so they are not signalled:
 * clients read them.
 */
#include <math.h>

#include "base/setting-value.h"
#include "bus/bus-parts.h"

/* The policy that the path names, NULL if there is none such. */
static const ActivePolicy *policy_at(const Bus *bus, const char *path)
{
        const ActivePolicy *p;
        g_autofree char *name = NULL;

        if (sd_bus_path_decode(path, BUS_PATH_POLICY, &name) <= 0)
                return NULL;
        for (unsigned i = 0; (p = manager_policy(bus->manager, i)); i++)
                if (g_str_equal(p->policy->name, name))
                        return p;
        return NULL;
}

/* The same for getters, which sd-bus calls only if policy_find() found it. */
static const ActivePolicy *path_policy(const Bus *bus, const char *path)
{
        const ActivePolicy *policy = policy_at(bus, path);

        g_assert(policy);
        return policy;
}

/* Its rank: how many policies come before it. */
static int path_rank(const Bus *bus, const char *path)
{
        const ActivePolicy *policy = path_policy(bus, path);
        unsigned rank = 0;

        while (manager_policy(bus->manager, rank) != policy)
                rank++;
        return (int)rank;
}

void bus_policy_paths(const Bus *bus, GPtrArray *paths)
{
        const ActivePolicy *p;

        for (unsigned i = 0; (p = manager_policy(bus->manager, i)); i++) {
                char *path;

                if (sd_bus_path_encode(BUS_PATH_POLICY, p->policy->name, &path) >= 0)
                        g_ptr_array_add(paths, path);
        }
}

BUS_OBJECTS(policy, policy_at(bus, path) != NULL, bus_policy_paths);

BUS_VALUE(get_name, "s", path_policy(bus, path)->policy->name);

BUS_VALUE(get_summary, "s", path_policy(bus, path)->policy->summary);

BUS_VALUE(get_rank, "u", path_rank(bus, path));

BUS_GETTER(get_allowed)
{
        const Bus *bus = userdata;
        CpuSet allowed = path_policy(bus, path)->wish.allowed;

        cpuset_and(&allowed, &manager_topology(bus->manager)->online);
        return bus_append_cpus(reply, &allowed);
}

BUS_GETTER(get_reason)
{
        const Bus *bus = userdata;
        const ActivePolicy *p = path_policy(bus, path);
        g_autofree char *text = NULL;

        if (pauses_any(manager_pauses(bus->manager)))
                text = g_strdup("No request while idled is paused.");
        else
                text = policy_explain_wish(p, &manager_topology(bus->manager)->online);
        return sd_bus_message_append(reply, "s", text);
}

BUS_VALUE(get_settled, "b", path_policy(bus, path)->wish.settled);

BUS_VALUE(get_period, "t", path_policy(bus, path)->wish.period_usec);

BUS_GETTER(get_options)
{
        const Section *section = path_policy(userdata, path)->section;
        int r = sd_bus_message_open_container(reply, 'a', "{ss}");

        for (const Setting *row = section->rows; r >= 0 && row->key; row++) {
                g_autofree char *value = setting_format(row, section->options);

                r = sd_bus_message_append(reply, "{ss}", row->key, value);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* NULL: what the policy saves is not measured. */
static const Evaluator *path_evaluator(const Bus *bus, const char *path)
{
        return path_policy(bus, path)->evaluator;
}

/* What its evaluator found, NaN if there is none. */
static const Estimate *path_found(const Bus *bus, const char *path)
{
        static const Estimate none = { .watts = { NAN, NAN, NAN },
                                       .per_work = { NAN, NAN, NAN },
                                       .delay = { NAN, NAN, NAN },
                                       .off_watts = NAN,
                                       .on_watts = NAN };
        const Evaluator *evaluator = path_evaluator(bus, path);

        return evaluator ? &evaluator->found : &none;
}

/* What is published is an average over several blocks of a second at least, rounded to so many
 * steps to one: energy that is finer than that is a side channel. 0.1 has no exact double, 10 has.
 */
static double rounded(double value, double steps)
{
        return rint(value * steps) / steps;
}

/* Appends an estimate, and the ends of its interval. */
static int append_interval(sd_bus_message *reply, const Interval *found, double steps)
{
        return sd_bus_message_append(reply, "(ddd)", rounded(found->value, steps),
                                     rounded(found->low, steps), rounded(found->high, steps));
}

BUS_GETTER(get_saved_joules)
{
        const Evaluator *evaluator = path_evaluator(userdata, path);
        Interval found = evaluator ? evaluator_saved_joules(evaluator)
                                   : (Interval){ NAN, NAN, NAN };

        return append_interval(reply, &found, 1);
}

BUS_APPENDED(get_saved_watts, append_interval(reply, &path_found(bus, path)->watts, 10));

BUS_APPENDED(get_saved_share, append_interval(reply, &path_found(bus, path)->per_work, 1000));

BUS_APPENDED(get_waiting_change, append_interval(reply, &path_found(bus, path)->delay, 1000));

BUS_VALUE(get_mean_watts, "(dd)", rounded(path_found(bus, path)->on_watts, 10),
          rounded(path_found(bus, path)->off_watts, 10));

BUS_GETTER(get_effective_share)
{
        const Evaluator *evaluator = path_evaluator(userdata, path);
        double share = evaluator ? evaluator_effective_share(evaluator) : NAN;

        return sd_bus_message_append(reply, "d", rounded(share, 1000));
}

BUS_GETTER(get_blocks)
{
        const Evaluator *evaluator = path_evaluator(userdata, path);

        return sd_bus_message_append(reply, "t",
                                     evaluator ? 2 * evaluator->estimator.n_pairs : UINT64_C(0));
}

BUS_GETTER(get_blocks_dropped)
{
        const Evaluator *evaluator = path_evaluator(userdata, path);
        uint64_t n = evaluator ? estimator_dropped(&evaluator->estimator) : 0;

        return sd_bus_message_append(reply, "t", n);
}

BUS_VALUE(get_verdict, "s",
          path_evaluator(bus, path) ? verdict_text(path_found(bus, path)->verdict) : "");

BUS_VALUE(get_energy_source, "s",
          path_evaluator(bus, path) ? energy_source_text(manager_energy_source(bus->manager)) : "");

BUS_VALUE(get_work_unit, "s",
          path_evaluator(bus, path) ? work_unit_text(path_evaluator(bus, path)->unit) : "");

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Summary", "s", get_summary, 0, SD_BUS_VTABLE_PROPERTY_CONST),
        SD_BUS_PROPERTY("Rank", "u", get_rank, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Allowed", "s", get_allowed, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Reason", "s", get_reason, 0, 0),
        SD_BUS_PROPERTY("Settled", "b", get_settled, 0, 0),
        SD_BUS_PROPERTY("PeriodUSec", "t", get_period, 0, 0),
        SD_BUS_PROPERTY("Options", "a{ss}", get_options, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("SavedJoules", "(ddd)", get_saved_joules, 0, 0),
        SD_BUS_PROPERTY("SavedWatts", "(ddd)", get_saved_watts, 0, 0),
        SD_BUS_PROPERTY("SavedShare", "(ddd)", get_saved_share, 0, 0),
        SD_BUS_PROPERTY("WaitingChange", "(ddd)", get_waiting_change, 0, 0),
        SD_BUS_PROPERTY("MeanWatts", "(dd)", get_mean_watts, 0, 0),
        SD_BUS_PROPERTY("EffectiveShare", "d", get_effective_share, 0, 0),
        SD_BUS_PROPERTY("Blocks", "t", get_blocks, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("BlocksDropped", "t", get_blocks_dropped, 0,
                        SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("Verdict", "s", get_verdict, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
        SD_BUS_PROPERTY("EnergySource", "s", get_energy_source, 0, 0),
        SD_BUS_PROPERTY("WorkUnit", "s", get_work_unit, 0, 0),
        SD_BUS_VTABLE_END,
};

int bus_export_policies(Bus *bus)
{
        return bus_export_below(bus, BUS_PATH_POLICY, BUS_INTERFACE_POLICY, vtable, policy_find,
                                policy_enumerate);
}

void bus_publish_policies(Bus *bus, unsigned changes)
{
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);

        if (!(changes & (CHANGE_PARKED | CHANGE_PAUSED | CHANGE_CONFIG | CHANGE_EVALUATION)))
                return;
        bus_policy_paths(bus, paths);
        for (guint i = 0; i < paths->len && changes & CHANGE_EVALUATION; i++)
                sd_bus_emit_properties_changed(bus->connection, paths->pdata[i],
                                               BUS_INTERFACE_POLICY, "Blocks", "BlocksDropped",
                                               "Verdict", NULL);
        if (!(changes & (CHANGE_PARKED | CHANGE_PAUSED | CHANGE_CONFIG)))
                return;
        for (guint i = 0; i < paths->len; i++)
                if (changes & CHANGE_CONFIG)
                        sd_bus_emit_properties_changed(bus->connection, paths->pdata[i],
                                                       BUS_INTERFACE_POLICY, "Rank", "Allowed",
                                                       "Options", NULL);
                else
                        sd_bus_emit_properties_changed(bus->connection, paths->pdata[i],
                                                       BUS_INTERFACE_POLICY, "Allowed", NULL);
}
