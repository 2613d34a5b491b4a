/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What all parts report: that something changed, and that it is time for a tick.
 */
#include "manager/manager-parts.h"

void manager_changed(Manager *manager, unsigned changes)
{
        manager_record_changes(manager, changes);
        if (changes && manager->on_change)
                manager->on_change(manager, changes, manager->userdata);
}

void manager_groups_changed(Manager *manager)
{
        manager->stale = true;
        manager_wake(manager);
}

void manager_wake(Manager *manager)
{
        tick_timer_soon(manager->timer);
}

void manager_settle_later(Manager *manager)
{
        if (manager->quiet_timer)
                timer_set_in(manager->quiet_timer, QUIET_USEC);
}
