/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The history: what is kept of many changes, and how long CPUs were parked. */
#include "manager/history.h"
#include "set-of.h"
#include "table.h"

static void add(History *history, uint64_t i)
{
        g_autofree char *parked = g_strdup_printf("%u", (unsigned)(i % 8));
        g_autofree char *because = g_strdup_printf("reason %u", (unsigned)(i % 3));

        history_add(history,
                    &(Transition){ .time_usec = i,
                                   .parked = parked,
                                   .policy = "ondemand",
                                   .reason = { .because = because } },
                    &(CpuSet){ 0 });
}

static const struct {
        const char *name;
        uint64_t added, number;
        bool found;
} kept_cases[] = {
        { "nothing yet", 0, 1, false },
        { "no number", 5, 0, false },
        { "the first", 5, 1, true },
        { "the last", 5, 5, true },
        { "one that did not happen yet", 5, 6, false },
        { "the first of a full ring", HISTORY_KEPT, 1, true },
        { "the first that went", HISTORY_KEPT + 1, 1, false },
        { "the oldest that stays", HISTORY_KEPT + 1, 2, true },
        { "the last of many", 3 * HISTORY_KEPT + 7, 3 * HISTORY_KEPT + 7, true },
        { "an old one of many", 3 * HISTORY_KEPT + 7, 2 * HISTORY_KEPT + 7, false },
        { "the oldest of many", 3 * HISTORY_KEPT + 7, 2 * HISTORY_KEPT + 8, true },
};

TEST_EACH(kept, kept_cases)
{
        History *history = history_new(8, 0);
        const Transition *found;

        for (uint64_t i = 1; i <= c->added; i++)
                add(history, i);
        found = history_find(history, c->number);
        ck_assert_uint_eq(history_count(history), c->added);
        ck_case(c->name, (found != NULL) == c->found, "%s",
                found ? "found, expected nothing" : "not found");
        if (found) {
                g_autofree char *parked = g_strdup_printf("%u", (unsigned)(c->number % 8));
                g_autofree char *because = g_strdup_printf("reason %u", (unsigned)(c->number % 3));

                ck_assert_uint_eq(found->number, c->number);
                ck_assert_uint_eq(found->time_usec, c->number);
                ck_assert_str_eq(found->parked, parked);
                ck_assert_str_eq(found->reason.because, because);
        }
        history_free(history);
}

TEST(times)
{
        History *history = history_new(8, 0);
        CpuSet none = { 0 }, two = { 0 }, both = { 0 };

        cpuset_add_range(&two, 2, 2);
        cpuset_add_range(&both, 2, 3);
        ck_assert_uint_eq(history_parked_usec(history, 2, 100), 0);
        history_note_parked(history, &both, 100);
        ck_assert_uint_eq(history_parked_usec(history, 2, 100), 0);
        ck_assert_uint_eq(history_parked_usec(history, 3, 150), 50);
        history_note_parked(history, &both, 150); /* the same again */
        history_note_parked(history, &two, 200);
        history_note_parked(history, &none, 1000);
        history_note_parked(history, &none, 2000);
        ck_assert_uint_eq(history_parked_usec(history, 1, 3000), 0);
        ck_assert_uint_eq(history_parked_usec(history, 2, 3000), 900);
        ck_assert_uint_eq(history_parked_usec(history, 3, 3000), 100);
        history_note_parked(history, &two, 3000);
        ck_assert_uint_eq(history_parked_usec(history, 2, 3001), 901);
        history_free(history);
}

/* CPUs 0-3; CPU 3 goes offline before the second change, and is back after it. */
static const struct {
        const char *parked, *online;
        uint64_t usec;
        const char *moved;
        uint64_t since[4];
} changes[] = {
        { "", "0-3", 100, "", { 0, 0, 0, 0 } },
        { "2-3", "0-3", 200, "2-3", { 0, 0, 200, 200 } },
        { "2-3", "0-3", 300, "", { 0, 0, 200, 200 } },
        { "1", "0-2", 400, "1-2", { 0, 400, 400, 200 } },
        { "1", "0-3", 500, "3", { 0, 400, 400, 500 } },
};

TEST(moves)
{
        History *history = history_new(4, 50);

        for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
                CpuSet parked = set_of(changes[i].parked), online = set_of(changes[i].online);
                CpuSet moved = history_moved(history, &online, &parked);
                g_autofree char *text = cpuset_format(&moved);

                ck_assert_str_eq(text, changes[i].moved);
                if (!cpuset_is_empty(&moved))
                        history_add(history,
                                    &(Transition){ .time_usec = changes[i].usec,
                                                   .parked = changes[i].parked },
                                    &moved);
                for (int cpu = 0; cpu < 4; cpu++)
                        ck_assert_uint_eq(history_since_usec(history, cpu), changes[i].since[cpu]);
        }
        ck_assert_uint_eq(history_age_usec(history, 550), 500);
        history_free(history);
}

TEST(causes)
{
        static const struct {
                Cause cause;
                const char *policy;
        } cases[] = { { CAUSE_POLICY, "ondemand" }, { CAUSE_PAUSE, NULL },
                      { CAUSE_POLICY, "ondemand" }, { CAUSE_POLICY, NULL },
                      { CAUSE_POLICY, "pause" },    { CAUSE_POLICY, "ondemand" } };
        static const CauseCount expected[] = { { CAUSE_POLICY, "ondemand", 3 },
                                               { CAUSE_PAUSE, "", 1 },
                                               { CAUSE_POLICY, "", 1 },
                                               { CAUSE_POLICY, "pause", 1 } };
        History *history = history_new(8, 0);
        const CauseCount *found;

        ck_assert_uint_eq(history_causes(history, &found), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *policy = g_strdup(
                        cases[i].policy); /* of a module that is unloaded */

                history_add(
                        history,
                        &(Transition){ .parked = "1", .cause = cases[i].cause, .policy = policy },
                        &(CpuSet){ 0 });
        }
        ck_assert_uint_eq(history_causes(history, &found), G_N_ELEMENTS(expected));
        for (size_t i = 0; i < G_N_ELEMENTS(expected); i++) {
                ck_assert_int_eq(found[i].cause, expected[i].cause);
                ck_assert_str_eq(found[i].policy, expected[i].policy);
                ck_assert_uint_eq(found[i].count, expected[i].count);
        }
        history_free(history);
}

UNIT("history")
