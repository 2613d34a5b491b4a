/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Windows: when they are open, what opened them, and when they close. */
#include "manager/windows.h"
#include "table.h"

static Windows windows;
static WindowLengths lengths;

static void setup(void)
{
        windows_init(&windows);
        lengths = (WindowLengths){ .start = 10, .terminal = 80 };
}

static void teardown(void)
{
        windows_done(&windows);
}

static void expect(uint64_t now, Window open, const char *why, uint64_t close_at)
{
        g_autofree char *said = NULL;

        ck_assert_int_eq(windows_open(&windows, &lengths, now, &said), open);
        ck_assert_str_eq(said ? said : "", why);
        ck_assert_uint_eq(windows_close_at(&windows, &lengths, now), close_at);
}

TEST(closed)
{
        expect(0, WINDOW_NONE, "", 0);
        expect(100, WINDOW_NONE, "", 0);
}

TEST(start)
{
        windows_start(&windows, "a.service");
        expect(10, WINDOW_START, "a.service starts", 0);
        expect(UINT64_MAX, WINDOW_START, "a.service starts", 0); /* however long it takes */
        ck_assert(windows_started(&windows, "a.service", 20));
        expect(20, WINDOW_START, "a.service has just started", 30);
        expect(30, WINDOW_NONE, "", 0);
        ck_assert(!windows_started(&windows, "a.service", 50)); /* a job that stopped it */
        expect(40, WINDOW_NONE, "", 0);
}

TEST(cgroup)
{
        windows_begun(&windows, "cgroup /x", 20);
        expect(20, WINDOW_START, "cgroup /x has just started", 30);
        windows_begun(&windows, "cgroup /y", 25);
        expect(30, WINDOW_START, "cgroup /y has just started", 35);
        expect(35, WINDOW_NONE, "", 0);
}

TEST(two_starts)
{
        windows_start(&windows, "a.service");
        windows_start(&windows, "b.scope");
        ck_assert(windows_started(&windows, "a.service", 20));
        expect(20, WINDOW_START, "b.scope starts", 0);
        ck_assert(windows_drop(&windows, "b.scope"));
        ck_assert(!windows_drop(&windows, "b.scope"));
        expect(20, WINDOW_START, "a.service has just started", 30);
}

TEST(no_start)
{
        windows_start(&windows, "a.service");
        ck_assert(windows_drop(&windows, "a.service"));
        expect(20, WINDOW_NONE, "", 0);
}

TEST(terminal)
{
        windows_input(&windows, "pts/0", 20);
        expect(20, WINDOW_TERMINAL, "input to terminal pts/0", 100);
        windows_input(&windows, windows.terminal, 40); /* more of it */
        expect(110, WINDOW_TERMINAL, "input to terminal pts/0", 120);
        expect(120, WINDOW_NONE, "", 0);
}

TEST(both)
{
        windows_input(&windows, "tty1", 20);
        windows_start(&windows, "a.service");
        expect(20, WINDOW_START, "a.service starts", 0);
        windows_started(&windows, "a.service", 20);
        expect(25, WINDOW_TERMINAL, "input to terminal tty1", 100);
        windows_start(&windows, "a.service");
        windows_started(&windows, "a.service", 120);
        expect(110, WINDOW_START, "a.service has just started", 130);
}

/* Options that change while a window is open change its end. */
TEST(other_lengths)
{
        windows_input(&windows, "pts/0", 20);
        windows_start(&windows, "a.service");
        windows_started(&windows, "a.service", 20);
        lengths = (WindowLengths){ .start = 30, .terminal = 0 };
        expect(25, WINDOW_START, "a.service has just started", 50);
        lengths = (WindowLengths){ .start = 0, .terminal = 10 };
        expect(25, WINDOW_TERMINAL, "input to terminal pts/0", 30);
        expect(30, WINDOW_NONE, "", 0);
        lengths.terminal = 100;
        expect(30, WINDOW_TERMINAL, "input to terminal pts/0", 120);
        lengths.terminal = 0;
        expect(30, WINDOW_NONE, "", 0);
        windows_start(&windows, "b.service"); /* begun before the option was 0 */
        expect(30, WINDOW_NONE, "", 0);
        lengths.start = 1;
        expect(30, WINDOW_START, "b.service starts", 0);
}

UNIT("windows", .setup = setup, .teardown = teardown)
