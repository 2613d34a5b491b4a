/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: data within a frame of HTML, style and scripts, which is compiled in.
 */
#include "page.h"

#include <errno.h>
#include <stdio.h>

#include "cli/verb.h"

/* "<" stands only in strings of JSON, where its number means the same. */
static char *html_of(const char *verb, json_object *answer)
{
        const char *text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_auto(GStrv) parts = g_strsplit(valid, "<", -1);
        g_autofree char *escaped = g_strjoinv("\\u003c", parts);

        return g_strdup_printf("%s{\"%s\":%s}%s", page_head, verb, escaped, page_tail);
}

/* Devices and pipes are written to; a file is replaced once its successor is complete. */
static bool write_whole(const char *html, const char *path, GError **error)
{
        FILE *file;
        bool failed;

        if (!g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
                return g_file_set_contents(path, html, -1, error);
        file = fopen(path, "we");
        failed = !file || fputs(html, file) == EOF;
        if ((file && fclose(file) != 0) || failed) {
                g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", path,
                            g_strerror(errno));
                return false;
        }
        return true;
}

int page_write(const char *verb, json_object *answer, const char *path)
{
        g_autofree char *html = html_of(verb, answer);
        g_autoptr(GError) error = NULL;

        if (g_str_equal(path, "-"))
                fputs(html, stdout);
        else if (!write_whole(html, path, &error))
                return complain("%s: %s", verb, error->message);
        return EXIT_FINE;
}
