/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of energy sources, as on D-Bus and in files. */
#include "model/energy-source.h"

const char *energy_source_text(EnergySource source)
{
        static const char *const texts[] = {
                "none", "rapl", "battery", "estimate", "scmi", "hwmon"
        };

        return texts[source];
}

const char *energy_source_title(EnergySource source)
{
        if (source == ENERGY_SOURCE_RAPL || source == ENERGY_SOURCE_SCMI)
                return source == ENERGY_SOURCE_RAPL ? "RAPL" : "SCMI";
        return energy_source_text(source);
}
