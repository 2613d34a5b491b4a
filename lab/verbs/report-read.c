/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: reads a recording, whose tables docs/recording.md describes.
 *
 * Rows of table cpu belong to the row of table machine that has the same time; both are in the
 * order of time. Nothing about the values is certain, not even that they are numbers or that time
 * moves forward.
 */
#include <math.h>
#include <string.h>

#include "model/idle-table.h"
#include "recording/read.h"
#include "report.h"

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
} Tally;

/* Numbers of CPUs, which change in steps. */
typedef enum ReportStep {
        REPORT_PARKED_CPUS,
        REPORT_PARKED_CORES,
        REPORT_ONLINE_CPUS,
        REPORT_STEPPED,
} ReportStep;

/* The last reading of power. Samples may be shorter than the time between two readings. */
typedef struct LastPower {
        double unread; /* seconds of samples since then */
        double end;    /* of the last sample that was seen */
} LastPower;

/* A value over all of the recording. */
typedef struct Mean {
        double sum, seconds;
} Mean;

/* What ended sleeps, on all CPUs. */
typedef struct Source {
        char *name;
        double sleeps, lacked_seconds; /* lacked: to the deepest state's target residency */
} Source;

typedef struct Reading {
        Report *report;
        GArray *states;       /* of State, the shallowest first */
        GHashTable *core_of;  /* CPU + 1: number of its core + 1 */
        GHashTable *cores[2]; /* of a sample: numbers + 1; [1]: of those with a CPU that works */
        GHashTable *sources;  /* name: Source */
        GHashTable *buckets[REPORT_HISTOGRAMS]; /* begin in ns: ReportBucket */
        double shift, last;                     /* seconds; see begin_sample() */
        unsigned steps_back;                    /* of the clock */
        Mean means[REPORT_MEANS];
        double steps[REPORT_STEPPED]; /* of the sample before; NaN: not known */
        LastPower power;
        bool any_energy, any_states, any_parked;
} Reading;

static void add_mean(Reading *reading, ReportMean which, double value, double seconds)
{
        if (!isfinite(value) || !(seconds > 0))
                return;
        reading->means[which].sum += value * seconds;
        reading->means[which].seconds += seconds;
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

static void put(Reading *reading, ReportChart chart, ReportKind kind, const char *name,
                double value)
{
        size_t column;

        if (!isfinite(value))
                return;
        column = report_column(reading->report, chart, kind, name);
        if (column != REPORT_NO_COLUMN)
                reduced_put(reading->report->samples, column, value);
}

static void read_info(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "info");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *key = recorded_text(table, "key", i);
                const char *value = recorded_text(table, "value", i);

                if (key && value && json_object_object_length(reading->report->facts) < FACTS_MAX)
                        report_put_text(reading->report->facts, key, value);
        }
}

static int compare_states(const void *a, const void *b)
{
        const State *x = a, *y = b;

        return (x->exit_latency_us > y->exit_latency_us) -
               (x->exit_latency_us < y->exit_latency_us);
}

static void add_state(Reading *reading, const char *name, double exit_latency_us)
{
        State state = { NULL, isfinite(exit_latency_us) ? exit_latency_us : 0 };

        for (guint i = 0; i < reading->states->len; i++) {
                State *known = &g_array_index(reading->states, State, i);

                if (g_str_equal(known->name, name)) {
                        known->exit_latency_us = fmin(known->exit_latency_us,
                                                      state.exit_latency_us);
                        return;
                }
        }
        if (reading->states->len == STATES_MAX)
                return;
        state.name = g_strdup(name);
        g_array_append_val(reading->states, state);
}

static void read_states(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "idle_state");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *name = recorded_text(table, "name", i);

                if (name)
                        add_state(reading, name, recorded_number(table, "exit_latency_us", i));
        }
        g_array_sort(reading->states, compare_states);
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

