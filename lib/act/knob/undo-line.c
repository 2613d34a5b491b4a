/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One line of the record of originals, as text. Fields are escaped, so that neither a tab nor a
 * newline in the name of a cgroup can pass for the end of one. Text that no correct escaping
 * produces is refused.
 */
#include "act/knob/undo-line.h"

#include <string.h>

bool undo_line_is_plain(const char *field)
{
        while (*field >= ' ' && *field < '\177' && *field != '"' && *field != '\\')
                field++;
        return !*field;
}

/* g_string_append(), without the cost of a call. */
static void put(GString *text, const char *more, size_t length)
{
        if (text->len + length >= text->allocated_len) {
                g_string_append_len(text, more, (gssize)length);
                return;
        }
        memcpy(text->str + text->len, more, length);
        text->len += length;
        text->str[text->len] = '\0';
}

static void put_field(GString *text, const char *field, bool plain)
{
        g_autofree char *escaped = NULL;

        if (!plain)
                field = escaped = g_strescape(field, NULL);
        put(text, "\t", 1);
        put(text, field, strlen(field));
}

void undo_line_append(GString *text, const char *word, const UndoEntry *entry, const char *value)
{
        put(text, word, strlen(word));
        put_field(text, entry->kind, entry->plain);
        put_field(text, entry->name, entry->plain);
        if (value)
                put_field(text, value, undo_line_is_plain(value));
        put(text, "\n", 1);
}

/* Unescapes one field in place; false if no correct escaping can have produced it. */
static bool field_unescape(char **field)
{
        size_t slashes = 0, length = strlen(*field);
        g_autofree char *plain = NULL, *again = NULL;

        while (slashes < length && (*field)[length - 1 - slashes] == '\\')
                slashes++;
        if (slashes % 2) /* g_strcompress() would complain aloud */
                return false;
        plain = g_strcompress(*field);
        again = g_strescape(plain, NULL);
        if (!g_str_equal(again, *field))
                return false;
        g_free(*field);
        *field = g_steal_pointer(&plain);
        return true;
}

char **undo_line_split(const GString *line)
{
        g_auto(GStrv) fields = NULL;
        unsigned n;

        if (memchr(line->str, '\0', line->len))
                return NULL;
        fields = g_strsplit(line->str, "\t", 5);
        n = g_strv_length(fields);
        for (unsigned i = 1; i < n; i++)
                if (!field_unescape(&fields[i]))
                        return NULL;
        if (n < 3 || !*fields[1] || !*fields[2])
                return NULL;
        return g_steal_pointer(&fields);
}
