/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan: merging requests, and making the result safe.
 *
 * Safety is a covering problem. `allowed` must contain a CPU of each of several sets: all CPUs of
 * the machine, each affinity, each bound node. Only sets that the requested CPUs do not cover
 * count. Sets of one CPU come first, because they leave no choice. Then the CPU that is in most
 * remaining sets is added, until all are covered. This greedy algorithm does not always find the
 * fewest CPUs, but it does for sets that are disjoint or nested, as affinities nearly always are.
 *
 * Policies request what keeps parked CPUs quiet without knowing what will be parked: that is
 * decided when all of them have been asked. So a request holds at any time, and is carried out
 * while the plan leaves CPUs out.
 */
#include "model/plan.h"

/* A set of CPUs of which one must be allowed. */
typedef struct Demand {
        CpuSet cpus;
        Safety safety;
        const char *owner; /* what demands it, NULL: not known */
        bool met;
} Demand;

void plan_init(Plan *plan, CpuWish *cpus, int n_cpus)
{
        Wish nothing;

        wish_init(&nothing);
        wish_init_cpus(&nothing, cpus, cpus ? n_cpus : 0);
        *plan = (Plan){
                .allowed = nothing.allowed,
                .widest = nothing.allowed,
                .settled = true,
                .global_latency_us = nothing.global_latency_us,
                .cpus = nothing.cpus,
                .n_cpus = nothing.n_cpus,
        };
}

static void merge_quiet(Plan *plan, const Wish *wish)
{
        const QuietWish *w = &wish->quiet;
        QuietWish *q = &plan->quiet;

        q->interrupts |= w->interrupts;
        q->workqueues |= w->workqueues;
        q->stat_s = MAX(q->stat_s, w->stat_s);
        q->check_s = MAX(q->check_s, w->check_s);
        q->writeback_cs = MAX(q->writeback_cs, w->writeback_cs);
}

void plan_merge(Plan *plan, const Wish *wish)
{
        cpuset_and(&plan->allowed, &wish->allowed);
        cpuset_or(&plan->kept, &wish->kept);
        plan->min_cores = MAX(plan->min_cores, wish->min_cores);
        plan->contract_cores = MAX(plan->contract_cores, wish->contract_cores);
        if (wish->period_usec && (!plan->period_usec || wish->period_usec < plan->period_usec))
                plan->period_usec = wish->period_usec;
        if (wish->wake_at_usec && (!plan->wake_at_usec || wish->wake_at_usec < plan->wake_at_usec))
                plan->wake_at_usec = wish->wake_at_usec;
        plan->settled &= wish->settled;
        plan->on_pressure |= wish->on_pressure;
        plan->reads |= wish->reads;
        if (wish->p99_us && (!plan->p99_us || wish->p99_us < plan->p99_us))
                plan->p99_us = wish->p99_us;
        merge_quiet(plan, wish);
        plan_merge_cpus(plan, wish);
}

/* Adds a demand, unless it is met already or `cpus` is empty. */
static void add_demand(GArray *demands, const Plan *plan, const CpuSet *cpus, Safety safety,
                       const char *owner)
{
        Demand demand = { .cpus = *cpus, .safety = safety, .owner = owner };

        if (!cpuset_intersects(cpus, &plan->allowed) && !cpuset_is_empty(cpus))
                g_array_append_val(demands, demand);
}

/* The usable CPUs of the node with the kernel's number `id`; empty if it has none. */
static CpuSet node_cpus(const Topology *topology, const CpuSet *usable, int id)
{
        CpuSet cpus = { 0 };

        CPUSET_FOREACH(cpu, usable) {
                int node = topology->cpus[cpu].node;

                if (node >= 0 && topology->node_ids[node] == id)
                        cpuset_add(&cpus, cpu);
        }
        return cpus;
}

static void add_sets(GArray *demands, const Plan *plan, const Topology *topology,
                     const Affinities *affinities, Safety safety)
{
        for (int i = 0; affinities && i < affinities->n_sets; i++) {
                CpuSet cpus = affinities->sets[i];

                cpuset_and(&cpus, &topology->online);
                add_demand(demands, plan, &cpus, safety,
                           affinities->owners ? affinities->owners[i] : NULL);
        }
}

/* All demands that the plan does not meet, those first whose reason says most. */
static GArray *collect_demands(const Plan *plan, const Topology *topology, const Dependents *who)
{
        GArray *demands = g_array_new(FALSE, FALSE, sizeof(Demand));
        CpuSet usable = topology_usable(topology), cpus;

        add_sets(demands, plan, topology, who->refused, SAFETY_REFUSED);
        add_sets(demands, plan, topology, who->units, SAFETY_UNIT);
        add_sets(demands, plan, topology, who->groups, SAFETY_GROUP);
        add_sets(demands, plan, topology, who->tasks, SAFETY_PINNED);
        for (int i = 0; who->tasks && i < who->tasks->n_nodes; i++) {
                char **owners = who->tasks->node_owners;

                cpus = node_cpus(topology, &usable, who->tasks->nodes[i]);
                add_demand(demands, plan, &cpus, SAFETY_NODE, owners ? owners[i] : NULL);
        }
        add_demand(demands, plan, &usable, SAFETY_LAST, NULL);
        return demands;
}

