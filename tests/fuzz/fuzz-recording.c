/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes are read as a recording without harm: as a file, and, because checksums would stop most
 * of them, as the text of a frame. Every value that is read may be used.
 */
#include <errno.h>

#include "fuzz.h"
#include "recording/table.h"
#include "unit/recording/memory-recording.h"

static void use(const RecordedFrame *frame)
{
        for (int t = 0; t < frame->n_tables; t++) {
                const RecordedTable *table = &frame->tables[t];

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(RecordingReader) reader = memory_recording(data, size);
        g_autoptr(GString) text = g_string_new_len((const char *)data, (gssize)size);
        g_autofree char *problem = NULL;
        Tables *tables = tables_new();
        const RecordedFrame *frame;
        RecordedFrame own = { 0 };
        int r;

        while ((r = recording_read(reader, &frame)) > 0)
                use(frame);
        g_assert(r == 0);
        problem = recording_problem(reader);
        r = tables_parse(tables, text, &own);
        g_assert(r == 0 || r == -EBADMSG);
        if (r == 0)
                use(&own);
        tables_free(tables);
        return 0;
}
