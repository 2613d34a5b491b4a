/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A governor of our own, for no kernel: it learns how long a CPU sleeps in which circumstances.
 * docs/learned.md has the reasons and the figures.
 *
 * 1. Bins: bin s holds the lengths for which state s is the right one. No sleep is expected to
 *    outlast the next timer by more than timers were late so far, unless recent sleeps did.
 * 2. Contexts: ten summaries of the circumstances (find_slots()), each an index into a table of
 *    its own, and one that is always the same. A slot has a logit for every bin but the deepest.
 * 3. Probability that a sleep which lasted until a bin lasts beyond it: the logistic function of a
 *    constant and the sum of the eleven slots' logits. From these follow the probability of each
 *    bin and the mean length.
 * 4. Two choices, of the enabled states within the latency limit. The frugal one needs the least
 *    energy at the mean length, each state saving as much power as the one before it. The careful
 *    one adds a share (WRONG) of the deepest state's entry energy times the probability that
 *    another state is right. Under a latency limit, too deep a state costs more, the closer it
 *    comes to the limit.
 * 5. Take the careful one, unless it would have cost 1 % more energy than the frugal one over the
 *    last thousand sleeps or so, and there is no latency limit.
 * 6. Learn: for each bin that the sleep reached, all slots' logits move by the error of the
 *    probability times a rate that falls with the slot's visits, 0.45 / sqrt(visits) down to 0.03,
 *    for the slot that is always the same four times as much.
 */
#include <glib.h>

#include "governors/governors.h"

enum {
        CONTEXTS = 11,
        SLOTS = 256,
        BINS = 9,         /* of ten states the shallowest has none: it is never preferred */
        NODES = BINS - 1, /* questions "beyond this bin?" */

        LOGIT_ONE = 1024, /* of slots; eleven of them fit 16 bits */
        LOGIT_MAX = INT16_MAX / CONTEXTS,
        BIAS = 2 * LOGIT_ONE,
        ONE = 1 << 14,         /* of probabilities */
        RATE_FIRST = 14744,    /* 0.45 of 32768 */
        RATES = 225,           /* visits until the rate is 0.03 */
        LATE_MAX = 200 * 1000, /* ns; whatever is later did not end by its timer */
        WRONG = 3,             /* being wrong costs so many tenths of the deepest entry energy */
        MEAN_CAP = 64,         /* mean of long sleeps: each at most that many residencies */
        PRICE = 100,           /* of all energy, care may cost one part in so many */
        MEMORY = 1024,         /* sleeps over which that is counted */
};

#define LENGTH_MAX (INT64_C(1) << 46) /* 19 h: lengths are cut there, so that products fit */

/* What one period was decided by, for the learning after it. */
typedef struct Guess {
        uint8_t slot[CONTEXTS];
        uint8_t timer_bin;      /* the deepest that the next timer allows */
        int16_t beyond[NODES];  /* probability out of ONE */
        int8_t careful, frugal; /* bins, -1: none is within the limit */
        uint64_t time_ns;
        int64_t sleep_ns;
} Guess;

/* What the last periods were. */
typedef struct Past {
        uint8_t bin[2];               /* newest first */
        bool hit, resched;            /* the last one ended by its timer; the CPU had work then */
        int64_t left_ns;              /* the timer was still so far when the last one ended */
        int64_t late_ns;              /* mean lateness of timers */
        int32_t outlasted;            /* how many sleeps lasted longer than their timer, of ONE */
        int64_t beyond_ns;            /* by how much, as a mean */
        int64_t mean_ns[BINS];        /* of the sleeps in each bin */
        int32_t mean_short, mean_all; /* of the lengths' octaves in 1/512, over 4 and 32 sleeps */
        uint64_t end_ns;              /* when the last one ended */
        uint64_t other_ns;            /* when something else than the timer last woke the CPU */
        uint64_t between_ns;          /* that one and the one before */
} Past;

typedef struct Learned {
        int n;               /* states with a bin */
        uint8_t state[BINS]; /* their indexes */
        int64_t from_ns[BINS], latency_ns[BINS];
        int64_t entry[BINS]; /* energy to enter the state, in ns times the power that a state saves
                              */
        int64_t wrong;       /* cost of being wrong */
        int64_t lost, spent; /* what care cost of late; energy of the careful choices */
        int fallback;        /* the state if no other is within the limit */
        int16_t rate[RATES]; /* 32768 times 0.45 / sqrt(visits + 1) */
        Past past;
        Guess guess;
        uint8_t visits[CONTEXTS][SLOTS];
        int16_t logit[CONTEXTS][SLOTS][NODES];
} Learned;

