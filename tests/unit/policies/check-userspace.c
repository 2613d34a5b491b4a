/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* userspace: the mask is taken as it is, and nothing ever wakes for it. */
#include "machine.h"
#include "table.h"
#include "world.h"

static const struct {
        const char *name, *mask, *allowed;
} cases[] = {
        { "nothing", "", "0-7" },           { "one CPU", "3", "0-2,4-7" },
        { "half", "4-7", "0-3" },           { "CPUs that are not there", "6-1000", "0-5" },
        { "all but the last", "0-6", "7" }, { "only CPUs that are not there", "8-9", "0-7" },
};

TEST_EACH(masks, cases)
{
        Grid grid = { .packages = 1, .clusters = 1, .cores = 8, .threads = 1 };
        g_autoptr(World) world = world_on(&idled_policy, &grid);
        g_autofree char *text = NULL;

        world_set(world, "IdleMask", c->mask);
        world_decide(world, 0);
        text = cpuset_format(&world->allowed);
        ck_case(c->name, strcmp(text, c->allowed) == 0, "allowed %s, expected %s", text,
                c->allowed);
        ck_case(c->name,
                world->wish.period_usec == 0 && world->wish.settled && !world->wish.on_pressure,
                "wants to be called again");
        if (*c->mask) {
                ck_assert_str_eq(world->wish.allowed_reason.option, "IdleMask");
                ck_assert_ptr_null(world->wish.allowed_reason.threshold_unit);
                /* A count of CPUs would read as the number of a CPU. */
                ck_assert_ptr_null(world->wish.allowed_reason.inputs[0].name);
                ck_case(c->name,
                        !strstr(world->wish.allowed_reason.because, "online") ==
                                (strcmp(text, "0-7") != 0),
                        "\"%s\"", world->wish.allowed_reason.because);
        } else
                ck_assert_ptr_null(world->wish.allowed_reason.because);
}

TEST(mask_changes)
{
        Grid grid = { .packages = 1, .clusters = 1, .cores = 4, .threads = 1 };
        g_autoptr(Topology) topology = grid_build(&grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        CpuSet expected = set_of("0-1");

        world_set(world, "IdleMask", "2-3");
        world_decide(world, 0);
        ck_assert(cpuset_equal(&world->allowed, &expected));
        world_set(world, "IdleMask", "");
        world_decide(world, 0);
        ck_assert(cpuset_equal(&world->allowed, &topology->online));
}

UNIT("userspace")
