/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names that power-profiles-daemon's clients speak to, for bus_serve().
 */
#ifndef IDLED_POWER_PROFILES_H
#define IDLED_POWER_PROFILES_H

#include "bus/bus.h"

extern const BusNames power_profiles_names;

#endif
