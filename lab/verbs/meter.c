/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The meter.
 */
#include "meter.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "cli/price.h"
#include "sense/power.h"

#define SENSES (SENSE_RESIDENCY | SENSE_PRESSURE)

/* Clocks that count and do not count sleep may be read this far apart. */
#define SLEPT_USEC 100000

struct Meter {
        Watch *watch;
        EnergySource source;
        const PowerTable *table; /* of an estimate */
        BatteryReading battery;  /* when the block began */
        TaskTime *tasks;         /* in the interval of watch->seen */
        WorkMeter work;
        Readings energy;
        uint64_t asleep_usec; /* how long the machine had slept when the block began */
        CpuSet online;
        MeterReading sum;
};

/* How long the machine has slept since boot. */
static uint64_t asleep(void)
{
        uint64_t awake = clock_usec(CLOCK_MONOTONIC);

        return clock_usec(CLOCK_BOOTTIME) - awake;
}

static int read_energy(Meter *meter)
{
        return readings_read(&meter->energy, meter->watch->sensors, SENSE_ENERGY);
}

/* True if some package's counter could be read the last time. */
static bool has_packages(const Meter *meter)
{
        const Counters *last = meter->energy.current;

        for (int i = 0; i < last->n_energy && last->have & SENSE_ENERGY; i++)
                if (last->energy[i].package && last->energy[i].valid)
                        return true;
        return false;
}

int meter_new(int root, const PowerTable *table, Meter **ret_meter)
{
        g_autoptr(Meter) meter = g_new0(Meter, 1);
        int r = watch_new(root, &meter->watch);

        if (r < 0)
                return r;
        readings_init(&meter->energy, meter->watch->topology->n_cpus);
        meter->tasks = task_time_new(meter->watch->topology->n_cpus);
        work_meter_choose(&meter->work, root, meter->watch->topology);
        r = read_energy(meter);
        if (r < 0)
                return r;
        meter->table = table;
        meter->source = has_packages(meter)                        ? meter->watch->energy_source
                        : table                                    ? ENERGY_SOURCE_ESTIMATE
                        : battery_read(root, &meter->battery) == 0 ? ENERGY_SOURCE_BATTERY
                                                                   : ENERGY_SOURCE_NONE;
        if (meter->source == ENERGY_SOURCE_NONE)
                return -ENODATA;
        *ret_meter = g_steal_pointer(&meter);
        return 0;
}

void meter_free(Meter *meter)
{
        if (!meter)
                return;
        if (meter->watch)
                readings_done(&meter->energy);
        watch_free(meter->watch);
        task_time_free(meter->tasks);
        g_free(meter);
}

EnergySource meter_source(const Meter *meter)
{
        return meter->source;
}

bool meter_discharges(const Meter *meter)
{
        BatteryReading now;

        return meter->source != ENERGY_SOURCE_BATTERY ||
               (battery_read(meter->watch->root, &now) == 0 && now.discharging);
}

uint64_t meter_interval(const Meter *meter)
{
        return MIN((uint64_t)METER_USEC, sensors_energy_deadline(meter->watch->sensors));
}

void meter_begin(Meter *meter)
{
        meter->sum = (MeterReading){ 0 };
        watch_begin(meter->watch, SENSES, false);
        task_time_read(meter->tasks, meter->watch->root, meter->watch->seen);
        meter->asleep_usec = asleep();
        meter->online = meter->watch->topology->online;
        if (energy_source_counts(meter->source) && read_energy(meter) < 0)
                meter->sum.block.joules = NAN;
        if (meter->source == ENERGY_SOURCE_BATTERY &&
            battery_read(meter->watch->root, &meter->battery) < 0)
                meter->sum.block.joules = NAN;
}

WorkUnit meter_unit(const Meter *meter)
{
        return meter->work.unit;
}

void meter_read(Meter *meter)
{
        const Topology *topology = meter->watch->topology;
        const Snapshot *seen = meter->watch->seen;
        MeterReading *sum = &meter->sum;

        if (watch_sample(meter->watch, SENSES, false) < 0) {
                sum->block.joules = NAN;
                return;
        }
        task_time_read(meter->tasks, meter->watch->root, seen);
        if (meter->source == ENERGY_SOURCE_ESTIMATE)
                sum->block.joules += estimate_watts(meter->table, meter->watch) *
                                     (double)seen->interval_usec / G_USEC_PER_SEC;
        else if (energy_source_counts(meter->source))
                sum->block.joules += read_energy(meter) < 0
                                             ? NAN
                                             : snapshot_package_joules(meter->energy.seen);
        work_meter_add(&meter->work, meter->watch->root, topology, seen, meter->tasks, &sum->block);
        sum->hotplug |= !cpuset_equal(&meter->online, &topology->online) ||
                        !cpuset_is_subset(&meter->online, &seen->cpus);
        sum->slept = asleep() > meter->asleep_usec + SLEPT_USEC;
}

MeterReading meter_end(Meter *meter)
{
        BatteryReading now;

        meter_read(meter);
        if (meter->source == ENERGY_SOURCE_BATTERY)
                meter->sum.block.joules += battery_read(meter->watch->root, &now) < 0
                                                   ? NAN
                                                   : battery_joules(&meter->battery, &now);
        return meter->sum;
}
