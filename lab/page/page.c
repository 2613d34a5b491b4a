/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: a frame around the data, the style sheet and the scripts of lab/page, compiled in.
 */
#include "page.h"

#include <errno.h>
#include <stdio.h>

#include "cli/verb.h"
#include "page-files.h"

static const char *const scripts[] = { dygraph_min_js, page_js };

json_object *page_new(const char *title)
{
        json_object *page = json_object_new_object();

        json_put_text(page, "title", title);
        json_put(page, "parts", json_object_new_array());
        return page;
}

json_object *page_part(json_object *page, const char *key, json_object *value)
{
        json_object *part = json_object_new_object();

        json_put(part, key, value);
        json_object_array_add(json_get(page, "parts"), part);
        return part;
}

json_object *page_text(json_object *page, const char *key, const char *text)
{
        return page_part(page, key, json_object_new_string(text));
}

json_object *page_table(const PageColumn *columns, size_t n)
{
        json_object *table = json_object_new_object(), *array = json_object_new_array();

        for (size_t i = 0; i < n; i++) {
                json_object *column = json_add(array);

                json_put_text(column, "title", columns[i].title);
                json_put_bool(column, "number", columns[i].number);
        }
        json_put(table, "columns", array);
        json_put(table, "rows", json_object_new_array());
        return table;
}

void page_table_row(json_object *table, const char *const *cells, size_t n)
{
        json_object *row = json_object_new_array();

        for (size_t i = 0; i < n; i++)
                json_object_array_add(row, cells[i] ? json_object_new_string(cells[i]) : NULL);
        json_object_array_add(json_get(table, "rows"), row);
}

json_object *page_axis(const char *title, bool log)
{
        json_object *axis = json_object_new_object();

        json_put_text(axis, "title", title);
        json_put_bool(axis, "log", log);
        return axis;
}

json_object *page_figure(json_object *figures, const char *id, size_t number, const char *title,
                         json_object *plot)
{
        g_autofree char *numbered = g_strdup_printf("%s-%zu", id, number);
        json_object *figure = json_add(figures);

        json_put_text(figure, "id", numbered);
        json_put_text(figure, "title", title);
        json_put(figure, "plot", plot);
        return figure;
}

json_object *page_curves(json_object *x, json_object *y, json_object *series)
{
        json_object *plot = json_object_new_object();

        json_put_text(plot, "kind", "curves");
        json_put(plot, "x", x);
        json_put(plot, "y", y);
        json_put(plot, "series", series);
        return plot;
}

json_object *page_series(json_object *all, const char *kind, const char *name)
{
        json_object *series = json_add(all);

        json_put_text(series, "kind", kind);
        json_put_text(series, "name", name);
        json_put(series, "x", json_object_new_array());
        json_put(series, "y", json_object_new_array());
        return series;
}

void page_point(json_object *series, double x, double y, const char *label)
{
        json_object_array_add(json_get(series, "x"), json_plain(x));
        json_object_array_add(json_get(series, "y"), json_plain(y));
        if (label && !json_get(series, "labels"))
                json_put(series, "labels", json_object_new_array());
        if (label)
                json_add_text(json_get(series, "labels"), label);
}

json_object *page_rows(json_object *names, const char *const *parts, json_object *values,
                       json_object *totals)
{
        json_object *plot = json_object_new_object();

        json_put_text(plot, "kind", "rows");
        json_put(plot, "names", names);
        json_put(plot, "parts", json_copy_strings(parts));
        json_put(plot, "values", values);
        json_put(plot, "totals", totals);
        return plot;
}

/* Writes the source that allows `text` in a Content-Security-Policy. */
static void put_hash(GString *html, const char *text)
{
        g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
        g_autofree char *base64 = NULL;
        guint8 digest[32];
        gsize size = sizeof(digest);

        g_checksum_update(checksum, (const guchar *)text, -1);
        g_checksum_get_digest(checksum, digest, &size);
        base64 = g_base64_encode(digest, size);
        g_string_append_printf(html, " 'sha256-%s'", base64);
}

static void put_head(GString *html, json_object *page)
{
        g_autofree char *valid = g_utf8_make_valid(json_text(page, "title"), -1);
        g_autofree char *title = g_markup_escape_text(valid, -1);

        g_string_append(html, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
                              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                              "'none'; base-uri 'none'; form-action 'none'; style-src");
        put_hash(html, page_css);
        g_string_append(html, "; script-src");
        for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++)
                put_hash(html, scripts[i]);
        g_string_append_printf(html,
                               "\"/>\n<meta name=\"viewport\" content=\"width=device-width\"/>\n"
                               "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                               "<title>%s</title>\n<style>%s</style></head>\n"
                               "<body>\n<h1>%s</h1><div id=\"paper\" hidden=\"hidden\"></div>\n"
                               "<noscript><p>A script in this file draws the page. Allow scripts "
                               "to see it; nothing is loaded from elsewhere.</p></noscript>\n",
                               title, page_css, title);
}

/* "<" stands only in strings of JSON, where its number means the same. */
static void put_data(GString *html, json_object *page)
{
        const char *text = json_object_to_json_string_ext(page, JSON_C_TO_STRING_PLAIN);
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        g_auto(GStrv) parts = g_strsplit(valid, "<", -1);
        g_autofree char *escaped = g_strjoinv("\\u003c", parts);

        g_string_append_printf(html, "<script type=\"application/json\" id=\"data\">%s</script>\n",
                               escaped);
}

/* Devices and pipes are written to; a file is replaced once its successor is complete. */
static bool write_whole(const GString *html, const char *path, GError **error)
{
        FILE *file;
        bool failed;

        if (!g_file_test(path, G_FILE_TEST_EXISTS) || g_file_test(path, G_FILE_TEST_IS_REGULAR))
                return g_file_set_contents(path, html->str, (gssize)html->len, error);
        file = fopen(path, "we");
        failed = !file || fwrite(html->str, 1, html->len, file) != html->len;
        if ((file && fclose(file) != 0) || failed) {
                g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", path,
                            g_strerror(errno));
                return false;
        }
        return true;
}

int page_write(json_object *page, const char *verb, const char *path)
{
        g_autoptr(GString) html = g_string_new(NULL);
        g_autoptr(GError) error = NULL;

        put_head(html, page);
        put_data(html, page);
        for (size_t i = 0; i < G_N_ELEMENTS(scripts); i++)
                g_string_append_printf(html, "<script>%s</script>\n", scripts[i]);
        g_string_append(html, "</body></html>\n");
        if (g_str_equal(path, "-"))
                fwrite(html->str, 1, html->len, stdout);
        else if (!write_whole(html, path, &error))
                return complain("%s: %s", verb, error->message);
        return EXIT_FINE;
}
