/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The controller of contracts on simulated machines, in virtual time: a queue of tasks, CPUs whose
 * idle states take time to leave, and parked cores. An oracle knows which static setting is the
 * cheapest that keeps a contract. CONTRACT_SEED=N begins with other random numbers.
 */
#include "policies/contract/simulated-machine.h"
#include "table.h"

#define SETTLED 60.0 /* seconds that results leave out */
#define SEEDS   3    /* runs of a case, which are judged together */

typedef struct Result {
        double watts;
        unsigned windows, broken, broken_after_step;
        double infeasible_after; /* seconds; INFINITY: never */
        double best_us;
        double mean_cores;
        bool fast_at_step, fast;
} Result;

/* Windows of ten seconds, which do not begin with those of the controller. */
static void judge(const Simulation *s, WakeupDelays *begin, Result *result)
{
        double n = (double)(s->wakeups.count - begin->count);
        double late = s->wakeups.late[0] - begin->late[0];
        double step_at = s->c->step > 0 ? s->c->step_at : INFINITY;

        *begin = s->wakeups;
        if (s->now <= SETTLED || n == 0)
                return;
        result->windows++;
        if (late <= CONTRACT_SHARE * n)
                return;
        result->broken++;
        result->broken_after_step += s->now > step_at;
}

/* Calls the controller as its policy does, though without the pressure trigger. */
static void call(Simulation *s, Controller *controller, ControlInput *input)
{
        double passed = s->now - s->called;

        if (controller_is_sure(controller, input->now_usec) && passed < CONTRACT_WINDOW_USEC / 4e6)
                return;
        input->work = fmin((s->busy_sec - s->called_busy) / passed, s->cores);
        s->called = s->now;
        s->called_busy = s->busy_sec;
        controller_step(controller, input);
}

static Result run_controlled(const Case *c, double seconds, bool report)
{
        g_autofree Simulation *s = simulation_new(c);
        g_autofree Controller *controller = g_new0(Controller, 1);
        ControlInput input = { .effect = true,
                               .n_cores = c->cores,
                               .cpus_per_core = 1,
                               .can_speed = c->slow > 0,
                               .idle = &states,
                               .contracts = s->contracts,
                               .n_contracts = 1 };
        Result result = { .infeasible_after = INFINITY };
        WakeupDelays begin = { 0 };
        double joules = 0, cores = 0;

        for (int tick = 1; tick * 0.5 <= seconds; tick++) {
                simulate(s, tick * 0.5);
                input.now_usec = (uint64_t)tick * 500000;
                call(s, controller, &input);
                if (report && (controller->changed_usec == input.now_usec))
                        fprintf(stderr, "%8.1f s: %d cores, state %d, work %.2f, late %.0f/%.0f\n",
                                s->now, controller->cores, controller->state, controller->work,
                                controller->contracts[0].window.late,
                                controller->contracts[0].window.n);
                if (controller->contracts[0].report.infeasible && isinf(result.infeasible_after)) {
                        result.infeasible_after = s->now;
                        result.best_us = controller->contracts[0].report.best_us;
                }
                set_cores(s, controller->cores > 0 ? controller->cores : c->cores);
                s->state = controller->cores > 0 ? controller->state : states.n_states - 1;
                s->fast = controller->cores > 0 && controller->fast;
                if (s->now == c->step_at)
                        result.fast_at_step = s->fast;
                if (tick % 20 == 0)
                        judge(s, &begin, &result);
                if (s->now == SETTLED) {
                        set_cores(s, s->cores);
                        joules = s->joules;
                }
                cores += s->now > SETTLED ? s->cores : 0;
        }
        for (int i = 0; i < c->cores; i++)
                s->joules += fmax(s->now - s->cpus[i].free_at, 0) *
                             (i < s->cores ? state_watts[s->state] : PARKED_WATTS);
        result.watts = (s->joules - joules) / (seconds - SETTLED);
        result.mean_cores = cores / 2 / (seconds - SETTLED);
        result.fast = s->fast;
        return result;
}

