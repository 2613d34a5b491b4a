/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows as text. A row's values wait in its table until the row is complete, because a column can be
 * set in any order; then they become a line. Heads are written when the batch is taken: they then
 * name all columns, and lines that are shorter have no value in the last ones.
 */
#include "recording/batch.h"

#include <math.h>
#include <string.h>

#include "recording/read.h"

typedef struct Column {
        const char *name, *unit;
        char *of;
        int decimals;
        double number; /* of the row that is being filled; NaN: none */
        char *text;    /* the same; NULL: none */
} Column;

struct RecordingTable {
        const char *name;
        GPtrArray *columns; /* of Column */
        guint next;         /* number of the column behind the last one that was set */
        const char *key;    /* name of a column; NULL: none */
        GString *rows;      /* those that are complete */
        bool open;          /* one more is being filled */
        bool lasts;
};

struct RecordingBatch {
        GPtrArray *tables; /* of RecordingTable */
};

static void column_free(gpointer data)
{
        Column *column = data;

        g_free(column->of);
        g_free(column->text);
        g_free(column);
}

static void table_free(gpointer data)
{
        RecordingTable *table = data;

        g_ptr_array_unref(table->columns);
        g_string_free(table->rows, TRUE);
        g_free(table);
}

RecordingBatch *recording_batch_new(void)
{
        RecordingBatch *batch = g_new(RecordingBatch, 1);

        batch->tables = g_ptr_array_new_with_free_func(table_free);
        return batch;
}

void recording_batch_free(RecordingBatch *batch)
{
        if (!batch)
                return;
        g_ptr_array_unref(batch->tables);
        g_free(batch);
}

static RecordingTable *table_at(const RecordingBatch *batch, guint i)
{
        return g_ptr_array_index(batch->tables, i);
}

static Column *column_at(const RecordingTable *table, guint i)
{
        return g_ptr_array_index(table->columns, i);
}

RecordingTable *recording_table(RecordingBatch *batch, const char *name)
{
        RecordingTable *table;

        for (guint i = 0; i < batch->tables->len; i++)
                if (g_str_equal(table_at(batch, i)->name, name))
                        return table_at(batch, i);
        table = g_new0(RecordingTable, 1);
        table->name = name;
        table->columns = g_ptr_array_new_with_free_func(column_free);
        table->rows = g_string_new(NULL);
        g_ptr_array_add(batch->tables, table);
        return table;
}

/* A field in quotes where it needs them; an empty text differs from none. */
static void put_text(GString *line, const char *text)
{
        if (*text && !text[strcspn(text, ",\"\r\n")]) {
                g_string_append(line, text);
                return;
        }
        g_string_append_c(line, '"');
        for (; *text; text++) {
                if (*text == '"')
                        g_string_append_c(line, '"');
                g_string_append_c(line, *text);
        }
        g_string_append_c(line, '"');
}

