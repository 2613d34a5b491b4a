/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A machine of files for one test, its sensors once they are opened, and what these read. */
#ifndef IDLED_TESTS_SENSORS_FIXTURE_H
#define IDLED_TESTS_SENSORS_FIXTURE_H

#include "sense.h"
#include "table.h"

static Tree tree;
static Topology topology;
static Sensors *sensors;
static Counters *counters;

static inline void sensors_begin(int n_cpus)
{
        tree = tree_make();
        topology = plain_topology(n_cpus);
        counters = counters_new(n_cpus);
}

static inline void open_sensors(void)
{
        sensors = sensors_new(tree.root, &topology);
}

static inline void sensors_end(void)
{
        sensors_free(sensors);
        counters_free(counters);
        tree_done(&tree);
}

#endif
