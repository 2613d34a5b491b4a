/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Strict numbers. strtoull() and friends accept signs, white space, hexadecimal and, for fractions,
 * the locale's idea of a decimal point; a configuration must mean the same everywhere.
 */
#include "base/number.h"

#include <errno.h>
#include <glib.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
        const char *name;
        uint64_t usec;
} units[] = {
        { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "min", 60000000 }, { "h", 3600000000u },
};

int u64_parse(const char *text, uint64_t *ret_value)
{
        uint64_t value = 0;

        if (!*text)
                return -EINVAL;
        if (text[strspn(text, "0123456789")])
                return -EINVAL;
        for (; *text; text++)
                if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
                        return -ERANGE;
        *ret_value = value;
        return 0;
}

int int_parse(const char *text, int *ret_value)
{
        bool negative = *text == '-';
        uint64_t value;
        int r;

        r = u64_parse(text + negative, &value);
        if (r < 0)
                return r;
        if (value > (uint64_t)INT_MAX + negative)
                return -ERANGE;
        *ret_value = negative ? (int)-(int64_t)value : (int)value;
        return 0;
}

int real_parse(const char *text, double *ret_value)
{
        size_t whole = strspn(text, "0123456789"), fraction = 0;
        double value;

        if (text[whole] == '.')
                fraction = strspn(text + whole + 1, "0123456789");
        if (whole == 0 || text[whole + (fraction ? fraction + 1 : 0)])
                return -EINVAL;
        value = g_ascii_strtod(text, NULL);
        if (!isfinite(value))
                return -ERANGE;
        *ret_value = value;
        return 0;
}

/* The number in front of `suffix`; the unit's text must have been found at the end of `text`. */
static int number_before(const char *text, size_t suffix, double *ret_value)
{
        g_autofree char *number = g_strndup(text, strlen(text) - suffix);

        return real_parse(number, ret_value);
}

int duration_parse(const char *text, uint64_t *ret_usec)
{
        const char *unit = text + strspn(text, "0123456789.");
        double value, usec;
        int r;

        if (strcmp(text, "0") == 0) {
                *ret_usec = 0;
                return 0;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
                if (strcmp(unit, units[i].name) != 0)
                        continue;
                r = number_before(text, strlen(unit), &value);
                if (r < 0)
                        return r;
                usec = round(value * (double)units[i].usec);
                if (usec >= 0x1p63 || (usec == 0 && value > 0))
                        return -ERANGE;
                *ret_usec = (uint64_t)usec;
                return 0;
        }
        return -EINVAL;
}

int percent_parse(const char *text, double *ret_fraction)
{
        double value;
        int r;

        if (!g_str_has_suffix(text, "%"))
                return -EINVAL;
        r = number_before(text, 1, &value);
        if (r < 0)
                return r;
        *ret_fraction = value / 100;
        return 0;
}

char *value_format(double value, const char *unit)
{
        static const char *const things[] = { "CPUs", "cores", "tasks", "times", NULL };
        bool whole = value == floor(value) && fabs(value) < 1e15;
        g_autofree char *number = g_strdup_printf(whole ? "%.0f" : "%.4g", value);
        bool one = strcmp(number, "1") == 0 && g_strv_contains(things, unit);

        return g_strdup_printf("%s%s%.*s", number, *unit ? " " : "", (int)strlen(unit) - one, unit);
}

char *duration_format(uint64_t usec)
{
        size_t best = 0;

        if (usec == 0)
                return g_strdup("0");
        for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
                if (usec % units[i].usec == 0)
                        best = i;
        return g_strdup_printf("%" G_GUINT64_FORMAT "%s", usec / units[best].usec,
                               units[best].name);
}

char *number_put(char *to, uint64_t value, char end)
{
        char digits[20];
        int n = 0;

        do
                digits[n++] = (char)('0' + value % 10);
        while ((value /= 10) > 0);
        while (n > 0)
                *to++ = digits[--n];
        *to++ = end;
        return to;
}
