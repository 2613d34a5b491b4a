/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rows and columns of idlectl top.
 *
 * The longest sleep is not counted by the kernel. What is printed is a length that one sleep has
 * reached at least: the mean sleep of a state, or the time for which a CPU has been seen asleep
 * without waking. Hence it is always marked as an estimate.
 */
#include "top.h"

#include <math.h>
#include <string.h>

/* A CPU that was idle for this share of an interval and entered no state slept all the time. */
#define ASLEEP 0.995

/* A shorter interval may lie between two ticks of the kernel's clock for the load: then nothing is
 * counted, whether a CPU was busy or idle. */
#define TICK_USEC 10000

static double share_usec(const Watch *watch, double share)
{
        return share * (double)watch->seen->interval_usec;
}

static bool is_between_ticks(const Watch *watch)
{
        return watch->seen->interval_usec < TICK_USEC;
}

/* NaN: not known. */
static double busy_of(const Watch *watch, int cpu)
{
        return is_between_ticks(watch) ? NAN : (double)watch->seen->busy[cpu];
}

static const Residency *residency_of(const Watch *watch, int cpu)
{
        return watch->seen->residency ? &watch->seen->residency[cpu] : NULL;
}

static double entries(const Residency *residency)
{
        double sum = 0;

        for (int s = 0; residency && s < residency->n_states; s++)
                sum += residency->entered[s];
        return sum;
}

void top_follow(Top *top)
{
        const Watch *watch = top->watch;
        TopCpu *cpus = top->cpus;

        for (int cpu = 0; cpu < watch->topology->n_cpus; cpu++) {
                const Residency *residency = residency_of(watch, cpu);
                double idle;

                if (!cpuset_has(&watch->seen->cpus, cpu)) {
                        cpus[cpu].asleep_usec = 0;
                        continue;
                }
                idle = 1 - busy_of(watch, cpu);
                if (residency && residency->n_states > 0 && entries(residency) == 0 &&
                    idle >= ASLEEP)
                        cpus[cpu].asleep_usec += share_usec(watch, idle);
                else
                        cpus[cpu].asleep_usec = 0;
        }
}

static void row_begin(TopRow *row, int cpu, int core, int package)
{
        memset(row, 0, sizeof(*row));
        row->cpu = cpu;
        row->core = core;
        row->package = package;
        row->mhz = row->longest_usec = row->sleep_usec = NAN;
        row->sensors = (TopSensors){ NAN, NAN, NAN, NAN, false };
        row->limit_us = TOP_LIMIT_NONE;
}

static void add_state(const Top *top, TopRow *row, const Residency *residency, int s, int at)
{
        bool unknown = residency->estimated == s && is_between_ticks(top->watch);
        double share = unknown ? NAN : (double)residency->share[s];

        row->share[at] += share;
        row->entered[at] += residency->entered[s];
        row->above[at] += residency->above[s];
        row->below[at] += residency->below[s];
        row->estimated[at] |= residency->estimated == s;
        if (residency->entered[s] > 0)
                row->longest_usec = fmax(row->longest_usec,
                                         share_usec(top->watch, share) / residency->entered[s]);
}

/* Adds a CPU; shares become sums, which row_end() divides. */
static void add_cpu(const Top *top, TopRow *row, int cpu)
{
        const Watch *watch = top->watch;
        const Residency *residency = residency_of(watch, cpu);
        const TopCpu *more = &top->cpus[cpu];
        double busy = busy_of(watch, cpu);
        bool known = false;

        if (row->n_cpus++ == 0) {
                row->first_cpu = cpu;
                row->limit_us = (int)MIN(more->limit_us, INT_MAX);
        } else if (row->limit_us != more->limit_us) {
                row->limit_us = TOP_LIMIT_MIXED;
        }
        row->parked += more->parked;
        row->busy += busy;
        if (isfinite(more->mhz)) { /* weighted, for row_end() */
                row->mhz = (isnan(row->mhz) ? 0 : row->mhz) + more->mhz * busy;
                row->mhz_busy += busy;
        }
        for (int s = 0; residency && s < residency->n_states; s++) {
                int at = watch->state_of[cpu * IDLE_STATES_MAX + s];

                if (at < 0)
                        continue;
                add_state(top, row, residency, s, at);
                known = true;
        }
        if (!known) { /* in which state is not known */
                row->share[watch->n_states - 1] += 1 - busy;
                row->estimated[watch->n_states - 1] = true;
        }
        if (more->asleep_usec > 0)
                row->longest_usec = fmax(row->longest_usec, more->asleep_usec);
}