static void read_topology(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "topology");
        const double *cpus = recorded_numbers(table, "cpu", NULL);
        const double *cores = recorded_numbers(table, "core", NULL);

        if (!cpus || !table->n_rows)
                return;
        reading->report->cpus = count_values(table, "cpu");
        reading->report->cores = count_values(table, "core");
        reading->report->packages = count_values(table, "package");
        g_hash_table_remove_all(reading->core_of);
        for (size_t i = 0; cores && i < table->n_rows; i++)
                if (cores[i] >= 0 && cores[i] < 65536 && cpus[i] >= 0 && cpus[i] < 65536)
                        g_hash_table_insert(reading->core_of, GINT_TO_POINTER((int)cpus[i] + 1),
                                            GINT_TO_POINTER((int)cores[i] + 1));
}

/* The columns of table cpu in a frame. */
typedef struct CpuColumns {
        const RecordedTable *table; /* NULL: there is nothing of use in it */
        size_t next;                /* the first row that was not used */
        const double *cpu, *busy, *khz, *parked;
        const double *share[STATES_MAX], *entered[STATES_MAX];
} CpuColumns;

static CpuColumns find_columns(const Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "cpu");
        CpuColumns columns = { .table = table };

        columns.cpu = recorded_numbers(table, "cpu", NULL);
        columns.busy = recorded_numbers(table, "busy_share", NULL);
        columns.khz = recorded_numbers(table, "frequency_khz", NULL);
        columns.parked = recorded_numbers(table, "parked", NULL);
        for (guint i = 0; i < reading->states->len; i++) {
                const char *name = g_array_index(reading->states, State, i).name;

                columns.share[i] = recorded_numbers(table, "residency_share", name);
                columns.entered[i] = recorded_numbers(table, "entered", name);
        }
        if (!columns.cpu || !columns.busy)
                columns.table = NULL;
        return columns;
}

static void tally_states(Reading *reading, Tally *tally, const CpuColumns *columns, size_t row,
                         bool parked)
{
        for (guint i = 0; i < reading->states->len; i++) {
                const State *state = &g_array_index(reading->states, State, i);
                double share = share_at(columns->share[i], row),
                       entered = at(columns->entered[i], row);

                if (isfinite(share)) {
                        reading->any_states = true;
                        tally->share[0][i] += share;
                        tally->share[1][i] += parked ? share : 0;
                }
                if (isfinite(entered) && !idle_state_polls(state->name))
                        tally->sleeps = (isnan(tally->sleeps) ? 0 : tally->sleeps) + entered;
        }
}

static void tally_cpu(Reading *reading, Tally *tally, const CpuColumns *columns, size_t row)
{
        double busy = share_at(columns->busy, row), khz = at(columns->khz, row);
        double parked = at(columns->parked, row);
        gpointer core = g_hash_table_lookup(
                reading->core_of, GINT_TO_POINTER((int)CLAMP(columns->cpu[row], 0, 65535) + 1));

        if (!isfinite(busy))
                return;
        for (int which = 0; which < (parked > 0 ? 2 : 1); which++) {
                tally->cpus[which]++;
                tally->busy[which] += busy;
        }
        tally->known += isfinite(parked);
        for (int which = 0; core && which < (parked > 0 ? 1 : 2); which++)
                g_hash_table_add(reading->cores[which], core);
        if (isfinite(khz) && busy > 0) {
                tally->busy_mhz += khz / 1e3 * busy;
                tally->busy_weight += busy;
                tally->fastest_mhz = fmax(tally->fastest_mhz, khz / 1e3);
        }
        tally_states(reading, tally, columns, row, parked > 0);
}

/* Takes the rows of table cpu that are of this time. */
static Tally tally_rows(Reading *reading, CpuColumns *columns, double time_usec)
{
        Tally tally = { .sleeps = NAN, .parked_cores = NAN };

        for (int which = 0; which < 2; which++)
                g_hash_table_remove_all(reading->cores[which]);
        for (size_t row = recorded_rows_at(columns->table, time_usec, &columns->next);
             row < columns->next; row++)
                tally_cpu(reading, &tally, columns, row);
        if (tally.known > 0 && g_hash_table_size(reading->core_of) > 0)
                tally.parked_cores = g_hash_table_size(reading->cores[0]) -
                                     g_hash_table_size(reading->cores[1]);
        return tally;
}

