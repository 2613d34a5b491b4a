/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a bill of wake-ups as its clients do: into a row for each unit and executable.
 */
#ifndef IDLED_TESTS_BILL_UNITS_H
#define IDLED_TESTS_BILL_UNITS_H

#include "bpf/bill.h"

/* The rows of the last reading, of UnitWakeups. */
static GPtrArray *units;

static inline void units_take(const char *cgroup, const char *process, enum wakeup_kind kind,
                              const WakeupDelays *delays, void *data)
{
        unit_wakeups_add(data, cgroup, process, kind, delays);
}

static inline int units_read(Bill *bill, BillReading *ret_reading)
{
        static GHashTable *rows;
        GHashTableIter iter;
        gpointer row;
        int r;

        g_clear_pointer(&units, g_ptr_array_unref);
        g_clear_pointer(&rows, g_hash_table_unref);
        units = g_ptr_array_new();
        rows = unit_wakeups_new();
        r = bill_read(bill, units_take, rows, ret_reading);
        g_hash_table_iter_init(&iter, rows);
        while (g_hash_table_iter_next(&iter, NULL, &row))
                g_ptr_array_add(units, row);
        return r;
}

#endif
