/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of one unit's wake-ups, by what they were spent on.
 */
#include "model/unit-wakeups.h"

#include "model/cgroup-unit.h"

GHashTable *unit_wakeups_index(void)
{
        return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

UnitWakeups *unit_wakeups_row(GPtrArray *rows, GHashTable *index, const char *cgroup,
                              const char *process)
{
        g_autofree char *key = g_strconcat(cgroup, "\n", process, NULL);
        UnitWakeups *row = g_hash_table_lookup(index, key);

        if (row)
                return row;
        row = g_new0(UnitWakeups, 1);
        row->cgroup = g_strdup(cgroup);
        row->unit = cgroup_unit_name(cgroup);
        row->process = *process ? g_strdup(process) : NULL;
        g_ptr_array_add(rows, row);
        g_hash_table_insert(index, g_steal_pointer(&key), row);
        return row;
}

void unit_wakeups_add(UnitWakeups *unit, enum wakeup_kind kind, const WakeupDelays *delays)
{
        if (!unit->kinds[kind])
                unit->kinds[kind] = g_new0(WakeupDelays, 1);
        wakeups_merge(unit->kinds[kind], delays);
}

void unit_wakeups_sum(const UnitWakeups *unit, unsigned first, unsigned last, WakeupDelays *ret_sum)
{
        WakeupDelays sum = { 0 };

        for (unsigned kind = first; kind <= last; kind++)
                if (unit->kinds[kind])
                        wakeups_merge(&sum, unit->kinds[kind]);
        *ret_sum = sum;
}

void unit_wakeups_free(UnitWakeups *unit)
{
        if (!unit)
                return;
        for (unsigned kind = 0; kind < WAKEUPS_KINDS; kind++)
                g_free(unit->kinds[kind]);
        g_free(unit->unit);
        g_free(unit->cgroup);
        g_free(unit->process);
        g_free(unit);
}
