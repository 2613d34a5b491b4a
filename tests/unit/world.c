/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The scheduler here is fair and simple. In each step every stream that has work goes, the
 * hungriest first, to the CPU that has least to do, an idle core before an idle thread and a fast
 * one before a slow one. Threads that share a core get 5/8 of it each. A stream that is not served
 * keeps its work, up to half a second of it. Tasks wait while a CPU has more than it can do, and,
 * where several streams share a CPU that can, as often as two of them come at the same time.
 */
#include "world.h"

#include "base/setting-value.h"
#include "machine.h"
#include "table.h"

#define STEP_USEC   10000
#define BACKLOG_MAX 0.5
#define SMT_SHARE   0.625

static CpuFacts facts_make(int package, int cluster, int core, int core_first, int cluster_first,
                           int capacity)
{
        return (CpuFacts){ .package_id = package,
                           .die_id = 0,
                           .core_id = core,
                           .cluster_id = cluster,
                           .cache_id = cluster_first,
                           .core_first = core_first,
                           .cluster_first = cluster_first,
                           .die_first = -1,
                           .package_first = -1,
                           .node = package,
                           .capacity = (uint64_t)capacity };
}

Topology *grid_build(const Grid *g)
{
        int per_package = g->clusters * g->cores * g->threads + 4 * g->slow_clusters;
        int n = g->packages * per_package, cpu = 0;
        g_autofree CpuFacts *facts = g_new0(CpuFacts, n);
        CpuSet all = { 0 }, isolated = set_of(g->isolated ? g->isolated : "");

        for (int p = 0; p < g->packages; p++) {
                int core = 0;

                for (int c = 0; c < g->clusters; c++)
                        for (int k = 0, first = cpu; k < g->cores; k++, core++)
                                for (int t = 0, own = cpu; t < g->threads; t++, cpu++)
                                        facts[cpu] = facts_make(p, c, core, own, first,
                                                                CAPACITY_SCALE);
                for (int c = 0; c < g->slow_clusters; c++)
                        for (int k = 0, first = cpu; k < 4; k++, core++, cpu++)
                                facts[cpu] = facts_make(p, g->clusters + c, core, cpu, first,
                                                        g->slow);
        }
        cpuset_add_range(&all, 0, n - 1);
        return topology_build(n, facts, &all, &all, &isolated, NULL);
}

World *world_new(const IdledPolicy *policy, const Topology *topology)
{
        World *world = g_new0(World, 1);
        g_autofree char *error = NULL;

        world->policy = policy;
        world->topology = topology;
        world->snapshot = snapshot_new(topology->n_cpus);
        world->snapshot->have = SENSE_LOAD | SENSE_PRESSURE;
        world->snapshot->cpus = topology->online;
        world->snapshot->time_usec = 1000000;
        world->allowed = topology->online;
        world->state = g_malloc0(policy->state_size + 1);
        if (settings_new(policy->settings, policy->options_size, &world->options, &error) < 0)
                ck_abort_msg("%s", error);
        if (policy->wishes & WISHES_CPUS)
                world->cpus = g_new0(CpuWish, topology->n_cpus);
        if (policy->init)
                policy->init(world->state, topology);
        return world;
}

World *world_on(const IdledPolicy *policy, const Grid *grid)
{
        Topology *topology = grid_build(grid);
        World *world = world_new(policy, topology);

        world->own = topology;
        return world;
}

void world_free(World *world)
{
        topology_free(world->own);
        settings_free(world->policy->settings, world->options);
        snapshot_free(world->snapshot);
        g_free(world->state);
        g_free(world->cpus);
        g_free(world);
}

void world_set(World *world, const char *key, const char *text)
{
        const Setting *row = setting_find(world->policy->settings, "Policy", key)
                                     ?: setting_find(world->policy->settings, "State", key);
        g_autofree char *error = NULL;

        ck_assert_msg(row != NULL, "no option %s", key);
        if (setting_parse(row, text, world->options, &error) < 0)
                ck_abort_msg("%s=%s: %s", key, text, error);
}

