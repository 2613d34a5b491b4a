/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Knobs: set and given back exactly, whatever fails, whoever interferes, whenever we die. */
#include <sys/resource.h>

#include "base/file.h"
#include "scratch.h"
#include "table.h"

#include "knob-mock.h"
#include "steps.h"

static void setup(void)
{
        scratch_open();
        scratch_file("proc/sys/kernel/random/boot_id", "this-boot\n");
        mock_new();
}

static void teardown(void)
{
        mock_done();
        scratch_close();
}

static Knobs *open_knobs(void)
{
        const ActContext context = { .root = scratch_fd };

        return knobs_new(&context, scratch_fd, false);
}

static int set(Knobs *knobs, const char *name, const char *value)
{
        return knob_set(knobs, &mock_kind, name, value);
}

static const Knob *find(Knobs *knobs, const char *name)
{
        return knob_find(knobs, &mock_kind, name);
}

static bool record_exists(void)
{
        return faccessat(scratch_fd, "undo", F_OK, 0) == 0;
}

/* Collects "NAME VALUE ERROR; " of a restore. */
static void collect(const Knob *knob, const char *value, int error, void *userdata)
{
        g_string_append_printf(userdata, "%s %s %s; ", knob->name, value ? value : "-",
                               error ? g_strerror(-error) : "ok");
}

/* A fresh instance takes up the record and gives everything back; returns its report. */
static char *recover_and_restore(void)
{
        g_autoptr(Knobs) knobs = open_knobs();
        GString *report = g_string_new(NULL);
        int skipped;

        ck_assert_int_ge(knobs_recover(knobs, mock_kinds, &skipped), 0);
        knobs_restore(knobs, collect, report);
        return g_string_free(report, FALSE);
}

START_TEST(set_and_give_back)
{
        g_autoptr(Knobs) knobs = open_knobs();

        ck_assert_int_eq(set(knobs, "a", "0-1"), 1);
        ck_assert_str_eq(mock_value("a"), "0-1");
        ck_assert_ptr_nonnull(find(knobs, "a"));
        ck_assert_str_eq(find(knobs, "a")->original, "0-3");
        ck_assert_int_eq(find(knobs, "a")->state, KNOB_OURS);
        ck_assert_int_eq(set(knobs, "a", "0,1"), 0); /* the same to the kernel */
        ck_assert_int_eq(set(knobs, "a", "1"), 1);
        ck_assert_str_eq(find(knobs, "a")->original, "0-3");
        ck_assert_int_eq(set(knobs, "a", "0-3"), 1);
        ck_assert_ptr_null(find(knobs, "a"));
        ck_assert(!record_exists());
        ck_assert_uint_eq(knobs_writes(knobs), 3);
        ck_assert_str_eq(mock->written, "a=0-1 a=1 a=0-3 ");
}
END_TEST

START_TEST(equal_value_is_left_alone)
{
        g_autoptr(Knobs) knobs = open_knobs();
        const Knob *const *list;

        ck_assert_int_eq(set(knobs, "a", "0,1-3"), 0);
        ck_assert_str_eq(mock->written, "");
        ck_assert_int_eq(knobs_list(knobs, &list), 0);
        ck_assert(!record_exists());
}
END_TEST

START_TEST(restored_in_reverse)
{
        g_autoptr(Knobs) knobs = open_knobs();
        g_autoptr(GString) report = g_string_new(NULL);
        const Knob *const *list;

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        set(knobs, "a", "1");
        ck_assert_int_eq(knobs_list(knobs, &list), 2);
        ck_assert_str_eq(list[0]->name, "a");
        ck_assert_str_eq(list[1]->name, "b");
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "b 0 ok; a 1 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert_int_eq(knobs_list(knobs, &list), 0);
        ck_assert(!record_exists());
}
END_TEST

