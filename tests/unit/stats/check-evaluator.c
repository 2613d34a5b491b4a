/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The evaluator with ondemand, where parking saves energy and where it does not: for hours of
 * virtual time on loads that stay, come and go, and on replays, with packages that draw by a simple
 * model. What is drawn is compared with what it would be without parking, and with parking whatever
 * that saves; trials and their time are counted. And what happens in the middle of a block.
 */
#include "stats/evaluator.h"
#include "machine.h"
#include "traces.h"

#define STEP_USEC   UINT64_C(10000)
#define PERIOD_USEC UINT64_C(250000)
#define STRETCHED   12 /* periods, while the policy is settled */
#define MINUTE      UINT64_C(60000000)

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid smt = { 1, 1, 4, 2, 0, 0, NULL };

/* The defaults. */
static const EvaluateOptions defaults = { true, true, 2000000, 1000000, 0.01 };
static const EvaluateOptions no_trials = { false, true, 2000000, 1000000, 0.01 };
static const EvaluateOptions no_back_off = { true, false, 2000000, 1000000, 0.01 };

/* A load that takes turns with another; the rates are CPUs of each of two streams. */
typedef struct Load {
        double rate, other;
        unsigned seconds, other_seconds;
} Load;

/* All cores draw 20 W, and 30 W for each CPU of the demand; while some are parked, `factor` of it.
 * At most 36 s of an hour are spent on trials. */
static const struct {
        const char *name;
        const Grid *grid;
        double factor;
        double least, most; /* drawn, as a share of the draw with all cores active */
        Verdict verdict;
        Load load;                      /* none: one that stays */
        const char *trace;              /* in its place, again and again */
        const EvaluateOptions *options; /* NULL: the defaults */
        const char *policy;             /* options of ondemand; NULL: none */
        unsigned minutes;               /* 0: an hour */
        unsigned most_pairs;            /* trials; 0: 12, and none if the verdict is unknown */
} cases[] = {
        { "saves 25 %", &eight, 0.75, 0.75, 0.757, VERDICT_SAVES },
        { "saves 5 %", &smt, 0.95, 0.95, 0.952, VERDICT_SAVES },
        { "saves 5 %, half an hour", &smt, 0.95, 0.95, 0.955, VERDICT_SAVES, .minutes = 30 },
        { "saves, on and off", &eight, 0.75, 0.75, 0.765, VERDICT_SAVES, .load = { 0.1, 0, 7, 3 } },
        { "saves, a burst every five seconds", &eight, 0.75, 0.75, 0.8, VERDICT_SAVES,
          .load = { 0.5, 0.002, 1, 4 }, .minutes = 240 },
        { "saves, a level and another", &eight, 0.75, 0.75, 0.77, VERDICT_SAVES,
          .load = { 0.1, 0.3, 40, 50 } },
        { "costs 12 %", &eight, 1.12, 1, 1.005, VERDICT_COSTS },
        { "costs 12 %, for eight hours", &eight, 1.12, 1, 1.0005, VERDICT_COSTS, .minutes = 480,
          .most_pairs = 20 },
        { "costs 50 %", &smt, 1.5, 1, 1.01, VERDICT_COSTS },
        { "costs 12 %, on and off", &eight, 1.12, 1, 1.01, VERDICT_COSTS, .load = { 0.1, 0, 7, 3 },
          .most_pairs = 14 },
        { "costs, without trials", &eight, 1.12, 1.11, 1.125, VERDICT_UNKNOWN,
          .options = &no_trials, .minutes = 10 },
        { "costs, and parking goes on", &eight, 1.12, 1.11, 1.125, VERDICT_COSTS,
          .options = &no_back_off },
        { "costs, and a cap asks for it", &eight, 1.12, 1.11, 1.125, VERDICT_UNKNOWN,
          .policy = "MaxCores=2", .minutes = 10 },
        { "idle", &eight, 1.12, 1.11, 1.125, VERDICT_UNKNOWN, .load = { 0.001, 0, 1, 10 } },
        { "few changes allowed", &eight, 1.12, 1, 1.02, VERDICT_COSTS,
          .policy = "MaxTransitions=2" },
        { "a database, saves", &smt, 0.75, 0.75, 0.77, VERDICT_SAVES, .trace = "recorded-database",
          .most_pairs = 14 },
        { "a database, costs", &smt, 1.12, 1, 1.01, VERDICT_COSTS, .trace = "recorded-database",
          .most_pairs = 14 },
        { "files, save", &smt, 0.75, 0.75, 0.77, VERDICT_SAVES, .trace = "recorded-files",
          .most_pairs = 14 },
        { "files, cost", &smt, 1.12, 1, 1.01, VERDICT_COSTS, .trace = "recorded-files",
          .most_pairs = 14 },
};

