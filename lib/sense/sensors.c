/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All sensors of the machine: the table, opening them, and one reading.
 *
 * /proc/stat comes first and next to the clock, because all shares are fractions of the time
 * between two readings of it. Idle-state statistics come behind the residencies that they go
 * by.
 */
#include "sense/sensor.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "sense/energy.h"

#define SENSOR_ROW(name) &sensor_##name,

static const Sensor *const table[] = { SENSORS(SENSOR_ROW) };

struct Sensors {
        int root;
        unsigned have;
        void *states[G_N_ELEMENTS(table)]; /* NULL: not there, see errors */
        int errors[G_N_ELEMENTS(table)];
};

/* Opens one sensor again. If that fails, the open one stays: a sensor that lost its source fails
 * when it is read. */
static void sensor_open(Sensors *sensors, size_t i, const Topology *topology)
{
        void *state = NULL;
        int r = table[i]->open(sensors->root, topology, &state);

        if (r < 0) {
                if (!sensors->states[i])
                        sensors->errors[i] = r;
                return;
        }
        if (sensors->states[i])
                table[i]->close(sensors->states[i]);
        sensors->states[i] = state;
        sensors->errors[i] = 0;
        sensors->have |= table[i]->provides;
}

Sensors *sensors_new(int root, const Topology *topology)
{
        Sensors *sensors = g_new0(Sensors, 1);

        sensors->root = root;
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                sensor_open(sensors, i, topology);
        return sensors;
}

void sensors_free(Sensors *sensors)
{
        if (!sensors)
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                if (sensors->states[i])
                        table[i]->close(sensors->states[i]);
        g_free(sensors);
}

void sensors_rescan(Sensors *sensors, const Topology *topology)
{
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                if (!sensors->states[i] || table[i]->provides != SENSE_ENERGY)
                        sensor_open(sensors, i, topology);
}

void sensors_reopen(Sensors *sensors, Sense sense, const Topology *topology)
{
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                if (table[i]->provides == sense)
                        sensor_open(sensors, i, topology);
}

static size_t energy_row(void)
{
        size_t i = 0;

        while (table[i]->provides != SENSE_ENERGY)
                i++;
        return i;
}

bool sensors_improve_energy(Sensors *sensors, const Topology *topology)
{
        size_t i = energy_row();
        void *found, *open = sensors->states[i];

        if (table[i]->open(sensors->root, topology, &found) < 0)
                return false;
        if (open && energy_rank(found) >= energy_rank(open)) {
                table[i]->close(found);
                return false;
        }
        if (open)
                table[i]->close(open);
        sensors->states[i] = found;
        sensors->errors[i] = 0;
        sensors->have |= SENSE_ENERGY;
        return true;
}

bool sensors_may_improve_energy(const Sensors *sensors)
{
        const void *state = sensors->states[energy_row()];

        return !state || energy_rank(state) > 0;
}

unsigned sensors_have(const Sensors *sensors)
{
        return sensors->have;
}

int sensors_error(const Sensors *sensors, Sense sense)
{
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                if (table[i]->provides == sense)
                        return sensors->errors[i];
        return -EINVAL;
}

/* The time zone is the one of the last tzset(). */
static void read_clock(Counters *counters)
{
        struct timespec now;
        struct tm local;

        clock_gettime(CLOCK_REALTIME, &now);
        counters->real_usec = timespec_nsec(&now) / 1000;
        counters->utc_offset_sec = localtime_r(&now.tv_sec, &local) ? (int32_t)local.tm_gmtoff : 0;
}

int counters_read(Sensors *sensors, unsigned senses, Counters *counters)
{
        if (senses & SENSE_IDLE_STATISTICS)
                senses |= SENSE_RESIDENCY;
        counters->have = 0;
        counters->time_usec = clock_usec(CLOCK_MONOTONIC);
        read_clock(counters);
        for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
                bool always = table[i]->provides == SENSE_LOAD;
                int r;

                if (!always && !(senses & table[i]->provides))
                        continue;
                r = sensors->states[i] ? table[i]->read(sensors->states[i], counters)
                                       : sensors->errors[i];
                if (r < 0 && always)
                        return r;
        }
        return 0;
}

int sensors_energy_domains(const Sensors *sensors, const EnergyDomain **ret_domains)
{
        const void *state = sensors->states[energy_row()];

        *ret_domains = NULL;
        return state ? energy_domains(state, ret_domains) : 0;
}

uint64_t sensors_energy_deadline(const Sensors *sensors)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(sensors, &domains);
        uint64_t deadline = UINT64_MAX;

        /* 1 uJ / 1 W = 1 us */
        for (int i = 0; i < n; i++)
                if (domains[i].range_uj > 0 && domains[i].range_uj < ENERGY_RANGE_NONE)
                        deadline = MIN(deadline, (uint64_t)((double)domains[i].range_uj /
                                                            ENERGY_WATTS_SUSTAINED / 2));
        return deadline;
}