/* d was made inside c when that was confined already: it is recorded later but must come later. */
START_TEST(restored_as_far_as_others_allow)
{
        g_autoptr(Knobs) knobs = open_knobs();
        g_autoptr(GString) report = g_string_new(NULL);

        mock_nest("d");
        set(knobs, "c", "0-1");
        set(knobs, "d", "0");
        set(knobs, "c", "0");
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "c 0 ok; d 0 ok; ");
        ck_assert_str_eq(mock_value("d"), "0-1");
        ck_assert_str_eq(mock_value("c"), "0-3");
}
END_TEST

typedef void (*Fault)(int error);

static void fault_short(int error)
{
        mock_short_write();
}

static void fault_stored(int error)
{
        mock_store("0");
}

static void fault_foreign_behind(int error)
{
        mock_foreign_behind("2-3");
}

static const struct {
        const char *name;
        Fault fault;
        int error, expected;
        const char *value; /* afterwards, NULL: the one before */
} faults[] = {
        { "EIO on write", mock_fail_write, -EIO, -EIO, NULL },
        { "EBUSY on write", mock_fail_write, -EBUSY, -EBUSY, NULL },
        { "EACCES on write", mock_fail_write, -EACCES, -EACCES, NULL },
        { "EINVAL on write", mock_fail_write, -EINVAL, -EINVAL, NULL },
        { "ENOENT on write", mock_fail_write, -ENOENT, -ENOENT, NULL },
        { "EIO on read", mock_fail_read, -EIO, -EIO, NULL },
        { "EACCES on read", mock_fail_read, -EACCES, -EACCES, NULL },
        { "EIO on reading back", mock_fail_read_back, -EIO, -EIO, "1-2" },
        { "short write", fault_short, 0, -EIO, "1" },
        { "another value stored", fault_stored, 0, -EPERM, "0" },
        { "somebody behind us", fault_foreign_behind, 0, -EPERM, "2-3" },
};

/* The first change of a knob fails: an error, a degraded knob, and all is well again later. */
START_TEST(first_set_fails)
{
        typeof(faults[0]) *f = &faults[_i];
        g_autoptr(Knobs) knobs = open_knobs();
        int r;

        f->fault(f->error);
        r = set(knobs, "a", "1-2");
        ck_case(f->name, r == f->expected, "returned %d, expected %d", r, f->expected);
        ck_case(f->name, g_str_equal(mock_value("a"), f->value ? f->value : "0-3"), "value is %s",
                mock_value("a"));
        ck_assert_ptr_nonnull(find(knobs, "a"));
        ck_assert_int_eq(find(knobs, "a")->state, KNOB_FAILED);
        ck_assert_int_eq(find(knobs, "a")->error, f->expected);
        ck_case(f->name, record_exists() == (f->value != NULL), "record left: %d", record_exists());
        mock_behave();
        r = set(knobs, "a", "1-2");
        ck_case(f->name, r >= 0 && g_str_equal(mock_value("a"), "1-2"), "then %d", r);
        ck_assert_int_eq(find(knobs, "a")->state, KNOB_OURS);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_case(f->name, g_str_equal(mock_value("a"), "0-3"), "restored to %s", mock_value("a"));
        ck_assert(!record_exists());
}
END_TEST

/* A later change fails, and the daemon dies on top of it: the original is still known. */
START_TEST(later_set_fails)
{
        typeof(faults[0]) *f = &faults[_i];
        g_autoptr(Knobs) knobs = open_knobs();
        g_autofree char *report = NULL;
        int r;

        ck_assert_int_eq(set(knobs, "a", "0"), 1);
        ck_assert_int_eq(set(knobs, "a", "0-1"), 1);
        f->fault(f->error);
        r = set(knobs, "a", "1-2");
        ck_case(f->name, r == f->expected, "returned %d, expected %d", r, f->expected);
        mock_behave();
        report = recover_and_restore();
        ck_case(f->name, g_str_equal(mock_value("a"), "0-3"), "restored to %s", mock_value("a"));
        ck_assert(!record_exists());
}
END_TEST