typedef struct Lab {
        World *world;
        Evaluator *evaluator;
        EvaluateOptions options;
        double factor;
        bool broken; /* energy cannot be read */
        bool frozen; /* or does not move */
        uint64_t due_usec;
        double joules, all_joules; /* drawn, and if all cores had been in use */
        Block meter;               /* since the last reading */
        uint64_t trial_usec;       /* in the arm that does not rest */
        double work_sec;           /* of the interval */
        double interval_sec;
} Lab;

/* Ten milliseconds' draught. */
static void draw(Lab *lab, const double *streams, int n_streams)
{
        bool parked = !cpuset_equal(&lab->world->allowed, &lab->world->topology->online);
        double watts = 20, work = 0, drawn;

        for (int i = 0; i < n_streams; i++)
                work += streams[i];
        watts += 30 * work;
        drawn = (parked ? lab->factor : 1) * watts * STEP_USEC / 1e6;
        lab->all_joules += watts * STEP_USEC / 1e6;
        lab->joules += drawn;
        lab->meter.joules += lab->frozen ? 0 : drawn;
        lab->meter.seconds += STEP_USEC / 1e6;
        lab->meter.work += work * STEP_USEC / 1e6;
        lab->work_sec += work * STEP_USEC / 1e6;
        lab->interval_sec += STEP_USEC / 1e6;
        lab->trial_usec += evaluator_is_trying(lab->evaluator) ? STEP_USEC : 0;
}

/* As the manager does: what is decided is carried out, or ignored. */
static void carry_out(Lab *lab)
{
        World *world = lab->world;
        CpuSet allowed = world->topology->online;

        world->ignored = world->wish.for_saving && !evaluator_is_on(lab->evaluator, &lab->options);
        if (!world->ignored)
                cpuset_and(&allowed, &world->wish.allowed);
        world->allowed = allowed;
}

static void pass_time(Lab *lab)
{
        double work = lab->interval_sec > 0 ? lab->work_sec / lab->interval_sec : 0;
        EvaluatorView view = { lab->world->snapshot->time_usec, lab->world->wish.for_saving, true,
                               work };

        evaluator_pass(lab->evaluator, &lab->options, &view);
}

static void read_meter(Lab *lab)
{
        uint64_t now = lab->world->snapshot->time_usec;

        if (now < evaluator_due(lab->evaluator))
                return;
        pass_time(lab);
        if (lab->broken)
                lab->meter.joules = NAN;
        evaluator_step(lab->evaluator, &lab->options, now, &lab->meter);
        lab->meter = (Block){ 0 };
        carry_out(lab);
}

static void call(Lab *lab)
{
        bool going_on = lab->evaluator->trial.start_usec > 0;

        world_decide(lab->world, 0);
        pass_time(lab);
        lab->work_sec = lab->interval_sec = 0;
        if (!going_on)
                lab->meter = (Block){ 0 };
        carry_out(lab);
        lab->due_usec = lab->world->wish.period_usec * (lab->world->wish.settled ? STRETCHED : 1);
}

/* Lets the time pass until `usec` more are over. */
static void pass(Lab *lab, const double *streams, int n_streams, uint64_t usec)
{
        for (uint64_t done = 0; done < usec; done += STEP_USEC) {
                world_run(lab->world, streams, n_streams, STEP_USEC);
                draw(lab, streams, n_streams);
                read_meter(lab);
                lab->due_usec -= MIN(lab->due_usec, STEP_USEC);
                if (lab->due_usec == 0)
                        call(lab);
        }
}

static void pass_load(Lab *lab, const Load *load, unsigned minutes)
{
        double streams[2] = { load->rate, load->rate }, others[2] = { load->other, load->other };

        for (unsigned s = 0; s < 60 * minutes; s += load->seconds + load->other_seconds) {
                pass(lab, streams, 2, load->seconds * UINT64_C(1000000));
                pass(lab, others, 2, load->other_seconds * UINT64_C(1000000));
        }
}

static void pass_trace(Lab *lab, const char *name, unsigned minutes)
{
        Trace trace = trace_load(name);
        uint64_t left = minutes * MINUTE;

        while (left > 0) {
                uint64_t length = MIN(trace_usec(&trace), left);
                guint line = 0;

                for (uint64_t t = 0; t < length; t += STEP_USEC)
                        pass(lab, trace_demand(&trace, t, &line), trace.n_streams, STEP_USEC);
                left -= length;
        }
        trace_done(&trace);
}

static Lab lab_new(World *world, Evaluator *evaluator, const char *policy, double factor)
{
        world_set_all(world, policy);
        world_rest(world);
        evaluator_init(evaluator, 4711);
        return (Lab){ .world = world,
                      .evaluator = evaluator,
                      .options = defaults,
                      .factor = factor,
                      .due_usec = PERIOD_USEC };
}

