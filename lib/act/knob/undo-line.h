/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line of the record of originals (undo.h), as text.
 */
#ifndef IDLED_UNDO_LINE_H
#define IDLED_UNDO_LINE_H

#include "act/knob/undo.h"

/* True if escaping would change nothing, which is so nearly always. */
bool undo_line_is_plain(const char *field);

/* Adds "WORD\tKIND\tNAME[\tVALUE]\n" about that knob; a `value` of NULL is left out. */
void undo_line_append(GString *text, const char *word, const UndoEntry *entry, const char *value);

/* The fields of a line without its newline, unescaped: word, kind, name and, if there is one,
 * value. NULL: this is no line that undo_line_append() writes. */
char **undo_line_split(const GString *line);

#endif