/* Giving back fails: the knob stays on record, is reported, and is given back the next time. */
START_TEST(restore_fails)
{
        typeof(faults[0]) *f = &faults[_i];
        g_autoptr(Knobs) knobs = open_knobs();
        g_autoptr(GString) report = g_string_new(NULL);
        int r;

        ck_assert_int_eq(set(knobs, "a", "1"), 1);
        ck_assert_int_eq(set(knobs, "b", "1"), 1);
        f->fault(f->error);
        r = knobs_restore(knobs, collect, report);
        if (f->expected == -ENOENT || f->fault == mock_fail_read_back ||
            f->fault == fault_foreign_behind) { /* gone, or found well when looked at again */
                ck_case(f->name, r == 0, "returned %d", r);
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
END_TEST

START_TEST(foreign_change_stays)
{
        g_autoptr(Knobs) knobs = open_knobs();
        g_autoptr(GString) report = g_string_new(NULL);

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        mock_foreign("a", "2");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find(knobs, "a")->state, KNOB_FOREIGN);
        ck_assert_int_eq(set(knobs, "a", "0-1"), -ESTALE);
        ck_assert_int_eq(set(knobs, "a", "0-3"), -ESTALE);
        mock_foreign("b", "3");
        ck_assert_int_eq(set(knobs, "b", "0-1"), -ESTALE);
        ck_assert(!record_exists());
        mock_foreign("b", "0"); /* what we had written: now it is theirs all the same */
        ck_assert_int_eq(set(knobs, "b", "0-1"), -ESTALE);
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "b 0 Stale file handle; a 2 Stale file handle; ");
        ck_assert_str_eq(mock_value("a"), "2");
        ck_assert_str_eq(mock_value("b"), "0");
        ck_assert_str_eq(mock->written, "a=0 b=0 ");
}
END_TEST

/* Somebody put the original back: nobody's loss, so it may be changed again. */
START_TEST(original_put_back_by_somebody)
{
        g_autoptr(Knobs) knobs = open_knobs();

        set(knobs, "a", "0");
        mock_foreign("a", "0-3");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find(knobs, "a")->state, KNOB_OURS);
        ck_assert_int_eq(set(knobs, "a", "0"), 1);
        mock_foreign("a", "0-3");
        ck_assert_int_eq(set(knobs, "a", "0-3"), 0);
        ck_assert_ptr_null(find(knobs, "a"));
        ck_assert(!record_exists());
}
END_TEST

/* What the kernel made of our value is ours once somebody vouches for it. */
START_TEST(adopted)
{
        g_autofree char *report = NULL;
        g_autoptr(Knobs) knobs = open_knobs();

        ck_assert_int_eq(knob_adopt(knobs, &mock_kind, "a"), -ENOENT);
        set(knobs, "a", "0-2");
        mock_foreign("a", "0-1");
        ck_assert_int_eq(knob_adopt(knobs, &mock_kind, "a"), 0);
        ck_assert_int_eq(knobs_verify(knobs), 0);
        report = recover_and_restore();
        ck_assert_str_eq(report, "a 0-1 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
}
END_TEST

static bool passes_all(const ActContext *context, const char *to, const char *now)
{
        return g_str_equal(to, "0-3") && g_str_equal(now, "0-9");
}

/* A write of several steps was cut short: what it left is no stranger's. */
START_TEST(value_on_the_way)
{
        KnobKind kind = mock_kind;
        g_autoptr(Knobs) knobs = open_knobs();

        kind.passes = passes_all;
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "0"), 1);
        mock_foreign("a", "0-9");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_int_eq(knob_set(knobs, &kind, "b", "0"), 1);
        mock_foreign("b", "0-9"); /* not on the way to its original */
        ck_assert_int_eq(knob_set(knobs, &kind, "b", "1"), -ESTALE);
}
END_TEST

