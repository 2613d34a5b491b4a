/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Estimating a difference from pairs of blocks; the header names the method.
 *
 *  1. For each pair, compute the difference in power (off minus on), in work per second and in
 *     delay, and the logarithm of the ratio of joules per unit of work.
 *  2. If one arm does more work, by more than chance and the measure of work explain, and each
 *     switch to a task takes more time and more work there, by at most OVERHEAD, the surplus is
 *     taken for overhead, because both arms have as many wake-ups. It is taken off the work of that
 *     arm: at most the whole difference, and at most OVERHEAD_SHARE. Tasks that wait do not work,
 *     so a difference as large as the waiting in the other arm stays.
 *  3. Compare power at equal work: subtract b times the difference in work from each difference in
 *     power, with b by least squares, at least 0. The interval grows by what the setting may do to
 *     the measure of work itself. If the interval becomes no narrower, keep the plain differences.
 *     If one arm does less work, by more than chance and the measure of work explain, extend the
 *     interval by the power of the missing work, as far as b does not account for it.
 *  4. Compute the trimmed mean, standard error, degrees of freedom and interval of each series. The
 *     power of each arm is the trimmed mean of all pairs, plus or minus half of the difference.
 *     Joules per unit of work are that power by the mean work. If one arm does less work (step 3),
 *     their saved share comes from the logarithms of step 1.
 *  5. The verdict comes from the odds that the differences in power are not around zero.
 */
#include "stats/estimate.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "stats/student.h"

#define TRIM        0.1
#define LEAST_PAIRS 4 /* for a verdict, and for the regression */
#define NEAR        4 /* times as much, or as little, work is still alike */
#define ROUNDING    1e-9
#define PRIOR       2      /* standard deviation of the difference, in those of a pair's */
#define OVERHEAD    100e-6 /* seconds of CPU time: caches that a sleep left empty take as long */
#define MAGIC       "idled-estimator 2"

/* Largest share of the work. Fewer requests in as many wake-ups look like overhead, too. */
#define OVERHEAD_SHARE 0.1

/* A series of numbers, one of each pair. */
typedef struct Series {
        double x[ESTIMATE_PAIRS];
        unsigned n;
} Series;

/* A mean with its error. */
typedef struct Mean {
        double value, error; /* standard error; NAN: fewer than two numbers */
        double df;           /* of the error */
        unsigned n;          /* numbers */
        double less, more;   /* it may be wrong by so much more, to either side */
} Mean;

/* The numbers of a block, in the order of the file. */
#define BLOCK_NUMBERS 7

static const size_t offsets[BLOCK_NUMBERS] = {
        offsetof(Block, seconds),  offsetof(Block, joules), offsetof(Block, work),
        offsetof(Block, delay),    offsetof(Block, load),   offsetof(Block, cpu_seconds),
        offsetof(Block, switches),
};

#define JOULES offsetof(Block, joules)
#define WORK   offsetof(Block, work)
#define DELAY  offsetof(Block, delay)

static bool is_sound(const Block *block)
{
        for (int i = 0; i < BLOCK_NUMBERS; i++) {
                double x = G_STRUCT_MEMBER(double, block, offsets[i]);

                if (!isfinite(x) || x < 0)
                        return false;
        }
        return block->seconds > 0;
}

/* Without NAN. Unless both waiting and switches are known no difference in work is overhead. */
static Block known(const Block *block)
{
        Block result = *block;

        if (isnan(block->delay) || isnan(block->switches))
                result.cpu_seconds = result.switches = 0;
        if (isnan(block->delay))
                result.delay = 0;
        if (block->load <= 0)
                result.load = block->work;
        return result;
}

/* The block that waits does so for nothing. */
static void drop_half(Estimator *estimator)
{
        if (estimator->half.seconds <= 0)
                return;
        estimator->dropped[DROP_UNPAIRED]++;
        estimator->half.seconds = 0;
}

void estimator_drop(Estimator *estimator, BlockDrop why)
{
        drop_half(estimator);
        estimator->dropped[why]++;
}

