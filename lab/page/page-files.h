/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frame of a page, before and behind its data: page-files.c, which page/embed.py makes. */
#ifndef IDLED_PAGE_FILES_H
#define IDLED_PAGE_FILES_H

extern const char page_head[], page_tail[];

#endif
