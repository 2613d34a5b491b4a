/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by units: what is asked of systemd, and that every limit found comes back.
 */
#include "fake-systemd.h"
#include "park-kept.h"
#include "park-killed.h"
#include "scratch.h"

static void setup(void)
{
        scratch_open();
        scratch_file("sys/devices/system/cpu/possible", "0-3\n");
        systemd_new();
        park_units = &systemd_control;
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

static void teardown(void)
{
        systemd_done();
        scratch_close();
}

static int apply_with(Knobs *knobs, const char *allowed, const char *units, const char *exclude)
{
        g_auto(GStrv) unit_globs = g_strsplit(units, " ", 0),
                      exclude_globs = g_strsplit(exclude, " ", 0);
        const ParkOptions options = { .units = unit_globs, .exclude = exclude_globs };
        const Topology topology = { .online = cpus_of("0-3") };
        const ActContext c = park_context();
        CpuSet set = cpus_of(allowed);
        void *state;
        int r;

        ck_assert_int_eq(park_systemd.open(&c, &options, &state), 0);
        systemd->listed = 0;
        r = park_systemd.apply(state, knobs, &set, &topology);
        park_systemd.close(state);
        return r;
}

static int apply(Knobs *knobs, const char *allowed)
{
        return apply_with(knobs, allowed, "*", "");
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
        g_autoptr(Knobs) knobs = park_open_knobs();

        apply_does(knobs, "0-3", "");
        apply_does(knobs, "0-2",
                   "init.scope=0-2 system.slice=0-2 user.slice=0-2 "); /* batch.slice has its own */
        ck_assert_int_eq(systemd->listed, 1);
        apply_does(knobs, "0-2", "");
        apply_does(knobs, "1", "init.scope=1 system.slice=1 user.slice=1 ");
        expect_kept(knobs, "0-3", "0,2-3");
        ck_assert_int_eq(apply(knobs, "0-3"), 0);
        expect_kept(knobs, "0-3", "");
        /* An empty list would be refused, which systemd logs, with each change. */
        expect_log("init.scope=0-3 system.slice=0-3 user.slice=0-3 ");
        apply_does(knobs, "0-3", "");
        apply_does(knobs, "0-1", "init.scope=0-1 system.slice=0-1 user.slice=0-1 ");
        apply_does(knobs, "0-3", "init.scope=0-3 system.slice=0-3 user.slice=0-3 ");
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
        g_autoptr(Knobs) knobs = park_open_knobs();

        scratch_file(USER_LIST, "0-3\n");
        ck_assert_int_eq(apply(knobs, "0-1"), 0);
        scratch_file(USER_LIST, "0-1\n");
        systemd->after_set = start_scope;
        ck_assert_int_eq(apply(knobs, "0-3"), 0);
        systemd->after_set = NULL;
        restore_all(knobs);
}

/* Each is given all CPUs before its limit is taken away. */
TEST(restored)
{
        g_autoptr(Knobs) knobs = park_open_knobs();

        ck_assert_int_eq(apply(knobs, "0,3"), 0);
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
        g_autoptr(Knobs) knobs = park_open_knobs();
        ck_assert_int_eq(apply_with(knobs, "0", c->units, c->exclude), 0);
        ck_case(c->name, g_str_equal(systemd->log, c->log), "%s", systemd->log);
        expect_kept(knobs, "0-3", c->kept);
        restore_all(knobs);
}

TEST(units_that_come_and_go)
{
        g_autoptr(Knobs) knobs = park_open_knobs();

        ck_assert_int_eq(apply(knobs, "0"), 0);
        systemd->log[0] = '\0';
        systemd_unit("late.slice", "-.slice", "");
        systemd_gone("user.slice");
        apply_does(knobs, "0", "late.slice=0 ");
        ck_assert_ptr_null(knob_find(knobs, &park_unit_kind, "user.slice"));
        restore_all(knobs);
}

TEST(limit_changed_by_the_administrator_stays)
{
        g_autoptr(Knobs) knobs = park_open_knobs();

        ck_assert_int_eq(apply(knobs, "0"), 0);
        systemd_foreign("user.slice", "1-2");
        ck_assert_int_eq(apply(knobs, "0-1"), -ESTALE);
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
        g_autoptr(Knobs) knobs = park_open_knobs();

        scratch_file("sys/fs/cgroup/user.slice/cgroup.procs", "");
        scratch_file("sys/fs/cgroup/another/cgroup.procs", "");
        ck_assert_int_eq(apply(knobs, "0-2"), 0);
        systemd_find("system.slice")->allowed = cpus_of("");
        systemd_find("user.slice")->allowed = cpus_of("");
        if (_i)
                ck_assert_int_eq(renameat2(scratch_fd, "sys/fs/cgroup/another", scratch_fd,
                                           "sys/fs/cgroup/user.slice", RENAME_EXCHANGE),
                                 0);
        ck_assert_int_eq(apply(knobs, "0-1"), -ESTALE);
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
        g_autoptr(Knobs) knobs = park_open_knobs();

        systemd_refuses("system.slice", true);
        ck_assert_int_eq(apply(knobs, "0"), -EPERM);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "system.slice")->state, KNOB_FAILED);
        ck_assert_int_eq(knob_find(knobs, &park_unit_kind, "user.slice")->state, KNOB_OURS);
        expect_kept(knobs, "0-3", "1-3");
        restore_all(knobs);
}

/* systemd does not answer: what was parked before still is, and nothing else. */
TEST(no_answer)
{
        g_autoptr(Knobs) knobs = park_open_knobs();
        const ParkOptions options = { .units = (char *[]){ (char *)"*", NULL },
                                      .exclude = (char *[]){ NULL } };
        const Topology topology = { .online = cpus_of("0-3") };
        const ActContext c = park_context();
        CpuSet fewer = cpus_of("0-1");
        void *state;

        ck_assert_int_eq(apply(knobs, "0-2"), 0);
        ck_assert_int_eq(park_systemd.open(&c, &options, &state), 0);
        systemd->error = -ETIMEDOUT;
        ck_assert_int_eq(park_systemd.apply(state, knobs, &fewer, &topology), -ETIMEDOUT);
        expect_kept(knobs, "0-3", "3");
        systemd->error = 0;
        ck_assert_int_eq(park_systemd.apply(state, knobs, &fewer, &topology), 0);
        expect_kept(knobs, "0-3", "2-3");
        park_systemd.close(state);
        restore_all(knobs);
}

TEST(bus_vanishes)
{
        g_autoptr(Knobs) knobs = park_open_knobs();
        const ActContext c = park_context();
        void *state;

        ck_assert_int_eq(apply(knobs, "0"), 0);
        systemd->error = -ENOTCONN;
        ck_assert_int_eq(park_systemd.open(&c, NULL, &state), -EOPNOTSUPP);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -ENOTCONN);
        systemd->error = 0;
        ck_assert_int_eq(apply(knobs, "0-1"), 0);
        restore_all(knobs);
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
        g_autoptr(Knobs) knobs = park_open_knobs();

        apply(knobs, "0-2");
        apply(knobs, "1");
        apply(knobs, "0-3");
        apply(knobs, "2");
        knobs_restore(knobs, NULL, NULL);
}

static void expect_as_found_and_forget(void)
{
        expect_as_found();
        systemd->log[0] = '\0';
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(kill_everywhere(run_all, park_open_knobs, expect_as_found_and_forget),
                         100);
}

UNIT("park-systemd", .setup = setup, .teardown = teardown, .timeout = 60)
