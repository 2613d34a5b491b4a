/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab report: what was recorded, in words and as a table.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "page/page.h"
#include "report.h"

const char *report_name(const Report *report)
{
        const char *slash = strrchr(report->path, '/');

        return slash && slash[1] ? slash + 1 : report->path;
}

char *report_title(const Report *const *reports, size_t n)
{
        const char *host = report_fact(reports[0], "hostname");

        if (n > 1)
                return g_strdup_printf("%zu recordings of idled", n);
        return g_strdup_printf("idled on %s: %s", host ?: "a machine", report_name(reports[0]));
}

/* "12.3", or NULL if it is not known. */
static char *text_of(double value, int decimals, const char *unit)
{
        return isfinite(value)
                       ? g_strdup_printf("%.*f%s%s", decimals, value, *unit ? " " : "", unit)
                       : NULL;
}

static char *joules_text(double joules)
{
        if (!isfinite(joules))
                return NULL;
        return fabs(joules) >= 1e6   ? g_strdup_printf("%.3g MJ", joules / 1e6)
               : fabs(joules) >= 1e3 ? g_strdup_printf("%.3g kJ", joules / 1e3)
                                     : g_strdup_printf("%.3g J", joules);
}

char *report_time_text(double seconds)
{
        g_autoptr(GDateTime) time = isfinite(seconds) && fabs(seconds) < 2e11
                                            ? g_date_time_new_from_unix_utc((gint64)floor(seconds))
                                            : NULL;

        return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S") : NULL;
}

/* "saved 1.2 kJ (95 % interval: 0.9 kJ to 1.5 kJ)", or "cost 177 J more" with the interval of that;
 * NULL if nothing is known. */
static char *saved_text(const ReportSaving *saving)
{
        bool costs = saving->joules[0] < 0;
        int sign = costs ? -1 : 1;
        g_autofree char *value = joules_text(sign * saving->joules[0]);
        g_autofree char *low = joules_text(sign * saving->joules[costs ? 2 : 1]);
        g_autofree char *high = joules_text(sign * saving->joules[costs ? 1 : 2]);
        g_autofree char *range = low && high
                                         ? g_strdup_printf(" (95 %% interval: %s to %s)", low, high)
                                         : NULL;

        if (!value)
                return NULL;
        return g_strdup_printf("%s %s%s%s", costs ? "cost" : "saved", value, costs ? " more" : "",
                               range ?: "");
}

static const char *verdict_text(const ReportSaving *saving)
{
        if (g_strcmp0(saving->verdict, "saves") == 0)
                return "it saves energy";
        if (g_strcmp0(saving->verdict, "costs") == 0)
                return "it costs energy";
        return "whether it saves energy is not known yet";
}

/* "on web1 (48 CPUs in 24 cores)". */
static void put_machine(GString *text, const Report *report)
{
        const char *host = report_fact(report, "hostname");

        g_string_append(text, host ?: "A machine");
        if (isfinite(report->cpus))
                g_string_append_printf(text, " (%.0f CPU%s%s", report->cpus,
                                       report->cpus == 1 ? "" : "s",
                                       isfinite(report->cores) ? "" : ")");
        if (isfinite(report->cpus) && isfinite(report->cores))
                g_string_append_printf(text, " in %.0f core%s)", report->cores,
                                       report->cores == 1 ? "" : "s");
}

static void put_savings(GString *text, const Report *report)
{
        for (guint i = 0; i < report->savings->len; i++) {
                const ReportSaving *saving = &g_array_index(report->savings, ReportSaving, i);
                g_autofree char *saved = saved_text(saving);

                if (saved)
                        g_string_append_printf(text, " Policy %s %s: %s.", saving->policy, saved,
                                               verdict_text(saving));
        }
}

/* "3 min 55 s", so that power times this is the energy next to it. */
static char *span_text(double seconds)
{
        unsigned long minutes = (unsigned long)(seconds / 60), hours = minutes / 60;

        if (seconds < 60)
                return g_strdup_printf("%.0f s", floor(seconds));
        if (hours < 1)
                return g_strdup_printf("%lu min %lu s", minutes,
                                       (unsigned long)seconds - 60 * minutes);
        return g_strdup_printf("%lu h %lu min", hours, minutes - 60 * hours);
}

