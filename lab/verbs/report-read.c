/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: reads a recording, whose tables docs/recording.md describes.
 *
 * Rows of table cpu belong to the row of table machine that has the same time; both are in the
 * order of time. Nothing about the values is certain, not even that they are numbers or that time
 * moves forward.
 */
#include "report.h"

#include <math.h>
#include <string.h>

#include "cli/verb.h"
#include "model/idle-table.h"
#include "recording/read.h"
#include "reduce.h"

/* Texts of a recording are cut after so many bytes. */
#define TEXT_MAX 600

/* How many elements of a list are kept. */
#define EVENTS_MAX 300 /* the last */
#define SERIES_MAX 8   /* of a chart, */
#define STACKS_MAX 34  /* without those of idle states */

/* More idle states than any machine has names for. */
#define STATES_MAX 32

#define FACTS_MAX 100

/* The most sources of wake-ups and histogram buckets that a report counts separately. */
#define KINDS_MAX 20000

typedef struct State {
        char *name;
        double exit_latency_us; /* the shortest of all CPUs */
} State;

/* Sums over the CPUs of a sample; [1]: of those that were parked alone. */
typedef struct Tally {
        double cpus[2], busy[2], share[2][STATES_MAX];
        double known; /* CPUs of which it is known whether they were parked */
        double busy_mhz, busy_weight, fastest_mhz;
        double sleeps; /* NaN: not known */
        double parked_cores;
        GHashTable *cores[2]; /* numbers, + 1; [1]: of those with a CPU that works */
} Tally;

/* A text of a recording, cut where it is too long for a page, as a new string. */
static char *cut_text(const char *text)
{
        g_autofree char *cut = g_strndup(text, TEXT_MAX);

        return g_utf8_make_valid(cut, -1);
}

/* The same as a member of an object, null if it is NULL. */
static void put_text(json_object *object, const char *key, const char *text)
{
        g_autofree char *cut = text ? cut_text(text) : NULL;

        json_put_text(object, key, cut);
}

static void add_mean(Report *report, ReportMean which, double value, double seconds)
{
        if (!isfinite(value) || !(seconds > 0))
                return;
        report->sums[which] += value * seconds;
        report->weights[which] += seconds;
}

/* The value, or NaN where there is no column. */
static double at(const double *numbers, size_t row)
{
        return numbers ? numbers[row] : NAN;
}

/* The same of a share; what is not between 0 and 1 is none. */
static double share_at(const double *numbers, size_t row)
{
        double share = at(numbers, row);

        return share >= 0 && share <= 1 ? share : NAN;
}

/* The column of a series, which is added if it is not there; REDUCED_COLUMNS if the chart has no
 * room for it. */
static guint column_of(Report *report, ReportChart chart, ReportKind kind, const char *name)
{
        ReportSeries added = { chart, kind, NULL, NAN };
        guint i, n = 0;

        for (i = 0; i < report->series->len; i++) {
                const ReportSeries *series = &g_array_index(report->series, ReportSeries, i);

                if (series->chart == chart && g_str_equal(series->name, name))
                        return i;
                n += series->chart == chart;
        }
        if (n >= (kind == REPORT_STACK ? STACKS_MAX : SERIES_MAX))
                return REDUCED_COLUMNS;
        added.name = g_strdup(name);
        g_array_append_val(report->series, added);
        return i;
}

/* A value of the sample. */
static void put(Report *report, ReportChart chart, ReportKind kind, const char *name, double value)
{
        if (isfinite(value))
                reduced_put(report->samples, column_of(report, chart, kind, name), value, value,
                            value, report->samples->seconds);
}

static void read_info(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "info");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *key = recorded_text(table, "key", i);
                const char *value = recorded_text(table, "value", i);

                if (key && value && json_object_object_length(report->facts) < FACTS_MAX)
                        put_text(report->facts, key, value);
        }
}

static int compare_states(const void *a, const void *b)
{
        const State *x = a, *y = b;

        return (x->exit_latency_us > y->exit_latency_us) -
               (x->exit_latency_us < y->exit_latency_us);
}

