/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages: whatever texts are, they stay texts, and nothing but the page's own scripts can run. */
#include <string.h>
#include <unistd.h>

#include "cli/verb.h"
#include "lab/page/page-files.h"
#include "lab/page/page.h"
#include "table.h"

/* The page with this title and text. */
static char *page_of(const char *title, const char *text)
{
        g_autoptr(json_object) page = page_new(title);
        g_autofree char *path = g_build_filename(g_get_tmp_dir(), "check-page-XXXXXX", NULL);
        char *written = NULL;

        close(g_mkstemp(path));
        page_text(page, "text", text);
        ck_assert_int_eq(page_write(page, "test", path), EXIT_FINE);
        ck_assert(g_file_get_contents(path, &written, NULL, NULL));
        remove(path);
        return written;
}

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
        g_autofree char *written = page_of("title", texts[_i].text);
        g_autoptr(json_object) data = data_of(written);
        json_object *part = json_element(json_get(data, "parts"), 0);
        const char *body = strstr(written, "<body>");
        size_t scripts = 0;

        ck_assert(g_utf8_validate(written, -1, NULL));
        ck_assert_str_eq(json_text(part, "text"), texts[_i].read);
        for (const char *at = body; (at = strstr(at, "<script")); at++)
                scripts++;
        ck_assert_uint_eq(scripts, 3); /* the data, dygraphs and ours */
        ck_assert_ptr_null(strstr(body, "<!--"));
}

TEST(title)
{
        g_autofree char *written = page_of("</title><script>\"&\xff", "");

        ck_assert_ptr_null(strstr(written, "</title><script>"));
        ck_assert_ptr_nonnull(strstr(written, "&lt;/title&gt;&lt;script&gt;"));
}

/* The policy names each script and the style by its hash, and nothing may come from elsewhere. */
TEST(policy)
{
        g_autofree char *written = page_of("title", "");
        static const char *const files[] = { page_css, page_js, dygraph_min_js };

        ck_assert_ptr_nonnull(strstr(written, "default-src 'none'"));
        ck_assert_ptr_null(strstr(written, "unsafe"));
        ck_assert(strstr(written, "Content-Security-Policy") < strstr(written, "<style"));
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
                g_autofree char *base64 = NULL, *hash = NULL;
                guint8 digest[32];
                gsize size = sizeof(digest);

                g_checksum_update(checksum, (const guchar *)files[i], -1);
                g_checksum_get_digest(checksum, digest, &size);
                base64 = g_base64_encode(digest, size);
                hash = g_strdup_printf("'sha256-%s'", base64);
                ck_assert_ptr_nonnull(strstr(written, hash));
                ck_assert_ptr_nonnull(strstr(written, files[i]));
        }
}

TEST(not_written)
{
        g_autoptr(json_object) page = page_new("title");

        ck_assert_int_eq(page_write(page, "test", "/nonexistent/page.html"), EXIT_FAILED);
        ck_assert_int_eq(page_write(page, "test", "/dev/full"), EXIT_FAILED);
        ck_assert(g_file_test("/dev/full", G_FILE_TEST_EXISTS) &&
                  !g_file_test("/dev/full", G_FILE_TEST_IS_REGULAR));
}

UNIT("page")
