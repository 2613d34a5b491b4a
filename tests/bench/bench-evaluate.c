/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How true the evaluator's intervals and verdicts are: simulated loads of which the saving is
 * known, in virtual time.
 */
#include <stdio.h>

#include "../unit/stats/simulate.h"

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

/* Two ways to say "saves": because the 95 % interval excludes 0, or because the odds suffice. */
typedef enum Rule { BY_INTERVAL, BY_ODDS, RULES } Rule;

#define PROVE_PAIRS 40
#define PROVE_SURE  0.95

/* What idlelab prove does by itself in half an hour. */
static const ScheduleOptions prove_schedule = { 18000000, 4500000, 0 };

typedef struct Said {
        unsigned after[RULES][PROVE_PAIRS + 1]; /* runs that say "saves" if they end there */
        unsigned ever[RULES];                   /* runs that say it after any pair */
        bool before[RULES];                     /* this run said it */
} Said;

static void say(const Estimator *e, double sec, void *userdata)
{
        Estimate found = estimate(e, &(EstimateQuery){ .work_error = 0.03 });
        const bool saves[RULES] = { found.n_pairs >= 4 && found.watts.low > 0,
                                    found.verdict == VERDICT_SAVES };
        Said *said = userdata;

        for (Rule rule = 0; rule < RULES; rule++) {
                said->after[rule][MIN(found.n_pairs, PROVE_PAIRS)] += saves[rule];
                said->ever[rule] += saves[rule] && !said->before[rule];
                said->before[rule] |= saves[rule];
        }
}

static Said said_in(SimLoad load, double share, unsigned runs)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        Said said = { 0 };

        for (unsigned i = 0; i < runs; i++) {
                ScheduleOptions schedule = prove_schedule;
                Sim sim = sim_new(load, share, 1000 + i);

                schedule.seed = 2 * i + 1;
                *e = (Estimator){ 0 };
                memset(said.before, 0, sizeof(said.before));
                sim_run(&sim, &schedule, 1800.1, e, say, &said);
        }
        return said;
}

/* Minutes of measuring after which nearly all runs say "saves"; "-": half an hour does not do. */
static void print_minutes(const Said *said, Rule rule, unsigned runs)
{
        unsigned pairs = PROVE_PAIRS + 1;

        while (pairs > 1 && said->after[rule][pairs - 1] >= PROVE_SURE * runs)
                pairs--;
        if (pairs > PROVE_PAIRS)
                printf(" %9s", "-");
        else
                printf(" %9.1f", pairs * 2 * 22.5 / 60);
}

static void prove_table(unsigned runs)
{
        printf("idlelab prove for 30 min, %u runs each, by interval and by odds: runs that say "
               "\"saves\" in the end, and after any pair; minutes until 95 %% of runs say so\n",
               runs);
        printf("%-12s %16s %16s %12s %20s %12s %20s\n", "load", "0 %: in the end", "after any pair",
               "2 %: end", "minutes", "5 %: end", "minutes");
        for (SimLoad load = 0; load < SIM_LOADS; load++) {
                Said nothing = said_in(load, 0, runs);

                printf("%-12s %8u %7u %8u %7u", sim_names[load],
                       nothing.after[BY_INTERVAL][PROVE_PAIRS], nothing.after[BY_ODDS][PROVE_PAIRS],
                       nothing.ever[BY_INTERVAL], nothing.ever[BY_ODDS]);
                for (size_t i = 2; i < G_N_ELEMENTS(shares); i++) {
                        Said some = said_in(load, shares[i], runs);

                        printf(" %6u %5u", some.after[BY_INTERVAL][PROVE_PAIRS],
                               some.after[BY_ODDS][PROVE_PAIRS]);
                        print_minutes(&some, BY_INTERVAL, runs);
                        print_minutes(&some, BY_ODDS, runs);
                }
                putchar('\n');
        }
        putchar('\n');
}

int main(int argc, char **argv)
{
        unsigned runs = argc > 1 ? (unsigned)atoi(argv[1]) : 400;

        prove_table(runs);
        daemon_table(1800, runs);
        table("Half of the time each", sim_prove, 1782, runs, 0);
        table("Half of the time each", sim_prove, 1782, runs, 0.03);
        table("Half of the time each", sim_prove, 1782, runs, INFINITY);
        table("Half of the time each, three times as long", sim_prove, 3 * 1782, runs / 2, 0.03);
        return 0;
}