static void add_state(Report *report, const char *name, double exit_latency_us)
{
        State state = { NULL, isfinite(exit_latency_us) ? exit_latency_us : 0 };

        for (guint i = 0; i < report->states->len; i++) {
                State *known = &g_array_index(report->states, State, i);

                if (g_str_equal(known->name, name)) {
                        known->exit_latency_us = fmin(known->exit_latency_us,
                                                      state.exit_latency_us);
                        return;
                }
        }
        if (report->states->len == STATES_MAX)
                return;
        state.name = g_strdup(name);
        g_array_append_val(report->states, state);
}

static void read_states(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "idle_state");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *name = recorded_text(table, "name", i);

                if (name)
                        add_state(report, name, recorded_number(table, "exit_latency_us", i));
        }
        g_array_sort(report->states, compare_states);
}

/* How many different values a column has, at most 65536; NaN without column. */
static double count_values(const RecordedTable *table, const char *column)
{
        const double *numbers = recorded_numbers(table, column, NULL);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

        for (size_t i = 0; numbers && i < table->n_rows; i++)
                if (numbers[i] >= 0 && numbers[i] < 65536)
                        g_hash_table_add(seen, GINT_TO_POINTER((int)numbers[i] + 1));
        return g_hash_table_size(seen) ? g_hash_table_size(seen) : NAN;
}

static void read_topology(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "topology");
        const double *cpus = recorded_numbers(table, "cpu", NULL);
        const double *cores = recorded_numbers(table, "core", NULL);

        if (!cpus || !table->n_rows)
                return;
        report->cpus = count_values(table, "cpu");
        report->cores = count_values(table, "core");
        report->packages = count_values(table, "package");
        g_hash_table_remove_all(report->core_of);
        for (size_t i = 0; cores && i < table->n_rows; i++)
                if (cores[i] >= 0 && cores[i] < 65536 && cpus[i] >= 0 && cpus[i] < 65536)
                        g_hash_table_insert(report->core_of, GINT_TO_POINTER((int)cpus[i] + 1),
                                            GINT_TO_POINTER((int)cores[i] + 1));
}

/* The columns of table cpu in a frame. */
typedef struct CpuColumns {
        const RecordedTable *table; /* NULL: there is nothing of use in it */
        size_t next;                /* the first row that was not used */
        const double *cpu, *busy, *khz, *parked;
        const double *share[STATES_MAX], *entered[STATES_MAX];
} CpuColumns;

static CpuColumns find_columns(const Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "cpu");
        CpuColumns columns = { .table = table };

        columns.cpu = recorded_numbers(table, "cpu", NULL);
        columns.busy = recorded_numbers(table, "busy_share", NULL);
        columns.khz = recorded_numbers(table, "frequency_khz", NULL);
        columns.parked = recorded_numbers(table, "parked", NULL);
        for (guint i = 0; i < report->states->len; i++) {
                const char *name = g_array_index(report->states, State, i).name;

                columns.share[i] = recorded_numbers(table, "residency_share", name);
                columns.entered[i] = recorded_numbers(table, "entered", name);
        }
        if (!columns.cpu || !columns.busy)
                columns.table = NULL;
        return columns;
}

static void tally_states(Report *report, Tally *tally, const CpuColumns *columns, size_t row,
                         bool parked)
{
        for (guint i = 0; i < report->states->len; i++) {
                const State *state = &g_array_index(report->states, State, i);
                double share = share_at(columns->share[i], row),
                       entered = at(columns->entered[i], row);

                if (isfinite(share)) {
                        report->any_states = true;
                        tally->share[0][i] += share;
                        tally->share[1][i] += parked ? share : 0;
                }
                if (isfinite(entered) && !idle_state_polls(state->name))
                        tally->sleeps = (isnan(tally->sleeps) ? 0 : tally->sleeps) + entered;
        }
}

static void tally_cpu(Report *report, Tally *tally, const CpuColumns *columns, size_t row)
{
        double busy = share_at(columns->busy, row), khz = at(columns->khz, row);
        double parked = at(columns->parked, row);
        gpointer core = g_hash_table_lookup(
                report->core_of, GINT_TO_POINTER((int)CLAMP(columns->cpu[row], 0, 65535) + 1));

        if (!isfinite(busy))
                return;
        for (int which = 0; which < (parked > 0 ? 2 : 1); which++) {
                tally->cpus[which]++;
                tally->busy[which] += busy;
        }
        tally->known += isfinite(parked);
        if (core)
                g_hash_table_add(tally->cores[0], core);
        if (core && !(parked > 0))
                g_hash_table_add(tally->cores[1], core);
        if (isfinite(khz) && busy > 0) {
                tally->busy_mhz += khz / 1e3 * busy;
                tally->busy_weight += busy;
                tally->fastest_mhz = fmax(tally->fastest_mhz, khz / 1e3);
        }
        tally_states(report, tally, columns, row, parked > 0);
}