static char *in_words(const Report *report)
{
        const double *means = report->means;
        GString *text = g_string_new(NULL);
        g_autofree char *duration = span_text(report->seconds);
        g_autofree char *joules = joules_text(report->joules);

        put_machine(text, report);
        g_string_append_printf(text, " was recorded for %s.", duration);
        if (isfinite(means[REPORT_MEAN_PARKED_CPUS]))
                g_string_append_printf(text, " On average %.1f CPUs were parked",
                                       means[REPORT_MEAN_PARKED_CPUS]);
        if (isfinite(means[REPORT_MEAN_PARKED_CPUS]) && isfinite(means[REPORT_MEAN_PARKED_CORES]))
                g_string_append_printf(text, " (%.1f whole cores)",
                                       means[REPORT_MEAN_PARKED_CORES]);
        if (isfinite(means[REPORT_MEAN_BUSY_SHARE]))
                g_string_append_printf(text, "%s %.1f %% of the CPU time was used.",
                                       isfinite(means[REPORT_MEAN_PARKED_CPUS]) ? " while" : "",
                                       means[REPORT_MEAN_BUSY_SHARE] * 100);
        if (isfinite(means[REPORT_MEAN_WATTS]))
                g_string_append_printf(text, " All packages drew %.2f W, %s in total.",
                                       means[REPORT_MEAN_WATTS], joules);
        put_savings(text, report);
        if (isfinite(means[REPORT_MEAN_WAKEUPS]))
                g_string_append_printf(text, " The CPUs together woke up %.1f times a second.",
                                       means[REPORT_MEAN_WAKEUPS]);
        return g_string_free(text, FALSE);
}

/* One row of the table: a fact, a number, or what get() makes of a recording, as a new string;
 * NULL: not known. */
typedef struct Row {
        const char *title, *fact;
        char *(*get)(const Report *report, double offset);
        size_t number; /* offset in Report */
        double factor;
        int decimals;
        const char *unit;
} Row;

static char *get_program(const Report *report, double offset)
{
        const char *program = report_fact(report, "program");

        return program ? g_strdup_printf("%s %s", program, report_fact(report, "version") ?: "")
                       : NULL;
}

static char *get_cpus(const Report *report, double offset)
{
        return isfinite(report->cpus) ? g_strdup_printf("%.0f, %.0f, %.0f", report->cpus,
                                                        report->cores, report->packages)
                                      : NULL;
}

static char *get_begin(const Report *report, double offset)
{
        return report_time_text(report->begin + offset);
}

static char *get_end(const Report *report, double offset)
{
        return report_time_text(report->end + offset);
}

static char *get_duration(const Report *report, double offset)
{
        g_autofree char *text = span_text(report->seconds);

        return g_strdup_printf("%s, %zu samples", text, reduced_samples(report->samples));
}

static char *get_joules(const Report *report, double offset)
{
        return joules_text(report->joules);
}

/* "POLICY: what is known", of all policies. */
static char *list_savings(const Report *report, char *(*text_of_saving)(const ReportSaving *))
{
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < report->savings->len; i++) {
                const ReportSaving *saving = &g_array_index(report->savings, ReportSaving, i);
                g_autofree char *known = text_of_saving(saving);

                g_string_append_printf(text, "%s%s: %s", text->len ? "; " : "", saving->policy,
                                       known ?: "not known");
        }
        return g_string_free(text, text->len == 0);
}

static char *get_saved(const Report *report, double offset)
{
        return list_savings(report, saved_text);
}

static char *copy_verdict(const ReportSaving *saving)
{
        return g_strdup(saving->verdict ?: "unknown");
}

static char *get_verdict(const Report *report, double offset)
{
        return list_savings(report, copy_verdict);
}

