/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text in pages: whatever it is, it stays text. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"
#include "ctl/page.h"
#include "table.h"

typedef struct TextCase {
        const char *text, *written;
} TextCase;

static const TextCase texts[] = {
        { NULL, "" },
        { "", "" },
        { "plain", "plain" },
        { "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;" },
        { "\"'&", "&quot;&#39;&amp;" },
        { "\" onload=\"x", "&quot; onload=&quot;x" },
        { "a\tb\nc", "a b c" },
        { "\x1b[31mred\x07", "\xef\xbf\xbd[31mred\xef\xbf\xbd" },
        { "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
        { "a\xe2\x80\xae"
          "b",
          "a\xef\xbf\xbd"
          "b" }, /* right to left */
        { "a\xe2\x80\x8b"
          "b",
          "a\xef\xbf\xbd"
          "b" },                            /* no width */
        { "\xef\xbf\xbf", "\xef\xbf\xbd" }, /* not a character */
        { "\xc2\x9b", "\xef\xbf\xbd" },     /* C1 */
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "&lt;", "&amp;lt;" },
        { "]]>", "]]&gt;" },
};

START_TEST(text)
{
        char *written = NULL;
        size_t size;
        FILE *file = open_memstream(&written, &size);

        markup_write(file, texts[_i].text);
        fclose(file);
        ck_assert_str_eq(written, texts[_i].written);
        free(written);
}
END_TEST

START_TEST(scripts)
{
        ck_assert(page_can_embed("let a = 1 < 2;"));
        ck_assert(!page_can_embed("a = \"</script>\""));
        ck_assert(!page_can_embed("a = \"</ScRiPt\""));
        ck_assert(!page_can_embed("a = \"<!--\""));
        ck_assert(!page_can_embed("\xff"));
}
END_TEST

/* The page with this title and data. */
static char *page(const char *title, json_object *data)
{
        const char *script = "1";
        const PageFrame frame = { title, &script, 1, data };
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), "check-page-XXXXXX", NULL);
        char *written = NULL;
        Page made;

        close(g_mkstemp(path));
        page_open(&made, &frame);
        ck_assert_int_eq(page_save(&made, "test", path), EXIT_FINE);
        ck_assert(g_file_get_contents(path, &written, NULL, NULL));
        remove(path);
        return written;
}

START_TEST(data)
{
        g_autoptr(json_object) object = json_object_new_object();
        g_autofree char *written = NULL;
        const char *body;

        json_put_text(object, "a", "</script><!--<script>");
        written = page("</title><script>", object);
        body = strstr(written, "<body>");
        ck_assert_ptr_null(strstr(written, "</title><script>"));
        ck_assert_ptr_null(strstr(body, "<!--"));
        /* That of the data, and the one script. */
        body = strstr(body, "<script");
        ck_assert_ptr_nonnull(strstr(body, "\\u003c!--"));
        body = strstr(body + 1, "<script");
        ck_assert_ptr_nonnull(body);
        ck_assert_ptr_null(strstr(body + 1, "<script"));
}
END_TEST

/* The policy names the script by its hash (that of "1"), and nothing may come from elsewhere. */
START_TEST(policy)
{
        g_autofree char *written = page("title", NULL);

        ck_assert_ptr_nonnull(strstr(written, "default-src 'none'"));
        ck_assert_ptr_nonnull(strstr(
                written, "script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"));
        ck_assert_ptr_null(strstr(written, "unsafe"));
        ck_assert(strstr(written, "Content-Security-Policy") < strstr(written, "<style"));
}
END_TEST

START_TEST(not_written)
{
        const PageFrame frame = { "title" };
        Page made;

        page_open(&made, &frame);
        ck_assert_int_eq(page_save(&made, "test", "/nonexistent/page.html"), EXIT_FAILED);
        page_open(&made, &frame);
        ck_assert_int_eq(page_save(&made, "test", "/dev/full"), EXIT_FAILED);
        ck_assert(g_file_test("/dev/full", G_FILE_TEST_EXISTS) &&
                  !g_file_test("/dev/full", G_FILE_TEST_IS_REGULAR));
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("page");
        TCase *cases = tcase_create("page");

        tcase_add_loop_test(cases, text, 0, G_N_ELEMENTS(texts));
        tcase_add_test(cases, scripts);
        tcase_add_test(cases, data);
        tcase_add_test(cases, policy);
        tcase_add_test(cases, not_written);
        suite_add_tcase(suite, cases);
        return suite_run(suite);
}
