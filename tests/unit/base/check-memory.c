/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What memory.h promises: readable content does not change, and the kernel gets the memory. */
#include "base/memory.h"
#include "table.h"

static long resident_file_pages(void)
{
        FILE *file = fopen("/proc/self/statm", "re");
        long size, resident, shared;

        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(fscanf(file, "%ld %ld %ld", &size, &resident, &shared), 3);
        fclose(file);
        return shared;
}

TEST(code_is_given_back_and_runs_again)
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

UNIT("memory")
