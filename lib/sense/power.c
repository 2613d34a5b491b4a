/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Power: mains or battery, from sys/class/power_supply.
 *
 * Supplies are of three kinds: those that feed the machine from outside (Mains, USB, Wireless), its
 * batteries (Battery, UPS), and batteries of devices such as mice and headsets (scope "Device"),
 * which do not count. USB supplies come and go with their plugs, so the directory is listed each
 * time. A machine whose directory is empty has no such sensor.
 *
 * Many firmwares ask their embedded controller, which takes milliseconds and wakes a CPU by
 * interrupts. So values are kept for REFRESH_USEC.
 */
#include "sense/power.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sense/sensor.h"

#define DIRECTORY    "sys/class/power_supply"
#define REFRESH_USEC 5000000

typedef struct Power {
        int root;
        bool known;
        uint64_t time_usec; /* of the last refresh */
        bool on_battery;
        double battery_level;
} Power;

/* What the supplies seen so far add up to. */
typedef struct Supplies {
        int n, n_batteries, n_weighed;
        bool mains_online, discharging;
        double levels;              /* sum of fractions */
        double energy, energy_full; /* of the `n_weighed` batteries that report it */

        int n_present, n_counted;                   /* batteries; those that count what they hold */
        double joules, coulombs, coulombs_by_volts; /* in them */
} Supplies;

/* Any text of a supply's file; "" if it cannot be read. */
static void supply_text(int directory, const char *supply, const char *file, char *buffer,
                        size_t size)
{
        char path[320];
        int r;

        snprintf(path, sizeof(path), "%s/%s", supply, file);
        r = file_read_value(directory, path, buffer, size);
        if (r < 0)
                buffer[0] = '\0';
}

/* A number of a supply; false if there is none. */
static bool supply_number(int directory, const char *supply, const char *file, double *ret_value)
{
        char path[320];
        uint64_t value;

        snprintf(path, sizeof(path), "%s/%s", supply, file);
        if (file_read_u64(directory, path, &value) < 0)
                return false;
        *ret_value = (double)value;
        return true;
}

/* The counters of a battery, in units of 1e-6 Wh, Ah and V. */
static void count_battery(int directory, const char *supply, Supplies *supplies)
{
        double now, volts;

        supplies->n_present++;
        if (supply_number(directory, supply, "energy_now", &now)) {
                supplies->joules += now * 3600e-6;
        } else if (supply_number(directory, supply, "charge_now", &now) &&
                   supply_number(directory, supply, "voltage_now", &volts) && volts > 0) {
                supplies->coulombs += now * 3600e-6;
                supplies->coulombs_by_volts += now * 3600e-6 * volts / 1e6;
        } else {
                return;
        }
        supplies->n_counted++;
}

static void add_battery(int directory, const char *supply, Supplies *supplies)
{
        char status[32];
        double now, full, percent, present;

        if (supply_number(directory, supply, "present", &present) && present == 0)
                return;
        supply_text(directory, supply, "status", status, sizeof(status));
        if (strcmp(status, "Discharging") == 0)
                supplies->discharging = true;
        count_battery(directory, supply, supplies);

        if (supply_number(directory, supply, "energy_now", &now) &&
            supply_number(directory, supply, "energy_full", &full) && full > 0) {
                supplies->energy += MIN(now, full);
                supplies->energy_full += full;
                supplies->n_weighed++;
                supplies->levels += MIN(now / full, 1);
        } else if (supply_number(directory, supply, "capacity", &percent)) {
                supplies->levels += MIN(percent / 100, 1);
        } else if (supply_number(directory, supply, "charge_now", &now) &&
                   supply_number(directory, supply, "charge_full", &full) && full > 0) {
                supplies->levels += MIN(now / full, 1);
        } else {
                return;
        }
        supplies->n_batteries++;
}

