/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Knobs: set and restored exactly, even if other programs interfere. */
#include "knob-fixture.h"

TEST(set_and_restore)
{
        ck_assert_int_eq(set("a", "0-1"), 1);
        ck_assert_str_eq(mock_value("a"), "0-1");
        ck_assert_ptr_nonnull(find("a"));
        ck_assert_str_eq(find("a")->original, "0-3");
        ck_assert_int_eq(find("a")->state, KNOB_OURS);
        ck_assert_int_eq(set("a", "0,1"), 0); /* the same to the kernel */
        ck_assert_int_eq(set("a", "1"), 1);
        ck_assert_str_eq(find("a")->original, "0-3");
        ck_assert_int_eq(set("a", "0-3"), 1);
        ck_assert_ptr_null(find("a"));
        ck_assert(!record_exists());
        ck_assert_uint_eq(knobs_writes(knobs), 3);
        ck_assert_str_eq(mock->written, "a=0-1 a=1 a=0-3 ");
}

TEST(equal_value_is_left_alone)
{
        const Knob *const *list;

        ck_assert_int_eq(set("a", "0,1-3"), 0);
        ck_assert_str_eq(mock->written, "");
        ck_assert_int_eq(knobs_list(knobs, &list), 0);
        ck_assert(!record_exists());
}

TEST(restored_in_reverse)
{
        g_autoptr(GString) report = g_string_new(NULL);
        const Knob *const *list;

        set("a", "0");
        set("b", "0");
        set("a", "1");
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

/* d was made inside c when that was confined already: it is recorded later but must come later. */
TEST(restored_as_far_as_others_allow)
{
        g_autoptr(GString) report = g_string_new(NULL);

        mock->under[3] = true; /* d in c */
        set("c", "0-1");
        set("d", "0");
        set("c", "0");
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "c 0 ok; d 0 ok; ");
        ck_assert_str_eq(mock_value("d"), "0-1");
        ck_assert_str_eq(mock_value("c"), "0-3");
}

TEST(foreign_change_stays)
{
        g_autoptr(GString) report = g_string_new(NULL);

        set("a", "0");
        set("b", "0");
        mock_foreign("a", "2");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find("a")->state, KNOB_FOREIGN);
        ck_assert_int_eq(set("a", "0-1"), -ESTALE);
        ck_assert_int_eq(set("a", "0-3"), -ESTALE);
        mock_foreign("b", "3");
        ck_assert_int_eq(set("b", "0-1"), -ESTALE);
        ck_assert(!record_exists());
        mock_foreign("b", "0"); /* the value that we had written: the knob is still taken over */
        ck_assert_int_eq(set("b", "0-1"), -ESTALE);
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "b 0 Stale file handle; a 2 Stale file handle; ");
        ck_assert_str_eq(mock_value("a"), "2");
        ck_assert_str_eq(mock_value("b"), "0");
        ck_assert_str_eq(mock->written, "a=0 b=0 ");
}

/* A write by another program after ours takes the knob over, whatever the value. */
static const struct {
        const char *name, *value;
} earlier_values[] = {
        { "the original", "0-3" },
        { "the value before", "0-2" },
};

TEST_EACH(earlier_value_restored_by_another, earlier_values)
{
        const char *value = c->value;

        set("a", "0-2");
        set("a", "0");
        mock_foreign("a", value);
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find("a")->state, KNOB_FOREIGN);
        ck_assert_int_eq(set("a", "0"), -ESTALE);
        ck_assert(!record_exists());
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), value);
}

/* A new beginning: what they wrote is what is found. */
TEST(foreign_forgotten)
{
        set("a", "0");
        set("b", "0");
        mock_foreign("a", "2");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(knobs_forget_foreign(knobs), 1);
        ck_assert_ptr_null(find("a"));
        ck_assert_int_eq(find("b")->state, KNOB_OURS);
        ck_assert_int_eq(knobs_forget_foreign(knobs), 0);
        ck_assert_int_eq(set("a", "1"), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "2");
        ck_assert_str_eq(mock_value("b"), "0-7");
}

/* Another program restored the original, as idled does later. */
TEST(original_restored_by_another)
{
        set("a", "0");
        mock_foreign("a", "0-3");
        ck_assert_int_eq(knob_release(knobs, &mock_kind, "a"), 0);
        ck_assert_ptr_null(find("a"));
        ck_assert(!record_exists());
        ck_assert_int_eq(set("a", "0"), 1);
}

/* A new object of the same name has the original without a write by any program. */
TEST(replaced)
{
        set("a", "0");
        mock_find("a")->generation++;
        mock_foreign("a", "0-3");
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find("a")->state, KNOB_OURS);
        ck_assert_int_eq(set("a", "0"), 1);
        mock_foreign("a", "0-3");
        ck_assert_int_eq(set("a", "0"), -ESTALE);
}

/* Its CPU slept meanwhile. */
TEST(slept)
{
        set("a", "0");
        mock->fault.fail_read = -EBUSY;
        ck_assert_int_eq(knobs_verify(knobs), 0);
        mock->fault.fail_read = 0;
        mock_foreign("a", "0-3");
        ck_assert_int_eq(set("a", "0"), 1);
        ck_assert_str_eq(mock_value("a"), "0");
}

