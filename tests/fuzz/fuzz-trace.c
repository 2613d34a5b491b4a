/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes are a trace, plain or xz, or are not; what can be read goes through every governor. */
#include "fuzz-governors.h"
#include "unit/governors/memory-trace.h"

static const char table_text[] = "POLL 0 0 4000 poll\nC1 2 2 1600\nC1E 10 20 1000 off\n"
                                 "C6 133 400 150\nC7s 166 500 80\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *error = NULL;
        Record records[RECORDS];
        StateTable table;
        Trace *trace;
        int n;

        g_assert(state_table_parse(table_text, "table", &table, &error) == 0);
        trace = memory_trace(data, size, &error);
        while (trace && (n = trace_read(trace, records, RECORDS, &error)) > 0)
                fuzz_replay(&table, records, n, 1);
        if (error)
                g_assert(g_str_has_prefix(error, "t:"));
        trace_free(trace);
        return 0;
}
