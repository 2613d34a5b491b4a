/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "Did you mean": the number of typing mistakes between two words: edit distance with swaps of
 * neighbours (optimal string alignment), by the usual table of distances between all prefixes, of
 * which three rows are enough.
 */
#include "base/nearest.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

/* Longer words are not mistyped keys. */
#define WORD_MAX 64

static bool letter_equal(char a, char b)
{
        return g_ascii_tolower(a) == g_ascii_tolower(b);
}

static unsigned distance(const char *a, const char *b)
{
        unsigned rows[3][WORD_MAX + 1];
        size_t n_a = strlen(a), n_b = strlen(b);

        for (size_t j = 0; j <= n_b; j++)
                rows[0][j] = (unsigned)j;
        for (size_t i = 1; i <= n_a; i++) {
                unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
                         *above2 = rows[(i + 1) % 3];

                row[0] = (unsigned)i;
                for (size_t j = 1; j <= n_b; j++) {
                        unsigned best = above[j - 1] + !letter_equal(a[i - 1], b[j - 1]);

                        best = MIN(best, MIN(above[j], row[j - 1]) + 1);
                        if (i > 1 && j > 1 && letter_equal(a[i - 1], b[j - 2]) &&
                            letter_equal(a[i - 2], b[j - 1]))
                                best = MIN(best, above2[j - 2] + 1);
                        row[j] = best;
                }
        }
        return rows[n_a % 3][n_b];
}

const char *word_nearest(const char *word, const char *const *candidates)
{
        size_t length = strlen(word);
        unsigned limit = (unsigned)(length + 2) / 3;
        const char *best = NULL;

        if (length > WORD_MAX)
                return NULL;
        for (; *candidates; candidates++) {
                unsigned d;

                if (strlen(*candidates) > WORD_MAX)
                        continue;
                d = distance(word, *candidates);
                if (d < limit || (d == limit && !best)) {
                        best = *candidates;
                        limit = d;
                }
        }
        return best;
}

char *text_suggest(const char *word)
{
        return word ? g_strdup_printf(" (did you mean %s?)", word) : g_strdup("");
}
