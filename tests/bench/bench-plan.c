/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What making a plan safe costs: without pinned tasks; with a task bound to each CPU; and the worst
 * case, a task bound to each pair of CPUs, none of which the plan would keep active.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/plan.h"
#include "model/topology-build.h"

static double now_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static Topology *make(int n_cpus)
{
        g_autofree CpuFacts *facts = g_new(CpuFacts, n_cpus);
        CpuSet all = { 0 };

        cpuset_add_range(&all, 0, n_cpus - 1);
        for (int cpu = 0; cpu < n_cpus; cpu++)
                facts[cpu] = (CpuFacts){ .core_id = cpu / 2,
                                         .cluster_id = -1,
                                         .cache_id = -1,
                                         .core_first = -1,
                                         .cluster_first = -1,
                                         .die_first = -1,
                                         .package_first = -1 };
        return topology_build(n_cpus, facts, &all, &all, NULL, NULL);
}

/* The best of some rounds with a pin for every `width` CPUs; none if 0. */
static double measure(const Topology *topology, int width)
{
        Affinities affinities = { .n_sets = width ? topology->n_cpus / width : 0 };
        g_autofree CpuSet *sets = g_new0(CpuSet, affinities.n_sets + 1);
        double best = 1e9;

        affinities.sets = sets;
        for (int i = 0; i < affinities.n_sets; i++)
                cpuset_add_range(&sets[i], i * width, i * width + width - 1);
        for (int i = 0; i < 50; i++) {
                double start = now_usec();
                Plan plan;

                plan_init(&plan, NULL, 0);
                plan.allowed = (CpuSet){ .bits = { 1 } };
                plan_sanitize(&plan, topology, &(Dependents){ .tasks = &affinities }, NULL);
                best = MIN(best, now_usec() - start);
        }
        return best;
}

int main(void)
{
        static const int sizes[] = { 2, 16, 256, 576 };

        for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
                g_autoptr(Topology) topology = make(sizes[i]);

                printf("plan_sanitize: %3d CPUs, no affinities %.2f us, all pinned %.1f us, all "
                       "pairs "
                       "%.1f us\n",
                       sizes[i], measure(topology, 0), measure(topology, 1), measure(topology, 2));
        }
        return EXIT_SUCCESS;
}