START_TEST(gone_is_forgotten)
{
        g_autoptr(Knobs) knobs = open_knobs();
        g_autoptr(GString) report = g_string_new(NULL);

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        set(knobs, "c", "0");
        mock_gone("a");
        mock_gone("b");
        ck_assert_int_eq(set(knobs, "a", "1"), -ENOENT);
        ck_assert_ptr_null(find(knobs, "a"));
        ck_assert_int_eq(set(knobs, "a", "1"), -ENOENT);
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "c 0 ok; b - No such file or directory; ");
        ck_assert(!record_exists());
}
END_TEST

START_TEST(verify_forgets_what_is_gone)
{
        g_autoptr(Knobs) knobs = open_knobs();

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        mock_gone("a");
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_ptr_null(find(knobs, "a"));
        mock_fail_read(-EIO);
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find(knobs, "b")->state, KNOB_FAILED);
}
END_TEST

START_TEST(found_by_the_next_instance)
{
        g_autofree char *report = NULL;
        int skipped;

        {
                g_autoptr(Knobs) knobs = open_knobs();

                set(knobs, "a", "0");
                set(knobs, "b", "0");
                set(knobs, "b", "1");
                set(knobs, "c", "0");
        }
        mock_foreign("c", "2");
        g_autoptr(Knobs) next = open_knobs();

        ck_assert_int_eq(knobs_recover(next, mock_kinds, &skipped), 3);
        ck_assert_int_eq(skipped, 0);
        ck_assert_str_eq(find(next, "b")->original, "0-7");
        ck_assert_str_eq(find(next, "b")->ours, "1");
        report = recover_and_restore();
        ck_assert_str_eq(report, "c 2 Stale file handle; b 1 ok; a 0 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert_str_eq(mock_value("c"), "2");
        ck_assert(!record_exists());
}
END_TEST

/* What an instance before us could not give back is given back by us at the end. */
START_TEST(recovered_knobs_keep_their_original)
{
        int skipped;

        {
                g_autoptr(Knobs) knobs = open_knobs();

                set(knobs, "a", "0");
        }
        g_autoptr(Knobs) knobs = open_knobs();

        ck_assert_int_eq(set(knobs, "a", "0-1"), -EEXIST); /* not before it has been recovered */
        ck_assert_str_eq(mock_value("a"), "0");
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(set(knobs, "a", "0-1"), 1);
        ck_assert_str_eq(find(knobs, "a")->original, "0-3");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
}
END_TEST

static const struct {
        const char *name, *record;
        int recovered, skipped;
} record_cases[] = {
        { "good", "idled-undo\t1\tthis-boot\nfound\tmock\ta\t0-3\nwrite\tmock\ta\t0\n", 1, 0 },
        { "another boot", "idled-undo\t1\tother\nfound\tmock\ta\t0-3\nwrite\tmock\ta\t0\n", 0, 0 },
        { "rubbish", "\n\n\nrubbish\n", 0, 4 },
        { "another kind", "idled-undo\t1\tthis-boot\nfound\tother\ta\t0-3\n", 0, 1 },
        { "cut short", "idled-undo\t1\tthis-boot\nfound\tmock\ta\t0-3\nwrite\tmock\ta\t0", 1, 1 },
};

START_TEST(recover)
{
        typeof(record_cases[0]) *c = &record_cases[_i];
        int r, skipped;

        scratch_file("undo", c->record);
        g_autoptr(Knobs) knobs = open_knobs();

        r = knobs_recover(knobs, mock_kinds, &skipped);
        ck_case(c->name, r == c->recovered, "recovered %d, expected %d", r, c->recovered);
        ck_case(c->name, skipped == c->skipped, "skipped %d, expected %d", skipped, c->skipped);
}
END_TEST

START_TEST(unreadable_record_forbids_changes)
{
        g_autofree char *path = g_build_filename(scratch, "undo", NULL);
        int skipped;

        ck_assert_int_eq(mkdir(path, 0700), 0);
        g_autoptr(Knobs) knobs = open_knobs();

        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), -EISDIR);
        ck_assert_int_eq(set(knobs, "a", "0"), -EISDIR);
        ck_assert_str_eq(mock->written, "");
}
END_TEST

