/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contents of a frame as tables.
 */
#ifndef IDLED_RECORDING_DECODE_H
#define IDLED_RECORDING_DECODE_H

#include "recording/read.h"

typedef struct Decoder Decoder;

Decoder *decoder_new(void);
void decoder_free(Decoder *decoder);

/* Reads the contents into `*ret_frame`, whose offset and time are left to the caller; valid until
 * the next call. Adds to `*unknown` the columns that were left out. -EBADMSG: this is no contents,
 * or what it says does not fit. */
int decoder_run(Decoder *decoder, const GByteArray *contents, RecordedFrame *ret_frame,
                uint64_t *unknown);

#endif
