/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All actuators there are.
 */
#include "act/actuator.h"

const Actuator *const actuators[] = { &actuator_park,
                                      &actuator_cpufreq,
                                      &actuator_cpuidle,
                                      &actuator_pmqos,
                                      &actuator_irq,
                                      &actuator_sysctl,
                                      NULL };
