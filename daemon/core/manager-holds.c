/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds at work.
 *
 * A hold that comes or goes is acted upon before the client has its answer: the policies that look
 * at holds are asked again, with the last snapshot, and what changed is put in force. Knobs that
 * have nothing to do with it are not touched.
 *
 * Where a process may run also depends on what we park: after that changed, it is looked at anew.
 */
#include "act/tuning.h"
#include "core/manager-parts.h"
#include "core/profile.h"

void manager_hold_changed(void *userdata)
{
        Manager *manager = userdata;

        manager_changed(manager, CHANGE_HOLDS);
        manager_act_on_holds(manager);
}

bool manager_follow_holds(Manager *manager)
{
        if (!holds_follow(manager->holds, &manager->topology->online, manager_now()))
                return false;
        manager_changed(manager, CHANGE_HOLDS);
        return true;
}

bool manager_looks_at_holds(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (g_array_index(manager->policies, ActivePolicy, i).policy->wishes &
                    WISHES_BY_HOLDS)
                        return true;
        return false;
}

#define NOBODY_LOOKS "no policy at work looks at holds"

/* Why nothing at all of the hold is in force; NULL if it may be. */
static char *whole_obstacle(const Manager *manager, const Held *held)
{
        const Profile *refused = manager->profile.refused;

        if (manager->standby)
                return g_strdup("another daemon owns the name org.idled1");
        if (manager_is_paused(manager))
                return g_strdup("a client asked to leave the machine alone");
        if (manager->setup.dry_run)
                return g_strdup("this is a dry run");
        if (!held->profile)
                return manager_looks_at_holds(manager) ? NULL : g_strdup(NOBODY_LOOKS);
        if (!config_profile(manager->config, held->profile))
                return g_strdup_printf("there is no profile \"%s\" any more", held->profile);
        return refused && g_str_equal(refused->name, held->profile)
                       ? g_strdup(manager->profile.problem)
                       : NULL;
}

static bool is_open(const Manager *manager, const Actuator *actuator)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                const ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (a->actuator == actuator)
                        return a->state;
        }
        return false;
}

/* What a hold asks for of single CPUs, and what can stand in its way. */
typedef struct Demand {
        const char *what; /* is not done then, for people */
        const Actuator *actuator;
        bool absent;      /* the machine has not what it takes: */
        const char *name; /* of that */
        const char *end;  /* of the names of knobs that it takes */
        CpuSet numbers;   /* in their names: CPUs, or cpufreq policies */
} Demand;

static bool takes_knob(const Demand *demand, const Knob *knob)
{
        bool of_kind = false;

        for (const KnobKind *const *kind = demand->actuator->kinds; *kind; kind++)
                of_kind |= *kind == knob->kind;
        return of_kind && g_str_has_suffix(knob->name, demand->end) &&
               tune_is_of(knob->name, &demand->numbers);
}

/* The first knob that it takes and that cannot be had; NULL: there is none. */
static const Knob *find_lost(const Manager *manager, const Demand *demand)
{
        const Knob *const *knobs;
        int n = knobs_list(manager->knobs, &knobs);

        for (int i = 0; i < n; i++)
                if (knobs[i]->state != KNOB_OURS && takes_knob(demand, knobs[i]))
                        return knobs[i];
        return NULL;
}

/* Adds to `text` what cannot be done, and why, if it cannot. */
static void add_obstacle(GString *text, const Manager *manager, const Demand *demand)
{
        const Actuator *actuator = demand->actuator;
        const TuneOptions *options = config_section(manager->config, actuator->section)->options;
        bool open = !demand->absent && options->manage && is_open(manager, actuator);
        const Knob *lost = open ? find_lost(manager, demand) : NULL;

        if (open && !lost)
                return;
        g_string_append_printf(text, "%s%s: ", text->len > 0 ? "; " : "", demand->what);
        if (lost && lost->state == KNOB_FOREIGN)
                g_string_append_printf(text, "%s is somebody else's", lost->name);
        else if (lost)
                g_string_append_printf(text, "%s: %s", lost->name, g_strerror(-lost->error));
        else if (demand->absent || options->manage)
                g_string_append_printf(text, "this machine has no %s", demand->name);
        else
                g_string_append_printf(text, "Manage= of [%s] is no", actuator->section);
}

static void add_latency_obstacle(GString *text, const Manager *manager, const Hold *hold)
{
        const Demand demand = { .what = "its latency cannot be kept",
                                .actuator = &actuator_pmqos,
                                .name = "PM QoS",
                                .end = "",
                                .numbers = hold->cpus };

        add_obstacle(text, manager, &demand);
}

static void add_frequency_obstacle(GString *text, const Manager *manager, const Hold *hold)
{
        Demand demand = { .what = "its frequency cannot be kept up",
                          .actuator = &actuator_cpufreq,
                          .absent = manager->n_frequency == 0,
                          .name = "cpufreq",
                          .end = "/scaling_min_freq" };

        for (int i = 0; i < manager->n_frequency; i++)
                if (cpuset_intersects(&manager->frequency[i].cpus, &hold->cpus))
                        cpuset_add(&demand.numbers, manager->frequency[i].number);
        add_obstacle(text, manager, &demand);
}

char *manager_hold_obstacle(const Manager *manager, const Held *held)
{
        const Hold *hold = holds_hold(held);
        char *whole = whole_obstacle(manager, held);
        GString *text;

        if (whole)
                return whole;
        text = g_string_new(NULL);
        if (!manager_looks_at_holds(manager)) {
                if (hold_needs_policy(hold))
                        g_string_append(text, "only its profile is in force: " NOBODY_LOOKS);
                return g_string_free(text, text->len == 0);
        }
        if (hold->latency_us >= 0)
                add_latency_obstacle(text, manager, hold);
        if (hold->min_khz > 0)
                add_frequency_obstacle(text, manager, hold);
        return g_string_free(text, text->len == 0);
}