void estimator_add(Estimator *estimator, const Block *block, uint64_t pair)
{
        Block *half = &estimator->half, whole = known(block);
        BlockPair *next = &estimator->pairs[estimator->n_pairs % ESTIMATE_PAIRS];

        if (!is_sound(&whole)) {
                estimator_drop(estimator, DROP_ENERGY);
                return;
        }
        if (half->seconds > 0 && (estimator->half_pair != pair || half->on == block->on))
                drop_half(estimator);
        if (half->seconds <= 0) {
                *half = whole;
                estimator->half_pair = pair;
                return;
        }
        next->arms[half->on] = *half;
        next->arms[block->on] = whole;
        half->seconds = 0;
        estimator->n_pairs++;
}

uint64_t estimator_dropped(const Estimator *estimator)
{
        uint64_t n = 0;

        for (int i = 0; i < BLOCK_DROPS; i++)
                n += estimator->dropped[i];
        return n;
}

const char *block_drop_text(BlockDrop why)
{
        static const char *const texts[BLOCK_DROPS] = {
                [DROP_ENERGY] = "energy could not be read",
                [DROP_FROZEN] = "energy counters did not move",
                [DROP_SHORT] = "the block ended early or late",
                [DROP_CONFIG] = "options or the profile changed",
                [DROP_HOLD] = "a hold or a pause began or ended",
                [DROP_SLEEP] = "the machine slept",
                [DROP_HOTPLUG] = "CPUs came or went",
                [DROP_CLOCK] = "the clock was set",
                [DROP_EFFECT] = "the policy's requests changed or had no effect",
                [DROP_IDLE] = "there was next to no load",
                [DROP_UNPAIRED] = "the other block of the pair was dropped",
        };

        return texts[why];
}

const char *verdict_text(Verdict verdict)
{
        return verdict == VERDICT_SAVES ? "saves" : verdict == VERDICT_COSTS ? "costs" : "unknown";
}

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double mean_of(const Series *s)
{
        double sum = 0;

        for (unsigned i = 0; i < s->n; i++)
                sum += s->x[i];
        return sum / s->n;
}

static double median_of(const Series *s)
{
        Series sorted = *s;

        qsort(sorted.x, s->n, sizeof(sorted.x[0]), compare);
        return (sorted.x[(s->n - 1) / 2] + sorted.x[s->n / 2]) / 2;
}

/* Step 4, of a series that took `fitted` numbers in addition to its mean to compute. */
static Mean trimmed_mean(const Series *s, unsigned fitted)
{
        unsigned cut = (unsigned)(TRIM * s->n), left = s->n - 2 * cut;
        Series sorted = *s, wins = *s;
        double sum = 0, squares = 0, mean;

        qsort(sorted.x, s->n, sizeof(sorted.x[0]), compare);
        for (unsigned i = cut; i < s->n - cut; i++)
                sum += sorted.x[i];
        for (unsigned i = 0; i < s->n; i++)
                wins.x[i] = CLAMP(s->x[i], sorted.x[cut], sorted.x[s->n - 1 - cut]);
        mean = mean_of(&wins);
        for (unsigned i = 0; i < s->n; i++)
                squares += (wins.x[i] - mean) * (wins.x[i] - mean);
        /* Squares of the winsorised numbers by left (left - 1), less what was fitted (Yuen 1974).
         */
        return (Mean){
                .value = sum / left,
                .error = s->n < 2 ? NAN : sqrt(squares / MAX(left - 1.0 - fitted, 1) / left),
                .df = left - 1.0 - fitted,
                .n = s->n,
        };
}

static Interval interval_of(const Mean *mean)
{
        double half = student_quantile(mean->df) * mean->error;

        return (Interval){ isnan(half) ? NAN : mean->value, mean->value - half - mean->less,
                           mean->value + half + mean->more };
}

/* Odds that the mean is not 0, against that it is. The prior is normal about 0. */
static double odds_of(const Mean *mean)
{
        double nu = MAX(mean->df, 1), g = 1 + mean->n * PRIOR * PRIOR;
        double bias = mean->value > 0 ? mean->less : mean->more;
        double sure = MAX(fabs(mean->value) - bias, 0), t = sure / mean->error, t2 = t * t;

        if (!(mean->error > 0))
                return sure > 0 && mean->error == 0 ? INFINITY : 1;
        return exp(((nu + 1) * (log1p(t2 / nu) - log1p(t2 / (nu * g))) - log(g)) / 2);
}

