/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contents of a frame as tables: the reverse of batch.c, on bytes that may be anything. A
 * value takes at least one byte, so that memory is bounded by the size of the contents.
 */
#include "recording/decode.h"

#include <errno.h>
#include <math.h>

#include "recording/batch.h"
#include "recording/varint.h"

#define NAME_MAX_ 4096u

/* The last value of a key. */
typedef union Last {
        int64_t number;
        const char *text;
} Last;

struct Decoder {
        GStringChunk *strings;
        GArray *tables;     /* of RecordedTable */
        GPtrArray *columns; /* of GArray of RecordedColumn: of each table */
        GPtrArray *values;  /* arrays of values */
        Last *last;         /* by key, RECORDING_KEY_MAX + 1 */
};

typedef struct Bytes {
        const uint8_t *at, *end;
} Bytes;

/* What stands before the values of a column. */
typedef struct ColumnHead {
        RecordedColumn column;
        uint64_t type, decimals, bytes;
} ColumnHead;

static void columns_free(gpointer columns)
{
        g_array_unref(columns);
}

Decoder *decoder_new(void)
{
        Decoder *decoder = g_new0(Decoder, 1);

        decoder->strings = g_string_chunk_new(4096);
        decoder->tables = g_array_new(FALSE, FALSE, sizeof(RecordedTable));
        decoder->columns = g_ptr_array_new_with_free_func(columns_free);
        decoder->values = g_ptr_array_new_with_free_func(g_free);
        decoder->last = g_new0(Last, RECORDING_KEY_MAX + 1);
        return decoder;
}

void decoder_free(Decoder *decoder)
{
        g_string_chunk_free(decoder->strings);
        g_array_unref(decoder->tables);
        g_ptr_array_unref(decoder->columns);
        g_ptr_array_unref(decoder->values);
        g_free(decoder->last);
        g_free(decoder);
}

static bool take_number(Bytes *bytes, uint64_t most, uint64_t *ret_value)
{
        return varint_get(&bytes->at, bytes->end, ret_value) && *ret_value <= most;
}

static bool take_text(Decoder *decoder, Bytes *bytes, uint64_t length, const char **ret_text)
{
        const char *text = (const char *)bytes->at;

        if (length > (uint64_t)(bytes->end - bytes->at) ||
            !g_utf8_validate(text, (gssize)length, NULL))
                return false;
        *ret_text = g_string_chunk_insert_len(decoder->strings, text, (gssize)length);
        bytes->at += length;
        return true;
}

static bool take_name(Decoder *decoder, Bytes *bytes, const char **ret_text)
{
        uint64_t length;

        return take_number(bytes, NAME_MAX_, &length) &&
               take_text(decoder, bytes, length, ret_text);
}

static bool take_column_head(Decoder *decoder, Bytes *bytes, ColumnHead *head)
{
        return take_name(decoder, bytes, &head->column.name) &&
               take_name(decoder, bytes, &head->column.of) &&
               take_name(decoder, bytes, &head->column.unit) &&
               take_number(bytes, UINT64_MAX, &head->type) &&
               take_number(bytes, UINT64_MAX, &head->decimals) &&
               take_number(bytes, FRAME_RAW_MAX, &head->bytes);
}

/* The key of a row; `keys` NULL: there are none. */
static size_t key_of(const double *keys, size_t row)
{
        return keys ? (size_t)keys[row] : 0;
}

static void forget(Decoder *decoder, const double *keys, size_t n_rows)
{
        for (size_t row = 0; row < (keys ? n_rows : 1); row++)
                decoder->last[key_of(keys, row)] = (Last){ 0 };
}

static bool take_numbers(Decoder *decoder, Bytes *bytes, const double *keys, size_t n_rows,
                         int decimals, double *numbers)
{
        double scale = decimal_scale(decimals);

        for (size_t row = 0; row < n_rows; row++) {
                int64_t *last = &decoder->last[key_of(keys, row)].number;
                uint64_t code;

                if (!take_number(bytes, UINT64_MAX, &code))
                        return false;
                numbers[row] = NAN;
                if (code == 0)
                        continue;
                if (code > 4 * (uint64_t)NUMBER_MAX + 1)
                        return false;
                *last += unzigzag(code - 1);
                if (*last > NUMBER_MAX || *last < -NUMBER_MAX)
                        return false;
                numbers[row] = (double)*last / scale;
        }
        return bytes->at == bytes->end;
}

static bool take_texts(Decoder *decoder, Bytes *bytes, const double *keys, size_t n_rows,
                       const char **texts)
{
        for (size_t row = 0; row < n_rows; row++) {
                const char **last = &decoder->last[key_of(keys, row)].text;
                uint64_t code;

                if (!take_number(bytes, FRAME_RAW_MAX, &code))
                        return false;
                texts[row] = NULL;
                if (code == 0)
                        continue;
                if (code > 1 && !take_text(decoder, bytes, code - 2, last))
                        return false;
                if (!*last)
                        return false;
                texts[row] = *last;
        }
        return bytes->at == bytes->end;
}

