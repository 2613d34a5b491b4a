/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine with a load, in virtual time, whose saving is known. A schedule feeds its readings to
 * the estimator, for the unit test and the benchmark.
 *
 * All arms draw 20 W and 30 W for each busy CPU; "on" saves a share of that. After a change of arm
 * the machine settles with a time constant of 0.1 s. Energy is counted with an error of 20 mJ a
 * reading.
 */
#ifndef IDLED_TESTS_SIMULATE_H
#define IDLED_TESTS_SIMULATE_H

#include <math.h>

#include "stats/estimate.h"
#include "stats/evaluator.h"
#include "stats/schedule.h"
#include "model/random.h"

#define SIM_STEP_SEC 0.1
#define SIM_SETTLE   0.1

typedef enum SimLoad {
        SIM_CONSTANT,
        SIM_STEPS,    /* another level after five minutes on average */
        SIM_DAILY,    /* a curve with a period of two hours */
        SIM_DRIFT,    /* grows to twice as much in an hour */
        SIM_NOISE,    /* autocorrelated over 20 s */
        SIM_PERIODIC, /* a burst every 22 s, as long as a pair of ten seconds and one of wash-out */
        SIM_LOADS,
} SimLoad;

static const char *const sim_names[SIM_LOADS] = { "constant", "steps", "daily curve",
                                                  "drift",    "noise", "periodic" };

typedef struct Sim {
        SimLoad load;
        double share; /* of the power that is saved; negative: it costs */
        uint64_t random;
        double level, noise, on;     /* on: how much of the effect there is */
        double watts_saved, seconds; /* the truth, over all time */
        double joules_saved;         /* and while it was in effect */
} Sim;

static inline double sim_uniform(Sim *sim)
{
        return (double)(random_next(&sim->random) >> 11) * 0x1p-53;
}

/* Standard normal, by the sum of twelve. */
static inline double sim_normal(Sim *sim)
{
        double sum = -6;

        for (int i = 0; i < 12; i++)
                sum += sim_uniform(sim);
        return sum;
}

static inline Sim sim_new(SimLoad load, double share, uint64_t seed)
{
        return (Sim){ .load = load, .share = share, .random = seed, .level = 0.5 };
}

/* Busy CPUs at this time. */
static inline double sim_busy(Sim *sim, double sec)
{
        const double keep = exp(-SIM_STEP_SEC / 20);

        sim->noise = keep * sim->noise + sqrt(1 - keep * keep) * sim_normal(sim);
        switch (sim->load) {
        case SIM_STEPS:
                if (sim_uniform(sim) < SIM_STEP_SEC / 300)
                        sim->level = 0.1 + 1.4 * sim_uniform(sim);
                return sim->level;
        case SIM_DAILY:
                return 0.6 + 0.5 * sin(sec * 2 * G_PI / 7200) + 0.02 * sim->noise;
        case SIM_DRIFT:
                return 0.4 * (1 + sec / 3600);
        case SIM_NOISE:
                return MAX(0.5 + 0.1 * sim->noise, 0.02);
        case SIM_PERIODIC:
                return fmod(sec, 22) < 11 ? 0.8 : 0.3;
        default:
                return 0.5;
        }
}

/* One step in the arm; adds what was drawn and done to `block`. */
static inline void sim_step(Sim *sim, double sec, bool on, Block *block)
{
        double busy = sim_busy(sim, sec), watts = 20 + 30 * busy;

        sim->on += (on - sim->on) * -expm1(-SIM_STEP_SEC / SIM_SETTLE);
        sim->watts_saved += sim->share * watts * SIM_STEP_SEC;
        sim->joules_saved += sim->share * sim->on * watts * SIM_STEP_SEC;
        sim->seconds += SIM_STEP_SEC;
        block->seconds += SIM_STEP_SEC;
        block->joules += watts * (1 - sim->share * sim->on) * SIM_STEP_SEC;
        block->work += busy * SIM_STEP_SEC;
        block->delay += (on ? 0.02 : 0.01) * SIM_STEP_SEC;
}

/* Runs for `seconds` by the schedule; `on_pair` is called after each pair. */
static inline void sim_run(Sim *sim, const ScheduleOptions *schedule, double seconds, Estimator *e,
                           void (*on_pair)(const Estimator *e, double sec, void *userdata),
                           void *userdata)
{
        uint64_t length = schedule_pair_length(schedule), pair = 0;
        ScheduleSlot slot = schedule_at(schedule, 0, 0);
        Block block = { 0 };
        uint64_t n = e->n_pairs;

        for (double sec = 0; sec < seconds; sec += SIM_STEP_SEC) {
                uint64_t usec = (uint64_t)(sec * 1e6 + 0.5);

                if (usec >= pair * length + slot.end_usec) {
                        block.on = slot.on;
                        block.joules += 0.02 * sim_normal(sim);
                        block.joules = MAX(block.joules, 0);
                        if (slot.counted)
                                estimator_add(e, &block, slot.pair);
                        if (e->n_pairs > n && on_pair)
                                on_pair(e, sec, userdata);
                        n = e->n_pairs;
                        pair = usec / length;
                        slot = schedule_at(schedule, pair, usec % length);
                        block = (Block){ 0 };
                }
                sim_step(sim, sec, slot.on, &block);
        }
}

