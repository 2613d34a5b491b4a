/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parking by a partition: what is written, in which order, and what is left when it fails. */
#include "base/file.h"
#include "fake-partition.h"
#include "ways-of-parking.h"

/* `expected`: how it then describes itself; NULL: no matter. */
static int apply_saying(const char *allowed, const char *expected)
{
        return park_by(&park_partition, allowed, &four_cpus, "*", "", expected);
}

static int apply(const char *allowed)
{
        return apply_saying(allowed, NULL);
}

static void expect_as_found(bool controller)
{
        expect_parked("");
        ck_assert(!fake->group);
        ck_assert(cpuset_equal(&fake->requested, &(CpuSet){ { 0xf } }));
        ck_assert_int_eq(fake->controller, controller);
        ck_assert_int_lt(faccessat(scratch_fd, FAKE_GROUP, F_OK, 0), 0);
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

static void setup(void)
{
        fake_new();
        knobs_begin(scratch_fd, NULL);
}

static void teardown(void)
{
        knobs_end();
        fake_done();
}

#define MADE      "subtree_control=+cpuset parked=mkdir "
#define DISSOLVED "partition=member cpus= parked=rmdir subtree_control=-cpuset "

/* What the world is like without idled. */
#define WORK "unbound=f "

TEST(from_mask_to_mask)
{
        apply_does("0-3", "");
        apply_does("0-1", "unbound=3 " MADE "cpus=2-3 partition=isolated ");
        expect_parked("2-3");
        expect_kept("0-3", "2-3");
        apply_does("0-2", "cpus=3 unbound=7 ");
        apply_does("1", "unbound=2 cpus=0,2-3 ");
        apply_does("1", "");
        expect_parked("0,2-3");
        apply_does("0-3", DISSOLVED WORK);
        expect_as_found(false);
}

/* A controller that another program switched on stays on. */
TEST(controller_of_others_stays)
{
        fake->controller = true;
        fake_show(true);
        apply_does("0", "unbound=1 parked=mkdir cpus=1-3 partition=isolated ");
        apply_does("0-3", "partition=member cpus= parked=rmdir " WORK);
        expect_as_found(true);
}

/* Unparked CPUs get their scheduling domain, without a moment in which all are unparked. */
TEST(domains_are_rebuilt_where_needed)
{
        fake_kernel_6_1();
        apply_does("0", "parked=mkdir cpus=1-3 partition=isolated ");
        apply_does("0-2", "cpus=3 partition=root partition=isolated ");
        ck_assert(cpuset_has(&fake->domains, 1) && cpuset_has(&fake->domains, 2));
        apply_does("0-1", "cpus=2-3 "); /* parking more needs none */
        apply_does("1", "cpus=0,2-3 ");
        restore_all(true);
}

/* A neighbour wants a parked CPU: the kernel gives it all, and we leave nothing lying about. */
TEST(invalid_is_dissolved)
{
        fake_insist("0-3");
        ck_assert_int_eq(apply("0-1"), -EBUSY);
        expect_as_found(false);
        fake_insist("0-1");
        ck_assert_int_eq(apply("0-1"), 0);
        expect_parked("2-3");
        fake_insist("0-2");
        ck_assert_int_eq(apply("0-1"), -EBUSY);
        expect_kept("0-3", "");
        expect_as_found(false);
        ck_assert_int_eq(apply("0-2"), 0);
        expect_parked("3");
        ck_assert_int_eq(apply("0-3"), 0);
        expect_as_found(false);
}

TEST(restored)
{
        ck_assert_int_eq(apply("0"), 0);
        fake->log[0] = '\0';
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log(DISSOLVED WORK);
        expect_as_found(false);
}

TEST(never_all)
{
        ck_assert_int_eq(apply("0"), 0);
        fake->log[0] = '\0';
        ck_assert_int_eq(apply(""), -EINVAL);
        expect_log("");
        restore_all(false);
}

static const struct {
        const char *name, *file;
        int error;
} faults[] = {
        { "controller busy", "subtree_control", EBUSY },
        { "controller denied", "subtree_control", EACCES },
        { "list refused", "cpuset.cpus", EINVAL },
        { "list EIO", "cpuset.cpus", EIO },
        { "type refused", "partition", EINVAL },
};

TEST_EACH(fault, faults)
{
        int r;

        fake_fail(c->file, c->error);
        r = apply("0-1");
        ck_case(c->name, r == -c->error, "returned %d", r);
        expect_as_found(false);
        fake_fail("", 0);
        ck_assert_int_eq(apply("0-1"), 0);
        expect_parked("2-3");
        fake_fail(c->file, c->error);
        r = apply("0-2"); /* only the list is written; if it fails all is restored */
        fake_fail("", 0);
        if (g_str_equal(c->file, "cpuset.cpus"))
                ck_case(c->name, r == -c->error, "then returned %d", r);
        restore_all(false);
}

#define ABOUT "isolated partition /" FAKE_GROUP

/* Workqueues as another program left them, before CPUs 2-3 are parked. */
static const struct {
        const char *name, *mask, *isolated, *log, *about;
} works[] = {
        { "elsewhere", "3", "", "", ABOUT },
        { "on one of them", "6", "", "unbound=2 ", ABOUT },
        { "only there", "c", "", "unbound=3 ", ABOUT },
        { "CPU 1 isolated at boot", "d", "1", "unbound=1 ", ABOUT },
        { "CPU 1 in another partition", "f", "1", NULL, ABOUT ": another program isolates CPUs 1" },
};

TEST_EACH(work_of_others, works)
{
        g_autofree char *log = c->log ? g_strconcat(c->log, "parked=mkdir cpus=2-3 ",
                                                    "partition=isolated ", NULL)
                                      : g_strdup("");
        CpuSet found;
        int r;

        fake->controller = true;
        fake_set_unbound(c->mask);
        fake_isolate_others(c->isolated);
        found = fake->requested;
        r = apply_saying("0-1", c->about);
        ck_case(c->name, r == (c->log ? 0 : -EBUSY), "returned %d", r);
        ck_case(c->name, g_str_equal(fake->log, log), "did %s", fake->log);
        ck_assert_int_eq(apply("0-3"), 0);
        expect_parked("");
        ck_case(c->name, cpuset_equal(&fake->requested, &found), "the mask is another");
}

/* Unbound work cannot leave all CPUs, so that none are parked for a moment. */
TEST(all_others)
{
        fake->controller = true;
        fake_show(true);
        ck_assert_int_eq(apply("0-1"), 0);
        fake->log[0] = '\0';
        apply_does("2-3", "partition=member unbound=c cpus=0-1 partition=isolated ");
        ck_assert_int_eq(apply("0-3"), 0);
        expect_as_found(true);
}

/* Another program changes the mask while CPUs are parked. */
TEST(work_is_taken_over)
{
        fake->controller = true;
        fake_show(true);
        ck_assert_int_eq(apply("0-1"), 0);
        fake_set_unbound("1");
        fake_show(true);
        fake->log[0] = '\0';
        ck_assert_int_eq(apply_saying("0-2", ABOUT), 0);
        expect_log("cpus=3 ");
        fake_set_unbound("f");
        fake_put_mask(FAKE_WORK, &fake->unbound); /* nothing else that the kernel would do yet */
        fake_put_mask(FAKE_WORK "_requested", &fake->requested);
        ck_assert_int_eq(apply_saying("0-1",
                                      ABOUT ": another program lets unbound workqueues run on "
                                            "CPUs 2-3"),
                         -EBUSY);
        expect_log("partition=member cpus= parked=rmdir ");
        expect_as_found(true);
}

TEST(work_stays)
{
        fake->controller = true;
        fake_show(true);
        fake_fail("unbound", EROFS);
        ck_assert_int_eq(apply_saying("0-1", ABOUT ": Failed to write /" FAKE_WORK
                                                   ": Read-only file system"),
                         -EROFS);
        expect_log("");
        expect_as_found(true);
}

TEST(dry_run)
{
        knobs_free(knobs);
        knobs = knobs_new(&knobs_context, scratch_fd, true);
        ck_assert_int_eq(apply("0"), 0);
        apply_does("0-3", "");
        expect_as_found(false);
}

static const struct {
        const char *name, *controllers, *units, *exclude;
        bool on;
        int error;
} open_cases[] = {
        { "usable", "cpuset cpu", "*", NULL, false, 0 },
        { "no cpuset here", "cpu io", "*", NULL, false, -EOPNOTSUPP },
        { "on already", "cpuset cpu", "*", NULL, true, 0 },
        { "only some units", "cpuset cpu", "user.slice", NULL, false, -EOPNOTSUPP },
        { "not for all", "cpuset cpu", "*", "init.scope", false, -EOPNOTSUPP },
};

TEST_EACH(opens, open_cases)
{
        char *units[] = { (char *)c->units, NULL }, *exclude[] = { (char *)c->exclude, NULL };
        const ParkOptions some = { .units = units, .exclude = exclude };
        void *state = NULL;
        int r;

        fake->controller = c->on;
        fake_show(true);
        fake_put(FAKE_ROOT "cgroup.controllers", c->controllers);
        r = park_partition.open(&knobs_context, &some, &state);
        ck_case(c->name, r == c->error, "returned %d, expected %d", r, c->error);
        if (r == 0)
                park_partition.close(state);
        expect_log("");
}

static void run_all(void)
{
        apply("0-1");
        apply("0-2");
        apply("0-3");
        apply("0");
        apply("0-2");
        knobs_restore(knobs, NULL, NULL);
}

static void expect_without_controller(void)
{
        expect_as_found(false);
}

static void expect_with_controller(void)
{
        expect_as_found(true);
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_without_controller), 90);
}

TEST(killed_anywhere_on_6_1)
{
        fake_kernel_6_1();
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_with_controller), 90);
}

UNIT("park-partition", .setup = setup, .teardown = teardown, .timeout = 60)
