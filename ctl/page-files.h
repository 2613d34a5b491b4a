/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of ctl/page/, compiled in.
 */
#ifndef IDLED_PAGE_FILES_H
#define IDLED_PAGE_FILES_H

extern const char page_css[];  /* the style of every page and of the plots in it */
extern const char report_js[]; /* what makes the plots of idlectl report live */

#endif
