/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * "Did you mean": the word that someone who mistyped another probably wanted.
 */
#ifndef IDLED_NEAREST_H
#define IDLED_NEAREST_H

/* Of the NULL-terminated `candidates` the one that the fewest typing mistakes (a letter too many,
 * missing, wrong, or swapped with its neighbour; case does not count) turn into `word`; NULL if
 * none is within a third of its letters. The first of several that are equally near. */
const char *word_nearest(const char *word, const char *const *candidates);

#endif
