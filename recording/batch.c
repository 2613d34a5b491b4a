/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows into columns. A row's values wait in its table until the row is complete; then each goes to
 * the bytes of its column as the difference to the last one of the same key, so that a batch costs
 * no more memory than the frame that it becomes.
 */
#include "recording/batch.h"

#include <math.h>
#include <string.h>

#include "recording/read.h"
#include "recording/varint.h"

typedef struct Column {
        char *name, *of, *unit;
        RecordedType type;
        int decimals;
        GByteArray *bytes;
        double number;    /* of the row that is being filled; NaN: none */
        char *text;       /* the same; NULL: none */
        GArray *numbers;  /* int64_t, by key: the last value, scaled */
        GPtrArray *texts; /* by key: the last text */
} Column;

struct RecordingTable {
        char *name;
        GPtrArray *columns; /* of Column */
        int key;            /* number of a column; -1: none */
        uint64_t n_rows;    /* that are complete */
        bool open;          /* one more is being filled */
        bool lasts;
};

struct RecordingBatch {
        GPtrArray *tables; /* of RecordingTable */
};

static void column_free(gpointer data)
{
        Column *column = data;

        g_free(column->name);
        g_free(column->of);
        g_free(column->unit);
        g_byte_array_unref(column->bytes);
        g_free(column->text);
        g_array_unref(column->numbers);
        g_ptr_array_unref(column->texts);
        g_free(column);
}

static void table_free(gpointer data)
{
        RecordingTable *table = data;

        g_free(table->name);
        g_ptr_array_unref(table->columns);
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
        table->name = g_strdup(name);
        table->columns = g_ptr_array_new_with_free_func(column_free);
        table->key = -1;
        g_ptr_array_add(batch->tables, table);
        return table;
}

void recording_table_lasts(RecordingTable *table)
{
        table->lasts = true;
}

static int add_column(RecordingTable *table, const char *name, const char *of, const char *unit,
                      RecordedType type, int decimals)
{
        Column *column;

        for (guint i = 0; i < table->columns->len; i++) {
                column = column_at(table, i);
                if (g_str_equal(column->name, name) && g_str_equal(column->of, of ?: ""))
                        return (int)i;
        }
        column = g_new0(Column, 1);
        column->name = g_strdup(name);
        column->of = of ? g_utf8_make_valid(of, -1) : g_strdup("");
        column->unit = g_strdup(unit ?: "");
        column->type = type;
        column->decimals = CLAMP(decimals, 0, DECIMALS_MAX);
        column->bytes = g_byte_array_new();
        column->number = NAN;
        column->numbers = g_array_new(FALSE, TRUE, sizeof(int64_t));
        column->texts = g_ptr_array_new_with_free_func(g_free);
        for (uint64_t row = 0; row < table->n_rows; row++)
                varint_put(column->bytes, 0);
        g_ptr_array_add(table->columns, column);
        return (int)table->columns->len - 1;
}

int recording_number(RecordingTable *table, const char *name, const char *of, const char *unit,
                     int decimals)
{
        return add_column(table, name, of, unit, RECORDED_NUMBER, decimals);
}

int recording_text(RecordingTable *table, const char *name, const char *of, const char *unit)
{
        return add_column(table, name, of, unit, RECORDED_TEXT, 0);
}

int recording_key(RecordingTable *table, const char *name, const char *unit)
{
        return table->key = add_column(table, name, NULL, unit, RECORDED_NUMBER, 0);
}

static void encode_number(Column *column, guint key)
{
        double scaled = round(column->number * decimal_scale(column->decimals));
        int64_t value, *last;

        column->number = NAN;
        if (!(fabs(scaled) <= (double)NUMBER_MAX)) {
                varint_put(column->bytes, 0);
                return;
        }
        if (column->numbers->len <= key)
                g_array_set_size(column->numbers, key + 1);
        last = &g_array_index(column->numbers, int64_t, key);
        value = (int64_t)scaled;
        varint_put(column->bytes, zigzag(value - *last) + 1);
        *last = value;
}

static void encode_text(Column *column, guint key)
{
        g_autofree char *text = g_steal_pointer(&column->text);
        const char *last;
        guint length;

        if (!text) {
                varint_put(column->bytes, 0);
                return;
        }
        if (column->texts->len <= key)
                g_ptr_array_set_size(column->texts, (gint)key + 1);
        last = g_ptr_array_index(column->texts, key);
        if (last && g_str_equal(last, text)) {
                varint_put(column->bytes, 1);
                return;
        }
        length = (guint)strlen(text);
        varint_put(column->bytes, (uint64_t)length + 2);
        g_byte_array_append(column->bytes, (const guint8 *)text, length);
        g_free(g_ptr_array_index(column->texts, key));
        g_ptr_array_index(column->texts, key) = g_steal_pointer(&text);
}