static void row_end(const Top *top, TopRow *row)
{
        const Watch *watch = top->watch;
        double interval = (double)watch->seen->interval_usec, sleeps = 0, idle = 0;

        if (row->n_cpus == 0)
                return;
        row->mhz = row->mhz_busy > 0 ? row->mhz / row->mhz_busy : NAN;
        for (int s = 0; s < watch->n_states; s++) {
                sleeps += row->entered[s];
                idle += row->share[s];
                row->share[s] /= row->n_cpus;
        }
        if (interval > 0 && watch->seen->residency)
                row->wakes_per_sec = sleeps / (interval / 1e6);
        else
                row->wakes_per_sec = NAN;
        if (sleeps > 0)
                row->sleep_usec = idle * interval / sleeps;
        row->busy /= row->n_cpus;
        if (!top->parked_known)
                row->parked = -1;
}

static void add_watts(double *sum, double watts)
{
        if (isfinite(watts))
                *sum = (isnan(*sum) ? 0 : *sum) + watts;
}

/* What is of a package goes to the first row of it, and to the machine's. */
static void add_package(const Top *top, TopRow *row, int package)
{
        const Watch *watch = top->watch;

        if (package < 0 || package >= watch->topology->n_packages)
                return;
        if (isfinite(watch->package_watts[package])) {
                add_watts(&row->sensors.package_watts, watch->package_watts[package]);
        } else if (top->table) {
                add_watts(&row->sensors.package_watts, top->estimated_watts[package]);
                row->sensors.estimated = true;
        }
        add_watts(&row->sensors.core_watts, watch->core_watts[package]);
        add_watts(&row->sensors.dram_watts, watch->dram_watts[package]);
        row->sensors.celsius = fmax(row->sensors.celsius, top->celsius[package]);
}

/* True if the CPU begins a row of its own. */
static bool begins_row(const Top *top, int cpu, const int *row_of)
{
        const TopologyCpu *place = &top->watch->topology->cpus[cpu];

        if (top->by == TOP_BY_CPU)
                return true;
        return row_of[top->by == TOP_BY_CORE ? place->core : place->package] < 0;
}

void top_make(Top *top)
{
        const Watch *watch = top->watch;
        GArray *rows = top->rows;
        TopBy by = top->by;
        const Topology *topology = watch->topology;
        int n = MAX(topology->n_cpus, 1);
        g_autofree bool *package_seen = g_new0(bool, (gsize)MAX(topology->n_packages, 1));
        g_autofree int *row_of = g_new(int, n);
        TopRow row;

        memset(row_of, -1, sizeof(*row_of) * (size_t)n);
        row_begin(&row, -1, -1, -1);
        g_array_set_size(rows, 0);
        g_array_append_val(rows, row);
        CPUSET_FOREACH(cpu, &watch->seen->cpus) {
                const TopologyCpu *place = &topology->cpus[cpu];
                int group = by == TOP_BY_CORE ? place->core : place->package;

                if ((top->only && !cpuset_has(top->only, cpu)) || place->package < 0)
                        continue;
                if (begins_row(top, cpu, row_of)) {
                        row_begin(&row, by == TOP_BY_CPU ? cpu : -1,
                                  by == TOP_BY_PACKAGE ? -1 : place->core, place->package);
                        if (by != TOP_BY_CPU)
                                row_of[group] = (int)rows->len;
                        if (!package_seen[place->package])
                                add_package(top, &row, place->package);
                        package_seen[place->package] = true;
                        g_array_append_val(rows, row);
                        group = by == TOP_BY_CPU ? (int)rows->len - 1 : row_of[group];
                } else {
                        group = row_of[group];
                }
                add_cpu(top, &g_array_index(rows, TopRow, group), cpu);
                add_cpu(top, &g_array_index(rows, TopRow, 0), cpu);
        }
        for (int p = 0; p < topology->n_packages; p++)
                add_package(top, &g_array_index(rows, TopRow, 0), p);
        for (guint i = 0; i < rows->len; i++)
                row_end(top, &g_array_index(rows, TopRow, i));
}

