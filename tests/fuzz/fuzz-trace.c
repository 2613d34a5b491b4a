/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any bytes are a trace, plain or xz, or are not; what can be read goes through every governor. */
#include "base/setting-value.h"
#include "fuzz.h"
#include "governors/governors.h"
#include "governors/replay.h"
#include "unit/governors/memory-trace.h"

#define RECORDS 64

static const char table_text[] = "POLL 0 0 4000 poll\nC1 2 2 1600\nC1E 10 20 1000 off\n"
                                 "C6 133 400 150\nC7s 166 500 80\n";

static void replay_all(const StateTable *table, const Record *records, int n)
{
        int8_t states[RECORDS];

        for (int i = 0; governors[i]; i++) {
                const Governor *governor = governors[i];
                void *options = NULL;
                Replay *replay;

                if (governor->settings)
                        g_assert(settings_new(governor->settings, governor->options_size, &options,
                                              NULL) == 0);
                replay = replay_new(governor, options, table);
                replay_run(replay, records, n, states);
                for (int k = 0; k < n; k++)
                        g_assert(states[k] >= 0 && states[k] < table->n);
                g_assert(replay_score(replay)->periods == (uint64_t)n);
                replay_free(replay);
                if (governor->settings)
                        settings_free(governor->settings, options);
        }
}

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
                replay_all(&table, records, n);
        if (error)
                g_assert(g_str_has_prefix(error, "t:"));
        trace_free(trace);
        return 0;
}
