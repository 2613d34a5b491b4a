/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of a frame as tables: the reverse of batch.c, on bytes that may be anything. The fields
 * of a line are separated in place, so texts are not copied.
 */
#include "recording/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define COLUMNS_MAX 4096u

typedef struct Table {
        RecordedTable table;
        const char *key;   /* name of a column; NULL: none */
        GArray *columns;   /* of RecordedColumn */
        GPtrArray *values; /* of GArray of double or char *, by column */
} Table;

struct Tables {
        GPtrArray *tables; /* of Table */
        GArray *recorded;  /* of RecordedTable */
        GPtrArray *fields; /* of the line */
        size_t cells;
};

static void array_free(gpointer array)
{
        g_array_unref(array);
}

static void table_free(gpointer data)
{
        Table *table = data;

        g_array_unref(table->columns);
        g_ptr_array_unref(table->values);
        g_free(table);
}

Tables *tables_new(void)
{
        Tables *tables = g_new0(Tables, 1);

        tables->tables = g_ptr_array_new_with_free_func(table_free);
        tables->recorded = g_array_new(FALSE, FALSE, sizeof(RecordedTable));
        tables->fields = g_ptr_array_new();
        return tables;
}

void tables_free(Tables *tables)
{
        g_ptr_array_unref(tables->tables);
        g_array_unref(tables->recorded);
        g_ptr_array_unref(tables->fields);
        g_free(tables);
}

/* The field that begins at `*at`, which moves behind it. NULL: an empty field without quotes.
 * `ret_end`: what stood behind it, 0 at the end of the text; it is neither a comma nor the end of
 * the line if quotes are wrong. */
static const char *take_field(char **at, char *ret_end)
{
        char *field = *at, *to = field;

        if (*field != '"') {
                *at += strcspn(*at, ",\n");
                *ret_end = **at;
                *(*at) = '\0';
                *at += *ret_end != '\0';
                return *field ? field : NULL;
        }
        for ((*at)++; **at && (**at != '"' || (*at)[1] == '"'); (*at)++) {
                *to++ = **at;
                *at += **at == '"';
        }
        *ret_end = **at == '"' ? *++*at : '"'; /* a quote without end */
        *at += *ret_end == ',' || *ret_end == '\n';
        *to = '\0';
        return field;
}

/* Separates a line. 1: there is one; 0: the end of the text; -EBADMSG. */
static int take_line(Tables *tables, char **at)
{
        char end = ',';

        g_ptr_array_set_size(tables->fields, 0);
        if (!**at)
                return 0;
        while (end == ',')
                g_ptr_array_add(tables->fields, (gpointer)take_field(at, &end));
        return end == '\n' || end == '\0' ? 1 : -EBADMSG;
}

static const char *field(const Tables *tables, guint i)
{
        return i < tables->fields->len ? tables->fields->pdata[i] : NULL;
}

static int begin_table(Tables *tables)
{
        Table *table;

        if (!field(tables, 1))
                return -EBADMSG;
        table = g_new0(Table, 1);
        table->table.name = field(tables, 1);
        table->table.key = -1;
        table->key = field(tables, 2);
        table->columns = g_array_new(FALSE, FALSE, sizeof(RecordedColumn));
        table->values = g_ptr_array_new_with_free_func(array_free);
        g_ptr_array_add(tables->tables, table);
        return 0;
}

static int add_columns(Tables *tables, Table *table)
{
        guint n = tables->fields->len - 1;

        if (table->columns->len > 0 || table->table.n_rows > 0 || n > COLUMNS_MAX)
                return -EBADMSG;
        for (guint i = 1; i <= n; i++) {
                RecordedColumn column = { field(tables, i), "", "" };

                if (!column.name)
                        return -EBADMSG;
                g_array_append_val(table->columns, column);
        }
        return 0;
}

/* A line that says the same of each column. */
static int describe_columns(Tables *tables, Table *table, bool is_unit)
{
        if (tables->fields->len - 1 > table->columns->len || table->values->len > 0)
                return -EBADMSG;
        for (guint i = 0; i < table->columns->len; i++) {
                RecordedColumn *column = &g_array_index(table->columns, RecordedColumn, i);

                *(is_unit ? &column->unit : &column->of) = field(tables, i + 1) ?: "";
        }
        return 0;
}

