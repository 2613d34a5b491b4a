/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cstates: limits learned from sleeps that are made up. */
#include "cstates-sleeps.h"

/* For `seconds` a hundred sleeps a second, which take turns in having these lengths. Returns in
 * what share of the looks state `name` was the deepest allowed. */
static double run(Machine *m, int number, const double *lengths_us, int n, int seconds,
                  const char *name)
{
        Sleeper cpu = { .machine = m, .number = number };
        int hits = 0;

        for (int s = 0; s < seconds; s++) {
                for (int i = 0; i < 100; i++)
                        cpu_sleep(&cpu, lengths_us[i % n]);
                look(m, 1000000);
                hits += strcmp(m->tables[number].states[allowed(&cpu)].name, name) == 0;
        }
        return (double)hits / seconds;
}

static const struct {
        const char *name, *table, *options;
        double lengths_us[4];
        int n;
        const char *state;
        double least; /* share of looks, after 60 s */
} converging[] = {
        { "30 us", CLIENT, "", { 30 }, 1, "C1E", 0.9 },
        { "5 us", CLIENT, "", { 5 }, 1, "C1", 0.9 },
        { "1 ms", CLIENT, "", { 1000 }, 1, "C7s", 0.9 },
        { "1 us, but nothing polls", CLIENT, "", { 1 }, 1, "C1", 0.9 },
        { "phone", PHONE, "", { 100 }, 1, "WFI", 0.9 },
        { "mostly short", CLIENT, "", { 30, 30, 30, 1000 }, 4, "C1E", 0.5 },
        { "one sleeping state", GUEST, "", { 30 }, 1, "haltpoll", 1 },
};

TEST_EACH(converges, converging)
{
        g_auto(Machine) m = history_start(c->table, c->options);
        double share;

        run(&m, 0, c->lengths_us, c->n, 60, c->state);
        share = run(&m, 0, c->lengths_us, c->n, 600, c->state);
        ck_case(c->name, share >= c->least, "%s in %.3f of the looks", c->state, share);
}

/* Short and long sleeps in turn draw both, neither always. */
TEST(alternates)
{
        static const double lengths_us[] = { 30, 1000 };
        g_auto(Machine) m = history_start("C1:2:2 C6:133:400", "");
        double share;

        run(&m, 0, lengths_us, 2, 60, "C1");
        share = run(&m, 0, lengths_us, 2, 2000, "C1");
        ck_assert_msg(share > 0.25 && share < 0.75, "C1 in %.3f of the looks", share);
}

/* A CPU that changes its ways is followed, both ways. */
TEST(changes_regime)
{
        static const double brief[] = { 30 }, lasting[] = { 2000 };
        g_auto(Machine) m = history_start(CLIENT, "");

        for (int i = 0; i < 5; i++) {
                run(&m, 0, brief, 1, 100, "C1E");
                ck_assert_double_ge(run(&m, 0, brief, 1, 100, "C1E"), 0.8);
                run(&m, 0, lasting, 1, 100, "C7s");
                ck_assert_double_ge(run(&m, 0, lasting, 1, 100, "C7s"), 0.8);
        }
}

/* What was drawn in 300 looks, as letters. */
static char *drawn(void)
{
        static const double lengths_us[] = { 30, 300, 30, 3000 };
        g_auto(Machine) m = history_start(CLIENT, "");
        Sleeper cpu = { .machine = &m };
        GString *text = g_string_new(NULL);

        for (int i = 0; i < 300; i++) {
                run(&m, 0, lengths_us, 4, 1, "");
                g_string_append_c(text, (char)('0' + allowed(&cpu)));
        }
        return g_string_free(text, FALSE);
}

TEST(reproducible)
{
        g_autofree char *first = drawn(), *again = drawn();

        ck_assert_str_eq(first, again);
}

