/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * menu of Linux 6.1, of 6.12 with the fixes of its stable releases, and of 7.3.
 *
 * After a period:
 * 1. Its length is what was measured less the exit latency (half of it if it is not above twice the
 *    latency), at most the time to the timer. A period that the tick ended while the timer was more
 *    than a tick away counts as 45 ms.
 * 2. The factor of the timer's bucket moves by an eighth to length / time to timer; periods of 50
 *    ms and more count as 1. Buckets are by the order of magnitude of the time to the timer, in 6.1
 *    others while tasks wait for I/O.
 * 3. The length joins the last 8 intervals.
 *
 * The steps before a period are with each version. The arithmetic is the kernel's to the bit:
 * lengths are whole microseconds of 32 bits where it has them so, and sums and squares wrap as its
 * do.
 */
#include "governors/governors.h"

#define MENU_FACTOR    1024 /* a period as long as the timer says */
#define MENU_WEIGHT    8    /* a new period counts an eighth */
#define MENU_ONE       (MENU_FACTOR * MENU_WEIGHT)
#define MENU_INTERVALS 8
#define MENU_BUCKETS   6                 /* by the order of magnitude of the time to the timer */
#define MENU_GROUPS    2                 /* 6.1 keeps other factors while tasks wait for I/O */
#define MENU_LONG_NS   INT64_C(50000000) /* longer periods count as predicted */
#define MENU_NEVER     UINT32_MAX

#define LIMIT_PER_WAITER 10              /* of 6.1 */
#define SOON_NS          UINT64_C(15000) /* of 6.12: predictions up to this need no timer */

typedef struct Menu {
        uint64_t timer_ns; /* to the next timer, before the last period */
        int64_t residency_ns;
        uint32_t factors[MENU_GROUPS * MENU_BUCKETS];
        uint32_t intervals_us[MENU_INTERVALS];
        uint8_t next_interval, bucket;
        int8_t last; /* state */
        bool pending, got_tick;
} Menu;

_Static_assert(sizeof(Menu) <= GOVERNOR_STATE_MAX, "others keep it as their base");

typedef enum Version { LINUX_6_1, LINUX_6_12, LINUX_7_3 } Version;

/* All factors are one, no period is known. */
static void menu_init(void *state, const StateTable *table, const void *options, int cpu)
{
        Menu *menu = state;

        for (int i = 0; i < MENU_GROUPS * MENU_BUCKETS; i++)
                menu->factors[i] = MENU_ONE;
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

/* Takes the last period into factor and intervals, once. */
static void learn(Menu *menu, const StateTable *table)
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

/* The mean of the last intervals in us if they are alike; the longest are left out until they are
 * or are fewer than 7, in 7.3 those furthest from the mean, long or short. MENU_NEVER if they are
 * not, if the shortest of those left is not below `below_us`, or, but in 6.1, if these are all 0.
 */
static uint32_t find_typical(const Menu *menu, Version version, uint32_t below_us)
{
        int64_t above = -1, below = version == LINUX_7_3 ? UINT32_MAX : INT64_C(1) << 31;

        for (;;) {
                Spread spread = find_spread(menu, above, below);

                if (spread.min >= below_us || (version != LINUX_6_1 && spread.max == 0))
                        return MENU_NEVER;
                if (version == LINUX_7_3)
                        spread.variance = spread.squares / spread.n -
                                          (uint64_t)spread.mean * spread.mean;
                if (is_alike(&spread))
                        return spread.mean;
                if (spread.n * 4 <= MENU_INTERVALS * 3)
                        return MENU_NEVER;
                if (version == LINUX_7_3 && spread.mean - spread.min > spread.max - spread.mean)
                        above = spread.min;
                else
                        below = spread.max;
        }
}

/* The time to the timer times the bucket's factor, in us, rounded. */
static uint32_t find_corrected(const Menu *menu)
{
        uint64_t unit = MENU_ONE * UINT64_C(1000);

        return (uint32_t)((menu->timer_ns * menu->factors[menu->bucket] + unit / 2) / unit);
}

/* False if state 0 is the only choice: a limit of 0, one state, or a state 1 that pays only after
 * the timer or is too slow while state 0 is enabled. */
static bool has_choice(const StateTable *table, uint64_t timer_ns, int64_t limit_ns)
{
        if (table->n < 2 || limit_ns == 0)
                return false;
        return table->states[0].off || (timer_ns >= (uint64_t)table->states[1].residency_ns &&
                                        limit_ns >= table->states[1].latency_ns);
}

static void menu_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Menu *menu = state;

        menu->last = (int8_t)outcome->state;
        menu->residency_ns = outcome->residency_ns;
        menu->got_tick = outcome->got_tick;
        menu->pending = true;
}

/* Asks for the timer. Its bucket is below 10 us, 100 us, 1 ms, 10 ms, 100 ms, or above. Returns the
 * time to the tick. */
static int64_t ask_timer(Menu *menu, const Period *period)
{
        uint64_t below_ns = 10000;

        menu->timer_ns = period->sleep_ns < 0 ? 0 : (uint64_t)period->sleep_ns;
        menu->bucket = 0;
        for (; menu->bucket < MENU_BUCKETS - 1 && menu->timer_ns >= below_ns; below_ns *= 10)
                menu->bucket++;
        return period->sleep_ns < 0 ? 0 : period->tick_ns;
}

