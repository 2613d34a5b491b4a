/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The evaluator of one policy; the algorithm is in the header. */
#include "stats/evaluator.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "model/random.h"

#define SECOND     UINT64_C(1000000)
#define MINUTE     (60 * SECOND)
#define GAP_USEC   (5 * MINUTE)   /* mean, without a verdict; twice that at first with one */
#define SAVES_USEC (240 * MINUTE) /* the longest mean gap after "saves" */
#define COSTS_USEC (60 * MINUTE)  /* and after "costs" */
#define FIRST      4              /* pairs that follow on each other */
#define NEWEST     64             /* pairs that say what is saved */
#define LATEST     8              /* that overrule them */
#define LOAD_USEC  (30 * SECOND)  /* time constant */
#define LOAD_STEP  0.05           /* logarithm of a factor: another load */
#define LEAST_WORK 0.01           /* per second: CPUs, or 100 switches */
#define LULL       4              /* costs of a trial: the longest time between bursts */
#define WITHOUT    2
#define ABSENT     (60 * MINUTE)
#define MAGIC      "idled-evaluator 2"

void evaluator_init(Evaluator *evaluator, uint64_t seed)
{
        *evaluator = (Evaluator){ .seed = seed, .budget.usec = NAN };
        evaluator->found = estimate(&evaluator->estimator, &(EstimateQuery){ 0 });
}

/* What a trial costs: time in the arm that does not rest. */
static double trial_cost(const EvaluateOptions *options)
{
        return (double)(options->washout_usec + options->block_usec);
}

/* What comes back in an hour. */
static double hourly_budget(const EvaluateOptions *options)
{
        return options->duty * 15 * (double)MINUTE;
}

/* The most that may be spent at once: at least one trial, else there were none. */
static double most_budget(const EvaluateOptions *options)
{
        return MAX(3 * hourly_budget(options), trial_cost(options));
}

/* The interval at another load than that of the pairs, as if what is saved grew or shrank by the
 * same factor as the load, at most. The sign stays. */
static void widen(Interval *interval, double factor)
{
        interval->low *= interval->low > 0 ? 1 / factor : factor;
        interval->high *= interval->high > 0 ? factor : 1 / factor;
}

static void look_up(Evaluator *e)
{
        EstimateQuery query = { .work_error = work_unit_error(e->unit),
                                .near_work = e->load,
                                .newest = LATEST };
        Estimate latest;

        if (e->found_pairs == e->estimator.n_pairs && e->found_load > 0 &&
            fabs(log(e->load / e->found_load)) < LOAD_STEP)
                return;
        latest = estimate(&e->estimator, &query);
        query.newest = NEWEST;
        e->found = estimate(&e->estimator, &query);
        if (latest.verdict != VERDICT_UNKNOWN && latest.verdict != e->found.verdict)
                e->found = latest;
        if (e->found.load > 0 && e->load > 0) {
                double factor = exp(fabs(log(e->load / e->found.load)));

                widen(&e->found.watts, factor);
                widen(&e->found.per_work, factor);
                widen(&e->found.delay, factor);
        }
        e->found_pairs = e->estimator.n_pairs;
        e->found_load = e->load;
}

/* Step 1: what is likelier, as long as there is no verdict. */
static bool rests_on(const Evaluator *e, const EvaluateOptions *options)
{
        const Interval *watts = &e->found.watts;
        bool likely = e->found.n_pairs >= FIRST && watts->value < -(watts->high - watts->low) / 4;

        return !(options->trials && options->back_off &&
                 (e->found.verdict == VERDICT_COSTS ||
                  (e->found.verdict == VERDICT_UNKNOWN && likely)));
}

bool evaluator_is_trying(const Evaluator *e)
{
        return e->trial.start_usec > 0 && e->trial.slot.on != e->trial.rest_on;
}

bool evaluator_is_on(const Evaluator *e, const EvaluateOptions *options)
{
        return e->trial.start_usec > 0 ? e->trial.slot.on : rests_on(e, options);
}

/* What the time in effect was worth. */
static void add_saved(Evaluator *e, double seconds)
{
        const Interval *watts = &e->found.watts;

        e->effective_sec += seconds;
        e->unvalued_sec += seconds;
        if (!isfinite(watts->low))
                return;
        e->saved_joules.value += watts->value * e->unvalued_sec;
        e->saved_joules.low += watts->low * e->unvalued_sec;
        e->saved_joules.high += watts->high * e->unvalued_sec;
        e->unvalued_sec = 0;
}

/* A random number from 0 to 2, of mean 1. */
static double spread(Evaluator *e)
{
        uint64_t state = e->seed + e->trial.pair * UINT64_C(0x9e3779b97f4a7c15);

        return (double)(random_next(&state) >> 11) * 0x1p-52;
}

/* True if the last pair says the opposite of the verdict. */
static bool is_contradicted(const Evaluator *e)
{
        EstimateQuery query = { .work_error = INFINITY, .near_work = e->load, .newest = 1 };
        Estimate last = estimate(&e->estimator, &query);

        return (e->found.verdict == VERDICT_SAVES && last.on_watts > last.off_watts) ||
               (e->found.verdict == VERDICT_COSTS && last.on_watts < last.off_watts);
}

