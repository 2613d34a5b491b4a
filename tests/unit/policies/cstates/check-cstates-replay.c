/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cstates: limits learned from recorded sleeps (traces/README.md), compared with a CPU that always
 * takes its deepest state. A sleep's state is correct if it is the deepest whose target residency
 * was slept. With IDLED_REPLAY=1 in the environment the figures are printed.
 */
#include "cstates-sleeps.h"
#include "cstates/cstates.h"

static const char *const series[] = { "idle",     "timers",   "database-slow",
                                      "database", "messages", "files" };

static const struct {
        const char *name, *table;
} tables[] = {
        { "client", CLIENT },
        { "server", SERVER },
        { "server 2", "POLL:0:0 C1:1:1 C1E:2:4 C6:290:800" },
        { "phone", PHONE },
        { "laptop", "POLL:0:0 C1:2:2 C3:80:211 C7:109:345" },
        { "power", "snooze:0:0 stop0_lite:1:10 stop0:2:20 stop1:5:50 stop2:10:100 stop4:100:1000 "
                   "stop5:200:2000" },
};

/* One second's sleeps, "LENGTH*COUNT ...". */
static void sleep_second(Sleeper *cpu, const char *line)
{
        g_auto(GStrv) counts = g_strsplit(line, " ", -1);

        for (int i = 0; *line && counts[i]; i++) {
                const char *count = strchr(counts[i], '*');

                ck_assert_ptr_nonnull(count);
                for (int n = atoi(count + 1); n > 0; n--)
                        cpu_sleep(cpu, atoi(counts[i]));
        }
}

/* The share of sleeps that were in the right state, and what of them the policy counted as such.
 * Appends the state of each second to `states`, unless NULL. */
static double replay_counted(const char *name, const char *table, const char *options,
                             double *ret_counted, GString *states)
{
        g_autofree char *path = g_strdup_printf(TESTS_DIR "/traces/sleeps-%s.txt", name);
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        g_auto(Machine) m = history_start(table, options);
        Sleeper cpu = { .machine = &m };
        const History *history = &((Cstates *)m.world->state)->cpus[0].history;

        ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s", path);
        lines = g_strsplit(g_strchomp(text), "\n", -1);
        look(&m, 1000000);
        for (int i = 0; lines[i]; i++) {
                if (states)
                        g_string_append_printf(states, " %d", allowed(&cpu));
                sleep_second(&cpu, lines[i]);
                look(&m, 1000000);
        }
        *ret_counted = (double)history->correct /
                       (double)(history->correct + history->deep + history->shallow);
        ck_assert_uint_gt(cpu.sleeps, 0);
        return (double)cpu.correct / (double)cpu.sleeps;
}

static double replay(const char *name, const char *table, const char *options)
{
        double counted;

        return replay_counted(name, table, options, &counted, NULL);
}

/* What was learned costs much on no table and series, and on the whole it is better than the
 * deepest state always: where sleeps are short, much. */
TEST(better_than_deepest)
{
        bool print = g_getenv("IDLED_REPLAY");
        double deepest = 0, learned = 0;
        int n = 0;

        if (g_getenv("IDLED_REPLAY_ONE"))
                return;
        for (size_t t = 0; t < G_N_ELEMENTS(tables); t++)
                for (size_t s = 0; s < G_N_ELEMENTS(series); s++, n++) {
                        const char *table = tables[t].table;
                        double before = replay(series[s], table, "History=no");
                        double after = replay(series[s], table, "");

                        deepest += before;
                        learned += after;
                        if (print)
                                printf("%-9s %-14s always deepest %5.1f %%, learned %5.1f %%\n",
                                       tables[t].name, series[s], 100 * before, 100 * after);
                        ck_case(series[s], after >= before - 0.15, "%s: %.3f, was %.3f",
                                tables[t].name, after, before);
                }
        if (print)
                printf("mean: always deepest %.1f %%, learned %.1f %%\n", 100 * deepest / n,
                       100 * learned / n);
        ck_assert_msg(learned >= deepest, "%.3f, was %.3f", learned / n, deepest / n);
}

/* With IDLED_REPLAY_ONE="TABLE|SERIES|OPTIONS" only this: prints the accuracy in percent that the
 * policy counts itself, and the state of each second, for the test that replays the same over D-Bus
 * and by idlectl. */
TEST(one_for_others)
{
        const char *one = g_getenv("IDLED_REPLAY_ONE");
        g_auto(GStrv) parts = g_strsplit(one ? one : "", "|", 3);
        g_autoptr(GString) states = g_string_new(NULL);
        double accuracy;

        if (!one)
                return;
        ck_assert_uint_eq(g_strv_length(parts), 3);
        replay_counted(parts[1], parts[0], parts[2], &accuracy, states);
        printf("accuracy %.6f\nstates%s\n", 100 * accuracy, states->str);
}

UNIT("cstates-replay", .timeout = 120)