/* Watts for each unit of work per second, by least squares; 0 at least. Differences in work that
 * are rounding, compared with its `level`, show none. */
static double slope_of(const Series *watts, const Series *work, double level)
{
        double least = ROUNDING * level;
        double watts_mean = mean_of(watts), work_mean = mean_of(work), square = 0, product = 0;

        for (unsigned i = 0; i < watts->n; i++) {
                double x = work->x[i] - work_mean;

                square += x * x;
                product += x * (watts->x[i] - watts_mean);
        }
        return square > work->n * least * least ? MAX(product / square, 0) : 0;
}

/* The difference in work between the arms that neither chance nor the measure of work explains; off
 * minus on. `levels` are the means of both arms. */
static double shown_difference(const Series *work, const double levels[2], double work_error)
{
        Mean mean = trimmed_mean(work, 0);
        Interval seen = interval_of(&mean);
        bool chance = !(seen.low > 0) && !(seen.high < 0);

        return chance || fabs(mean.value) <= work_error * MAX(levels[0], levels[1]) ? 0
                                                                                    : mean.value;
}

/* Step 3: the mean at equal work, by the slope; false if its interval is not narrower. */
static bool equalise(const Series *watts, const Series *work, double slope, double level,
                     double work_error, Mean *mean)
{
        Interval wide = interval_of(mean), narrow;
        Series left = *watts;
        double mean_work = trimmed_mean(work, 0).value, bias = slope * work_error * level;
        Mean equal;

        for (unsigned i = 0; i < left.n; i++)
                left.x[i] -= slope * work->x[i];
        equal = trimmed_mean(&left, 1);
        equal.less = equal.more = bias;
        narrow = interval_of(&equal);
        if (!(narrow.high - narrow.low < wide.high - wide.low))
                return false;
        /* A step of the load spoils the mean of few pairs, regular bursts the median.
         * Not before the choice: it would prefer plain means where chance made work differ. */
        if (work_error > 0)
                bias = MAX(bias, slope * MIN(fabs(median_of(work)), fabs(mean_work)));
        equal.less = equal.more = bias;
        *mean = equal;
        return true;
}

/* Steps 3 and 4. `power` and `levels`: mean watts and work per second, of both arms. */
static Mean saved_watts(const Series *watts, const Series *work, double power,
                        const double levels[2], double work_error, Estimate *found)
{
        Mean mean = trimmed_mean(watts, 0);
        double level = (levels[0] + levels[1]) / 2, slope = 0, less, more;

        if (watts->n < LEAST_PAIRS || isinf(work_error))
                return mean;
        slope = slope_of(watts, work, level);
        found->equal_work = equalise(watts, work, slope, level, work_error, &mean);
        if (!found->equal_work)
                slope = 0;
        /* If all power were due to work, the slope would be `power / level`. */
        less = shown_difference(work, levels, work_error);
        found->work_change = less == 0 ? 0 : -less / levels[0];
        more = MAX(power / level - slope, 0) * fabs(less);
        if (less > 0)
                mean.less = MAX(mean.less, more);
        else if (less < 0)
                mean.more = MAX(mean.more, more);
        return mean;
}

/* What is so many in the block, per second. */
static double rate(const BlockPair *pair, int arm, size_t offset)
{
        return G_STRUCT_MEMBER(double, &pair->arms[arm], offset) / pair->arms[arm].seconds;
}

/* Per second. */
static double load_of(const BlockPair *pair)
{
        const Block *off = &pair->arms[0], *on = &pair->arms[1];

        return (off->load + on->load) / (off->seconds + on->seconds);
}

static bool is_near(const BlockPair *pair, double work)
{
        double mean = load_of(pair);

        return work <= 0 || (mean >= work / NEAR && mean <= work * NEAR);
}