static Result run_static(const Case *c, int cores, int state, double seconds)
{
        g_autofree Simulation *s = simulation_new(c);
        Result result = { 0 };
        WakeupDelays begin = { 0 };
        double joules = 0;

        set_cores(s, cores);
        s->state = state;
        for (int i = 1; i * 10 <= seconds; i++) {
                simulate(s, i * 10);
                judge(s, &begin, &result);
                if (i * 10 == SETTLED)
                        joules = s->joules;
        }
        for (int i = 0; i < c->cores; i++)
                s->joules += i < cores ? fmax(s->now - s->cpus[i].free_at, 0) * state_watts[state]
                                       : (s->now - SETTLED) * PARKED_WATTS;
        result.watts = (s->joules - joules) / (seconds - SETTLED);
        return result;
}

static bool keeps(const Result *result)
{
        return result->broken <= 0.05 * result->windows;
}

/* Watts of the cheapest setting that keeps the contract; INFINITY: none does. */
static double oracle(const Case *c, double seconds)
{
        double best = INFINITY;

        for (int state = 0; state < states.n_states; state++)
                for (int cores = 1; cores <= c->cores; cores++) {
                        Result result = run_static(c, cores, state, seconds);

                        if (!keeps(&result))
                                continue;
                        best = fmin(best, result.watts);
                        break;
                }
        return best;
}

static const Case cases[] = {
        { "poisson, 2 ms", ARRIVE_POISSON, 8, 1000, 1, 2, 0, 0 },
        { "poisson, 5 ms", ARRIVE_POISSON, 8, 1000, 1, 5, 0, 0 },
        { "poisson, 20 ms", ARRIVE_POISSON, 4, 200, 5, 20, 0, 0 },
        { "poisson, 10 ms, four cores", ARRIVE_POISSON, 4, 300, 4, 10, 0, 0 },
        { "poisson, longer than C6 takes, but not by much", ARRIVE_POISSON, 8, 500, 0.4, 0.25, 0,
          0 },
        { "poisson, shorter than C6 takes", ARRIVE_POISSON, 8, 500, 0.4, 0.15, 0, 0 },
        { "bursts, 2 ms", ARRIVE_BURSTS, 8, 800, 0.5, 2, 0, 0 },
        { "bursts, 5 ms", ARRIVE_BURSTS, 8, 800, 1, 5, 0, 0 },
        { "bursts, 10 ms", ARRIVE_BURSTS, 4, 300, 1, 10, 0, 0 },
        { "bursts, 20 ms", ARRIVE_BURSTS, 8, 200, 3, 20, 0, 0 },
        { "heavy tails, 5 ms", ARRIVE_HEAVY, 8, 800, 1, 5, 0, 0 },
        { "heavy tails, 20 ms", ARRIVE_HEAVY, 8, 400, 2, 20, 0, 0 },
        { "timers, 5 ms", ARRIVE_TIMERS, 4, 40, 10, 5, 0, 0 },
        { "timers, 20 ms", ARRIVE_TIMERS, 4, 40, 10, 20, 0, 0 },
        { "timers, 10 ms", ARRIVE_TIMERS, 8, 600, 0.4, 10, 0, 0 },
};

/* The share of the oracle's saving in all runs of a case; NAN where too little can be saved. */
static double examine(const Case *c)
{
        double all = 0, best = 0, got = 0, share;
        unsigned windows = 0, broken = 0, first = seed;

        for (; seed < first + SEEDS; seed++) {
                Result result = run_controlled(c, 1200, g_getenv("CONTRACT_REPORT") != NULL);

                ck_case(c->name, isinf(result.infeasible_after), "taken for infeasible");
                all += run_static(c, c->cores, states.n_states - 1, 1200).watts;
                best += oracle(c, 1200);
                got += result.watts;
                windows += result.windows;
                broken += result.broken;
        }
        seed = first;
        share = (all - got) / (all - best);
        fprintf(stderr, "%-48s all %5.2f W oracle %5.2f W got %5.2f W share %4.2f broken %u/%u\n",
                c->name, all / SEEDS, best / SEEDS, got / SEEDS, share, broken, windows);
        ck_case(c->name, isfinite(best), "no setting keeps the contract");
        ck_case(c->name, broken <= 0.05 * windows, "%u of %u windows broken", broken, windows);
        return (all - best) / all >= 0.05 ? share : NAN;
}

TEST(saves_what_the_oracle_does)
{
        double sum = 0, worst = 1;
        int n = 0;

        for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
                double share = examine(&cases[i]);

                if (isnan(share))
                        continue;
                sum += share;
                worst = fmin(worst, share);
                n++;
        }
        fprintf(stderr, "of %d cases: mean %.2f, worst %.2f\n", n, sum / n, worst);
        ck_assert_msg(sum / n >= 0.8, "mean share %.2f", sum / n);
        ck_assert_msg(worst >= 0.6, "worst share %.2f", worst);
}

