/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CPU sets: the list format in both directions, and the operations on sets. */
#include "set-of.h"
#include "table.h"

static const struct {
        const char *text, *formatted; /* NULL: an error */
        int count, error;
} parse_cases[] = {
        { "", "", 0, 0 },
        { "\n", "", 0, 0 },
        { "0", "0", 1, 0 },
        { "0-3", "0-3", 4, 0 },
        { "0-3,8,10-11\n", "0-3,8,10-11", 7, 0 },
        { "3,1,2", "1-3", 3, 0 },
        { "5-5", "5", 1, 0 },
        { " 63-64 ", "63-64", 2, 0 },
        { "8191", "8191", 1, 0 },
        { "0-8191", "0-8191", 8192, 0 },
        { "8192", NULL, 0, -ERANGE },
        { "99999999999999999999", NULL, 0, -ERANGE },
        { "3-1", NULL, 0, -EINVAL },
        { "-1", NULL, 0, -EINVAL },
        { "1-", NULL, 0, -EINVAL },
        { "1,", NULL, 0, -EINVAL },
        { ",1", NULL, 0, -EINVAL },
        { "1 2", NULL, 0, -EINVAL },
        { "1o0", NULL, 0, -EINVAL },
        { "0x1", NULL, 0, -EINVAL },
        { "all", NULL, 0, -EINVAL },
        { "0-31:1/2", NULL, 0, -EINVAL },
};

TEST_EACH(parse, parse_cases)
{
        CpuSet set = { .bits = { 0x55 } }, before = set;
        int r = cpuset_parse(c->text, &set);

        ck_case(c->text, r == c->error, "returned %d, expected %d", r, c->error);
        if (r < 0) {
                ck_case(c->text, cpuset_equal(&set, &before), "touched on failure");
                return;
        }
        g_autofree char *text = cpuset_format(&set);

        ck_assert_str_eq(text, c->formatted);
        ck_assert_int_eq(cpuset_count(&set), c->count);
}

static const struct {
        const char *text, *list, *formatted; /* NULL: an error */
        int error;
} masks[] = {
        { "0", "", "0", 0 },
        { "f\n", "0-3", "f", 0 },
        { "0000000f", "0-3", "f", 0 },
        { "00000000,0000000e", "1-3", "e", 0 },
        { "1,80000000", "31-32", "1,80000000", 0 },
        { " FF,00000000,00000001 ", "0,64-71", "ff,00000000,00000001", 0 },
        { "", NULL, NULL, -EINVAL },
        { "1,f", NULL, NULL, -EINVAL },
        { "1,", NULL, NULL, -EINVAL },
        { ",00000001", NULL, NULL, -EINVAL },
        { "123456789", NULL, NULL, -EINVAL },
        { "0x1", NULL, NULL, -EINVAL },
        { "1 2", NULL, NULL, -EINVAL },
        { "g", NULL, NULL, -EINVAL },
};

TEST_EACH(mask, masks)
{
        CpuSet set = { .bits = { 0x55 } }, before = set;
        int r = cpuset_parse_mask(c->text, &set);

        ck_case(c->text, r == c->error, "returned %d, expected %d", r, c->error);
        if (r < 0) {
                ck_case(c->text, cpuset_equal(&set, &before), "touched on failure");
                return;
        }
        g_autofree char *list = cpuset_format(&set), *text = cpuset_format_mask(&set);

        ck_assert_str_eq(list, c->list);
        ck_assert_str_eq(text, c->formatted);
}

/* The highest CPU fits, and one more does not. */
TEST(widest_mask)
{
        g_autoptr(GString) text = g_string_new("80000000");
        CpuSet set;

        for (int i = 1; i < CPUSET_MAX / 32; i++)
                g_string_append(text, ",00000000");
        ck_assert_int_eq(cpuset_parse_mask(text->str, &set), 0);
        ck_assert_int_eq(cpuset_next(&set, -1), CPUSET_MAX - 1);
        g_string_append(text, ",00000000");
        ck_assert_int_eq(cpuset_parse_mask(text->str, &set), -ERANGE);
}

static const struct {
        const char *a, *b, *and, * or, *subtract;
        bool subset, intersects;
} operation_cases[] = {
        { "", "", "", "", "", true, false },
        { "0-3", "", "", "0-3", "0-3", false, false },
        { "", "0-3", "", "0-3", "", true, false },
        { "0-3", "2-5", "2-3", "0-5", "0-1", false, true },
        { "64-127", "0-8191", "64-127", "0-8191", "", true, true },
        { "8191", "0", "", "0,8191", "8191", false, false },
};

TEST_EACH(operations, operation_cases)
{
        CpuSet a = set_of(c->a), b = set_of(c->b), set = a, expected;

        cpuset_and(&set, &b);
        expected = set_of(c->and);
        ck_assert(cpuset_equal(&set, &expected));
        set = a;
        cpuset_or(&set, &b);
        expected = set_of(c->or);
        ck_assert(cpuset_equal(&set, &expected));
        set = a;
        cpuset_subtract(&set, &b);
        expected = set_of(c->subtract);
        ck_assert(cpuset_equal(&set, &expected));
        ck_assert_int_eq(cpuset_is_subset(&a, &b), c->subset);
        ck_assert_int_eq(cpuset_intersects(&a, &b), c->intersects);
        ck_assert_int_eq(cpuset_is_empty(&a), !*c->a);
}

TEST(members)
{
        CpuSet set = set_of("0,63-65,8191");
        static const int expected[] = { 0, 63, 64, 65, 8191 };
        int n = 0;

        CPUSET_FOREACH(cpu, &set)
                ck_assert_int_eq(cpu, expected[n++]);
        ck_assert_int_eq(n, 5);
        ck_assert_int_eq(cpuset_next(&set, 8191), -1);
        ck_assert(!cpuset_has(&set, -1));
        ck_assert(!cpuset_has(&set, CPUSET_MAX));
        cpuset_add(&set, CPUSET_MAX);
        cpuset_add(&set, -1);
        cpuset_remove(&set, 64);
        cpuset_remove(&set, 1000000);
        ck_assert_int_eq(cpuset_count(&set), 4);
}

UNIT("cpuset")