/* The pairs to use, oldest first; room for ESTIMATE_PAIRS. */
static unsigned choose(const Estimator *e, const EstimateQuery *query, BlockPair *ret_pairs)
{
        uint64_t kept = MIN(e->n_pairs, ESTIMATE_PAIRS);
        unsigned most = query->newest ? query->newest : ESTIMATE_PAIRS, n = 0;

        for (uint64_t i = 1; i <= kept && n < most; i++) {
                const BlockPair *pair = &e->pairs[(e->n_pairs - i) % ESTIMATE_PAIRS];

                if (is_near(pair, query->near_work))
                        ret_pairs[ESTIMATE_PAIRS - ++n] = *pair;
        }
        memmove(ret_pairs, ret_pairs + ESTIMATE_PAIRS - n, n * sizeof(*ret_pairs));
        return n;
}

/* The differences between the arms, per second: those of `first` minus the others. */
static Series differences(const BlockPair *pairs, unsigned n, int first, size_t offset)
{
        Series s = { .n = n };

        for (unsigned i = 0; i < n; i++)
                s.x[i] = rate(&pairs[i], first, offset) - rate(&pairs[i], !first, offset);
        return s;
}

/* The mean of an arm, per second. */
static double level(const BlockPair *pairs, unsigned n, int arm, size_t offset)
{
        double sum = 0;

        for (unsigned i = 0; i < n; i++)
                sum += rate(&pairs[i], arm, offset);
        return sum / n;
}

/* Work per second that so many seconds for each switch in the block are. */
static double overhead_of(const Block *block, double each)
{
        return block->cpu_seconds > 0
                       ? each * block->switches * block->work / block->cpu_seconds / block->seconds
                       : 0;
}

/* Work per second of a block that is due to longer time, and to more work, for each switch than in
 * the other arm: the smaller, because a slower clock or a busy sibling makes time longer. */
static double overhead_in(const Block *block, const Block *other)
{
        double time = block->cpu_seconds / block->switches - other->cpu_seconds / other->switches;
        double work = block->work / block->switches - other->work / other->switches;

        return MIN(overhead_of(block, time), work * block->switches / block->seconds);
}

static bool knows_switches(const BlockPair *pairs, unsigned n)
{
        for (unsigned i = 0; i < n; i++)
                if (!(pairs[i].arms[0].switches > 0 && pairs[i].arms[1].switches > 0))
                        return false;
        return n >= LEAST_PAIRS;
}

/* Step 2. Returns the seconds for each switch that the difference in work is due to, off minus on;
 * 0: none. */
static double take_off_overhead(BlockPair *pairs, unsigned n, double work_error)
{
        Series work = differences(pairs, n, 0, WORK), overheads = { .n = n };
        const double levels[2] = { level(pairs, n, 0, WORK), level(pairs, n, 1, WORK) };
        double shown = shown_difference(&work, levels, work_error), of_second = 0, most, each;
        int more = shown < 0;
        Mean overhead;

        if (!knows_switches(pairs, n) || isinf(work_error))
                return 0;
        for (unsigned i = 0; i < n; i++) {
                overheads.x[i] = overhead_in(&pairs[i].arms[more], &pairs[i].arms[!more]);
                of_second += overhead_of(&pairs[i].arms[more], 1) / n;
        }
        overhead = trimmed_mean(&overheads, 0);
        most = MIN(fabs(shown) - level(pairs, n, !more, DELAY) * levels[more],
                   OVERHEAD_SHARE * levels[more]);
        if (!(most > 0) || overhead.value <= ROUNDING * levels[more] ||
            overhead.value > OVERHEAD * of_second || odds_of(&overhead) < ESTIMATE_ODDS)
                return 0;
        each = MIN(most, overhead.value) / of_second;
        for (unsigned i = 0; i < n; i++) {
                Block *block = &pairs[i].arms[more];
                double left = block->work - overhead_of(block, each) * block->seconds;

                block->work = MAX(left, 0);
        }
        return more ? -each : each;
}

/* What the pairs do per second. */
static double mean_load(const BlockPair *pairs, unsigned n)
{
        Series logs = { .n = 0 };

        for (unsigned i = 0; i < n; i++)
                if (load_of(&pairs[i]) > 0)
                        logs.x[logs.n++] = log(load_of(&pairs[i]));
        return logs.n > 0 ? exp(mean_of(&logs)) : NAN;
}