/* Out of ONE: 1 / (1 + exp(-x)), exact at every half, straight lines between. */
static int squash(int logit)
{
        static const int16_t at[45] = {
                0,     0,     1,     1,     2,     3,     5,     9,     15,    25,    41,    67,
                110,   180,   295,   480,   777,   1243,  1953,  2989,  4406,  6186,  8192,  10198,
                11978, 13395, 14431, 15141, 15607, 15904, 16089, 16204, 16274, 16317, 16343, 16359,
                16369, 16375, 16379, 16381, 16382, 16383, 16383, 16384, 16384,
        };
        int i, part;

        if (logit >= 11 * LOGIT_ONE)
                return at[44];
        if (logit < -11 * LOGIT_ONE)
                return at[0];
        part = logit & 511;
        i = (logit >> 9) + 22;
        return (at[i] * (512 - part) + at[i + 1] * part + 256) >> 9;
}

/* log2 of a length in us, in steps of 1/2^`fine`, 0 .. `max`: 0 up to 1 us. */
static int octave(int64_t ns, int fine, int max)
{
        int whole, value;

        if (ns < 1024)
                return 0;
        whole = 63 - __builtin_clzll((uint64_t)ns);
        value = ((whole - 10) << fine) | (int)((ns >> (whole - fine)) & ((1 << fine) - 1));
        return value < max ? value : max;
}

static int bin_of(const Learned *self, int64_t ns)
{
        int bin = 0;

        while (bin + 1 < self->n && self->from_ns[bin + 1] <= ns)
                bin++;
        return bin;
}

/* The enabled states, shallowest first; the residency of one is at most that of a deeper one. */
static void find_bins(Learned *self, const StateTable *table)
{
        int64_t least = LENGTH_MAX / MEAN_CAP;
        int enabled = 0;

        for (int i = 0; i < table->n; i++)
                enabled += !table->states[i].off;
        self->fallback = state_table_shallowest(table);
        for (int i = 0; i < table->n; i++)
                if (!table->states[i].off && (enabled <= BINS || i != self->fallback))
                        self->state[self->n++] = (uint8_t)i;
        for (int i = self->n; i-- > 0;) {
                const ReplayState *state = &table->states[self->state[i]];

                least = CLAMP(state->residency_ns, 0, least);
                self->from_ns[i] = least;
                self->latency_ns[i] = state->latency_ns;
        }
}

/* A division by the square root, in 1/64, of 1, 2, 3... */
static void find_rates(Learned *self)
{
        int root = 64;

        for (int i = 0; i < RATES; i++) {
                while ((root + 1) * (root + 1) <= 4096 * (i + 1))
                        root++;
                self->rate[i] = (int16_t)(64 * RATE_FIRST / root);
        }
}

static void learned_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Learned *self = state;

        find_bins(self, table);
        for (int i = 0; i < self->n; i++) {
                int64_t low = self->from_ns[i], high = i + 1 < self->n ? self->from_ns[i + 1] : 0;

                self->past.mean_ns[i] = i + 1 < self->n ? low + (high - low) / 3 : 4 * low;
                self->entry[i] = i ? self->entry[i - 1] + low : 0;
        }
        if (self->n)
                self->wrong = self->entry[self->n - 1] / 10 * WRONG;
        find_rates(self);
}

/* Step 2. Time may go backwards: what would be negative counts as 0. */
static void find_slots(const Learned *self, const Period *period, int64_t timer_ns, Guess *guess)
{
        const Past *past = &self->past;
        int64_t since_ns = (int64_t)(period->time_ns - past->other_ns);
        int64_t next_ns = (int64_t)(past->between_ns - (uint64_t)since_ns); /* may wrap, too */
        int timer = octave(timer_ns, 0, 15), half = octave(timer_ns, 1, 31);
        int tick = octave(period->tick_ns, 1, 31);
        int busy = octave((int64_t)(period->time_ns - past->end_ns), 0, 7);
        int next = next_ns < 0 ? 0 : 1 + octave(next_ns, 0, 14);
        int iowait = period->iowait < 15 ? (int)period->iowait : 15;
        int bin = past->bin[0] < 7 ? past->bin[0] : 7, before = past->bin[1] < 7 ? past->bin[1] : 7;
        int last = bin << 1 | past->hit;
        int context[CONTEXTS] = {
                iowait << 4 | timer,
                iowait << 4 | last,
                next << 4 | last,
                next << 4 | octave(since_ns, 0, 15),
                octave(past->left_ns, 0, 15) << 4 | timer,
                (tick >> 1) << 4 | (half - tick < 15 ? half - tick : 15),
                busy << 5 | past->resched << 4 | timer,
                (busy >> 1) << 6 | bin << 3 | before,
                bin << 5 | (before >> 1) << 3 | (guess->timer_bin < 7 ? guess->timer_bin : 7),
                (past->mean_short >> 9) << 4 | past->mean_all >> 9,
                0,
        };

        for (int c = 0; c < CONTEXTS; c++)
                guess->slot[c] = (uint8_t)context[c];
}

