/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What one decision of an idle governor costs, select() and reflect(), by that of teo. */
#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/setting-value.h"
#include "governors/governors.h"
#include "governors/trace.h"

#define ROUNDS  7
#define RECORDS 20000

static double now_ns(void)
{
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int read_records(const char *path, Record *ret_records)
{
        g_autofree char *error = NULL;
        Trace *trace = trace_open(path, &error);
        int n = 0, more = 1;

        while (trace && n < RECORDS && more > 0) {
                more = trace_read(trace, ret_records + n, RECORDS - n, &error);
                n += more > 0 ? more : 0;
        }
        trace_free(trace);
        if (error)
                g_error("%s", error);
        return n;
}

/* All periods are taken for those of one CPU. Nanoseconds a period; `ret_sum` keeps the compiler
 * from leaving anything out. */
static double run(const Governor *governor, const void *options, const StateTable *table,
                  const Record *records, int n, int *ret_sum)
{
        g_autofree void *state = g_malloc0(governor->state_size);
        double from;

        if (governor->init)
                governor->init(state, table, options, 0);
        from = now_ns();
        for (int i = 0; i < n; i++) {
                const Record *r = &records[i];
                int64_t tick = TICK_NS - (int64_t)(r->enter_ns % (uint64_t)TICK_NS);
                Period period = { r->enter_ns, r->sleep_ns, r->sleep_ns < tick ? r->sleep_ns : tick,
                                  r->limit_ns, r->idle_ns,  r->util,
                                  r->iowait };
                int entered = governor->select(state, table, &period);
                int64_t residency = r->idle_ns + table->states[entered].latency_ns;
                Outcome outcome = { entered, r->enter_ns + (uint64_t)residency, residency,
                                    r->got_tick, r->resched };

                if (governor->reflect)
                        governor->reflect(state, table, &outcome);
                *ret_sum += entered;
        }
        return (now_ns() - from) / n;
}

static double least_of(const char *name, const StateTable *table, const Record *records, int n)
{
        const Governor *governor = governor_find(name);
        g_autofree char *error = NULL;
        void *options = NULL;
        double least = INFINITY;
        int sum = 0;

        if (governor->settings)
                settings_new(governor->settings, governor->options_size, &options, &error);
        for (int i = 0; i < ROUNDS; i++) {
                double ns = run(governor, options, table, records, n, &sum);

                least = ns < least ? ns : least;
        }
        if (governor->settings)
                settings_free(governor->settings, options);
        return sum < 0 ? 0 : least;
}

int main(void)
{
        static const char *const names[] = { "teo-6.18", "menu-6.12", "weighted", "learned" };
        static const char *const loads[] = { "idle", "database", "messages", "timers" };
        g_autofree Record *records = g_new(Record, RECORDS);
        g_autofree char *text = NULL, *error = NULL;
        StateTable table;

        if (!g_file_get_contents(TESTS_DIR "/traces/idle/client.tbl", &text, NULL, NULL) ||
            state_table_parse(text, "client.tbl", &table, &error) < 0)
                return 1;
        for (size_t l = 0; l < G_N_ELEMENTS(loads); l++) {
                g_autofree char *path = g_strdup_printf(TESTS_DIR "/traces/idle/%s.csv.xz",
                                                        loads[l]);
                int n = read_records(path, records);
                double teo = least_of(names[0], &table, records, n);

                for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                        double ns = i ? least_of(names[i], &table, records, n) : teo;

                        printf("%-10s %-10s %6.1f ns a decision, %5.2f times that of teo\n",
                               loads[l], names[i], ns, ns / teo);
                }
        }
        printf("state of learned: %zu bytes a CPU\n", governor_find("learned")->state_size);
        return 0;
}