/* Takes the rows of table cpu that are of this time. */
static Tally tally_rows(Report *report, CpuColumns *columns, double time_usec)
{
        Tally tally = { .sleeps = NAN, .parked_cores = NAN };

        for (int i = 0; i < 2; i++)
                tally.cores[i] = g_hash_table_new(NULL, NULL);
        for (size_t row = recorded_rows_at(columns->table, time_usec, &columns->next);
             row < columns->next; row++)
                tally_cpu(report, &tally, columns, row);
        if (tally.known > 0 && g_hash_table_size(report->core_of) > 0)
                tally.parked_cores = g_hash_table_size(tally.cores[0]) -
                                     g_hash_table_size(tally.cores[1]);
        for (int i = 0; i < 2; i++)
                g_hash_table_unref(tally.cores[i]);
        return tally;
}

/* The shares of the CPUs in percent; [1]: of those that are parked. */
static void put_residency(Report *report, const Tally *tally, int which)
{
        ReportChart chart = which ? REPORT_PARKED_RESIDENCY : REPORT_RESIDENCY;
        double n = tally->cpus[which], rest = 1;

        if (n == 0)
                return;
        put(report, chart, REPORT_STACK, "busy", 100 * tally->busy[which] / n);
        rest -= tally->busy[which] / n;
        for (guint i = 0; report->any_states && i < report->states->len; i++) {
                double share = tally->share[which][i] / n;

                put(report, chart, REPORT_STACK, g_array_index(report->states, State, i).name,
                    100 * share);
                rest -= share;
        }
        if (!report->any_states)
                put(report, chart, REPORT_STACK, "idle", 100 * fmax(rest, 0));
}

/* A number is that of its sample's end, so a line changes there, not before the event behind it. */
static void put_step(Report *report, const char *name, double value)
{
        guint column = column_of(report, REPORT_CPUS, REPORT_STEPS, name);
        ReportSeries *series;

        if (column == REDUCED_COLUMNS)
                return; /* there is no room for one more */
        series = &g_array_index(report->series, ReportSeries, column);
        put(report, REPORT_CPUS, REPORT_STEPS, name,
            isfinite(series->before) ? series->before : value);
        series->before = value;
}

static void put_cpus(Report *report, const Tally *tally, double seconds)
{
        bool threads = report->cores < report->cpus;

        if (tally->cpus[0] == 0)
                return;
        put(report, REPORT_CPUS, REPORT_LINE, "busy CPUs (load)", tally->busy[0]);
        add_mean(report, REPORT_MEAN_BUSY_SHARE, tally->busy[0] / tally->cpus[0], seconds);
        if (tally->known > 0) {
                put_step(report, "parked CPUs", tally->cpus[1]);
                add_mean(report, REPORT_MEAN_PARKED_CPUS, tally->cpus[1], seconds);
                add_mean(report, REPORT_MEAN_PARKED_CORES, tally->parked_cores, seconds);
        }
        if (tally->known > 0 && threads)
                put_step(report, "parked cores", tally->parked_cores);
        put_step(report, "online CPUs", tally->cpus[0]);
        put_residency(report, tally, 0);
        put_residency(report, tally, 1);
        if (tally->busy_weight > 0) {
                put(report, REPORT_FREQUENCY, REPORT_LINE, "mean of busy CPUs",
                    tally->busy_mhz / tally->busy_weight);
                put(report, REPORT_FREQUENCY, REPORT_LINE, "fastest CPU", tally->fastest_mhz);
        }
        if (isfinite(tally->sleeps) && seconds > 0) {
                put(report, REPORT_WAKEUPS, REPORT_LINE, "all CPUs", tally->sleeps / seconds);
                add_mean(report, REPORT_MEAN_WAKEUPS, tally->sleeps / seconds, seconds);
        }
}

