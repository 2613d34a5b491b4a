/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sleeps from the best source. The ledger is loaded here if the kernel lets us, because idled need
 * not run then; else idled provides one; else the kernel's counters must do.
 */
#include "cli/sleeps-read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "sense/sensor.h"
#include "cli/client.h"

#define SECONDS_USUAL 10

double sleeps_asked;

uint64_t sleeps_usec(void)
{
        return (uint64_t)((sleeps_asked > 0 ? sleeps_asked : SECONDS_USUAL) * G_USEC_PER_SEC);
}

/* Times are 0 of a CPU whose counters could not be read. */
typedef struct Counter {
        uint64_t usage, time_us;
} Counter;

struct SleepsReader {
        Ctl *ctl;
        const LedgerBackend *backend;
        Ledger *ledger;
        int session;     /* descriptor of idled's ledger; -1: none */
        uint32_t number; /* of that ledger */
        int n_cpus;
        IdleTable *tables;
        char *why, *missing;
        Counter *counters;   /* as they were; n_cpus times IDLE_STATES_MAX */
        int64_t began;       /* monotonic, us */
        json_object *answer; /* idled's: its texts are those of `causes` */
        GArray *causes;      /* of LedgerCause */
        struct sleep_stats *sleeps, *latencies;
        struct sleeper *current;
        Sleeps result;
};

int sleeps_possible_cpus(int root)
{
        g_autofree char *text = NULL;
        CpuSet cpus;
        int n = 1;

        if (file_read(root, "sys/devices/system/cpu/possible", &text) < 0 ||
            cpuset_parse(g_strchomp(text), &cpus) < 0)
                return 1;
        CPUSET_FOREACH(cpu, &cpus)
                n = cpu + 1;
        return n;
}

LedgerCpu *sleeps_cpus(int root, const IdleTable *tables, int n_cpus)
{
        LedgerCpu *cpus = g_new0(LedgerCpu, (size_t)n_cpus);

        for (int cpu = 0; cpu < n_cpus; cpu++) {
                uint16_t permitted = idle_states_permitted(root, cpu, &tables[cpu]);

                cpus[cpu].latency_us = idle_latency_limit(root, cpu);
                for (int state = 0; state < tables[cpu].n_states; state++) {
                        const IdleState *info = &tables[cpu].states[state];

                        if (idle_state_polls(info->name))
                                cpus[cpu].polling |= 1u << state;
                        if (permitted >> state & 1)
                                cpus[cpu].deepest_ns = info->target_residency_us * 1000ull;
                }
        }
        return cpus;
}

static int begin_ledger(SleepsReader *reader, const uint64_t *limits_ns, int n_limits)
{
        g_autofree LedgerCpu *cpus = sleeps_cpus(reader->ctl->root, reader->tables, reader->n_cpus);
        LedgerConfig config = { .causes = true,
                                .latencies = limits_ns != NULL,
                                .n_cpus = reader->n_cpus,
                                .cpus = cpus };
        int r;

        for (int cpu = 0; limits_ns && cpu < MIN(n_limits, reader->n_cpus); cpu++)
                cpus[cpu].limit_ns = limits_ns[cpu];
        if (reader->ctl->root_path) {
                reader->why = g_strdup("--root names another machine than the running one");
                return -EOPNOTSUPP;
        }
        reader->backend = ledger_backend(LEDGER_DIR, &reader->why);
        if (!reader->backend)
                return -ENOENT;
        r = reader->backend->open(&config, &reader->ledger, &reader->why);
        if (r >= 0)
                reader->missing = reader->backend->missing(reader->ledger);
        return r;
}

static void read_counters(const SleepsReader *reader, Counter *counters)
{
        for (int cpu = 0; cpu < reader->n_cpus; cpu++) {
                for (int state = 0; state < reader->tables[cpu].n_states; state++) {
                        Counter *c = &counters[cpu * IDLE_STATES_MAX + state];
                        char path[96];

                        snprintf(path, sizeof(path),
                                 "sys/devices/system/cpu/cpu%d/cpuidle/state%d/usage", cpu, state);
                        if (file_read_u64(reader->ctl->root, path, &c->usage) < 0)
                                continue;
                        snprintf(path, sizeof(path),
                                 "sys/devices/system/cpu/cpu%d/cpuidle/state%d/time", cpu, state);
                        if (file_read_u64(reader->ctl->root, path, &c->time_us) < 0)
                                c->time_us = 0;
                }
        }
}

