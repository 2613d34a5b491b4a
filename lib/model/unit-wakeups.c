/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of one unit's wake-ups, by what they were spent on.
 */
#include "model/unit-wakeups.h"

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
