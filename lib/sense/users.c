/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of users: the first that /etc/passwd has for a number is the one. */
#include "sense/users.h"

#include "base/file.h"
#include "base/number.h"

GHashTable *users_read(int root)
{
        GHashTable *users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;

        if (file_read(root, "etc/passwd", &text) < 0)
                return users;
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_auto(GStrv) fields = g_strsplit(*line, ":", 4);
                uint64_t uid;

                if (g_strv_length(fields) == 4 && u64_parse(fields[2], &uid) >= 0 &&
                    uid < UINT32_MAX && !g_hash_table_contains(users, GUINT_TO_POINTER((guint)uid)))
                        g_hash_table_insert(users, GUINT_TO_POINTER((guint)uid),
                                            g_strdup(fields[0]));
        }
        return users;
}