SleepsReader *sleeps_begin(Ctl *ctl, const uint64_t *limits_ns, int n_limits)
{
        SleepsReader *reader = g_new0(SleepsReader, 1);
        g_autofree char *error = NULL;

        reader->ctl = ctl;
        reader->session = -1;
        reader->n_cpus = sleeps_possible_cpus(ctl->root);
        reader->tables = idle_tables_read(ctl->root, reader->n_cpus);
        reader->result.source = SLEEPS_LEDGER;
        reader->began = g_get_monotonic_time();
        if (begin_ledger(reader, limits_ns, n_limits) >= 0)
                return reader;
        reader->result.source = SLEEPS_DAEMON;
        if (client_sleeps_start(ctl->client, limits_ns != NULL, &reader->number, &reader->session,
                                &error) >= 0) {
                g_clear_pointer(&reader->why, g_free);
                return reader;
        }
        if (error && client_manager(ctl->client) && !g_str_has_suffix(error, reader->why)) {
                g_autofree char *here = g_steal_pointer(&reader->why);

                reader->why = g_strdup_printf("%s; idled says: %s", here, error);
        }
        reader->result.source = SLEEPS_SYSFS;
        reader->counters = g_new0(Counter, (size_t)reader->n_cpus * IDLE_STATES_MAX);
        read_counters(reader, reader->counters);
        reader->began = g_get_monotonic_time();
        return reader;
}

SleepsSource sleeps_source(const SleepsReader *reader)
{
        return reader->result.source;
}

static struct sleep_stats *stats_new(int n)
{
        return g_new0(struct sleep_stats, (size_t)n);
}

/* What the kernel's counters say: how many sleeps, and how long together. */
static void end_counters(SleepsReader *reader)
{
        g_autofree Counter *now = g_new0(Counter, (size_t)reader->n_cpus * IDLE_STATES_MAX);

        read_counters(reader, now);
        for (int cpu = 0; cpu < reader->n_cpus; cpu++) {
                for (int state = 0; state < IDLE_STATES_MAX; state++) {
                        const Counter *a = &reader->counters[cpu * IDLE_STATES_MAX + state];
                        const Counter *b = &now[cpu * IDLE_STATES_MAX + state];
                        struct sleep_stats *stats = &reader->sleeps[cpu * SLEEPS_STATES + state];

                        /* Nothing for a CPU that went away, or came back with counters from 0. */
                        if (b->usage <= a->usage || b->time_us < a->time_us)
                                continue;
                        stats->count = b->usage - a->usage;
                        stats->sum_ns = (b->time_us - a->time_us) * 1000;
                }
        }
}

static double number(json_object *array, size_t i)
{
        double value = json_element_number(array, i);

        return value > 0 ? value : 0;
}

/* A row of idled's answer as statistics. */
static void take_stats(json_object *row, size_t first, struct sleep_stats *stats)
{
        json_object *hist = json_element(row, first + 5);
        double mean = number(row, first + 1), deviation = number(row, first + 2);
        double squares;

        stats->count = (uint64_t)number(row, first);
        stats->sum_ns = (uint64_t)(mean * (double)stats->count);
        squares = (mean * mean + deviation * deviation) * (double)stats->count;
        stats->squares_low = (uint64_t)fmod(squares, 0x1p64);
        stats->squares_high = (uint64_t)(squares / 0x1p64);
        stats->min_ns = (uint64_t)number(row, first + 3);
        stats->max_ns = (uint64_t)number(row, first + 4);
        for (size_t i = 0; i < MIN(json_length(hist), SLEEPS_BUCKETS); i++)
                stats->hist[i] = (uint32_t)number(hist, i);
}

static int row_cpu(const SleepsReader *reader, json_object *row)
{
        double cpu = json_element_number(row, 0);

        return cpu >= 0 && cpu < reader->n_cpus ? (int)cpu : -1;
}

static enum cause_kind kind_of(const char *text)
{
        for (unsigned kind = 0; kind < CAUSE_KINDS; kind++)
                if (g_str_equal(ledger_kind_text(kind), text))
                        return kind;
        return CAUSE_UNKNOWN;
}

static const char *text_or_null(json_object *row, size_t i)
{
        const char *text = json_element_text(row, i);

        return *text ? text : NULL;
}