/* Step 3: the probability of going beyond each bin. */
static void find_beyond(const Learned *self, Guess *guess)
{
        int16_t sum[NODES] = { 0 };

        for (int c = 0; c < CONTEXTS; c++) {
                const int16_t *logit = self->logit[c][guess->slot[c]];

                for (int node = 0; node < NODES; node++)
                        sum[node] = (int16_t)(sum[node] + logit[node]);
        }
        for (int node = 0; node < guess->timer_bin; node++)
                guess->beyond[node] = (int16_t)squash(sum[node] + BIAS);
}

/* The longest that counts for a mean. */
static int64_t length_max(const Learned *self)
{
        return self->n ? MEAN_CAP * self->from_ns[self->n - 1] : 0;
}

/* The length that a sleep of this bin is taken for. */
static int64_t length_of(const Learned *self, int bin, int timer_bin, int64_t timer_ns)
{
        int64_t low = self->from_ns[bin], high;

        if (bin != timer_bin)
                return self->past.mean_ns[bin];
        high = bin + 1 < self->n ? self->from_ns[bin + 1] : self->past.mean_ns[bin];
        return CLAMP(timer_ns, low, high > low ? high : low);
}

/* The probability of each bin, out of 65536. Returns the mean length. */
static int64_t find_lengths(const Learned *self, int64_t timer_ns, int32_t *ret_p)
{
        const Guess *guess = &self->guess;
        const Past *past = &self->past;
        int timer_bin = guess->timer_bin, over = timer_bin;
        int32_t left = 65536;
        int64_t mean = 0;

        for (int bin = 0; bin < timer_bin; bin++) {
                int32_t beyond = (int32_t)((int64_t)left * guess->beyond[bin] / ONE);

                ret_p[bin] = left - beyond;
                left = beyond;
        }
        if (past->outlasted > ONE / 16)
                over = bin_of(self, timer_ns + past->beyond_ns);
        if (over > timer_bin) {
                ret_p[over] = (int32_t)((int64_t)left * past->outlasted / ONE);
                left -= ret_p[over];
                mean += ret_p[over] * (CLAMP(timer_ns + past->beyond_ns, 0, length_max(self)) >> 8);
        }
        ret_p[timer_bin] = left;
        for (int bin = 0; bin <= timer_bin; bin++)
                mean += ret_p[bin] * (length_of(self, bin, timer_bin, timer_ns) >> 8);
        return mean >> 8;
}

/* Step 4. */
static void choose(Learned *self, const int32_t *p, int64_t mean_ns, int64_t limit_ns)
{
        int64_t least = INT64_MAX, least_careful = INT64_MAX;
        int32_t sooner = 0; /* the sleep is for a shallower one */

        self->guess.frugal = self->guess.careful = -1;
        for (int i = 0; i < self->n; sooner += p[i++]) {
                int64_t cost = self->entry[i] - i * mean_ns, careful;
                int32_t right = p[i];

                if (self->latency_ns[i] > limit_ns)
                        continue;
                for (int k = i + 1; k < self->n && self->latency_ns[k] > limit_ns; k++)
                        right += p[k];
                careful = cost + (self->wrong * (65536 - right) >> 16);
                if (limit_ns < NO_LATENCY_LIMIT && limit_ns > 0)
                        careful += (self->wrong >> 4) * (sooner >> 8) *
                                           (self->latency_ns[i] * 256 / limit_ns) >>
                                   12;
                if (cost < least) {
                        least = cost;
                        self->guess.frugal = (int8_t)i;
                }
                if (careful < least_careful) {
                        least_careful = careful;
                        self->guess.careful = (int8_t)i;
                }
        }
}

