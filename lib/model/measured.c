/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tables of measured properties and of their sources. A new number is a row here; HACKING.md
 * (Add a sensor) lists the other files.
 */
#include "model/measured.h"

#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <string.h>

const SenseSource sense_sources[] = {
        { SENSE_LOAD, NULL,
          "busy and idle time of each CPU, and the number of running tasks (_/proc/stat_)" },
        { SENSE_LOADAVG, "load averages", "load averages (_/proc/loadavg_)" },
        { SENSE_PRESSURE, "pressure", "CPU pressure (_/proc/pressure/cpu_)" },
        { SENSE_POWER, "battery", "power supplies (_/sys/class/power_supply_)" },
        { SENSE_RESIDENCY, "idle states",
          "on demand, statistics of idle states (_/sys/devices/system/cpu/cpuN/cpuidle_)" },
        { SENSE_ENERGY, "energy counters",
          "on demand, energy or power (_/sys/class/powercap_, _hwmon_, _power_supply_)" },
        { 0 },
};

const Measured measured_properties[] = {
        { .property = "LoadAverage",
          .signature = "(ddd)",
          .offset = offsetof(Snapshot, loadavg),
          .sense = SENSE_LOADAVG,
          .group = "load",
          .keys = { "load_average_1min", "load_average_5min", "load_average_15min" },
          .line = "Load",
          .before = "average ",
          .decimals = 2,
          .help = "The kernel's load averages over 1, 5 and 15 minutes." },
        { .property = "Running",
          .signature = "u",
          .offset = offsetof(Snapshot, running),
          .sense = SENSE_LOAD,
          .group = "load",
          .keys = { "running_tasks" },
          .line = "Load",
          .after = " running",
          .help = "Runnable tasks." },
        { .property = "Utilization",
          .signature = "d",
          .offset = offsetof(Snapshot, load),
          .sense = SENSE_LOAD,
          .mean = true,
          .per_cpu = true,
          .group = "load",
          .keys = { "utilization_percent" },
          .line = "Utilization",
          .after = "%",
          .decimals = 1,
          .help = "How many CPUs were busy on average, as a share of the online CPUs." },
        { .property = "Load",
          .signature = "d",
          .offset = offsetof(Snapshot, load),
          .sense = SENSE_LOAD,
          .mean = true,
          .group = "load",
          .keys = { "busy_cpus" },
          .line = "Utilization",
          .after = " CPUs",
          .decimals = 2,
          .help = "How many CPUs were busy on average." },
        { .property = "Pressure",
          .signature = "d",
          .offset = offsetof(Snapshot, pressure),
          .sense = SENSE_PRESSURE,
          .mean = true,
          .group = "load",
          .keys = { "pressure_percent" },
          .line = "Utilization",
          .before = "pressure ",
          .after = "%",
          .decimals = 1,
          .help = "Share of the time in which some task waited for a CPU. 0 on a kernel without "
                  "PSI." },
        { .property = "OnBattery",
          .signature = "b",
          .offset = offsetof(Snapshot, on_battery),
          .sense = SENSE_POWER,
          .group = "power",
          .keys = { "source" },
          .words = { "mains", "battery" },
          .line = "Power",
          .before = "on ",
          .help = "Whether the battery discharges." },
        { .property = "BatteryLevel",
          .signature = "d",
          .offset = offsetof(Snapshot, battery_level),
          .sense = SENSE_POWER,
          .group = "power",
          .keys = { "battery_percent" },
          .line = "Power",
          .before = "battery at ",
          .after = "%",
          .help = "How full the battery is; negative without a battery." },
        { .property = NULL },
};

const char *sense_missing_name(Sense sense)
{
        for (const SenseSource *source = sense_sources; source->sense; source++)
                if (source->sense == sense)
                        return source->name;
        return NULL;
}

const char *missing_reason(int error)
{
        switch (error) {
        case -ENOENT:
                return "this machine does not have it";
        case -EOPNOTSUPP:
                return "it is not usable here";
        case -ENOTCONN:
                return "it is not running";
        case -EINVAL:
                return "the kernel refuses it";
        default:
                return g_strerror(-error);
        }
}

const Measured *measured_find(const char *property)
{
        for (const Measured *row = measured_properties; row->property; row++)
                if (strcmp(row->property, property) == 0)
                        return row;
        return NULL;
}

unsigned measured_senses(void)
{
        unsigned senses = 0;

        for (const Measured *row = measured_properties; row->property; row++)
                senses |= row->sense;
        return senses;
}

int measured_numbers(const Measured *row, const Snapshot *snapshot, int n_online,
                     double ret_numbers[MEASURED_NUMBERS])
{
        const void *value = (const char *)snapshot + row->offset;

        switch (*row->signature) {
        case 'b':
                ret_numbers[0] = *(const bool *)value;
                return 1;
        case 'u':
                ret_numbers[0] = *(const unsigned *)value;
                return 1;
        case '(':
                memcpy(ret_numbers, value, sizeof(double) * MEASURED_NUMBERS);
                return MEASURED_NUMBERS;
        default:
                ret_numbers[0] = *(const double *)value;
                if (row->per_cpu)
                        ret_numbers[0] = n_online > 0 ? CLAMP(*ret_numbers / n_online, 0.0, 1.0)
                                                      : 0;
                return 1;
        }
}