static void allow(Plan *plan, int cpu, Safety why, const char *owner, const SafetyNotes *notes)
{
        cpuset_add(&plan->allowed, cpu);
        if (!notes)
                return;
        notes->safety[cpu] = (uint8_t)why;
        if (notes->owners)
                notes->owners[cpu] = owner;
}

/* Allows what is online of `cpus` and not allowed yet. */
static void allow_all(Plan *plan, const Topology *topology, const CpuSet *cpus, Safety why,
                      const char *owner, const SafetyNotes *notes)
{
        CpuSet more = *cpus;

        cpuset_and(&more, &topology->online);
        cpuset_subtract(&more, &plan->allowed);
        CPUSET_FOREACH(cpu, &more)
                allow(plan, cpu, why, owner, notes);
}

/* Meets the demands that only one CPU can meet, and keeps in `demands` those that are open then. */
static void meet_single(Plan *plan, GArray *demands, const SafetyNotes *notes)
{
        guint open = 0;

        for (guint i = 0; i < demands->len; i++) {
                const Demand *demand = &g_array_index(demands, Demand, i);
                int first = cpuset_next(&demand->cpus, -1);

                if (cpuset_next(&demand->cpus, first) < 0 && !cpuset_has(&plan->allowed, first))
                        allow(plan, first, demand->safety, demand->owner, notes);
        }
        for (guint i = 0; i < demands->len; i++) {
                const Demand *demand = &g_array_index(demands, Demand, i);

                if (cpuset_intersects(&demand->cpus, &plan->allowed))
                        continue;
                if (open != i)
                        g_array_index(demands, Demand, open) = *demand;
                open++;
        }
        g_array_set_size(demands, open);
}

static bool core_is_allowed(const Plan *plan, const Topology *topology, int cpu)
{
        const TopologyCore *core = &topology->cores[topology->cpus[cpu].core];

        for (int i = 0; i < core->n_threads; i++)
                if (cpuset_has(&plan->allowed, topology->core_cpus[core->first + i]))
                        return true;
        return false;
}

/* True if adding `cpu` is better than adding `other`, which is the smaller number. */
static bool is_better(const Plan *plan, const Topology *topology, const int *counts, int cpu,
                      int other)
{
        bool shared, other_shared;

        if (counts[cpu] != counts[other])
                return counts[cpu] > counts[other];
        shared = core_is_allowed(plan, topology, cpu);
        other_shared = core_is_allowed(plan, topology, other);
        if (shared != other_shared)
                return shared;
        return topology->cpus[cpu].capacity > topology->cpus[other].capacity;
}

/* Allows `cpu` for the first demand that it meets. `counts` are kept at the number of open demands
 * that each CPU would meet. Returns how many were met. */
static guint meet(Plan *plan, GArray *demands, int cpu, int *counts, const SafetyNotes *notes)
{
        const Demand *first = NULL;
        guint n = 0;

        for (guint i = 0; i < demands->len; i++) {
                Demand *demand = &g_array_index(demands, Demand, i);

                if (demand->met || !cpuset_has(&demand->cpus, cpu))
                        continue;
                if (n++ == 0)
                        first = demand;
                demand->met = true;
                CPUSET_FOREACH(member, &demand->cpus)
                        counts[member]--;
        }
        if (first)
                allow(plan, cpu, first->safety, first->owner, notes);
        return n;
}

/* Meets the demands that leave a choice. */
static void meet_best(Plan *plan, GArray *demands, const Topology *topology,
                      const SafetyNotes *notes)
{
        g_autofree int *counts = g_new0(int, topology->n_cpus);

        for (guint i = 0; i < demands->len; i++)
                CPUSET_FOREACH(cpu, &g_array_index(demands, Demand, i).cpus)
                        counts[cpu]++;
        for (guint open = demands->len; open > 0;) {
                int best = -1;

                for (int cpu = 0; cpu < topology->n_cpus; cpu++)
                        if (counts[cpu] &&
                            (best < 0 || is_better(plan, topology, counts, cpu, best)))
                                best = cpu;
                open -= meet(plan, demands, best, counts, notes);
        }
}

/* How many cores have an allowed CPU that is usable, and the best core that has none: the fastest,
 * else the first; -1 if there is none. */
static int count_cores(const Plan *plan, const Topology *topology, const CpuSet *usable,
                       int *ret_next)
{
        int n = 0, best = -1;

        for (int core = 0; core < topology->n_cores; core++) {
                CpuSet cpus = { 0 };

                topology_add_core(topology, core, &cpus);
                cpuset_and(&cpus, usable);
                if (cpuset_intersects(&cpus, &plan->allowed))
                        n++;
                else if (!cpuset_is_empty(&cpus) &&
                         (best < 0 ||
                          topology->cores[core].capacity > topology->cores[best].capacity))
                        best = core;
        }
        *ret_next = best;
        return n;
}

