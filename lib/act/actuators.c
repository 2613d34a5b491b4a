/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All actuators there are.
 */
#include "act/actuator.h"

const Actuator *const actuators[] = { &actuator_kinds,   &actuator_park,     &actuator_cpufreq,
                                      &actuator_cpuidle, &actuator_pmqos,    &actuator_irq,
                                      &actuator_sysctl,  &actuator_platform, NULL };

const KnobKind **actuators_kinds(void)
{
        GPtrArray *kinds = g_ptr_array_new();

        for (int i = 0; actuators[i]; i++)
                for (int j = 0; actuators[i]->kinds[j]; j++)
                        g_ptr_array_add(kinds, (gpointer)actuators[i]->kinds[j]);
        for (int i = 0; kinds_for_one_release[i]; i++)
                g_ptr_array_add(kinds, (gpointer)kinds_for_one_release[i]);
        g_ptr_array_add(kinds, NULL);
        return (const KnobKind **)g_ptr_array_free(kinds, FALSE);
}