/* The shares of the CPUs in percent; [1]: of those that are parked. */
static void put_residency(Reading *reading, const Tally *tally, int which)
{
        ReportChart chart = which ? REPORT_PARKED_RESIDENCY : REPORT_RESIDENCY;
        double n = tally->cpus[which], rest = 1;

        if (n == 0)
                return;
        put(reading, chart, REPORT_STACK, "busy", 100 * tally->busy[which] / n);
        rest -= tally->busy[which] / n;
        for (guint i = 0; reading->any_states && i < reading->states->len; i++) {
                double share = tally->share[which][i] / n;

                put(reading, chart, REPORT_STACK, g_array_index(reading->states, State, i).name,
                    100 * share);
                rest -= share;
        }
        if (!reading->any_states)
                put(reading, chart, REPORT_STACK, "idle", 100 * fmax(rest, 0));
}

/* A number is that of its sample's end, so a line changes there, not before the event behind it. */
static void put_step(Reading *reading, ReportStep step, const char *name, double value)
{
        double before = reading->steps[step];

        put(reading, REPORT_CPUS, REPORT_STEPS, name, isfinite(before) ? before : value);
        reading->steps[step] = value;
}

static void forget_steps(Reading *reading)
{
        for (int i = 0; i < REPORT_STEPPED; i++)
                reading->steps[i] = NAN;
}

static void put_cpus(Reading *reading, const Tally *tally, double seconds)
{
        bool threads = reading->report->cores < reading->report->cpus;

        if (tally->cpus[0] == 0)
                return;
        put(reading, REPORT_CPUS, REPORT_LINE, "busy CPUs (load)", tally->busy[0]);
        add_mean(reading, REPORT_MEAN_BUSY_SHARE, tally->busy[0] / tally->cpus[0], seconds);
        if (tally->known > 0) {
                put_step(reading, REPORT_PARKED_CPUS, "parked CPUs", tally->cpus[1]);
                add_mean(reading, REPORT_MEAN_PARKED_CPUS, tally->cpus[1], seconds);
                add_mean(reading, REPORT_MEAN_PARKED_CORES, tally->parked_cores, seconds);
                reading->any_parked = true;
        }
        if (tally->known > 0 && threads)
                put_step(reading, REPORT_PARKED_CORES, "parked cores", tally->parked_cores);
        put_step(reading, REPORT_ONLINE_CPUS, "online CPUs", tally->cpus[0]);
        put_residency(reading, tally, 0);
        put_residency(reading, tally, 1);
        if (tally->busy_weight > 0) {
                put(reading, REPORT_FREQUENCY, REPORT_LINE, "mean of busy CPUs",
                    tally->busy_mhz / tally->busy_weight);
                put(reading, REPORT_FREQUENCY, REPORT_LINE, "fastest CPU", tally->fastest_mhz);
        }
        if (isfinite(tally->sleeps) && seconds > 0) {
                put(reading, REPORT_WAKEUPS, REPORT_LINE, "all CPUs", tally->sleeps / seconds);
                add_mean(reading, REPORT_MEAN_WAKEUPS, tally->sleeps / seconds, seconds);
        }
}

static bool is_package(const char *domain)
{
        size_t n = strlen("package-");

        return g_str_has_prefix(domain, "package-") && domain[n] &&
               domain[n + strspn(domain + n, "0123456789")] == '\0';
}

static void put_watts(Reading *reading, const char *name, double watts)
{
        size_t column = report_column(reading->report, REPORT_POWER, REPORT_LINE, name);

        if (column != REPORT_NO_COLUMN)
                reduced_put_since(reading->report->samples, column, watts,
                                  reading->last - reading->power.unread);
}

/* The power of the domains in one row. Returns that of all packages, else of the
 * battery; NAN: the row has neither. */
