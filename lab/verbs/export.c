/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab export: a recording as CSV, or as a trace for Perfetto.
 *
 * CSV is a line for each value: time, table, key, column, of, unit, value. So columns that come or
 * go from frame to frame need no common head, and every program can select what it needs.
 *
 * A trace is the JSON format for trace events: a process for the machine with its counters, one
 * for each CPU with its own, and an instant event for each event, whose arguments have the reason.
 * A counter keeps its value until the next one, so a mean stands where its time begins.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/verb.h"
#include "recording/read.h"
#include "verbs.h"

#define MACHINE_PID 1
#define CPU_PID     1000 /* and the number of the CPU */

/* When the numbers of a row are of, in microseconds. */
typedef struct Span {
        double begin, end;
        double power; /* when the time of the next reading of power begins */
} Span;

typedef struct Export {
        size_t n_frames;
        GHashTable *seen;  /* as the format uses it, by texts */
        Span machine, cpu; /* the last of both tables */
} Export;

/* The value of a row of the column, if it has one. Digits are those that were recorded. */
static void print_number(const RecordedColumn *column, size_t row)
{
        if (column && column->numbers && !isnan(column->numbers[row]))
                printf("%.*f", column->decimals, column->numbers[row]);
}

/* True for tables that every frame has: they are facts, not samples. */
static bool is_lasting(const RecordedTable *table)
{
        return g_str_equal(table->name, "info") || g_str_equal(table->name, "topology") ||
               g_str_equal(table->name, "idle_state");
}

static void csv_value(const RecordedTable *table, const RecordedColumn *time, size_t row,
                      uint64_t number, const RecordedColumn *column)
{
        if (column->numbers ? isnan(column->numbers[row]) : !column->texts[row])
                return;
        print_number(time, row);
        putchar(',');
        csv_field_print(table->name);
        printf(",%" PRIu64 ",", number);
        if (table->key >= 0)
                print_number(&table->columns[table->key], row);
        putchar(',');
        csv_field_print(column->name);
        putchar(',');
        csv_field_print(column->of);
        putchar(',');
        csv_field_print(column->unit);
        putchar(',');
        if (column->numbers)
                print_number(column, row);
        else
                csv_field_print(column->texts[row]);
        fputs("\r\n", stdout);
}

/* The table and all values of a row, to compare it with others. */
static char *row_text(const RecordedTable *table, size_t row)
{
        GString *text = g_string_new("row of ");

        g_string_append(text, table->name);
        for (int c = 0; c < table->n_columns; c++) {
                const RecordedColumn *column = &table->columns[c];

                if (column->numbers)
                        g_string_append_printf(text, "\n%.17g", column->numbers[row]);
                else
                        g_string_append_printf(text, "\n%s", column->texts[row] ?: "");
        }
        return g_string_free(text, FALSE);
}

/* Remembers a number by a text, and returns the one before; 0: none. */
static size_t remember(GHashTable *seen, char *text, size_t number)
{
        size_t before = GPOINTER_TO_SIZE(g_hash_table_lookup(seen, text));

        g_hash_table_insert(seen, text, GSIZE_TO_POINTER(number));
        return before;
}

/* Every frame has the rows of lasting tables: those that the frame before had are left out. Rows
 * that are printed have numbers, so that the values of one can be put together. */
static void csv_frame(const RecordedFrame *frame, Export *export)
{
        GHashTable *seen = export->seen;

        for (int t = 0; t < frame->n_tables; t++) {
                const RecordedTable *table = frame->tables[t];
                const RecordedColumn *time = recorded_column(table, "time_usec", NULL);
                size_t number = GPOINTER_TO_SIZE(g_hash_table_lookup(seen, table->name));

                for (size_t row = 0; row < table->n_rows; row++) {
                        size_t before = is_lasting(table) ? remember(seen, row_text(table, row),
                                                                     export->n_frames)
                                                          : 0;

                        if (before > 0 && before + 1 >= export->n_frames)
                                continue;
                        for (int c = 0; c < table->n_columns; c++)
                                if (c != table->key && &table->columns[c] != time)
                                        csv_value(table, time, row, number, &table->columns[c]);
                        number++;
                }
                remember(seen, g_strdup(table->name), number);
        }
}

