/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text is a power table or is not; one that is prices sanely, and is the same when written. */
#include <errno.h>
#include <math.h>

#include "config/power-table.h"
#include "fuzz-config.h"

static void check_same(const PowerTable *table)
{
        g_autofree char *text = power_table_format(table);
        g_autoptr(PowerTable) again = power_table_new("again");
        g_autoptr(GPtrArray) errors = config_errors_new();

        g_assert(power_table_parse("/etc/idled/t", text, strlen(text), again, errors) == 0);
        g_assert(again->states->len == table->states->len);
        for (guint i = 0; i < table->states->len; i++) {
                const PowerState *state = &g_array_index(table->states, PowerState, i);
                double share = 1, unknown;

                g_assert(state->watts >= 0 && state->watts <= POWER_TABLE_WATTS_MAX);
                g_assert(fabs(power_table_find(again, state->name) - state->watts) < 1e-3);
                g_assert(power_table_price(table, (const char *[]){ state->name }, &share, 1,
                                           &unknown) == state->watts);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(PowerTable) table = power_table_new("t");
        g_autoptr(GPtrArray) errors = config_errors_new();
        int r = power_table_parse("/etc/idled/t", (const char *)data, size, table, errors);

        g_assert(r == (errors->len > 0 ? -EINVAL : 0));
        fuzz_check_errors(errors);
        if (r == 0)
                check_same(table);
        return 0;
}
