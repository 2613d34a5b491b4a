/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the answer goes: what a terminal can show, and text that is safe for one.
 */
#ifndef IDLED_SCREEN_H
#define IDLED_SCREEN_H

#include <glib.h>
#include <stdbool.h>

typedef enum Style { STYLE_PLAIN, STYLE_TITLE, STYLE_GOOD, STYLE_WARN, STYLE_BAD, STYLE_DIM } Style;

typedef struct Screen {
        bool terminal; /* standard output is one */
        bool colour;   /* and may be coloured */
        bool unicode;  /* and understands UTF-8 */
        int width;     /* in columns; 0: unlimited */
} Screen;

/* Looks at standard output and the environment: NO_COLOR, TERM, COLUMNS. */
Screen screen_look(bool no_colour);

/* The columns of the terminal now. */
int screen_width(void);

/* The columns that valid UTF-8 text takes. */
int text_columns(const char *text);

/* A copy without anything that a terminal might obey, cut to `width` columns (0: not cut); a text
 * that was cut ends with an ellipsis. */
char *text_fit(const Screen *screen, const char *text, int width);

/* Prints a field of CSV (RFC 4180) without anything that a terminal might obey. A text that a
 * spreadsheet would take for a formula begins with an apostrophe. */
void csv_field_print(const char *text);

/* Prints the text in a style, where there are any. */
void screen_print(const Screen *screen, Style style, const char *text);

/* One line, cut to the width of a terminal. */
void screen_line(const Screen *screen, Style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Text that is of no use if it is cut: a line on its own, on a terminal wrapped between words. */
void screen_sentence(const Screen *screen, Style style, const char *text);
void screen_sentencef(const Screen *screen, Style style, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* The same behind `column` columns of a line that is begun: the lines that follow are indented by
 * as many. */
void screen_wrapped(const Screen *screen, Style style, int column, const char *text);

/* Indented text, on a terminal wrapped between words at its width. */
void screen_paragraph(const Screen *screen, Style style, int indent, const char *text);

/* If standard error is a terminal, its last line becomes the text behind a bar, unless `share` is
 * NAN. An empty text without bar removes it. */
void progress_draw(double share, const char *text);

/* "12 s", "3 min", "5 h", "2 days": how long, for people, as a new string. */
char *text_duration(double seconds);

/* A bar of 5 columns for a share of 0 .. 1, as a new string; blanks where the screen is no
 * terminal. */
char *text_bar(const Screen *screen, double share);

#endif
