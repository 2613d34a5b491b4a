/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables.
 */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>

#define GAP         2
#define MARK        2 /* and a blank before it: that columns are left out */
#define NOTE_INDENT 6

/* A column of texts narrower than this is cut and not wrapped. */
#define WRAP_COLUMNS 16

typedef struct Column {
        char *title;
        bool right, hidden;
        int width;
} Column;

typedef struct Cell {
        char *text;
        Style style;
} Cell;

typedef struct Note {
        Cell cell;
        guint cells; /* how many there were before it */
} Note;

struct Table {
        GArray *columns; /* of Column */
        GArray *cells;   /* of Cell, row by row */
        GArray *notes;   /* of Note, by row */
        bool wrap_last;
};

/* Columns, cells and notes begin with their text. */
static void text_clear(gpointer data)
{
        g_free(*(char **)data);
}

Table *table_new(void)
{
        Table *table = g_new0(Table, 1);

        table->columns = g_array_new(FALSE, FALSE, sizeof(Column));
        table->cells = g_array_new(FALSE, FALSE, sizeof(Cell));
        table->notes = g_array_new(FALSE, FALSE, sizeof(Note));
        g_array_set_clear_func(table->notes, text_clear);
        g_array_set_clear_func(table->columns, text_clear);
        g_array_set_clear_func(table->cells, text_clear);
        return table;
}

void table_free(Table *table)
{
        g_array_unref(table->columns);
        g_array_unref(table->cells);
        g_array_unref(table->notes);
        g_free(table);
}

void table_column(Table *table, const char *title, bool right)
{
        Column column = { .title = g_strdup(title), .right = right, .width = text_columns(title) };

        g_array_append_val(table->columns, column);
}

void table_columns(Table *table, const char *titles)
{
        g_auto(GStrv) list = g_strsplit(titles, "|", -1);

        for (char **title = list; *title; title++)
                table_column(table, *title + (**title == '>'), **title == '>');
}

void table_cell(Table *table, Style style, const char *text)
{
        Cell cell = { text_fit(&(Screen){ 0 }, text, 0), style };
        guint number = table->cells->len % table->columns->len;
        Column *column = &g_array_index(table->columns, Column, number);

        column->width = MAX(column->width, text_columns(cell.text));
        g_array_append_val(table->cells, cell);
}

void table_cellf(Table *table, Style style, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        table_cell(table, style, text);
}

void table_number(Table *table, double value, int decimals)
{
        if (isnan(value))
                table_cell(table, STYLE_DIM, "-");
        else
                table_cellf(table, STYLE_PLAIN, "%.*f", decimals, value);
}

void table_text(Table *table, json_object *object, const char *key)
{
        const char *text = json_text(object, key);

        table_cell(table, *text ? STYLE_PLAIN : STYLE_DIM, *text ? text : "-");
}

void table_member(Table *table, json_object *object, const char *key, double divisor, int decimals,
                  const char *unit)
{
        double value = json_number(object, key, NAN) / divisor;

        if (isnan(value))
                table_cell(table, STYLE_DIM, "-");
        else if (decimals < 0)
                table_cellf(table, STYLE_PLAIN, "%.6g%s", value, unit);
        else
                table_cellf(table, STYLE_PLAIN, "%.*f%s", decimals, value, unit);
}

char *us_text(double us)
{
        if (us < 999.5)
                return g_strdup_printf("%.3g us", us);
        if (us < 999500)
                return g_strdup_printf("%.3g ms", us / 1e3);
        return g_strdup_printf(us < 1e9 ? "%.3g s" : "%.0f s", us / 1e6);
}

void table_note(Table *table, Style style, const char *text)
{
        Note note = { { g_strdup(text), style }, table->cells->len };

        g_array_append_val(table->notes, note);
}

void table_notef(Table *table, Style style, const char *format, ...)
{
        g_autofree char *text = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        table_note(table, style, text);
}

void table_wrap_last(Table *table)
{
        table->wrap_last = true;
}

static int line_width(const Table *table)
{
        int width = -GAP;

        for (guint i = 0; i < table->columns->len; i++)
                if (!g_array_index(table->columns, Column, i).hidden)
                        width += g_array_index(table->columns, Column, i).width + GAP;
        return width;
}

