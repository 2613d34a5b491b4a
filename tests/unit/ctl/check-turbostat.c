/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* turbostat's text: all its shapes, and what is refused. */
#include "lab/verbs/turbostat.h"
#include "table.h"

#define near(a, b) (fabs((a) - (b)) < 1e-6)

/* The first version with tabs; CPU 1 shares the core of CPU 0. */
#define TABS                                                                                       \
        "turbostat version 22.06.17 - Len Brown <lenb@kernel.org>\n"                               \
        "CPUID(0): GenuineIntel 0x16 CPUID levels\n"                                               \
        "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tTSC_MHz\tIRQ\tPOLL\tC1\tPOLL%\tC1%\tC6%\tCPU%c1\t"    \
        "CPU%c6\tCoreTmp\tPkg%pc2\tPkgWatt\tCorWatt\n"                                             \
        "-\t-\t120\t10.00\t1200\t2300\t99\t1\t2\t0.10\t9.00\t99.00\t30.00\t60.00\t40\t0.00\t7."    \
        "25\t"                                                                                     \
        "3.00\n"                                                                                   \
        "0\t0\t180\t15.00\t1200\t2300\t60\t1\t1\t0.10\t9.00\t70.00\t25.00\t60.00\t40\t0.00\t7."    \
        "25\t"                                                                                     \
        "3.00\n"                                                                                   \
        "0\t1\t60\t5.00\t1200\t2300\t39\t0\t1\t0.10\t9.00\t99.00\t35.00\n"

/* Two packages, blanks, a hybrid's extra columns, only the kernel's own states. */
#define PACKAGES                                                                                   \
        " Package    Core     CPU   Busy%   POLL%     C1%    C1E%     C6%     C6+     C6- PkgWatt" \
        "\n"                                                                                       \
        "       -       -       -   25.00    0.00   10.00    0.00  130.00      12       3   50.00" \
        "\n"                                                                                       \
        "       0       0       0   50.00    0.00   50.00    0.00    0.00       6       1   30.00" \
        "\n"                                                                                       \
        "       1       0       1    0.00    0.00    0.00    0.00  260.00       6       2   20.00" \
        "\n"

/* A summary alone, three times. */
#define SUMMARY                                                                                    \
        "   %c0  GHz  TSC    %c1    %c6\n  1.00 2.4  2.3  19.00  80.00\n  5.001 sec\n"             \
        "  2.00 2.4  2.3  18.00  80.00\n\n  3.00 **.**  2.3  17.00  80.00\n"

static const struct {
        const char *name, *text;
        const char *states;
        guint samples, packages; /* 0: one */
        bool software;
        double watts;     /* 0: unknown */
        double shares[5]; /* of the last package in the last sample */
} cases[] = {
        { "tabs", TABS, "C0 C1 C6", .watts = 7.25, .shares = { .10, .30, .60 } },
        { "packages", PACKAGES, "C0 POLL C1 C1E C6", .packages = 2, .software = true, .watts = 20,
          .shares = { 0, 0, 0, 0, 1 } },
        { "summary", SUMMARY, "C0 C1 C6", .samples = 3, .shares = { .03, .17, .80 } },
        { "one thread a core",
          "CPU    %c0  GHz  TSC    %c1    %c3\n      50.00 2.0 2.0 25.00 25.00\n"
          "  0  100.00 2.0 2.0  0.00  0.00\n  1    0.00 2.0 2.0 50.00 50.00\n",
          "C0 C1 C3", .shares = { .5, .25, .25 } },
        { "missing columns", "CPU\tBusy%\tCPU%c6\n-\t20.00\t76.00\n0\t20.00\t76.00\n", "C0 C6",
          .shares = { .2, .76 } },
        { "missing hardware", "CPU\tBusy%\tC1%\tCPU%c6\n-\t20.00\t40.00\t30.00\n", "C0 C1",
          .software = true, .shares = { .2, .8 } },
        { "carriage returns", "CPU\tBusy%\tCPU%c1\r\n-\t20.00\t80.00\r\n", "C0 C1",
          .shares = { .2, .8 } },
        { "no row of all", "CPU\tBusy%\tCPU%c1\n0\t20.00\t80.00\n1\t40.00\t60.00\n", "C0 C1",
          .shares = { .3, .7 } },
};

