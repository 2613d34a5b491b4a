/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * menu of Linux 6.1.
 *
 * After a period:
 * 1. Its length is what was measured less the exit latency (half of it if it is not above twice the
 *    latency), at most the time to the timer. A period that the tick ended while the timer was more
 *    than a tick away counts as 45 ms.
 * 2. The factor of the timer's bucket moves by an eighth to length / time to timer; periods of 50
 * ms and more count as 1. Buckets are by the order of magnitude of the time to the timer, others
 *    while tasks wait for I/O.
 * 3. The length joins the last 8 intervals.
 *
 * Before a period:
 * 4. If state 1 pays only after the timer or is too slow for the latency limit, and state 0 is
 *    enabled, take state 0; the same for a limit of 0 and if there is one state only.
 * 5. The prediction is the time to the timer times the bucket's factor, or if that is shorter the
 *    mean of the last intervals, which must be alike; long ones are left out until they are.
 * 6. The latency limit is also the prediction divided by 1 + 10 x tasks that wait for I/O.
 * 7. Take the deepest enabled state that pays within the prediction and is fast enough. Rather than
 *    poll, take the next state if it is fast enough and pays before the timer. If a deeper one
 * would pay only after a prediction of a tick or more, the prediction becomes the state's
 * residency.
 * 8. If the prediction is below a tick or the state polls, the tick is kept: go shallower until the
 *    state pays before it.
 */
#include "governors/governors.h"
#include "governors/menu.h"

#define LIMIT_PER_WAITER 10

/* Step 7; adapts the prediction. */
static int find_state(const StateTable *table, uint64_t timer_ns, uint64_t limit_ns,
                      uint64_t *predicted_ns)
{
        int state = -1;

        for (int i = 0; i < table->n; i++) {
                const ReplayState *at = &table->states[i];
                uint64_t residency_ns = (uint64_t)at->residency_ns;
                bool is_fast = (uint64_t)at->latency_ns <= limit_ns;

                if (at->off)
                        continue;
                if (state < 0)
                        state = i;
                if (residency_ns <= *predicted_ns) {
                        if (!is_fast)
                                break;
                        state = i;
                        continue;
                }
                if (table->states[state].polling && is_fast && residency_ns <= timer_ns) {
                        *predicted_ns = residency_ns;
                        return i;
                }
                if (*predicted_ns >= (uint64_t)TICK_NS)
                        *predicted_ns = (uint64_t)table->states[state].residency_ns;
                break;
        }
        return state < 0 ? 0 : state;
}

static int menu_select(void *state, const StateTable *table, const Period *period)
{
        Menu *menu = state;
        bool is_late = period->sleep_ns < 0;
        uint64_t limit_ns = (uint64_t)period->limit_ns, predicted_ns, fair_ns;
        uint32_t predicted_us, typical_us;
        int chosen;

        menu_learn(menu, table);
        menu->timer_ns = is_late ? 0 : (uint64_t)period->sleep_ns;
        menu->bucket = (uint8_t)(menu_bucket(menu->timer_ns) +
                                 (period->iowait > 0 ? MENU_BUCKETS : 0));
        if (!menu_has_choice(table, menu->timer_ns, period->limit_ns))
                return 0;
        predicted_us = menu_corrected(menu);
        typical_us = menu_typical(menu, predicted_us, false);
        predicted_ns = UINT64_C(1000) * (typical_us < predicted_us ? typical_us : predicted_us);
        fair_ns = predicted_ns / (1 + LIMIT_PER_WAITER * (uint64_t)period->iowait);
        chosen = find_state(table, menu->timer_ns, limit_ns < fair_ns ? limit_ns : fair_ns,
                            &predicted_ns);
        return menu_fit_tick(table, chosen, predicted_ns, is_late ? 0 : period->tick_ns);
}

const Governor governor_menu_6_1 = {
        .name = "menu-6.1",
        .summary = "menu of Linux 6.1",
        .state_size = sizeof(Menu),
        .init = menu_init,
        .select = menu_select,
        .reflect = menu_reflect,
};
