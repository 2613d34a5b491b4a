/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How true the evaluator's intervals and verdicts are: simulated loads of which the saving is
 * known, in virtual time.
 */
#include <stdio.h>

#include "../unit/evaluate/simulate.h"

static const double shares[] = { -0.05, 0, 0.02, 0.05 };

static void table(const char *title, ScheduleOptions (*schedule)(uint64_t seed), double seconds,
                  unsigned runs, double work_error)
{
        printf("%s, %g min, %u runs each, work that may be wrong by %g %%\n", title, seconds / 60,
               runs, 100 * work_error);
        printf("%-12s %7s %6s %9s %9s %6s %6s %11s %10s\n", "load", "saves", "pairs", "contained",
               "+- W", "saves", "costs", "ever saves", "ever costs");
        for (SimLoad load = 0; load < SIM_LOADS; load++)
                for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                        SimResult r = sim_many(load, shares[i], work_error, schedule, seconds,
                                               runs);

                        printf("%-12s %5.0f %% %6.1f %7.1f %% %9.3f %6u %6u %11u %10u\n",
                               sim_names[load], 100 * shares[i], r.pairs,
                               100.0 * r.covered / r.runs, r.half_width, r.saves, r.costs,
                               r.ever_saves, r.ever_costs);
                }
        putchar('\n');
}

static void daemon_table(double seconds, unsigned runs)
{
        printf("The evaluator of the daemon, %g min, %u runs each: joules saved\n", seconds / 60,
               runs);
        printf("%-12s %7s %6s %9s %9s %9s %6s %6s %15s\n", "load", "saves", "pairs", "contained",
               "J", "+- J", "saves", "costs", "first verdict s");
        for (SimLoad load = 0; load < SIM_LOADS; load++)
                for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
                        SimDaemon r = sim_daemons(load, shares[i], seconds, runs);

                        printf("%-12s %5.0f %% %6.1f %7.1f %% %9.1f %9.1f %6u %6u %15.0f\n",
                               sim_names[load], 100 * shares[i], r.pairs,
                               100.0 * r.covered / r.runs, r.joules, r.half_joules, r.saves,
                               r.costs, r.verdict_sec);
                }
        putchar('\n');
}

int main(int argc, char **argv)
{
        unsigned runs = argc > 1 ? (unsigned)atoi(argv[1]) : 400;

        daemon_table(1800, runs);
        table("Half of the time each", sim_prove, 1782, runs, 0);
        table("Half of the time each", sim_prove, 1782, runs, 0.03);
        table("Half of the time each", sim_prove, 1782, runs, INFINITY);
        table("Half of the time each, three times as long", sim_prove, 3 * 1782, runs / 2, 0.03);
        table("As the daemon does", sim_daemon, 1800, runs, 0.03);
        table("As the daemon does, for a day", sim_daemon, 86400, runs / 4, 0.03);
        return 0;
}
