/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers inside the kernel's texts, for the hot path.
 *
 * base/number.h wants a text that is the number; here numbers stand in lines with others, and a
 * machine with hundreds of CPUs has thousands of them. The end of the buffer must be a NUL.
 */
#ifndef IDLED_SCAN_H
#define IDLED_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the decimal number behind any blanks at *text and moves *text behind it. False if there is
 * none, or if it has 20 digits or more; then *text is somewhere in between. */
static inline bool scan_u64(const char **text, uint64_t *ret_value)
{
        const char *p = *text, *first;
        uint64_t value = 0;
        unsigned digit;

        while (*p == ' ')
                p++;
        for (first = p; (digit = (unsigned)*p - '0') <= 9; p++)
                value = value * 10 + digit;
        *text = p;
        if (p == first || p - first > 19)
                return false;
        *ret_value = value;
        return true;
}

/* Moves *text behind `word` if it begins with it. */
static inline bool scan_word(const char **text, const char *word)
{
        const char *p = *text;

        for (; *word; word++, p++)
                if (*p != *word)
                        return false;
        *text = p;
        return true;
}

#endif
