/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans for random machines, requests and pinned tasks: each keeps all that plan.h promises. */
#include "machine.h"
#include "model/plan.h"
#include "table.h"

static CpuSet random_set(GRand *rand, int n_cpus, double density)
{
        CpuSet set = { 0 };

        for (int cpu = 0; cpu < n_cpus; cpu++)
                if (g_rand_double(rand) < density)
                        cpuset_add(&set, cpu);
        return set;
}

static Topology *random_machine(GRand *rand)
{
        int n_cpus = g_rand_int_range(rand, 1, 100), threads = g_rand_int_range(rand, 1, 5);
        CpuSet online = random_set(rand, n_cpus, g_rand_double_range(rand, 0.3, 1.5));
        CpuSet aside = random_set(rand, n_cpus, g_rand_double_range(rand, -0.5, 0.5));
        g_autofree char *on = NULL, *isolated = cpuset_format(&aside);
        Topology *topology;

        cpuset_add(&online, g_rand_int_range(rand, 0, n_cpus));
        on = cpuset_format(&online);
        topology = machine_make(n_cpus, threads, g_rand_int_range(rand, 1, n_cpus + 1), on,
                                isolated);
        topology->nohz_full = random_set(rand, n_cpus, g_rand_double_range(rand, -0.5, 0.5));
        for (int cpu = 0; cpu < n_cpus; cpu++)
                topology->cpus[cpu].capacity = (uint16_t)g_rand_int_range(rand, 1, 4);
        return topology;
}

typedef struct RandomAffinities {
        Affinities affinities;
        CpuSet sets[20];
        int nodes[4];
} RandomAffinities;

static void random_affinities(GRand *rand, int n_cpus, RandomAffinities *ret_affinities)
{
        *ret_affinities = (RandomAffinities){ .affinities = {
                                                      .n_sets = g_rand_int_range(rand, 0, 20),
                                                      .n_nodes = g_rand_int_range(rand, 0, 4) } };
        ret_affinities->affinities.sets = ret_affinities->sets;
        ret_affinities->affinities.nodes = ret_affinities->nodes;
        for (int i = 0; i < ret_affinities->affinities.n_sets; i++)
                ret_affinities->sets[i] = random_set(rand, n_cpus, g_rand_double(rand) / 4);
        for (int i = 0; i < ret_affinities->affinities.n_nodes; i++)
                ret_affinities->nodes[i] = g_rand_int_range(rand, 0, 6);
}

/* Everything that plan.h promises of a plan. */
static void assert_safe(const Plan *plan, const Topology *topology, const Affinities *affinities)
{
        CpuSet usable = topology_usable(topology), aside = topology->isolated, cpus;

        ck_assert(cpuset_is_subset(&plan->allowed, &topology->online));
        ck_assert(cpuset_intersects(&plan->allowed, &usable));
        cpuset_or(&aside, &topology->nohz_full);
        cpuset_and(&aside, &topology->online);
        ck_assert(cpuset_is_subset(&aside, &plan->allowed));
        for (int i = 0; i < affinities->n_sets; i++)
                ck_assert(!cpuset_intersects(&affinities->sets[i], &topology->online) ||
                          cpuset_intersects(&affinities->sets[i], &plan->allowed));
        for (int i = 0; i < affinities->n_nodes; i++) {
                cpus = (CpuSet){ 0 };
                CPUSET_FOREACH(cpu, &usable)
                        if (topology->node_ids[topology->cpus[cpu].node] == affinities->nodes[i])
                                cpuset_add(&cpus, cpu);
                ck_assert(cpuset_is_empty(&cpus) || cpuset_intersects(&cpus, &plan->allowed));
        }
}

/* A reason for each CPU that was added and for no other; no CPU is added without need. */
static void assert_explained(const Plan *plan, const CpuSet *wished, const Topology *topology,
                             const Affinities *affinities, const uint8_t *safety)
{
        CpuSet added = plan->allowed;
        int n = 0, not_ours = 0;

        cpuset_subtract(&added, wished);
        for (int cpu = 0; cpu < topology->n_cpus; cpu++) {
                ck_assert_int_eq(safety[cpu] != SAFETY_NONE, cpuset_has(&added, cpu));
                not_ours += safety[cpu] == SAFETY_ISOLATED;
                n += safety[cpu] != SAFETY_NONE;
        }
        ck_assert_int_le(n, not_ours + affinities->n_sets + affinities->n_nodes + 1);
}

TEST(random_plans)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(20240611);

        for (int i = 0; i < 10000; i++) {
                g_autoptr(Topology) topology = random_machine(rand);
                g_autofree uint8_t *safety = g_malloc(topology->n_cpus);
                RandomAffinities random;
                CpuSet wished, kept;
                Plan plan, again;

                plan_init(&plan, NULL, 0);
                plan.allowed = random_set(rand, 128, g_rand_double_range(rand, -0.2, 1));
                wished = plan.allowed;
                random_affinities(rand, topology->n_cpus, &random);
                plan_sanitize(&plan, topology, &(Dependents){ .tasks = &random.affinities },
                              &(SafetyNotes){ .safety = safety });

                assert_safe(&plan, topology, &random.affinities);
                assert_explained(&plan, &wished, topology, &random.affinities, safety);
                kept = wished;
                cpuset_and(&kept, &topology->online);
                ck_assert(cpuset_is_subset(&kept, &plan.allowed));
                again = plan;
                plan_sanitize(&again, topology, &(Dependents){ .tasks = &random.affinities },
                              &(SafetyNotes){ .safety = safety });
                ck_assert(cpuset_equal(&again.allowed, &plan.allowed));
                for (int cpu = 0; cpu < topology->n_cpus; cpu++)
                        ck_assert_int_eq(safety[cpu], SAFETY_NONE);
        }
}

UNIT("plan-random", .timeout = 60)
