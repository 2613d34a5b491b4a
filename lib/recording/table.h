/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of a frame as tables.
 */
#ifndef IDLED_RECORDING_TABLE_H
#define IDLED_RECORDING_TABLE_H

#include "recording/read.h"

/* The most values of a frame, which bounds memory. */
#define TABLES_CELLS_MAX (8u << 20)

typedef struct Tables Tables;

Tables *tables_new(void);
void tables_free(Tables *tables);

/* Reads the text, which it changes, into `*ret_frame`, whose time is left to the caller; valid
 * until the text changes or the next call. -EBADMSG: it is no text of a frame. */
int tables_parse(Tables *tables, GString *text, RecordedFrame *ret_frame);

#endif