/* The load is four times as large after five minutes. */
static const Case steps[] = {
        { "poisson, 5 ms", ARRIVE_POISSON, 8, 500, 1, 5, 300, 4 },
        { "poisson, 20 ms", ARRIVE_POISSON, 8, 100, 5, 20, 300, 4 },
        { "bursts, 10 ms", ARRIVE_BURSTS, 8, 300, 1, 10, 300, 4 },
        { "heavy tails, 20 ms", ARRIVE_HEAVY, 8, 200, 1, 20, 300, 4 },
};

TEST_EACH(follows_a_step, steps)
{
        Result got = run_controlled(c, 420, g_getenv("CONTRACT_REPORT") != NULL);

        ck_case(c->name, got.broken_after_step <= 3, "%u windows broken", got.broken_after_step);
        ck_case(c->name, isinf(got.infeasible_after), "taken for infeasible");
}

/* Low frequencies make tasks wait, however many cores are active. */
static const Case slow[] = {
        { "all day", ARRIVE_POISSON, 4, 500, 4, 10, 600, 1, 1.7 },
        { "until the load is a quarter", ARRIVE_POISSON, 4, 500, 4, 10, 600, 0.25, 1.7 },
        { "never", ARRIVE_POISSON, 4, 150, 4, 20, 600, 1, 1.5 },
};

TEST_EACH(keeps_frequencies_high, slow)
{
        Result got = run_controlled(c, 1200, g_getenv("CONTRACT_REPORT") != NULL);
        bool expected = c->per_sec > 150;

        ck_case(c->name, got.fast_at_step == expected, "fast at the step: %d", got.fast_at_step);
        ck_case(c->name, got.fast == (expected && c->step == 1), "fast at the end: %d", got.fast);
        ck_case(c->name, keeps(&got), "%u of %u windows broken", got.broken, got.windows);
        ck_case(c->name, isinf(got.infeasible_after), "taken for infeasible");
}

static const Case impossible[] = {
        { "work that waits for a CPU anyway", ARRIVE_POISSON, 4, 900, 4, 2, 0, 0 },
        { "bursts larger than the machine", ARRIVE_BURSTS, 2, 60, 10, 2, 0, 0 },
        { "more work than CPUs", ARRIVE_POISSON, 4, 500, 10, 20, 0, 0 },
        { "shorter than any state wakes in", ARRIVE_POISSON, 8, 500, 0.4, 0.003, 0, 0 },
};

TEST_EACH(recognises_what_is_infeasible, impossible)
{
        Result got = run_controlled(c, 150, false);

        ck_case(c->name, got.infeasible_after <= 120, "after %.1f s", got.infeasible_after);
        ck_case(c->name, got.best_us > c->limit_ms * 1e3, "p99 %.1f us", got.best_us);
        ck_case(c->name, got.mean_cores > c->cores - 0.1, "it costs %.2f cores", got.mean_cores);
}

typedef struct Day {
        const char *name;
        double per_sec;
        bool jumps;                  /* the clock, forwards and back */
        bool restarts;               /* the unit: its counts begin again */
        bool unmeasured;             /* from the third minute on */
        bool ends;                   /* then */
        double storm;                /* for half a minute so many times the wake-ups; 0: never */
        int most_cores, least_cores; /* at the end */
} Day;

static const Day days[] = {
        { "five wake-ups a minute", 5 / 60.0, .most_cores = 1, .least_cores = 1 },
        { "a clock that jumps", 200, .jumps = true, .most_cores = 3, .least_cores = 1 },
        { "a unit that restarts", 200, .restarts = true, .most_cores = 3, .least_cores = 1 },
        { "no measurement", 200, .unmeasured = true },
        { "a unit that ends", 200, .ends = true },
        { "a fork storm", 200, .storm = 15, .most_cores = 3, .least_cores = 1 },
};

