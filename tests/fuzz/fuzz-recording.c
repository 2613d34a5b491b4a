/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes are read as a recording without harm: as a file, and, because checksums would stop most
 * of them, as the text of a frame. Every value that is read may be used.
 */
#include "fuzz.h"
#include "recording/frame.h"
#include "unit/recording/memory-recording.h"

static void use(const RecordedFrame *frame)
{
        for (int t = 0; t < frame->n_tables; t++) {
                const RecordedTable *table = frame->tables[t];

                g_assert(table->key < table->n_columns);
                for (int c = 0; c < table->n_columns; c++) {
                        const RecordedColumn *column = &table->columns[c];

                        g_assert(!column->numbers != !column->texts);
                        g_assert(g_utf8_validate(column->name, -1, NULL));
                        for (size_t row = 0; row < table->n_rows; row++) {
                                if (column->texts && column->texts[row])
                                        g_assert(g_utf8_validate(column->texts[row], -1, NULL));
                                else if (column->numbers)
                                        g_assert(!(column->numbers[row] > 1e16));
                        }
                }
        }
}

static void read_all(const void *data, size_t size)
{
        g_autoptr(RecordingReader) reader = memory_recording(data, size);
        g_autofree char *problem = NULL;
        const RecordedFrame *frame;
        int r;

        while ((r = recording_read(reader, &frame)) > 0)
                use(frame);
        g_assert(r == 0);
        problem = recording_problem(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(GString) text = g_string_new_len((const char *)data, (gssize)size);
        g_autoptr(GByteArray) frame = g_byte_array_new();

        read_all(data, size);
        if (frame_pack(text, 0, frame) == 0)
                read_all(frame->data, frame->len);
        return 0;
}
