/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Application rules in effect: their life. The work is in the parts (apps-parts.h).
 */
#include "apps/apps.h"

#include <fcntl.h>

#include "apps/apps-parts.h"
#include "base/file.h"
#include "sense/users.h"

Apps *apps_new(sd_event *event, int root, Holds *holds, GPtrArray *rules)
{
        static const AppsCalls calls = { apps_check, apps_rescan, apps_first_or_last };
        Apps *apps = g_new0(Apps, 1);

        apps->calls = &calls;
        apps->event = sd_event_ref(event);
        apps->files = -1;
        apps->holds = holds;
        apps->rules = g_ptr_array_ref(rules);
        apps->users = users_read(root);
        apps->facts = g_new(ProcessFacts, 1);
        apps->followed = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
                                               (GDestroyNotify)g_ptr_array_unref);
        apps->holds_of = g_hash_table_new(NULL, NULL);
        apps->holds_of_rule = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        for (guint i = 0; i < rules->len; i++)
                apps->any_children |= ((const App *)rules->pdata[i])->options->children;
        apps->proc = rules->len > 0 ? openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (apps->proc < 0)
                return apps;
        apps->files = openat(apps->proc, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (apps->files < 0)
                apps->files = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        apps_listen(apps);
        apps_scan(apps);
        return apps;
}

void apps_free(Apps *apps)
{
        GHashTableIter iter;
        gpointer value;

        if (!apps)
                return;
        apps_unlisten(apps);
        sd_event_source_disable_unref(apps->scanning);
        scan_free(apps->scan);
        holds_defer(apps->holds, true);
        g_hash_table_iter_init(&iter, apps->followed);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                g_ptr_array_foreach(value, (GFunc)follow_free, apps->holds);
        g_hash_table_iter_init(&iter, apps->holds_of_rule);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const RuleHolds *rule = value;

                if (rule->lingering)
                        follow_free(rule->lingering, apps->holds);
        }
        holds_defer(apps->holds, false);
        g_hash_table_unref(apps->holds_of_rule);
        g_hash_table_unref(apps->followed);
        g_hash_table_unref(apps->holds_of);
        g_hash_table_unref(apps->users);
        g_ptr_array_unref(apps->rules);
        g_free(apps->facts);
        fd_close(&apps->proc);
        fd_close(&apps->files);
        sd_event_unref(apps->event);
        g_free(apps);
}

int apps_error(const Apps *apps)
{
        return apps ? apps->error : 0;
}