TEST_EACH(parse, cases)
{
        g_autoptr(Turbostat) found = NULL;
        g_autofree char *error = NULL, *states = NULL;
        guint samples = c->samples ?: 1, packages = c->packages ?: 1;
        const double *shares;
        double watts;

        ck_case(c->name, turbostat_parse(c->text, &found, &error) == 0, "refused: %s", error);
        states = g_strjoinv(" ", found->states);
        ck_case(c->name, g_str_equal(states, c->states), "states %s", states);
        ck_case(c->name, found->software == c->software, "software %d", found->software);
        ck_case(c->name, found->n_samples == samples, "%u samples", found->n_samples);
        ck_case(c->name, found->packages->len == packages, "%u packages", found->packages->len);
        shares = turbostat_shares(found, samples - 1, packages - 1);
        watts = turbostat_watts(found, samples - 1, packages - 1);
        for (int s = 0; s < found->n_states; s++)
                ck_case(c->name, near(shares[s], c->shares[s]), "%s: %f", found->states[s],
                        shares[s]);
        ck_case(c->name, c->watts == 0 ? isnan(watts) : near(watts, c->watts), "%f W", watts);
}

static const struct {
        const char *name, *text, *says;
} bad[] = {
        { "empty", "", "found no header" },
        { "foreign", "procs -----------memory----------\n r  b   swpd\n 1  0  0\n", "no header" },
        { "binary",
          "\x7f"
          "ELF\x02\x01",
          "no header" },
        { "header alone", "CPU\tBusy%\tCPU%c1\n", "ends after the header" },
        { "no states", "CPU\tBusy%\tBzy_MHz\n-\t20.00\t800\n", "no column of an idle state" },
        { "word", "CPU\tBusy%\tCPU%c1\n-\tmuch\t80.00\n", "line 2: found \"much\", expected a" },
        { "too many", "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\t1\n", "found 4 values, expected" },
        { "too large", "CPU\tBusy%\tCPU%c1\n-\t2000\t80.00\n", "expected a percentage" },
        { "below 0", "CPU\tBusy%\tCPU%c1\n-\t-20\t80.00\n", "expected a percentage" },
        { "a missing column", "CPU\tBusy%\tCPU%c6\n-\t20.00\t30.00\n",
          "found 50.00 % of the time" },
        { "too little", "CPU\tBusy%\tCPU%c1\tCPU%c6\n-\t1\t3\t4\n", "found 8.00 % of the time" },
        { "too much", "CPU\tBusy%\tCPU%c1\tCPU%c6\n-\t90\t120\t140\n", "found 350.00 %" },
        { "too much of a package",
          "Package\tCPU\tBusy%\tCPU%c1\n-\t-\t20\t80\n0\t0\t20\t70\n1\t1\t20\t90\n",
          "package 0: found 90.00 %" },
        { "too much in the second sample", "CPU\tBusy%\tCPU%c1\n-\t20\t80\n-\t20\t85\n",
          "sample 2, package 0: found 105" },
        { "busier than busy", "CPU\tBusy%\tC1%\n-\t150\t10\n", "found 150.00 %" },
        { "watts below 0", "CPU\tBusy%\tCPU%c1\tPkgWatt\n-\t20\t80\t-3\n", "expected watts" },
        { "watts of a town", "CPU\tBusy%\tCPU%c1\tPkgWatt\n-\t20\t80\t1e9\n", "expected watts" },
        { "in a line", "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\n0\t20.", "in the middle of a line" },
        { "in a number", "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.0", "in the middle of a line" },
        { "behind a line", "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\n0\t40.00\t60.00\n",
          "the file is cut off" },
        { "in the second sample",
          "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\n0\t20.00\t80.00\n1\t20.00\t80.00\n"
          "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\n0\t20.00\t80.00\n",
          "found 1 CPUs in sample 2, expected 2" },
        { "other columns", "CPU\tBusy%\tCPU%c1\n-\t20.00\t80.00\nCPU\tBusy%\tCPU%c6\n-\t1\t99\n",
          "line 3: found other columns" },
};

TEST_EACH(refuse, bad)
{
        g_autoptr(Turbostat) found = NULL;
        g_autofree char *error = NULL;

        ck_case(c->name, turbostat_parse(c->text, &found, &error) == -EINVAL, "accepted");
        ck_case(c->name, strstr(error, c->says), "said: %s", error);
        ck_assert_ptr_null(found);
}

/* A recorded file cut anywhere is refused, or was whole rows of as many CPUs. */
TEST(cut)
{
        g_autofree char *text = NULL;
        gsize length;
        int accepted = 0;

        ck_assert(g_file_get_contents(TESTS_DIR "/unit/ctl/turbostat/cyclictest-coreidle.txt",
                                      &text, &length, NULL));
        for (gsize end = 0; end <= length; end++) {
                g_autofree char *part = g_strndup(text, end), *error = NULL;
                g_autoptr(Turbostat) found = NULL;

                accepted += turbostat_parse(part, &found, &error) == 0;
        }
        /* The whole file, and what ends behind the row of the whole machine, which is an answer of
         * its own: there the blanks that begin the next row may follow. */
        ck_assert_int_eq(accepted, 1 + 1 + 3);
}

UNIT("turbostat")
