/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Saving a file whole, or not at all. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file.h"
#include "scratch.h"
#include "table.h"

/* The old text or the new one, and no other file. */
static void check_saved(const char *expected)
{
        g_autofree char *text = scratch_text("a");
        g_auto(GStrv) names = dir_list(scratch_fd, ".", "");

        ck_assert_str_eq(text, expected);
        ck_assert_uint_eq(g_strv_length(names), 1);
}

TEST(saved)
{
        g_autofree char *path = g_build_filename(scratch, "a", NULL);
        struct stat st;

        umask(002);
        ck_assert_int_eq(file_save(path, "old\n", 0644), 0);
        check_saved("old\n");
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0644);
        ck_assert_int_eq(file_save(path, "new\n", 0666), 0);
        check_saved("new\n");
        ck_assert_int_eq(stat(path, &st), 0);
        ck_assert_uint_eq(st.st_mode & 07777, 0664);
}

TEST(replaces_a_link)
{
        g_autofree char *path = g_build_filename(scratch, "a", NULL);

        ck_assert_int_eq(symlink("/dev/full", path), 0);
        ck_assert_int_eq(file_save(path, "new\n", 0644), 0);
        check_saved("new\n");
        ck_assert(!g_file_test(path, G_FILE_TEST_IS_SYMLINK));
}

TEST(not_saved)
{
        g_autofree char *path = g_build_filename(scratch, "a", NULL);
        g_autofree char *inside = g_build_filename(scratch, "none/a", NULL);

        scratch_file("a", "old\n");
        ck_assert_int_eq(file_save(inside, "new\n", 0644), -ENOENT);
        scratch_limit("none", 2); /* a part of it is written */
        ck_assert_int_eq(file_save(path, "new\n", 0644), -EFBIG);
        check_saved("old\n");
}

UNIT("file", .setup = scratch_open, .teardown = scratch_close)
