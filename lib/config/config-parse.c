/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of a configuration file.
 *
 * GKeyFile reads the values, but it stops at the first error, reports no line numbers, and silently
 * uses the last of two equal keys. So the text is scanned first. The scan knows the number of every
 * line, finds all errors, and blanks every line that is not a known section or key. GKeyFile reads
 * the rest.
 */
#include "config/config-parse.h"

#include <stdbool.h>
#include <string.h>

#include "base/log.h"

typedef struct Scan {
        GPtrArray *lines; /* of ConfigLine */
        GString *good;    /* text for GKeyFile */
        GHashTable *seen; /* "section\nkey" -> number of its line */
        char *section;    /* that the line is in; NULL: before the first */
        bool skip;        /* the section does not exist */
        int number, problems;
        ConfigCheck check;
        void *userdata;
} Scan;

static void config_line_free(ConfigLine *line)
{
        g_free(line->section);
        g_free(line->key);
        g_free(line->value);
        g_free(line->problem);
        g_free(line);
}

static void add_line(Scan *scan, ConfigLine line)
{
        line.number = scan->number;
        g_ptr_array_add(scan->lines, g_memdup2(&line, sizeof(line)));
}

/* Takes `problem`. */
static void add_problem(Scan *scan, char *problem)
{
        scan->problems++;
        add_line(scan, (ConfigLine){ .problem = problem });
}

static void scan_section(Scan *scan, char *text)
{
        size_t length = strlen(text);
        g_autofree char *clean = log_clean(text);
        char *problem;

        g_clear_pointer(&scan->section, g_free);
        scan->skip = true;
        if (text[length - 1] != ']' || length < 3 || strcspn(text + 1, "[]") != length - 2) {
                add_problem(scan, g_strdup_printf("found \"%s\", expected a section such as "
                                                  "[Section]",
                                                  clean));
                return;
        }
        text[length - 1] = '\0';
        problem = scan->check(text + 1, NULL, scan->userdata);
        if (problem) {
                add_problem(scan, problem);
                return;
        }
        scan->skip = false;
        scan->section = g_strdup(text + 1);
        g_string_append_printf(scan->good, "[%s]", scan->section);
}

static void scan_key(Scan *scan, const char *text)
{
        const char *equals = strchr(text, '=');
        g_autofree char *key = equals ? g_strchomp(g_strndup(text, (gsize)(equals - text))) : NULL;
        g_autofree char *clean = log_clean(key && *key ? key : text), *id = NULL;
        char *problem;
        int first;

        if (!key || !*key) {
                add_problem(scan, g_strdup_printf("found \"%s\", expected Key=value, [Section] or "
                                                  "a comment that begins with #",
                                                  clean));
                return;
        }
        if (!scan->section && !scan->skip) {
                add_problem(scan, g_strdup_printf("%s: found outside of a section, expected "
                                                  "[Section] above it",
                                                  clean));
                return;
        }
        if (scan->skip)
                return;
        problem = scan->check(scan->section, key, scan->userdata);
        if (problem) {
                add_problem(scan, problem);
                return;
        }
        id = g_strdup_printf("%s\n%s", scan->section, key);
        first = GPOINTER_TO_INT(g_hash_table_lookup(scan->seen, id));
        if (first > 0) {
                add_problem(scan, g_strdup_printf("%s: found a second time, first in line %d, "
                                                  "expected once",
                                                  clean, first));
                return;
        }
        g_hash_table_insert(scan->seen, g_steal_pointer(&id), GINT_TO_POINTER(scan->number));
        add_line(scan, (ConfigLine){ .section = g_strdup(scan->section), .key = g_strdup(key) });
        g_string_append(scan->good, text);
}

/* That some editors write at the beginning of UTF-8. */
#define BOM "\xef\xbb\xbf"

static void scan_line(Scan *scan, const char *start, size_t length)
{
        g_autofree char *text = NULL;

        if (scan->number == 1 && length >= strlen(BOM) && memcmp(start, BOM, strlen(BOM)) == 0) {
                add_problem(scan, g_strdup("found a byte order mark, expected text; save the file "
                                           "as UTF-8 without BOM"));
                start += strlen(BOM);
                length -= strlen(BOM);
        }
        if (memchr(start, '\0', length)) {
                add_problem(scan, g_strdup("found a NUL byte, expected text"));
                return;
        }
        if (!g_utf8_validate(start, (gssize)length, NULL)) {
                add_problem(scan, g_strdup("found bytes that are not UTF-8, expected text"));
                return;
        }
        text = g_strstrip(g_strndup(start, length));
        if (text[0] == '[')
                scan_section(scan, text);
        else if (text[0] && text[0] != '#' && text[0] != ';')
                scan_key(scan, text);
}

static void scan_text(Scan *scan, const char *text, size_t length)
{
        const char *end = text + length;

        for (const char *line = text; line < end;) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));

                scan->number++;
                if (scan->problems >= CONFIG_PROBLEMS_MAX) {
                        add_problem(scan,
                                    g_strdup("too many errors, the rest of the file was not read"));
                        return;
                }
                scan_line(scan, line, (size_t)((newline ? newline : end) - line));
                g_string_append_c(scan->good, '\n');
                line = newline ? newline + 1 : end;
        }
}

/* Turns the lines into problems that GKeyFile does not know. */
static void read_values(Scan *scan)
{
        g_autoptr(GKeyFile) file = g_key_file_new();
        g_autoptr(GError) error = NULL;

        g_key_file_load_from_data(file, scan->good->str, scan->good->len, G_KEY_FILE_NONE, &error);
        for (guint i = 0; i < scan->lines->len; i++) {
                ConfigLine *line = g_ptr_array_index(scan->lines, i);

                if (line->problem)
                        continue;
                line->value = g_key_file_get_value(file, line->section, line->key, NULL);
                if (line->value)
                        continue;
                line->problem = g_strdup_printf("%s: not understood%s%s", line->key,
                                                error ? ": " : "", error ? error->message : "");
                g_clear_pointer(&line->section, g_free);
                g_clear_pointer(&line->key, g_free);
        }
}

GPtrArray *config_parse(const char *text, size_t length, ConfigCheck check, void *userdata)
{
        Scan scan = {
                .lines = g_ptr_array_new_with_free_func((GDestroyNotify)config_line_free),
                .good = g_string_new(NULL),
                .seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .check = check,
                .userdata = userdata,
        };

        scan_text(&scan, text, length);
        read_values(&scan);
        g_string_free(scan.good, TRUE);
        g_hash_table_destroy(scan.seen);
        g_free(scan.section);
        return scan.lines;
}
