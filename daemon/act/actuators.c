/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All actuators there are.
 */
#include "act/actuator.h"

const Actuator *const actuators[] = { &actuator_park, NULL };
