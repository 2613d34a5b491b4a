/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages: whatever texts are, they stay texts, and nothing but the page's own scripts can run. */
#include "cli/verb.h"
#include "lab/page/page.h"
#include "table.h"

/* The data of the page, as a script reads them. */
static json_object *data_of(const char *written)
{
        const char *begin = strstr(written, "id=\"data\">") + strlen("id=\"data\">");
        g_autofree char *text = g_strndup(begin, (size_t)(strstr(begin, "</script>") - begin));

        return json_tokener_parse(text);
}

typedef struct TextCase {
        const char *text, *read;
} TextCase;

static const TextCase texts[] = {
        { "", "" },
        { "plain", "plain" },
        { "</script><!--<script>alert(1)", "</script><!--<script>alert(1)" },
        { "\"'&]]>", "\"'&]]>" },
        { "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
};

TEST_EACH(text, texts)
{
        g_autoptr(json_object) answer = json_object_new_object(), data = NULL;
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), "check-page-XXXXXX", NULL);
        g_autofree char *written = NULL;
        const char *body;
        size_t scripts = 0;

        close(g_mkstemp(path));
        json_put_text(answer, "text", c->text);
        ck_assert_int_eq(page_write("test", answer, path), EXIT_FINE);
        ck_assert(g_file_get_contents(path, &written, NULL, NULL));
        remove(path);
        data = data_of(written);
        body = strstr(written, "<body>");
        ck_assert(g_utf8_validate(written, -1, NULL));
        ck_assert_str_eq(json_text(json_get(data, "test"), "text"), c->read);
        for (const char *at = body; (at = strstr(at, "<script")); at++)
                scripts++;
        ck_assert_uint_eq(scripts, 3); /* the data, dygraphs and ours */
        ck_assert_ptr_null(strstr(body, "<!--"));
}

TEST(not_written)
{
        g_autoptr(json_object) page = json_object_new_object();

        ck_assert_int_eq(page_write("test", page, "/nonexistent/page.html"), EXIT_FAILED);
        ck_assert_int_eq(page_write("test", page, "/dev/full"), EXIT_FAILED);
        ck_assert(g_file_test("/dev/full", G_FILE_TEST_EXISTS) &&
                  !g_file_test("/dev/full", G_FILE_TEST_IS_REGULAR));
}

UNIT("page")
