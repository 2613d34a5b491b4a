/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The work that the machine does, for trials and idlelab prove.
 *
 *  1. Busy time of all cores, each second counted by the clock that the core had: seconds of the
 *     fastest CPU at its highest clock. In blocks it is the time of tasks (sense/task-time.h).
 *  2. Where cpufreq does not say the clock, context switches, because busy time without a clock is
 *     not work: parking changes clocks.
 *
 * Instructions are not among them. The kernel reads a counter of another CPU by interrupting that
 * CPU, which wakes it. A BPF program could only copy the counter at each sleep of each CPU.
 */
#ifndef IDLED_WORK_METER_H
#define IDLED_WORK_METER_H

#include "model/block.h"
#include "model/snapshot.h"
#include "model/topology.h"
#include "model/work-unit.h"
#include "sense/task-time.h"

/* What is known of a core's clock, at the number of its first CPU. */
typedef struct CoreClock {
        float sum;  /* of the shares of the highest clock that were read in this interval */
        unsigned n; /* of these */
        float last; /* their mean in the interval before; 0: none was ever read */
} CoreClock;

typedef struct WorkMeter {
        WorkUnit unit;
        CoreClock clocks[CPUSET_MAX];
        uint64_t read_usec; /* when clocks were read last */
} WorkMeter;

/* Finds out the unit; true if it is another than before. */
bool work_meter_choose(WorkMeter *meter, int root, const Topology *topology);

/* Reads the clocks of the cores that were busy in the snapshot's interval, and has them count for
 * the mean. Unless a `block` is measured they are not read more often than each ten seconds. */
void work_meter_read(WorkMeter *meter, int root, const Topology *topology, const Snapshot *snapshot,
                     bool block);

/* Work per second in the snapshot's interval, in `unit`, by the mean clocks; until they are read,
 * those of the interval before. */
double work_meter_rate(const WorkMeter *meter, const Topology *topology, const Snapshot *snapshot);

/* Adds the snapshot's interval, which `tasks` has read, too, to all but the energy of a block: work
 * by the time of tasks if that is known, and load by busy time. Reads clocks, whose mean begins
 * again after it. */
void work_meter_add(WorkMeter *meter, int root, const Topology *topology, const Snapshot *snapshot,
                    const TaskTime *tasks, Block *block);

/* A frequency in kHz that this file of cpufreq has; NaN where there is none. Reading wakes no
 * sleeping CPU. */
double cpufreq_khz(int root, int cpu, const char *file);

#endif
