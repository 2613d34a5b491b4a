/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What fuzz targets of files in the configuration share. */
#ifndef IDLED_TESTS_FUZZ_CONFIG_H
#define IDLED_TESTS_FUZZ_CONFIG_H

#include "config/config.h"
#include "fuzz.h"

/* The directory of the policy "alpha": $MODULES, or modules next to the program. */
static inline const char *fuzz_modules(void)
{
        static char *path;

        if (!path) {
                g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
                g_autofree char *parent = g_path_get_dirname(program);

                path = g_getenv("MODULES") ? g_strdup(g_getenv("MODULES"))
                                           : g_build_filename(parent, "modules", NULL);
        }
        return path;
}

/* Every error names a file, and is one line of text. */
static inline void fuzz_check_errors(const GPtrArray *errors)
{
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *text = config_error_format(errors->pdata[i]);

                g_assert(g_str_has_prefix(text, "/etc/idled/"));
                g_assert(g_utf8_validate(text, -1, NULL) && !strchr(text, '\n'));
        }
}

/* Divides the input at lines "%%" into `n` new strings, which may contain NUL; those that it does
 * not have are empty. */
static inline void fuzz_split(const uint8_t *data, size_t size, GString **ret_parts, int n)
{
        static const char mark[] = "%%\n";

        for (int i = 0; i < n; i++) {
                const uint8_t *end = i + 1 < n ? memmem(data, size, mark, strlen(mark)) : NULL;
                size_t length = end ? (size_t)(end - data) : size;
                size_t next = end ? length + strlen(mark) : size;

                ret_parts[i] = g_string_new_len((const char *)data, (gssize)length);
                data += next;
                size -= next;
        }
}

#endif
