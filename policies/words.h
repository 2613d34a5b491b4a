/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Texts of options that are more than one kind of value: "50us" or "C6", "1.8GHz" or "60%". A
 * module may call nothing but pure functions, so reading them is done here.
 */
#ifndef IDLED_WORDS_H
#define IDLED_WORDS_H

#include <stdbool.h>

/* A word that a number may end in, and what one of it is. */
typedef struct Unit {
        const char *name; /* NULL ends a list */
        double factor;
} Unit;

/* Equal without regard to the case of ASCII letters. */
bool word_equal(const char *a, const char *b);

/* A decimal number and one of `units` right behind it, the whole text, as "1.5ms". False if it is
 * anything else; then `*ret_value` is untouched. */
bool word_to_number(const char *text, const Unit *units, double *ret_value);

/* The number in a name such as "C6S": 6. -1 if it is not C, digits and letters. */
int word_to_c_number(const char *name);

#endif