static bool take_column(Decoder *decoder, Bytes bytes, const double *keys, size_t n_rows,
                        ColumnHead *head)
{
        RecordedColumn *column = &head->column;
        bool fine;

        if (n_rows > (size_t)(bytes.end - bytes.at))
                return false;
        column->type = (RecordedType)head->type;
        column->decimals = (int)head->decimals;
        if (column->type == RECORDED_NUMBER) {
                double *numbers = g_new(double, n_rows);

                g_ptr_array_add(decoder->values, numbers);
                column->numbers = numbers;
                fine = take_numbers(decoder, &bytes, keys, n_rows, column->decimals, numbers);
        } else {
                const char **texts = g_new(const char *, n_rows);

                g_ptr_array_add(decoder->values, texts);
                column->texts = texts;
                fine = take_texts(decoder, &bytes, keys, n_rows, texts);
        }
        forget(decoder, keys, n_rows);
        return fine;
}

static bool is_known(const ColumnHead *head)
{
        return (head->type == RECORDED_NUMBER && head->decimals <= DECIMALS_MAX) ||
               head->type == RECORDED_TEXT;
}

/* True if every key is a whole number that has room. */
static bool are_keys(const double *keys, size_t n_rows)
{
        for (size_t row = 0; row < n_rows; row++)
                if (!(keys[row] >= 0 && keys[row] <= RECORDING_KEY_MAX &&
                      keys[row] == floor(keys[row])))
                        return false;
        return true;
}

/* The values of all columns, first those of the key. `heads` are as they stand in the contents. */
static bool take_values(Decoder *decoder, Bytes *bytes, GArray *heads, int key, size_t n_rows)
{
        const double *keys = NULL;
        Bytes start = *bytes;

        for (int pass = key >= 0 ? 0 : 1; pass < 2; pass++) {
                *bytes = start;
                for (guint i = 0; i < heads->len; i++) {
                        ColumnHead *head = &g_array_index(heads, ColumnHead, i);
                        Bytes own = { bytes->at, bytes->at + head->bytes };

                        if (head->bytes > (uint64_t)(bytes->end - bytes->at))
                                return false;
                        bytes->at = own.end;
                        if (!is_known(head) || ((int)i == key) != (pass == 0))
                                continue;
                        if (!take_column(decoder, own, keys, n_rows, head))
                                return false;
                }
                if (pass == 0) {
                        keys = g_array_index(heads, ColumnHead, (guint)key).column.numbers;
                        if (!keys || !are_keys(keys, n_rows))
                                return false;
                }
        }
        return true;
}

static bool take_table(Decoder *decoder, Bytes *bytes, uint64_t *unknown)
{
        g_autoptr(GArray) heads = g_array_new(FALSE, TRUE, sizeof(ColumnHead));
        GArray *columns = g_array_new(FALSE, TRUE, sizeof(RecordedColumn));
        RecordedTable table = { .key = -1 };
        uint64_t n_rows, key, n_columns;

        g_ptr_array_add(decoder->columns, columns);
        if (!take_name(decoder, bytes, &table.name) ||
            !take_number(bytes, FRAME_RAW_MAX, &n_rows) ||
            !take_number(bytes, FRAME_RAW_MAX, &key) ||
            !take_number(bytes, FRAME_RAW_MAX, &n_columns) || key > n_columns)
                return false;
        for (uint64_t i = 0; i < n_columns; i++) {
                ColumnHead head = { 0 };

                if (!take_column_head(decoder, bytes, &head))
                        return false;
                g_array_append_val(heads, head);
        }
        if (!take_values(decoder, bytes, heads, (int)key - 1, (size_t)n_rows))
                return false;
        for (guint i = 0; i < heads->len; i++) {
                const ColumnHead *head = &g_array_index(heads, ColumnHead, i);

                if (!is_known(head)) {
                        (*unknown)++;
                        continue;
                }
                if ((int)i == (int)key - 1)
                        table.key = (int)columns->len;
                g_array_append_val(columns, head->column);
        }
        table.n_rows = (size_t)n_rows;
        table.n_columns = (int)columns->len;
        table.columns = (const RecordedColumn *)(void *)columns->data;
        g_array_append_val(decoder->tables, table);
        return true;
}

int decoder_run(Decoder *decoder, const GByteArray *contents, RecordedFrame *ret_frame,
                uint64_t *unknown)
{
        const uint8_t *data = contents->data ?: (const uint8_t *)""; /* NULL if it is empty */
        Bytes bytes = { data, data + contents->len };
        uint64_t n_tables, left_out = 0;

        g_string_chunk_clear(decoder->strings);
        g_array_set_size(decoder->tables, 0);
        g_ptr_array_set_size(decoder->columns, 0);
        g_ptr_array_set_size(decoder->values, 0);
        if (!take_number(&bytes, FRAME_RAW_MAX, &n_tables))
                return -EBADMSG;
        for (uint64_t i = 0; i < n_tables; i++)
                if (!take_table(decoder, &bytes, &left_out))
                        return -EBADMSG;
        *unknown += left_out;
        ret_frame->n_tables = (int)decoder->tables->len;
        ret_frame->tables = (const RecordedTable *)(void *)decoder->tables->data;
        return 0;
}
