/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One answer over HTTP: as much of HTTP/1.1 as a scrape needs, for one request on a connection that
 * systemd has accepted.
 */
#ifndef IDLED_CTL_METRICS_HTTP_H
#define IDLED_CTL_METRICS_HTTP_H

#include <stdint.h>

#include "metrics-text.h"

/* A request that is longer, or takes longer to arrive, is refused; so is a client that takes longer
 * for the answer. */
#define HTTP_REQUEST_MAX  8192
#define HTTP_REQUEST_USEC (5u * 1000 * 1000)
#define HTTP_ANSWER_USEC  (5u * 1000 * 1000)

typedef struct HttpRequest {
        int status;  /* 200, or why there is nothing: 400, 404, 405, 505 */
        bool head;   /* only the head is asked for */
        bool domain; /* Host is neither localhost nor an IP address */
        MetricsFormat format;
} HttpRequest;

/* Understands a whole request, from its first line to the empty one: a GET or HEAD of /metrics.
 * The format is the one of the highest weight in Accept, OpenMetrics of the same weight, and
 * Prometheus' for a client that names neither. */
void http_request_parse(const char *text, gsize length, HttpRequest *ret_request);

/* Reads a request from `in` and writes what `make` returns, a new string, to `out`; both may be the
 * same socket. A client that says nothing, leaves, or is too slow is no failure. Returns 0, or
 * negative errno if a descriptor is of no use. */
typedef char *(*HttpMake)(MetricsFormat format, gsize *ret_length, void *userdata);
int http_serve(int in, int out, HttpMake make, void *userdata);

#endif
