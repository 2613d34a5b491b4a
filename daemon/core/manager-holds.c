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
#include "core/manager-parts.h"

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

const char *manager_hold_obstacle(const Manager *manager, const Held *held)
{
        if (manager->standby)
                return "another daemon owns the name org.idled1";
        if (manager_is_paused(manager))
                return "a client asked to leave the machine alone";
        if (manager->setup.dry_run)
                return "this is a dry run";
        if (!holds_hold(held)->profile && !manager_looks_at_holds(manager))
                return "no policy at work looks at holds";
        return NULL;
}