static double put_domains(Reading *reading, const RecordedTable *machine, size_t row)
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
                        if (drawn++ < REPORT_SERIES - 1)
                                put_watts(reading, name, watts);
                }
        if (packages > 1)
                put_watts(reading, "all packages", total);
        return packages > 0 ? total : battery;
}

/* Power in one row. A reading is the mean since the one before it, so its energy is that of all
 * samples since then; a gap in the recording is not counted. */
static void put_power(Reading *reading, const RecordedTable *machine, size_t row, double seconds)
{
        LastPower *power = &reading->power;
        double end = reading->last, watts;

        if (!(end - seconds - power->end < seconds / 2))
                power->unread = 0;
        power->end = end;
        power->unread += seconds;
        watts = put_domains(reading, machine, row);
        if (!isfinite(watts))
                return;
        reading->any_energy = true;
        add_mean(reading, REPORT_MEAN_WATTS, watts, power->unread);
        power->unread = 0;
}

/* Begins the sample that ends at this time. A clock that was set back is ignored: later samples
 * follow the ones before. False: the row says no time. */
static bool begin_sample(Reading *reading, double time_usec, double interval_usec)
{
        double end = time_usec / 1e6 + reading->shift, seconds = interval_usec / 1e6;

        if (!isfinite(end) || !(seconds > 0 && seconds < 1e9))
                return false;
        if (isfinite(reading->last) && end - seconds / 2 < reading->last) {
                double back = reading->last + seconds - end;

                reading->steps_back++;
                reading->shift += back;
                end += back;
        }
        if (!isfinite(reading->last))
                reading->report->begin = end - seconds;
        else if (end - 1.5 * seconds > reading->last)
                forget_steps(reading); /* not known for the gap */
        reading->last = reading->report->end = end;
        reading->report->seconds += seconds;
        reduced_sample(reading->report->samples, end - seconds, end);
        return true;
}

static void read_samples(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *machine = recorded_table(frame, "machine");
        const double *times = recorded_numbers(machine, "time_usec", NULL);
        const double *intervals = recorded_numbers(machine, "interval_usec", NULL);
        const double *pressures = recorded_numbers(machine, "pressure_share", NULL);
        CpuColumns columns = find_columns(reading, frame);

        for (size_t row = 0; times && row < machine->n_rows; row++) {
                double seconds = at(intervals, row) / 1e6;
                Tally tally;

                if (!begin_sample(reading, times[row], at(intervals, row)))
                        continue;
                tally = tally_rows(reading, &columns, times[row]);
                put_cpus(reading, &tally, seconds);
                put_power(reading, machine, row, seconds);
                report_savings(reading->report, machine, row);
                put(reading, REPORT_PRESSURE, REPORT_LINE, "some task waited for a CPU",
                    100 * share_at(pressures, row));
        }
}

static void read_events(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "event");
        Report *report = reading->report;

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *kind = recorded_text(table, "kind", i);
                const char *cpus = recorded_text(table, "cpus", i);
                double time = recorded_number(table, "time_usec", i);
                json_object *event;

                if (!isfinite(time) || !kind || g_str_equal(kind, "request"))
                        continue;
                if (g_str_equal(kind, "transition"))
                        report->transitions = 1 + (isnan(report->transitions)
                                                           ? 0
                                                           : report->transitions);
                event = json_add(report->events);
                json_put_real(event, "x", time / 1e6 + reading->shift, 3);
                report_put_text(event, "kind", kind);
                /* No CPU is not the same as nothing said. */
                report_put_text(event, "cpus", cpus && !*cpus ? "none" : cpus);
                report_put_text(event, "policy", recorded_text(table, "policy", i));
                report_put_text(event, "text", recorded_text(table, "text", i));
        }
        if (json_length(report->events) > REPORT_EVENTS) {
                size_t n = json_length(report->events) - REPORT_EVENTS;

                json_object_array_del_idx(report->events, 0, n);
                report->events_left += n;
        }
}

