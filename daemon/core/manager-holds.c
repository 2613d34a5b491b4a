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
                return manager_looks_at_holds(manager)
                               ? NULL
                               : g_strdup("no policy at work looks at holds");
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

/* Adds to `text` what cannot be done, and why, if it cannot. */
static void add_obstacle(GString *text, const Manager *manager, const char *what,
                         const Actuator *actuator, bool absent, const char *name)
{
        const TuneOptions *options = config_section(manager->config, actuator->section)->options;

        if (!absent && options->manage && is_open(manager, actuator))
                return;
        g_string_append_printf(text, "%s%s: ", text->len > 0 ? "; " : "", what);
        if (absent || options->manage)
                g_string_append_printf(text, "this machine has no %s", name);
        else
                g_string_append_printf(text, "Manage= of [%s] is no", actuator->section);
}

char *manager_hold_obstacle(const Manager *manager, const Held *held)
{
        const Hold *hold = holds_hold(held);
        char *whole = whole_obstacle(manager, held);
        GString *text;

        if (whole)
                return whole;
        text = g_string_new(NULL);
        if (hold->latency_us >= 0)
                add_obstacle(text, manager, "its latency cannot be kept", &actuator_pmqos, false,
                             "PM QoS");
        if (hold->min_khz > 0)
                add_obstacle(text, manager, "its frequency cannot be kept up", &actuator_cpufreq,
                             manager->n_frequency == 0, "cpufreq");
        return g_string_free(text, text->len == 0);
}
