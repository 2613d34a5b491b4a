/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Strict parsing of words, as strict as the daemon's own parsers. */
#include "words.h"

#include <stddef.h>
#include <string.h>

/* More digits than any value needs. */
#define DIGITS_MAX 15

static char lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

bool word_equal(const char *a, const char *b)
{
        while (*a && lower(*a) == lower(*b)) {
                a++;
                b++;
        }
        return *a == *b;
}

/* Reads digits with an optional fraction; NULL if there are none, or too many. */
static const char *read_decimal(const char *text, double *ret_value)
{
        double value = 0, place = 1;
        int digits = 0;
        bool fraction = false;

        for (; is_digit(*text) || (*text == '.' && !fraction && digits > 0); text++) {
                if (*text == '.') {
                        fraction = true;
                        if (!is_digit(text[1]))
                                return NULL;
                        continue;
                }
                value = value * 10 + (*text - '0');
                place *= fraction ? 10 : 1;
                digits++;
        }
        *ret_value = value / place;
        return digits > 0 && digits <= DIGITS_MAX ? text : NULL;
}

bool word_to_number(const char *text, const Unit *units, double *ret_value)
{
        double value;
        const char *unit = read_decimal(text, &value);

        for (; unit && units->name; units++)
                if (strcmp(unit, units->name) == 0) {
                        *ret_value = value * units->factor;
                        return true;
                }
        return false;
}

int word_to_c_number(const char *name)
{
        int number = 0, digits = 0;

        if (lower(*name++) != 'c')
                return -1;
        for (; is_digit(*name) && digits < 3; name++, digits++)
                number = number * 10 + (*name - '0');
        for (const char *c = name; *c; c++)
                if (lower(*c) < 'a' || lower(*c) > 'z')
                        return -1;
        return digits > 0 ? number : -1;
}