static void print_string(const char *text)
{
        g_autoptr(json_object) string = json_object_new_string(text);

        fputs(json_object_to_json_string_ext(string, JSON_C_TO_STRING_NOSLASHESCAPE), stdout);
}

/* What every event begins with; the first of all has no comma before it. */
static void trace_head(char phase, int pid, const char *name, const char *of)
{
        printf(",\n{\"ph\":\"%c\",\"pid\":%d,\"tid\":0,\"name\":", phase, pid);
        if (of && *of) {
                g_autofree char *both = g_strdup_printf("%s %s", name, of);

                print_string(both);
        } else {
                print_string(name);
        }
}

static void trace_process(int pid, const char *name)
{
        trace_head('M', pid, "process_name", NULL);
        fputs(",\"args\":{\"name\":", stdout);
        print_string(name);
        printf("}}");
        trace_head('M', pid, "process_sort_index", NULL);
        printf(",\"args\":{\"sort_index\":%d}}", pid);
}

static void trace_begin(void)
{
        fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
              "{\"ph\":\"M\",\"pid\":0,\"name\":\"trace\",\"args\":{\"format\":\"idled "
              "recording\"}}",
              stdout);
        trace_process(MACHINE_PID, "machine");
}

static bool is_power(const char *column)
{
        return g_str_equal(column, "power_watts") || g_str_equal(column, "estimated_watts");
}

static double column_begin(const char *column, const Span *span)
{
        static const char *const means[] = { "busy_share", "residency_share", "entered", "load",
                                             "switches",   "pressure_share",  NULL };

        return is_power(column)                 ? span->power
               : g_strv_contains(means, column) ? span->begin
                                                : span->end;
}

/* A counter of each number in the row. True if one is power. */
static bool trace_counters(const RecordedTable *table, const double *times, size_t row, int pid,
                           const Span *span)
{
        bool power = false;

        for (int c = 0; c < table->n_columns; c++) {
                const RecordedColumn *column = &table->columns[c];

                if (c == table->key || !column->numbers || column->numbers == times ||
                    isnan(column->numbers[row]) || g_str_equal(column->name, "monotonic_usec"))
                        continue;
                trace_head('C', pid, column->name, column->of);
                printf(",\"ts\":%.0f,\"args\":{", column_begin(column->name, span));
                print_string(*column->unit ? column->unit : "value");
                putchar(':');
                print_number(column, row);
                fputs("}}", stdout);
                power |= is_power(column->name);
        }
        return power;
}

/* Moves on to the span of the sample that ends at this time. A reading of power is of the time
 * since the one before it, or since a gap. */
static void span_move(Span *span, const RecordedTable *machine, double time, size_t *next)
{
        const double *times = recorded_numbers(machine, "time_usec", NULL);
        const double *intervals = recorded_numbers(machine, "interval_usec", NULL);
        double interval = 0, before = span->end;

        while (times && *next + 1 < machine->n_rows && times[*next] < time)
                ++*next;
        if (times && intervals && *next < machine->n_rows && times[*next] == time)
                interval = fmax(intervals[*next], 0);
        span->begin = time - interval;
        span->end = time;
        if (!(span->begin - before < interval / 2))
                span->power = span->begin;
}

