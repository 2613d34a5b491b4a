/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Readings for queries: status, properties, totals since the start.
 *
 * They are kept apart from the policies' readings, whose intervals decide. They are also kept apart
 * from each other: idle states cost two to five files per CPU and state, and a client that asks for
 * the load must not pay for them. Fine-grained energy is a side channel, so energy is averaged over
 * at least a second.
 */
#include "manager/observers.h"

#include <glib.h>

#include "base/log.h"
#include "model/measured.h"

/* Readings of one kind that are made only on a query. */
typedef struct Observer {
        unsigned senses;
        uint64_t min_interval_usec; /* asked again sooner, the last answer is given */
        Readings readings;
} Observer;

enum { OBSERVE_LOAD, OBSERVE_RESIDENCY, OBSERVE_ENERGY, OBSERVERS };

struct Observers {
        Sensors *sensors;
        Observer kinds[OBSERVERS];
        GArray *energy;       /* of EnergyTotal, by energy domain */
        CpuTotal *totals;     /* by CPU number */
        double pressure_usec; /* in which some task waited for a CPU, since the start */
};

static const struct {
        unsigned senses;
        uint64_t min_interval_usec;
} kinds[OBSERVERS] = {
        [OBSERVE_LOAD] = { 0, 100000 }, /* all that measured.c shows */
        [OBSERVE_RESIDENCY] = { SENSE_LOAD | SENSE_RESIDENCY | SENSE_IDLE_STATISTICS, 100000 },
        [OBSERVE_ENERGY] = { SENSE_LOAD | SENSE_ENERGY, OBSERVERS_ENERGY_USEC },
};

/* /proc/stat counts in steps of 10 ms: a query gets no interval if it comes so soon after the start
 * that the first one would be shorter than two of them. */
#define FIRST_INTERVAL_USEC 20000

/* True if the last answer is given again. The first reading has no interval, so it stands for a
 * shorter time; but not for energy, which no client may see at a finer grain than the mean of a
 * second. */
static bool is_fresh(const Observer *o)
{
        uint64_t age = (uint64_t)g_get_monotonic_time() - o->readings.current->time_usec;
        bool first = o->readings.seen->interval_usec == 0 && !(o->senses & SENSE_ENERGY);

        if (o->readings.current->time_usec == 0)
                return false;
        return age < (first ? FIRST_INTERVAL_USEC : o->min_interval_usec);
}

static void add_energy(Observers *observers, const Snapshot *snapshot)
{
        for (int i = 0; i < snapshot->n_energy; i++) {
                EnergyTotal *total;

                if ((guint)i >= observers->energy->len)
                        g_array_set_size(observers->energy, (guint)i + 1);
                total = &g_array_index(observers->energy, EnergyTotal, i);
                if (snapshot->energy[i].valid)
                        total->joules += snapshot->energy[i].joules;
                else if (snapshot->interval_usec)
                        total->dropped++;
        }
}

static void add_load(Observers *observers, const Snapshot *snapshot)
{
        double interval = (double)snapshot->interval_usec;

        CPUSET_FOREACH(cpu, &snapshot->cpus)
                observers->totals[cpu].busy_usec += (double)snapshot->busy[cpu] * interval;
        observers->pressure_usec += snapshot->pressure * interval;
}

static void add_residency(Observers *observers, const Snapshot *snapshot)
{
        double interval = (double)snapshot->interval_usec;

        if (!snapshot->residency)
                return;
        CPUSET_FOREACH(cpu, &snapshot->cpus) {
                const Residency *row = &snapshot->residency[cpu];
                CpuTotal *total = &observers->totals[cpu];

                for (int s = 0; s < row->n_states; s++) {
                        total->idle_usec[s] += (double)row->share[s] * interval;
                        total->entered[s] += row->entered[s];
                        total->above[s] += row->above[s];
                        total->below[s] += row->below[s];
                        total->rejected[s] += row->rejected[s];
                }
        }
}

const Snapshot *observers_read(Observers *observers, unsigned senses)
{
        int kind = senses & SENSE_ENERGY      ? OBSERVE_ENERGY
                   : senses & SENSE_RESIDENCY ? OBSERVE_RESIDENCY
                                              : OBSERVE_LOAD;
        Observer *o = &observers->kinds[kind];
        int r;

        if (is_fresh(o))
                return o->readings.seen;
        r = readings_read(&o->readings, observers->sensors, o->senses);
        if (r < 0) {
                log_debug("Failed to read the load: %s", g_strerror(-r));
                return NULL;
        }
        if (kind == OBSERVE_ENERGY)
                add_energy(observers, o->readings.seen);
        else if (kind == OBSERVE_RESIDENCY)
                add_residency(observers, o->readings.seen);
        else
                add_load(observers, o->readings.seen);
        return o->readings.seen;
}

Observers *observers_new(Sensors *sensors, int n_cpus)
{
        Observers *observers = g_new0(Observers, 1);

        observers->sensors = sensors;
        observers->totals = g_new0(CpuTotal, (gsize)n_cpus);
        observers->energy = g_array_new(FALSE, TRUE, sizeof(EnergyTotal));
        for (int i = 0; i < OBSERVERS; i++) {
                Observer *o = &observers->kinds[i];

                o->senses = i == OBSERVE_LOAD ? measured_senses() : kinds[i].senses;
                o->min_interval_usec = kinds[i].min_interval_usec;
                readings_init(&o->readings, n_cpus);
                observers_read(observers, o->senses);
        }
        return observers;
}

void observers_free(Observers *observers)
{
        if (!observers)
                return;
        for (int i = 0; i < OBSERVERS; i++)
                readings_done(&observers->kinds[i].readings);
        g_free(observers->totals);
        g_array_unref(observers->energy);
        g_free(observers);
}

const CpuTotal *observers_cpu(const Observers *observers, int cpu)
{
        return &observers->totals[cpu];
}

EnergyTotal observers_energy(const Observers *observers, int domain)
{
        if ((guint)domain >= observers->energy->len)
                return (EnergyTotal){ 0 };
        return g_array_index(observers->energy, EnergyTotal, domain);
}

void observers_forget_energy(Observers *observers)
{
        g_array_set_size(observers->energy, 0);
        readings_forget(&observers->kinds[OBSERVE_ENERGY].readings);
        observers_read(observers, SENSE_ENERGY);
}

double observers_pressure_usec(const Observers *observers)
{
        return observers->pressure_usec;
}