/* Allows what policies request to be kept, and whole cores until there are enough. */
static void keep(Plan *plan, const Topology *topology, const SafetyNotes *notes)
{
        CpuSet usable = topology_usable(topology), more = plan->kept;
        int next;

        while (true) {
                allow_all(plan, topology, &more, SAFETY_KEPT, NULL, notes);
                if (!plan->min_cores ||
                    count_cores(plan, topology, &usable, &next) >= (int)plan->min_cores || next < 0)
                        return;
                more = (CpuSet){ 0 };
                topology_add_core(topology, next, &more);
                cpuset_and(&more, &usable);
        }
}

static void forget_notes(const SafetyNotes *notes, int n_cpus)
{
        if (!notes)
                return;
        memset(notes->safety, SAFETY_NONE, (size_t)n_cpus);
        for (int cpu = 0; notes->owners && cpu < n_cpus; cpu++)
                notes->owners[cpu] = NULL;
}

void plan_sanitize(Plan *plan, const Topology *topology, const Dependents *who,
                   const SafetyNotes *notes)
{
        static const Dependents none = { 0 };
        g_autoptr(GArray) demands = NULL;
        CpuSet aside = topology->isolated, window = { 0 };

        who = who ?: &none;
        forget_notes(notes, topology->n_cpus);
        cpuset_and(&plan->allowed, &topology->online);
        cpuset_or(&aside, &topology->nohz_full);
        allow_all(plan, topology, &aside, SAFETY_ISOLATED, NULL, notes);
        keep(plan, topology, notes);
        if (who->window) {
                window = topology->online;
                cpuset_subtract(&window, &plan->allowed);
                cpuset_and(&window, &plan->widest);
                allow_all(plan, topology, &plan->widest, SAFETY_WINDOW, who->window, notes);
        }
        demands = collect_demands(plan, topology, who);
        meet_single(plan, demands, notes);
        if (demands->len)
                meet_best(plan, demands, topology, notes);
        plan->resting = topology->online;
        cpuset_subtract(&plan->resting, &plan->allowed);
        cpuset_or(&plan->resting, &window);
}

void affinities_add(Affinities *affinities, const CpuSet *set, char *owner)
{
        for (int i = 0; i < affinities->n_sets; i++)
                if (cpuset_equal(&affinities->sets[i], set)) {
                        g_free(owner);
                        return;
                }
        affinities->n_sets++;
        affinities->sets = g_renew(CpuSet, affinities->sets, affinities->n_sets);
        affinities->owners = g_renew(char *, affinities->owners, affinities->n_sets);
        affinities->sets[affinities->n_sets - 1] = *set;
        affinities->owners[affinities->n_sets - 1] = owner;
}

void affinities_free(Affinities *affinities)
{
        if (!affinities)
                return;
        for (int i = 0; i < affinities->n_sets; i++)
                g_free(affinities->owners[i]);
        g_free(affinities->owners);
        g_free(affinities->sets);
        for (int i = 0; affinities->node_owners && i < affinities->n_nodes; i++)
                g_free(affinities->node_owners[i]);
        g_free(affinities->node_owners);
        g_free(affinities->nodes);
        g_free(affinities);
}

const char *safety_text(Safety safety)
{
        static const char *const texts[] = {
                [SAFETY_NONE] = "",
                [SAFETY_LAST] = "the last CPU for ordinary tasks",
                [SAFETY_ISOLATED] = "isolated by the administrator",
                [SAFETY_PINNED] = "the last CPU of a task's affinity or of a cpuset",
                [SAFETY_UNKNOWN] = ("tasks may be pinned to it: reading all affinities again would "
                                    "cost more than 1 % of a CPU"),
                [SAFETY_KEPT] = "an application holds it, or a number of cores",
                [SAFETY_NODE] = "the last CPU of a NUMA node to which memory of tasks is bound",
                [SAFETY_UNIT] = "the last CPU of the set of a systemd unit",
                [SAFETY_GROUP] = "the last CPU of the set of a cgroup's cpuset",
                [SAFETY_WINDOW] = "a program starts or a person types: all CPUs are active",
                [SAFETY_REFUSED] = "an affinity to it was refused while it was parked",
        };

        return (size_t)safety < G_N_ELEMENTS(texts) ? texts[safety] : "";
}

void plan_sanitize_quiet(Plan *plan)
{
        QuietWish *q = &plan->quiet;

        if (cpuset_is_empty(&plan->resting))
                *q = (QuietWish){ 0 };
        q->stat_s = MIN(q->stat_s, QUIET_STAT_MAX_S);
        q->check_s = MIN(q->check_s, QUIET_CHECK_MAX_S);
        q->writeback_cs = MIN(q->writeback_cs, QUIET_WRITEBACK_MAX_CS);
}

bool plan_equal_quiet(const Plan *a, const Plan *b)
{
        const QuietWish *p = &a->quiet, *q = &b->quiet;

        return p->interrupts == q->interrupts && p->workqueues == q->workqueues &&
               p->stat_s == q->stat_s && p->check_s == q->check_s &&
               p->writeback_cs == q->writeback_cs && cpuset_equal(&a->resting, &b->resting);
}