/* True if the interval excludes 0, which is less than a verdict needs. */
static bool is_nearly_known(const Evaluator *e)
{
        const Interval *watts = &e->found.watts;

        return e->found.verdict == VERDICT_UNKNOWN && (watts->low > 0 || watts->high < 0);
}

/* Step 2: the next trial is no sooner than this. */
static void set_next(Evaluator *e, uint64_t now)
{
        unsigned n = e->found.n_pairs;
        uint64_t gap = GAP_USEC, most = e->found.verdict == VERDICT_SAVES ? SAVES_USEC : COSTS_USEC;

        if (n < FIRST || is_contradicted(e) || is_nearly_known(e)) {
                e->budget.next_usec = now;
                return;
        }
        if (e->found.verdict != VERDICT_UNKNOWN)
                for (unsigned i = FIRST; i <= n && gap < most; i += 2)
                        gap *= 2;
        e->budget.next_usec = now + (uint64_t)(spread(e) * (double)MIN(gap, most));
}

static void set_slot(Evaluator *e, const EvaluateOptions *options, uint64_t now)
{
        const ScheduleOptions schedule = { options->block_usec, options->washout_usec, e->seed };

        e->trial.slot = schedule_at(&schedule, e->trial.pair, now - e->trial.start_usec);
        e->trial.due_usec = e->trial.start_usec + e->trial.slot.end_usec;
}

static void end_trial(Evaluator *e, uint64_t now)
{
        e->trial.start_usec = 0;
        e->trial.due_usec = 0;
        e->trial.pair++;
        look_up(e);
        set_next(e, now);
}

void evaluator_interrupt(Evaluator *e, const EvaluateOptions *options, BlockDrop why, uint64_t now)
{
        if (e->trial.start_usec == 0)
                return;
        estimator_drop(&e->estimator, why);
        end_trial(e, now);
        /* What makes one block useless may do so to the next. */
        e->budget.next_usec = MAX(e->budget.next_usec,
                                  now + 2 * (options->block_usec + options->washout_usec));
}

/* Another load than the one that is waited with has its own pace. */
static void follow_load(Evaluator *e, const EvaluatorView *view, double usec)
{
        double weight = e->load > 0 ? -expm1(-usec / (double)LOAD_USEC) : 1;
        unsigned before = e->found.n_pairs;

        if (view->work >= LEAST_WORK)
                e->worked_usec = view->now_usec;
        e->load += weight * (view->work - e->load);
        look_up(e);
        if (e->trial.start_usec == 0 && e->found.n_pairs < FIRST && before >= FIRST &&
            e->n_without == 0)
                e->budget.next_usec = view->now_usec;
}

static void refill(Evaluator *e, const EvaluateOptions *options, double usec)
{
        e->budget.usec += usec * hourly_budget(options) / (double)(60 * MINUTE);
        e->budget.usec = MIN(e->budget.usec, most_budget(options));
}

static void pass_time(Evaluator *e, const EvaluateOptions *options, const EvaluatorView *view)
{
        double usec = e->seen_usec > 0 ? (double)(view->now_usec - e->seen_usec) : 0;
        bool on = evaluator_is_on(e, options);

        if (e->seen_usec == 0) {
                if (isnan(e->budget.usec))
                        e->budget.usec = most_budget(options);
                refill(e, options, (double)e->budget.away_usec);
                follow_load(e, view, 0);
                set_next(e, view->now_usec);
        }
        refill(e, options, usec);
        if (evaluator_is_trying(e))
                e->budget.usec -= usec;
        e->total_sec += usec / 1e6;
        if (e->active && on)
                add_saved(e, usec / 1e6);
        follow_load(e, view, usec);
        e->seen_usec = view->now_usec;
        e->active = view->wanted && !view->idle;
}

/* True if blocks would have no work. The filtered load alone contains what came before for minutes.
 * The last interval alone would make trials begin with bursts, and their second block miss them. */
static bool is_idle(const Evaluator *e, const EvaluateOptions *options, uint64_t now)
{
        return e->load < LEAST_WORK || (double)(now - e->worked_usec) > LULL * trial_cost(options);
}

void evaluator_pass(Evaluator *e, const EvaluateOptions *options, const EvaluatorView *view)
{
        bool may = view->wanted && view->possible && options->trials;

        if (view->now_usec < e->seen_usec)
                return;
        pass_time(e, options, view);
        if (e->trial.start_usec > 0) {
                if (!may)
                        evaluator_interrupt(e, options, DROP_EFFECT, view->now_usec);
                return;
        }
        if (!may || is_idle(e, options, view->now_usec) || view->now_usec < e->budget.next_usec ||
            e->budget.usec < trial_cost(options))
                return;
        e->trial.start_usec = view->now_usec;
        e->trial.rest_on = rests_on(e, options);
        set_slot(e, options, view->now_usec);
}

