/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * HTML pages: one file with everything in it. A page is a verb's answer as data, and page/page.js
 * shows it. The page's own policy (Content-Security-Policy) forbids the network and every script
 * and style but those of page/page.html, by their hashes.
 */
#ifndef IDLED_PAGE_H
#define IDLED_PAGE_H

#include "cli/json.h"

/* The frame of a page, before and behind its data: page-files.c, which page/embed.py makes. */
extern const char page_head[], page_tail[];

/* Writes the page about an answer of this verb into the file, as a whole or not at all; "-" is
 * standard output. Returns EXIT_FINE, or EXIT_FAILED after a message. */
int page_write(const char *verb, json_object *answer, const char *path);

#endif
