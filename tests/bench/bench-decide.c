/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one decision of ondemand costs, by size of the machine and by what the load does. */
#include <stdio.h>
#include <time.h>

#include "table.h"
#include "world.h"

#define ROUNDS 20000

static double now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void decide(World *world, bool follow)
{
        PolicyInput input = { .topology = world->topology,
                              .snapshot = world->snapshot,
                              .allowed = &world->allowed,
                              .options = world->options };

        world->snapshot->time_usec += 250000;
        wish_init(&world->wish);
        world->policy->decide(world->state, &input, &world->wish);
        if (!follow)
                return;
        world->allowed = world->topology->online;
        cpuset_and(&world->allowed, &world->wish.allowed);
}

static void load_put(World *world, float share)
{
        for (int cpu = 0; cpu < world->topology->n_cpus; cpu++)
                world->snapshot->busy[cpu] = share;
}

/* Microseconds a decision on a load that stays: idle, or at half of the machine. */
static double measure_steady(World *world, float share)
{
        double from;

        load_put(world, share);
        world->snapshot->interval_usec = 250000;
        for (int i = 0; i < 400; i++)
                decide(world, true);
        from = now();
        for (int i = 0; i < ROUNDS; i++)
                decide(world, false);
        return (now() - from) * 1e6 / ROUNDS;
}

/* The same on a load that jumps between idle and all, with nothing that slows changes down. */
static double measure_changing(World *world)
{
        double from = now();

        for (int i = 0; i < ROUNDS; i++) {
                load_put(world, i % 2 ? 0.01f : 1);
                world->snapshot->running = i % 2 ? 0 : 1000;
                world->snapshot->interval_usec = 60000000;
                world->snapshot->time_usec += 60000000;
                decide(world, true);
        }
        return (now() - from) * 1e6 / ROUNDS;
}

static void bench(const char *name, const Grid *grid)
{
        g_autoptr(Topology) topology = grid_build(grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        double idle, half, changing;

        world_set(world, "Dwell", "0");
        idle = measure_steady(world, 0.001f);
        half = measure_steady(world, 0.4f);
        changing = measure_changing(world);
        printf("%-26s %5d CPUs  idle %6.2f us  half %6.2f us  changing %6.2f us\n", name,
               topology->n_cpus, idle, half, changing);
}

START_TEST(figures)
{
        static const Grid two = { 1, 1, 2, 1, 0, 0, NULL }, laptop = { 1, 1, 4, 2, 2, 580, NULL },
                          server = { 2, 8, 8, 2, 0, 0, NULL }, large = { 2, 1, 144, 2, 0, 0, NULL },
                          cores = { 2, 72, 4, 1, 0, 0, NULL };

        printf("One ondemand decision\n");
        bench("2 cores", &two);
        bench("hybrid laptop", &laptop);
        bench("2 packages, chiplets", &server);
        bench("2 packages, SMT", &large);
        bench("2 packages, single threads", &cores);
}
END_TEST

/* A test, because the world that it shares with tests speaks their language. */
int main(void)
{
        Suite *suite = suite_create("decide");
        TCase *tcase = tcase_create("decide");

        tcase_add_test(tcase, figures);
        tcase_set_timeout(tcase, 0);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
