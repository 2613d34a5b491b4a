/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kinds of cores for units: what is asked of systemd, with and without parking, and that every
 * limit found comes back.
 */
#include "act/park/park-isolate.h"
#include "fake-systemd.h"
#include "model/kind.h"
#include "ways-of-parking.h"

#define MODE "sys/bus/platform/drivers/amd_x3d_vcache/AMDI0101:00/amd_x3d_mode"

static GPtrArray *requests;
static bool parks = true;

static const struct {
        const char *below, *limit;
} lists[] = { { "0-1\n", "" }, { "1-2\n", "2-3" }, { "\n", "2-3" } };

static void setup(void)
{
        systemd_new(&systemd_control);
        scratch_file(MODE, "frequency\n");
        scratch_file("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        systemd_unit("system.slice", "-.slice", "");
        systemd_unit("background.slice", "-.slice", "");
        systemd_unit("game.scope", "system.slice", "");
        systemd_unit("own.service", "system.slice", "1");
        requests = unit_kinds_new();
}

static void teardown(void)
{
        g_ptr_array_unref(requests);
        systemd_done();
}

static void request(const char *cgroup, unsigned kinds)
{
        unit_kinds_add(requests, cgroup, kinds);
}

static void request_nothing(void)
{
        g_ptr_array_set_size(requests, 0);
}

/* CPUs 0 and 1 are fast and have the cache, 2 and 3 are efficient. As the manager does: kinds, then
 * parking by units, then kinds again. Kinds alone come before it makes a partition. */
static int apply_by(ParkBackend backend, const char *allowed)
{
        static TopologyCpu cpus[4];
        char *all[] = { (char *)"*", NULL }, *none[] = { NULL };
        const ParkOptions options = { .backend = backend, .units = all, .exclude = none };
        const Topology topology = { .online = set_of("0-3"), .n_cpus = 4, .cpus = cpus };
        const ActFacts facts = { .topology = &topology, .unit_kinds = requests, .parks = parks };
        const Plan plan = { .allowed = set_of(allowed) };
        void *kinds, *park;
        int first, r;

        for (int i = 0; i < 4; i++)
                cpus[i].kinds = i < 2 ? KIND_FAST | KIND_CACHE : KIND_EFFICIENT;
        ck_assert_int_eq(actuator_kinds.open(&knobs_context, &options, &kinds), 0);
        first = r = actuator_kinds.apply(kinds, knobs, &plan, &facts);
        if (backend == PARK_SYSTEMD) {
                ck_assert_int_eq(park_systemd.open(&knobs_context, &options, &park), 0);
                r = park_systemd.apply(park, knobs, &plan.allowed, &topology);
                ck_assert_int_eq(r, 0);
                r = actuator_kinds.apply(kinds, knobs, &plan, &facts);
                park_systemd.close(park);
        }
        actuator_kinds.close(kinds);
        return first < 0 ? first : r;
}

static int apply(const char *allowed)
{
        return apply_by(PARK_SYSTEMD, allowed);
}

static int apply_before_partition(const char *allowed)
{
        return apply_by(PARK_AUTO, allowed);
}

/* What the kernel has of a unit next to the partition: it does not take an empty list. */
static void to_kernel(const char *name)
{
        g_autofree char *path = g_strdup_printf("sys/fs/cgroup/%s/cpuset.cpus", name);
        g_autofree char *text = cpuset_format(&systemd_find(name)->allowed);

        if (*text && faccessat(scratch_fd, path, F_OK, 0) == 0)
                scratch_file(path, text);
}

static void expect(const char *unit, const char *allowed)
{
        g_autofree char *text = cpuset_format(&systemd_find(unit)->allowed);

        ck_assert_msg(g_str_equal(text, allowed), "%s has \"%s\"", unit, text);
}

static void expect_mode(const char *mode)
{
        g_autofree char *text = scratch_text(MODE);

        text[strcspn(text, "\n")] = '\0';
        ck_assert_str_eq(text, mode);
}

static void expect_as_found(void)
{
        expect("system.slice", "");
        expect("background.slice", "");
        expect("game.scope", "");
        expect("own.service", "1");
        expect_mode("frequency");
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

TEST(limits_and_restores)
{
        request("/background.slice", KIND_EFFICIENT);
        request("/system.slice/game.scope", KIND_CACHE);
        request("/system.slice/own.service", KIND_EFFICIENT);
        ck_assert_int_eq(apply("0-3"), 0);
        expect("background.slice", "2-3");
        expect("game.scope", "0-1");
        expect("own.service", "1");
        expect_mode("cache");
        request_nothing();
        ck_assert_int_eq(apply("0-3"), 0);
        expect_as_found();
}

/* Steps of parking, and what units have then. */
static const struct {
        const char *allowed, *background, *game, *system;
} steps[] = {
        { "0-3", "2-3", "0-1", "" },    { "0-2", "2", "0-1", "0-2" },
        { "0-1", "0-1", "0-1", "0-1" }, { "2-3", "2-3", "2-3", "2-3" },
        { "3", "3", "3", "3" },         { "0-3", "2-3", "0-1", "0-3" },
};

TEST(yields_to_parking)
{
        request("/background.slice", KIND_EFFICIENT);
        request("/system.slice/game.scope", KIND_CACHE);
        for (size_t i = 0; i < G_N_ELEMENTS(steps); i++) {
                ck_assert_int_eq(apply(steps[i].allowed), 0);
                expect("background.slice", steps[i].background);
                expect("game.scope", steps[i].game);
                expect("system.slice", steps[i].system);
        }
        restore_all();
}

/* A unit passes from parking to a request, and back. */
TEST(passes_between_owners)
{
        ck_assert_int_eq(apply("1-2"), 0);
        expect("background.slice", "1-2");
        request("/background.slice", KIND_EFFICIENT);
        ck_assert_int_eq(apply("1-2"), 0);
        expect("background.slice", "2");
        ck_assert_ptr_null(knob_find(knobs, &park_unit_kind, "background.slice"));
        request_nothing();
        ck_assert_int_eq(apply("1-2"), 0);
        expect("background.slice", "1-2");
        restore_all();
}

/* The list that the kernel keeps never stands in the way of a partition. */
TEST(next_to_partition)
{
        const CpuSet parked = set_of("2-3");

        scratch_file("sys/fs/cgroup/background.slice/cpuset.cpus", "");
        systemd->after_set = to_kernel;
        request("/background.slice", KIND_EFFICIENT);
        ck_assert_int_eq(apply_before_partition("0-3"), 0);
        expect("background.slice", "2-3");
        request_nothing();
        ck_assert_int_eq(apply_before_partition("0-3"), 0);
        expect("background.slice", "0-3");
        ck_assert_int_eq(apply_before_partition("0-1"), 0);
        ck_assert_ptr_null(isolate_rival(scratch_fd, PARK_SLICE, &parked, true));
        expect("background.slice", "0-1");
        systemd->after_set = NULL;
        restore_all();
}

/* Parking failed: the plan's CPUs are not those that tasks have. */
TEST(nothing_is_parked)
{
        request("/background.slice", KIND_EFFICIENT);
        parks = false; /* cases are processes of their own */
        ck_assert_int_eq(apply_before_partition("0-2"), 0);
        expect("background.slice", "2-3");
}

/* A cgroup that would have none of the CPUs keeps its unit from the limit. */
TEST_EACH(list_below, lists)
{
        scratch_file("sys/fs/cgroup/background.slice/a.slice/b.service/cpuset.cpus", c->below);
        request("/background.slice", KIND_EFFICIENT);
        ck_assert_int_eq(apply_before_partition("0-3"), 0);
        expect("background.slice", c->limit);
}

TEST(taken_over)
{
        request("/system.slice/game.scope", KIND_CACHE);
        ck_assert_int_eq(apply("0-3"), 0);
        systemd_foreign("game.scope", "3");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(apply("0-3"), -ESTALE);
        request_nothing();
        apply("0-3");
        expect("game.scope", "3");
}

/* The scope ends with its process, before idled hears of either. */
TEST(unit_is_gone)
{
        request("/system.slice/game.scope", KIND_CACHE);
        ck_assert_int_eq(apply("0-3"), 0);
        systemd_gone("game.scope");
        ck_assert_int_eq(apply("0-3"), 0);
        request_nothing();
        ck_assert_int_eq(apply("0-3"), 0);
        ck_assert_ptr_null(knob_find(knobs, &park_kinds_kind, "game.scope"));
}

/* Kinds, then parking, then neither; the child dies anywhere in between. */
static void run_all(void)
{
        apply("1-2");
        request("/background.slice", KIND_EFFICIENT);
        request("/system.slice/game.scope", KIND_CACHE);
        apply("0-2");
        apply("0-3");
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found), 30);
}

UNIT("park-kinds", .setup = setup, .teardown = teardown, .timeout = 60)
