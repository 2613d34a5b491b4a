/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Waiting while something is measured that takes longer than its period: signals count all the
 * same. */
#include <signal.h>

#include "cli/observe.h"
#include "table.h"

#define ENOUGH 1000 /* three seconds: before Check ends the test */

static int calls;

/* Takes three periods; at the third call a signal comes. */
static bool measure_slowly(void *data)
{
        g_usleep(3000);
        if (++calls == 3)
                raise(SIGTERM);
        return calls < ENOUGH;
}

TEST(always_late)
{
        int status = -1;

        ck_assert(observe(NULL, OBSERVE_FOREVER, NULL, 1000, measure_slowly, NULL, &status));
        ck_assert_int_eq(calls, 3);
        ck_assert_int_eq(status, 0);
}

TEST(command_ends)
{
        char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
        int status = -1;

        calls = 3; /* no signal comes any more */
        ck_assert(observe(NULL, 0, argv, 1000, measure_slowly, NULL, &status));
        ck_assert_int_lt(calls, ENOUGH);
        ck_assert_int_eq(status, 7);
}

TEST(time_is_over)
{
        const int signals[] = { SIGUSR1, 0 };
        int fd = signals_open(signals, NULL);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(signals_wait(fd, 0), 0);
        raise(SIGUSR1);
        ck_assert_int_eq(signals_wait(fd, 0), SIGUSR1);
        close(fd);
}

UNIT("observe")
