/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand on every machine there is a description of (and on the recorded ones where they are at
 * hand), in every PackOrder, from idle to saturated and back: what is kept is sane at each step,
 * and grows and shrinks with the load.
 */
#include "all-machines.h"
#include "world.h"

#include "sense/topology-read.h"

#define LEVELS 8

static Topology *machine_open(const char *name)
{
        g_auto(Tree) tree = machine_tree(name);
        Topology *topology = NULL;

        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        return topology;
}

/* One machine in one order. */
typedef struct Sweep {
        const char *name;
        World *world;
        const Topology *topology;
        CpuSet usable;
        int order;      /* index of orders[] */
        bool *kept;     /* by core */
        bool *parkable; /* by core */
        int n_parkable;
} Sweep;

static const char *const orders[] = { "efficiency", "performance", "package" };
enum { EFFICIENCY, PERFORMANCE, PACKAGE };

/* Spreads `load` (in CPUs of the fastest kind) evenly over the active CPUs, each as full as the
 * others; what does not fit waits. */
static void load_spread(Sweep *sweep, double load)
{
        World *world = sweep->world;
        double capacity = 0, share;
        int waiting = 0;

        memset(world->snapshot->busy, 0, sizeof(float) * (size_t)sweep->topology->n_cpus);
        for (int i = 0; i < sweep->topology->n_cores; i++)
                capacity += sweep->kept[i] ? sweep->topology->cores[i].capacity / 1024.0 : 0;
        share = load / capacity;
        for (int i = 0; i < sweep->topology->n_cores; i++) {
                const TopologyCore *core = &sweep->topology->cores[i];

                for (int t = 0; sweep->kept[i] && t < core->n_threads; t++) {
                        int cpu = sweep->topology->core_cpus[core->first + t];

                        if (!cpuset_has(&sweep->usable, cpu) || !cpuset_has(&world->allowed, cpu))
                                continue;
                        world->snapshot->busy[cpu] = (float)MIN(share, 1);
                        break; /* one thread of each core: the scheduler's first choice */
                }
        }
        if (load > capacity)
                waiting = (int)(load - capacity) + 1;
        world->snapshot->running = (unsigned)(MIN(load, capacity) + waiting);
        world->snapshot->pressure = waiting ? 1 : 0;
}

/* Which cores are kept; no core may be kept in part. */
static int look(Sweep *sweep)
{
        int n = 0;

        for (int i = 0; i < sweep->topology->n_cores; i++) {
                CpuSet core = { 0 };

                topology_add_core(sweep->topology, i, &core);
                cpuset_and(&core, &sweep->usable);
                sweep->parkable[i] = !cpuset_is_empty(&core);
                sweep->kept[i] = cpuset_intersects(&core, &sweep->world->allowed);
                ck_case(sweep->name,
                        !sweep->kept[i] || cpuset_is_subset(&core, &sweep->world->allowed),
                        "core %d is parked in part", i);
                n += sweep->kept[i];
        }
        return n;
}

/* How many groups have cores that are kept and cores that are not. `offset` is that of the group's
 * number in a core; only cores of capacity `low` .. `high` count. */
static int split_groups(const Sweep *sweep, size_t offset, int low, int high)
{
        g_autofree uint8_t *seen = g_malloc0((size_t)sweep->topology->n_cpus);
        int n = 0;

        for (int i = 0; i < sweep->topology->n_cores; i++) {
                const TopologyCore *core = &sweep->topology->cores[i];
                int group = *(const int16_t *)((const char *)core + offset);

                if (sweep->parkable[i] && core->capacity >= low && core->capacity <= high)
                        seen[group] |= sweep->kept[i] ? 1 : 2;
        }
        for (int i = 0; i < sweep->topology->n_cpus; i++)
                n += seen[i] == 3;
        return n;
}

/* Whole clusters, dies and packages, of each kind of core, are filled one after the other. */
static void assert_packed(const Sweep *sweep)
{
        static const size_t groups[] = { offsetof(TopologyCore, cluster),
                                         offsetof(TopologyCore, die),
                                         offsetof(TopologyCore, package) };
        static const int kinds[][2] = { { 0, 450 }, { 451, 900 }, { 901, CAPACITY_SCALE } };

        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (size_t g = 0; g < G_N_ELEMENTS(groups); g++) {
                        int n = split_groups(sweep, groups[g], kinds[k][0], kinds[k][1]);

                        ck_case(sweep->name, n <= 1, "%d groups of sort %zu are split (%s)", n, g,
                                orders[sweep->order]);
                }
}

