/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ladder, the same in Linux 6.1 to 7.3. Its rungs are the states that do not poll.
 *
 * 1. A latency limit of 0: go to state 0.
 * 2. The last period is what was measured less the exit latency of the rung. After state 0 was
 * taken the rung is still the one before; then the difference may be negative, which counts as
 * long.
 * 3. If the period was longer than the rung's exit latency (the deepest rung is never left this
 * way) and the next state is enabled and fast enough for the limit, this was a reason to climb;
 * after 4 such reasons in a row take the next state.
 * 4. If the rung is off or too slow for the limit, go to the next shallower one that is fast
 * enough, or the first.
 * 5. If the period was shorter than the rung's exit latency, go one state shallower at once. The
 *    first rung is never left this way.
 * 6. Else stay. It is not asked whether the state is enabled in steps 4 and 5, nor on the first
 * rung: ladder is the one governor that may enter a state that is off or too slow.
 */
#include "governors/governors.h"

#define CLIMB_AFTER 4

typedef struct Ladder {
        int64_t residency_ns;
        int8_t rung;
        uint8_t reasons[IDLE_STATES_MAX]; /* to climb */
} Ladder;

_Static_assert(sizeof(Ladder) <= GOVERNOR_STATE_MAX, "others keep it as their base");

/* In a table that has only a polling state, that is the first rung. */
static int first_rung(const StateTable *table)
{
        return table->states[0].polling && table->n > 1;
}

static void ladder_init(void *state, const StateTable *table, const void *options, int cpu)
{
        ((Ladder *)state)->rung = (int8_t)first_rung(table);
}

static int step_to(Ladder *ladder, int rung)
{
        ladder->reasons[ladder->rung] = 0;
        ladder->rung = (int8_t)rung;
        return rung;
}

/* Step 3: true if there is enough reason. Below the first rung there is no threshold. */
static bool climbs(Ladder *ladder, const StateTable *table, uint64_t length_ns, int64_t limit_ns)
{
        int rung = ladder->rung, first = first_rung(table);
        const ReplayState *next = &table->states[rung + 1];
        uint64_t above_ns = rung < first ? 0 : (uint64_t)table->states[rung].latency_ns;

        if (rung >= table->n - 1 || next->off || length_ns <= above_ns ||
            next->latency_ns > limit_ns)
                return false;
        return ++ladder->reasons[rung] >= (rung < first ? 0 : CLIMB_AFTER);
}

static int ladder_select(void *state, const StateTable *table, const Period *period)
{
        Ladder *ladder = state;
        int rung = ladder->rung, first = first_rung(table);
        const ReplayState *at = &table->states[rung];
        uint64_t length_ns = (uint64_t)(ladder->residency_ns - at->latency_ns);

        if (period->limit_ns == 0)
                return step_to(ladder, 0);
        if (climbs(ladder, table, length_ns, period->limit_ns))
                return step_to(ladder, rung + 1);
        if (rung <= first)
                return rung;
        if (at->off || at->latency_ns > period->limit_ns) {
                do
                        rung--;
                while (rung > first && table->states[rung].latency_ns > period->limit_ns);
                return step_to(ladder, rung);
        }
        if (length_ns < (uint64_t)at->latency_ns)
                return step_to(ladder, rung - 1);
        return rung;
}

static void ladder_reflect(void *state, const StateTable *table, const Outcome *outcome)
{
        Ladder *ladder = state;

        ladder->residency_ns = outcome->residency_ns;
        if (outcome->state > 0)
                ladder->rung = (int8_t)outcome->state;
}

const Governor governor_ladder = {
        .name = "ladder",
        .state_size = sizeof(Ladder),
        .init = ladder_init,
        .select = ladder_select,
        .reflect = ladder_reflect,
};