static bool is_package(const char *domain)
{
        size_t n = strlen("package-");

        return g_str_has_prefix(domain, "package-") && domain[n] &&
               domain[n + strspn(domain + n, "0123456789")] == '\0';
}

static void put_watts(Report *report, const char *name, double watts)
{
        reduced_put(report->samples, column_of(report, REPORT_POWER, REPORT_LINE, name), watts,
                    watts, watts, report->time.unread);
}

/* The power of the domains in one row. Returns that of all packages, else of the
 * battery; NAN: the row has neither. */
static double put_domains(Report *report, const RecordedTable *machine, size_t row)
{
        static const char *const columns[] = { "power_watts", "estimated_watts" };
        double total = NAN, battery = NAN;
        int packages = 0, drawn = 0;

        for (size_t k = 0; k < G_N_ELEMENTS(columns) && !packages; k++)
                for (int i = 0; i < machine->n_columns; i++) {
                        const RecordedColumn *column = &machine->columns[i];
                        g_autofree char *name = NULL;
                        double watts;

                        if (!column->numbers || !g_str_equal(column->name, columns[k]))
                                continue;
                        watts = column->numbers[row];
                        if (!(watts >= 0) || !isfinite(watts))
                                continue;
                        name = g_strconcat(k ? "~" : "", column->of, NULL);
                        if (is_package(column->of))
                                total = packages++ ? total + watts : watts;
                        else if (g_str_equal(column->of, "battery"))
                                battery = watts;
                        if (drawn++ < SERIES_MAX - 1)
                                put_watts(report, name, watts);
                }
        if (packages > 1)
                put_watts(report, "all packages", total);
        return packages > 0 ? total : battery;
}

/* Power in one row. A reading is the mean since the one before it, so its energy is that of all
 * samples since then; a gap in the recording is not counted. */
static void put_power(Report *report, const RecordedTable *machine, size_t row, double seconds)
{
        double watts;

        report->time.unread += seconds;
        watts = put_domains(report, machine, row);
        if (!isfinite(watts))
                return;
        add_mean(report, REPORT_MEAN_WATTS, watts, report->time.unread);
        report->time.unread = 0;
}

/* True if a row has a value in this column, and the column is about what a policy saves. */
static bool is_about_saving(const RecordedColumn *column, size_t row)
{
        return (g_str_has_prefix(column->name, "saved_") ||
                g_str_equal(column->name, "effective_share")) &&
               (column->numbers ? isfinite(column->numbers[row]) : column->texts[row] != NULL);
}

/* The policy's object, as --json has it, which is added if it is not there. NULL: there are too
 * many. */
static json_object *saving_of(Report *report, const char *policy)
{
        json_object *saving = json_find(report->savings, "policy", policy);

        if (saving || json_length(report->savings) == SERIES_MAX)
                return saving;
        saving = json_add(report->savings);
        json_put_text(saving, "policy", policy);
        json_put_members(saving, NULL,
                         "verdict energy_source saved_joules saved_joules_low saved_joules_high "
                         "saved_watts saved_watts_low saved_watts_high effective_percent");
        return saving;
}

static void take_saving(json_object *saving, const RecordedColumn *column, size_t row)
{
        const char *name = column->name;

        if (column->texts && g_str_equal(name, "saved_verdict"))
                put_text(saving, "verdict", column->texts[row]);
        else if (column->texts && g_str_equal(name, "saved_source"))
                put_text(saving, "energy_source", column->texts[row]);
        else if (column->numbers && g_str_equal(name, "effective_share"))
                json_put_real(saving, "effective_percent", column->numbers[row] * 100, 1);
        else if (column->numbers && json_object_object_get_ex(saving, name, NULL))
                json_put_real(saving, name, column->numbers[row],
                              g_str_has_prefix(name, "saved_watts") ? 3 : 1);
}

/* Takes what each policy saved until this row, and what it saves. That is not known any more if a
 * row is about the policy and does not have it: the load is another one, for example. */
