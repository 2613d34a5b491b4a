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

bool windows_started(Windows *windows, const char *unit, uint64_t now)
{
        if (!g_hash_table_contains(windows->starting, unit))
                return false;
        windows_begun(windows, unit, now);
        g_hash_table_remove(windows->starting, unit);
        return true;
}

void windows_begun(Windows *windows, const char *what, uint64_t now)
{
        g_free(windows->started);
        windows->started = g_strdup(what);
        windows->started_usec = now;
}

bool windows_drop(Windows *windows, const char *unit)
{
        return g_hash_table_remove(windows->starting, unit);
}

void windows_input(Windows *windows, const char *terminal, uint64_t usec)
{
        if (terminal != windows->terminal) {
                g_free(windows->terminal);
                windows->terminal = g_strdup(terminal);
        }
        windows->input_usec = usec;
}

/* One of the units that start; NULL: none does. */
static const char *starting(const Windows *windows)
{
        GHashTableIter iter;
        gpointer unit;

        g_hash_table_iter_init(&iter, windows->starting);
        return g_hash_table_iter_next(&iter, &unit, NULL) ? unit : NULL;
}

/* When a window that began at `since` closes; 0: it did not begin. */
static uint64_t end_of(uint64_t since, uint64_t length)
{
        return since ? since + length : 0;
}

Window windows_open(const Windows *windows, const WindowLengths *lengths, uint64_t now,
                    char **ret_why)
{
        const char *unit = lengths->start ? starting(windows) : NULL;

        if (unit) {
                if (ret_why)
                        *ret_why = g_strdup_printf("%s starts", unit);
                return WINDOW_START;
        }
        if (now < end_of(windows->input_usec, lengths->terminal)) {
                if (ret_why)
                        *ret_why = g_strdup_printf("input to terminal %s", windows->terminal);
                return WINDOW_TERMINAL;
        }
        if (now < end_of(windows->started_usec, lengths->start)) {
                if (ret_why)
                        *ret_why = g_strdup_printf("%s has just started", windows->started);
                return WINDOW_START;
        }
        return WINDOW_NONE;
}

uint64_t windows_close_at(const Windows *windows, const WindowLengths *lengths, uint64_t now)
{
        uint64_t terminal = end_of(windows->input_usec, lengths->terminal),
                 start = end_of(windows->started_usec, lengths->start), at = MAX(terminal, start);

        return (lengths->start && starting(windows)) || at <= now ? 0 : at;
}
