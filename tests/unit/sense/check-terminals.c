/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Terminals, mostly as plain files: the kernel reports reads of both alike. */
#include <poll.h>
#include <termios.h>

#include "machine.h"
#include "sense/terminals.h"
#include "table.h"

static Tree tree;
static Terminals *terminals;

static void setup(void)
{
        static const char *const names[] = { "pts/0", "pts/7", "pts/ptmx", "tty",  "tty0",
                                             "tty1",  "ttyS0", "ttyS1",    "hvc0", "null" };

        tree = tree_make();
        tree_put(&tree, "sys/class/tty/console/active", "tty0 hvc0 ttyS0 ../null ttyUSB0\n");
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_strconcat("dev/", names[i], NULL);

                tree_put(&tree, path, "keys\n");
        }
        ck_assert_int_eq(terminals_new(tree.root, &terminals), 0);
}

static void teardown(void)
{
        terminals_free(terminals);
        tree_done(&tree);
}

/* A process reads the file; returns what idled sees of it. */
static const struct {
        const char *file, *seen; /* NULL: nothing */
} cases[] = {
        { "pts/0", "pts/0" }, { "pts/7", "pts/7" }, { "tty1", "tty1" }, { "pts/ptmx", NULL },
        { "ttyS0", "ttyS0" }, { "hvc0", "hvc0" },   { "tty", NULL },    { "tty0", NULL },
        { "ttyS1", NULL },    { "null", NULL },
};

TEST_EACH(reading, cases)
{
        g_autofree char *path = g_strconcat("dev/", c->file, NULL), *text = NULL, *seen = NULL;

        ck_assert_int_eq(file_read(tree.root, path, &text), 0);
        seen = terminals_read(terminals);
        ck_case(c->file, g_strcmp0(seen, c->seen) == 0, "%s", seen ? seen : "nothing");
        g_free(g_steal_pointer(&seen));
        ck_assert_ptr_null(terminals_read(terminals));
}

TEST(writing_is_none)
{
        ck_assert_int_eq(file_write(tree.root, "dev/pts/0", "output"), 0);
        ck_assert_ptr_null(terminals_read(terminals));
}

TEST(one_that_comes)
{
        g_autofree char *text = NULL, *seen = NULL;

        close(openat(tree.root, "dev/pts/9", O_CREAT | O_WRONLY, 0600));
        ck_assert_ptr_null(terminals_read(terminals));
        ck_assert_int_eq(file_write(tree.root, "dev/pts/9", "keys"), 0);
        ck_assert_int_eq(file_read(tree.root, "dev/pts/9", &text), 0);
        seen = terminals_read(terminals);
        ck_assert_str_eq(seen, "pts/9");
}

static void set_access(const char *path, time_t second)
{
        const struct timespec times[] = { { .tv_sec = second }, { .tv_nsec = UTIME_OMIT } };

        ck_assert_int_eq(utimensat(tree.root, path, times, 0), 0);
}

/* What was typed last since a second and before another one, counted from now, when the terminals
 * changed last; 8 s late. */
static const struct {
        const char *case_name;
        int since, before;
        int last; /* 0: none */
        const char *terminal;
} inputs[] = {
        { "the last of all", -10, 5000, 4008, "ttyS0" },
        { "nothing since then", 4001, 5000, 0, NULL },
        { "in that second", 4000, 4000, 4008, "ttyS0" },
        { "what is still to come does not count", -10, 3999, 2008, "pts/7" },
        { "another terminal", -10, 1999, 1008, "pts/0" },
        { "neither before nor after", 1001, 1999, 0, NULL },
        { "new terminals have no input", -10, 999, 0, NULL },
};

TEST_EACH(last_input, inputs)
{
        g_autofree char *name = NULL;
        time_t now = time(NULL);
        uint64_t last;

        set_access("dev/pts/0", now + 1000);
        set_access("dev/pts/7", now + 2000);
        set_access("dev/ttyS1", now + 2500); /* no console */
        set_access("dev/null", now + 2500);
        set_access("dev/ttyS0", now + 4000);
        last = terminals_last_input(tree.root, (uint64_t)(now + c->since) * G_USEC_PER_SEC,
                                    (uint64_t)(now + c->before) * G_USEC_PER_SEC, &name);
        ck_case(c->case_name, g_strcmp0(name, c->terminal) == 0, "%s", name ? name : "none");
        ck_case(c->case_name, last == (c->last ? (uint64_t)(now + c->last) * G_USEC_PER_SEC : 0),
                "%" PRIu64, last);
}

