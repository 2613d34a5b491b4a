/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds at work.
 *
 * A hold that comes or goes is acted upon before the client has its answer: the policies that look
 * at holds are asked again, and what changed is put in force. Nothing has to be read for that, and
 * knobs that have nothing to do with it are not touched.
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
