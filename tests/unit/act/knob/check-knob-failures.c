/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs that fail, and records that cannot be written: an error and a degraded knob, nothing that
 * is not on record, and the original in the end.
 */
#include "knob-fixture.h"

static const struct {
        const char *name;
        MockFault fault;
        int expected;
        const char *value; /* afterwards, NULL: the one before */
} faults[] = {
        { "EIO on write", { .fail_write = -EIO }, -EIO, NULL },
        { "EBUSY on write", { .fail_write = -EBUSY }, -EBUSY, NULL },
        { "EACCES on write", { .fail_write = -EACCES }, -EACCES, NULL },
        { "EINVAL on write", { .fail_write = -EINVAL }, -EINVAL, NULL },
        { "ENOENT on write", { .fail_write = -ENOENT }, -ENOENT, NULL },
        { "EIO on read", { .fail_read = -EIO }, -EIO, NULL },
        { "EACCES on read", { .fail_read = -EACCES }, -EACCES, NULL },
        { "EIO on reading back", { .fail_read_back = -EIO }, -EIO, "1-2" },
        { "short write", { .short_write = true }, -EIO, "1" },
        { "another value stored", { .stored = "0" }, -EPERM, "0" },
        { "another program's write after ours", { .foreign = "2-3" }, -EPERM, "2-3" },
};

/* The first change of a knob fails: an error, a degraded knob, and all is well again later. */
TEST_EACH(peer_defect_2_first_set_fails, faults)
{
        int r;

        mock->fault = c->fault;
        r = set("a", "1-2");
        ck_case(c->name, r == c->expected, "returned %d, expected %d", r, c->expected);
        ck_case(c->name, g_str_equal(mock_value("a"), c->value ? c->value : "0-3"), "value is %s",
                mock_value("a"));
        ck_assert_ptr_nonnull(find("a"));
        ck_assert_int_eq(find("a")->state, KNOB_FAILED);
        ck_assert_int_eq(find("a")->error, c->expected);
        ck_case(c->name, record_exists() == (c->value != NULL), "record left: %d", record_exists());
        mock_behave();
        r = set("a", "1-2");
        ck_case(c->name, r >= 0 && g_str_equal(mock_value("a"), "1-2"), "then %d", r);
        ck_assert_int_eq(find("a")->state, KNOB_OURS);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_case(c->name, g_str_equal(mock_value("a"), "0-3"), "restored to %s", mock_value("a"));
        ck_assert(!record_exists());
}

/* A later change fails, and the daemon dies on top of it: the original is still known. */
TEST_EACH(peer_defect_2_later_set_fails, faults)
{
        g_autofree char *report = NULL;
        int r;

        ck_assert_int_eq(set("a", "0"), 1);
        ck_assert_int_eq(set("a", "0-1"), 1);
        mock->fault = c->fault;
        r = set("a", "1-2");
        ck_case(c->name, r == c->expected, "returned %d, expected %d", r, c->expected);
        mock_behave();
        report = recover_and_restore();
        ck_case(c->name, g_str_equal(mock_value("a"), "0-3"), "restored to %s", mock_value("a"));
        ck_assert(!record_exists());
}

/* Faults after which restoring ends at once: a knob that is gone, and a value that is right when it
 * is read, or written, once more. */
static bool ends_at_once(typeof(faults[0]) *f)
{
        return f->expected == -ENOENT || f->fault.fail_read_back || f->fault.foreign;
}

/* What is gone is as it was; all else has its original. Nothing stays on record. */
static void assert_ended(typeof(faults[0]) *f, const char *report)
{
        bool gone = f->expected == -ENOENT;

        ck_case(f->name, g_str_equal(mock_value("a"), gone ? "1" : "0-3"), "a is %s",
                mock_value("a"));
        ck_case(f->name, g_str_equal(mock_value("b"), gone ? "1" : "0-7"), "b is %s",
                mock_value("b"));
        ck_case(f->name, !record_exists(), "a record is left");
        ck_case(f->name, (strstr(report, g_strerror(ENOENT)) != NULL) == gone, "reported %s",
                report);
}

