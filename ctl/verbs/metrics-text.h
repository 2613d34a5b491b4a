/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Metrics as text: OpenMetrics 1.0, or version 0.0.4 of Prometheus' text format, which differs in a
 * few lines and is what node_exporter reads.
 *
 * A family is its name, type, unit and help, and then its samples. A family without samples prints
 * nothing: what is not known is absent, never 0.
 */
#ifndef IDLED_CTL_METRICS_TEXT_H
#define IDLED_CTL_METRICS_TEXT_H

#include <glib.h>
#include <stdbool.h>

typedef enum MetricsFormat {
        FORMAT_OPENMETRICS,
        FORMAT_PROMETHEUS,
} MetricsFormat;

typedef enum MetricType {
        METRIC_GAUGE,
        METRIC_COUNTER,  /* samples get the suffix _total */
        METRIC_INFO,     /* samples get the suffix _info, and are 1 */
        METRIC_STATESET, /* samples are 0 or 1 */
} MetricType;

typedef struct MetricFamily {
        const char *name; /* without the suffix; ends with _UNIT if there is a unit */
        MetricType type;
        const char *unit; /* "seconds"; NULL: none. Always NULL for info and stateset */
        const char *help; /* one sentence */
} MetricFamily;

typedef struct MetricsText {
        GString *out;
        MetricsFormat format;
        MetricFamily family;
        bool is_begun; /* the family's head is printed */
} MetricsText;

/* What follows are samples of this family; its strings must live until the next one begins. */
void metrics_family(MetricsText *text, const MetricFamily *family);

/* A sample; `labels` as metrics_labels() made them, NULL: none. What is not finite is left out. */
void metrics_sample(MetricsText *text, const char *labels, double value);

/* `cpu="3",state="C6"` from name, value, ..., NULL as a new string. Values may be any UTF-8, names
 * are as the format wants them. A label whose value is NULL or empty is left out, which is what an
 * empty value means. */
char *metrics_labels(const char *name, ...) G_GNUC_NULL_TERMINATED;

/* Ends the text, and returns it as a new string. */
char *metrics_finish(MetricsText *text, gsize *ret_length);

#endif
