/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tables for people: columns as wide as their widest cell, two blanks apart.
 */
#ifndef IDLED_TABLE_H
#define IDLED_TABLE_H

#include "cli/json.h"
#include "cli/screen.h"

typedef struct Table Table;

Table *table_new(void);
void table_free(Table *table);

/* Adds a column; numbers stand at the right. All columns come before the first cell. */
void table_column(Table *table, const char *title, bool right);

/* Adds the columns of a list such as "Hold|>User": those behind a > stand at the right. */
void table_columns(Table *table, const char *titles);

/* Adds the next cell of the row; a row that is full begins a new one. */
void table_cell(Table *table, Style style, const char *text);
void table_cellf(Table *table, Style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same with a number of so many decimals, "-" for NaN. */
void table_number(Table *table, double value, int decimals);

/* The same with a member of an object, "-" if it is absent or "": a text, or a number, divided,
 * with so many decimals (negative: as many as it has) and a unit. */
void table_text(Table *table, json_object *object, const char *key);
void table_member(Table *table, json_object *object, const char *key, double divisor, int decimals,
                  const char *unit);

/* Adds a line of its own below the row that is full now, for text that no column has room for. */
void table_note(Table *table, Style style, const char *text);
void table_notef(Table *table, Style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* On a terminal the last column that is shown, of texts, is wrapped between words instead of cut.
 */
void table_wrap_last(Table *table);

/* Hides columns with these titles, a list of patterns such as "*%" that ends with NULL, one after
 * the other until the lines fit the terminal. False if they did not fit with all columns. Call it
 * when the table is full. */
bool table_fit(Table *table, const Screen *screen, const char *const *titles);

/* A time in microseconds as "12.3 us", "4.56 ms", "7.89 s": a new string. */
char *us_text(double us);

/* Prints titles and rows; on a terminal lines are cut to its width, notes wrapped. */
void table_print(const Table *table, const Screen *screen);

/* Prints objects as CSV, a line each: members of these names, "setting,watts,source", which are the
 * first line. */
void csv_print(json_object *rows, const char *names);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Table, table_free)

#endif
