/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text in HTML and SVG.
 */
#include "markup.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#define REPLACEMENT 0xfffd

/* Whether a character could change how the text around it reads. */
static bool is_harmful(gunichar c)
{
        switch (g_unichar_type(c)) {
        case G_UNICODE_CONTROL:
        case G_UNICODE_FORMAT:
        case G_UNICODE_LINE_SEPARATOR:
        case G_UNICODE_PARAGRAPH_SEPARATOR:
        case G_UNICODE_SURROGATE:
                return true;
        default:
                return (c & 0xfffe) == 0xfffe; /* not characters: XML forbids them */
        }
}

char *markup_clean(const char *text)
{
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        GString *clean = g_string_sized_new(strlen(valid));

        for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
                gunichar c = g_utf8_get_char(p);

                g_string_append_unichar(clean, c == '\n' || c == '\t' ? ' '
                                               : is_harmful(c)        ? REPLACEMENT
                                                                      : c);
        }
        return g_string_free(clean, FALSE);
}

void markup_write(FILE *file, const char *text)
{
        g_autofree char *clean = text ? markup_clean(text) : NULL;

        for (const char *p = clean; p && *p; p++)
                switch (*p) {
                case '<':
                        fputs("&lt;", file);
                        break;
                case '>':
                        fputs("&gt;", file);
                        break;
                case '&':
                        fputs("&amp;", file);
                        break;
                case '"':
                        fputs("&quot;", file);
                        break;
                case '\'':
                        fputs("&#39;", file);
                        break;
                default:
                        fputc(*p, file);
                }
}

void markup_writef(FILE *file, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        markup_write(file, text);
}

void markup_element(FILE *file, const char *element, const char *text)
{
        int name = (int)strcspn(element, " ");

        fprintf(file, "<%s>", element);
        markup_write(file, text);
        fprintf(file, "</%.*s>", name, element);
}
