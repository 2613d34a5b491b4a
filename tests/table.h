/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every unit's tests share: a main() that runs one suite and says which named case failed.
 */
#ifndef IDLED_TESTS_TABLE_H
#define IDLED_TESTS_TABLE_H

#include <check.h>
#include <glib.h>
#include <stdlib.h>

/* Fails with the case's name in front of the message. */
#define ck_case(name, condition, ...)                                                              \
        do {                                                                                       \
                g_autofree char *said_ = g_strdup_printf(__VA_ARGS__);                             \
                ck_assert_msg(condition, "%s: %s", name, said_);                                   \
        } while (0)

static inline int suite_run(Suite *suite)
{
        SRunner *runner = srunner_create(suite);
        int failed;

        srunner_run_all(runner, CK_ENV);
        failed = srunner_ntests_failed(runner);
        srunner_free(runner);
        return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
