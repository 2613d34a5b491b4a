/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of one unit's wake-ups, by what they were spent on.
 */
#include "model/unit-wakeups.h"

#include "model/cgroup-unit.h"

static void row_free(gpointer data)
{
        UnitWakeups *row = data;

        for (unsigned kind = 0; kind < WAKEUPS_KINDS; kind++)
                g_free(row->kinds[kind]);
        g_free(row->unit);
        g_free(row->cgroup);
        g_free(row->process);
        g_free(row);
}

GHashTable *unit_wakeups_new(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, row_free);
}

void unit_wakeups_add(GHashTable *rows, const char *cgroup, const char *process,
                      enum wakeup_kind kind, const WakeupDelays *delays)
{
        g_autofree char *key = g_strconcat(cgroup, "\n", process, NULL);
        UnitWakeups *row = g_hash_table_lookup(rows, key);

        if (!row) {
                row = g_new0(UnitWakeups, 1);
                row->cgroup = g_strdup(cgroup);
                row->unit = cgroup_unit_name(cgroup);
                row->process = *process ? g_strdup(process) : NULL;
                g_hash_table_insert(rows, g_steal_pointer(&key), row);
        }
        if (!row->kinds[kind])
                row->kinds[kind] = g_new0(WakeupDelays, 1);
        wakeups_merge(row->kinds[kind], delays);
}

void unit_wakeups_sum(const UnitWakeups *unit, unsigned first, unsigned last, WakeupDelays *ret_sum)
{
        WakeupDelays sum = { 0 };

        for (unsigned kind = first; kind <= last; kind++)
                if (unit->kinds[kind])
                        wakeups_merge(&sum, unit->kinds[kind]);
        *ret_sum = sum;
}