static char *get_latency(const Report *report, double offset)
{
        const GArray *buckets = report->histograms[REPORT_LATENCIES];
        g_autofree char *half = NULL, *most = NULL;

        if (buckets->len == 0)
                return NULL;
        half = us_text(report_quantile(buckets, 0.5));
        most = us_text(report_quantile(buckets, 0.99));
        return g_strdup_printf("%s, %s", half, most);
}

#define NUMBER(member) .number = offsetof(Report, member)

static const Row rows[] = {
        { "Machine", "hostname" },
        { "Processor", "cpu_model" },
        { "Kernel", "kernel" },
        { "CPUs, cores, packages", .get = get_cpus },
        { "Recorded by", .get = get_program },
        { "Command", "command" },
        { "Began", .get = get_begin },
        { "Ended", .get = get_end },
        { "Recorded for", .get = get_duration },
        { "CPU time used", NUMBER(means[REPORT_MEAN_BUSY_SHARE]), .factor = 100, .decimals = 1,
          .unit = "%" },
        { "Parked CPUs, mean", NUMBER(means[REPORT_MEAN_PARKED_CPUS]), .factor = 1, .decimals = 1,
          .unit = "" },
        { "Parked cores, mean", NUMBER(means[REPORT_MEAN_PARKED_CORES]), .factor = 1, .decimals = 1,
          .unit = "" },
        { "Changes of the parked set", NUMBER(transitions), .factor = 1, .unit = "" },
        { "Power, mean", NUMBER(means[REPORT_MEAN_WATTS]), .factor = 1, .decimals = 2,
          .unit = "W" },
        { "Energy", .get = get_joules },
        { "Energy source", "energy_source" },
        { "Saved", .get = get_saved },
        { "Verdict", .get = get_verdict },
        { "Wake-ups", NUMBER(means[REPORT_MEAN_WAKEUPS]), .factor = 1, .decimals = 1,
          .unit = "1/s" },
        { "Wake-up latency, median and 99 %", .get = get_latency },
};

static char *row_text(const Row *row, const Report *report, double offset)
{
        const double *number = (const void *)((const char *)report + row->number);

        return row->get    ? row->get(report, offset)
               : row->fact ? g_strdup(report_fact(report, row->fact))
                           : text_of(*number * row->factor, row->decimals, row->unit);
}

/* A row that no recording knows anything about is left out. */
static void add_row(json_object *table, const Row *row, const Report *const *reports, size_t n,
                    double offset)
{
        g_autofree char **cells = g_new0(char *, n + 1);
        bool any = false;

        for (size_t r = 0; r < n; r++) {
                cells[r + 1] = row_text(row, reports[r], offset);
                any |= cells[r + 1] != NULL;
        }
        cells[0] = g_strdup(row->title);
        if (any)
                page_table_row(table, (const char *const *)cells, n + 1);
        for (size_t r = 0; r <= n; r++)
                g_free(cells[r]);
}

/* A text, with the recording's name if there are several. */
static void put_text(json_object *page, const char *key, const Report *report, bool named,
                     const char *text)
{
        g_autofree char *whole = named ? g_strdup_printf("%s: %s", report_name(report), text)
                                       : g_strdup(text);

        page_text(page, key, whole);
}

void report_put_summary(json_object *page, const Report *const *reports, size_t n, double offset)
{
        g_autofree PageColumn *columns = g_new0(PageColumn, n + 1);
        json_object *table;

        columns[0].title = "Summary";
        for (size_t r = 0; r < n; r++) {
                g_autofree char *words = in_words(reports[r]);

                put_text(page, "text", reports[r], n > 1, words);
                columns[r + 1].title = report_name(reports[r]);
        }
        for (size_t r = 0; r < n; r++)
                for (guint i = 0; i < reports[r]->notes->len; i++)
                        put_text(page, "note", reports[r], n > 1, reports[r]->notes->pdata[i]);
        table = page_table(columns, n + 1);
        json_put_text(table, "class", "summary");
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                add_row(table, &rows[i], reports, n, offset);
        page_part(page, "table", table);
}