/* A caller vouches that the kernel restored the original: idled sets its value again. */
TEST(original_adopted)
{
        set("a", "0");
        mock_foreign("a", "0-3");
        ck_assert_int_eq(knob_adopt(knobs, &mock_kind, "a"), 0);
        ck_assert_int_eq(set("a", "0"), 1);
        ck_assert_str_eq(mock_value("a"), "0");
}

/* Once a caller vouches for it, a value that the kernel derived from ours counts as ours. */
TEST(adopted)
{
        g_autofree char *report = NULL;

        ck_assert_int_eq(knob_adopt(knobs, &mock_kind, "a"), -ENOENT);
        set("a", "0-2");
        mock_foreign("a", "0-1");
        ck_assert_int_eq(knob_adopt(knobs, &mock_kind, "a"), 0);
        ck_assert_int_eq(knobs_verify(knobs), 0);
        report = recover_and_restore();
        ck_assert_str_eq(report, "a 0-1 ok; ");
        ck_assert_str_eq(mock_value("a"), "0-3");
}

static bool passes_all(const ActContext *context, const char *to, const char *now)
{
        return g_str_equal(to, "0-3") && g_str_equal(now, "0-9");
}

/* A write of several steps was cut short: what it left is no stranger's. */
TEST(value_on_the_way)
{
        KnobKind kind = mock_kind;

        kind.passes = passes_all;
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "0"), 1);
        mock_foreign("a", "0-9");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert_int_eq(knob_set(knobs, &kind, "b", "0"), 1);
        mock_foreign("b", "0-9"); /* not on the way to its original */
        ck_assert_int_eq(knob_set(knobs, &kind, "b", "1"), -ESTALE);
}

static const unsigned busy[] = { 0, 100000 };

/* The kernel shows the written value a moment later: idled waits for that, with knobs that go
 * together and when they are restored; but a refusal is reported. */
TEST_EACH(shown_late, busy)
{
        KnobKind kind = mock_kind;
        KnobChange changes[] = { { &kind, "a", "0", 0, NULL }, { &kind, "b", "0-1", 0, NULL } };

        kind.late = true;
        mock->fault = (MockFault){ .late = 3, .busy_usec = *c };
        knobs_set(knobs, changes, 2);
        ck_assert_int_eq(changes[0].result, 1);
        ck_assert_int_eq(changes[1].result, 1);
        ck_assert_int_eq(knobs_verify(knobs), 0);
        mock_show("a", "0-3"); /* on the way to something else */
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "0-3"), 1);
        ck_assert_ptr_null(knob_find(knobs, &kind, "a"));
        ck_assert_str_eq(mock_value("a"), "0-3");
        mock_show("b", "0-7");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("b"), "0-7");
        ck_assert(!record_exists());
        mock->fault = (MockFault){ .stored = "0-2" };
        ck_assert_int_eq(knob_set(knobs, &kind, "a", "1"), -EPERM);
        ck_assert_int_eq(knob_set(knobs, &mock_kind, "b", "1"), -EPERM);
}

TEST(gone_is_forgotten)
{
        g_autoptr(GString) report = g_string_new(NULL);

        set("a", "0");
        set("b", "0");
        set("c", "0");
        mock_find("a")->gone = true;
        mock_find("b")->gone = true;
        ck_assert_int_eq(set("a", "1"), -ENOENT);
        ck_assert_ptr_null(find("a"));
        ck_assert_int_eq(set("a", "1"), -ENOENT);
        ck_assert_int_eq(knobs_restore(knobs, collect, report), 0);
        ck_assert_str_eq(report->str, "c 0 ok; b - No such file or directory; ");
        ck_assert(!record_exists());
}

TEST(verify_forgets_what_is_gone)
{
        set("a", "0");
        set("b", "0");
        mock_find("a")->gone = true;
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_ptr_null(find("a"));
        mock->fault.fail_read = -EIO;
        ck_assert_int_eq(knobs_verify(knobs), 1);
        ck_assert_int_eq(find("b")->state, KNOB_FAILED);
}

TEST(without_record)
{
        knobs_end();
        knobs_context.root = -1;
        knobs = knobs_new(&knobs_context, -1, false);
        ck_assert_int_eq(set("a", "0"), 1);
        ck_assert_int_eq(set("a", "1"), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_str_eq(mock_value("a"), "0-3");
        ck_assert(!record_exists());
}

TEST(dry_run)
{
        g_autofree char *before = NULL, *after = NULL;
        int skipped;

        ck_assert_int_eq(set("b", "0"), 1);
        before = scratch_text("undo");
        knobs_end();
        knobs = knobs_new(&knobs_context, scratch_fd, true);
        ck_assert_int_eq(knobs_recover(knobs, mock_kinds, &skipped), 1);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert_int_eq(set("a", "0"), 0);
        ck_assert_int_eq(set("a", "0"), 0);
        ck_assert_int_eq(set("a", "0-3"), 0);
        ck_assert_uint_eq(knobs_writes(knobs), 3);
        ck_assert_str_eq(mock->written, "b=0 ");
        after = scratch_text("undo");
        ck_assert_str_eq(before, after);
}

UNIT("knob", .setup = setup, .teardown = teardown)
