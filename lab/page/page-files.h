/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that go into pages, as strings: page-files.c, which page/embed.py makes. */
#ifndef IDLED_PAGE_FILES_H
#define IDLED_PAGE_FILES_H

extern const char page_css[], page_js[], dygraph_min_js[];

#endif
