/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every unit's tests share. A test registers itself: TEST(name) { ... } runs once,
 * TEST_EACH(name, table) once for each row `c`, which is table[_i], TEST_RANGE(name, first, end)
 * for these values of _i. UNIT("name", .setup = ...) is the main() that runs them all, says which
 * named case failed, and that some could not be tried.
 */
#ifndef IDLED_TESTS_TABLE_H
#define IDLED_TESTS_TABLE_H

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check's own writes each assertion that holds to a file, for the message of a crash after it: most
 * of the time of a loop that asserts. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
        ((expr) ? (void)0                                                                          \
                : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed",            \
                                    ##__VA_ARGS__))

/* Fails with the case's name in front of the message. */
#define ck_case(name, condition, ...)                                                              \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        g_autofree char *said_ = g_strdup_printf(__VA_ARGS__);                     \
                        ck_abort_msg("%s: %s", name, said_);                                       \
                }                                                                                  \
        } while (0)

#define EXIT_SKIPPED 77 /* as meson has it */

/* True if the text has all `parts`, which | separates: tests assert what a sentence means, not its
 * wording. NULL is only in NULL. */
static inline bool says(const char *text, const char *parts)
{
        g_auto(GStrv) all = parts ? g_strsplit(parts, "|", -1) : NULL;

        if (!text || !parts)
                return !text && !parts;
        for (int i = 0; all[i]; i++)
                if (!strstr(text, all[i]))
                        return false;
        return true;
}

/* Reports to suite_run(), from the process that the case runs in. */
static int *some_skipped;

/* To be called before a case returns that could not be tried, or not wholly. */
static inline void case_skip(const char *name, const char *why)
{
        fprintf(stderr, "SKIP %s: %s\n", name, why);
        *some_skipped = 1;
}

static inline int suite_run(Suite *suite)
{
        SRunner *runner = srunner_create(suite);
        int failed, skipped;

        some_skipped = mmap(NULL, sizeof(*some_skipped), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (some_skipped == MAP_FAILED)
                return EXIT_FAILURE;
        srunner_run_all(runner, CK_ENV);
        failed = srunner_ntests_failed(runner);
        skipped = *some_skipped;
        munmap(some_skipped, sizeof(*some_skipped));
        srunner_free(runner);
        return failed ? EXIT_FAILURE : skipped ? EXIT_SKIPPED : EXIT_SUCCESS;
}

typedef struct UnitTest UnitTest;

struct UnitTest {
        TTest test;
        int first, end;
        UnitTest *next;
};

static UnitTest *unit_tests;

/* Keeps the order of the file. */
static inline void unit_register(UnitTest *test)
{
        UnitTest **place = &unit_tests;

        while (*place && (*place)->test.line < test->test.line)
                place = &(*place)->next;
        test->next = *place;
        *place = test;
}

#define TEST_RANGE(name, begin, stop)                                                              \
        static void name(int);                                                                     \
        __attribute__((constructor)) static void name##_registers(void)                            \
        {                                                                                          \
                static UnitTest test = { { #name, name, __FILE__, __LINE__ }, begin, stop, NULL }; \
                                                                                                   \
                unit_register(&test);                                                              \
        }                                                                                          \
        static void name(int _i G_GNUC_UNUSED)
#define TEST_EACH(name, table)                                                                     \
        static void name##_case(typeof((table)[0]) *, int);                                        \
        TEST_RANGE(name, 0, (int)G_N_ELEMENTS(table))                                              \
        {                                                                                          \
                name##_case(&(table)[_i], _i);                                                     \
        }                                                                                          \
        static void name##_case(typeof((table)[0]) *c G_GNUC_UNUSED, int _i G_GNUC_UNUSED)
#define TEST(name) TEST_RANGE(name, 0, 1)

typedef struct {
        const char *name;
        void (*setup)(void), (*teardown)(void); /* around each test, in its process */
        double timeout; /* seconds for each test; 0: Check's own, negative: none */
} Unit;

static inline int unit_run(const Unit *unit)
{
        Suite *suite = suite_create(unit->name);

        for (const UnitTest *test = unit_tests; test; test = test->next) {
                TCase *tcase = tcase_create(test->test.name);

                if (unit->timeout != 0)
                        tcase_set_timeout(tcase, MAX(unit->timeout, 0));
                tcase_add_checked_fixture(tcase, unit->setup, unit->teardown);
                tcase_add_loop_test(tcase, &test->test, test->first, test->end);
                suite_add_tcase(suite, tcase);
        }
        return suite_run(suite);
}

#define UNIT(...)                                                                                  \
        int main(void)                                                                             \
        {                                                                                          \
                return unit_run(&(const Unit){ __VA_ARGS__ });                                     \
        }

#endif