static void limit_size(rlim_t size)
{
        struct rlimit limit;

        signal(SIGXFSZ, SIG_IGN);
        ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = size;
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Wherever the space ends, nothing is written that is not on record first. */
START_TEST(no_record_no_write)
{
        g_autoptr(Knobs) knobs = open_knobs();
        g_autofree char *report = NULL;
        int a, b;

        limit_size((rlim_t)_i);
        a = set(knobs, "a", "0");
        b = set(knobs, "b", "0-1");
        limit_size(1000000); /* Check itself writes files */
        ck_assert(a == 1 || g_str_equal(mock_value("a"), "0-3"));
        ck_assert(b == 1 || g_str_equal(mock_value("b"), "0-7"));
        if (a < 0 && b < 0)
                ck_assert(!record_exists());
        if (a < 0)
                ck_assert_int_eq(find(knobs, "a")->state, KNOB_FAILED);
        report = recover_and_restore();
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert(!record_exists());
}
END_TEST

START_TEST(full_run_directory)
{
        if (!scratch_mount("tmpfs", "size=4k"))
                return;
        scratch_file("filler", "x");
        g_autoptr(Knobs) knobs = open_knobs();

        ck_assert_int_eq(set(knobs, "a", "0"), -ENOSPC);
        ck_assert_str_eq(mock->written, "");
        ck_assert_int_eq(unlinkat(scratch_fd, "filler", 0), 0);
        ck_assert_int_eq(set(knobs, "a", "0"), 1);
}
END_TEST

START_TEST(read_only_run_directory)
{
        {
                g_autoptr(Knobs) knobs = open_knobs();

                ck_assert_int_eq(set(knobs, "b", "0"), 1);
        }
        if (!scratch_mount(NULL, NULL))
                return;
        g_autoptr(Knobs) knobs = open_knobs();
        int skipped;

        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(set(knobs, "a", "0"), -EROFS);
        ck_assert_int_eq(set(knobs, "b", "1"), -EROFS);
        ck_assert_str_eq(mock->written, "b=0 ");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), -EROFS); /* the line stays */
        ck_assert_str_eq(mock_value("b"), "0-7");                   /* the knob does not */
}
END_TEST

