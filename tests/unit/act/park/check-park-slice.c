/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parking by a partition where systemd owns the tree: what it is asked for, what is left when that
 * fails, and what `auto` does then. */
#include "base/file.h"
#include "base/setting-value.h"
#include "fake-slice.h"
#include "ways-of-parking.h"

static void setup(void)
{
        fake_slice_new();
        knobs_begin(scratch_fd, &fake_units);
}

static void *state; /* closed after the test */

static void open_park_as(ParkBackend backend)
{
        char *all[] = { (char *)"*", NULL }, *none[] = { NULL };
        const ParkOptions options = { (int)backend, all, none };

        knobs_context.resets_affinities = fake->old_kernel;
        ck_assert_int_eq(actuator_park.open(&knobs_context, &options, &state), 0);
}

static void close_park(void)
{
        if (state)
                actuator_park.close(state);
        state = NULL;
}

static void teardown(void)
{
        close_park();
        knobs_end();
        fake_slice_done();
}

static int apply_now(const char *allowed)
{
        const Topology topology = { .online = set_of("0-3") };
        const Plan plan = { .allowed = set_of(allowed) };

        return actuator_park.apply(state, knobs, &plan, &(ActFacts){ .topology = &topology });
}

static int apply(const char *allowed)
{
        int r;

        open_park_as(PARK_PARTITION);
        r = apply_now(allowed);
        close_park();
        return r;
}

