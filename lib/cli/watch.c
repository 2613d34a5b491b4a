/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching.
 */
#include "cli/watch.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sense/topology-read.h"

/* Energy over less than a second reveals what other processes compute, and reading it wakes a CPU
 * of each package. */
#define ENERGY_USEC (900 * 1000) /* a second, that may be short when a sample was late */

typedef struct WatchParts {
        Readings time, energy;
} WatchParts;

/* Where `name` is in the states; it is added, behind all that leave no slower, if it is not there.
 * -1: no room. */
static int state_index(Watch *watch, uint32_t *latencies, const IdleState *state)
{
        int at = watch->n_states;

        for (int i = 0; i < watch->n_states; i++)
                if (strcmp(watch->states[i], state->name) == 0)
                        return i;
        if (watch->n_states == WATCH_STATES_MAX)
                return -1;
        for (; at > 0 && latencies[at - 1] > state->exit_latency_us; at--) {
                watch->states[at] = watch->states[at - 1];
                latencies[at] = latencies[at - 1];
        }
        watch->states[at] = g_strdup(state->name);
        latencies[at] = state->exit_latency_us;
        watch->n_states++;
        return at;
}

static void read_states(Watch *watch)
{
        uint32_t latencies[WATCH_STATES_MAX] = { 0 };
        int n_cpus = watch->topology->n_cpus;

        for (int i = 0; i < watch->n_states; i++)
                g_clear_pointer(&watch->states[i], g_free);
        watch->n_states = 0;
        /* Twice, because a state that is added may move others. */
        for (int pass = 0; pass < 2; pass++) {
                memset(watch->state_of, -1, (size_t)n_cpus * IDLE_STATES_MAX);
                CPUSET_FOREACH(cpu, &watch->topology->online) {
                        IdleState table[IDLE_STATES_MAX];
                        int n = idle_states_read(watch->root, cpu, table);

                        for (int s = 0; s < n; s++)
                                watch->state_of[cpu * IDLE_STATES_MAX + s] = (int8_t)state_index(
                                        watch, latencies, &table[s]);
                }
        }
        if (watch->n_states == 0)
                watch->states[watch->n_states++] = g_strdup(WATCH_IDLE);
        watch->states[watch->n_states] = NULL;
}

static void make_packages(Watch *watch)
{
        size_t n = (size_t)MAX(watch->topology->n_packages, 1);
        double **arrays[] = { &watch->package_watts, &watch->core_watts, &watch->dram_watts };

        for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++) {
                g_free(*arrays[i]);
                *arrays[i] = g_new(double, n);
                for (size_t p = 0; p < n; p++)
                        (*arrays[i])[p] = NAN;
        }
}

/* Finds counters of packages, which all verbs are about. */
static void find_energy(Watch *watch)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(watch->sensors, &domains);

        watch->energy_error = sensors_error(watch->sensors, SENSE_ENERGY) ?: -ENOENT;
        for (int i = 0; i < n; i++)
                if (domains[i].package) {
                        watch->energy_error = 0;
                        watch->energy_source = domains[i].source;
                }
}

int watch_new(int root, Watch **ret_watch)
{
        Topology *topology;
        Watch *watch;
        int r = topology_read(root, &topology);

        if (r < 0)
                return r;
        watch = g_new0(Watch, 1);
        watch->root = root;
        watch->topology = topology;
        watch->sensors = sensors_new(root, topology);
        find_energy(watch);
        watch->parts = g_new0(WatchParts, 1);
        readings_init(&watch->parts->time, topology->n_cpus);
        readings_init(&watch->parts->energy, topology->n_cpus);
        watch->seen = watch->parts->time.seen;
        watch->state_of = g_new(int8_t, (gsize)topology->n_cpus * IDLE_STATES_MAX);
        read_states(watch);
        make_packages(watch);
        *ret_watch = watch;
        return 0;
}

void watch_free(Watch *watch)
{
        if (!watch)
                return;
        for (int i = 0; i < watch->n_states; i++)
                g_free(watch->states[i]);
        readings_done(&watch->parts->time);
        readings_done(&watch->parts->energy);
        g_free(watch->parts);
        g_free(watch->state_of);
        g_free(watch->package_watts);
        g_free(watch->core_watts);
        g_free(watch->dram_watts);
        sensors_free(watch->sensors);
        topology_free(watch->topology);
        g_free(watch);
}