TEST_EACH(survives, days)
{
        Case load = { c->name, ARRIVE_POISSON, 4, c->per_sec, 1, 10, 0, 0 };
        g_autofree Simulation *s = simulation_new(&load);
        g_autofree Controller *controller = g_new0(Controller, 1);
        ControlInput input = { .effect = true,
                               .n_cores = 4,
                               .cpus_per_core = 1,
                               .idle = &states,
                               .contracts = s->contracts,
                               .n_contracts = 1 };
        int most = 0;

        for (int tick = 1; tick <= 600; tick++) {
                bool storm = c->storm > 0 && tick >= 200 && tick < 260;
                double before = s->busy_sec;

                load.per_sec = c->per_sec * (storm ? c->storm : 1);
                simulate(s, tick * 0.5);
                input.now_usec += 500000;
                if (c->jumps && tick % 50 == 0)
                        input.now_usec += tick % 100 ? UINT64_C(3600000000) : -UINT64_C(3500000000);
                if (c->restarts && tick % 150 == 0)
                        s->wakeups = s->left_idle = (WakeupDelays){ 0 };
                s->contracts[0].wakeups = c->unmeasured && tick > 240 ? NULL : &s->wakeups;
                input.n_contracts = c->ends && tick > 240 ? 0 : 1;
                input.work = (s->busy_sec - before) / 0.5;
                controller_step(controller, &input);
                ck_case(c->name, !controller->contracts[0].report.infeasible, "infeasible at %d",
                        tick);
                most = storm ? MAX(most, controller->cores) : most;
                set_cores(s, controller->cores > 0 ? controller->cores : 4);
        }
        ck_case(c->name, controller->cores <= c->most_cores && controller->cores >= c->least_cores,
                "%d cores at the end", controller->cores);
        ck_case(c->name, c->storm == 0 || most == 4, "%d cores in the storm", most);
}

/* Wake-ups without a queue: 50 in each tick, of which `late` take longer than both limits. */
typedef struct Feed {
        Controller controller;
        ControlInput input;
        Contract contracts[2];
        WakeupDelays wakeups, left_idle;
} Feed;

static Feed *feed_new(int n_cores)
{
        Feed *feed = g_new0(Feed, 1);

        for (unsigned i = 0; i < 2; i++)
                feed->contracts[i] = (Contract){ .id = i + 1,
                                                 .limit = i,
                                                 .limit_us = 5000,
                                                 .wakeups = &feed->wakeups,
                                                 .idle = &feed->left_idle };
        feed->input = (ControlInput){ .effect = true,
                                      .n_cores = n_cores,
                                      .cpus_per_core = 1,
                                      .work = 0.1,
                                      .idle = &states,
                                      .contracts = feed->contracts,
                                      .n_contracts = 1 };
        return feed;
}

static void feed_ns(Feed *feed, unsigned late, uint64_t late_ns, uint64_t ns, bool idle)
{
        for (unsigned i = 0; i < 50; i++) {
                count_delay(&feed->wakeups, i < late ? late_ns : ns, feed->contracts, 2);
                if (idle)
                        count_delay(&feed->left_idle, i < late ? late_ns : ns, feed->contracts, 2);
        }
        feed->input.now_usec += 500000;
        controller_step(&feed->controller, &feed->input);
}

static void feed(Feed *feed, unsigned late, bool idle)
{
        feed_ns(feed, late, 20000000, 20000, idle);
}

/* Delays that are in the same bin as the limit, and do not exceed it, are not late because others
 * are. */
TEST(limit_within_a_bin)
{
        g_autofree Feed *f = feed_new(4);

        ck_assert_uint_eq(wakeups_bin(4900000), wakeups_bin(5000001));
        for (int tick = 0; tick < 200; tick++)
                feed_ns(f, tick % 20 == 10, 6000000, 4900000, false);
        ck_assert_uint_ge(f->controller.contracts[0].report.kept, 9);
        ck_assert_uint_eq(f->controller.contracts[0].report.broken, 0);
}

/* One core has no fewer, and gets its idle states back all the same. */
TEST(deepens_one_core)
{
        g_autofree Feed *f = feed_new(1);

        for (int tick = 0; tick < 600; tick++)
                feed(f, tick / 4 == 25 ? 25 : 0, true);
        ck_assert_int_eq(f->controller.cores, 1);
        ck_assert_int_eq(f->controller.state, states.n_states - 1);
}

/* The load that made it infeasible ends, though as many wake-ups as before are late. */
TEST(becomes_feasible)
{
        g_autofree Feed *f = feed_new(2);
        int tick;

        f->input.work = 2;
        for (tick = 0; tick < 200; tick++)
                feed(f, 10, false);
        ck_assert(f->controller.contracts[0].report.infeasible);
        f->input.work = 0.1;
        for (tick = 0; tick < 60 && f->controller.contracts[0].report.infeasible; tick++)
                feed(f, 10, false);
        ck_assert_int_lt(tick, 60);
}

