/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl holds: the holds and their owners.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/cpuset.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "holds-measure.h"
#include "cli/price.h"
#include "sleeps.h"
#include "verbs.h"

#define HOLD_PREFIX    "/org/idled1/hold/"
#define HOLD_INTERFACE "org.idled1.Hold"

/* A number that stands for nothing if it is less than `least`. */
static void put_number(json_object *answer, const char *key, json_object *hold, const char *from,
                       int64_t least)
{
        int64_t number = json_int(hold, from, least - 1);

        json_put(answer, key, number >= least ? json_object_new_int64(number) : NULL);
}

/* The name of the process. Any process can choose its own, so it proves nothing. */
static void put_process(const Ctl *ctl, json_object *answer, json_object *hold)
{
        char path[64], name[64];

        snprintf(path, sizeof(path), "proc/%d/comm", (int)json_int(hold, "Pid", 0));
        json_put_text(answer, "process",
                      file_read_value(ctl->root, path, name, sizeof(name)) >= 0 ? name : NULL);
}

static json_object *describe(const Ctl *ctl, json_object *hold)
{
        json_object *answer = json_object_new_object(), *request = json_get(hold, "Request");

        json_put_same(answer, "hold", hold, "Id");
        json_put_same(answer, "owner", hold, "Owner");
        json_put_same(answer, "user", hold, "User");
        put_number(answer, "pid", hold, "Pid", 1);
        put_process(ctl, answer, hold);
        json_put_same(answer, "ends_with_process", hold, "Bound");
        json_put_same(answer, "since_usec", hold, "SinceUSec");
        json_put_same(answer, "reason", hold, "Reason");
        put_number(answer, "latency_us", request, "latency_us", 0);
        put_number(answer, "wakeup_p99_us", request, "wakeup_p99_us", 1);
        json_put_bool(answer, "global", json_true(request, "global"));
        put_number(answer, "min_cores", request, "min_cores", 1);
        put_number(answer, "min_frequency_khz", request, "min_frequency_khz", 1);
        json_put_text_any(answer, "kind", json_text(request, "kind"));
        json_put_text_any(answer, "profile", json_text(request, "profile"));
        json_put_same(answer, "cpus", hold, "CPUs");
        json_put_text_any(answer, "obstacle", json_text(hold, "Obstacle"));
        return answer;
}

static int compare(const void *a, const void *b)
{
        int64_t x = json_int(*(json_object *const *)a, "hold", 0);
        int64_t y = json_int(*(json_object *const *)b, "hold", 0);

        return (x > y) - (x < y);
}

static json_object *holds_ask(Ctl *ctl, int *ret_status)
{
        g_autoptr(json_object) objects = client_objects(ctl->client);
        json_object *answer, *holds;

        if (!objects) {
                *ret_status = complain("%s", client_problem(ctl->client));
                return NULL;
        }
        holds = json_object_new_array();
        json_object_object_foreach(objects, path, interfaces)
        {
                json_object *hold = json_get(interfaces, HOLD_INTERFACE);

                if (g_str_has_prefix(path, HOLD_PREFIX) && hold)
                        json_object_array_add(holds, describe(ctl, hold));
        }
        json_object_array_sort(holds, compare);
        answer = answer_new(ctl);
        if (holds_measured)
                *ret_status = holds_measure(ctl, holds, answer);
        json_put(answer, "holds", holds);
        return answer;
}

static void add_number(Table *table, json_object *hold, const char *key, double divisor,
                       const char *unit)
{
        if (json_get(hold, key))
                table_cellf(table, STYLE_PLAIN, "%.6g%s", json_number(hold, key, 0) / divisor,
                            unit);
        else
                table_cell(table, STYLE_DIM, "-");
}

static void add_text(Table *table, json_object *hold, const char *key)
{
        const char *text = json_text(hold, key);

        table_cell(table, *text ? STYLE_PLAIN : STYLE_DIM, *text ? text : "-");
}

static void add_row(Table *table, json_object *hold, bool measured)
{
        double since = json_number(hold, "since_usec", 0) / 1e6;
        g_autofree char *age = text_duration(MAX((double)time(NULL) - since, 0));
        g_autofree char *who = NULL, *p99 = NULL;

        add_number(table, hold, "hold", 1, "");
        add_number(table, hold, "user", 1, "");
        add_number(table, hold, "pid", 1, "");
        add_text(table, hold, "process");
        add_number(table, hold, "latency_us", 1, json_true(hold, "global") ? "us all" : "us");
        add_text(table, hold, "cpus");
        if (json_int(hold, "min_cores", 0) >= CPUSET_MAX)
                table_cell(table, STYLE_PLAIN, "all");
        else
                add_number(table, hold, "min_cores", 1, "");
        add_number(table, hold, "min_frequency_khz", 1e3, "");
        add_text(table, hold, "profile");
        table_cell(table, STYLE_PLAIN, age);
        if (measured)
                holds_measured_cells(table, hold);
        table_note(table, STYLE_PLAIN, json_text(hold, "reason"));
        if (json_get(hold, "kind")) {
                g_autofree char *kind = g_strdup_printf("On cores of kind %s.",
                                                        json_text(hold, "kind"));

                table_note(table, STYLE_PLAIN, kind);
        }
        if (json_get(hold, "wakeup_p99_us")) {
                g_autofree char *limit = us_text(json_number(hold, "wakeup_p99_us", 0));

                p99 = g_strdup_printf("Contract of its unit: 99 %% of wake-ups run within %s.",
                                      limit);
                table_note(table, STYLE_PLAIN, p99);
        }
        if (json_get(hold, "obstacle")) {
                who = g_strdup_printf("Not fully in effect: %s.", json_text(hold, "obstacle"));
                table_note(table, STYLE_WARN, who);
        }
}

static void holds_show(const Ctl *ctl, json_object *answer)
{
        json_object *holds = json_get(answer, "holds"), *hold;
        g_autoptr(Table) table = table_new();

        answer_show_daemon(ctl, answer);
        if (json_length(holds) == 0) {
                screen_line(&ctl->screen, STYLE_PLAIN, "There are no holds.");
                return;
        }
        table_columns(table, ">Hold|>User|>PID|Process|>Latency|CPUs|>Cores|>MHz|Profile|>Age");
        if (holds_measured)
                holds_measured_columns(table);
        JSON_FOREACH(hold, holds)
                add_row(table, hold, holds_measured);
        table_print(table, &ctl->screen);
        if (holds_measured)
                holds_measured_power(ctl, answer);
}

const Verb verb_holds = {
        .name = "holds",
        .arguments = "",
        .summary = "Show the holds and their owners",
        .help = "With --measure, idlectl also measures the wake-up latency of the CPUs of each\n"
                "hold for 10 s. Late is how often it exceeded the limit of the hold. Costs is "
                "the\n"
                "power that these CPUs would save without the hold, estimated by a power table.\n"
                "This requires root or authorization by polkit.",
        .options = { holds_options, sleeps_seconds_option, price_option },
        .check = holds_check,
        .ask = holds_ask,
        .show = holds_show,
};
