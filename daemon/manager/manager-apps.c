/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The active application rules. When they change, the holds of the new ones are made before those
 * of the old ones go, so that nothing is restored in between. Processes are those of the running
 * system; a described machine has none.
 */
#include "config/app.h"
#include "apps/apps.h"
#include "manager/manager-parts.h"

void manager_use_apps(Manager *manager)
{
        Apps *old = manager->apps;
        int error = apps_error(old);

        if (!manager->setup.live)
                return;
        manager->apps = apps_new(manager->event, manager->setup.root, manager->holds,
                                 manager->config->apps);
        apps_free(old);
        /* The listener may need unit events from now on. */
        manager_changed(manager,
                        CHANGE_CONFIG | (apps_error(manager->apps) != error ? CHANGE_MISSING : 0));
}

bool manager_apps_need_units(const Manager *manager)
{
        const GPtrArray *rules = manager->config->apps;

        for (guint i = 0; manager->apps && i < rules->len; i++)
                if (app_needs(g_ptr_array_index(rules, i)) & PROCESS_FACT_CGROUPS)
                        return true;
        return false;
}

void manager_units_came(Manager *manager)
{
        if (manager->apps)
                apps_rescan(manager->apps);
}
