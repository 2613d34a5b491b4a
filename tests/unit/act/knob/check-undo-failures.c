/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The record of originals where there is no room for it, or its writer dies. */
#include <sys/syscall.h>

#include "undo-fixture.h"

static int link_error; /* of linkat(2); 0: it works */

static inline int try_link(int old_dir, const char *old, int new_dir, const char *new, int flags)
{
        if (link_error == 0)
                return (int)syscall(SYS_linkat, old_dir, old, new_dir, new, flags);
        errno = link_error;
        return -1;
}
#define STEPS_LINKAT(old_dir, old, new_dir, new, flags) try_link(old_dir, old, new_dir, new, flags)

#include "steps.h"

#define DAMAGED HEAD "found\tk\ta\t0-3\nrubbish\n"

TEST_RANGE(line_that_does_not_fit_does_not_count, 0, 14)
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

TEST_RANGE(nothing_fits, 0, 29)
{
        g_autoptr(Undo) undo = open_undo();

        scratch_limit("undo", _i);
        ck_assert_int_lt(put_found(undo, "a", "0-3", "0"), 0);
        ck_assert(!record_exists());
        scratch_limit("undo", 1000);
        ck_assert_int_eq(put_found(undo, "a", "0-3", "0"), 0);
        expect_record("k a 0-3 0 -");
}

