/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of idle states: what is read, what is refused and where, energies, and the right state. */
#include "governors/governor.h"
#include "table.h"

#define LINE "S 0 0 1\n"

static const struct {
        const char *text;
        int n; /* states; 0: refused */
        const char *where, *what;
} texts[] = {
        { LINE, 1, NULL, NULL },
        { "S 0 0 1", 1, NULL, NULL },
        { "# comment\n\n  S\t0 0 1 # state\r\n", 1, NULL, NULL },
        { "A 0 0 1 poll\nB 1 1 0.5 off\nC 2 2 0 poll,off\n", 3, NULL, NULL },
        { "A 0 0 -\n", 1, NULL, NULL },
        { "A 4294967295 4294967295 1\n", 1, NULL, NULL },
        { "A 5 5 1\nB 2 5 1\n", 2, NULL, NULL },
        { LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE, 10, NULL, NULL },
        { LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE, 0, ":11:1: ", "at most 10" },
        { "", 0, ":1:1: ", "no state" },
        { "# none\n", 0, ":1:1: ", "no state" },
        { "A\n", 0, ":1:2: ", "exit latency" },
        { "A 1\n", 0, ":1:4: ", "target residency" },
        { LINE "A 1 1\n", 0, ":2:6: ", "power" },
        { "A x 1 1\n", 0, ":1:3: found 'x'", "exit latency" },
        { "A 1 -1 1\n", 0, ":1:5: found '-1'", "target residency" },
        { "A 1.5 1 1\n", 0, ":1:3: found '1.5'", "exit latency" },
        { "A 4294967296 1 1\n", 0, ":1:3: ", "exit latency" },
        { "A 1 1 -5\n", 0, ":1:7: found '-5'", "power" },
        { "A 1 1 nan\n", 0, ":1:7: ", "power" },
        { "A 1 1 99999999999\n", 0, ":1:7: ", "power" },
        { "A 1 1 1 pol\n", 0, ":1:9: found 'pol'", "poll" },
        { "A 1 1 1 off poll\n", 0, ":1:13: found 'poll'", "end of the line" },
        { "A 1 9 1\nB 2 8 1\n", 0, ":2:1: ", "shallowest" },
        { "a-name-that-is-longer-than-31-bytes 1 1 1\n", 0, ":1:1: ", "31 bytes" },
        { "\xff 1 1 1\n", 0, ":1:1: ", "UTF-8" },
};

TEST_EACH(reads_and_refuses, texts)
{
        g_autofree char *error = NULL;
        StateTable table = { .n = -1 };
        int r = state_table_parse(c->text, "t", &table, &error);

        if (c->n > 0) {
                ck_case(c->text, r == 0, "refused: %s", error);
                ck_assert_int_eq(table.n, c->n);
                return;
        }
        ck_case(c->text, r == -EINVAL, "accepted");
        ck_assert_int_eq(table.n, -1);
        ck_case(c->text,
                g_str_has_prefix(error + 1, c->where) && *error == 't' && strstr(error, c->what),
                "%s", error);
}

static StateTable parse(const char *text)
{
        g_autofree char *error = NULL;
        StateTable table;

        ck_assert_msg(state_table_parse(text, "t", &table, &error) == 0, "%s", error);
        return table;
}

/* At a state's target residency it needs as much as the one before. */
TEST(breaks_even_at_target_residency)
{
        StateTable table = parse("A 0 0 4000 poll\nB 2 2 1600\nC 10 20 1000\nD 99 400 150\n");

        ck_assert(table.has_power);
        for (int i = 1; i < table.n; i++) {
                const ReplayState *deep = &table.states[i], *shallow = deep - 1;
                double ns = (double)deep->residency_ns;

                ck_assert_double_eq_tol(deep->power_mw * ns + deep->entry_mw_ns,
                                        shallow->power_mw * ns + shallow->entry_mw_ns, 1e-6);
        }
}

TEST(unknown_power_is_unknown)
{
        StateTable table = parse("A 0 0 4000\nB 2 2 -\n");

        ck_assert(!table.has_power);
        ck_assert(isnan(table.states[1].power_mw));
}

static const struct {
        const char *table;
        int64_t idle_ns, limit_us;
        int ideal;
} ideals[] = {
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 0, -1, 0 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 1999, -1, 0 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 2000, -1, 1 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 90000, -1, 2 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 90000, 9, 2 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 90000, 8, 1 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1\n", 90000, 0, 0 },
        { "A 0 0 3 poll\nB 2 2 2\nC 9 90 1 off\n", 90000, -1, 1 },
        { "A 0 0 3 poll,off\nB 2 2 2\nC 9 90 1\n", 0, 0, 1 },
        { "A 0 0 3 off\nB 2 2 2 off\n", 90000, -1, 0 },
        { "A 1 1 3\nB 2 2 2\n", 0, -1, 0 },
};

TEST_EACH(right_state, ideals)
{
        StateTable table = parse(c->table);
        int64_t limit_ns = c->limit_us < 0 ? NO_LATENCY_LIMIT : c->limit_us * 1000;

        ck_assert_int_eq(state_table_ideal(&table, c->idle_ns, limit_ns), c->ideal);
}

UNIT("states")