static void put_savings(Report *report, const RecordedTable *machine, size_t row)
{
        json_object *saving;

        for (int i = 0; i < 2 * machine->n_columns; i++) {
                const RecordedColumn *column = &machine->columns[i % machine->n_columns];

                saving = is_about_saving(column, row) ? saving_of(report, column->of) : NULL;
                if (saving && i < machine->n_columns)
                        json_put_members(saving, NULL,
                                         "saved_watts saved_watts_low saved_watts_high");
                else if (saving)
                        take_saving(saving, column, row);
        }
        JSON_FOREACH(saving, report->savings)
                if (json_get(saving, "saved_watts"))
                        reduced_put(report->samples,
                                    column_of(report, REPORT_SAVED, REPORT_LINE,
                                              json_text(saving, "policy")),
                                    json_number(saving, "saved_watts_low", NAN),
                                    json_number(saving, "saved_watts", NAN),
                                    json_number(saving, "saved_watts_high", NAN),
                                    report->samples->seconds);
}

/* Forgets what is not known behind a gap. */
static void begin_again(Report *report)
{
        report->time.unread = 0;
        for (guint i = 0; i < report->series->len; i++)
                g_array_index(report->series, ReportSeries, i).before = NAN;
}

/* Begins the sample that ends at this time. A clock that was set back is ignored: later samples
 * follow the ones before. False: the row says no time. */
static bool begin_sample(Report *report, double time_usec, double interval_usec)
{
        double end = time_usec / 1e6 + report->time.shift, seconds = interval_usec / 1e6;

        if (!isfinite(end) || !(seconds > 0 && seconds < 1e9))
                return false;
        if (isfinite(report->time.end) && end - seconds / 2 < report->time.end) {
                double back = report->time.end + seconds - end;

                report->time.steps_back++;
                report->time.shift += back;
                end += back;
        }
        if (!isfinite(report->time.end))
                report->time.begin = end - seconds;
        else if (end - 1.5 * seconds > report->time.end)
                begin_again(report);
        report->time.end = end;
        report->time.recorded += seconds;
        reduced_sample(report->samples, end - seconds, end);
        return true;
}

static void read_samples(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *machine = recorded_table(frame, "machine");
        const double *times = recorded_numbers(machine, "time_usec", NULL);
        const double *intervals = recorded_numbers(machine, "interval_usec", NULL);
        const double *pressures = recorded_numbers(machine, "pressure_share", NULL);
        CpuColumns columns = find_columns(report, frame);

        for (size_t row = 0; times && row < machine->n_rows; row++) {
                double seconds = at(intervals, row) / 1e6;
                Tally tally;

                if (!begin_sample(report, times[row], at(intervals, row)))
                        continue;
                tally = tally_rows(report, &columns, times[row]);
                put_cpus(report, &tally, seconds);
                put_power(report, machine, row, seconds);
                put_savings(report, machine, row);
                put(report, REPORT_PRESSURE, REPORT_LINE, "some task waited for a CPU",
                    100 * share_at(pressures, row));
        }
}

static void read_events(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "event");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *kind = recorded_text(table, "kind", i);
                const char *cpus = recorded_text(table, "cpus", i);
                double time = recorded_number(table, "time_usec", i);
                json_object *event;

                if (!isfinite(time) || !kind || g_str_equal(kind, "request"))
                        continue;
                if (g_str_equal(kind, "transition"))
                        report->transitions = fmax(report->transitions, 0) + 1;
                event = json_add(report->events);
                json_put_real(event, "x", time / 1e6 + report->time.shift, 3);
                put_text(event, "kind", kind);
                /* No CPU is not the same as nothing said. */
                put_text(event, "cpus", cpus && !*cpus ? "none" : cpus);
                put_text(event, "policy", recorded_text(table, "policy", i));
                put_text(event, "text", recorded_text(table, "text", i));
        }
        if (json_length(report->events) > EVENTS_MAX) {
                size_t n = json_length(report->events) - EVENTS_MAX;

                json_object_array_del_idx(report->events, 0, n);
                report->events_left += n;
        }
}

/* The source of this name; beyond KINDS_MAX, that of all others. */
static ReportSource *source_of(Report *report, const char *key)
{
        g_autofree char *cut = cut_text(g_hash_table_size(report->sources) < KINDS_MAX ||
                                                        g_hash_table_contains(report->sources, key)
                                                ? key
                                                : "others");
        ReportSource *source = g_hash_table_lookup(report->sources, cut);

        if (source)
                return source;
        source = g_new0(ReportSource, 1);
        source->name = g_steal_pointer(&cut);
        g_hash_table_insert(report->sources, source->name, source);
        return source;
}