void world_put(World *world, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, ",", -1);

        memset(world->snapshot->busy, 0, sizeof(float) * (size_t)world->topology->n_cpus);
        for (int i = 0; parts[i]; i++) {
                char *share = strchr(parts[i], '=');

                ck_assert_ptr_nonnull(share);
                world->snapshot->busy[atoi(parts[i])] = (float)g_ascii_strtod(share + 1, NULL);
        }
}

void world_set_all(World *world, const char *text)
{
        g_auto(GStrv) parts = g_strsplit(text, " ", -1);

        for (int i = 0; *text && parts[i]; i++) {
                char *value = strchr(parts[i], '=');

                ck_assert_ptr_nonnull(value);
                *value++ = '\0';
                world_set(world, parts[i], g_strdelimit(value, "+", ' '));
        }
}

void world_add_residency(World *world)
{
        world->snapshot->have |= SENSE_RESIDENCY | SENSE_IDLE_STATISTICS;
        world->snapshot->residency = g_new0(Residency, world->topology->n_cpus);
        for (int i = 0; i < world->topology->n_cpus; i++)
                world->snapshot->residency[i].n_states = world->idle[i].n_states;
}

/* One step's work on a CPU. */
typedef struct Seat {
        double wanted, met; /* sum and pairwise products of demands */
        int guests;
} Seat;

static int core_guests(const World *world, const Seat *seats, int cpu)
{
        const TopologyCore *core = &world->topology->cores[world->topology->cpus[cpu].core];
        int n = 0;

        for (int i = 0; i < core->n_threads; i++)
                n += seats[world->topology->core_cpus[core->first + i]].guests > 0;
        return n;
}

static int seat_choose(const World *world, const Seat *seats)
{
        double best_cost = INFINITY;
        int best = -1;

        CPUSET_FOREACH(cpu, &world->allowed) {
                const TopologyCpu *c = &world->topology->cpus[cpu];
                double cost;

                if (cpuset_has(&world->topology->isolated, cpu))
                        continue;
                cost = seats[cpu].guests * 100 + seats[cpu].wanted +
                       core_guests(world, seats, cpu) * 10 - c->capacity / 1024.0;
                if (cost < best_cost) {
                        best_cost = cost;
                        best = cpu;
                }
        }
        return best;
}

/* A number from 0 to 1 that depends on nothing but its arguments. */
static double chance(uint64_t a, uint64_t b)
{
        uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xbf58476d1ce4e5b9) + 1;

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (double)((x ^ (x >> 31)) >> 11) / (double)(UINT64_C(1) << 53);
}

static double seat_speed(const World *world, const Seat *seats, int cpu)
{
        double share = core_guests(world, seats, cpu) > 1 ? SMT_SHARE : 1;

        return share * world->topology->cpus[cpu].capacity / CAPACITY_SCALE;
}

/* Gives every stream its part; returns how many are runnable at the end. */
static unsigned streams_serve(World *world, const Seat *seats, const int *seat, int n, double sec)
{
        unsigned running = 0;

        for (int i = 0; i < n; i++) {
                double want = world->backlog[i] / sec, speed, used;

                if (seat[i] < 0)
                        continue;
                speed = seat_speed(world, seats, seat[i]);
                used = seats[seat[i]].wanted / speed;
                world->backlog[i] -= sec * (used > 1 ? want / used : want);
                running += used >= 1 ||
                           chance(world->snapshot->time_usec, (uint64_t)i) < want / speed;
                world->backlog[i] = MIN(world->backlog[i], BACKLOG_MAX);
        }
        return running;
}

