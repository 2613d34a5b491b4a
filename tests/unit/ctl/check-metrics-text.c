/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Families and samples in both formats.
 */
#include "ctl/verbs/metrics-text.h"

#include "table.h"

static const MetricFamily seconds = { "a_seconds", METRIC_COUNTER, "seconds",
                                      "Back\\slash \"q\"\nx" };
static const MetricFamily info = { "b", METRIC_INFO, NULL, "Help." };
static const MetricFamily states = { "c", METRIC_STATESET, NULL, "Help." };
static const MetricFamily ratio = { "d_ratio", METRIC_GAUGE, "ratio", "Help." };

static const struct {
        const char *name;
        const MetricFamily *family;
        const char *label;
        double value;
        const char *openmetrics, *prometheus;
} cases[] = {
        { "a counter", &seconds, NULL, 1.5,
          "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
          "# HELP a_seconds Back\\\\slash \\\"q\\\"\\nx\na_seconds_total 1.5\n# EOF\n",
          "# TYPE a_seconds_total counter\n# HELP a_seconds_total Back\\\\slash \"q\"\\nx\n"
          "a_seconds_total 1.5\n" },
        { "an info", &info, "v", 1, "# TYPE b info\n# HELP b Help.\nb_info{l=\"v\"} 1\n# EOF\n",
          "# TYPE b_info gauge\n# HELP b_info Help.\nb_info{l=\"v\"} 1\n" },
        { "a state set", &states, "v", 0,
          "# TYPE c stateset\n# HELP c Help.\nc{l=\"v\"} 0\n# EOF\n",
          "# TYPE c gauge\n# HELP c Help.\nc{l=\"v\"} 0\n" },
        { "a gauge", &ratio, NULL, -0.25,
          "# TYPE d_ratio gauge\n# UNIT d_ratio ratio\n# HELP d_ratio Help.\nd_ratio -0.25\n"
          "# EOF\n",
          "# TYPE d_ratio gauge\n# HELP d_ratio Help.\nd_ratio -0.25\n" },
        { "an absent value", &ratio, NULL, NAN, "# EOF\n", "" },
        { "an infinite value", &ratio, NULL, INFINITY, "# EOF\n", "" },
        { "a hostile label", &info, "a\"} 1\n# EOF\\", 1,
          "# TYPE b info\n# HELP b Help.\nb_info{l=\"a\\\"} 1\\n# EOF\\\\\"} 1\n# EOF\n",
          "# TYPE b_info gauge\n# HELP b_info Help.\nb_info{l=\"a\\\"} 1\\n# EOF\\\\\"} 1\n" },
        { "an empty label", &info, "", 1, "# TYPE b info\n# HELP b Help.\nb_info 1\n# EOF\n",
          "# TYPE b_info gauge\n# HELP b_info Help.\nb_info 1\n" },
        { "a large number", &seconds, NULL, 123456789012.345678,
          "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n"
          "# HELP a_seconds Back\\\\slash \\\"q\\\"\\nx\na_seconds_total 123456789012.346\n# EOF\n",
          "# TYPE a_seconds_total counter\n# HELP a_seconds_total Back\\\\slash \"q\"\\nx\n"
          "a_seconds_total 123456789012.346\n" },
};

static char *print(const MetricFamily *family, MetricsFormat format, const char *label,
                   double value)
{
        MetricsText text = { .out = g_string_new(NULL), .format = format };
        g_autofree char *labels = metrics_labels("l", label, NULL);
        gsize length;

        metrics_family(&text, family);
        metrics_sample(&text, labels, value);
        return metrics_finish(&text, &length);
}

TEST_EACH(formats, cases)
{
        g_autofree char *openmetrics = print(c->family, FORMAT_OPENMETRICS, c->label, c->value);
        g_autofree char *prometheus = print(c->family, FORMAT_PROMETHEUS, c->label, c->value);

        ck_case(c->name, g_str_equal(openmetrics, c->openmetrics), "found:\n%s", openmetrics);
        ck_case(c->name, g_str_equal(prometheus, c->prometheus), "found:\n%s", prometheus);
}

UNIT("metrics-text")