/* Step 4, where the arms do different work: the saved share of the joules per unit of work is that
 * of geometric means; `unless` there are none. */
static Interval saved_share(const BlockPair *pairs, unsigned n, Interval unless)
{
        Series ratios = { .n = 0 };
        Interval x;
        Mean mean;

        for (unsigned i = 0; i < n; i++) {
                const Block *off = &pairs[i].arms[0], *on = &pairs[i].arms[1];

                if (off->joules * on->work > 0 && on->joules * off->work > 0)
                        ratios.x[ratios.n++] = log(off->joules * on->work / on->joules / off->work);
        }
        if (ratios.n == 0)
                return unless;
        mean = trimmed_mean(&ratios, 0);
        x = interval_of(&mean);
        return (Interval){ -expm1(-x.value), -expm1(-x.low), -expm1(-x.high) };
}

/* Step 4: the means of the arms, such that they differ by what is saved. `levels`: mean work per
 * second, of both arms. */
static void add_means(Estimate *found, const BlockPair *pairs, double power, double saved,
                      const double levels[2])
{
        double off = power + saved / 2, work = (levels[0] + levels[1]) / 2;
        const Interval *watts = &found->watts;

        found->off_watts = off;
        found->on_watts = off - saved;
        if (!(work > 0) || !(off > 0))
                return;
        found->off_joules_per_work = off / work;
        found->per_work = (Interval){ watts->value / off, watts->low / off, watts->high / off };
        if (found->work_change != 0) {
                found->per_work = saved_share(pairs, found->n_pairs, found->per_work);
                found->off_joules_per_work = off / levels[0];
        }
        found->on_joules_per_work = found->off_joules_per_work *
                                    (found->n_pairs < 2 ? 1 - saved / off
                                                        : 1 - found->per_work.value);
}

Estimate estimate(const Estimator *estimator, const EstimateQuery *query)
{
        BlockPair pairs[ESTIMATE_PAIRS];
        unsigned n = choose(estimator, query, pairs);
        const Interval none = { NAN, NAN, NAN };
        Estimate found = { n,   none, false, 0,   0,   none, none,
                           NAN, NAN,  NAN,   NAN, NAN, 1,    VERDICT_UNKNOWN };
        Series watts, work, delay, power = { .n = n };
        double levels[2];
        Mean mean;

        if (n == 0)
                return found;
        found.overhead = take_off_overhead(pairs, n, query->work_error);
        watts = differences(pairs, n, 0, JOULES);
        work = differences(pairs, n, 0, WORK);
        delay = differences(pairs, n, 1, DELAY);
        for (unsigned i = 0; i < n; i++)
                power.x[i] = (rate(&pairs[i], 0, JOULES) + rate(&pairs[i], 1, JOULES)) / 2;
        for (int arm = 0; arm < 2; arm++)
                levels[arm] = level(pairs, n, arm, WORK);
        found.load = mean_load(pairs, n);
        mean = saved_watts(&watts, &work, mean_of(&power), levels, query->work_error, &found);
        found.watts = interval_of(&mean);
        add_means(&found, pairs, trimmed_mean(&power, 0).value, mean.value, levels);
        if (n >= LEAST_PAIRS)
                found.odds = odds_of(&mean);
        if (found.odds >= ESTIMATE_ODDS)
                found.verdict = mean.value > 0 ? VERDICT_SAVES : VERDICT_COSTS;
        mean = trimmed_mean(&delay, 0);
        found.delay = interval_of(&mean);
        return found;
}

double estimate_pairs_needed(const Estimate *estimate, const Interval *what, double half_width)
{
        double half = (what->high - what->low) / 2, factor = half / half_width;

        if (!isfinite(half) || !(half_width > 0))
                return -1;
        return factor > 1 ? ceil(estimate->n_pairs * (factor * factor - 1)) : 0;
}

void numbers_format(GString *text, const char *word, const double *numbers, size_t n)
{
        g_string_append(text, word);
        for (size_t i = 0; i < n; i++) {
                char buffer[G_ASCII_DTOSTR_BUF_SIZE];

                g_string_append_printf(text, " %s",
                                       g_ascii_dtostr(buffer, sizeof(buffer), numbers[i]));
        }
        g_string_append_c(text, '\n');
}

