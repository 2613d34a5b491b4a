/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests as clients and enemies send them, and the formats that they get.
 */
#include "ctl/verbs/metrics-http.h"

#include "table.h"

#define GET "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
#define OM  FORMAT_OPENMETRICS
#define P   FORMAT_PROMETHEUS

static const struct {
        const char *name, *text;
        int status;
        MetricsFormat format;
        bool head;
} cases[] = {
        { "curl", GET "Accept: */*\r\n\r\n", 200, P, false },
        { "no Accept", GET "\r\n", 200, P, false },
        { "HTTP/1.0", "GET /metrics HTTP/1.0\r\n\r\n", 200, P, false },
        { "bare line ends", "GET /metrics HTTP/1.1\n\n", 200, P, false },
        { "a query", "GET /metrics?x=/y HTTP/1.1\r\n\r\n", 200, P, false },
        { "HEAD", "HEAD /metrics HTTP/1.1\r\n\r\n", 200, P, true },
        { "Prometheus 2.42",
          GET "Accept: application/openmetrics-text;version=1.0.0,"
              "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,"
              "*/*;q=0.1\r\nAccept-Encoding: gzip\r\n\r\n",
          200, OM, false },
        { "Prometheus 3, with escaping",
          GET "Accept: application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
              "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,*/*;q=0.2\r\n\r\n",
          200, OM, false },
        { "text preferred", GET "Accept: text/plain, application/openmetrics-text;q=0.5\r\n\r\n",
          200, P, false },
        { "the same weight",
          GET "Accept: text/plain;q=0.5,application/openmetrics-text;q=0.5\r\n\r\n", 200, OM,
          false },
        { "refused", GET "Accept: application/openmetrics-text;q=0\r\n\r\n", 200, P, false },
        { "a version that there is not",
          GET "Accept: application/openmetrics-text;version=2.0.0\r\n\r\n", 200, P, false },
        { "a weight that is none", GET "Accept: application/openmetrics-text;q=x\r\n\r\n", 200, P,
          false },
        { "two headers",
          GET "Accept: text/plain;q=0.1\r\nACCEPT: application/openmetrics-text\r\n\r\n", 200, OM,
          false },
        { "protocol buffers", GET "Accept: application/vnd.google.protobuf;q=0.7\r\n\r\n", 200, P,
          false },
        { "empty members", GET "Accept: ,,;,;;q,\r\n\r\n", 200, P, false },
        { "another path", "GET / HTTP/1.1\r\n\r\n", 404, P, false },
        { "a longer path", "GET /metrics/ HTTP/1.1\r\n\r\n", 404, P, false },
        { "a path that climbs", "GET /metrics/../etc HTTP/1.1\r\n\r\n", 404, P, false },
        { "POST", "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\n", 405, P, false },
        { "a method in small letters", "get /metrics HTTP/1.1\r\n\r\n", 405, P, false },
        { "another version", "GET /metrics HTTP/2.0\r\n\r\n", 505, P, false },
        { "no version", "GET /metrics\r\n\r\n", 400, P, false },
        { "no path", "GET HTTP/1.1\r\n\r\n", 400, P, false },
        { "four words", "GET /metrics HTTP/1.1 x\r\n\r\n", 400, P, false },
        { "an empty line first", "\r\n\r\n", 400, P, false },
        { "a header without colon", GET "nonsense\r\n\r\n", 400, P, false },
        { "a header without name", GET ": x\r\n\r\n", 400, P, false },
        { "a folded header", GET "A: b\r\n c: d\r\n\r\n", 400, P, false },
        { "TLS", "\x16\x03\x01\x02\n\n", 400, P, false },
};

TEST_EACH(request, cases)
{
        HttpRequest found;

        http_request_parse(c->text, strlen(c->text), &found);
        ck_case(c->name, found.status == c->status, "found %d, expected %d", found.status,
                c->status);
        ck_case(c->name, found.head == c->head, "head or not");
        if (found.status == 200)
                ck_case(c->name, found.format == c->format, "found format %d, expected %d",
                        found.format, c->format);
}

static const struct {
        const char *name, *lines;
        bool domain;
} hosts[] = {
        { "none", "", false },
        { "localhost", "Host: localhost\r\n", false },
        { "with a port", "host:LocalHost:10980\r\n", false },
        { "an address", "Host: 127.0.0.1:10980\r\n", false },
        { "another address", "Host: 192.0.2.1\r\n", false },
        { "an IPv6 address", "Host: [::1]:10980\r\n", false },
        { "a domain", "Host: evil.example:10980\r\n", true },
        { "one that begins like localhost", "Host: localhost.evil.example\r\n", true },
        { "one that begins like an address", "Host: 127.0.0.1.evil.example\r\n", true },
        { "one in brackets", "Host: [evil.example]\r\n", true },
        { "one of hexadecimal digits", "Host: abcd\r\n", true },
        { "empty", "Host:\r\n", true },
        { "a second one", "Host: localhost\r\nHost: evil.example\r\n", true },
};

TEST_EACH(host, hosts)
{
        g_autofree char *text = g_strdup_printf("GET /metrics HTTP/1.1\r\n%s\r\n", c->lines);
        HttpRequest found;

        http_request_parse(text, strlen(text), &found);
        ck_case(c->name, found.status == 200, "found %d", found.status);
        ck_case(c->name, found.domain == c->domain, "found %d", found.domain);
}

TEST(nul)
{
        static const char text[] = GET "A: b\0c\r\n\r\n";
        HttpRequest found;

        http_request_parse(text, sizeof(text) - 1, &found);
        ck_assert_int_eq(found.status, 400);
}

UNIT("metrics-http")