static int learned_select(void *state, const StateTable *table, const Period *period)
{
        Learned *self = state;
        Guess *guess = &self->guess;
        int32_t p[BINS] = { 0 };
        int64_t timer_ns, mean_ns;
        int best;

        guess->time_ns = period->time_ns;
        guess->sleep_ns = CLAMP(period->sleep_ns, 0, LENGTH_MAX);
        timer_ns = guess->sleep_ns + self->past.late_ns;
        guess->timer_bin = (uint8_t)bin_of(self, timer_ns);
        find_slots(self, period, timer_ns, guess);
        find_beyond(self, guess);
        mean_ns = find_lengths(self, timer_ns, p);
        choose(self, p, mean_ns, period->limit_ns);
        best = guess->careful;
        if (period->limit_ns >= NO_LATENCY_LIMIT && self->lost > self->spent / PRICE)
                best = guess->frugal;
        return best < 0 ? self->fallback : self->state[best];
}

/* Step 5: what both choices would have cost. */
static void count_care(Learned *self, int64_t idle_ns)
{
        const Guess *guess = &self->guess;
        int64_t length = CLAMP(idle_ns, 0, length_max(self)), careful, frugal;

        if (guess->careful < 0)
                return;
        careful = self->entry[guess->careful] + (self->n - guess->careful) * length;
        frugal = self->entry[guess->frugal] + (self->n - guess->frugal) * length;
        self->lost += careful - frugal - self->lost / MEMORY;
        self->spent += careful - self->spent / MEMORY;
}

/* Step 6. */
static void learn(Learned *self, int bin)
{
        const Guess *guess = &self->guess;
        int16_t error[NODES] = { 0 };

        for (int node = 0; node < guess->timer_bin && node <= bin; node++)
                error[node] = (int16_t)((bin > node ? ONE - 1 : 0) - guess->beyond[node]);
        for (int c = 0; c < CONTEXTS; c++) {
                uint8_t *visits = &self->visits[c][guess->slot[c]];
                int16_t *logit = self->logit[c][guess->slot[c]], rate = self->rate[*visits];
                int shift = c == CONTEXTS - 1 ? 1 : 3, half = 1 << shift >> 1;

                *visits = (uint8_t)(*visits + (*visits < RATES - 1));
                for (int node = 0; node < NODES; node++) {
                        int16_t step = (int16_t)(error[node] * rate >> 16);
                        int16_t moved = (int16_t)(logit[node] + ((step + half) >> shift));

                        moved = moved > LOGIT_MAX ? LOGIT_MAX : moved;
                        logit[node] = moved < -LOGIT_MAX ? -LOGIT_MAX : moved;
                }
        }
}

/* What is known of timers, by one that was `late_ns` late. */
static void remember_timer(Learned *self, int64_t late_ns, int bin)
{
        Past *past = &self->past;
        bool outlasted = late_ns >= LATE_MAX && bin > self->guess.timer_bin;

        if (late_ns < LATE_MAX)
                past->late_ns += (late_ns - past->late_ns) / 16;
        if (outlasted)
                past->beyond_ns += (CLAMP(late_ns, 0, length_max(self)) - past->beyond_ns) / 8;
        past->outlasted += ((outlasted ? ONE : 0) - past->outlasted) / 16;
}

/* Takes the sleep into the summaries of the past. */
static void remember(Learned *self, int64_t idle_ns, int bin)
{
        const Guess *guess = &self->guess;
        Past *past = &self->past;
        int64_t late_ns = idle_ns - guess->sleep_ns;
        int64_t length = CLAMP(idle_ns, 0, length_max(self));
        int length_octave = octave(idle_ns, 9, (16 << 9) - 1);

        past->hit = late_ns >= 0;
        past->end_ns = guess->time_ns + (uint64_t)idle_ns;
        if (past->hit)
                remember_timer(self, late_ns, bin);
        else {
                past->between_ns = past->end_ns - past->other_ns;
                past->other_ns = past->end_ns;
        }
        past->left_ns = past->hit ? 0 : -late_ns;
        past->bin[1] = past->bin[0];
        past->bin[0] = (uint8_t)bin;
        past->mean_short += (length_octave - past->mean_short) / 4;
        past->mean_all += (length_octave - past->mean_all) / 32;
        past->mean_ns[bin] += (length - past->mean_ns[bin]) / (bin == self->n - 1 ? 16 : 32);
}

static void learned_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Learned *self = state;
        int64_t idle_ns = outcome->residency_ns - table->states[outcome->state].latency_ns;
        int bin;

        idle_ns = CLAMP(idle_ns, 0, LENGTH_MAX);
        bin = bin_of(self, idle_ns);
        learn(self, bin);
        count_care(self, idle_ns);
        remember(self, idle_ns, bin);
        self->past.resched = outcome->resched;
}

const Governor governor_learned = {
        .name = "learned",
        .state_size = sizeof(Learned),
        .init = learned_init,
        .select = learned_select,
        .reflect = learned_reflect,
};
