/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where joules come from. The daemon and idlectl take the first that there is: RAPL, an estimate by
 * a power table that was named, the battery (docs/evaluate.md).
 */
#ifndef IDLED_ENERGY_SOURCE_H
#define IDLED_ENERGY_SOURCE_H

typedef enum EnergySource {
        ENERGY_SOURCE_NONE,
        ENERGY_SOURCE_RAPL,
        ENERGY_SOURCE_BATTERY,
        ENERGY_SOURCE_ESTIMATE,
} EnergySource;

/* "rapl", static. */
const char *energy_source_text(EnergySource source);

#endif
