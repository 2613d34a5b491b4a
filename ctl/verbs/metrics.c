/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl metrics: what idled publishes, for Prometheus. On standard output, as the answer to one
 * HTTP request on an accepted connection, or into a file that node_exporter reads.
 *
 * A few calls on the bus are the only reading, so that a scrape costs little: one for the manager,
 * one for all CPUs, and one for each policy.
 */
#include "metrics.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/client.h"
#include "metrics-http.h"
#include "verbs.h"

/* A Prometheus waits for 10 s by default. */
#define PATIENCE_USEC (3u * 1000 * 1000)

static bool over_http;
static const char *textfile;

static const VerbOption metrics_options[] = {
        { "http", NULL, "answer one HTTP request on standard input and output",
          .flag = &over_http },
        { "textfile", "FILE", "replace FILE, for node_exporter's textfile collector",
          .text = &textfile },
        { 0 },
};

static int metrics_check(const Ctl *ctl, const Verb *verb)
{
        if (over_http && textfile)
                return complain_usage(verb, "--http and --textfile: expected one of them");
        if (textfile && !g_str_has_suffix(textfile, ".prom"))
                return complain_usage(verb,
                                      "--textfile: found \"%s\", expected a name that ends in "
                                      ".prom: node_exporter reads no others",
                                      textfile);
        return EXIT_FINE;
}

/* The metrics as a new string. */
static char *make_text(MetricsFormat format, gsize *ret_length, void *userdata)
{
        Client *client = ((Ctl *)userdata)->client;
        json_object *manager = client_manager(client), *names = json_get(manager, "Policies");
        g_autoptr(json_object) got = NULL, policies = json_object_new_array();
        MetricsText text = { .out = g_string_sized_new(1 << 16), .format = format };
        g_autofree char *error = NULL;

        if (manager)
                client_call(client, "Sample", "", NULL, &got, &error);
        for (size_t i = 0; i < json_length(names); i++) {
                json_object *policy = client_policy(client, json_element_text(names, i));

                if (policy)
                        json_object_array_add(policies, policy);
        }
        metrics_write(&(MetricsFacts){ .manager = manager, .sample = got, .policies = policies },
                      &text);
        return metrics_finish(&text, ret_length);
}

static int write_textfile(const char *text)
{
        int r = file_save(textfile, text, 0644);

        return r < 0 ? complain("%s: %s", textfile, g_strerror(-r)) : EXIT_FINE;
}

static int metrics_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autofree char *text = NULL;
        gsize length;
        int r;

        client_set_patience(ctl->client, PATIENCE_USEC);
        if (over_http) {
                r = http_serve(STDIN_FILENO, STDOUT_FILENO, make_text, ctl);
                return r < 0 ? complain("standard input: %s", g_strerror(-r)) : EXIT_FINE;
        }
        text = make_text(textfile ? FORMAT_PROMETHEUS : FORMAT_OPENMETRICS, &length, ctl);
        if (textfile)
                return write_textfile(text);
        fwrite(text, 1, length, stdout);
        return EXIT_FINE;
}

const Verb verb_metrics = {
        .name = "metrics",
        .summary = "Print all values as metrics for Prometheus",
        .help = "Prints OpenMetrics text. If idled does not run, it contains only idled_up, "
                "which\n"
                "is 0. idled-metrics.socket uses --http.\n"
                "  idlectl metrics --textfile /var/lib/prometheus/node-exporter/idled.prom",
        .options = { metrics_options },
        .check = metrics_check,
        .ask = metrics_ask,
        .mute = true,
};