static bool is_text(const RecordedColumn *column)
{
        return g_str_equal(column->unit, RECORDED_UNIT_TEXT);
}

/* Makes room for values when the first row comes: then units are known. */
static void begin_values(Table *table)
{
        for (guint i = table->values->len; i < table->columns->len; i++)
                g_ptr_array_add(
                        table->values,
                        g_array_new(TRUE, FALSE, /* never NULL */
                                    is_text(&g_array_index(table->columns, RecordedColumn, i))
                                            ? sizeof(char *)
                                            : sizeof(double)));
}

static int add_number(RecordedColumn *column, GArray *values, const char *text)
{
        const char *point = text ? strchr(text, '.') : NULL;
        double number = NAN;
        char *end;

        if (text) {
                number = g_ascii_strtod(text, &end);
                if (end == text || *end || !(fabs(number) <= RECORDED_NUMBER_MAX))
                        return -EBADMSG;
        }
        if (point)
                column->decimals = MIN(MAX(column->decimals, (int)strlen(point + 1)), 9);
        g_array_append_val(values, number);
        return 0;
}

static int add_row(Tables *tables, Table *table)
{
        tables->cells += table->columns->len;
        if (tables->fields->len - 1 > table->columns->len || tables->cells > TABLES_CELLS_MAX)
                return -EBADMSG;
        begin_values(table);
        table->table.n_rows++;
        for (guint i = 0; i < table->columns->len; i++) {
                RecordedColumn *column = &g_array_index(table->columns, RecordedColumn, i);
                const char *text = field(tables, i + 1);
                GArray *values = table->values->pdata[i];

                if (is_text(column))
                        g_array_append_val(values, text);
                else if (add_number(column, values, text) < 0)
                        return -EBADMSG;
        }
        return 0;
}

/* A word that a later version has is ignored. */
static int parse_line(Tables *tables)
{
        guint n = tables->tables->len;
        Table *table = n ? tables->tables->pdata[n - 1] : NULL;
        const char *word = field(tables, 0) ?: "";

        if (g_str_equal(word, "table"))
                return begin_table(tables);
        if (!table)
                return -EBADMSG;
        return g_str_equal(word, "row")      ? add_row(tables, table)
               : g_str_equal(word, "column") ? add_columns(tables, table)
               : g_str_equal(word, "of")     ? describe_columns(tables, table, false)
               : g_str_equal(word, "unit")   ? describe_columns(tables, table, true)
                                             : 0;
}

/* The table as readers see it. */
static RecordedTable finish_table(Table *table)
{
        begin_values(table);
        for (guint i = 0; i < table->columns->len; i++) {
                RecordedColumn *column = &g_array_index(table->columns, RecordedColumn, i);
                const void *values = ((GArray *)table->values->pdata[i])->data;

                if (!is_text(column) && g_strcmp0(column->name, table->key) == 0)
                        table->table.key = (int)i;
                if (is_text(column)) {
                        column->texts = values;
                        column->unit = "";
                } else {
                        column->numbers = values;
                }
        }
        table->table.n_columns = (int)table->columns->len;
        table->table.columns = (const RecordedColumn *)(const void *)table->columns->data;
        return table->table;
}

int tables_parse(Tables *tables, GString *text, RecordedFrame *ret_frame)
{
        char *at = text->str;
        int r;

        g_ptr_array_set_size(tables->tables, 0);
        g_array_set_size(tables->recorded, 0);
        tables->cells = 0;
        if (!g_utf8_validate(text->str, (gssize)text->len, NULL))
                return -EBADMSG; /* also with a NUL in it */
        while ((r = take_line(tables, &at)) > 0)
                if ((r = parse_line(tables)) < 0)
                        break;
        if (r < 0)
                return r;
        for (guint i = 0; i < tables->tables->len; i++) {
                RecordedTable table = finish_table(tables->tables->pdata[i]);

                g_array_append_val(tables->recorded, table);
        }
        *ret_frame = (RecordedFrame){
                .n_tables = (int)tables->recorded->len,
                .tables = (const RecordedTable *)(const void *)tables->recorded->data
        };
        return 0;
}
