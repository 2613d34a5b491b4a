/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idled publishes, as metrics.
 */
#ifndef IDLED_CTL_METRICS_H
#define IDLED_CTL_METRICS_H

#include "cli/json.h"
#include "metrics-text.h"

/* What the daemon said; all as org.idled1(5) has it. */
typedef struct MetricsFacts {
        json_object
                *manager;    /* properties; NULL: idled does not run, and the others are NULL too */
        json_object *sample; /* of Sample(); NULL: this idled has no such method */
        json_object *policies; /* array of their properties, by rank */
} MetricsFacts;

/* Appends all families. What is absent in the facts has no sample. */
void metrics_write(const MetricsFacts *facts, MetricsText *text);

#endif