static void expect_as_found(void)
{
        expect_parked("");
        ck_assert(!fake->group);
        ck_assert(!fake->controller);
        ck_assert(cpuset_equal(&fake->requested, &(CpuSet){ { 0xf } }));
        ck_assert_str_eq(fake_limits[0], "");
        ck_assert_str_eq(fake_limits[1], "");
        ck_assert_int_lt(faccessat(scratch_fd, FAKE_SLICE, F_OK, 0), 0);
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

/* user.slice is given CPUs of its own. */
static void neighbour(const char *cpus)
{
        syscall(SYS_mkdirat, scratch_fd, FAKE_ROOT "user.slice", 0755);
        fake_put(FAKE_ROOT "user.slice/cpuset.cpus", cpus);
        fake_insist(cpus);
}

#define STOPPED "partition=member stop=idledpark.slice unbound=f "

TEST(from_mask_to_mask)
{
        apply_does("0-3", "");
        apply_does("0-1", "unbound=3 start=2-3 partition=isolated ");
        expect_parked("2-3");
        apply_does("0-2", "cpus=3 unbound=7 ");
        apply_does("1", "unbound=2 cpus=0,2-3 ");
        apply_does("1", "");
        expect_parked("0,2-3");
        expect_kept("0-3", "0,2-3");
        apply_does("0-3", "partition=member unbound=f ");
        expect_parked("");
        expect_kept("0-3", ""); /* by the slice that stays, without effect */
        apply_does("0-1", "unbound=3 cpus=2-3 partition=isolated ");
        expect_parked("2-3");
        ck_assert_int_eq(apply("0-3"), 0);
        restore_all();
}

/* While the controller is on, such a kernel resets affinities at every hotplug. */
TEST(nothing_is_kept_if_affinities_are_not)
{
        fake_kernel_6_1();
        fake->controller = false;
        apply_does("0-1", "start=2-3 partition=isolated ");
        apply_does("0-3", "partition=member stop=idledpark.slice ");
        expect_as_found();
}

/* systemd stops the slice itself when our service stops. */
TEST(stopped_by_systemd)
{
        ck_assert_int_eq(apply("0"), 0);
        fake_stop(NULL, "idledpark.slice");
        fake->log[0] = '\0';
        apply_does("0-1", "unbound=3 start=2-3 partition=isolated ");
        fake_stop(NULL, "idledpark.slice");
        fake->log[0] = '\0';
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log("unbound=f ");
        expect_as_found();
}

TEST(restored)
{
        ck_assert_int_eq(apply("0"), 0);
        fake->log[0] = '\0';
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log(STOPPED);
        expect_as_found();
}

/* A neighbour with CPUs of its own comes while they are parked. */
TEST(rival_comes)
{
        open_park_as(PARK_PARTITION);
        ck_assert_int_eq(apply_now("0-1"), 0);
        neighbour("1-2");
        fake->log[0] = '\0';
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(apply_now("0-1"), -EBUSY);
        ck_assert_str_eq(actuator_park.describe(state),
                         "isolated partition idledpark.slice: user.slice has CPUs 1-2 of its own");
        expect_log(STOPPED);
        expect_as_found();
        ck_assert_int_eq(apply_now("0-2"), 0); /* CPU 3 it does not want */
        ck_assert_str_eq(actuator_park.describe(state), "isolated partition idledpark.slice");
        expect_parked("3");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
}

/* The kernel refuses for a reason that cannot be seen in the lists. */
TEST(invalid)
{
        open_park_as(PARK_PARTITION);
        fake_insist("2");
        ck_assert_int_eq(apply_now("0-1"), -EBUSY);
        ck_assert_str_eq(
                actuator_park.describe(state),
                "isolated partition idledpark.slice: idledpark.slice is \"isolated invalid "
                "(Cpu list in cpuset.cpus not exclusive)\"");
        expect_as_found();
}

/* The drop-in of a unit's kind of cores is no knob of parking. */
TEST(auto_despite_kinds)
{
        open_park_as(PARK_AUTO);
        ck_assert_int_ge(knob_set(knobs, &park_dropin_kind, "system.slice", "present"), 0);
        ck_assert_int_ge(knob_set(knobs, &park_kinds_kind, "system.slice", "0-1"), 0);
        neighbour("0-3");
        ck_assert_int_eq(apply_now("0-1"), 0);
        ck_assert(g_str_has_prefix(actuator_park.describe(state), "AllowedCPUs of systemd"));
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
}

TEST(auto_takes_units_then)
{
        open_park_as(PARK_AUTO);
        ck_assert_str_eq(actuator_park.describe(state), "isolated partition idledpark.slice");
        ck_assert(!actuator_park.follows_units(state));
        ck_assert_int_eq(apply_now("0-1"), 0);
        expect_parked("2-3");
        neighbour("0-3");
        fake->log[0] = '\0';
        ck_assert_int_eq(apply_now("0-1"), 0);
        ck_assert_str_eq(actuator_park.describe(state),
                         "AllowedCPUs of systemd's units, not isolated partition idledpark.slice: "
                         "user.slice has CPUs 0-3 of its own");
        ck_assert(actuator_park.follows_units(state));
        ck_assert(g_str_has_prefix(fake->log, STOPPED));
        ck_assert_str_eq(fake_limits[0], "0-1");
        ck_assert_str_eq(fake_limits[1], "0-1");
        ck_assert_int_eq(apply_now("0-3"), 0);
        expect_parked("");
        restore_all();
        ck_assert(actuator_park.follows_units(state)); /* until it is opened again */
}

/* A kernel without isolated partitions refuses the type. */
TEST(auto_takes_units_where_the_type_is_unknown)
{
        open_park_as(PARK_AUTO);
        fake_fail("cpuset.cpus.partition", EINVAL);
        ck_assert_int_eq(apply_now("0-1"), 0);
        ck_assert(g_str_has_prefix(actuator_park.describe(state), "AllowedCPUs of systemd"));
        ck_assert_str_eq(fake_limits[0], "0-1");
        expect_parked("");
        fake_fail("", 0);
        restore_all();
}

/* Another mask costs no call of systemd where the kernel has a list of exclusive CPUs. */
TEST(exclusive)
{
        fake_kernel_6_8(false);
        apply_does("0-1", "unbound=3 start=0-3 exclusive=2-3 partition=isolated ");
        apply_does("0-2", "exclusive=3 unbound=7 ");
        expect_kept("0-3", "3");
        apply_does("0-3", "partition=member exclusive= unbound=f ");
        apply_does("0", "unbound=1 exclusive=1-3 partition=isolated ");
        expect_parked("1-3");
        restore_all();
}

/* Such a kernel may mind a neighbour's list, which is tried once. */
TEST(lists_matter)
{
        fake_kernel_6_8(false);
        open_park_as(PARK_PARTITION);
        neighbour("1-2");
        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(apply_now("0-1"), -EBUSY);
                ck_assert(g_str_has_suffix(actuator_park.describe(state),
                                           "user.slice has CPUs 1-2 of its own"));
                ck_assert_int_eq(*fake->log != '\0', i == 0);
                expect_as_found();
                fake->log[0] = '\0';
        }
}

/* From 7.0 on a neighbour shares, but does not lose its last CPU, and a partition takes silently.
 */
TEST(lists_overlap)
{
        fake_kernel_6_8(true);
        open_park_as(PARK_PARTITION);
        neighbour("1-2");
        ck_assert_int_eq(apply_now("0-1"), 0);
        expect_parked("2-3");
        neighbour("2");
        ck_assert_int_eq(apply_now("0-1"), -EBUSY);
        ck_assert(g_str_has_suffix(actuator_park.describe(state),
                                   "user.slice has CPUs 2 of its own"));
        expect_as_found();
        neighbour("0");
        fake->stripped = set_of("2");
        ck_assert_int_eq(apply_now("0-1"), -EBUSY);
        ck_assert(strstr(actuator_park.describe(state), "idledpark.slice got only \"3\""));
        expect_as_found();
}

