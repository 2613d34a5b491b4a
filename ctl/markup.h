/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text in HTML and SVG. Names come from processes, units and other machines' recordings: whatever
 * they contain, they stay text.
 */
#ifndef IDLED_MARKUP_H
#define IDLED_MARKUP_H

#include <stdio.h>

/* A copy as valid UTF-8: other bytes, control characters and those that reorder or hide text become
 * U+FFFD; line breaks and tabs become blanks. */
char *markup_clean(const char *text);

/* Writes the copy above (NULL: nothing) so that it can stand between tags and in quoted attributes.
 */
void markup_write(FILE *file, const char *text);

/* The same with a format. */
void markup_writef(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes <element>text</element>. `element` may have attributes: "td class=\"number\"". */
void markup_element(FILE *file, const char *element, const char *text);

#endif
