/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading what cpufreq offers.
 */
#ifndef IDLED_FREQUENCY_READ_H
#define IDLED_FREQUENCY_READ_H

#include "model/frequency.h"
#include "model/topology.h"

/* Reads the cpufreq policies that have CPUs online, by number, as a new array. What a driver does
 * not report is empty or 0. -ENOENT: the machine has no cpufreq; else the error of listing
 * policies. A policy that vanishes meanwhile is left out. */
int frequency_read(int root, const Topology *topology, FreqPolicy **ret_policies, int *ret_n);

/* Frees what frequency_read() made; NULL is allowed. */
void frequency_free(FreqPolicy *policies, int n);

/* The current driver of one CPU that has a policy, into `driver`; "" if there is none. Cheap.
 * Another driver offers other governors, and no event reports the change. */
void frequency_read_driver(int root, const Topology *topology, char driver[32]);

#endif
