/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of originals where there is no room for it, or whoever writes it dies. */
#include <errno.h>

#include "undo-fixture.h"

#include "steps.h"

START_TEST(line_that_does_not_fit_does_not_count)
{
        g_autoptr(Undo) undo = open_undo();

        ck_assert_int_eq(put_found(undo, "a", "0-3", "0"), 0);
        scratch_limit("undo", _i);
        ck_assert_int_lt(put_write(undo, "a", "0-1"), 0);
        ck_assert_int_lt(put_found(undo, "b", "0-3", "0"), 0);
        expect_record("k a 0-3 0 -");
        scratch_limit("undo", 1000);
        ck_assert_int_eq(put_write(undo, "a", "0-2"), 0);
        expect_record("k a 0-3 0-2 0");
}
END_TEST

START_TEST(nothing_fits)
{
        g_autoptr(Undo) undo = open_undo();

        scratch_limit("undo", _i);
        ck_assert_int_lt(put_found(undo, "a", "0-3", "0"), 0);
        ck_assert(!record_exists());
        scratch_limit("undo", 1000);
        ck_assert_int_eq(put_found(undo, "a", "0-3", "0"), 0);
        expect_record("k a 0-3 0 -");
}
END_TEST

START_TEST(full_file_system)
{
        g_autoptr(Undo) undo = NULL;
        g_autofree char *expected = NULL, *text = NULL;
        int r, n = 0;

        ck_assert(scratch_mount("tmpfs", "size=4k"));
        undo = open_undo();
        ck_assert_int_eq(put_found(undo, "a", "0", "1"), 0);
        do {
                g_autofree char *name = g_strdup_printf("%d", n++);

                r = put_found(undo, name, "0-3", "0");
        } while (r == 0 && n < 1000);
        ck_assert_int_eq(r, -ENOSPC);
        expected = describe(undo);
        g_autoptr(Undo) again = open_undo();

        text = describe(again);
        ck_assert_str_eq(text, expected);
        while (--n > 0) {
                g_autofree char *name = g_strdup_printf("%d", n - 1);

                put_done(undo, name); /* some lines fit, some do not */
        }
}
END_TEST

START_TEST(read_only)
{
        scratch_file("undo", HEAD "found\tk\ta\t0\n");
        ck_assert(scratch_mount(NULL, NULL));
        g_autoptr(Undo) undo = open_undo();

        ck_assert_int_eq(put_write(undo, "a", "1"), -EROFS);
        ck_assert_int_eq(put_found(undo, "b", "1", "2"), -EROFS);
        ck_assert_int_eq(put_done(undo, "a"), -EROFS);
        expect_record("k a 0 - -");
}
END_TEST

static void write_many(void)
{
        g_autoptr(Undo) undo = open_undo();

        for (int i = 0; i < 300; i++) {
                g_autofree char *value = g_strdup_printf("%d", i);

                put_write(undo, "a", value);
        }
}

/* Killed anywhere, the rewriting included: the original is there, the values are recent ones. */
START_TEST(killed_anywhere)
{
        int n, found = 0;

        for (n = 0;; n++) {
                UndoEntry *const *entries;
                bool killed;

                scratch_file("undo", HEAD "found\tk\tb\t7\nfound\tk\ta\t0-3\n");
                killed = killed_at(n, write_many);
                g_autoptr(Undo) undo = open_undo();

                ck_assert_int_eq(undo_entries(undo, &entries, NULL), 2);
                ck_assert_str_eq(entries[0]->found, "7");
                ck_assert_str_eq(entries[1]->found, "0-3");
                found = entries[1]->last ? atoi(entries[1]->last) : 0;
                ck_assert_int_ge(found, n / 3 - 4);
                if (!killed)
                        break;
        }
        ck_assert_int_eq(found, 299);
        ck_assert_int_gt(n, 900);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("undo-failures");
        TCase *tcase = tcase_create("undo-failures");

        tcase_set_timeout(tcase, 60);
        tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
        tcase_add_loop_test(tcase, line_that_does_not_fit_does_not_count, 0, 14);
        tcase_add_loop_test(tcase, nothing_fits, 0, 29);
        if (scratch_may_mount("tmpfs", "size=4k", "full_file_system"))
                tcase_add_test(tcase, full_file_system);
        if (scratch_may_mount(NULL, NULL, "read_only"))
                tcase_add_test(tcase, read_only);
        tcase_add_test(tcase, killed_anywhere);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
