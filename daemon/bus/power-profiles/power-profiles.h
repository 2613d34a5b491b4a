/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bus names that clients of power-profiles-daemon use, for bus_serve().
 */
#ifndef IDLED_POWER_PROFILES_H
#define IDLED_POWER_PROFILES_H

#include "bus/bus.h"

extern const BusNames power_profiles_names;

#endif