TEST(full_file_system)
{
        g_autoptr(Undo) undo = NULL;
        g_autofree char *expected = NULL, *text = NULL;
        int r, n = 0;

        if (!scratch_may_mount("tmpfs", "size=4k", "full_file_system"))
                return;
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

/* Waiting for the other end of a FIFO would be for ever. */
TEST(no_file)
{
        Undo *undo = NULL;

        ck_assert_int_eq(mkfifoat(scratch_fd, "undo", 0600), 0);
        ck_assert_int_eq(undo_open(scratch_fd, "b", &undo), -EBADMSG);
        ck_assert_int_eq(unlinkat(scratch_fd, "undo", 0), 0);
        ck_assert_int_eq(undo_open(scratch_fd, "b", &undo), 0);
        ck_assert_int_eq(mkfifoat(scratch_fd, "undo", 0600), 0);
        ck_assert_int_lt(put_found(undo, "a", "0-3", "0"), 0);
        undo_free(undo);
}

TEST(read_only)
{
        if (!scratch_may_mount(NULL, NULL, "read_only"))
                return;
        scratch_file("undo", HEAD "found\tk\ta\t0\n");
        ck_assert(scratch_mount(NULL, NULL));
        g_autoptr(Undo) undo = open_undo();

        ck_assert_int_eq(put_write(undo, "a", "1"), -EROFS);
        ck_assert_int_eq(put_found(undo, "b", "1", "2"), -EROFS);
        ck_assert_int_eq(put_done(undo, "a"), -EROFS);
        expect_record("k a 0 - -");
}

static void write_many(void)
{
        g_autoptr(Undo) undo = open_undo();

        for (int i = 0; i < 300; i++) {
                g_autofree char *value = g_strdup_printf("%d", i);

                put_write(undo, "a", value);
        }
}

/* Killed anywhere, the rewriting included: the original is there, the values are recent ones. */
TEST(killed_anywhere)
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

/* One call fails, or two do: interrupted ones are repeated, and else the record that the next
 * instance reads is what this one believes. */
static const struct {
        const char *name;
        int times, error;
} failures[] = {
        { "interrupted", 1, EINTR },
        { "one fails", 1, EIO },
        { "two fail", 2, ENOSPC },
};

TEST_EACH(calls_fail, failures)
{
        int failed = 0;

        for (int n = 0; calls_failing.times == 0; n++) {
                scratch_file("undo", HEAD "found\tk\tb\t7\nfound\tk\ta\t0-3\n");
                g_autoptr(Undo) undo = open_undo();
                g_autofree char *expected = NULL;

                calls_failing = (typeof(calls_failing)){ n, c->times, c->error };
                for (int i = 0; i < 300; i++)
                        failed += put_write(undo, "a", i % 2 ? "0" : "1") < 0;
                failed += put_done(undo, "a") < 0;
                failed += put_done(undo, "b") < 0;
                expected = describe(undo);
                expect_record(expected);
        }
        calls_failing.times = 0;
        ck_case(c->name, (failed > 0) == (c->error != EINTR), "%d calls failed", failed);
}

static bool exists(const char *name)
{
        return faccessat(scratch_fd, name, F_OK, 0) == 0;
}

static void expect_file(const char *name, const char *file, const char *expected)
{
        g_autofree char *text = scratch_text(file);

        ck_case(name, g_strcmp0(text, expected) == 0, "%s is \"%s\", expected \"%s\"", file, text,
                expected);
}

static void nothing_in_the_way(void)
{
        g_autofree char *path = g_build_filename(scratch, UNDO_DAMAGED, NULL);

        link_error = 0;
        scratch_limit("undo", 1000000);
        remove(path);
}

static void no_link(void)
{
        scratch_file(UNDO_DAMAGED, "of long ago");
        link_error = EMLINK;
}

static void no_room(void)
{
        scratch_file(UNDO_DAMAGED, "of long ago");
        scratch_limit("undo.new", 5);
}

static void no_name(void)
{
        ck_assert_int_eq(mkdirat(scratch_fd, UNDO_DAMAGED, 0700), 0);
}

static const struct {
        const char *name;
        void (*prevent)(void);
        const char *file, *kept, *after; /* `after`: with one more line */
} kept_cases[] = {
        { "no link", no_link, DAMAGED, "of long ago", DAMAGED "write\tk\ta\t1\n" },
        { "no link, nothing else", no_link, "rubbish\n", "of long ago", NULL },
        { "no room", no_room, DAMAGED, "of long ago", DAMAGED "write\tk\ta\t1\n" },
        { "no name", no_name, DAMAGED, NULL, DAMAGED "write\tk\ta\t1\n" },
        { "no name, nothing else", no_name, "rubbish\n", NULL, NULL },
};

/* A damaged record that cannot be set aside stays as it is, and so does an older one. */
TEST_EACH(set_aside_or_not, kept_cases)
{
        int r;

        scratch_file("undo", c->file);
        g_autoptr(Undo) undo = open_undo();

        c->prevent();
        r = undo_set_aside(undo);
        link_error = 0;
        scratch_limit("undo", 1000000); /* Check itself writes files */
        ck_case(c->name, r < 0, "returned %d", r);
        expect_file(c->name, "undo", c->file);
        expect_file(c->name, UNDO_DAMAGED, c->kept);
        ck_case(c->name, !exists("undo.aside") && !exists("undo.new"), "something is left");
        if (c->after)
                ck_assert_int_eq(put_write(undo, "a", "1"), 0);
        expect_file(c->name, "undo", c->after ?: c->file);
        expect_file(c->name, UNDO_DAMAGED, c->kept);
        nothing_in_the_way();
        ck_assert_int_eq(undo_set_aside(undo), 1);
        expect_file(c->name, UNDO_DAMAGED, c->after ?: c->file);
        ck_assert_int_eq(record_exists(), c->after != NULL);
}

static void set_aside(void)
{
        g_autoptr(Undo) undo = open_undo();

        undo_set_aside(undo);
}

/* Killed anywhere while it sets a record aside: the next one has it kept. */
TEST(killed_while_setting_aside)
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                scratch_file("undo", DAMAGED);
                scratch_file(UNDO_DAMAGED, "of long ago");
                killed = killed_at(n, set_aside);
                set_aside();
                expect_file("killed", UNDO_DAMAGED, DAMAGED);
                ck_assert(!exists("undo.aside"));
                expect_record("k a 0-3 - -");
        }
        ck_assert_int_gt(n, 8);
}

UNIT("undo-failures", .setup = scratch_open, .teardown = scratch_close, .timeout = 60)
