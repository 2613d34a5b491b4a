/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a daemon that died left changed: its record of changes, which is read and never written.
 */
#ifndef IDLED_LEFT_H
#define IDLED_LEFT_H

#include "act/knob/undo-load.h"
#include "cli/verb.h"

/* Reads the record into `entries`; `*ret_skipped` is the number of lines that make no sense, and is
 * 0 for a record of another boot. Returns 0, also where there is no record, or a negative errno. */
int left_read(const Ctl *ctl, UndoEntries *entries, int *ret_skipped);

/* The path of the record that idled kept because it could not read all of it, as a new string;
 * NULL: there is none. */
char *left_damaged(const Ctl *ctl);

/* How many knobs are left to restore; 0 while the daemon answers, -1 if the record cannot be read
 * (it is root's). */
int left_count(const Ctl *ctl);

/* "2 knobs are still as idled set them before it died", as a new string. */
char *left_text(int count);

#endif