/* The kind of core that PackOrder asks for comes first: no core of the other end is kept while one
 * of this end is parked, unless a busy one must be fast. */
static void assert_ordered(const Sweep *sweep, bool idle)
{
        int kept_low = INT_MAX, kept_high = 0, parked_low = INT_MAX, parked_high = 0;

        for (int i = 0; i < sweep->topology->n_cores; i++) {
                int capacity = sweep->topology->cores[i].capacity;

                if (!sweep->parkable[i])
                        continue;
                if (sweep->kept[i]) {
                        kept_low = MIN(kept_low, capacity);
                        kept_high = MAX(kept_high, capacity);
                } else {
                        parked_low = MIN(parked_low, capacity);
                        parked_high = MAX(parked_high, capacity);
                }
        }
        if (sweep->order == PERFORMANCE)
                ck_case(sweep->name, parked_high <= kept_low * 9 / 8, "a faster core is parked");
        if (sweep->order == EFFICIENCY && idle)
                ck_case(sweep->name, parked_low >= kept_high * 8 / 9, "a slower core is parked");
}

static void assert_sane(Sweep *sweep, bool idle)
{
        CpuSet aside = sweep->topology->online;

        look(sweep);
        cpuset_subtract(&aside, &sweep->usable);
        ck_case(sweep->name, cpuset_is_subset(&aside, &sweep->world->allowed),
                "an isolated CPU is parked");
        assert_packed(sweep);
        assert_ordered(sweep, idle);
}

/* Holds the load for 75 s; returns the cores that are kept then. */
static int hold(Sweep *sweep, double load)
{
        for (int i = 0; i < 75; i++) {
                load_spread(sweep, load);
                world_decide(sweep->world, 1000000);
                assert_sane(sweep, load == 0 && i == 74);
        }
        ck_case(sweep->name, sweep->world->wish.settled, "not settled (%s) at load %.2f",
                orders[sweep->order], load);
        return look(sweep);
}

static double whole_capacity(const Sweep *sweep)
{
        double sum = 0;

        for (int i = 0; i < sweep->topology->n_cores; i++)
                sum += sweep->parkable[i] ? sweep->topology->cores[i].capacity / 1024.0 : 0;
        return sum;
}

static void sweep_run(Sweep *sweep)
{
        int before, cores, all = 0;
        double capacity;

        look(sweep);
        for (int i = 0; i < sweep->topology->n_cores; i++)
                all += sweep->parkable[i];
        capacity = whole_capacity(sweep);
        before = hold(sweep, 0);
        ck_case(sweep->name, before == 1, "%d cores kept of an idle machine", before);
        for (int level = 1; level <= LEVELS; level++, before = cores) {
                cores = hold(sweep, capacity * level / LEVELS);
                ck_case(sweep->name, cores >= before, "fewer cores for more load (%s, %d): %d, %d",
                        orders[sweep->order], level, before, cores);
        }
        ck_case(sweep->name, cores == all, "%d of %d cores kept of a full machine", cores, all);
        for (int level = LEVELS - 1; level >= 0; level--, before = cores) {
                cores = hold(sweep, capacity * level / LEVELS);
                ck_case(sweep->name, cores <= before, "more cores for less load (%s, %d): %d, %d",
                        orders[sweep->order], level, before, cores);
        }
        ck_case(sweep->name, cores == 1, "%d cores kept in the end", cores);
}

START_TEST(machine)
{
        const char *name = all_machines->pdata[_i];
        g_autoptr(Topology) topology = machine_open(name);

        for (size_t i = 0; i < G_N_ELEMENTS(orders); i++) {
                g_autoptr(World) world = world_new(&idled_policy, topology);
                Sweep sweep = { .name = name,
                                .world = world,
                                .topology = topology,
                                .usable = topology_usable(topology),
                                .order = (int)i,
                                .kept = g_new0(bool, topology->n_cores),
                                .parkable = g_new0(bool, topology->n_cores) };

                world_set(world, "PackOrder", orders[i]);
                sweep_run(&sweep);
                g_free(sweep.kept);
                g_free(sweep.parkable);
        }
}
END_TEST

int main(void)
{
        return all_machines_run("ondemand-machines", machine);
}
