/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* latency: holds become limits on their CPUs, and without them nothing is requested. */
#include "machine.h"
#include "table.h"
#include "world.h"

#define N_CPUS 8

/* A hold in few words; -1 and 0 as in Hold. */
typedef struct Asked {
        const char *cpus;
        int latency_us;
        unsigned min_khz, min_cores;
        bool global, keep;
} Asked;

static const struct {
        const char *name;
        const char *latencies; /* by CPU: "50 - -"; - is no limit */
        int global_us;
        const char *kept;                /* NULL: none */
        unsigned min_cores, fastest_khz; /* on CPU 0 */
        uint64_t floor_usec;
        Asked holds[3];
} cases[] = {
        { "no holds", "- - - - - - - -", -1 },
        { "one", "50 50 - - - - - -", -1, .holds = { { "0-1", 50 } } },
        { "the strictest wins", "100 100 20 20 20 20 - -", -1,
          .holds = { { "0-3", 100 }, { "2-5", 20 }, { "3", 200 } } },
        { "zero is the strictest", "0 - - - - - - -", -1, .holds = { { "0", 10 }, { "0", 0 } } },
        { "never shorter than the floor", "20 20 30 - - - - -", -1, .floor_usec = 20,
          .holds = { { "0", 0 }, { "1", 10 }, { "2", 30 } } },
        { "frequency", "- - - - - - - -", -1, .fastest_khz = 900000,
          .holds = { { "0-1", -1, 800000 }, { "0", -1, 900000 } } },
        { "cores, no CPUs", "- - - - - - - -", -1, .min_cores = 3,
          .holds = { { "0-7", -1, 0, 3 }, { "0-7", -1, 0, 2 } } },
        { "named CPUs stay", "- - - - 7 7 - -", -1, .kept = "2,4-5",
          .holds = { { "2", -1, 0, 0, false, true }, { "4-5", 7, 0, 0, false, true } } },
        { "global when asked for", "50 10 80 - - - - -", 50,
          .holds = { { "0", 50, 0, 0, true }, { "1", 10 }, { "2", 80, 0, 0, true } } },
        { "no CPU of the hold is online", "- - - - - - - -", -1, .holds = { { "", 50 } } },
        { "CPUs beyond the machine", "- - - - - - - 50", -1, .holds = { { "7-20", 50 } } },
};

static int fill_holds(const Asked *asked, Hold *holds)
{
        int n = 0;

        for (; n < 3 && asked[n].cpus; n++)
                holds[n] = (Hold){
                        .id = (uint64_t)n + 1,
                        .reason = "a game",
                        .cpus = set_of(asked[n].cpus),
                        .latency_us = asked[n].latency_us,
                        .min_khz = asked[n].min_khz,
                        .min_cores = asked[n].min_cores,
                        .global = asked[n].global,
                        .keep = asked[n].keep,
                };
        return n;
}

static char *latencies_text(const CpuWish *cpus)
{
        GString *text = g_string_new(NULL);

        for (int i = 0; i < N_CPUS; i++) {
                g_string_append(text, i > 0 ? " " : "");
                if (cpus[i].latency_us >= 0)
                        g_string_append_printf(text, "%d", cpus[i].latency_us);
                else
                        g_string_append_c(text, '-');
        }
        return g_string_free(text, FALSE);
}

TEST_EACH(wishes, cases)
{
        g_autofree char *latencies = NULL, *kept = NULL;
        CpuWish cpus[N_CPUS];
        Hold holds[3];
        PolicyInput input = { .holds = holds,
                              .n_holds = fill_holds(c->holds, holds),
                              .options = &c->floor_usec };
        Wish wish;

        wish_init(&wish);
        wish_init_cpus(&wish, cpus, N_CPUS);
        idled_policy.decide(NULL, &input, &wish);
        latencies = latencies_text(cpus);
        kept = cpuset_format(&wish.kept);
        ck_case(c->name, g_str_equal(latencies, c->latencies), "found %s, expected %s", latencies,
                c->latencies);
        ck_case(c->name, g_str_equal(kept, c->kept ?: ""), "keeps %s, expected %s", kept, c->kept);
        ck_case(c->name, wish.min_cores == c->min_cores, "wants %u cores", wish.min_cores);
        ck_case(c->name, cpus[0].min_khz == c->fastest_khz, "wants %u kHz", cpus[0].min_khz);
        ck_case(c->name, wish.global_latency_us == c->global_us, "globally %d",
                wish.global_latency_us);
        ck_case(c->name, wish.period_usec == 0 && wish.settled && !wish.on_pressure,
                "wants to be called again");
}

TEST(explains)
{
        Asked asked[] = { { "0-1", 100 }, { "0", 30 }, { "0-1", 30, 800000 } };
        uint64_t floor_usec = 0;
        Reason reasons[EXPLAIN_MAX];
        Hold holds[3];
        PolicyInput input = { .holds = holds, .options = &floor_usec };

        input.n_holds = fill_holds(asked, holds);
        holds[1].reason = "audio";
        ck_assert_int_eq(idled_policy.explain(NULL, &input, 0, reasons), 2);
        ck_assert_str_eq(reasons[0].because, "audio");
        ck_assert_str_eq(reasons[0].inputs[0].name, "hold");
        ck_assert(reasons[0].inputs[0].value == 2);
        ck_assert(reasons[0].inputs[1].value == 30);
        ck_assert_ptr_null(reasons[0].option);
        ck_assert_str_eq(reasons[1].because, "a game");
        ck_assert(reasons[1].inputs[1].value == 800);
        ck_assert_int_eq(idled_policy.explain(NULL, &input, 1, reasons), 2);
        ck_assert(reasons[0].inputs[0].value == 3);
        ck_assert_int_eq(idled_policy.explain(NULL, &input, 2, reasons), 0);
        floor_usec = 60;
        ck_assert_int_eq(idled_policy.explain(NULL, &input, 0, reasons), 2);
        ck_assert_str_eq(reasons[0].option, "Floor");
}

UNIT("latency")
