/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: one file with everything in it. The page's own policy (Content-Security-Policy)
 * forbids the network and every script and style but those that idlectl itself wrote into it, by
 * their hashes.
 */
#ifndef IDLED_PAGE_H
#define IDLED_PAGE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

#include "markup.h"

typedef struct PageFrame {
        const char *title;
        const char *const *scripts; /* run in this order at the end; NULL: none */
        size_t n_scripts;
        json_object *data; /* for scripts, the text of the element "data"; NULL: none */
} PageFrame;

/* A page that is being written, in memory. */
typedef struct Page {
        FILE *file; /* for what stands below the title */
        char *text;
        size_t size;
        const PageFrame *frame;
} Page;

/* Begins a page. `frame` must live until it is saved; its data may be set until then. */
void page_open(Page *page, const PageFrame *frame);

/* Ends the page and writes it into the file, as a whole or not at all; "-" is standard output.
 * Returns EXIT_FINE, or EXIT_FAILED after a message that begins with `verb`. */
int page_save(Page *page, const char *verb, const char *path);

/* True if the text can stand in a <script> element. */
bool page_can_embed(const char *script);

/* A table with captions for all columns. The first cell of a row is its head; numbers stand at the
 * right. */
typedef struct PageColumn {
        const char *title;
        bool number;
} PageColumn;

void page_table_begin(FILE *file, const char *caption, const PageColumn *columns, size_t n);
/* One row: `cells` has `n` texts; NULL: not known. `id` of the row may be NULL. */
void page_table_row(FILE *file, const PageColumn *columns, size_t n, const char *id,
                    const char *const *cells);
void page_table_end(FILE *file);

#endif
