/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What it takes to hold CPUs to something, on a tree of 256 CPUs, each with a cpufreq policy of its
 * own, and here: for all CPUs at once, as a profile does when it is switched; for two of them, as a
 * hold does; and when nothing changes. The record of originals is kept, in memory as /run is.
 *
 * CPU time, medians. "first" finds the machine as it was and puts it on record, "switch"
 * changes what was changed before, "two" does so for two CPUs, "same" is an unchanged plan.
 */
#include "act/tune/tuning.h"
#include "bench.h"
#include "sense/frequency-read.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"

#define ROUNDS 15

static Machine machines[] = {
        { "256 CPUs", "gnr3", 5000, NULL },
};

static const Actuator *const three[] = { &actuator_cpufreq, &actuator_cpuidle, &actuator_pmqos };

typedef struct Bench {
        Topology *topology;
        IdleTable *idle;
        ActFacts facts;
        FreqPolicy *policies;
        CpuWish *wishes;
        Plan plan;
        Knobs *knobs;
        void *states[G_N_ELEMENTS(three)];
} Bench;

static double apply(Bench *b)
{
        double start = cpu_usec();

        for (size_t i = 0; i < G_N_ELEMENTS(three); i++)
                if (b->states[i] &&
                    three[i]->apply(b->states[i], b->knobs, &b->plan, &b->facts) < 0)
                        fprintf(stderr, "%s failed\n", three[i]->name);
        return cpu_usec() - start;
}

/* The limit that is switched: its name for people, and two requests to switch between. */
static const struct {
        const char *name;
        CpuWish wishes[2];
} switches[] = {
        { "latency",
          { { .latency_us = 100, .bias = -1, .boost = -1 },
            { .latency_us = 50, .bias = -1, .boost = -1 } } },
        { "EPP",
          { { .latency_us = -1, .bias = -1, .boost = -1, .preference = "power" },
            { .latency_us = -1, .bias = -1, .boost = -1, .preference = "performance" } } },
        { "EPP and latency",
          { { .latency_us = 100, .bias = -1, .boost = -1, .preference = "power" },
            { .latency_us = 50, .bias = -1, .boost = -1, .preference = "performance" } } },
        { "EPP, maximum, two states",
          { { .latency_us = -1,
              .bias = -1,
              .boost = -1,
              .preference = "power",
              .max_khz = 2000000,
              .disabled = 8 },
            { .latency_us = -1,
              .bias = -1,
              .boost = -1,
              .preference = "performance",
              .max_khz = 3000000,
              .disabled = 4 } } },
};

static void wish_for(Bench *b, int n_cpus, const CpuWish *wish)
{
        for (int cpu = 0; cpu < n_cpus; cpu++) {
                b->wishes[cpu] = *wish;
                b->wishes[cpu].preference = g_intern_string(wish->preference);
        }
}

static double median(double *rounds, size_t n)
{
        qsort(rounds, n, sizeof(rounds[0]), compare_doubles);
        return rounds[n / 2];
}

static void bench_switch(Bench *b, size_t which)
{
        double first[ROUNDS], change[ROUNDS], two[ROUNDS], same[ROUNDS];
        unsigned writes = 0;

        for (size_t i = 0; i < ROUNDS; i++) {
                plan_init(&b->plan, b->wishes, b->topology->n_cpus);
                apply(b);
                wish_for(b, b->topology->n_cpus, &switches[which].wishes[0]);
                first[i] = apply(b);
                wish_for(b, b->topology->n_cpus, &switches[which].wishes[1]);
                writes = knobs_writes(b->knobs);
                change[i] = apply(b);
                writes = knobs_writes(b->knobs) - writes;
                wish_for(b, 2, &switches[which].wishes[0]);
                two[i] = apply(b);
                same[i] = apply(b);
        }
        printf("%-26s %8u %9.0f %9.0f %9.0f %9.2f\n", switches[which].name, writes,
               median(first, ROUNDS), median(change, ROUNDS), median(two, ROUNDS),
               median(same, ROUNDS));
}

static void open_all(Bench *b, int root, int run)
{
        const ActContext context = { .root = root };
        const TuneOptions options = { .manage = true };
        int n = 0;

        b->knobs = knobs_new(&context, run, false);
        b->idle = g_new0(IdleTable, b->topology->n_cpus);
        for (int cpu = 0; cpu < b->topology->n_cpus; cpu++)
                b->idle[cpu].n_states = idle_states_read(root, cpu, b->idle[cpu].states);
        frequency_read(root, b->topology, &b->policies, &n);
        b->facts = (ActFacts){ b->topology, b->idle, b->policies, n };
        b->wishes = g_new(CpuWish, b->topology->n_cpus);
        for (size_t i = 0; i < G_N_ELEMENTS(three); i++)
                if (three[i]->open(&context, &options, &b->states[i]) < 0)
                        b->states[i] = NULL;
}

static void bench(const Machine *machine)
{
        _fd_ int root = root_open(machine->path);
        _fd_ int run = open(machine->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        Bench b = { 0 };

        if (root < 0 || topology_read(root, &b.topology) < 0)
                return;
        open_all(&b, root, run);
        printf("%s, at most %.0f us for a switch\n", machine->title, machine->target_usec);
        printf("%-26s %8s %9s %9s %9s %9s\n", "us", "writes", "first", "switch", "two", "same");
        for (size_t i = 0; i < G_N_ELEMENTS(switches); i++)
                bench_switch(&b, i);
}

int main(void)
{
        for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
                machine_build(&machines[i]);
                apart(bench, &machines[i]);
                machine_remove(&machines[i]);
        }
        return bench_status;
}