TEST_EACH(draws, cases)
{
        g_autoptr(Topology) topology = grid_build(c->grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        g_autofree Evaluator *evaluator = g_new0(Evaluator, 1);
        Lab lab = lab_new(world, evaluator, c->policy ?: "", c->factor);
        unsigned minutes = c->minutes ?: 60, most = c->most_pairs ?: 12;
        const Load steady = { 0.1, 0.1, 1, 1 };
        double drawn, saved;
        Interval reported;

        if (c->options)
                lab.options = *c->options;
        if (c->trace)
                pass_trace(&lab, c->trace, minutes);
        else
                pass_load(&lab, c->load.seconds ? &c->load : &steady, minutes);
        drawn = lab.joules / lab.all_joules;
        saved = lab.all_joules - lab.joules;
        reported = evaluator_saved_joules(evaluator);
        if (g_getenv("IDLED_REPLAY"))
                printf("%s: %.4f, %.0f J saved, reported %.0f (%.0f to %.0f), %s, %u pairs, %u "
                       "dropped, %.0f s of trials\n",
                       c->name, drawn, saved, reported.value, reported.low, reported.high,
                       verdict_text(evaluator->found.verdict),
                       (unsigned)evaluator->estimator.n_pairs,
                       (unsigned)estimator_dropped(&evaluator->estimator), lab.trial_usec / 1e6);
        fflush(stdout);
        ck_case(c->name, drawn >= c->least && drawn <= c->most, "drew %.4f", drawn);
        ck_case(c->name, evaluator->estimator.n_pairs <= (c->verdict == VERDICT_UNKNOWN ? 0 : most),
                "%u pairs", (unsigned)evaluator->estimator.n_pairs);
        ck_case(c->name, lab.trial_usec <= 36000000 * MAX(minutes / 60.0, 1), "%.0f s of trials",
                lab.trial_usec / 1e6);
        ck_case(c->name, evaluator->found.verdict == c->verdict, "%s",
                verdict_text(evaluator->found.verdict));
}

/* What may happen in the middle of a block. */
static const struct {
        const char *name;
        BlockDrop why;
} interruptions[] = {
        { "options", DROP_CONFIG },  { "a hold", DROP_HOLD },
        { "sleep", DROP_SLEEP },     { "CPUs", DROP_HOTPLUG },
        { "the clock", DROP_CLOCK }, { "a late reading", DROP_SHORT },
        { "frozen", DROP_FROZEN },   { "no counters", DROP_ENERGY },
        { "no load", DROP_IDLE },    { "no requests", DROP_EFFECT },
};

static void break_block(Lab *lab, BlockDrop why)
{
        Evaluator *e = lab->evaluator;
        uint64_t now = lab->world->snapshot->time_usec;
        Block meter = { .seconds = 2, .joules = 50, .work = 0.4 };
        EvaluatorView view = { now, false, true, 0.2 };

        meter.seconds = why == DROP_SHORT ? 3 : 2;
        meter.joules = why == DROP_ENERGY ? NAN : why == DROP_FROZEN ? 0 : 50;
        meter.work = why == DROP_IDLE ? 0 : 0.4;
        if (why == DROP_EFFECT)
                evaluator_pass(e, &lab->options, &view);
        else if (why == DROP_SHORT || why == DROP_FROZEN || why == DROP_IDLE || why == DROP_ENERGY)
                evaluator_step(e, &lab->options, evaluator_due(e), &meter);
        else
                evaluator_interrupt(e, &lab->options, why, now);
}

/* The machine of eight CPUs and its evaluator, for one test. */
static Topology *eight_topology;
static World *eight_world;
static Evaluator *e;

static void setup(void)
{
        eight_topology = grid_build(&eight);
        eight_world = world_new(&idled_policy, eight_topology);
        e = g_new0(Evaluator, 1);
}

static void teardown(void)
{
        g_free(e);
        world_free(eight_world);
        topology_free(eight_topology);
}

/* The block is dropped and counted, its partner with it, and a trial comes again. */
TEST_EACH(drops, interruptions)
{
        Lab lab = lab_new(eight_world, e, "", 0.9);
        const double load[2] = { 0.1, 0.1 };
        uint64_t pairs;

        while (e->estimator.half.seconds <= 0 || !e->trial.slot.counted)
                pass(&lab, load, 2, STEP_USEC);
        pairs = e->estimator.n_pairs;
        break_block(&lab, c->why);
        ck_case(c->name, e->estimator.dropped[c->why] == 1, "not counted");
        ck_case(c->name, e->estimator.dropped[DROP_UNPAIRED] == 1, "its partner stays");
        ck_case(c->name, e->estimator.n_pairs == pairs, "counted all the same");
        ck_case(c->name, evaluator_due(e) == UINT64_MAX && evaluator_is_on(e, &defaults),
                "the trial goes on");
        pass(&lab, load, 2, 20 * MINUTE);
        ck_case(c->name, e->estimator.n_pairs > pairs, "no trial after it");
}

/* A load ended, such as the start of the machine, and what is left is that of an idle guest. At
 * most two trials are dropped, soon: others would unpark CPUs for nothing and use up the budget. */
TEST_RANGE(tries_nothing_on_an_idle_machine, 0, 2)
{
        Lab lab = lab_new(eight_world, e, "", 0.9);
        const double load[2] = { 1, 1 }, left[2] = { _i * 0.002, _i * 0.002 };
        uint64_t soon;

        pass(&lab, load, 2, 10 * UINT64_C(1000000));
        ck_assert_uint_eq(e->estimator.dropped[DROP_IDLE], 0);
        pass(&lab, left, 2, 20 * UINT64_C(1000000));
        soon = estimator_dropped(&e->estimator);
        ck_assert_uint_le(e->estimator.dropped[DROP_IDLE], 2);
        pass(&lab, left, 2, 20 * MINUTE);
        ck_assert_uint_eq(estimator_dropped(&e->estimator), soon);
}

/* Counters that are not there, or stand still, end trials for an hour. */
TEST_RANGE(needs_energy, 0, 2)
{
        Lab lab = lab_new(eight_world, e, "", 1.12);

        lab.broken = _i == 0;
        lab.frozen = _i == 1;
        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 60);
        ck_assert_uint_eq(e->estimator.n_pairs, 0);
        ck_assert_uint_le(estimator_dropped(&e->estimator), 2);
        ck_assert_int_eq(e->found.verdict, VERDICT_UNKNOWN);
        ck_assert(isnan(evaluator_saved_joules(e).value));
        lab.broken = lab.frozen = false;
        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 20);
        ck_assert_int_eq(e->found.verdict, VERDICT_COSTS);
}

