/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who reads which words of a text. */
#include "base/log.h"
#include "base/private-text.h"
#include "table.h"

#define MARKED                                                                                     \
        "the affinity of \x0e"                                                                     \
        "1000\x1fprocess 9 (a)\x1f"                                                                \
        "a process\x0f"

static const struct {
        const char *name, *text;
        uid_t reader;
        const char *expected;
} cases[] = {
        { "nothing private", "a text", 1, "a text" },
        { "empty", "", 0, "" },
        { "root", MARKED " ends", 0, "the affinity of process 9 (a) ends" },
        { "owner", MARKED, 1000, "the affinity of process 9 (a)" },
        { "another user", MARKED " ends", 1001, "the affinity of a process ends" },
        { "any user", MARKED, (uid_t)-1, "the affinity of a process" },
        { "two", MARKED ", " MARKED, 1, "the affinity of a process, the affinity of a process" },
        { "unknown owner",
          "\x0e"
          "4294967295\x1fx\x1fy\x0f",
          (uid_t)-1, "y" },
        { "cut off",
          "hold \x0e"
          "1000\x1fprocess 9",
          0, "hold " },
        { "cut off later",
          "hold \x0e"
          "1000\x1fprocess 9\x1f"
          "a",
          0, "hold " },
};

TEST_EACH(readers, cases)
{
        g_autofree char *found = private_text_for(c->text, c->reader);

        ck_case(c->name, g_str_equal(found, c->expected), "%s", found);
}

/* A name that a process chose cannot end its own privacy, or begin another's. */
TEST(forged)
{
        g_autofree char *clean = log_clean("a\x1fx\x0f\x0e"
                                           "0\x1f");
        g_autofree char *text = private_text(1000, clean, "b"), *root = private_text_for(text, 0);
        g_autofree char *other = private_text_for(text, 1);

        ck_assert_str_eq(root, clean);
        ck_assert_str_eq(other, "b");
}

UNIT("private-text")
