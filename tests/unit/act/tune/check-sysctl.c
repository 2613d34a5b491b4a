/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Housekeeping of the kernel that wakes CPUs: intervals, unbound workqueues. */
#include "quieting.h"

/* Values here have as many digits as those they replace, where a knob is no file of its own kind: a
 * plain file keeps what is behind them. */
#define STAT      "proc/sys/vm/stat_interval"
#define WRITEBACK "proc/sys/vm/dirty_writeback_centisecs"
#define CHECK     "sys/devices/system/machinecheck/machinecheck0/check_interval"
#define MASK      "sys/devices/virtual/workqueue/cpumask"

static HousekeepingOptions own_options;

static void setup(void)
{
        tuning_setup();
        own_options.manage = true;
        scratch_file(STAT, "1\n");
        scratch_file(WRITEBACK, "500\n");
        scratch_file(CHECK, "300\n");
        scratch_file(MASK, "f\n");
        tuning_start(&actuator_sysctl, &own_options);
        rest_cpus("2-3");
}

static void request_all(void)
{
        plan.quiet = (QuietWish){ true, true, 60, 1800, 1500 };
}

static void request_nothing(void)
{
        plan.quiet = (QuietWish){ 0 };
}

static void apply_all(void)
{
        request_all();
        ck_assert_int_eq(apply(), 0);
}

static void apply_nothing(void)
{
        request_nothing();
        ck_assert_int_eq(apply(), 0);
}

static void expect_originals(const char *where)
{
        expect_text(where, STAT, "1");
        expect_text(where, WRITEBACK, "500");
        expect_text(where, CHECK, "300");
        expect_text(where, MASK, "f");
}

TEST(all)
{
        apply_all();
        expect_text("all", STAT, "60");
        expect_text("all", WRITEBACK, "1500");
        expect_text("all", CHECK, "1800");
        expect_text("all", MASK, "3");
        ck_assert_uint_eq(knobs_writes(knobs), 4);
        ck_assert_int_eq(apply(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), 4);
        apply_nothing();
        expect_originals("nothing requested");
        ck_assert(!record_exists());
}

static const struct {
        const char *name, *path, *found, *then;
} values[] = {
        { "longer already", STAT, "120", "120" },
        { "as long", STAT, "60", "60" },
        { "writeback is off", WRITEBACK, "0", "0" },
        { "no polling", CHECK, "0", "0" },
        { "nonsense", STAT, "?", "?" },
        { "one CPU of the mask", MASK, "4", "3" },
        { "other CPUs", MASK, "1", "1" },
        { "no mask", MASK, "hello", "hello" },
};

TEST_EACH(value, values)
{
        g_autofree char *line = g_strconcat(c->found, "\n", NULL);

        scratch_file(c->path, line);
        apply_all();
        expect_text(c->name, c->path, c->then);
        apply_nothing();
        expect_text(c->name, c->path, c->found);
        ck_assert(!record_exists());
}

/* The kernel shows what was asked for. */
static void show_requested(void)
{
        g_autofree char *mask = scratch_text(MASK);

        scratch_file(MASK "_requested", mask);
}

/* Where the kernel takes isolated CPUs out itself, the mask that was asked for is the original. */
TEST(requested_mask)
{
        scratch_file(MASK "_requested", "f\n");
        scratch_file(MASK, "3\n");
        plan.quiet.workqueues = true;
        tuning_moves = show_requested;
        ck_assert_int_eq(apply(), 0);
        expect_text("without parked CPUs", MASK, "3");
        tuning_moves = show_requested;
        restore(knobs);
        expect_text("as requested", MASK, "f");
}

TEST(not_managed)
{
        own_options.manage = false;
        reopen();
        apply_all();
        expect_originals("not managed");
        ck_assert(strstr(actuator_sysctl.describe(state), "Manage="));
}

static void drop_path(const char *path)
{
        g_autofree char *whole = g_build_filename(scratch, path, NULL);

        ck_assert_int_eq(unlink(whole), 0);
}

TEST(missing)
{
        g_autofree char *dir = g_build_filename(
                scratch, "sys/devices/system/machinecheck/machinecheck0", NULL);
        const ActContext context = { .root = scratch_fd };
        void *nothing = NULL;

        drop_path(CHECK);
        ck_assert_int_eq(rmdir(dir), 0);
        drop_path(MASK);
        reopen();
        ck_assert(strstr(actuator_sysctl.describe(state), "does not have: unbound workqueues, "
                                                          "machine checks"));
        apply_all();
        expect_text("the rest", STAT, "60");
        restore(knobs);
        drop_path(STAT);
        drop_path(WRITEBACK);
        ck_assert_int_eq(actuator_sysctl.open(&context, &own_options, &nothing), -ENOENT);
}

static const int write_errors[] = { EIO, ENOSPC, EROFS, EINVAL };

/* One that fails is an error; the machine is as before. */
TEST_EACH(failing, write_errors)
{
        request_all();
        tuning_refusal = write_errors[_i];
        ck_assert_int_eq(apply(), -write_errors[_i]);
        tuning_refusal = 0;
        expect_originals("refused");
        ck_assert(!record_exists());
        ck_assert_int_eq(apply(), 0);
        expect_text("again", STAT, "60");
}

TEST(drift)
{
        apply_all();
        scratch_file(STAT, "7\n");
        scratch_file(CHECK, "300\n"); /* the original, but by another program */
        knobs_verify(knobs);
        ck_assert_int_eq(knob_find(knobs, actuator_sysctl.kinds[0], "vm/stat_interval")->state,
                         KNOB_FOREIGN);
        ck_assert_int_eq(
                knob_find(knobs, actuator_sysctl.kinds[1], "machinecheck0/check_interval")->state,
                KNOB_FOREIGN);
        ck_assert_int_eq(apply(), 0);
        expect_text("taken over", STAT, "7");
        expect_text("taken over", CHECK, "300");
        restore(knobs);
        expect_text("taken over", STAT, "7");
        expect_text("ours", WRITEBACK, "500");
}

static void change_over(void)
{
        request_all();
        apply();
        request_nothing();
        apply();
}

TEST(killed)
{
        int n;

        for (n = 0; killed_at(n, change_over); n++) {
                recover_all(actuator_sysctl.kinds);
                expect_originals("killed");
        }
        ck_assert_int_gt(n, 6);
}

UNIT("sysctl", .setup = setup, .teardown = tuning_teardown)