static void read_wakeups(Report *report, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "wakeup");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *kind = recorded_text(table, "kind", i);
                const char *name = recorded_text(table, "name", i) ?: "";
                const char *unit = recorded_text(table, "unit", i) ?: "";
                double sleeps = recorded_number(table, "sleeps", i);
                double lacked = recorded_number(table, "lacked_usec", i);
                g_autofree char *key = NULL;
                ReportSource *source;

                if (!kind || !(sleeps > 0))
                        continue;
                key = g_strconcat(kind, *name ? " " : "", name, *unit ? " in " : "", unit, NULL);
                source = source_of(report, key);
                source->sleeps += sleeps;
                source->lacked_seconds += isfinite(lacked) ? lacked / 1e6 : 0;
        }
}

/* Buckets that begin at the same length are one. */
static void read_histogram(GArray *buckets, const RecordedTable *table)
{
        for (size_t i = 0; table && i < table->n_rows; i++) {
                double from = recorded_number(table, "at_least_ns", i);
                double to = recorded_number(table, "below_ns", i);
                double count = recorded_number(table, "count", i);
                ReportBucket bucket = { from, to > from ? to : 2 * from, 0 };
                guint at = 0, end = buckets->len;

                if (!(count > 0) || !(from >= 0))
                        continue;
                while (at < end) {
                        guint middle = (at + end) / 2;

                        if (g_array_index(buckets, ReportBucket, middle).from_ns < from)
                                at = middle + 1;
                        else
                                end = middle;
                }
                if (at == buckets->len || g_array_index(buckets, ReportBucket, at).from_ns > from) {
                        if (buckets->len == KINDS_MAX)
                                continue;
                        g_array_insert_val(buckets, at, bucket);
                }
                g_array_index(buckets, ReportBucket, at).count += count;
        }
}

static void read_frame(const RecordedFrame *frame, void *data)
{
        Report *report = data;

        read_info(report, frame);
        read_topology(report, frame);
        read_states(report, frame);
        read_samples(report, frame);
        read_events(report, frame);
        read_wakeups(report, frame);
        for (size_t i = 0; i < REPORT_HISTOGRAMS; i++)
                read_histogram(report->histograms[i], recorded_table(frame, report_histograms[i]));
}

static void state_clear(gpointer data)
{
        g_free(((State *)data)->name);
}

static void series_clear(gpointer data)
{
        g_free(((ReportSeries *)data)->name);
}

static void reading_init(Report *report, const char *path, size_t points)
{
        *report = (Report){ .path = path };
        report->cpus = report->cores = report->packages = NAN;
        report->time.begin = report->time.end = report->transitions = NAN;
        report->samples = reduced_new(points / 2);
        report->series = g_array_new(FALSE, TRUE, sizeof(ReportSeries));
        g_array_set_clear_func(report->series, series_clear);
        report->facts = json_object_new_object();
        report->events = json_object_new_array();
        report->savings = json_object_new_array();
        report->notes = json_object_new_array();
        report->states = g_array_new(FALSE, TRUE, sizeof(State));
        g_array_set_clear_func(report->states, state_clear);
        report->core_of = g_hash_table_new(NULL, NULL);
        report->sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        for (size_t i = 0; i < REPORT_HISTOGRAMS; i++)
                report->histograms[i] = g_array_new(FALSE, TRUE, sizeof(ReportBucket));
}

static void reading_done(Report *report)
{
        reduced_free(report->samples);
        g_array_unref(report->series);
        json_object_put(report->facts);
        json_object_put(report->events);
        json_object_put(report->savings);
        json_object_put(report->notes);
        g_array_unref(report->states);
        g_hash_table_unref(report->core_of);
        g_hash_table_unref(report->sources);
        for (size_t i = 0; i < REPORT_HISTOGRAMS; i++)
                g_array_unref(report->histograms[i]);
}

json_object *report_read(const char *path, size_t points)
{
        g_autofree char *problem = NULL;
        json_object *object = NULL;
        Report report;
        int r;

        reading_init(&report, path, points);
        r = recording_read_file(path, read_frame, &report, &problem);
        if (r > 0)
                object = report_describe(&report, problem);
        else
                complain("report: %s: %s", path, problem);
        reading_done(&report);
        return object;
}