/* Without sleeps nothing is drawn, and the same snapshot twice teaches once. */
TEST(nothing_new)
{
        static const double lengths_us[] = { 30, 1000 };
        g_auto(Machine) m = history_start(CLIENT, "");
        Figure figures[FIGURES_MAX];
        int32_t before;

        look(&m, 1000000);
        ck_assert_int_eq(m.world->cpus[0].latency_us, -1);
        ck_assert(m.world->wish.settled);
        run(&m, 0, lengths_us, 2, 20, "C1");
        ck_assert(!m.world->wish.settled);
        before = m.world->cpus[0].latency_us;
        for (int i = 0; i < 50; i++) {
                look(&m, 1000000);
                ck_assert_int_eq(m.world->cpus[0].latency_us, before);
                ck_assert(m.world->wish.settled);
        }
        m.world->snapshot->residency[0].entered[1] = 100;
        decide(&m, 1000000);
        before = m.world->cpus[0].latency_us;
        ck_assert_int_eq(idled_policy.figures(m.world->state, 0, figures), 4);
        ck_assert(figures[0].value + figures[1].value + figures[2].value == 2100);
        m.world->snapshot->time_usec -= 1000;
        for (int i = 0; i < 50; i++) {
                m.world->snapshot->time_usec -= 1000000;
                decide(&m, 1000000 + (i == 0 ? 1000 : 0));
                ck_assert_int_eq(m.world->cpus[0].latency_us, before);
        }
        idled_policy.figures(m.world->state, 0, figures);
        ck_assert(figures[0].value + figures[1].value + figures[2].value == 2100);
}

/* Figures are the kernel's counts; counts that contradict each other make none negative. */
TEST(figures)
{
        g_auto(Machine) m = history_start(CLIENT, "");
        Residency *row = &m.world->snapshot->residency[1];
        Figure f[FIGURES_MAX];

        row->entered[0] = 4;
        row->below[0] = 4;
        row->entered[3] = 10;
        row->above[3] = 3;
        row->below[3] = 2;
        row->entered[5] = 5;
        row->above[5] = 7;
        row->below[5] = UINT32_MAX;
        look(&m, 1000000);
        ck_assert_int_eq(idled_policy.figures(m.world->state, 1, f), 4);
        ck_assert_str_eq(f[0].name, "correct");
        ck_assert(f[0].value == 5 && f[1].value == 8 && f[2].value == 6);
        ck_assert_double_eq_tol(f[3].value, 100.0 * 5 / 19, 1e-9);
        ck_assert_int_eq(idled_policy.figures(m.world->state, 0, f), 0);
}

/* CPUs learn each for itself. */
TEST(explained)
{
        static const double lengths_us[] = { 30 };
        g_auto(Machine) m = history_start(CLIENT, "");
        Reason reasons[EXPLAIN_MAX];

        run(&m, 0, lengths_us, 1, 100, "C1E");
        ck_assert_int_eq(explain(&m, 0, reasons), 1);
        ck_assert_str_eq(reasons[0].inputs[0].name, "C1E");
        ck_assert_double_ge(reasons[0].inputs[1].value, 90);
        ck_assert_str_eq(reasons[0].option, "History");
        ck_assert_int_eq(explain(&m, 1, reasons), 1);
        ck_assert_str_eq(reasons[0].option, "History");
        ck_assert_int_eq(m.world->cpus[1].latency_us, -1);
}

/* On a kernel without the counters the policy does not keep idled ticking for them. */
TEST(unreported)
{
        g_auto(Machine) m = history_start(CLIENT, "");
        Reason reasons[EXPLAIN_MAX];

        m.world->snapshot->have &= ~(unsigned)SENSE_IDLE_STATISTICS;
        look(&m, 1000000);
        ck_assert(!m.world->wish.settled);
        m.world->interval_sec = 1;
        look(&m, 0);
        ck_assert_msg(!m.world->wish.settled, "a hold came: it is the same reading");
        for (int i = 0; i < 5; i++)
                look(&m, 1000000);
        ck_assert(m.world->wish.settled);
        ck_assert_int_eq(explain(&m, 0, reasons), 1);
        ck_assert(says(reasons[0].because, "kernel|does not count"));
        m.world->snapshot->have |= SENSE_IDLE_STATISTICS;
        m.world->snapshot->residency[0].entered[2] = 10;
        look(&m, 1000000);
        ck_assert(!m.world->wish.settled);
}

UNIT("cstates-history")
