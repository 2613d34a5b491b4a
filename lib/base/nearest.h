/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "Did you mean": the known word that is most similar to a mistyped one.
 */
#ifndef IDLED_NEAREST_H
#define IDLED_NEAREST_H

/* Returns the one of the NULL-terminated `candidates` that the fewest typing errors turn into
 * `word`; the first of several. A typing error is a letter that is extra, missing, wrong, or
 * swapped with its neighbour; case is ignored. NULL if more than a third of the letters are wrong.
 */
const char *word_nearest(const char *word, const char *const *candidates);

/* " (did you mean WORD?)", the empty text if `word` is NULL; a new string. */
char *text_suggest(const char *word);

#endif