bool numbers_parse(const char *line, const char *word, double *ret_numbers, size_t n)
{
        g_auto(GStrv) parts = g_strsplit(line, " ", -1);

        if (g_strv_length(parts) != n + 1 || !g_str_equal(parts[0], word))
                return false;
        for (size_t i = 0; i < n; i++) {
                char *end;

                ret_numbers[i] = g_ascii_strtod(parts[i + 1], &end);
                if (end == parts[i + 1] || *end || !isfinite(ret_numbers[i]))
                        return false;
        }
        return true;
}

char *estimator_format(const Estimator *e)
{
        uint64_t kept = MIN(e->n_pairs, ESTIMATE_PAIRS);
        GString *text = g_string_new(MAGIC "\n");

        g_string_append_printf(text, "pairs %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT "\ndropped",
                               e->n_pairs, 2 * e->n_pairs);
        for (int i = 0; i < BLOCK_DROPS; i++)
                g_string_append_printf(text, " %" G_GUINT64_FORMAT,
                                       e->dropped[i] + (i == DROP_UNPAIRED && e->half.seconds > 0));
        g_string_append_c(text, '\n');
        for (uint64_t i = kept; i > 0; i--) {
                const BlockPair *p = &e->pairs[(e->n_pairs - i) % ESTIMATE_PAIRS];
                double x[2 * BLOCK_NUMBERS];

                for (int k = 0; k < 2 * BLOCK_NUMBERS; k++)
                        x[k] = G_STRUCT_MEMBER(double, &p->arms[k / BLOCK_NUMBERS],
                                               offsets[k % BLOCK_NUMBERS]);
                numbers_format(text, "pair", x, G_N_ELEMENTS(x));
        }
        g_string_append(text, "end\n");
        return g_string_free(text, FALSE);
}

/* Reads the word, and `n` counts behind it, that make up the line. */
static bool parse_counts(const char *line, const char *word, uint64_t *ret_counts, int n)
{
        g_auto(GStrv) parts = g_strsplit(line, " ", -1);

        if ((int)g_strv_length(parts) != n + 1 || !g_str_equal(parts[0], word))
                return false;
        for (int i = 0; i < n; i++)
                if (!g_ascii_string_to_unsigned(parts[i + 1], 10, 0, UINT64_MAX / 2, &ret_counts[i],
                                                NULL))
                        return false;
        return true;
}

static bool parse_pair(const char *line, BlockPair *ret_pair)
{
        double x[2 * BLOCK_NUMBERS];

        if (!numbers_parse(line, "pair", x, G_N_ELEMENTS(x)))
                return false;
        for (int k = 0; k < 2 * BLOCK_NUMBERS; k++)
                G_STRUCT_MEMBER(double, &ret_pair->arms[k / BLOCK_NUMBERS],
                                offsets[k % BLOCK_NUMBERS]) = x[k];
        return is_sound(&ret_pair->arms[0]) && is_sound(&ret_pair->arms[1]);
}

int estimator_parse(const char *text, Estimator *ret_estimator)
{
        g_autofree Estimator *e = g_new0(Estimator, 1);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        guint n = g_strv_length(lines);
        uint64_t counts[2], kept;

        if (n < 5 || !g_str_equal(lines[0], MAGIC) || !parse_counts(lines[1], "pairs", counts, 2) ||
            !parse_counts(lines[2], "dropped", e->dropped, BLOCK_DROPS))
                return -EBADMSG;
        e->n_pairs = counts[0];
        kept = MIN(e->n_pairs, ESTIMATE_PAIRS);
        if (n != 5 + kept || !g_str_equal(lines[n - 2], "end") || *lines[n - 1])
                return -EBADMSG;
        for (uint64_t i = 0; i < kept; i++)
                if (!parse_pair(lines[3 + i], &e->pairs[(e->n_pairs - kept + i) % ESTIMATE_PAIRS]))
                        return -EBADMSG;
        *ret_estimator = *e;
        return 0;
}
