/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by units: what is asked of systemd, and that every limit found comes back.
 */
#include "fake-systemd.h"
#include "ways-of-parking.h"

static void setup(void)
{
        systemd_new(&systemd_control);
        systemd_unit("init.scope", "-.slice", "");
        systemd_unit("system.slice", "-.slice", "");
        systemd_unit("user.slice", "-.slice", "");
        systemd_unit("batch.slice", "-.slice", "2-3");
        systemd_unit("sshd.service", "system.slice", "");
        systemd_unit("cron.service", "system.slice", "");
        systemd_unit("user-0.slice", "user.slice", "");
        systemd_unit("session-1.scope", "user-0.slice", "");
        systemd_unit("user@0.service", "user-0.slice", "1");
}

static int apply_with(const char *allowed, const char *units, const char *exclude)
{
        systemd->listed = 0;
        return park_by(&park_systemd, allowed, &four_cpus, units, exclude, NULL);
}

static int apply(const char *allowed)
{
        return apply_with(allowed, "*", "");
}

static void expect_log(const char *expected)
{
        ck_assert_str_eq(systemd->log, expected);
        systemd->log[0] = '\0';
}

static void expect_as_found(void)
{
        for (int i = 0; i < systemd->n; i++) {
                const char *found = g_str_equal(systemd->units[i].name, "batch.slice")      ? "2-3"
                                    : g_str_equal(systemd->units[i].name, "user@0.service") ? "1"
                                                                                            : "";
                g_autofree char *text = cpuset_format(&systemd->units[i].allowed);

                ck_assert_msg(systemd->units[i].gone || g_str_equal(text, found), "%s has %s",
                              systemd->units[i].name, text);
        }
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

TEST(all_top_level_units)
{
        apply_does("0-3", "");
        apply_does("0-2",
                   "init.scope=0-2 system.slice=0-2 user.slice=0-2 "); /* batch.slice has its own */
        ck_assert_int_eq(systemd->listed, 2); /* one of them when it is opened */
        apply_does("0-2", "");
        apply_does("1", "init.scope=1 system.slice=1 user.slice=1 ");
        expect_kept("0-3", "0,2-3");
        ck_assert_int_eq(apply("0-3"), 0);
        expect_kept("0-3", "");
        /* An empty list would be refused, which systemd logs, with each change. */
        expect_log("init.scope=0-3 system.slice=0-3 user.slice=0-3 ");
        apply_does("0-3", "");
        apply_does("0-1", "init.scope=0-1 system.slice=0-1 user.slice=0-1 ");
        apply_does("0-3", "init.scope=0-3 system.slice=0-3 user.slice=0-3 ");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log("user.slice= system.slice= init.scope= ");
        expect_as_found();
}

#define USER_LIST "sys/fs/cgroup/user.slice/cpuset.cpus"

/* After the first call systemd starts a scope in a slice whose new list it does not have yet. */
static void start_scope(const char *name)
{
        g_autofree char *text = NULL;

        if (g_str_equal(name, "init.scope"))
                scratch_file(USER_LIST, "0-1\n");
        if (!g_str_equal(name, "user.slice"))
                return;
        text = scratch_text(USER_LIST);
        ck_assert_str_eq(g_strstrip(text), "0-3");
}

/* CPUs that come back are in the group of a slice, also if systemd writes its old list meanwhile.
 */
TEST(old_list_written_again)
{
        scratch_file(USER_LIST, "0-3\n");
        ck_assert_int_eq(apply("0-1"), 0);
        scratch_file(USER_LIST, "0-1\n");
        systemd->after_set = start_scope;
        ck_assert_int_eq(apply("0-3"), 0);
        systemd->after_set = NULL;
        restore_all();
}

/* Each is given all CPUs before its limit is taken away. */
TEST(restored)
{
        ck_assert_int_eq(apply("0,3"), 0);
        systemd->log[0] = '\0';
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log("user.slice=0-3 user.slice= system.slice=0-3 system.slice= "
                   "init.scope=0-3 init.scope= ");
        expect_as_found();
}

static const struct {
        const char *name, *units, *exclude, *log, *kept;
} selections[] = {
        { "one excluded", "*", "init.scope", "system.slice=0 user.slice=0 ", "1-3" },
        { "glob", "*", "*.slice", "init.scope=0 ", "1-3" },
        { "inside a slice", "*", "sshd.service", "init.scope=0 cron.service=0 user.slice=0 ",
          "1-3" },
        { "deep inside", "*", "session-*.scope", "init.scope=0 system.slice=0 ", "1-3" },
        { "only one", "user.slice", "", "user.slice=0 ", "1-3" },
        { "only one inside", "cron.service", "", "cron.service=0 ", "1-3" },
        { "one and not its child", "system.slice", "cron.*", "sshd.service=0 ", "1-3" },
        { "no unit", "absent.slice", "", "", "" },
        { "all excluded", "*", "*", "", "" },
        { "one that has CPUs of its own", "batch.slice", "", "", "" },
};

TEST_EACH(selection, selections)
{
        ck_assert_int_eq(apply_with("0", c->units, c->exclude), 0);
        ck_case(c->name, g_str_equal(systemd->log, c->log), "%s", systemd->log);
        expect_kept("0-3", c->kept);
        restore_all();
}

TEST(units_that_come_and_go)
{
        ck_assert_int_eq(apply("0"), 0);
        systemd->log[0] = '\0';
        systemd_unit("late.slice", "-.slice", "");
        systemd_gone("user.slice");
        apply_does("0", "late.slice=0 ");
        ck_assert_ptr_null(knob_find(knobs, &park_unit_kind, "user.slice"));
        restore_all();
}

TEST(limit_changed_by_the_administrator_stays)
{
        ck_assert_int_eq(apply("0"), 0);
        systemd_foreign("user.slice", "1-2");
        ck_assert_int_eq(apply("0-1"), -ESTALE);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "user.slice")->state, KNOB_FOREIGN);
        systemd->log[0] = '\0';
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_log("system.slice=0-3 system.slice= init.scope=0-3 init.scope= ");
        systemd_foreign("user.slice", "");
        expect_as_found();
}