/* What idlelab prove does: half of the time each. */
static inline ScheduleOptions sim_prove(uint64_t seed)
{
        return (ScheduleOptions){ 10000000, 1000000, seed };
}

/* What came of many runs. */
typedef struct SimResult {
        unsigned runs, covered;
        unsigned saves, costs;           /* runs with this verdict at the end */
        unsigned ever_saves, ever_costs; /* runs with it after any pair */
        double half_width;               /* mean, of the interval of watts */
        double pairs;                    /* mean */
        double first_sec;                /* when "saves" came first, at the latest; 0: never */
} SimResult;

typedef struct SimLooks {
        EstimateQuery query;
        bool saves, costs;
        double first_sec;
} SimLooks;

static inline void sim_look(const Estimator *e, double sec, void *userdata)
{
        SimLooks *looks = userdata;
        Verdict verdict = estimate(e, &looks->query).verdict;

        if (verdict == VERDICT_SAVES && !looks->saves)
                looks->first_sec = sec;
        looks->saves |= verdict == VERDICT_SAVES;
        looks->costs |= verdict == VERDICT_COSTS;
}

static inline SimResult sim_many(SimLoad load, double share, double work_error,
                                 ScheduleOptions (*schedule)(uint64_t seed), double seconds,
                                 unsigned runs)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        SimResult result = { .runs = runs };

        for (unsigned i = 0; i < runs; i++) {
                ScheduleOptions options = schedule(2 * i + 1);
                Sim sim = sim_new(load, share, 1000 + i);
                SimLooks looks = { .query.work_error = work_error };
                Estimate found;
                double truth;

                *e = (Estimator){ 0 };
                sim_run(&sim, &options, seconds, e, sim_look, &looks);
                found = estimate(e, &looks.query);
                truth = sim.watts_saved / sim.seconds;
                result.covered += truth >= found.watts.low && truth <= found.watts.high;
                result.saves += found.verdict == VERDICT_SAVES;
                result.costs += found.verdict == VERDICT_COSTS;
                result.ever_saves += looks.saves;
                result.ever_costs += looks.costs;
                result.first_sec = MAX(result.first_sec, looks.first_sec);
                result.half_width += (found.watts.high - found.watts.low) / 2 / runs;
                result.pairs += (double)found.n_pairs / runs;
        }
        return result;
}

/* The evaluator of a daemon that ticks each second, with a budget of trials and a verdict. */
static inline void sim_evaluate(Sim *sim, const EvaluateOptions *options, double seconds,
                                Evaluator *e, double *ret_verdict_sec)
{
        Block block = { 0 };
        double tick_sec = 0, tick_work = 0;

        *ret_verdict_sec = 0;
        evaluator_pass(e, options, &(EvaluatorView){ 1, true, true, sim_busy(sim, 0) });
        for (uint64_t i = 1; (double)i * SIM_STEP_SEC <= seconds; i++) {
                uint64_t now = i * (uint64_t)(SIM_STEP_SEC * 1e6 + 0.5);
                double work = block.work, sec = (double)i * SIM_STEP_SEC;
                bool going_on = evaluator_due(e) != UINT64_MAX, due = now >= evaluator_due(e);

                sim_step(sim, sec, evaluator_is_on(e, options), &block);
                tick_work += block.work - work;
                if (!due && sec < tick_sec + 1)
                        continue;
                evaluator_pass(e, options,
                               &(EvaluatorView){ now, true, true, tick_work / (sec - tick_sec) });
                tick_sec = sec;
                tick_work = 0;
                if (due) {
                        block.joules = MAX(block.joules + 0.02 * sim_normal(sim), 0);
                        evaluator_step(e, options, now, &block);
                }
                if (due || !going_on)
                        block = (Block){ 0 };
                if (e->found.verdict != VERDICT_UNKNOWN && *ret_verdict_sec <= 0)
                        *ret_verdict_sec = sec;
        }
}

/* What came of many runs of it. */
typedef struct SimDaemon {
        unsigned runs, covered; /* the joules that were saved are in their interval */
        unsigned saves, costs;
        double pairs, half_joules; /* means */
        double joules;             /* saved, mean */
        double verdict_sec;        /* the latest first verdict; INFINITY: there was none */
} SimDaemon;

static inline SimDaemon sim_daemons(SimLoad load, double share, double seconds, unsigned runs)
{
        const EvaluateOptions options = { true, true, 2000000, 1000000, 0.01, NULL };
        g_autofree Evaluator *e = g_new0(Evaluator, 1);
        SimDaemon result = { .runs = runs };

        for (unsigned i = 0; i < runs; i++) {
                Sim sim = sim_new(load, share, 1000 + i);
                double verdict_sec;
                Interval saved;

                evaluator_init(e, 2 * i + 1);
                sim_evaluate(&sim, &options, seconds, e, &verdict_sec);
                saved = evaluator_saved_joules(e);
                result.covered += sim.joules_saved >= saved.low && sim.joules_saved <= saved.high;
                result.saves += e->found.verdict == VERDICT_SAVES;
                result.costs += e->found.verdict == VERDICT_COSTS;
                result.pairs += (double)e->estimator.n_pairs / runs;
                result.half_joules += (saved.high - saved.low) / 2 / runs;
                result.joules += sim.joules_saved / runs;
                result.verdict_sec = MAX(result.verdict_sec,
                                         verdict_sec > 0 ? verdict_sec : INFINITY);
        }
        return result;
}

#endif
