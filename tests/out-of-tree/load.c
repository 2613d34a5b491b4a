/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads the policies of a directory as the daemon does, and lets the stranger's decide. */
#include "config/plugin.h"
#include "machine.h"
#include "table.h"
#include "world.h"

static const char *dir;

START_TEST(shipped)
{
        static const char *const names[] = { "ondemand", "userspace" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *error = NULL;
                const IdledPolicy *policy;
                int r = policy_load(dir, names[i], &policy, &error);

                ck_case(names[i], r == 0, "%s", error);
                ck_assert_str_eq(policy->name, names[i]);
        }
}
END_TEST

START_TEST(stranger)
{
        Grid grid = { 1, 1, 4, 2, 0, 0, NULL };
        g_autoptr(Topology) topology = grid_build(&grid);
        g_autoptr(World) world = NULL;
        g_autofree char *error = NULL, *allowed = NULL;
        const IdledPolicy *policy;
        int r = policy_load(dir, "halve", &policy, &error);

        ck_assert_msg(r == 0, "%s", error);
        world = world_new(policy, topology);
        world_set(world, "AfterTime", "4s");
        world_decide(world, 5000000);
        ck_assert(cpuset_equal(&world->allowed, &topology->online));
        world->snapshot->on_battery = true;
        world_decide(world, 5000000);
        ck_assert(cpuset_equal(&world->allowed, &topology->online));
        world_decide(world, 5000000);
        allowed = cpuset_format(&world->allowed);
        ck_assert_str_eq(allowed, "0-1,4-5");
        ck_assert_str_eq(world->wish.allowed_reason.option, "AfterTime");
}
END_TEST

int main(int argc, char **argv)
{
        Suite *suite = suite_create("out-of-tree");
        TCase *tcase = tcase_create("out-of-tree");

        if (argc != 2) {
                fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
                return 2;
        }
        dir = argv[1];
        tcase_add_test(tcase, shipped);
        tcase_add_test(tcase, stranger);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