/* The source of this name; beyond KINDS_MAX, that of all others. */
static Source *source_of(Reading *reading, const char *key)
{
        g_autofree char *cut = report_text(
                g_hash_table_size(reading->sources) < KINDS_MAX ||
                                g_hash_table_contains(reading->sources, key)
                        ? key
                        : "others");
        Source *source = g_hash_table_lookup(reading->sources, cut);

        if (source)
                return source;
        source = g_new0(Source, 1);
        source->name = g_steal_pointer(&cut);
        g_hash_table_insert(reading->sources, source->name, source);
        return source;
}

static void read_wakeups(Reading *reading, const RecordedFrame *frame)
{
        const RecordedTable *table = recorded_table(frame, "wakeup");

        for (size_t i = 0; table && i < table->n_rows; i++) {
                const char *kind = recorded_text(table, "kind", i);
                const char *name = recorded_text(table, "name", i) ?: "";
                const char *unit = recorded_text(table, "unit", i) ?: "";
                double sleeps = recorded_number(table, "sleeps", i);
                double lacked = recorded_number(table, "lacked_usec", i);
                g_autofree char *key = NULL;
                Source *source;

                if (!kind || !(sleeps > 0))
                        continue;
                key = g_strconcat(kind, *name ? " " : "", name, *unit ? " in " : "", unit, NULL);
                source = source_of(reading, key);
                source->sleeps += sleeps;
                source->lacked_seconds += isfinite(lacked) ? lacked / 1e6 : 0;
        }
}

static void read_histogram(GHashTable *buckets, const RecordedTable *table)
{
        for (size_t i = 0; table && i < table->n_rows; i++) {
                double from = recorded_number(table, "at_least_ns", i);
                double to = recorded_number(table, "below_ns", i);
                double count = recorded_number(table, "count", i);
                ReportBucket *bucket = g_hash_table_lookup(buckets, &from);

                if (!(count > 0) || !(from >= 0) ||
                    (!bucket && g_hash_table_size(buckets) >= KINDS_MAX))
                        continue;
                if (!bucket) {
                        bucket = g_new(ReportBucket, 1);
                        *bucket = (ReportBucket){ from / 1e3, (to > from ? to : 2 * from) / 1e3,
                                                  0 };
                        g_hash_table_insert(buckets, g_memdup2(&from, sizeof(from)), bucket);
                }
                bucket->count += count;
        }
}

static int compare_sources(const void *a, const void *b)
{
        const Source *x = a, *y = b;

        if (x->sleeps != y->sleeps)
                return x->sleeps < y->sleeps ? 1 : -1;
        return strcmp(x->name, y->name);
}

static int compare_buckets(const void *a, const void *b)
{
        double x = ((const ReportBucket *)a)->from_us, y = ((const ReportBucket *)b)->from_us;

        return (x > y) - (x < y);
}

static void collect_sources(Reading *reading)
{
        g_autoptr(GList)
                sources = g_list_sort(g_hash_table_get_values(reading->sources), compare_sources);
        Report *report = reading->report;

        report->sources_left = g_hash_table_size(reading->sources);
        for (GList *i = sources; i && json_length(report->sources) < REPORT_SOURCES; i = i->next) {
                const Source *source = i->data;
                json_object *object = json_add(report->sources);

                json_put_text(object, "name", source->name);
                json_put_int(object, "sleeps", (int64_t)source->sleeps);
                json_put_real(object, "lacked_seconds", source->lacked_seconds, 3);
                report->sources_left--;
        }
}

static void collect_buckets(Reading *reading)
{
        Report *report = reading->report;
        GHashTableIter iter;
        gpointer value;

        for (int i = 0; i < REPORT_HISTOGRAMS; i++) {
                g_hash_table_iter_init(&iter, reading->buckets[i]);
                while (g_hash_table_iter_next(&iter, NULL, &value))
                        g_array_append_vals(report->histograms[i], value, 1);
                g_array_sort(report->histograms[i], compare_buckets);
        }
}