static void end_row(RecordingTable *table)
{
        guint key = 0;

        if (!table->open)
                return;
        table->open = false;
        table->n_rows++;
        if (table->key >= 0) {
                Column *column = column_at(table, (guint)table->key);

                if (!(column->number >= 0 && column->number <= RECORDING_KEY_MAX))
                        column->number = 0; /* no caller does that */
                key = (guint)column->number;
        }
        for (guint i = 0; i < table->columns->len; i++) {
                Column *column = column_at(table, i);

                if (column->type == RECORDED_TEXT)
                        encode_text(column, key);
                else /* the key itself follows the row before */
                        encode_number(column, (int)i == table->key ? 0 : key);
        }
}

void recording_row(RecordingTable *table)
{
        end_row(table);
        table->open = true;
}

void recording_put(RecordingTable *table, int column, double value)
{
        column_at(table, (guint)column)->number = value;
}

/* Valid UTF-8 of at most RECORDING_TEXT_MAX bytes. */
static char *make_valid(const char *text)
{
        char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, RECORDING_TEXT_MAX));
        const char *end;

        if (strlen(valid) <= RECORDING_TEXT_MAX)
                return valid;
        end = g_utf8_find_prev_char(valid, valid + RECORDING_TEXT_MAX + 1);
        valid[end - valid] = '\0';
        return valid;
}

void recording_put_text(RecordingTable *table, int column, const char *text)
{
        Column *c = column_at(table, (guint)column);

        g_free(c->text);
        c->text = text ? make_valid(text) : NULL;
}

static void clear_rows(RecordingTable *table)
{
        table->n_rows = 0;
        for (guint i = 0; i < table->columns->len; i++) {
                Column *column = column_at(table, i);

                g_byte_array_set_size(column->bytes, 0);
                g_array_set_size(column->numbers, 0);
                g_ptr_array_set_size(column->texts, 0);
        }
}

void recording_table_clear(RecordingTable *table)
{
        end_row(table);
        clear_rows(table);
}

bool recording_batch_has_rows(const RecordingBatch *batch)
{
        for (guint i = 0; i < batch->tables->len; i++) {
                const RecordingTable *table = table_at(batch, i);

                if (!table->lasts && (table->open || table->n_rows > 0))
                        return true;
        }
        return false;
}

size_t recording_batch_size(const RecordingBatch *batch)
{
        size_t size = 0;

        for (guint i = 0; i < batch->tables->len; i++) {
                const RecordingTable *table = table_at(batch, i);

                for (guint c = 0; c < table->columns->len; c++)
                        size += column_at(table, c)->bytes->len + 32;
        }
        return size;
}

static void put_name(GByteArray *to, const char *text)
{
        size_t length = strlen(text);

        varint_put(to, length);
        g_byte_array_append(to, (const guint8 *)text, (guint)length);
}

static void take_table(const RecordingTable *table, GByteArray *contents)
{
        put_name(contents, table->name);
        varint_put(contents, table->n_rows);
        varint_put(contents, (uint64_t)(table->key + 1));
        varint_put(contents, table->columns->len);
        for (guint i = 0; i < table->columns->len; i++) {
                const Column *column = column_at(table, i);

                put_name(contents, column->name);
                put_name(contents, column->of);
                put_name(contents, column->unit);
                varint_put(contents, column->type);
                varint_put(contents, (uint64_t)column->decimals);
                varint_put(contents, column->bytes->len);
        }
        for (guint i = 0; i < table->columns->len; i++)
                g_byte_array_append(contents, column_at(table, i)->bytes->data,
                                    column_at(table, i)->bytes->len);
}

void recording_batch_take(RecordingBatch *batch, GByteArray *contents)
{
        guint n = 0;

        for (guint i = 0; i < batch->tables->len; i++) {
                end_row(table_at(batch, i));
                n += table_at(batch, i)->n_rows > 0;
        }
        g_byte_array_set_size(contents, 0);
        varint_put(contents, n);
        for (guint i = 0; i < batch->tables->len; i++) {
                RecordingTable *table = table_at(batch, i);

                if (table->n_rows > 0)
                        take_table(table, contents);
                if (!table->lasts)
                        clear_rows(table);
        }
}