/* An administrator may also remove our limit. A unit that was started again has none either; idled
 * recognises it by its new cgroup. */
TEST_RANGE(limit_taken_away, 0, 2)
{
        scratch_file("sys/fs/cgroup/user.slice/cgroup.procs", "");
        scratch_file("sys/fs/cgroup/another/cgroup.procs", "");
        ck_assert_int_eq(apply("0-2"), 0);
        systemd_find("system.slice")->allowed = set_of("");
        systemd_find("user.slice")->allowed = set_of("");
        if (_i)
                ck_assert_int_eq(renameat2(scratch_fd, "sys/fs/cgroup/another", scratch_fd,
                                           "sys/fs/cgroup/user.slice", RENAME_EXCHANGE),
                                 0);
        ck_assert_int_eq(apply("0-1"), -ESTALE);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "system.slice")->state, KNOB_FOREIGN);
        ck_assert(cpuset_is_empty(&systemd_find("system.slice")->allowed));
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "user.slice")->state,
                         _i ? KNOB_OURS : KNOB_FOREIGN);
        ck_assert(cpuset_is_empty(&systemd_find("user.slice")->allowed) == !_i);
        knobs_restore(knobs, NULL, NULL);
        expect_as_found();
}

/* systemd says "done", the kernel has refused. */
TEST(limit_not_effective)
{
        systemd_find("system.slice")->refused = true;
        ck_assert_int_eq(apply("0"), -EPERM);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "system.slice")->state, KNOB_FAILED);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "user.slice")->state, KNOB_OURS);
        expect_kept("0-3", "1-3");
        restore_all();
}

/* systemd does not answer: what was parked before still is, and nothing else. */
TEST(no_answer)
{
        const ParkOptions options = { .units = (char *[]){ (char *)"*", NULL },
                                      .exclude = (char *[]){ NULL } };
        const Topology topology = { .online = set_of("0-3") };
        CpuSet fewer = set_of("0-1");
        void *state;

        ck_assert_int_eq(apply("0-2"), 0);
        ck_assert_int_eq(park_systemd.open(&knobs_context, &options, &state), 0);
        systemd->error = -ETIMEDOUT;
        ck_assert_int_eq(park_systemd.apply(state, knobs, &fewer, &topology), -ETIMEDOUT);
        expect_kept("0-3", "3");
        systemd->error = 0;
        ck_assert_int_eq(park_systemd.apply(state, knobs, &fewer, &topology), 0);
        expect_kept("0-3", "2-3");
        park_systemd.close(state);
        restore_all();
}

TEST(bus_vanishes)
{
        void *state;

        ck_assert_int_eq(apply("0"), 0);
        systemd->error = -ENOTCONN;
        ck_assert_int_eq(park_systemd.open(&knobs_context, NULL, &state), -EOPNOTSUPP);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -ENOTCONN);
        systemd->error = 0;
        ck_assert_int_eq(apply("0-1"), 0);
        restore_all();
}

TEST(without_systemd)
{
        const ActContext c = { .root = scratch_fd };
        g_autofree char *value = NULL;
        void *state;

        ck_assert_int_eq(park_systemd.open(&c, NULL, &state), -EOPNOTSUPP);
        ck_assert_int_eq(park_unit_kind.read(&c, "user.slice", &value), -ENOTCONN);
        ck_assert_int_eq(park_unit_kind.write(&c, "user.slice", "0"), -ENOTCONN);
}

static void run_all(void)
{
        apply("0-2");
        apply("1");
        apply("0-3");
        apply("2");
        knobs_restore(knobs, NULL, NULL);
}

static void expect_as_found_and_forget(void)
{
        expect_as_found();
        systemd->log[0] = '\0';
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found_and_forget), 100);
}

UNIT("park-systemd", .setup = setup, .teardown = systemd_done, .timeout = 60)