/* Step 7; adapts the prediction. */
static int find_state(const StateTable *table, uint64_t timer_ns, uint64_t limit_ns,
                      Version version, uint64_t *predicted_ns)
{
        int state = -1;

        for (int i = 0; i < table->n; i++) {
                const ReplayState *at = &table->states[i];
                uint64_t residency_ns = (uint64_t)at->residency_ns;
                uint64_t latency_ns = (uint64_t)at->latency_ns;
                bool is_fast = latency_ns <= limit_ns, pays = residency_ns <= *predicted_ns;

                if (at->off)
                        continue;
                if (state < 0)
                        state = i;
                if (!is_fast && (pays || version != LINUX_6_1))
                        break;
                if (pays) {
                        state = i;
                        continue;
                }
                if (table->states[state].polling && is_fast && residency_ns <= timer_ns &&
                    (version == LINUX_6_1 ||
                     (residency_ns < SOON_NS && latency_ns <= *predicted_ns))) {
                        *predicted_ns = residency_ns;
                        return i;
                }
                if (*predicted_ns >= (uint64_t)TICK_NS)
                        *predicted_ns = (uint64_t)table->states[state].residency_ns;
                break;
        }
        return state < 0 ? 0 : state;
}

/*
 * Linux 6.1, before a period:
 * 4. If state 1 pays only after the timer or is too slow for the latency limit, and state 0 is
 *    enabled, take state 0; the same for a limit of 0 and if there is one state only.
 * 5. The prediction is the time to the timer times the bucket's factor, or if that is shorter the
 *    mean of the last intervals, which must be alike; long ones are left out until they are.
 * 6. The latency limit is also the prediction divided by 1 + 10 x tasks that wait for I/O.
 * 7. Take the deepest enabled state that pays within the prediction and is fast enough. Rather than
 *    poll, take the next state if it is fast enough and pays before the timer. If a deeper one
 *    would pay only after a prediction of a tick or more, the prediction becomes the state's
 *    residency.
 * 8. If the prediction is below a tick or the state polls, the tick is kept: go shallower until the
 *    state pays before it.
 */
static int menu_select_6_1(void *state, const StateTable *table, const Period *period)
{
        Menu *menu = state;
        uint64_t limit_ns = (uint64_t)period->limit_ns, predicted_ns, fair_ns;
        uint32_t predicted_us, typical_us;
        int64_t tick_ns;
        int chosen;

        learn(menu, table);
        tick_ns = ask_timer(menu, period);
        if (period->iowait > 0)
                menu->bucket += MENU_BUCKETS;
        if (!has_choice(table, menu->timer_ns, period->limit_ns))
                return 0;
        predicted_us = find_corrected(menu);
        typical_us = find_typical(menu, LINUX_6_1, predicted_us);
        predicted_ns = UINT64_C(1000) * (typical_us < predicted_us ? typical_us : predicted_us);
        fair_ns = predicted_ns / (1 + LIMIT_PER_WAITER * (uint64_t)period->iowait);
        chosen = find_state(table, menu->timer_ns, limit_ns < fair_ns ? limit_ns : fair_ns,
                            LINUX_6_1, &predicted_ns);
        return state_table_fit_tick(table, chosen, 0, (int64_t)predicted_ns, tick_ns);
}

/*
 * Linux 6.12 and 7.3, before a period:
 * 4. The prediction is the mean of the last intervals if they are alike; long ones are left out
 *    until they are; in 7.3 whichever are furthest from the mean. Intervals that are all 0 predict
 *    nothing.
 * 5. If it is above 15 us or there is none, ask for the next timer: the prediction is at most the
 *    time to it times the bucket's factor. Else the timer counts as never, the tick as half a
 *    period away.
 * 6. If state 1 pays only after the timer or is too slow for the latency limit, and state 0 is
 *    enabled, take state 0; the same for a limit of 0 and if there is one state only.
 * 7. Take the deepest enabled state that pays within the prediction and is fast enough. Rather than
 *    poll, take the next state if it pays within 15 us and before the timer, and its exit latency
 *    is within the prediction. If a deeper one would pay only after a prediction of a tick or more,
 *    the prediction becomes the state's residency.
 * 8. If the prediction is below a tick or the state polls, the tick is kept: go shallower until the
 *    state pays before it.
 */
static int select_newer(Menu *menu, const StateTable *table, const Period *period, Version version)
{
        uint64_t predicted_ns;
        int64_t tick_ns = TICK_NS / 2;
        int chosen;

        learn(menu, table);
        predicted_ns = find_typical(menu, version, MENU_NEVER) * UINT64_C(1000);
        menu->timer_ns = INT64_MAX;
        menu->bucket = MENU_BUCKETS - 1;
        if (predicted_ns > SOON_NS) {
                uint64_t corrected_ns;

                tick_ns = ask_timer(menu, period);
                corrected_ns = find_corrected(menu) * UINT64_C(1000);
                if (corrected_ns < predicted_ns)
                        predicted_ns = corrected_ns;
        }
        if (!has_choice(table, menu->timer_ns, period->limit_ns))
                return 0;
        chosen = find_state(table, menu->timer_ns, (uint64_t)period->limit_ns, version,
                            &predicted_ns);
        return state_table_fit_tick(table, chosen, 0, (int64_t)predicted_ns, tick_ns);
}

static int menu_select_6_12(void *state, const StateTable *table, const Period *period)
{
        return select_newer(state, table, period, LINUX_6_12);
}

static int menu_select_7_3(void *state, const StateTable *table, const Period *period)
{
        return select_newer(state, table, period, LINUX_7_3);
}

const Governor governor_menu_6_1 = {
        .name = "menu-6.1",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select_6_1,
        .reflect = menu_reflect,
};

const Governor governor_menu_6_12 = {
        .name = "menu-6.12",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select_6_12,
        .reflect = menu_reflect,
};

const Governor governor_menu_7_3 = {
        .name = "menu-7.3",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select_7_3,
        .reflect = menu_reflect,
};
