/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The meter of a block: energy, work, waiting and power between a beginning and an end.
 *
 * Energy comes from RAPL, or where that cannot be read from the idle states and a power table, or
 * from the battery (sense/power.h), which needs long blocks. Work is what sense/work-meter.h
 * counts. Reading wakes no CPU but those that RAPL needs (watch.h).
 */
#ifndef IDLED_METER_H
#define IDLED_METER_H

#include "config/power-table.h"
#include "model/block.h"
#include "model/energy-source.h"
#include "sense/work-meter.h"
#include "cli/watch.h"

/* No longer than this between two readings: clocks change. */
#define METER_USEC (1000 * 1000)

typedef struct Meter Meter;

typedef struct MeterReading {
        Block block;  /* work in meter_unit(); joules NAN: they could not be read throughout, or the
                         battery lost too little */
        bool hotplug; /* CPUs came or went */
        bool slept;   /* the machine did */
} MeterReading;

/* Looks for RAPL, and takes `table`, which stays the caller's and may be NULL, where there is none,
 * and without a table the battery. -ENODATA: there is nothing; else the machine cannot be read. */
int meter_new(int root, const PowerTable *table, Meter **ret_meter);
void meter_free(Meter *meter);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Meter, meter_free)

/* What energy comes from; not ENERGY_SOURCE_NONE. */
EnergySource meter_source(const Meter *meter);

/* What work is counted in, unless a command's is: WORK_SWITCHES where clocks cannot be read. */
WorkUnit meter_unit(const Meter *meter);

/* False while it comes from a battery that does not discharge. */
bool meter_discharges(const Meter *meter);

/* Begins a block. */
void meter_begin(Meter *meter);

/* When to read next, in microseconds from now. */
uint64_t meter_interval(const Meter *meter);

/* Reads once more in the block. */
void meter_read(Meter *meter);

/* Ends the block: reads once more, and returns what was measured since meter_begin(). */
MeterReading meter_end(Meter *meter);

#endif
