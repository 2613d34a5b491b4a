/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strict numbers: what is accepted, with which value, and what is refused. */
#include "base/number.h"
#include "table.h"

typedef enum Kind { U64, INT, REAL, DURATION, PERCENT } Kind;

static const struct {
        Kind kind;
        const char *text;
        int error;
        double value;
} cases[] = {
        { U64, "0", 0, 0 },
        { U64, "007", 0, 7 },
        { U64, "18446744073709551615", 0, 0x1p64 },
        { U64, "18446744073709551616", -ERANGE, 0 },
        { U64, "", -EINVAL, 0 },
        { U64, "-1", -EINVAL, 0 },
        { U64, "+1", -EINVAL, 0 },
        { U64, " 1", -EINVAL, 0 },
        { U64, "1o0", -EINVAL, 0 },
        { U64, "0x10", -EINVAL, 0 },
        { INT, "-2147483648", 0, -2147483648.0 },
        { INT, "2147483647", 0, 2147483647.0 },
        { INT, "2147483648", -ERANGE, 0 },
        { INT, "-2147483649", -ERANGE, 0 },
        { INT, "-", -EINVAL, 0 },
        { INT, "--1", -EINVAL, 0 },
        { REAL, "1.5", 0, 1.5 },
        { REAL, "12", 0, 12 },
        { REAL, "1.", -EINVAL, 0 },
        { REAL, ".5", -EINVAL, 0 },
        { REAL, "1,5", -EINVAL, 0 },
        { REAL, "1e3", -EINVAL, 0 },
        { REAL, "nan", -EINVAL, 0 },
        { REAL, "inf", -EINVAL, 0 },
        { DURATION, "250ms", 0, 250000 },
        { DURATION, "50us", 0, 50 },
        { DURATION, "1.5s", 0, 1500000 },
        { DURATION, "2min", 0, 120000000 },
        { DURATION, "1h", 0, 3600000000.0 },
        { DURATION, "0", 0, 0 },
        { DURATION, "0s", 0, 0 },
        { DURATION, "0.00h", 0, 0 },
        { DURATION, "0.5us", 0, 1 },
        { DURATION, "0.4us", -ERANGE, 0 },
        { DURATION, "0.000000001s", -ERANGE, 0 },
        { DURATION, "250", -EINVAL, 0 },
        { DURATION, "ms", -EINVAL, 0 },
        { DURATION, "", -EINVAL, 0 },
        { DURATION, "250 ms", -EINVAL, 0 },
        { DURATION, "250mss", -EINVAL, 0 },
        { DURATION, "-1s", -EINVAL, 0 },
        { DURATION, "99999999999999999h", -ERANGE, 0 },
        { PERCENT, "80%", 0, 0.8 },
        { PERCENT, "1.56%", 0, 0.0156 },
        { PERCENT, "150%", 0, 1.5 },
        { PERCENT, "80", -EINVAL, 0 },
        { PERCENT, "%", -EINVAL, 0 },
        { PERCENT, "8%0", -EINVAL, 0 },
};

static int parse_as(Kind kind, const char *text, double *ret_value)
{
        uint64_t u = 42;
        int i = 42, r;

        switch (kind) {
        case U64:
                r = u64_parse(text, &u);
                *ret_value = (double)u;
                return r;
        case INT:
                r = int_parse(text, &i);
                *ret_value = i;
                return r;
        case DURATION:
                r = duration_parse(text, &u);
                *ret_value = (double)u;
                return r;
        case REAL:
                return real_parse(text, ret_value);
        case PERCENT:
                return percent_parse(text, ret_value);
        }
        return -EINVAL;
}

TEST_EACH(parse, cases)
{
        double value = 42;
        int r = parse_as(c->kind, c->text, &value);
        double expected = c->error ? 42 : c->value;

        ck_case(c->text, r == c->error, "returned %d, expected %d", r, c->error);
        ck_case(c->text, fabs(value - expected) <= 1e-12 * fabs(expected),
                "is %.17g, expected %.17g", value, expected);
}

static const struct {
        uint64_t usec;
        const char *text;
} format_cases[] = {
        { 0, "0" },           { 1, "1us" },        { 250000, "250ms" },   { 1500000, "1500ms" },
        { 60000000, "1min" }, { 90000000, "90s" }, { 3600000000u, "1h" },
};

TEST_EACH(format, format_cases)
{
        g_autofree char *text = duration_format(c->usec);
        uint64_t usec;

        ck_assert_str_eq(text, c->text);
        ck_assert_int_eq(duration_parse(text, &usec), 0);
        ck_assert_uint_eq(usec, c->usec);
}

static const struct {
        double value;
        const char *unit, *text;
} value_cases[] = {
        { 0.43216, "CPUs", "0.4322 CPUs" }, { 1, "CPUs", "1 CPU" },  { 1, "tasks", "1 task" },
        { 2, "cores", "2 cores" },          { 1, "s", "1 s" },       { 12345, "", "12345" },
        { 12345.6, "W", "1.235e+04 W" },    { -0.5, "%", "-0.5 %" },
};

TEST_EACH(value, value_cases)
{
        g_autofree char *text = value_format(c->value, c->unit);

        ck_assert_str_eq(text, c->text);
}

UNIT("number")
