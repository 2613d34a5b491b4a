/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sleep ledger on the running kernel: causes sum to sleeps, a timer of known pace is found, a
 * sleep in progress is seen, and a kernel that refuses is reported. Skipped where BPF is refused.
 */
#include <sched.h>
#include <sys/wait.h>
#include <time.h>

#include "bpf/ledger.h"
#include "table.h"

#define NAPS   200
#define NAP    2000000 /* ns */
#define NOBODY 65534

static const LedgerBackend *backend;
static LedgerCpu cpus[4] = { { .latency_us = -1, .deepest_ns = 1000000000 },
                             { .latency_us = -1, .deepest_ns = 1000000000 },
                             { .latency_us = -1, .deepest_ns = 1000000000 },
                             { .latency_us = -1, .deepest_ns = 1000000000 } };

static void find_backend(void)
{
        g_autofree char *error = NULL;

        backend = ledger_backend(LEDGER_DIR, &error);
        ck_assert_msg(backend, "%s", error);
}

/* NULL where the kernel refuses; then the case is skipped. */
static Ledger *open_ledger(bool records)
{
        LedgerConfig config = { .causes = true,
                                .latencies = true,
                                .records = records,
                                .n_cpus = G_N_ELEMENTS(cpus),
                                .cpus = cpus };
        g_autofree char *error = NULL;
        Ledger *ledger = NULL;

        find_backend();
        if (backend->open(&config, &ledger, &error) < 0) {
                ck_assert_str_ne(error, "");
                case_skip("ledger", error);
                return NULL;
        }
        return ledger;
}

/* Sleeps NAPS times. */
static void nap_on(int cpu)
{
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
        for (int i = 0; i < NAPS; i++)
                nanosleep(&(struct timespec){ .tv_nsec = NAP }, NULL);
}

static void nap(void)
{
        nap_on(0);
}

static uint64_t count_sleeps(const LedgerTotals *totals)
{
        uint64_t n = 0;

        for (int i = 0; i < totals->n_cpus * SLEEPS_STATES; i++)
                n += totals->sleeps[i].count;
        return n;
}

static uint64_t count_causes(const LedgerTotals *totals)
{
        uint64_t n = 0;

        for (size_t i = 0; i < totals->n_causes; i++)
                n += totals->causes[i].value.count;
        return n;
}

/* Read in between, too: the two always agree. */
TEST(causes_sum_to_sleeps)
{
        Ledger *ledger = open_ledger(false);
        uint64_t before = 0;
        LedgerTotals totals;

        if (!ledger)
                return;
        for (int i = 0; i < 4; i++) {
                nap();
                if (i == 3)
                        backend->stop(ledger);
                backend->read(ledger, &totals);
                ck_assert_uint_eq(count_causes(&totals), count_sleeps(&totals));
                ck_assert_uint_ge(count_sleeps(&totals), before);
                before = count_sleeps(&totals);
        }
        backend->read(ledger, &totals); /* of one that has stopped: the same again */
        ck_assert_uint_eq(count_sleeps(&totals), before);
        backend->close(ledger);
}

/* On a busy machine some naps are missing because no CPU sleeps; none may be added. */
TEST(a_timer_is_found)
{
        uint64_t found = 0, named = 0, sleeps = 0;
        Ledger *ledger = open_ledger(false);
        LedgerTotals totals;

        if (!ledger)
                return;
        nap();
        backend->stop(ledger);
        backend->read(ledger, &totals);
        for (int state = 0; state < SLEEPS_STATES; state++)
                sleeps += totals.sleeps[state].count;
        for (size_t i = 0; i < totals.n_causes; i++) {
                const LedgerCause *cause = &totals.causes[i];

                if (cause->cpu != 0 || cause->kind != CAUSE_TIMER ||
                    g_strcmp0(cause->function, "hrtimer_wakeup") != 0)
                        continue;
                found += cause->value.count;
                if (g_strcmp0(cause->name, "check-ledger") == 0) {
                        named += cause->value.count;
                        ck_assert_uint_gt(cause->value.short_ns, 0);
                        ck_assert_uint_le(cause->value.slept_ns,
                                          cause->value.count * UINT64_C(1000000000));
                }
        }
        if (sleeps < NAPS / 4)
                case_skip("timer", "CPU 0 is too busy to sleep");
        else
                ck_assert_msg(named >= 1 && named <= NAPS, "%lu of %d naps found among %lu sleeps",
                              (unsigned long)named, NAPS, (unsigned long)sleeps);
        ck_assert_uint_le(named, found);
        backend->close(ledger);
}

typedef struct Recorded {
        uint64_t n, without_length;
} Recorded;

static void check_record(const struct sleep_record *record, const LedgerCause *cause, void *data)
{
        Recorded *recorded = data;

        ck_assert_uint_lt(record->cpu, 8192);
        ck_assert_uint_lt(record->state, SLEEPS_STATES);
        ck_assert_uint_gt(record->entered_ns, 0);
        ck_assert_uint_le(record->idle_ns, UINT64_C(60) * 1000000000);
        ck_assert_uint_le(record->utilization, UTILIZATION_MAX);
        ck_assert_uint_le(record->resched, 1);
        recorded->n++;
        recorded->without_length += record->length_ns == 0;
}

/* From when each CPU had a timer: before that the length of its sleeps is not known. */
TEST(every_sleep_is_recorded)
{
        Ledger *ledger = open_ledger(true);
        Recorded first = { 0 }, recorded = { 0 };
        LedgerTotals totals;
        uint64_t sleeps, last;

        if (!ledger)
                return;
        for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_CONF); cpu++)
                nap_on(cpu);
        backend->take(ledger, check_record, &first);
        backend->read(ledger, &totals);
        sleeps = count_sleeps(&totals);
        nap();
        backend->take(ledger, check_record, &recorded);
        backend->stop(ledger);
        backend->take(ledger, check_record, &recorded);
        backend->read(ledger, &totals);
        last = (uint64_t)totals.n_cpus;
        sleeps = count_sleeps(&totals) - sleeps;
        ck_assert_uint_le(recorded.n + totals.records_lost, sleeps + last);
        ck_assert_uint_ge(recorded.n + totals.records_lost + last, sleeps);
        /* The next timer is seldom due already. */
        ck_assert_uint_le(first.without_length + recorded.without_length,
                          (first.n + recorded.n) / 10);
        backend->close(ledger);
}

/* Not root: refused, with what is missing; nothing crashes. */
TEST(refused)
{
        g_autofree char *error = NULL;
        LedgerConfig config = { .causes = true };
        Ledger *ledger = NULL;

        find_backend();
        if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)) {
                case_skip("refused", "the user cannot be changed");
                return;
        }
        ck_assert_int_lt(backend->open(&config, &ledger, &error), 0);
        ck_assert_ptr_null(ledger);
        ck_assert_ptr_nonnull(strstr(error, "CAP_BPF"));
}

TEST(no_module)
{
        g_autofree char *error = NULL;

        g_unsetenv("IDLED_LEDGER_DIR");
        ck_assert_ptr_null(ledger_backend("/nonexistent", &error));
        ck_assert_ptr_nonnull(strstr(error, "/nonexistent/ledger.so"));
}

UNIT("ledger", .timeout = 60)
