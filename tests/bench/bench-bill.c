/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the bill of wake-ups costs, and whether it is right.
 *
 * The cost of a wake-up is the time of the programs, as the kernel measures it (BPF_ENABLE_STATS),
 * over the wake-ups that were counted. At 1,000 a second a timer wakes a thread; at most a second,
 * two threads of a CPU wake each other. Truth is a thread that takes the time itself; for splits,
 * the number of wake-ups that can only be of one kind.
 */
#include <stdint.h>
#include <sys/prctl.h>

#include "../unit/bill-units.h"
#include "bench.h"
#include "wakers.h"

#define SECONDS 3
#define ROUNDS  5
#define SLEEP   700000 /* ns: no multiple of a tick */

static void sleep_until(uint64_t due)
{
        struct timespec at = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* A wake-up each `period_ns`, and how late each was. */
static void be_woken(GArray *late_ns, uint64_t period_ns)
{
        uint64_t end = now_ns() + SECONDS * UINT64_C(1000000000), due = now_ns();

        pin(0);
        while (due < end) {
                uint64_t late;

                due = MAX(due + period_ns, now_ns() + period_ns / 2);
                sleep_until(due);
                late = now_ns() - due;
                g_array_append_val(late_ns, late);
        }
}

static void play_1000(GArray *late_ns)
{
        be_woken(late_ns, 1000000);
}

static void play_sleeps(GArray *late_ns)
{
        be_woken(late_ns, SLEEP);
}

static void play_most(GArray *late_ns G_GNUC_UNUSED)
{
        play(0, SECONDS);
}

static void *be_busy(void *data)
{
        atomic_bool *over = data;

        pin(0);
        while (!*over)
                ;
        return NULL;
}

/* A task of equal weight has the CPU whenever the timer expires. */
static void play_waits(GArray *late_ns)
{
        atomic_bool over = false;
        pthread_t busy;

        pthread_create(&busy, NULL, be_busy, &over);
        be_woken(late_ns, SLEEP);
        over = true;
        pthread_join(busy, NULL);
}

static WakeupDelays sum_units(const char *process, unsigned first, unsigned last)
{
        WakeupDelays sum = { 0 };

        for (unsigned i = 0; i < units->len; i++) {
                WakeupDelays one;

                unit_wakeups_sum(units->pdata[i], first, last, &one);
                if (!process || g_strcmp0(((UnitWakeups *)units->pdata[i])->process, process) == 0)
                        wakeups_merge(&sum, &one);
        }
        return sum;
}

/* Exits if the kernel refuses. */
static Bill *open_bill(void)
{
        Bill *bill;
        int r = bill_open((int)sysconf(_SC_NPROCESSORS_CONF), BILL_PROCESSES, &bill);

        if (r < 0) {
                g_autofree char *why = bill_error(r);

                printf("left out: %s\n", why);
                exit(77);
        }
        return bill;
}

static void measure_cost(const char *title, void (*load)(GArray *late_ns), double rate,
                         double asked)
{
        double rounds[ROUNDS], rates[ROUNDS], shares[ROUNDS];
        int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

        for (int i = 0; i < ROUNDS; i++) {
                g_autoptr(GArray) late = g_array_new(FALSE, FALSE, sizeof(uint64_t));
                BillReading reading;
                Bill *bill = open_bill();
                double ran = programs_ns(), n;

                load(late);
                ran = programs_ns() - ran;
                units_read(bill, &reading);
                bill_close(bill);
                n = (double)sum_units(NULL, 0, WAKEUPS_KINDS - 1).count;
                rounds[i] = ran / n;
                rates[i] = n * 1e9 / (double)reading.duration_ns;
                shares[i] = (double)reading.skipped * 100 / n;
        }
        fd_close(&stats);
        qsort(rounds, ROUNDS, sizeof(rounds[0]), compare_doubles);
        printf("%-8s %6.0f wake-ups/s, %2.0f %% of them not in the sample: %4.0f ns each (best of "
               "%d; "
               "median %.0f) = %.3f %% of a CPU at %.0f/s (asked: %g %%)\n",
               title, rates[ROUNDS / 2], shares[ROUNDS / 2], rounds[0], ROUNDS, rounds[ROUNDS / 2],
               rounds[0] * rate / 1e7, rate, asked);
}

static int by_value(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static void print_quantile(const WakeupDelays *delays, const GArray *sorted, double q)
{
        double truth = (double)g_array_index(sorted, uint64_t, (guint)(q * sorted->len)) / 1e3;
        double us = wakeups_quantile_us(delays, q);

        printf("p%g %.1f us, by itself %.1f (%+.1f %%); ", q * 100, us, truth,
               (us / truth - 1) * 100);
}

/* `cpu` is parked, -1: none. The kind 0: they can be of several ones. */
static void compare(const char *title, void (*load)(GArray *late_ns), int cpu, unsigned kind)
{
        g_autoptr(GArray) late = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        BillReading reading;
        Bill *bill = open_bill();
        WakeupDelays all, kinds;
        CpuSet parked = { 0 };

        cpuset_add(&parked, cpu);
        bill_set_parked(bill, &parked, 1);
        load(late);
        units_read(bill, &reading);
        bill_close(bill);
        all = sum_units(g_get_prgname(), 0, WAKEUPS_KINDS - 1);
        kinds = sum_units(g_get_prgname(), kind, kind);
        g_array_sort(late, by_value);
        printf("%s: ", title);
        print_quantile(&all, late, 0.5);
        print_quantile(&all, late, 0.99);
        if (kind)
                printf("%.1f %% of the only kind that they can be (asked: within 5 %%)",
                       (double)kinds.count * 100 / (double)all.count);
        printf("\n");
}

int main(int argc, char **argv)
{
        g_set_prgname("bench-bill");
        prctl(PR_SET_TIMERSLACK, 1);
        measure_cost("1,000/s", play_1000, 1000, 0.1);
        measure_cost("at most", play_most, 100000, 3);
        compare("timers", play_sleeps, -1, 0);
        compare("busy CPU", play_waits, -1, WAKEUPS_WAITING);
        compare("busy CPU, one of the affinity is parked", play_waits, 0, WAKEUPS_PARKED);
        return bench_status;
}