bool table_fit(Table *table, const Screen *screen, const char *const *titles)
{
        bool fits = !screen->width || line_width(table) <= screen->width;

        for (; *titles && screen->width && line_width(table) > screen->width; titles++)
                for (guint i = 0; i < table->columns->len; i++) {
                        Column *column = &g_array_index(table->columns, Column, i);

                        column->hidden |= g_pattern_match_simple(*titles, column->title);
                }
        return fits;
}

/* Prints one cell where there is room for so many columns. Returns how many it took. */
static int print_cell(const Table *table, const Screen *screen, guint number, const Cell *cell,
                      bool last, int room)
{
        const Column *column = &g_array_index(table->columns, Column, number);
        int pad = column->width - text_columns(cell->text);
        int left = column->right ? pad : 0, right = column->right || last ? 0 : pad;
        g_autofree char *padded = g_strdup_printf("%*s%s%*s", left, "", cell->text, right, "");
        g_autofree char *fit = text_fit(screen, padded, screen->width ? room : 0);

        screen_print(screen, cell->style, fit);
        return text_columns(padded);
}

/* A number that is cut is a wrong one. */
static bool is_left_out(const Column *column, int room)
{
        return column->right && column->width > room;
}

static void print_mark(const Screen *screen)
{
        screen_print(screen, STYLE_DIM, screen->unicode ? "…" : ">");
}

static void print_row(const Table *table, const Screen *screen, const Cell *cells)
{
        guint n = table->columns->len, last = n - 1;
        int room = screen->width ? screen->width : G_MAXINT;

        while (last > 0 && g_array_index(table->columns, Column, last).hidden)
                last--;
        n = last + 1;
        /* No blanks at the end of lines. */
        while (n > 1 && !*cells[n - 1].text)
                n--;
        for (guint i = 0; i < n; i++) {
                const Column *column = &g_array_index(table->columns, Column, i);
                int took, here = i < n - 1 ? MAX(room - MARK, 1) : room;

                if (column->hidden)
                        continue;
                if (is_left_out(column, here)) {
                        print_mark(screen);
                        break;
                }
                if (table->wrap_last && i == last && screen->width && room >= WRAP_COLUMNS) {
                        screen_wrapped(screen, cells[i].style, screen->width - room, cells[i].text);
                        return;
                }
                took = print_cell(table, screen, i, &cells[i], i == n - 1, here);
                if (i == n - 1 || took > here)
                        break;
                room -= took;
                if (room <= GAP) {
                        putchar(' ');
                        print_mark(screen);
                        break;
                }
                printf("%*s", GAP, "");
                room -= GAP;
        }
        putchar('\n');
}

static void print_notes(const Table *table, const Screen *screen, guint cells)
{
        for (guint i = 0; i < table->notes->len; i++) {
                const Note *note = &g_array_index(table->notes, Note, i);

                if (note->cells == cells)
                        screen_paragraph(screen, note->cell.style, NOTE_INDENT, note->cell.text);
        }
}

void table_print(const Table *table, const Screen *screen)
{
        guint n = table->columns->len;
        g_autofree Cell *titles = g_new(Cell, n);

        for (guint i = 0; i < n; i++)
                titles[i] = (Cell){ g_array_index(table->columns, Column, i).title, STYLE_TITLE };
        print_row(table, screen, titles);
        for (guint i = 0; i + n <= table->cells->len; i += n) {
                print_row(table, screen, &g_array_index(table->cells, Cell, i));
                print_notes(table, screen, i + n);
        }
}

void csv_print(json_object *rows, const char *names)
{
        g_auto(GStrv) list = g_strsplit(names, ",", -1);
        json_object *row;

        puts(names);
        JSON_FOREACH(row, rows)
                for (char **name = list; *name; name++) {
                        json_object *value = json_get(row, *name);

                        if (json_object_is_type(value, json_type_string))
                                csv_field_print(json_object_get_string(value));
                        else if (value)
                                fputs(json_object_get_string(value), stdout);
                        putchar(name[1] ? ',' : '\n');
                }
}