/* A tenth of the time of printf(3), which would be most of the time of a sample. */
static void put_number(GString *line, double value, int decimals)
{
        static const double scales[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
        double scaled = round(value * scales[decimals]);
        char digits[32], *at = digits + sizeof(digits);
        uint64_t rest;

        if (!(fabs(scaled) <= RECORDED_NUMBER_MAX)) /* nor NaN */
                return;
        rest = (uint64_t)fabs(scaled);
        for (int n = 0; n <= decimals || rest > 0; n++) {
                if (n == decimals && n > 0)
                        *--at = '.';
                *--at = (char)('0' + rest % 10);
                rest /= 10;
        }
        if (scaled < 0)
                *--at = '-';
        g_string_append_len(line, at, digits + sizeof(digits) - at);
}

static void end_row(RecordingTable *table)
{
        GString *rows = table->rows;

        if (!table->open)
                return;
        table->open = false;
        g_string_append(rows, "row");
        for (guint i = 0; i < table->columns->len; i++) {
                Column *column = column_at(table, i);

                g_string_append_c(rows, ',');
                if (column->text)
                        put_text(rows, column->text);
                else
                        put_number(rows, column->number, column->decimals);
                column->number = NAN;
                g_clear_pointer(&column->text, g_free);
        }
        while (rows->str[rows->len - 1] == ',')
                g_string_truncate(rows, rows->len - 1);
        g_string_append_c(rows, '\n');
}

void recording_row(RecordingTable *table)
{
        end_row(table);
        table->open = true;
}

void recording_table_lasts(RecordingTable *table)
{
        end_row(table);
        g_string_truncate(table->rows, 0);
        table->lasts = true;
}

/* The column, which is most often the one behind the last one. It is made if it is not there. */
static Column *find_column(RecordingTable *table, const char *name, const char *of,
                           const char *unit, int decimals)
{
        guint n = table->columns->len, at = table->next;
        Column *column;

        of = of ?: "";
        for (guint i = 0; i < n; i++, at++) {
                at = at < n ? at : 0;
                column = column_at(table, at);
                if (strcmp(column->name, name) == 0 && strcmp(column->of, of) == 0) {
                        table->next = at + 1;
                        return column;
                }
        }
        column = g_new(Column, 1);
        *column = (Column){ name, unit, g_strdup(of), CLAMP(decimals, 0, 9), NAN };
        g_ptr_array_add(table->columns, column);
        return column;
}

void recording_put(RecordingTable *table, const char *name, const char *of, const char *unit,
                   int decimals, double value)
{
        if (isfinite(value)) /* a row begins without values */
                find_column(table, name, of, unit, decimals)->number = value;
}

void recording_row_of(RecordingTable *table, const char *key, double number)
{
        recording_row(table);
        table->key = key;
        recording_put(table, key, NULL, "", 0, number);
}

/* Valid UTF-8 of at most RECORDING_TEXT_MAX bytes, without what a terminal obeys: zstdcat(1) may
 * show it on one. */
static char *make_valid(const char *text)
{
        char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, RECORDING_TEXT_MAX));
        const char *end;

        for (char *c = valid; *c; c = g_utf8_next_char(c))
                if (g_unichar_iscntrl(g_utf8_get_char(c)) && *c != '\n' && *c != '\t')
                        memset(c, '?', (size_t)(g_utf8_next_char(c) - c));
        if (strlen(valid) <= RECORDING_TEXT_MAX)
                return valid;
        end = g_utf8_find_prev_char(valid, valid + RECORDING_TEXT_MAX + 1);
        valid[end - valid] = '\0';
        return valid;
}

void recording_put_text(RecordingTable *table, const char *name, const char *of, const char *text)
{
        Column *column;

        if (!text)
                return;
        column = find_column(table, name, of, RECORDED_UNIT_TEXT, 0);
        g_free(column->text);
        column->text = make_valid(text);
}

size_t recording_batch_size(const RecordingBatch *batch)
{
        size_t size = 0;

        for (guint i = 0; i < batch->tables->len; i++) {
                const RecordingTable *table = table_at(batch, i);

                size += table->lasts ? 0 : table->rows->len + table->open;
        }
        return size;
}

/* A line of the head: what `member` of each column says. */
static void put_head(GString *text, const RecordingTable *table, const char *word, size_t member)
{
        g_string_append(text, word);
        for (guint i = 0; i < table->columns->len; i++) {
                const char *value = G_STRUCT_MEMBER(const char *, column_at(table, i), member);
                g_autofree char *valid = g_utf8_make_valid(value, -1);

                g_string_append_c(text, ',');
                if (*valid)
                        put_text(text, valid);
        }
        g_string_append_c(text, '\n');
}

void recording_batch_take(RecordingBatch *batch, GString *text)
{
        g_string_truncate(text, 0);
        for (guint i = 0; i < batch->tables->len; i++) {
                RecordingTable *table = table_at(batch, i);

                end_row(table);
                if (table->rows->len == 0)
                        continue;
                g_string_append_printf(text, "table,%s,%s\n", table->name, table->key ?: "");
                put_head(text, table, "column", offsetof(Column, name));
                put_head(text, table, "of", offsetof(Column, of));
                put_head(text, table, "unit", offsetof(Column, unit));
                g_string_append_len(text, table->rows->str, (gssize)table->rows->len);
                if (!table->lasts)
                        g_string_truncate(table->rows, 0);
        }
}