static void column_clear(gpointer data)
{
        g_free(((TopColumn *)data)->title);
}

/* Doubles by state, or one; `number`: an int that is negative where there is none. */
static const struct {
        const char *title; /* of states: what follows their names */
        size_t offset;     /* in TopRow */
        bool number, time, estimate;
        double factor; /* 0: 1 */
        int decimals;
} fields[] = {
#define FIELD(member) offsetof(TopRow, member)
        [TOP_CPU] = { "CPU", FIELD(cpu), .number = true },
        [TOP_CORE] = { "Core", FIELD(core), .number = true },
        [TOP_PACKAGE] = { "Pkg", FIELD(package), .number = true },
        [TOP_BUSY] = { "Busy%", FIELD(busy), .factor = 100, .decimals = 1 },
        [TOP_MHZ] = { "Bzy_MHz", FIELD(mhz), .estimate = true }, /* as the interval ended */
        [TOP_SHARE] = { "%", FIELD(share), .factor = 100, .decimals = 1 },
        [TOP_ABOVE] = { "+", FIELD(above) },
        [TOP_BELOW] = { "-", FIELD(below) },
        [TOP_WAKES] = { "Wake/s", FIELD(wakes_per_sec) },
        [TOP_SLEEP] = { "Sleep", FIELD(sleep_usec), .time = true },
        [TOP_LONGEST] = { "Longest", FIELD(longest_usec), .time = true, .estimate = true },
        [TOP_PARKED] = { "Park", FIELD(parked), .number = true },
        [TOP_LIMIT] = { "Limit", FIELD(limit_us), .number = true, .time = true },
        [TOP_PKG_WATT] = { "PkgWatt", FIELD(sensors.package_watts), .decimals = 2 },
        [TOP_COR_WATT] = { "CorWatt", FIELD(sensors.core_watts), .decimals = 2 },
        [TOP_RAM_WATT] = { "RAMWatt", FIELD(sensors.dram_watts), .decimals = 2 },
        [TOP_PKG_TMP] = { "PkgTmp", FIELD(sensors.celsius) },
};

static void add_column(GArray *columns, TopField field, int state, const char *of)
{
        TopColumn column = { field, state, g_strconcat(of, fields[field].title, NULL) };

        g_array_append_val(columns, column);
}

GArray *top_columns_all(const Watch *watch)
{
        GArray *columns = g_array_new(FALSE, FALSE, sizeof(TopColumn));

        g_array_set_clear_func(columns, column_clear);
        for (TopField field = 0; field < G_N_ELEMENTS(fields); field++) {
                bool by_state = field == TOP_SHARE || field == TOP_ABOVE;

                if (!by_state && field != TOP_BELOW)
                        add_column(columns, field, 0, "");
                for (int s = 0; by_state && s < watch->n_states; s++) {
                        add_column(columns, field, s, watch->states[s]);
                        if (field == TOP_ABOVE)
                                add_column(columns, TOP_BELOW, s, watch->states[s]);
                }
        }
        return columns;
}

static bool is_named(const TopColumn *column, const char *word)
{
        if (g_str_equal(word, "states"))
                return column->field == TOP_SHARE;
        if (g_str_equal(word, "statistics"))
                return column->field == TOP_ABOVE || column->field == TOP_BELOW;
        return g_ascii_strcasecmp(column->title, word) == 0;
}

GPtrArray *top_columns_parse(const GArray *all, const char *list, char **ret_unknown)
{
        g_auto(GStrv) words = g_strsplit(*list ? list : ",", ",", -1);
        g_autoptr(GPtrArray) columns = g_ptr_array_new();

        for (char **word = words; *word; word++) {
                guint before = columns->len;

                for (guint i = 0; i < all->len; i++)
                        if (is_named(&g_array_index(all, TopColumn, i), *word))
                                g_ptr_array_add(columns, &g_array_index(all, TopColumn, i));
                if (columns->len == before) {
                        *ret_unknown = g_strdup(*word);
                        return NULL;
                }
        }
        return g_steal_pointer(&columns);
}

