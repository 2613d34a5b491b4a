/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Private words in texts: BEGIN, owner, NEXT, what the owner reads, NEXT, what others read, END.
 * log_clean() leaves none of these characters in a text. */
#include "base/private-text.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN '\x0e'
#define NEXT  '\x1f'
#define END   '\x0f'

char *private_text(uid_t owner, const char *whole, const char *others)
{
        return g_strdup_printf("%c%u%c%s%c%s%c", BEGIN, (unsigned)owner, NEXT, whole, NEXT, others,
                               END);
}

char *private_text_for(const char *text, uid_t reader)
{
        GString *shown = g_string_new(NULL);
        const char *begin;

        while ((begin = strchr(text, BEGIN))) {
                const char *whole = strchr(begin, NEXT),
                           *others = whole ? strchr(whole + 1, NEXT) : NULL;
                const char *end = others ? strchr(others, END) : NULL;
                uid_t owner = (uid_t)strtoul(begin + 1, NULL, 10);

                g_string_append_len(shown, text, begin - text);
                if (!end) /* cut off */
                        return g_string_free(shown, FALSE);
                if (reader == 0 || (reader == owner && reader != (uid_t)-1))
                        g_string_append_len(shown, whole + 1, others - whole - 1);
                else
                        g_string_append_len(shown, others + 1, end - others - 1);
                text = end + 1;
        }
        g_string_append(shown, text);
        return g_string_free(shown, FALSE);
}
