/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of energy sources, as on D-Bus and in files. */
#include "stats/energy-source.h"

const char *energy_source_text(EnergySource source)
{
        static const char *const texts[] = { "none", "rapl", "battery", "estimate" };

        return texts[source];
}