static void step(World *world, const double *streams, int n, double sec)
{
        g_autofree Seat *seats = g_new0(Seat, world->topology->n_cpus);
        int seat[STREAMS_MAX], cpu;
        double waiting = 0;

        for (int i = 0; i < n; i++) {
                double want;

                seat[i] = -1;
                world->backlog[i] += streams[i] * sec;
                want = world->backlog[i] / sec;
                if (want <= 1e-9)
                        continue;
                seat[i] = cpu = seat_choose(world, seats);
                want = MIN(want, 1);
                seats[cpu].met += want * seats[cpu].wanted;
                seats[cpu].wanted += want;
                seats[cpu].guests++;
        }
        CPUSET_FOREACH(c, &world->allowed) {
                double speed = seat_speed(world, seats, c), used = seats[c].wanted / speed;

                world->busy_sec[c] += sec * MIN(used, 1);
                waiting = MAX(waiting, seats[c].guests > 1 && used > 1 ? 1 : seats[c].met);
        }
        world->snapshot->running = streams_serve(world, seats, seat, n, sec);
        world->waited_sec += sec * MIN(waiting, 1);
        world->interval_sec += sec;
}

void world_run(World *world, const double *streams, int n_streams, uint64_t usec)
{
        Snapshot *s = world->snapshot;

        ck_assert_int_le(n_streams, STREAMS_MAX);
        for (uint64_t done = 0; done < usec; done += STEP_USEC) {
                step(world, streams, n_streams, STEP_USEC / 1e6);
                s->time_usec += STEP_USEC;
        }
        CPUSET_FOREACH(cpu, &world->topology->online)
                s->busy[cpu] = (float)MIN(world->busy_sec[cpu] / world->interval_sec, 1);
        s->pressure = world->waited_sec / world->interval_sec;
}

void world_decide(World *world, uint64_t usec)
{
        Snapshot *s = world->snapshot;
        CpuSet usable = topology_usable(world->topology), allowed = world->topology->online;
        PolicyInput input = { .topology = world->topology,
                              .snapshot = s,
                              .allowed = &world->allowed,
                              .effect = !world->ignored,
                              .offered = world->offered,
                              .kept = world->kept,
                              .contracts = world->contracts,
                              .n_contracts = world->n_contracts,
                              .contract_cores = world->contract_cores,
                              .idle = world->idle,
                              .frequency = world->frequency,
                              .n_frequency = world->n_frequency,
                              .holds = world->holds,
                              .n_holds = world->n_holds,
                              .options = world->options };

        s->time_usec += usec;
        s->interval_usec = usec ? usec : (uint64_t)(world->interval_sec * 1e6 + 0.5);
        s->load = 0;
        CPUSET_FOREACH(cpu, &world->topology->online)
                s->load += s->busy[cpu];
        wish_init(&world->wish);
        if (world->cpus)
                wish_init_cpus(&world->wish, world->cpus, world->topology->n_cpus);
        world->policy->decide(world->state, &input, &world->wish);
        ck_assert_msg(!world->wish.period_usec || world->wish.period_usec >= READING_USEC,
                      "wants to be called before there is anything new");
        if (!world->ignored)
                cpuset_and(&allowed, &world->wish.allowed);
        ck_assert_msg(cpuset_intersects(&allowed, &usable), "no usable CPU is left");
        world->n_changes += !cpuset_equal(&allowed, &world->allowed);
        world->allowed = allowed;
        memset(world->busy_sec, 0, sizeof(world->busy_sec));
        world->interval_sec = world->waited_sec = 0;
}

void world_rest(World *world)
{
        memset(world->snapshot->busy, 0, sizeof(float) * (size_t)world->topology->n_cpus);
        world->snapshot->running = 0;
        world->snapshot->pressure = 0;
        world->snapshot->pressed = false;
        for (int i = 0; i < 2400; i++) {
                world_decide(world, 250000);
                if (world->wish.settled)
                        return;
        }
        ck_abort_msg("not settled after ten idle minutes");
}

int world_cores(const World *world)
{
        CpuSet used = topology_usable(world->topology);
        int n = 0;

        cpuset_and(&used, &world->allowed);
        for (int i = 0; i < world->topology->n_cores; i++) {
                CpuSet core = { 0 };

                topology_add_core(world->topology, i, &core);
                n += cpuset_intersects(&core, &used);
        }
        return n;
}