static void take_causes(SleepsReader *reader, json_object *rows)
{
        json_object *row;

        JSON_FOREACH(row, rows) {
                LedgerCause cause = { .cpu = row_cpu(reader, row),
                                      .state = (int)number(row, 1),
                                      .kind = kind_of(json_element_text(row, 2)),
                                      .irq = (int)json_element_number(row, 3),
                                      .function = text_or_null(row, 4),
                                      .name = text_or_null(row, 5),
                                      .unit = text_or_null(row, 6),
                                      .value = { (uint64_t)number(row, 7), (uint64_t)number(row, 8),
                                                 (uint64_t)number(row, 9) } };

                if (cause.cpu >= 0)
                        g_array_append_val(reader->causes, cause);
        }
}

/* idled's answer, as org.idled1(5) describes it. */
static void take_answer(SleepsReader *reader, LedgerTotals *totals)
{
        json_object *row, *rows;
        int cpu, state;

        rows = json_get(reader->answer, "Sleeps");
        JSON_FOREACH(row, rows) {
                cpu = row_cpu(reader, row);
                state = (int)number(row, 1);
                if (cpu >= 0 && state < SLEEPS_STATES)
                        take_stats(row, 2, &reader->sleeps[cpu * SLEEPS_STATES + state]);
        }
        rows = json_get(reader->answer, "Latencies");
        JSON_FOREACH(row, rows)
                if ((cpu = row_cpu(reader, row)) >= 0)
                        take_stats(row, 1, &reader->latencies[cpu]);
        rows = json_get(reader->answer, "Asleep");
        JSON_FOREACH(row, rows) {
                cpu = row_cpu(reader, row);
                if (cpu < 0)
                        continue;
                reader->current[cpu].state = (uint32_t)number(row, 1);
                reader->current[cpu].entered_ns = totals->now_ns - (uint64_t)number(row, 2);
        }
        take_causes(reader, json_get(reader->answer, "Causes"));
        totals->unpaired = (uint64_t)json_int(reader->answer, "BeganBefore", 0);
        totals->duration_ns = (uint64_t)json_int(reader->answer, "DurationNSec", 0);
        reader->missing = g_strdup(json_text(reader->answer, "Missing"));
        if (!*reader->missing)
                g_clear_pointer(&reader->missing, g_free);
}

static void end_elsewhere(SleepsReader *reader)
{
        int64_t now = g_get_monotonic_time();
        LedgerTotals *totals = &reader->result.totals;

        reader->sleeps = stats_new(reader->n_cpus * SLEEPS_STATES);
        reader->latencies = stats_new(reader->n_cpus);
        reader->current = g_new0(struct sleeper, (size_t)reader->n_cpus);
        reader->causes = g_array_new(FALSE, FALSE, sizeof(LedgerCause));
        totals->n_cpus = reader->n_cpus;
        totals->now_ns = (uint64_t)now * 1000;
        totals->duration_ns = (uint64_t)(now - reader->began) * 1000;
        if (reader->result.source == SLEEPS_SYSFS)
                end_counters(reader);
        else if (client_sleeps_read(reader->ctl->client, reader->number, &reader->answer,
                                    &reader->why) >= 0)
                take_answer(reader, totals);
        totals->sleeps = reader->sleeps;
        totals->latencies = reader->latencies;
        totals->current = reader->current;
        totals->causes = (const LedgerCause *)(void *)reader->causes->data;
        totals->n_causes = reader->causes->len;
}

const Sleeps *sleeps_end(SleepsReader *reader)
{
        if (reader->ledger) {
                reader->backend->stop(reader->ledger);
                reader->backend->read(reader->ledger, &reader->result.totals);
        } else {
                end_elsewhere(reader);
        }
        reader->result.tables = reader->tables;
        reader->result.why = reader->why;
        reader->result.missing = reader->missing;
        return &reader->result;
}

void sleeps_free(SleepsReader *reader)
{
        if (reader->ledger)
                reader->backend->close(reader->ledger);
        fd_close(&reader->session);
        json_object_put(reader->answer);
        if (reader->causes)
                g_array_free(reader->causes, TRUE);
        g_free(reader->tables);
        g_free(reader->why);
        g_free(reader->missing);
        g_free(reader->counters);
        g_free(reader->sleeps);
        g_free(reader->latencies);
        g_free(reader->current);
        g_free(reader);
}