/* CPUs came or went: their places, and what their states are called. */
static void read_again(Watch *watch)
{
        Topology *topology;

        if (topology_read(watch->root, &topology) < 0)
                return;
        if (topology->n_cpus != watch->topology->n_cpus) { /* not while the kernel runs */
                topology_free(topology);
                return;
        }
        topology_free(watch->topology);
        watch->topology = topology;
        sensors_rescan(watch->sensors, topology);
        read_states(watch);
        make_packages(watch);
}

static void sum_domains(Watch *watch)
{
        const Snapshot *seen = watch->parts->energy.seen;
        const EnergyDomain *domains;
        int n = MIN(sensors_energy_domains(watch->sensors, &domains), seen->n_energy);
        const struct {
                const char *part;
                double **watts, *joules;
        } parts[] = { { "", &watch->package_watts, &watch->package_joules },
                      { "-core", &watch->core_watts, &watch->core_joules },
                      { "-dram", &watch->dram_watts, &watch->dram_joules } };

        make_packages(watch);
        for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++)
                for (int p = 0; p < watch->topology->n_packages; p++) {
                        EnergyUse use = energy_of_package(domains, n, seen->energy, p,
                                                          parts[i].part);

                        (*parts[i].watts)[p] = use.valid ? use.watts : NAN;
                        *parts[i].joules += use.joules;
                }
}

void watch_energy(Watch *watch)
{
        Readings *energy = &watch->parts->energy;
        uint64_t now = (uint64_t)g_get_monotonic_time();

        if (watch->energy_error < 0 || now - energy->current->time_usec < ENERGY_USEC)
                return;
        if (readings_read(energy, watch->sensors, SENSE_ENERGY) < 0 ||
            energy->seen->interval_usec == 0)
                return;
        watch->energy_usec = energy->seen->time_usec;
        sum_domains(watch);
}

int watch_sample(Watch *watch, unsigned senses, bool energy)
{
        Readings *time = &watch->parts->time;
        int r = readings_read(time, watch->sensors, senses);

        if (r < 0)
                return r;
        if (watch->seen->interval_usec > 0 &&
            !cpuset_equal(&time->previous->cpus, &time->current->cpus))
                read_again(watch);
        if (energy)
                watch_energy(watch);
        return 0;
}

int watch_begin(Watch *watch, unsigned senses, bool energy)
{
        readings_forget(&watch->parts->time);
        watch->package_joules = watch->core_joules = watch->dram_joules = 0;
        if (energy)
                readings_forget(&watch->parts->energy);
        return watch_sample(watch, senses, energy);
}

int watch_shares(const Watch *watch, const CpuSet *cpus, double *shares, bool *ret_estimated)
{
        const Snapshot *seen = watch->seen;
        bool estimated = false;
        int n = 0;

        memset(shares, 0, sizeof(*shares) * (size_t)(watch->n_states + 1));
        CPUSET_FOREACH(cpu, cpus) {
                const Residency *row;

                if (!cpuset_has(&seen->cpus, cpu))
                        continue;
                n++;
                shares[0] += (double)seen->busy[cpu];
                row = seen->residency ? &seen->residency[cpu] : NULL;
                estimated |= row && row->estimated >= 0;
                if (!row || row->n_states <= 0) { /* in which state is not known */
                        shares[watch->n_states] += 1 - (double)seen->busy[cpu];
                        continue;
                }
                for (int s = 0; s < row->n_states; s++) {
                        int at = watch->state_of[cpu * IDLE_STATES_MAX + s];

                        if (at >= 0)
                                shares[at + 1] += (double)row->share[s];
                }
        }
        for (int i = 0; i <= watch->n_states && n > 0; i++)
                shares[i] /= n;
        if (ret_estimated)
                *ret_estimated = estimated;
        return n;
}

CpuSet watch_package(const Watch *watch, int package)
{
        CpuSet cpus = { 0 };

        CPUSET_FOREACH(cpu, &watch->topology->online)
                if (watch->topology->cpus[cpu].package == package)
                        cpuset_add(&cpus, cpu);
        return cpus;
}

const char *watch_energy_problem(const Watch *watch)
{
        return watch->energy_error == -EACCES || watch->energy_error == -EPERM
                       ? "only root may read the energy counters"
               : watch->energy_error == -ENOENT ? "this machine does not have energy counters"
               : watch->energy_error < 0        ? g_strerror(-watch->energy_error)
                                                : "the counters did not change";
}