/* As idled.service has it: the /dev of a sandbox, without consoles, and the whole one below it. */
TEST(in_a_sandbox)
{
        g_autofree char *text = NULL, *seen = NULL;
        Terminals *inside = NULL;

        ck_assert_int_eq(unlinkat(tree.root, "dev/tty1", 0), 0);
        tree_put(&tree, "dev/host/tty1", "keys\n");
        tree_put(&tree, "dev/host/pts/0", "keys\n");
        ck_assert_int_eq(terminals_new(tree.root, &inside), 0);
        ck_assert_int_eq(file_read(tree.root, "dev/host/tty1", &text), 0);
        seen = terminals_read(inside);
        ck_assert_str_eq(seen, "tty1");
        g_free(g_steal_pointer(&text));
        g_free(g_steal_pointer(&seen));
        ck_assert_int_eq(file_read(tree.root, "dev/host/pts/0", &text), 0);
        seen = terminals_read(inside);
        ck_assert_str_eq(seen, "pts/0");
        terminals_free(inside);
}

/* Opens a pseudo-terminal, which is pts/0 of a tree from then on; -1: there are none here. */
static int open_pseudo(int *ret_master)
{
        int master = posix_openpt(O_RDWR | O_NOCTTY);
        char name[64];

        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
            ptsname_r(master, name, sizeof(name)) != 0)
                return -1;
        ck_assert_int_eq(unlinkat(tree.root, "dev/pts/0", 0), 0);
        ck_assert_int_eq(symlinkat(name, tree.root, "dev/pts/0"), 0);
        *ret_master = master;
        return open(name, O_RDWR | O_NOCTTY | O_NONBLOCK);
}

/* Keys that come to a program that tries to read each: by lines, or edited by itself as in bash. */
static const struct {
        const char *case_name, *keys;
        bool edits, seen;
} typed[] = {
        { "a key, and the kernel edits", "k", false, false },
        { "a line, and the kernel edits", "k\n", false, true },
        { "a key, and the program edits", "k", true, true },
};

TEST_EACH(a_pseudo_terminal, typed)
{
        int master = -1, slave = open_pseudo(&master);
        g_autofree char *seen = NULL;
        Terminals *there = NULL;
        struct termios mode;
        char text[8];

        if (slave < 0) {
                case_skip(c->case_name, "there are no pseudo-terminals");
                return;
        }
        ck_assert_int_eq(terminals_new(tree.root, &there), 0);
        ck_assert_int_eq(terminals_error(there), 0);
        ck_assert_int_eq(tcgetattr(slave, &mode), 0);
        if (c->edits)
                cfmakeraw(&mode);
        ck_assert_int_eq(tcsetattr(slave, TCSANOW, &mode), 0);
        ck_assert_int_eq(write(master, c->keys, strlen(c->keys)), (ssize_t)strlen(c->keys));
        if (c->seen) /* the kernel passes keys on a little later */
                ck_assert_int_eq(poll(&(struct pollfd){ .fd = slave, .events = POLLIN }, 1, -1), 1);
        ck_case(c->case_name, (read(slave, text, sizeof(text)) > 0) == c->seen, "read");
        seen = terminals_read(there);
        ck_case(c->case_name, g_strcmp0(seen, c->seen ? "pts/0" : NULL) == 0, "%s",
                seen ? seen : "nothing");
        terminals_free(there);
        close(slave);
        close(master);
}

TEST(no_terminals)
{
        g_auto(Tree) bare = tree_make();
        Terminals *none = NULL;
        char *name = NULL;

        ck_assert_int_eq(terminals_new(bare.root, &none), -ENOENT);
        ck_assert_int_eq(mkdirat(bare.root, "dev", 0755), 0);
        ck_assert_int_eq(terminals_new(bare.root, &none), 0);
        ck_assert_ptr_null(terminals_read(none));
        ck_assert_uint_eq(terminals_last_input(bare.root, 0, UINT64_MAX, &name), 0);
        ck_assert_ptr_null(name);
        terminals_free(none);
}

UNIT("terminals", .setup = setup, .teardown = teardown)
