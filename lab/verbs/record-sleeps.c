/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record --sleeps: what the sleep ledger has counted, as rows at the end of the recording.
 */
#include "record.h"

#include <math.h>

typedef struct Row {
        RecordingTable *table;
        double time_usec;
        int cpu;
} Row;

/* Begins a row of a CPU. The key of the table comes first. */
static void begin_row(const Row *row)
{
        int key = recording_key(row->table, "cpu", "");

        recording_row(row->table);
        recording_put(row->table, key, row->cpu);
        recording_put(row->table, recording_number(row->table, "time_usec", NULL, "us", 0),
                      row->time_usec);
}

static void put_number(const Row *row, const char *name, const char *unit, double value)
{
        recording_put(row->table, recording_number(row->table, name, NULL, unit, 0), value);
}

static void put_text(const Row *row, const char *name, const char *text)
{
        recording_put_text(row->table, recording_text(row->table, name, NULL), text);
}

static const char *state_name(const Sleeps *sleeps, int cpu, int state)
{
        const IdleTable *table = &sleeps->tables[cpu];

        return state >= 0 && state < table->n_states ? table->states[state].name : NULL;
}

static void add_histogram(const Row *row, const struct sleep_stats *stats)
{
        for (unsigned i = 0; i < SLEEPS_BUCKETS; i++) {
                if (stats->hist[i] == 0)
                        continue;
                begin_row(row);
                put_number(row, "at_least_ns", "ns", (double)sleep_bucket_begin(i));
                put_number(row, "below_ns", "ns",
                           i + 1 < SLEEPS_BUCKETS ? (double)sleep_bucket_begin(i + 1) : NAN);
                put_number(row, "count", "", stats->hist[i]);
        }
}

static void add_sleeps(RecordingBatch *batch, const Sleeps *sleeps, double time_usec, int cpu)
{
        Row row = { recording_table(batch, "sleep"), time_usec, cpu };
        Row length = { recording_table(batch, "sleep_length"), time_usec, cpu };
        Row latency = { recording_table(batch, "latency"), time_usec, cpu };

        for (int state = 0; state < SLEEPS_STATES; state++) {
                const struct sleep_stats *stats =
                        &sleeps->totals.sleeps[cpu * SLEEPS_STATES + state];

                if (stats->count == 0)
                        continue;
                begin_row(&row);
                put_text(&row, "state", state_name(sleeps, cpu, state));
                put_number(&row, "sleeps", "", (double)stats->count);
                put_number(&row, "sleep_usec", "us", (double)stats->sum_ns / 1000);
                add_histogram(&length, stats);
        }
        if (sleeps->totals.latencies)
                add_histogram(&latency, &sleeps->totals.latencies[cpu]);
}

static void add_cause(RecordingBatch *batch, const Sleeps *sleeps, double time_usec,
                      const LedgerCause *cause)
{
        Row row = { recording_table(batch, "wakeup"), time_usec, cause->cpu };
        bool both = cause->function && cause->name;
        g_autofree char *name = g_strconcat(cause->function ?: "", both ? " (" : "",
                                            cause->name ?: "", both ? ")" : "", NULL);

        begin_row(&row);
        put_text(&row, "state", state_name(sleeps, cause->cpu, cause->state));
        put_text(&row, "kind", ledger_kind_text(cause->kind));
        put_text(&row, "name", *name ? name : NULL);
        put_text(&row, "unit", cause->unit);
        put_number(&row, "sleeps", "", (double)cause->value.count);
        put_number(&row, "sleep_usec", "us", (double)cause->value.slept_ns / 1000);
        put_number(&row, "lacked_usec", "us", (double)cause->value.short_ns / 1000);
}

void record_sleeps_add(RecordingBatch *batch, const Sleeps *sleeps, uint64_t time_usec)
{
        for (int cpu = 0; cpu < sleeps->totals.n_cpus; cpu++)
                add_sleeps(batch, sleeps, (double)time_usec, cpu);
        for (size_t i = 0; i < sleeps->totals.n_causes; i++)
                add_cause(batch, sleeps, (double)time_usec, &sleeps->totals.causes[i]);
}
