/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the versions of menu share.
 *
 * The arithmetic is the kernel's to the bit: lengths are whole microseconds of 32 bits where it has
 * them so, and sums and squares wrap as its do.
 */
#include "governors/menu.h"

void menu_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Menu *menu = state;

        for (int i = 0; i < MENU_GROUPS * MENU_BUCKETS; i++)
                menu->factors[i] = MENU_ONE;
}

int menu_bucket(uint64_t timer_ns)
{
        uint64_t below_ns = 10000;
        int bucket = 0;

        while (bucket < MENU_BUCKETS - 1 && timer_ns >= below_ns) {
                below_ns *= 10;
                bucket++;
        }
        return bucket;
}

static void add_interval(Menu *menu, uint32_t us)
{
        menu->intervals_us[menu->next_interval] = us;
        menu->next_interval = (uint8_t)((menu->next_interval + 1) % MENU_INTERVALS);
}

/* How long the last period was: one that the tick ended before a distant timer counts as long, of
 * others the exit latency is taken off. Never longer than until the timer. */
static uint64_t measure(const Menu *menu, const StateTable *table)
{
        uint64_t latency_ns = (uint64_t)table->states[menu->last].latency_ns;
        uint64_t length_ns = (uint64_t)menu->residency_ns;

        if (menu->got_tick && menu->timer_ns > (uint64_t)TICK_NS)
                length_ns = 9 * MENU_LONG_NS / 10;
        else if (length_ns > 2 * latency_ns)
                length_ns -= latency_ns;
        else
                length_ns /= 2;
        return length_ns < menu->timer_ns ? length_ns : menu->timer_ns;
}

void menu_learn(Menu *menu, const StateTable *table)
{
        uint32_t *factor = &menu->factors[menu->bucket];
        uint64_t length_ns;

        if (!menu->pending) {
                /* So the kernel marks a period that a driver refused; here it is the first. */
                if (menu->residency_ns == 0)
                        add_interval(menu, MENU_NEVER);
                return;
        }
        menu->pending = false;
        length_ns = measure(menu, table);
        *factor -= *factor / MENU_WEIGHT;
        if (menu->timer_ns > 0 && length_ns < (uint64_t)MENU_LONG_NS)
                *factor += (uint32_t)(MENU_FACTOR * length_ns / menu->timer_ns);
        else
                *factor += MENU_FACTOR;
        add_interval(menu, (uint32_t)(length_ns / 1000));
}

/* For the intervals between two bounds. */
typedef struct Spread {
        uint32_t n, min, max, mean;
        uint64_t variance;
        uint64_t squares; /* their sum */
} Spread;

static bool is_between(uint32_t us, int64_t above_us, int64_t below_us)
{
        return us > above_us && us < below_us;
}

static Spread find_spread(const Menu *menu, int64_t above_us, int64_t below_us)
{
        Spread spread = { .min = UINT32_MAX };
        uint64_t sum = 0;

        for (int i = 0; i < MENU_INTERVALS; i++) {
                uint32_t us = menu->intervals_us[i];

                if (!is_between(us, above_us, below_us))
                        continue;
                sum += us;
                spread.squares += (uint64_t)us * us;
                spread.n++;
                spread.min = us < spread.min ? us : spread.min;
                spread.max = us > spread.max ? us : spread.max;
        }
        if (spread.n == 0)
                return spread;
        spread.mean = (uint32_t)(sum / spread.n);
        for (int i = 0; i < MENU_INTERVALS; i++) {
                int64_t off = (int64_t)menu->intervals_us[i] - spread.mean;

                if (is_between(menu->intervals_us[i], above_us, below_us))
                        spread.variance += (uint64_t)off * (uint64_t)off;
        }
        spread.variance /= spread.n;
        return spread;
}

/* A standard deviation of at most 20 us, or of less than a sixth of the mean of 6 or more. */
static bool is_alike(const Spread *spread)
{
        uint64_t square = (uint64_t)spread->mean * spread->mean;

        if (spread->variance > UINT64_MAX / 36)
                return false;
        return spread->variance <= 400 ||
               (square > spread->variance * 36 && spread->n * 4 >= MENU_INTERVALS * 3);
}

uint32_t menu_typical(const Menu *menu, uint32_t below_us, bool not_zeroes)
{
        int64_t longer_us = INT64_C(1) << 31;

        for (;;) {
                Spread spread = find_spread(menu, -1, longer_us);

                if (spread.min >= below_us || (not_zeroes && spread.max == 0))
                        return MENU_NEVER;
                if (is_alike(&spread))
                        return spread.mean;
                if (spread.n * 4 <= MENU_INTERVALS * 3)
                        return MENU_NEVER;
                longer_us = spread.max;
        }
}

uint32_t menu_typical_middle(const Menu *menu)
{
        int64_t above_us = -1, below_us = UINT32_MAX;

        for (;;) {
                Spread spread = find_spread(menu, above_us, below_us);

                if (spread.max == 0)
                        return MENU_NEVER;
                spread.variance = spread.squares / spread.n - (uint64_t)spread.mean * spread.mean;
                if (is_alike(&spread))
                        return spread.mean;
                if (spread.n * 4 <= MENU_INTERVALS * 3)
                        return MENU_NEVER;
                if (spread.mean - spread.min > spread.max - spread.mean)
                        above_us = spread.min;
                else
                        below_us = spread.max;
        }
}

uint32_t menu_corrected(const Menu *menu)
{
        uint64_t unit = MENU_ONE * UINT64_C(1000);

        return (uint32_t)((menu->timer_ns * menu->factors[menu->bucket] + unit / 2) / unit);
}

bool menu_has_choice(const StateTable *table, uint64_t timer_ns, int64_t limit_ns)
{
        if (table->n < 2 || limit_ns == 0)
                return false;
        return table->states[0].off || (timer_ns >= (uint64_t)table->states[1].residency_ns &&
                                        limit_ns >= table->states[1].latency_ns);
}

int menu_fit_tick(const StateTable *table, int state, uint64_t length_ns, int64_t tick_ns)
{
        const ReplayState *at = &table->states[state];

        if ((!at->polling && length_ns >= (uint64_t)TICK_NS) || state == 0 ||
            at->residency_ns <= tick_ns)
                return state;
        for (int i = state - 1; i >= 0; i--) {
                if (table->states[i].off)
                        continue;
                state = i;
                if (table->states[i].residency_ns <= tick_ns)
                        break;
        }
        return state;
}

void menu_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Menu *menu = state;

        menu->last = (int8_t)outcome->state;
        menu->residency_ns = outcome->residency_ns;
        menu->got_tick = outcome->got_tick;
        menu->pending = true;
}