START_TEST(without_record)
{
        const ActContext context = { .root = -1 };
        g_autoptr(Knobs) knobs = knobs_new(&context, -1, false);

        ck_assert_int_eq(set(knobs, "a", "0"), 1);
        ck_assert_int_eq(set(knobs, "a", "1"), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert(!record_exists());
}
END_TEST

START_TEST(dry_run)
{
        const ActContext context = { .root = scratch_fd };
        g_autofree char *before = NULL, *after = NULL;
        int skipped;

        {
                g_autoptr(Knobs) knobs = open_knobs();

                ck_assert_int_eq(set(knobs, "b", "0"), 1);
        }
        before = scratch_text("undo");
        g_autoptr(Knobs) knobs = knobs_new(&context, scratch_fd, true);

        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_int_eq(set(knobs, "a", "0"), 0);
        ck_assert_int_eq(set(knobs, "a", "0"), 0);
        ck_assert_int_eq(set(knobs, "a", "0-3"), 0);
        ck_assert_uint_eq(knobs_writes(knobs), 3);
        ck_assert_str_eq(mock->written, "b=0 ");
        after = scratch_text("undo");
        ck_assert_str_eq(before, after);
}
END_TEST

/* Scenarios to die in. Every one begins with what the mocks are at first. */

static void run_first(void)
{
        g_autoptr(Knobs) knobs = open_knobs();

        set(knobs, "a", "0");
}

static void run_several(void)
{
        g_autoptr(Knobs) knobs = open_knobs();

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        set(knobs, "a", "1");
        set(knobs, "a", "0-3");
        set(knobs, "b", "0-1");
        set(knobs, "a", "2");
}

static void run_failures(void)
{
        g_autoptr(Knobs) knobs = open_knobs();

        set(knobs, "a", "0");
        mock_fail_write(-EBUSY);
        set(knobs, "a", "1");
        set(knobs, "a", "2");
        mock_behave();
        set(knobs, "a", "3");
        set(knobs, "a", "0-2");
}

static void run_restore(void)
{
        g_autofree char *report = recover_and_restore();
}

static void run_all(void)
{
        g_autoptr(Knobs) knobs = open_knobs();
        int skipped;

        set(knobs, "a", "0");
        set(knobs, "b", "0");
        knobs_restore(knobs, NULL, NULL);
        set(knobs, "b", "1");
        knobs_recover(knobs, mock_kinds, &skipped);
        set(knobs, "c", "1");
        knobs_restore(knobs, NULL, NULL);
}

static const struct {
        const char *name;
        void (*run)(void);
        int least; /* fewer steps than these cannot be all */
} scenarios[] = {
        { "first set", run_first, 10 },
        { "several sets", run_several, 50 },
        { "failures", run_failures, 40 },
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

START_TEST(killed_anywhere)
{
        typeof(scenarios[0]) *s = &scenarios[_i];
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                g_autofree char *report = NULL;

                killed = killed_at(n, s->run);
                mock_behave();
                report = recover_and_restore();
                ck_case(s->name, !strstr(report, "Stale"), "killed at %d: %s", n, report);
                expect_originals(s->name, n);
        }
        ck_case(s->name, n > s->least, "only %d steps", n);
}
END_TEST

/* The restore itself dies, at every point, twice. */
START_TEST(restore_killed_anywhere)
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                for (int m = 0;; m++) {
                        g_autofree char *report = NULL;

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
END_TEST

/* Somebody changes the knob between our death and the restore. */
START_TEST(foreign_change_after_death)
{
        bool killed = true;

        for (int n = 0; killed; n++) {
                g_autofree char *report = NULL;

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
END_TEST

int main(void)
{
        Suite *suite = suite_create("knob");
        TCase *tcase = tcase_create("knob"), *deaths = tcase_create("deaths");

        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, set_and_give_back);
        tcase_add_test(tcase, equal_value_is_left_alone);
        tcase_add_test(tcase, restored_in_reverse);
        tcase_add_test(tcase, restored_as_far_as_others_allow);
        tcase_add_loop_test(tcase, first_set_fails, 0, G_N_ELEMENTS(faults));
        tcase_add_loop_test(tcase, later_set_fails, 0, G_N_ELEMENTS(faults));
        tcase_add_loop_test(tcase, restore_fails, 0, G_N_ELEMENTS(faults));
        tcase_add_test(tcase, foreign_change_stays);
        tcase_add_test(tcase, original_put_back_by_somebody);
        tcase_add_test(tcase, adopted);
        tcase_add_test(tcase, value_on_the_way);
        tcase_add_test(tcase, gone_is_forgotten);
        tcase_add_test(tcase, verify_forgets_what_is_gone);
        tcase_add_test(tcase, found_by_the_next_instance);
        tcase_add_test(tcase, recovered_knobs_keep_their_original);
        tcase_add_loop_test(tcase, recover, 0, G_N_ELEMENTS(record_cases));
        tcase_add_test(tcase, unreadable_record_forbids_changes);
        tcase_add_loop_test(tcase, no_record_no_write, 0, 130);
        tcase_add_test(tcase, full_run_directory);
        tcase_add_test(tcase, read_only_run_directory);
        tcase_add_test(tcase, without_record);
        tcase_add_test(tcase, dry_run);
        suite_add_tcase(suite, tcase);
        tcase_set_timeout(deaths, 120);
        tcase_add_checked_fixture(deaths, setup, teardown);
        tcase_add_loop_test(deaths, killed_anywhere, 0, G_N_ELEMENTS(scenarios));
        tcase_add_test(deaths, restore_killed_anywhere);
        tcase_add_test(deaths, foreign_change_after_death);
        suite_add_tcase(suite, deaths);
        return suite_run(suite);
}
