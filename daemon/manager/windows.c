/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The two windows. They are independent; what is open last closes last.
 */
#include "manager/windows.h"

void windows_init(Windows *windows)
{
        *windows = (Windows){ .starting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                                NULL) };
}

void windows_done(Windows *windows)
{
        g_clear_pointer(&windows->starting, g_hash_table_unref);
        g_clear_pointer(&windows->started, g_free);
        g_clear_pointer(&windows->terminal, g_free);
}

void windows_start(Windows *windows, const char *unit)
{
        g_hash_table_add(windows->starting, g_strdup(unit));
}

bool windows_started(Windows *windows, const char *unit, uint64_t until)
{
        if (!g_hash_table_contains(windows->starting, unit))
                return false;
        g_free(windows->started);
        windows->started = g_strdup(unit);
        g_hash_table_remove(windows->starting, unit);
        windows->start_until = until;
        return true;
}

bool windows_drop(Windows *windows, const char *unit)
{
        return g_hash_table_remove(windows->starting, unit);
}

void windows_input(Windows *windows, const char *terminal, uint64_t until)
{
        if (terminal != windows->terminal) {
                g_free(windows->terminal);
                windows->terminal = g_strdup(terminal);
        }
        windows->terminal_until = until;
}

/* One of the units that start; NULL: none does. */
static const char *starting(const Windows *windows)
{
        GHashTableIter iter;
        gpointer unit;

        g_hash_table_iter_init(&iter, windows->starting);
        return g_hash_table_iter_next(&iter, &unit, NULL) ? unit : NULL;
}

Window windows_open(const Windows *windows, uint64_t now, char **ret_why)
{
        const char *unit = starting(windows);

        if (unit) {
                if (ret_why)
                        *ret_why = g_strdup_printf("%s starts", unit);
                return WINDOW_START;
        }
        if (now < windows->terminal_until) {
                if (ret_why)
                        *ret_why = g_strdup_printf("input to terminal %s", windows->terminal);
                return WINDOW_TERMINAL;
        }
        if (now < windows->start_until) {
                if (ret_why)
                        *ret_why = g_strdup_printf("%s has just started", windows->started);
                return WINDOW_START;
        }
        return WINDOW_NONE;
}

uint64_t windows_close_at(const Windows *windows, uint64_t now)
{
        uint64_t at = MAX(windows->terminal_until, windows->start_until);

        return starting(windows) || at <= now ? 0 : at;
}
