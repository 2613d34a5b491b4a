/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What memory.h promises: readable content does not change, and the kernel gets the memory. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "table.h"

#define PAGES 8

static size_t page;
static char *area;

static void set_up(void)
{
        page = (size_t)sysconf(_SC_PAGESIZE);
        area = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(area, MAP_FAILED);
        memset(area, 0, PAGES * page);
}

static void tear_down(void)
{
        munmap(area, PAGES * page);
}

static int count_resident(void)
{
        unsigned char resident[PAGES];
        int n = 0;

        ck_assert_int_eq(mincore(area, PAGES * page, resident), 0);
        for (int i = 0; i < PAGES; i++)
                n += resident[i] & 1;
        return n;
}

START_TEST(zeros_are_given_back)
{
        area[3 * page + 17] = 'x';
        area[6 * page - 1] = 'y';
        ck_assert_int_eq(count_resident(), PAGES);
        ck_assert_uint_eq(memory_drop_zeros(area, PAGES * page), (PAGES - 2) * page);
        ck_assert_int_eq(count_resident(), 2);
        ck_assert_int_eq(area[3 * page + 17], 'x');
        ck_assert_int_eq(area[6 * page - 1], 'y');
        ck_assert_int_eq(area[0], 0);
        area[0] = 'z';
        ck_assert_int_eq(area[0], 'z');
}
END_TEST

/* The rest of the same page, before and after, belongs to others. */
START_TEST(only_whole_pages_are)
{
        ck_assert_uint_eq(memory_drop_zeros(area + 1, PAGES * page - 2), (PAGES - 2) * page);
        ck_assert_uint_eq(memory_drop_zeros(area + 1, page), 0);
        ck_assert_uint_eq(memory_drop_zeros(area + 1, 1), 0);
        ck_assert_uint_eq(memory_drop_zeros(area, 0), 0);
        ck_assert_int_eq(count_resident(), 2);
}
END_TEST

static long resident_file_pages(void)
{
        FILE *file = fopen("/proc/self/statm", "re");
        long size, resident, shared;

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &size, &resident, &shared), 3);
        fclose(file);
        return shared;
}

START_TEST(code_is_given_back_and_runs_again)
{
        static const int constants[] = { 4711, 815 };
        static int variable = 42;
        char *copy = strdup("heap");
        long before = resident_file_pages();

        memory_settle();
        ck_assert_int_lt(resident_file_pages(), before);
        ck_assert_int_eq(constants[0] + constants[1], 5526);
        ck_assert_int_eq(variable, 42);
        ck_assert_str_eq(copy, "heap");
        free(copy);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("memory");
        TCase *tcase = tcase_create("memory");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_test(tcase, zeros_are_given_back);
        tcase_add_test(tcase, only_whole_pages_are);
        tcase_add_test(tcase, code_is_given_back_and_runs_again);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