/* What a nearly idle machine does more or less says nothing about the contract. */
TEST(stays_infeasible)
{
        g_autofree Feed *f = feed_new(2);

        f->input.work = 0.05;
        for (int tick = 0; tick < 200; tick++)
                feed(f, 10, false);
        f->input.work = 0.02;
        for (int tick = 0; tick < 200; tick++) {
                ck_assert(f->controller.contracts[0].report.infeasible);
                feed(f, 10, false);
        }
}

/* Wake-ups that leave the shallowest state too late: nothing helps, and CPUs that poll meanwhile
 * cost most. */
TEST(gives_up_soon)
{
        g_autofree Feed *f = feed_new(4);

        f->contracts[0].limit_us = 1;
        for (int tick = 0; tick < 10; tick++)
                feed(f, 0, true);
        ck_assert(f->controller.contracts[0].report.infeasible);
        ck_assert_int_eq(f->controller.cores, 0);
}

/* The same where they wait for a CPU is given more time. A CPU leaves the state that it had entered
 * before the limit once. */
TEST(does_not_give_up_soon)
{
        const IdleTable shallow = { .n_states = 1 };
        g_autofree Feed *f = feed_new(4);

        f->input.idle = &shallow;
        for (int tick = 0; tick < 60; tick++) {
                feed(f, tick < 2 ? 2 : tick > 30 ? 10 : 0, tick < 2);
                ck_assert(!f->controller.contracts[0].report.infeasible);
        }
}

/* Late wake-ups of CPUs that were in a state which cannot be the reason, as while programs start,
 * do not cost this state: CPUs that poll draw most. */
TEST(keeps_states_that_are_no_reason)
{
        g_autofree Feed *f = feed_new(4);

        for (int tick = 0; tick < 80; tick++)
                feed(f, 10, true);
        ck_assert_int_eq(f->controller.state, 1);
        ck_assert(!f->controller.contracts[0].report.infeasible);
        for (int tick = 0; tick < 60; tick++)
                feed(f, 10, true);
        ck_assert(f->controller.contracts[0].report.infeasible);
}

/* Where late wake-ups leave idle states no frequency helps; else it is tried before giving up. */
TEST(gives_frequencies_up)
{
        for (int idle = 0; idle < 2; idle++) {
                g_autofree Feed *f = feed_new(2);
                unsigned fast = 0;

                f->input.can_speed = true;
                for (int tick = 0; tick < 240; tick++) {
                        feed(f, 10, idle);
                        fast += f->controller.cores > 0 && f->controller.fast;
                }
                ck_assert(f->controller.contracts[0].report.infeasible);
                ck_assert(!f->controller.cores);
                ck_assert_int_eq(fast > 0, !idle);
        }
}

/* Tasks that only compute wake up so seldom that no contract is late, and have all CPUs all the
 * same: as many more as are full, in a second each time. What they leave is parked again. */
TEST(grows_with_computing)
{
        g_autofree Feed *f = feed_new(8);
        int tick;

        for (tick = 0; tick < 600 && f->controller.cores != 1; tick++)
                feed(f, 0, false);
        ck_assert_int_lt(tick, 600);
        for (tick = 0; tick < 6 && f->controller.cores < 8; tick++) {
                f->input.work = f->controller.cores;
                feed(f, 0, false);
                ck_assert(controller_is_busy(&f->controller, f->input.now_usec));
        }
        ck_assert_int_eq(f->controller.cores, 8);
        ck_assert(f->controller.raised && f->controller.full);
        f->input.work = 0.1;
        for (tick = 0; tick < 600 && f->controller.cores != 1; tick++)
                feed(f, 0, false);
        ck_assert_int_lt(tick, 600);
}

/* While the setting is ignored windows go on, but nothing is learned about it, and it stays. */
TEST(learns_while_in_effect)
{
        g_autofree Feed *f = feed_new(4);
        const ContractState *c = &f->controller.contracts[0];
        uint64_t windows;
        Tally here;

        for (int tick = 0; tick < 240; tick++)
                feed(f, 0, false);
        ck_assert_int_eq(f->controller.cores, 1);
        windows = c->report.kept + c->report.broken;
        here = c->here;
        f->input.effect = false;
        for (int tick = 0; tick < 42; tick++)
                feed(f, 10, false);
        f->input.effect = true;
        feed(f, 0, false);
        ck_assert_int_eq(f->controller.cores, 1);
        ck_assert_double_eq(c->here.n, here.n + 50);
        ck_assert_double_eq(c->here.late, 0);
        ck_assert_uint_ge(c->report.kept + c->report.broken, windows + 2);
        ck_assert_uint_eq(c->report.broken, 2);
}

