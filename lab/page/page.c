/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: data within a frame of HTML, style and scripts, which is compiled in.
 */
#include "page.h"

#include <errno.h>
#include <stdio.h>

#include "base/file.h"
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
static int write_whole(const char *html, const char *path)
{
        FILE *file;
        bool failed;

        if (!g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
                return file_save(path, html, 0666);
        file = fopen(path, "we");
        failed = !file || fputs(html, file) == EOF;
        return (file && fclose(file) != 0) || failed ? -errno : 0;
}

int page_write(const char *verb, json_object *answer, const char *path)
{
        g_autofree char *html = html_of(verb, answer);
        int r = 0;

        if (g_str_equal(path, "-"))
                fputs(html, stdout);
        else
                r = write_whole(html, path);
        return r < 0 ? complain("%s: %s: %s", verb, path, g_strerror(-r)) : EXIT_FINE;
}