/* Restoring fails: the knob stays on record, is reported, and is restored the next time. */
TEST_EACH(restore_fails, faults)
{
        typeof(faults[0]) *f = &faults[_i];
        g_autoptr(GString) report = g_string_new(NULL);
        int r;

        ck_assert_int_eq(set("a", "1"), 1);
        ck_assert_int_eq(set("b", "1"), 1);
        mock->fault = f->fault;
        r = knobs_restore(knobs, collect, report);
        if (ends_at_once(f)) {
                ck_case(f->name, r == 0, "returned %d", r);
                assert_ended(f, report->str);
                return;
        }
        ck_case(f->name, r == f->expected, "returned %d, expected %d", r, f->expected);
        ck_case(f->name, strstr(report->str, g_strerror(-f->expected)), "reported %s", report->str);
        ck_assert(record_exists());
        mock_behave();
        g_string_truncate(report, 0);
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert(!record_exists());
}

/* The kernel takes a value and shows it only after the wait is over. It is still on record, for an
 * instance that sets it once more, restores it while it does not show, or comes after us. */
TEST_RANGE(shown_too_late, 0, 3)
{
        KnobKind kind = mock_kind;
        const Knob *knob;

        kind.late = true;
        mock->fault.late = 1000000;
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "0"), -EPERM);
        knob = knob_find(knobs, &kind, "a");
        ck_assert_int_eq(knob->state, KNOB_FAILED);
        ck_assert(knob_is_on_record(knob) && record_exists());
        mock_behave();
        if (_i == 0) {
                mock_find("a")->n_shown = 0;
                ck_assert_int_eq(knob_set(knobs, &kind, "a", "0"), 0);
                ck_assert_int_eq(knob->state, KNOB_OURS);
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        } else if (_i == 1) {
                ck_assert_int_eq(knob_release(knobs, &kind, "a"), 1);
        } else {
                g_autofree char *report = NULL;

                mock_find("a")->n_shown = 0;
                report = recover_and_restore();
                ck_assert_str_eq(report, "a 0 ok; ");
        }
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert(!record_exists());
}

/* What is given up since it was not even taken is not on record. */
TEST(not_taken)
{
        KnobKind kind = mock_kind;

        kind.late = true;
        mock->fault.fail_write = -EIO;
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "0"), -EIO);
        ck_assert(!knob_is_on_record(knob_find(knobs, &kind, "a")) && !record_exists());
}

TEST(unreadable_record_forbids_changes)
{
        g_autofree char *path = g_build_filename(scratch, "undo", NULL);
        int skipped;

        ck_assert_int_eq(mkdir(path, 0700), 0);
        knobs_renew();
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), -EISDIR);
        ck_assert_int_eq(set("a", "0"), -EISDIR);
        ck_assert_str_eq(mock->written, "");
}

/* Wherever the space ends, nothing is written that is not on record first. */
TEST_RANGE(no_record_no_write, 0, 130)
{
        g_autofree char *report = NULL;
        int a, b;

        scratch_limit("undo", _i);
        a = set("a", "0");
        b = set("b", "0-1");
        scratch_limit("undo", 1000000); /* Check itself writes files */
        ck_assert(a == 1 || g_str_equal(mock_value("a"), "0-3"));
        ck_assert(b == 1 || g_str_equal(mock_value("b"), "0-7"));
        if (a < 0 && b < 0)
                ck_assert(!record_exists());
        if (a < 0)
                ck_assert_int_eq(find("a")->state, KNOB_FAILED);
        report = recover_and_restore();
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert(!record_exists());
}

TEST(full_run_directory)
{
        if (!scratch_may_mount("tmpfs", "size=4k", "full_run_directory"))
                return;
        ck_assert(scratch_mount("tmpfs", "size=4k"));
        scratch_file("filler", "x");
        knobs_end();
        knobs_begin(scratch_fd, NULL);
        ck_assert_int_eq(set("a", "0"), -ENOSPC);
        ck_assert_str_eq(mock->written, "");
        ck_assert_int_eq(unlinkat(scratch_fd, "filler", 0), 0);
        ck_assert_int_eq(set("a", "0"), 1);
}

TEST(read_only_run_directory)
{
        int skipped;

        if (!scratch_may_mount(NULL, NULL, "read_only_run_directory"))
                return;
        ck_assert_int_eq(set("b", "0"), 1);
        ck_assert(scratch_mount(NULL, NULL));
        knobs_end();
        knobs_begin(scratch_fd, NULL);
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(set("a", "0"), -EROFS);
        ck_assert_int_eq(set("b", "1"), -EROFS);
        ck_assert_str_eq(mock->written, "b=0 ");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -EROFS); /* the line stays */
        ck_assert_str_eq(mock_value("b"), "0-7");                   /* the knob does not */
}

UNIT("knob-failures", .setup = setup, .teardown = teardown)