/* CPUs that are full for less than FULL_USEC, as in bursts, are no reason. */
TEST(stays_in_bursts)
{
        g_autofree Feed *f = feed_new(8);

        for (int tick = 0; f->controller.cores != 1; tick++) {
                ck_assert_int_lt(tick, 600);
                feed(f, 0, false);
        }
        for (int tick = 0; tick < 100; tick++) {
                f->input.work = tick % 3 == 2 ? 0 : 1;
                f->input.now_usec -= 400000;
                feed(f, 0, false);
                ck_assert_int_eq(f->controller.cores, 1);
        }
}

/* One more contract erases no failure of the first; one that ends decides nothing. */
TEST(remembers_failures)
{
        g_autofree Feed *f = feed_new(4);

        for (int tick = 0; f->controller.failed_cores[0].until_usec == 0; tick++) {
                ck_assert_int_lt(tick, 600);
                feed(f, f->controller.lowered ? 10 : 0, false);
        }
        f->input.n_contracts = 2;
        feed(f, 0, false);
        ck_assert_int_eq(f->controller.cores, 4);
        ck_assert_int_gt(f->controller.failed_cores[0].at, 0);
        ck_assert_uint_eq(f->controller.decides, 1);
        f->input.contracts++;
        f->input.n_contracts = 1;
        feed(f, 0, false);
        ck_assert_uint_eq(f->controller.decides, 0);
}

/* A failure with more cores erases none with fewer: one core fails twice and then waits longer than
 * two, which fail once meanwhile. */
TEST(remembers_each_failure)
{
        g_autofree Feed *f = feed_new(4);
        int tries = 0, before = 0;

        for (int tick = 0; tick < 1000; tick++) {
                int cores = f->controller.cores;

                tries += cores == 1 && before != 1;
                before = cores;
                feed(f, cores == 1 || (cores == 2 && tick >= 420 && tick < 424) ? 10 : 0, false);
        }
        ck_assert_int_eq(f->controller.failed_cores[1].at, 2);
        ck_assert_int_eq(f->controller.cores, 2);
        ck_assert_int_eq(tries, 2);
}

/* Two cores keep the contract for five minutes, then one is tried in vain. If two are late once
 * soon after it, they have proved themselves all the same, and are tried again at once. */
TEST(remembers_what_held)
{
        g_autofree Feed *f = feed_new(4);
        int cores = 4, tries = 0, late = 0;

        for (int tick = 0; tick < 1600 && late == 0; tick++) {
                tries += cores == 2 && f->controller.cores == 1;
                cores = f->controller.cores;
                if (tries >= 2 && cores == 2 && tick > 600)
                        late = tick;
                feed(f, cores == 1 || late > 0 ? 50 : 0, false);
        }
        ck_assert_int_gt(late, 0);
        for (int tick = 0; f->controller.cores == 2; tick++) {
                ck_assert_int_lt(tick, 20);
                feed(f, 50, false);
        }
        for (int tick = 0; f->controller.cores != 2; tick++) {
                ck_assert_int_lt(tick, 80);
                feed(f, 0, false);
        }
}

/* What is known with low frequencies says nothing about high ones. */
TEST(knows_frequencies_apart)
{
        g_autofree Feed *f = feed_new(2);
        int tick = 0;

        f->input.can_speed = true;
        for (; f->controller.cores != 1; tick++) {
                ck_assert_int_lt(tick, 200);
                feed(f, 0, false);
        }
        for (; !f->controller.fast; tick++) {
                ck_assert_int_lt(tick, 300);
                feed(f, 50, false);
        }
        ck_assert_int_eq(f->controller.cores, 2);
        ck_assert_double_eq(f->controller.contracts[0].here.n, 0);
        ck_assert_uint_eq(f->controller.held_usec, 0);
}

