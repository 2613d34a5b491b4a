/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions of the energy sensor that sensors.c needs in addition to its table.
 */
#ifndef IDLED_ENERGY_H
#define IDLED_ENERGY_H

#include "sense/sensor.h"

/* The domains of an open energy sensor; as long as it is open. Returns how many. */
int energy_domains(const void *state, const EnergyDomain **ret_domains);

/* The place of its source among all that there can be: 0 is the best. */
int energy_rank(const void *state);

#endif
