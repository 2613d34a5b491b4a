/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line of the record of originals (undo.h), as text.
 */
#ifndef IDLED_UNDO_LINE_H
#define IDLED_UNDO_LINE_H

#include <glib.h>

/* Adds "\tKIND\tNAME", escaped: what all lines about a knob have in common. */
void undo_line_append_key(GString *text, const char *kind, const char *name);

/* Adds "WORD\tKIND\tNAME[\tVALUE]\n" of that key; a `value` of NULL is left out. */
void undo_line_append(GString *text, const char *word, const char *key, const char *value);

/* The fields of a line without its newline, unescaped: word, kind, name and, if there is one,
 * value. NULL: this is no line that undo_line_append() writes. */
char **undo_line_split(const GString *line);

#endif