/* The one with the shorter limit decides, and an infeasible one does not. */
TEST(keeps_several)
{
        const Case c = { "several", ARRIVE_POISSON, 8, 1000, 1, 2, 0, 0 };
        g_autofree Simulation *s = simulation_new(&c);
        g_autofree Controller *controller = g_new0(Controller, 1);
        ControlInput input = { .effect = true,
                               .n_cores = 8,
                               .cpus_per_core = 1,
                               .idle = &states,
                               .contracts = s->contracts,
                               .n_contracts = 3 };

        s->n_contracts = 3;
        s->contracts[0].limit_us = 50000;
        s->contracts[2].limit_us = 3;
        for (int tick = 1; tick <= 600; tick++) {
                double before = s->busy_sec;

                simulate(s, tick * 0.5);
                input.now_usec += 500000;
                input.work = (s->busy_sec - before) / 0.5;
                controller_step(controller, &input);
                set_cores(s, controller->cores > 0 ? controller->cores : 8);
        }
        ck_assert(controller->contracts[2].report.infeasible);
        ck_assert(!controller->contracts[0].report.infeasible &&
                  !controller->contracts[1].report.infeasible);
        ck_assert_int_ge(controller->cores, 3);
        ck_assert_int_le(controller->cores, 4);
        ck_assert_uint_eq(controller->decides, 2);
        ck_assert_uint_le(controller->contracts[1].report.broken, 2);
}

/* A unit that is judged apart from all others changes nothing when it comes, and has a voice then.
 */
TEST(one_of_the_others)
{
        g_autofree Feed *f = feed_new(2);
        g_autofree WakeupDelays *own = g_new0(WakeupDelays, 1);
        double n;
        int tick = 0;

        f->contracts[0].rest = f->contracts[1].rest = true;
        f->contracts[1].wakeups = own;
        for (; f->controller.cores != 1; tick++) {
                ck_assert_int_lt(tick, 200);
                feed(f, 0, false);
        }
        feed(f, 0, false);
        n = f->controller.contracts[0].here.n;
        ck_assert_double_gt(n, 0);
        f->input.n_contracts = 2;
        feed(f, 0, false);
        ck_assert_int_eq(f->controller.cores, 1);
        ck_assert_double_gt(f->controller.contracts[0].here.n, n);
        ck_assert(f->controller.contracts[1].report.measured);
        ck_assert_double_eq(f->controller.contracts[1].here.n, 0);
        for (unsigned i = 0; i < 5; i++)
                count_delay(own, 20000000, f->contracts, 2);
        feed(f, 0, false);
        ck_assert_int_eq(f->controller.cores, 2);
        ck_assert_uint_eq(f->controller.decides, 2);
        for (tick = 0; tick < 60; tick++)
                feed(f, 0, false); /* not enough without wake-ups of its own */
        ck_assert_int_eq(f->controller.cores, 2);
        f->input.n_contracts = 1;
        for (tick = 0; f->controller.cores != 1; tick++) {
                ck_assert_int_lt(tick, 800);
                feed(f, 0, false);
        }
}

/* It is infeasible only after it was late for as long as any other, and comes back as it came. */
TEST(one_of_the_others_is_late)
{
        g_autofree Feed *f = feed_new(2);
        g_autofree WakeupDelays *own = g_new0(WakeupDelays, 1);
        const ContractState *c = &f->controller.contracts[1];
        int cores;

        f->contracts[0].rest = f->contracts[1].rest = true;
        f->contracts[1].wakeups = own;
        f->input.n_cores = f->input.active_cores = 1;
        for (int tick = 0; tick < 200; tick++)
                feed(f, 0, false);
        f->input.n_contracts = 2;
        for (int tick = 0; tick < 120; tick++) {
                for (unsigned i = 0; tick > 0 && i < 10; i++)
                        count_delay(own, 20000000, f->contracts, 2);
                feed(f, 0, false);
                ck_assert_msg(c->report.infeasible == (tick >= 90), "tick %d: %d", tick,
                              c->report.infeasible);
        }
        cores = f->controller.cores;
        for (int tick = 0; c->report.infeasible; tick++) {
                ck_assert_int_lt(tick, 200);
                for (unsigned i = 0; i < 10; i++)
                        count_delay(own, 20000, f->contracts, 2);
                feed(f, 0, false);
        }
        ck_assert_int_eq(f->controller.cores, cores);
        ck_assert_double_gt(f->controller.contracts[0].here.n, 1000);
}

UNIT("contract", .setup = set_seed, .timeout = 300)
