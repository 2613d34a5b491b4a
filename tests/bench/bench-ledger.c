/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sleep ledger costs, and whether it counts every sleep: two threads on two CPUs wake each
 * other as fast as they can. Truth is the kernel's own count of idle states that were left.
 *
 * Rounds with and without the ledger alternate, so that what else the machine does meets both. The
 * cost of a sleep is that of its programs, as the kernel measures it (BPF_ENABLE_STATS), and, next
 * to it, by how much the ledger makes a round trip longer: there the kernel's way to the programs
 * is included, and the host's noise as well.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "bpf/ledger.h"
#include "bench.h"
#include "wakers.h"

#define ROUND_SECONDS 1.5
#define ROUNDS        5
#define SLEEPS        10000 /* a second: what costs are computed for */
#define SLEEPS_LEAST  1000  /* a second: with fewer the machine is too busy to say anything */

typedef struct Mode {
        const char *title;
        LedgerConfig config;
        double target; /* percent of a CPU at SLEEPS; 0: none */
} Mode;

typedef struct Result {
        double trip_usec, program_ns; /* per round trip, per sleep */
        double error_percent, unknown_percent, sleeps;
        uint64_t lost;
} Result;

/* How often the CPUs left an idle state; -1 without cpuidle. */
static double count_usage(int n_cpus)
{
        double sum = -1;

        for (int cpu = 0; cpu < n_cpus; cpu++) {
                for (int state = 0; state < 10; state++) {
                        g_autofree char *path = g_strdup_printf(
                                "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/usage", cpu, state);
                        g_autofree char *text = NULL;

                        if (!g_file_get_contents(path, &text, NULL, NULL))
                                break;
                        sum = (sum < 0 ? 0 : sum) + strtod(text, NULL);
                }
        }
        return sum;
}

static double sum_sleeps(const LedgerTotals *totals)
{
        double n = 0;

        for (int i = 0; i < totals->n_cpus * SLEEPS_STATES; i++)
                n += (double)totals->sleeps[i].count;
        return n;
}

static void drop(const struct sleep_record *record, const LedgerCause *cause, void *data)
{
        (*(double *)data)++;
}

typedef struct Taker {
        const LedgerBackend *backend;
        Ledger *ledger;
        atomic_bool over;
        double taken;
} Taker;

/* As idlelab record does. */
static void *take_records(void *data)
{
        Taker *taker = data;

        while (!taker->over) {
                nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
                taker->backend->take(taker->ledger, drop, &taker->taken);
        }
        return NULL;
}

static Result measure(const LedgerBackend *backend, const Mode *mode)
{
        g_autofree char *error = NULL;
        double usage, ran, causes = 0, unknown = 0;
        Taker taker = { .backend = backend };
        pthread_t reader;
        Ledger *ledger = NULL;
        LedgerTotals totals;
        Result result;

        if (backend->open(&mode->config, &ledger, &error) < 0) {
                fprintf(stderr, "%s\n", error);
                exit(EXIT_FAILURE);
        }
        usage = count_usage((int)sysconf(_SC_NPROCESSORS_CONF));
        ran = programs_ns();
        taker.ledger = ledger;
        if (mode->config.records)
                pthread_create(&reader, NULL, take_records, &taker);
        result.trip_usec = play(1, ROUND_SECONDS);
        taker.over = true;
        if (mode->config.records)
                pthread_join(reader, NULL);
        ran = programs_ns() - ran;
        usage = count_usage((int)sysconf(_SC_NPROCESSORS_CONF)) - usage;
        backend->stop(ledger);
        backend->read(ledger, &totals);
        for (size_t i = 0; i < totals.n_causes; i++) {
                const LedgerCause *cause = &totals.causes[i];

                causes += (double)cause->value.count;
                if (cause->kind == CAUSE_UNKNOWN)
                        unknown += (double)cause->value.count;
        }
        result.sleeps = sum_sleeps(&totals) / ((double)totals.duration_ns / 1e9);
        result.program_ns = ran / sum_sleeps(&totals);
        result.error_percent = (sum_sleeps(&totals) - usage) / usage * 100;
        result.unknown_percent = causes ? unknown / causes * 100 : NAN;
        result.lost = totals.records_lost;
        if (mode->config.causes && causes != sum_sleeps(&totals))
                printf("%s: %.0f causes of %.0f sleeps\n", mode->title, causes,
                       sum_sleeps(&totals));
        if (g_getenv("LEDGER_CAUSES"))
                for (size_t i = 0; i < totals.n_causes; i++) {
                        g_autofree char *text = ledger_cause_text(&totals.causes[i]);

                        printf("  cpu%d state%d %6lu %s %s\n", totals.causes[i].cpu,
                               totals.causes[i].state, (unsigned long)totals.causes[i].value.count,
                               text, totals.causes[i].unit ?: "");
                }
        backend->close(ledger);
        return result;
}

