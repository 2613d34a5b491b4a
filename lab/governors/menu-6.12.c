/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * menu of Linux 6.12, with the fixes of its stable releases, and of 7.3.
 *
 * After a period:
 * 1. Its length is what was measured less the exit latency (half of it if it is not above twice the
 *    latency), at most the time to the timer. A period that the tick ended while the timer was more
 *    than a tick away counts as 45 ms.
 * 2. The factor of the timer's bucket moves by an eighth to length / time to timer; periods of 50
 * ms and more count as 1. Buckets are by the order of magnitude of the time to the timer.
 * 3. The length joins the last 8 intervals.
 *
 * Before a period:
 * 4. The prediction is the mean of the last intervals if they are alike; long ones are left out
 * until they are; in 7.3 whichever are furthest from the mean. Intervals that are all 0 predict
 * nothing.
 * 5. If it is above 15 us or there is none, ask for the next timer: the prediction is at most the
 *    time to it times the bucket's factor. Else the timer counts as never, the tick as half a
 * period away.
 * 6. If state 1 pays only after the timer or is too slow for the latency limit, and state 0 is
 *    enabled, take state 0; the same for a limit of 0 and if there is one state only.
 * 7. Take the deepest enabled state that pays within the prediction and is fast enough. Rather than
 *    poll, take the next state if it pays within 15 us and before the timer, and its exit latency
 * is within the prediction. If a deeper one would pay only after a prediction of a tick or more,
 * the prediction becomes the state's residency.
 * 8. If the prediction is below a tick or the state polls, the tick is kept: go shallower until the
 *    state pays before it.
 */
#include "governors/governors.h"
#include "governors/menu.h"

#define SOON_NS UINT64_C(15000) /* predictions up to this need no timer */

/* Step 7; adapts the prediction. */
static int find_state(const StateTable *table, uint64_t timer_ns, int64_t limit_ns,
                      uint64_t *predicted_ns)
{
        int state = -1;

        for (int i = 0; i < table->n; i++) {
                const ReplayState *at = &table->states[i];
                uint64_t residency_ns = (uint64_t)at->residency_ns;

                if (at->off)
                        continue;
                if (state < 0)
                        state = i;
                if (at->latency_ns > limit_ns)
                        break;
                if (residency_ns <= *predicted_ns) {
                        state = i;
                        continue;
                }
                if (table->states[state].polling && residency_ns < SOON_NS &&
                    residency_ns <= timer_ns && (uint64_t)at->latency_ns <= *predicted_ns) {
                        *predicted_ns = residency_ns;
                        return i;
                }
                if (*predicted_ns >= (uint64_t)TICK_NS)
                        *predicted_ns = (uint64_t)table->states[state].residency_ns;
                break;
        }
        return state < 0 ? 0 : state;
}

/* Steps 5 to 8, from the interval of step 4 on. */
static int select_for(Menu *menu, const StateTable *table, const Period *period,
                      uint32_t typical_us)
{
        uint64_t predicted_ns = typical_us * UINT64_C(1000);
        int64_t tick_ns = TICK_NS / 2;
        int chosen;

        menu->timer_ns = INT64_MAX;
        menu->bucket = MENU_BUCKETS - 1;
        if (predicted_ns > SOON_NS) {
                uint64_t corrected_ns;

                menu->timer_ns = period->sleep_ns < 0 ? 0 : (uint64_t)period->sleep_ns;
                menu->bucket = (uint8_t)menu_bucket(menu->timer_ns);
                tick_ns = period->sleep_ns < 0 ? 0 : period->tick_ns;
                corrected_ns = menu_corrected(menu) * UINT64_C(1000);
                if (corrected_ns < predicted_ns)
                        predicted_ns = corrected_ns;
        }
        if (!menu_has_choice(table, menu->timer_ns, period->limit_ns))
                return 0;
        chosen = find_state(table, menu->timer_ns, period->limit_ns, &predicted_ns);
        return menu_fit_tick(table, chosen, predicted_ns, tick_ns);
}

static int menu_select(void *state, const StateTable *table, const Period *period)
{
        menu_learn(state, table);
        return select_for(state, table, period, menu_typical(state, MENU_NEVER, true));
}

static int menu_select_7_3(void *state, const StateTable *table, const Period *period)
{
        menu_learn(state, table);
        return select_for(state, table, period, menu_typical_middle(state));
}

const Governor governor_menu_6_12 = {
        .name = "menu-6.12",
        .summary = "menu of Linux 6.12",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select,
        .reflect = menu_reflect,
};

const Governor governor_menu_7_3 = {
        .name = "menu-7.3",
        .summary = "menu of Linux 7.3",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select_7_3,
        .reflect = menu_reflect,
};
