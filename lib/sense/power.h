/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The energy that the batteries of the machine have lost.
 *
 * Batteries report in steps, often of 10 mWh or 1 mAh every few seconds. Only
 * readings that are many steps apart show what was drawn. The sensor of power (SENSE_POWER) has the
 * state of charge. These functions read the counters now, which asks the embedded controller.
 */
#ifndef IDLED_POWER_H
#define IDLED_POWER_H

#include <stdbool.h>
#include <stdint.h>

/* 10 mWh; a battery with finer steps is taken to have these. */
#define BATTERY_STEP_JOULES 36.0

/* Fewer steps between two readings are not precise enough: the error is up to 5 %. */
#define BATTERY_STEPS 20

typedef struct BatteryReading {
        int n;            /* batteries */
        bool discharging; /* as Snapshot.on_battery */
        double joules;    /* in those that count energy */
        double coulombs;  /* in those that count charge */
        double volts;     /* mean of those, weighted by charge; 0: none counts charge */
} BatteryReading;

/* Reads all batteries but those of devices. -ENODATA: there is none, or one has no counter;
 * else negative errno. */
int battery_read(int root, BatteryReading *ret_reading);

/* Joules that the machine drew from its batteries between two readings. NaN: it did not discharge
 * at both, a battery came or went, charge grew, or fewer than BATTERY_STEPS passed. */
double battery_joules(const BatteryReading *before, const BatteryReading *after);

/* Since when the battery is measured; starts zeroed. */
typedef struct BatteryMeter {
        BatteryReading since;
        uint64_t since_usec; /* 0: never */
} BatteryMeter;

/* Mean watts since battery_watts() last returned any, which is since BATTERY_STEPS or more; NaN:
 * not yet, or the battery cannot be read or does not discharge. `now_usec` is CLOCK_BOOTTIME, not
 * 0. */
double battery_watts(BatteryMeter *meter, int root, uint64_t now_usec);

#endif
