/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text is a table of idle states or is not; with one that is, governors decide sanely. */
#include "fuzz-governors.h"

static const Record records[] = {
        { .enter_ns = 0, .sleep_ns = 1000000, .idle_ns = 1000000, .limit_ns = NO_LATENCY_LIMIT },
        { .enter_ns = 3999999, .sleep_ns = 9000000, .idle_ns = 0, .limit_ns = 0, .got_tick = true },
        { .enter_ns = 5000000,
          .sleep_ns = INT64_MAX,
          .idle_ns = 1,
          .limit_ns = 50000,
          .util = 900 },
        { .enter_ns = 1, .sleep_ns = -1, .idle_ns = INT64_MAX / 4, .limit_ns = NO_LATENCY_LIMIT },
        { .enter_ns = UINT64_MAX, .sleep_ns = 0, .idle_ns = 5, .limit_ns = 1000, .iowait = 7 },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = g_strndup((const char *)data, size), *error = NULL;
        StateTable table = { .n = -7 };

        if (state_table_parse(text, "t", &table, &error) < 0) {
                g_assert(table.n == -7);
                g_assert(g_str_has_prefix(error, "t:"));
                return 0;
        }
        g_assert(table.n >= 1 && table.n <= IDLE_STATES_MAX);
        fuzz_replay(&table, records, (int)G_N_ELEMENTS(records), 8);
        return 0;
}