static void trace_samples(const RecordedTable *table, const RecordedTable *machine, Span *span,
                          GHashTable *seen)
{
        const double *times = recorded_numbers(table, "time_usec", NULL);
        const double *keys = table->key >= 0 ? table->columns[table->key].numbers : NULL;
        size_t next = 0;

        for (size_t row = 0; times && row < table->n_rows; row++) {
                int pid = keys ? CPU_PID + (int)keys[row] : MACHINE_PID;

                if (isnan(times[row]))
                        continue;
                if (keys && g_hash_table_add(seen, g_strdup_printf("%d", pid))) {
                        g_autofree char *name = g_strdup_printf("CPU %d", (int)keys[row]);

                        trace_process(pid, name);
                }
                span_move(span, machine, times[row], &next);
                if (trace_counters(table, times, row, pid, span))
                        span->power = span->end;
        }
}

/* What happened, with its reason. */
static void trace_events(const RecordedTable *table)
{
        static const char *const arguments[] = { "cpus", "policy", "text" };

        for (size_t row = 0; row < table->n_rows; row++) {
                double time = recorded_number(table, "time_usec", row);
                const char *kind = recorded_text(table, "kind", row), *comma = "";

                if (isnan(time) || !kind)
                        continue;
                trace_head('i', MACHINE_PID, kind, NULL);
                printf(",\"ts\":%.0f,\"s\":\"g\",\"args\":{", time);
                for (size_t i = 0; i < G_N_ELEMENTS(arguments); i++) {
                        const char *text = recorded_text(table, arguments[i], row);

                        if (!text)
                                continue;
                        printf("%s\"%s\":", comma, arguments[i]);
                        print_string(text);
                        comma = ",";
                }
                fputs("}}", stdout);
        }
}

static void trace_frame(const RecordedFrame *frame, Export *export)
{
        const RecordedTable *machine = recorded_table(frame, "machine");

        for (int t = 0; t < frame->n_tables; t++) {
                const RecordedTable *table = frame->tables[t];

                if (g_str_equal(table->name, "machine"))
                        trace_samples(table, machine, &export->machine, export->seen);
                else if (g_str_equal(table->name, "cpu"))
                        trace_samples(table, machine, &export->cpu, export->seen);
                else if (g_str_equal(table->name, "event"))
                        trace_events(table);
        }
}

static const char *const names[] = { "csv", "perfetto", NULL };
static int asked; /* the number of the format: not 0 for Perfetto */

static const VerbOption export_options[] = {
        { "format", "FORMAT", "csv (the default) or perfetto", .choice = &asked, .choices = names,
          .expected = "csv or perfetto" },
        { 0 },
};

static void export_frame(const RecordedFrame *frame, void *data)
{
        Export *export = data;
        bool first = export->n_frames++ == 0;

        if (asked) {
                if (first)
                        trace_begin();
                trace_frame(frame, export);
                return;
        }
        if (first)
                fputs("time_usec,table,row,key,column,of,unit,value\r\n", stdout);
        csv_frame(frame, export);
}

static int export_ask(Ctl *ctl, json_object **ret_answer)
{
        Export export = { .machine = { NAN, NAN, NAN }, .cpu = { NAN, NAN, NAN } };
        g_autofree char *problem = NULL;
        int r;

        export.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        r = recording_read_file(ctl->args[0], export_frame, &export, &problem);
        if (asked && export.n_frames > 0)
                puts("\n]}");
        if (problem)
                complain("%s: %s", ctl->args[0], problem);
        g_hash_table_unref(export.seen);
        return r > 0 ? EXIT_FINE : EXIT_FAILED;
}

const Verb verb_export = {
        .name = "export",
        .arguments = "FILE",
        .summary = "Print a recording as CSV or for Perfetto",
        .help = "FILE is a file that idlelab record or idled wrote; - is standard input. CSV "
                "has\n"
                "a line for each value. Open a trace for Perfetto in ui.perfetto.dev. idlelab\n"
                "reports and leaves out damaged parts. The exit status is 1 if nothing could be\n"
                "read.\n"
                "  idlelab export --format perfetto a.rec > a.json",
        .options = { export_options },
        .min_args = 1,
        .max_args = 1,
        .ask = export_ask,
        .mute = true,
};