static bool is_used(const Top *top, const TopColumn *column)
{
        for (guint i = 0; i < top->rows->len; i++)
                if (!isnan(top_value(&g_array_index(top->rows, TopRow, i), column)))
                        return true;
        return false;
}

/* Those that say nothing where there is but one of them, or none. */
static bool is_of_use(const Top *top, const TopColumn *column)
{
        switch (column->field) {
        case TOP_CPU:
        case TOP_BUSY:
        case TOP_SHARE:
                return true;
        case TOP_PACKAGE:
                return top->watch->topology->n_packages > 1;
        case TOP_ABOVE:
        case TOP_BELOW:
                return top->watch->seen->have & SENSE_IDLE_STATISTICS;
        case TOP_WAKES:
        case TOP_SLEEP:
        case TOP_LONGEST:
                return top->watch->seen->residency;
        default:
                return is_used(top, column);
        }
}

GPtrArray *top_columns_usual(const Top *top, bool unused)
{
        const GArray *all = top->all;
        GPtrArray *columns = g_ptr_array_new();

        for (guint i = 0; i < all->len; i++)
                if (unused || is_of_use(top, &g_array_index(all, TopColumn, i)))
                        g_ptr_array_add(columns, &g_array_index(all, TopColumn, i));
        return columns;
}

double top_value(const TopRow *row, const TopColumn *column)
{
        const void *at = (const char *)row + fields[column->field].offset;

        if (fields[column->field].number)
                return *(const int *)at < 0 ? NAN : *(const int *)at;
        return ((const double *)at)[column->state] * (fields[column->field].factor ?: 1);
}

bool top_is_estimate(const TopRow *row, const TopColumn *column)
{
        return column->field == TOP_SHARE      ? row->estimated[column->state]
               : column->field == TOP_PKG_WATT ? row->sensors.estimated
                                               : fields[column->field].estimate;
}

/* Microseconds with three digits: "850us", "12.3ms", "1.5s". */
static char *time_text(double usec)
{
        static const struct {
                double usec;
                const char *unit;
        } units[] = { { 3600e6, "h" }, { 60e6, "min" }, { 1e6, "s" }, { 1e3, "ms" }, { 1, "us" } };

        for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
                if (usec >= units[i].usec)
                        return g_strdup_printf("%.*f%s",
                                               usec < 10 * units[i].usec    ? 2
                                               : usec < 100 * units[i].usec ? 1
                                                                            : 0,
                                               usec / units[i].usec, units[i].unit);
        return g_strdup("0us");
}

char *top_text(const TopRow *row, const TopColumn *column)
{
        double value = top_value(row, column);
        const char *mark = top_is_estimate(row, column) ? "~" : "";
        g_autofree char *time = NULL;

        if (column->field == TOP_PARKED)
                return g_strdup(row->parked < 0             ? "-"
                                : row->parked == 0          ? ""
                                : row->parked < row->n_cpus ? "some"
                                                            : "yes");
        if (column->field == TOP_LIMIT && row->limit_us == TOP_LIMIT_MIXED)
                return g_strdup("mixed");
        if (isnan(value))
                return g_strdup("-");
        time = fields[column->field].time ? time_text(value) : NULL;
        if (time)
                return g_strconcat(mark, time, NULL);
        return g_strdup_printf(
                "%s%.*f", mark,
                column->field == TOP_WAKES && value < 10 ? 1 : fields[column->field].decimals,
                value);
}

typedef struct Order {
        const TopColumn *column;
        bool reverse;
} Order;

static int compare_rows(gconstpointer a, gconstpointer b, gpointer userdata)
{
        const TopRow *one = a, *other = b;
        const Order *order = userdata;
        double x = order->column ? top_value(one, order->column) : -one->first_cpu;
        double y = order->column ? top_value(other, order->column) : -other->first_cpu;
        int r = isnan(x) || isnan(y) ? isnan(x) - isnan(y)
                : order->reverse     ? (x > y) - (x < y)
                                     : (x < y) - (x > y);

        return r ? r : one->first_cpu - other->first_cpu;
}

void top_sort(GArray *rows, const TopColumn *column, bool reverse)
{
        Order order = { column, reverse };

        if (rows->len > 2)
                qsort_r(&g_array_index(rows, TopRow, 1), rows->len - 1, sizeof(TopRow),
                        compare_rows, &order);
}
