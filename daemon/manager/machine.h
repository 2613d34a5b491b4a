/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The facts about the machine that policies use and that change only with its CPUs or drivers.
 */
#ifndef IDLED_MACHINE_H
#define IDLED_MACHINE_H

#include "act/actuator.h"
#include "model/topology.h"

/* Only machine.c changes it. */
typedef struct MachineFacts {
        int root;
        Topology *topology;
        bool needed; /* an active policy needs the facts */

        IdleTable *idle; /* by CPU number; NULL: no CPU has idle states, or they were not read */
        FreqPolicy
                *frequency; /* of cpufreq, n_frequency of them; NULL: none, or they were not read */
        int n_frequency;
        struct FreqReach *reach; /* the same */
} MachineFacts;

/* What keeps a cpufreq policy down, as it was in one turn of the loop. */
typedef struct FreqReach {
        uint64_t turn;  /* its number, from 1 on; 0: none yet */
        uint64_t khz;   /* scaling_max_freq; UINT64_MAX: it cannot be read */
        bool boost_off; /* boost could be on, and is off */
} FreqReach;

/* Reads the CPUs, but no facts. Negative errno. */
int machine_init(MachineFacts *machine, int root);
void machine_done(MachineFacts *machine);

/* Reads the CPUs again, of which idled has `parked` itself. 1: they changed, and those that came
 * are in `*ret_came`; 0: they did not; negative errno. */
int machine_rescan(MachineFacts *machine, const CpuSet *parked, CpuSet *ret_came);

/* Reads the facts if they are `needed`, and drops what was read before. */
void machine_read_facts(MachineFacts *machine, bool needed);

/* Whether the drivers differ from those of the last reading of the facts, which no event reports
 * reliably. Costs a few file reads. */
bool machine_drivers_changed(const MachineFacts *machine);

/* The facts, for actuators, with what holds request for units. */
ActFacts machine_facts(const MachineFacts *machine, const GPtrArray *unit_kinds);

/* What keeps cpufreq policy `i` of the table down; read once in a `turn` of the loop, however many
 * holds are reported in it. */
const FreqReach *machine_reach(const MachineFacts *machine, int i, uint64_t turn);

#endif