/* Early releases of 7.0 lose CPUs for good when partitions overlap: that is said, and nothing else
 * changes. */
TEST(lost)
{
        fake_kernel_6_8(true);
        open_park_as(PARK_PARTITION);
        for (int i = 0; i < 2; i++) {
                fake_put(FAKE_ROOT "cpuset.cpus.effective", i == 0 ? "0-1\n" : "0\n");
                ck_assert_int_eq(apply_now("0-1"), 0);
                expect_parked("2-3");
                ck_assert_int_eq(strstr(actuator_park.describe(state), "lost CPUs 1 ") != NULL, i);
        }
        knobs_restore(knobs, NULL, NULL);
}

/* A scheduler of sched_ext has all CPUs as long as it is loaded, unless a way is named. */
TEST(auto_leaves_cpus_to_a_scheduler)
{
        scratch_file("sys/kernel/sched_ext/state", "disabled\n");
        scratch_file("sys/kernel/sched_ext/root/ops", "lavd\n");
        open_park_as(PARK_AUTO);
        ck_assert(strstr(actuator_park.describe(state), "refuse to load schedulers"));
        ck_assert_int_eq(apply_now("0-1"), 0);
        expect_parked("2-3");
        scratch_file("sys/kernel/sched_ext/state", "enabled\n");
        ck_assert_int_eq(apply_now("0-1"), ACTUATOR_YIELDS);
        ck_assert(strstr(actuator_park.describe(state), "scheduler lavd is loaded"));
        expect_parked("");
        scratch_file("sys/kernel/sched_ext/state", "disabled\n");
        ck_assert_int_eq(apply_now("0-1"), 0);
        expect_parked("2-3");
        knobs_restore(knobs, NULL, NULL);
        expect_as_found();
}

TEST(a_named_way_parks_in_spite_of_a_scheduler)
{
        scratch_file("sys/kernel/sched_ext/state", "enabled\n");
        ck_assert_int_eq(apply("0-1"), 0);
        expect_parked("2-3");
        knobs_restore(knobs, NULL, NULL);
}

/* A systemd that does not answer would not do anything else either. */
TEST(auto_stays_while_systemd_is_silent)
{
        open_park_as(PARK_AUTO);
        fake_bus_error = -ETIMEDOUT;
        ck_assert_int_eq(apply_now("0-1"), -ETIMEDOUT);
        fake_bus_error = 0;
        ck_assert_str_eq(actuator_park.describe(state), "isolated partition idledpark.slice");
        ck_assert_int_eq(apply_now("0-1"), 0);
        fake_bus_error = -ENOTCONN;
        ck_assert_int_lt(apply_now("0-2"), 0);
        expect_parked(""); /* this much is ours to restore */
        ck_assert_int_lt(knobs_restore(knobs, NULL, NULL), 0);
        fake_bus_error = 0;
        restore_all();
}

/* A record that cannot be written, as in a full /run, is no fault of the way. */
TEST(auto_stays_while_nothing_can_be_recorded)
{
        open_park_as(PARK_AUTO);
        ck_assert_int_eq(syscall(SYS_mkdirat, scratch_fd, "undo", 0755), 0);
        ck_assert_int_lt(apply_now("0-1"), 0);
        ck_assert_str_eq(actuator_park.describe(state), "isolated partition idledpark.slice");
        expect_parked("");
        ck_assert_int_eq(syscall(SYS_unlinkat, scratch_fd, "undo", AT_REMOVEDIR), 0);
        ck_assert_int_eq(apply_now("0-1"), 0);
        expect_parked("2-3");
        knobs_restore(knobs, NULL, NULL);
        expect_as_found();
}

TEST(dry_run)
{
        knobs_free(knobs);
        knobs = knobs_new(&knobs_context, scratch_fd, true);
        ck_assert_int_eq(apply("0"), 0);
        apply_does("0-3", "");
        expect_as_found();
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

static void expect_as_found_and_forget(void)
{
        expect_as_found();
        fake->log[0] = '\0';
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found_and_forget), 50);
}

TEST(killed_anywhere_on_6_1)
{
        fake_kernel_6_1();
        fake->controller = false;
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found_and_forget), 50);
}

TEST(killed_anywhere_on_6_8)
{
        fake_kernel_6_8(false);
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found_and_forget), 50);
}

UNIT("park-slice", .setup = setup, .teardown = teardown, .timeout = 60)