uint64_t evaluator_due(const Evaluator *e)
{
        return e->trial.start_usec > 0 ? e->trial.due_usec : UINT64_MAX;
}

/* Why the block that was measured is of no use; BLOCK_DROPS: it is of use. */
static BlockDrop judge(const EvaluateOptions *options, const Block *block)
{
        double wanted = (double)options->block_usec / 1e6;

        if (!isfinite(block->joules))
                return DROP_ENERGY;
        if (block->joules <= 0)
                return DROP_FROZEN;
        if (fabs(block->seconds - wanted) > wanted / 4)
                return DROP_SHORT;
        if (MAX(block->load, block->work) < LEAST_WORK * block->seconds)
                return DROP_IDLE;
        return BLOCK_DROPS;
}

/* Steps 5 and 6. */
static void drop_block(Evaluator *e, const EvaluateOptions *options, BlockDrop why, uint64_t now)
{
        bool without = why == DROP_ENERGY || why == DROP_FROZEN;

        evaluator_interrupt(e, options, why, now);
        e->n_idle = why == DROP_IDLE ? e->n_idle + 1 : 0;
        if (e->n_idle >= WITHOUT) /* the filtered load still contains what came before */
                e->budget.next_usec = MAX(e->budget.next_usec, now + LOAD_USEC);
        e->n_without = without ? e->n_without + 1 : 0;
        if (e->n_without < WITHOUT)
                return;
        e->n_without = 0;
        e->budget.next_usec = now + ABSENT;
}

void evaluator_step(Evaluator *e, const EvaluateOptions *options, uint64_t now,
                    const Block *measured)
{
        Block block = *measured;
        BlockDrop why;

        if (e->trial.start_usec == 0 || now < e->trial.due_usec)
                return;
        if (e->trial.slot.counted) {
                why = judge(options, measured);
                if (why != BLOCK_DROPS) {
                        drop_block(e, options, why, now);
                        return;
                }
                e->n_without = 0;
                e->n_idle = 0;
                block.on = e->trial.slot.on;
                estimator_add(&e->estimator, &block, e->trial.pair);
        }
        if (e->trial.slot.counted && e->trial.slot.half == 1) {
                end_trial(e, now);
                return;
        }
        /* A late reading makes what follows begin later, not shorter. */
        e->trial.start_usec += now - e->trial.due_usec;
        set_slot(e, options, now);
}

double evaluator_effective_share(const Evaluator *e)
{
        return e->total_sec > 0 ? e->effective_sec / e->total_sec : NAN;
}

Interval evaluator_saved_joules(const Evaluator *e)
{
        if (e->estimator.n_pairs < 2 || e->effective_sec <= e->unvalued_sec)
                return (Interval){ NAN, NAN, NAN };
        return e->saved_joules;
}

char *evaluator_format(const Evaluator *e, EnergySource source, int n_cpus)
{
        const double totals[] = { e->saved_joules.value, e->saved_joules.low, e->saved_joules.high,
                                  e->unvalued_sec,       e->effective_sec,    e->total_sec,
                                  e->budget.usec };
        GString *text = g_string_new(NULL);
        g_autofree char *blocks = estimator_format(&e->estimator);

        g_string_append_printf(text, MAGIC "\nmachine %s %d by %s\n", energy_source_text(source),
                               n_cpus, work_unit_text(e->unit));
        numbers_format(text, "totals", totals, G_N_ELEMENTS(totals));
        g_string_append(text, blocks);
        return g_string_free(text, FALSE);
}

/* Reads the line of totals; false if it is none. */
static bool parse_totals(const char *line, Evaluator *e)
{
        double x[7];

        if (!numbers_parse(line, "totals", x, G_N_ELEMENTS(x)))
                return false;
        e->saved_joules = (Interval){ x[0], x[1], x[2] };
        e->unvalued_sec = x[3];
        e->effective_sec = x[4];
        e->total_sec = x[5];
        e->budget.usec = x[6];
        return e->unvalued_sec >= 0 && e->effective_sec >= e->unvalued_sec &&
               e->total_sec >= e->effective_sec;
}

int evaluator_parse(const char *text, EnergySource source, int n_cpus, Evaluator *evaluator)
{
        g_autofree char *machine = g_strdup_printf("machine %s %d by %s",
                                                   energy_source_text(source), n_cpus,
                                                   work_unit_text(evaluator->unit));
        g_autofree Evaluator *e = g_memdup2(evaluator, sizeof(*evaluator));
        g_auto(GStrv) lines = g_strsplit(text, "\n", 4);

        if (g_strv_length(lines) != 4 || !g_str_equal(lines[0], MAGIC) ||
            !g_str_has_prefix(lines[1], "machine ") || !parse_totals(lines[2], e) ||
            estimator_parse(lines[3], &e->estimator) < 0)
                return -EBADMSG;
        if (!g_str_equal(lines[1], machine))
                return -ESTALE;
        e->trial.pair = 3 * e->estimator.n_pairs; /* another order than before */
        e->found_load = 0;
        *evaluator = *e;
        return 0;
}
