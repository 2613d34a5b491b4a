/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where joules come from. The daemon and idlectl take the first that there is: counters (RAPL,
 * hwmon), an estimate by a power table that was named, the battery (docs/evaluate.md).
 */
#ifndef IDLED_ENERGY_SOURCE_H
#define IDLED_ENERGY_SOURCE_H

#include <stdbool.h>

typedef enum EnergySource {
        ENERGY_SOURCE_NONE,
        ENERGY_SOURCE_RAPL,
        ENERGY_SOURCE_BATTERY,
        ENERGY_SOURCE_ESTIMATE,
        ENERGY_SOURCE_SCMI,
        ENERGY_SOURCE_HWMON,
} EnergySource;

/* True if it has counters. */
static inline bool energy_source_counts(EnergySource source)
{
        return source == ENERGY_SOURCE_RAPL || source == ENERGY_SOURCE_HWMON;
}

/* "rapl", static. */
const char *energy_source_text(EnergySource source);

/* The same for people: "RAPL". */
const char *energy_source_title(EnergySource source);

#endif