static double median(double *values, size_t n)
{
        qsort(values, n, sizeof(*values), compare_doubles);
        return values[n / 2];
}

static void compare(const LedgerBackend *backend, const Mode *mode)
{
        double with[ROUNDS], without[ROUNDS], programs[ROUNDS], errors[ROUNDS], added;
        double sleeps = 0;
        int stats = -1;
        Result result;

        for (int i = 0; i < ROUNDS; i++) {
                without[i] = play(1, ROUND_SECONDS);
                with[i] = measure(backend, mode).trip_usec;
        }
        stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
        for (int i = 0; i < ROUNDS; i++) {
                result = measure(backend, mode);
                programs[i] = result.sleeps < SLEEPS_LEAST ? INFINITY : result.program_ns;
                errors[i] = result.sleeps < SLEEPS_LEAST ? 0 : fabs(result.error_percent);
                sleeps = MAX(sleeps, result.sleeps);
        }
        fd_close(&stats);
        median(errors, ROUNDS);
        median(programs, ROUNDS); /* on a busy machine CPUs hardly sleep: the best round counts */
        if (sleeps < SLEEPS_LEAST) {
                printf("%-16s left out: this machine is busy, %.0f sleeps/s\n", mode->title,
                       sleeps);
                return;
        }
        /* A round trip has two sleeps, one after the other. */
        added = (median(with, ROUNDS) - median(without, ROUNDS)) * 1e3 / 2;
        printf("%-16s %7.0f sleeps/s, programs %4.0f ns a sleep = %.2f %% of a CPU at %d sleeps/s",
               mode->title, sleeps, programs[0], programs[0] * SLEEPS / 1e7, SLEEPS);
        if (mode->target)
                printf(" (asked: %g %%)", mode->target);
        printf("; a sleep takes %.0f ns longer (round trip %.1f us, without %.1f)", added,
               with[ROUNDS / 2], without[ROUNDS / 2]);
        printf("; count differs from the kernel's by %.3f %% (asked: 1 %%)", errors[ROUNDS - 1]);
        if (mode->config.causes)
                printf("; %.2f %% of unknown cause", result.unknown_percent);
        if (mode->config.records)
                printf("; %lu records lost", (unsigned long)result.lost);
        puts("");
}

/* Arguments are titles of modes; without them all. */
int main(int argc, char **argv)
{
        LedgerCpu cpus[2] = { { .latency_us = -1 }, { .latency_us = -1 } };
        Mode modes[] = {
                { "counts", { .n_cpus = 2, .cpus = cpus }, 1 },
                { "with causes", { .causes = true, .n_cpus = 2, .cpus = cpus }, 4 },
                { "with latencies",
                  { .causes = true, .latencies = true, .n_cpus = 2, .cpus = cpus },
                  0 },
                { "with records", { .records = true, .n_cpus = 2, .cpus = cpus }, 2 },
        };
        g_autofree char *error = NULL;
        const LedgerBackend *backend = ledger_backend(need_variable("IDLED_LEDGER"), &error);

        if (!backend || sysconf(_SC_NPROCESSORS_ONLN) < 2) {
                printf("left out: %s\n", error ?: "it takes two CPUs");
                return 77;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(modes); i++)
                if (argc < 2 || g_strv_contains((const char *const *)argv + 1, modes[i].title))
                        compare(backend, &modes[i]);
        return EXIT_SUCCESS;
}