/* A load that is another has a verdict of its own, and the first keeps its. */
TEST(knows_loads_apart)
{
        Lab lab = lab_new(eight_world, e, "", 0.8);

        pass_load(&lab, &(Load){ 0.05, 0.05, 1, 1 }, 60);
        ck_assert_int_eq(e->found.verdict, VERDICT_SAVES);
        lab.factor = 1.2;
        pass_load(&lab, &(Load){ 0.4, 0.4, 1, 1 }, 120);
        ck_assert_int_eq(e->found.verdict, VERDICT_COSTS);
        lab.factor = 0.8;
        pass_load(&lab, &(Load){ 0.05, 0.05, 1, 1 }, 5);
        ck_assert_int_eq(e->found.verdict, VERDICT_SAVES);
}

/* The same load, and the machine is another: within two hours the verdict is. */
TEST(changes_its_mind)
{
        Lab lab = lab_new(eight_world, e, "", 1.1);

        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 300);
        ck_assert_int_eq(e->found.verdict, VERDICT_COSTS);
        lab.factor = 0.9;
        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 120);
        ck_assert_int_eq(e->found.verdict, VERDICT_SAVES);
}

/* What was found is known after a restart; a text that is damaged or of another machine is not
 * taken. */
TEST(survives_a_restart)
{
        g_autofree Evaluator *again = g_new0(Evaluator, 1);
        Lab lab = lab_new(eight_world, e, "", 1.12);
        g_autofree char *text = NULL;
        Interval saved;

        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 60);
        text = evaluator_format(e, ENERGY_SOURCE_RAPL, 8);
        evaluator_init(again, 1);
        ck_assert_int_eq(evaluator_parse(text, ENERGY_SOURCE_RAPL, 16, again), -ESTALE);
        ck_assert_int_eq(evaluator_parse(text, ENERGY_SOURCE_BATTERY, 8, again), -ESTALE);
        for (size_t n = 0; n < strlen(text); n++) {
                g_autofree char *cut = g_strndup(text, n);

                ck_assert_int_eq(evaluator_parse(cut, ENERGY_SOURCE_RAPL, 8, again), -EBADMSG);
        }
        ck_assert_uint_eq(again->estimator.n_pairs, 0);
        ck_assert_int_eq(evaluator_parse(text, ENERGY_SOURCE_RAPL, 8, again), 0);
        saved = evaluator_saved_joules(again);
        ck_assert_double_eq(saved.value, evaluator_saved_joules(e).value);
        ck_assert_double_eq(evaluator_effective_share(again), evaluator_effective_share(e));
        *e = *again;
        pass_load(&lab, &(Load){ 0.1, 0.1, 1, 1 }, 1);
        ck_assert_int_eq(e->found.verdict, VERDICT_COSTS);
        ck_assert_uint_eq(e->estimator.n_pairs, again->estimator.n_pairs);
}

UNIT("evaluator", .setup = setup, .teardown = teardown, .timeout = 300)
