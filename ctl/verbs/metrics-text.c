/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metrics as text. The two formats differ in what stands in the head: OpenMetrics names the family
 * without the suffix of its samples and knows units, infos and state sets; Prometheus' own format
 * names the samples, and takes infos and state sets for gauges.
 */
#include "metrics-text.h"

#include <math.h>
#include <stdarg.h>

static const struct {
        const char *openmetrics, *prometheus, *suffix;
} types[] = {
        [METRIC_GAUGE] = { "gauge", "gauge", "" },
        [METRIC_COUNTER] = { "counter", "counter", "_total" },
        [METRIC_INFO] = { "info", "gauge", "_info" },
        [METRIC_STATESET] = { "stateset", "gauge", "" },
};

/* Backslashes, line ends and, if asked for, quotes. */
static void append_escaped(GString *out, const char *value, bool quotes)
{
        for (; *value; value++) {
                if (*value == '\n')
                        g_string_append(out, "\\n");
                else if (*value == '\\')
                        g_string_append(out, "\\\\");
                else if (*value == '"' && quotes)
                        g_string_append(out, "\\\"");
                else
                        g_string_append_c(out, *value);
        }
}

void metrics_family(MetricsText *text, const MetricFamily *family)
{
        text->family = *family;
        text->is_begun = false;
}

static void begin_family(MetricsText *text)
{
        const MetricFamily *family = &text->family;
        bool openmetrics = text->format == FORMAT_OPENMETRICS;
        const char *suffix = openmetrics ? "" : types[family->type].suffix;

        g_string_append_printf(text->out, "# TYPE %s%s %s\n", family->name, suffix,
                               openmetrics ? types[family->type].openmetrics
                                           : types[family->type].prometheus);
        if (family->unit && openmetrics)
                g_string_append_printf(text->out, "# UNIT %s %s\n", family->name, family->unit);
        g_string_append_printf(text->out, "# HELP %s%s ", family->name, suffix);
        append_escaped(text->out, family->help, openmetrics);
        g_string_append_c(text->out, '\n');
        text->is_begun = true;
}

/* Microseconds since the start of a year are exact in 15 digits. */
static void append_number(GString *out, double value)
{
        char digits[G_ASCII_DTOSTR_BUF_SIZE];

        if (value == floor(value) && fabs(value) < 1e15)
                g_string_append_printf(out, "%" G_GINT64_FORMAT, (gint64)value);
        else
                g_string_append(out,
                                g_ascii_formatd(digits, sizeof(digits),
                                                fabs(value) < 1e15 ? "%.15g" : "%.17g", value));
}

void metrics_sample(MetricsText *text, const char *labels, double value)
{
        if (!isfinite(value))
                return;
        if (!text->is_begun)
                begin_family(text);
        g_string_append(text->out, text->family.name);
        g_string_append(text->out, types[text->family.type].suffix);
        if (labels && *labels) {
                g_string_append_c(text->out, '{');
                g_string_append(text->out, labels);
                g_string_append_c(text->out, '}');
        }
        g_string_append_c(text->out, ' ');
        append_number(text->out, value);
        g_string_append_c(text->out, '\n');
}

char *metrics_labels(const char *name, ...)
{
        GString *out = g_string_new(NULL);
        va_list arguments;

        va_start(arguments, name);
        for (; name; name = va_arg(arguments, const char *)) {
                const char *value = va_arg(arguments, const char *);

                if (!value || !*value)
                        continue;
                g_string_append_printf(out, "%s%s=\"", out->len ? "," : "", name);
                append_escaped(out, value, true);
                g_string_append_c(out, '"');
        }
        va_end(arguments);
        return g_string_free(out, FALSE);
}

char *metrics_finish(MetricsText *text, gsize *ret_length)
{
        if (text->format == FORMAT_OPENMETRICS)
                g_string_append(text->out, "# EOF\n");
        *ret_length = text->out->len;
        return g_string_free(g_steal_pointer(&text->out), FALSE);
}
