/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages, written so that they are also XML, except for their scripts. The style sheet is
 * ctl/page/page.css, compiled in.
 */
#include "page.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "page-files.h"

/* Writes the source that allows `text` in a Content-Security-Policy. */
static void write_hash(FILE *file, const char *text)
{
        g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
        g_autofree char *base64 = NULL;
        guint8 digest[32];
        gsize size = sizeof(digest);

        g_checksum_update(checksum, (const guchar *)text, -1);
        g_checksum_get_digest(checksum, digest, &size);
        base64 = g_base64_encode(digest, size);
        fprintf(file, " 'sha256-%s'", base64);
}

static void write_policy(FILE *file, const PageFrame *frame)
{
        fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
              "base-uri 'none'; form-action 'none'; style-src",
              file);
        write_hash(file, page_css);
        if (frame->n_scripts)
                fputs("; script-src", file);
        for (size_t i = 0; i < frame->n_scripts; i++)
                write_hash(file, frame->scripts[i]);
        fputs("\"/>\n", file);
}

bool page_can_embed(const char *script)
{
        return g_utf8_validate(script, -1, NULL) && !strchr(script, '\r') &&
               !strstr(script, "<!--") && !strcasestr(script, "</script");
}

/* "<" stands only in strings of JSON, where its number means the same. */
static void write_data(FILE *file, json_object *data)
{
        const char *text = json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN);

        fputs("<script type=\"application/json\" id=\"data\">", file);
        for (; *text; text++)
                if (*text == '<')
                        fputs("\\u003c", file);
                else
                        fputc(*text, file);
        fputs("</script>\n", file);
}

void page_open(Page *page, const PageFrame *frame)
{
        FILE *file;

        *page = (Page){ .frame = frame };
        page->file = file = open_memstream(&page->text, &page->size);
        fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n", file);
        write_policy(file, frame);
        fputs("<meta name=\"viewport\" content=\"width=device-width\"/>\n"
              "<meta name=\"color-scheme\" content=\"light dark\"/>\n",
              file);
        markup_element(file, "title", frame->title);
        fprintf(file, "\n<style>%s</style></head>\n<body>\n", page_css);
        markup_element(file, "h1", frame->title);
        fputc('\n', file);
}

static void finish(Page *page)
{
        const PageFrame *frame = page->frame;

        if (frame->data)
                write_data(page->file, frame->data);
        for (size_t i = 0; i < frame->n_scripts; i++)
                fprintf(page->file, "<script>%s</script>\n", frame->scripts[i]);
        fputs("</body></html>\n", page->file);
        fclose(page->file);
}

/* Devices and pipes are written to; a file is replaced once its successor is complete. */
static bool write_whole(const Page *page, const char *path, GError **error)
{
        FILE *file;
        bool failed;

        if (!g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
                return g_file_set_contents(path, page->text, (gssize)page->size, error);
        file = fopen(path, "we");
        failed = !file || fwrite(page->text, 1, page->size, file) != page->size;
        if ((file && fclose(file) != 0) || failed) {
                g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", path,
                            g_strerror(errno));
                return false;
        }
        return true;
}

int page_save(Page *page, const char *verb, const char *path)
{
        g_autoptr(GError) error = NULL;
        int status = EXIT_FINE;

        finish(page);
        if (g_str_equal(path, "-"))
                fwrite(page->text, 1, page->size, stdout);
        else if (!write_whole(page, path, &error))
                status = complain("%s: %s", verb, error->message);
        free(page->text);
        return status;
}

void page_table_begin(FILE *file, const char *caption, const PageColumn *columns, size_t n)
{
        fputs("<div class=\"wide\"><table>", file);
        if (caption)
                markup_element(file, "caption", caption);
        fputs("<thead><tr>", file);
        for (size_t i = 0; i < n; i++)
                markup_element(file,
                               columns[i].number ? "th scope=\"col\" class=\"number\""
                                                 : "th scope=\"col\"",
                               columns[i].title);
        fputs("</tr></thead>\n<tbody>\n", file);
}

void page_table_row(FILE *file, const PageColumn *columns, size_t n, const char *id,
                    const char *const *cells)
{
        if (id) {
                fputs("<tr id=\"", file);
                markup_write(file, id);
                fputs("\">", file);
        } else {
                fputs("<tr>", file);
        }
        for (size_t i = 0; i < n; i++)
                markup_element(file,
                               i == 0              ? "th scope=\"row\""
                               : columns[i].number ? "td class=\"number\""
                                                   : "td",
                               cells[i] ?: "-");
        fputs("</tr>\n", file);
}

void page_table_end(FILE *file)
{
        fputs("</tbody></table></div>\n", file);
}
