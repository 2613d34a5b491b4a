/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs whose instance died, wherever it was: the next one finds them on record and restores them
 * exactly, and dies at it as well.
 */
#include "knob-fixture.h"

TEST(found_by_the_next_instance)
{
        g_autofree char *report = NULL;
        int skipped;

        set("a", "0");
        set("b", "0");
        set("b", "1");
        set("c", "0");
        mock_foreign("c", "2");
        knobs_renew();
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 3);
        ck_assert_int_eq(skipped, 0);
        ck_assert_str_eq(find("b")->original, "0-7");
        ck_assert_str_eq(find("b")->ours, "1");
        report = recover_and_restore();
        ck_assert_str_eq(report, "c 2 Stale file handle; b 1 ok; a 0 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert_str_eq(mock_value("c"), "2");
        ck_assert(!record_exists());
}

/* What an instance before us could not restore is restored by us at the end. */
TEST(peer_defect_9_recovered_knobs_keep_their_original)
{
        int skipped;

        set("a", "0");
        knobs_renew();
        ck_assert_int_eq(set("a", "0-1"), -EEXIST); /* not before it has been recovered */
        ck_assert_str_eq(mock_value("a"), "0");
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(set("a", "0-1"), 1);
        ck_assert_str_eq(find("a")->original, "0-3");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
}

#define HEAD "idled-undo\t1\tthis-boot\n"

static const struct {
        const char *name, *record;
        int recovered, skipped, unknown;
} record_cases[] = {
        { "good", HEAD "found\tmock\ta\t0-3\nwrite\tmock\ta\t0\n", 1, 0, 0 },
        { "another boot", "idled-undo\t1\tother\nfound\tmock\ta\t0-3\nwrite\tmock\ta\t0\n", 0, 0,
          0 },
        { "rubbish", "\n\n\nrubbish\n", 0, 4, 0 },
        { "another kind", HEAD "found\tother\ta\t0-3\n", 0, 0, 1 },
        { "another kind, restored", HEAD "found\tother\ta\t0-3\ndone\tother\ta\n", 0, 0, 0 },
        { "all of it",
          HEAD "found\tother\ta\t0\nfound\tmock\ta\t0-3\nrubbish\nfound\tmocker\ta\t0\n", 1, 1, 2 },
        { "cut short", HEAD "found\tmock\ta\t0-3\nwrite\tmock\ta\t0", 1, 0, 0 },
};

TEST_EACH(recover, record_cases)
{
        int r, skipped, unknown;

        scratch_file("undo", c->record);
        knobs_renew();
        r = knobs_recover(knobs, mock_kinds, &skipped);
        ck_case(c->name, r == c->recovered, "recovered %d, expected %d", r, c->recovered);
        ck_case(c->name, skipped == c->skipped, "skipped %d, expected %d", skipped, c->skipped);
        unknown = knobs_count_unknown(knobs, mock_kinds);
        ck_case(c->name, unknown == c->unknown, "unknown %d, expected %d", unknown, c->unknown);
}

/* While the boot's id cannot be read, no record passes for one of another boot, and nothing for
 * restored. */
TEST(boot_unknown_for_now)
{
        g_autofree char *report = NULL;
        int skipped;

        set("a", "0");
        ck_assert_int_eq(unlinkat(scratch_fd, BOOT_ID, 0), 0);
        ck_assert_int_eq(mkdirat(scratch_fd, BOOT_ID, 0755), 0);
        knobs_renew();
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), -EISDIR);
        ck_assert_int_eq(set("a", "1"), -EISDIR);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -EISDIR);
        ck_assert_int_eq(unlinkat(scratch_fd, BOOT_ID, AT_REMOVEDIR), 0);
        scratch_file(BOOT_ID, "this-boot\n");
        report = recover_and_restore();
        ck_assert_str_eq(report, "a 0 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
}

/* Scenarios to die in. Every one begins with what the mocks are at first. */

static void run_first(void)
{
        set("a", "0");
}

static void run_several(void)
{
        set("a", "0");
        set("b", "0");
        set("a", "1");
        set("a", "0-3");
        set("b", "0-1");
        set("a", "2");
}

static void run_failures(void)
{
        set("a", "0");
        mock->fault.fail_write = -EBUSY;
        set("a", "1");
        set("a", "2");
        mock_behave();
        set("a", "3");
        set("a", "0-2");
}

static void run_restore(void)
{
        g_autofree char *report = recover_and_restore();
}

static void run_all(void)
{
        int skipped;

        set("a", "0");
        set("b", "0");
        knobs_restore(knobs, NULL, NULL);
        set("b", "1");
        knobs_recover(knobs, mock_kinds, &skipped);
        set("c", "1");
        knobs_restore(knobs, NULL, NULL);
}

static const struct {
        const char *name;
        void (*run)(void);
        int least; /* fewer steps than these cannot be all */
} scenarios[] = {
        { "first set", run_first, 7 },
        { "several sets", run_several, 40 },
        { "failures", run_failures, 35 },
        { "sets and restores", run_all, 50 },
};

static void expect_originals(const char *name, int n)
{
        ck_case(name, g_str_equal(mock_value("a"), "0-3"), "killed at %d: a is %s", n,
                mock_value("a"));
        ck_case(name, g_str_equal(mock_value("b"), "0-7"), "killed at %d: b is %s", n,
                mock_value("b"));
        ck_case(name, g_str_equal(mock_value("c"), "0-3"), "killed at %d: c is %s", n,
                mock_value("c"));
        ck_case(name, !record_exists(), "killed at %d: the record is still there", n);
}

TEST_EACH(peer_defect_6_killed_anywhere, scenarios)
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                g_autofree char *report = NULL;

                knobs_renew();
                killed = killed_at(n, c->run);
                mock_behave();
                report = recover_and_restore();
                ck_case(c->name, !strstr(report, "Stale"), "killed at %d: %s", n, report);
                expect_originals(c->name, n);
        }
        ck_case(c->name, n > c->least, "only %d steps", n);
}

/* The restore itself dies, at every point, twice. */
TEST(restore_killed_anywhere)
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                for (int m = 0;; m++) {
                        g_autofree char *report = NULL;

                        knobs_renew();
                        run_several();
                        killed = killed_at(n, run_restore);
                        if (!killed_at(m, run_restore))
                                break;
                        report = recover_and_restore();
                        ck_case("restore", !strstr(report, "Stale"), "killed at %d and %d: %s", n,
                                m, report);
                        expect_originals("restore", n);
                }
                expect_originals("restore", n);
        }
        ck_assert_int_gt(n, 10);
}

/* Another program changes the knob between our death and the restore. */
TEST(foreign_change_after_death)
{
        bool killed = true;

        for (int n = 0; killed; n++) {
                g_autofree char *report = NULL;

                knobs_renew();
                killed = killed_at(n, run_first);
                mock_foreign("a", "2-3");
                report = recover_and_restore();
                ck_assert_str_eq(mock_value("a"), "2-3");
                ck_assert(g_str_equal(report, "") ||
                          g_str_equal(report, "a 2-3 Stale file handle; "));
                if (!killed)
                        ck_assert_str_ne(report, "");
                mock_foreign("a", "0-3");
        }
}

UNIT("knob-recover", .setup = setup, .teardown = teardown, .timeout = 120)