static void add_supply(int directory, const char *supply, Supplies *supplies)
{
        char type[32], scope[32];
        double online;

        supply_text(directory, supply, "type", type, sizeof(type));
        supply_text(directory, supply, "scope", scope, sizeof(scope));
        if (!*type || strcmp(scope, "Device") == 0)
                return;
        supplies->n++;
        if (strcmp(type, "Battery") == 0 || strcmp(type, "UPS") == 0)
                add_battery(directory, supply, supplies);
        else if (supply_number(directory, supply, "online", &online) && online > 0)
                supplies->mains_online = true;
}

static int supplies_read(int root, Supplies *ret_supplies)
{
        _dir_ DIR *directory = dir_open(root, DIRECTORY);
        Supplies supplies = { 0 };
        struct dirent *entry;

        if (!directory)
                return -errno;
        while ((entry = readdir(directory)))
                if (entry->d_name[0] != '.')
                        add_supply(dirfd(directory), entry->d_name, &supplies);
        *ret_supplies = supplies;
        return 0;
}

static bool is_on_battery(const Supplies *supplies)
{
        return supplies->discharging && !supplies->mains_online;
}

int battery_read(int root, BatteryReading *ret_reading)
{
        Supplies supplies = { 0 };
        int r = supplies_read(root, &supplies);

        if (r < 0)
                return r;
        if (supplies.n_present == 0 || supplies.n_counted < supplies.n_present)
                return -ENODATA;
        *ret_reading = (BatteryReading){
                .n = supplies.n_present,
                .discharging = is_on_battery(&supplies),
                .joules = supplies.joules,
                .coulombs = supplies.coulombs,
                .volts = supplies.coulombs > 0 ? supplies.coulombs_by_volts / supplies.coulombs : 0,
        };
        return 0;
}

double battery_joules(const BatteryReading *before, const BatteryReading *after)
{
        double volts = (before->volts + after->volts) / 2;
        double joules = before->joules - after->joules +
                        (before->coulombs - after->coulombs) * volts;

        if (!before->discharging || !after->discharging || before->n != after->n ||
            joules < BATTERY_STEPS * BATTERY_STEP_JOULES)
                return NAN;
        return joules;
}

double battery_watts(BatteryMeter *meter, int root, uint64_t now_usec)
{
        BatteryReading now, before = meter->since;
        double seconds = (double)(now_usec - meter->since_usec) / 1e6, joules;

        if (battery_read(root, &now) < 0)
                return NAN;
        joules = meter->since_usec > 0 ? battery_joules(&before, &now) : NAN;
        if (isfinite(joules) || meter->since_usec == 0 || !before.discharging || !now.discharging ||
            before.n != now.n) {
                meter->since = now;
                meter->since_usec = now_usec;
        }
        return joules / seconds;
}

static int power_refresh(Power *power, uint64_t now_usec)
{
        Supplies supplies = { 0 };
        int r;

        r = supplies_read(power->root, &supplies);
        if (r < 0)
                return r;
        if (supplies.n == 0)
                return -ENOENT;
        power->on_battery = is_on_battery(&supplies);
        if (supplies.n_batteries == 0)
                power->battery_level = -1;
        else if (supplies.n_weighed == supplies.n_batteries)
                power->battery_level = supplies.energy / supplies.energy_full;
        else
                power->battery_level = supplies.levels / supplies.n_batteries;
        power->time_usec = now_usec;
        power->known = true;
        return 0;
}

static int power_open(int root, const Topology *topology, void **ret_state)
{
        g_autofree Power *power = g_new0(Power, 1);
        int r;

        power->root = root;
        r = power_refresh(power, 0);
        if (r < 0)
                return r;
        power->known = false;
        *ret_state = g_steal_pointer(&power);
        return 0;
}

static int power_read(void *state, Counters *counters)
{
        Power *power = state;
        int r;

        if (!power->known || counters->time_usec - power->time_usec >= REFRESH_USEC) {
                r = power_refresh(power, counters->time_usec);
                if (r < 0)
                        return r;
        }
        counters->on_battery = power->on_battery;
        counters->battery_level = power->battery_level;
        counters->have |= SENSE_POWER;
        return 0;
}

const Sensor sensor_power = {
        .provides = SENSE_POWER,
        .open = power_open,
        .read = power_read,
        .close = g_free,
};