static void summarize(Reading *reading)
{
        Report *report = reading->report;
        const Mean *means = reading->means;
        const char *daemon = json_text(report->facts, "daemon");

        collect_sources(reading);
        collect_buckets(reading);
        for (int i = 0; i < REPORT_MEANS; i++)
                if (means[i].seconds > 0)
                        report->means[i] = means[i].sum / means[i].seconds;
        if (reading->any_energy)
                report->joules = means[REPORT_MEAN_WATTS].sum;
        if (*daemon && !reading->any_parked)
                report_note(report, "Nothing of idled was recorded: %s.", daemon);
        else if (!reading->any_parked && reduced_samples(report->samples))
                report_note(report, "The recording does not say which CPUs were parked.");
        else if (reading->any_parked &&
                 means[REPORT_MEAN_PARKED_CPUS].seconds < 0.99 * report->seconds) {
                g_autofree char *known = text_duration(means[REPORT_MEAN_PARKED_CPUS].seconds);
                g_autofree char *all = text_duration(report->seconds);

                report_note(report,
                            "idled ran for %s of %s. What is said about parked CPUs is about that "
                            "time.",
                            known, all);
        }
        if (reduced_samples(report->samples) == 0)
                report_note(report, "The recording has no samples.");
        else if (!reading->any_energy)
                report_note(report, "No power was recorded: the machine has no RAPL and no power "
                                    "table, or the recording was made without permission to read "
                                    "energy.");
        if (reading->steps_back) {
                g_autofree char *later = text_duration(reading->shift);

                report_note(report,
                            "The clock was set back (%u time%s): what followed is shown up to %s "
                            "later than it said.",
                            reading->steps_back, reading->steps_back == 1 ? "" : "s", later);
        }
        if (!reading->any_states && reduced_samples(report->samples))
                report_note(report, "No idle states were recorded: the machine has no cpuidle.");
        if (reduced_gaps(report->samples))
                report_note(report, "Plots have gaps where nothing was recorded (%zu time%s).",
                            reduced_gaps(report->samples),
                            reduced_gaps(report->samples) == 1 ? "" : "s");
}

static void state_clear(gpointer data)
{
        g_free(((State *)data)->name);
}

static void reading_init(Reading *reading, Report *report)
{
        *reading = (Reading){ .report = report, .last = NAN };
        reading->power.end = NAN;
        forget_steps(reading);
        reading->states = g_array_new(FALSE, TRUE, sizeof(State));
        g_array_set_clear_func(reading->states, state_clear);
        reading->core_of = g_hash_table_new(NULL, NULL);
        for (int i = 0; i < 2; i++)
                reading->cores[i] = g_hash_table_new(NULL, NULL);
        reading->sources = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                reading->buckets[i] = g_hash_table_new_full(g_double_hash, g_double_equal, g_free,
                                                            g_free);
}

static void reading_done(Reading *reading)
{
        g_array_unref(reading->states);
        g_hash_table_unref(reading->core_of);
        for (int i = 0; i < 2; i++)
                g_hash_table_unref(reading->cores[i]);
        g_hash_table_unref(reading->sources);
        for (int i = 0; i < REPORT_HISTOGRAMS; i++)
                g_hash_table_unref(reading->buckets[i]);
}

static void read_frame(const RecordedFrame *frame, void *data)
{
        Reading *reading = data;

        read_info(reading, frame);
        read_topology(reading, frame);
        read_states(reading, frame);
        read_samples(reading, frame);
        read_events(reading, frame);
        read_wakeups(reading, frame);
        read_histogram(reading->buckets[REPORT_LATENCIES], recorded_table(frame, "latency"));
        read_histogram(reading->buckets[REPORT_SLEEPS], recorded_table(frame, "sleep_length"));
}

int report_read(Report *report)
{
        g_autofree char *problem = NULL;
        Reading reading;
        int r;

        reading_init(&reading, report);
        r = recording_read_file(report->path, read_frame, &reading, &problem);
        if (r > 0 && problem)
                report_note(report, "%s.", problem);
        if (r > 0)
                summarize(&reading);
        reading_done(&reading);
        return r > 0 ? EXIT_FINE : complain("report: %s: %s", report->path, problem);
}
