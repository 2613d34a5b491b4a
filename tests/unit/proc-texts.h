/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine of two CPUs, of which there is no more than the three texts of /proc.
 */
#ifndef IDLED_TESTS_PROC_TEXTS_H
#define IDLED_TESTS_PROC_TEXTS_H

#include "sensors-fixture.h"

static const char good_stat[] = "cpu  160 0 0 1840 0 0 0 0 0 0\n"
                                "cpu0 100 10 20 800 50 3 2 1 40 0\n"
                                "cpu1 0 0 0 990 10 0 0 0 0 0\n"
                                "intr 1319533 0 0 0 0 24\n"
                                "ctxt 3310634\n"
                                "btime 1795262335\n"
                                "processes 44296\n"
                                "procs_running 3\n"
                                "procs_blocked 2\n"
                                "softirq 955236 0 43341\n";
static const char good_loadavg[] = "2.65 1.72 0.09 3/114 11834\n";
static const char good_pressure[] = "some avg10=18.51 avg60=28.37 avg300=17.83 total=118605767\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

static inline void setup(void)
{
        sensors_begin(4);
        tree_put(&tree, "proc/stat", good_stat);
        tree_put(&tree, "proc/loadavg", good_loadavg);
        tree_put(&tree, "proc/pressure/cpu", good_pressure);
        open_sensors();
}

#define ALL (SENSE_LOAD | SENSE_LOADAVG | SENSE_PRESSURE)

#endif
