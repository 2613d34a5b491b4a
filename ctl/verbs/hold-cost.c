/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cost of a latency limit.
 */
#include "hold-cost.h"

#include <math.h>

/* The deepest enabled state that leaves within `limit_us` and suits a sleep of `ns`; `least` if
 * none deeper than it does. */
static int deepest(const HoldCostCpu *cpu, uint32_t limit_us, double ns, int least)
{
        for (int s = cpu->table->n_states; s-- > least + 1;) {
                const IdleState *state = &cpu->table->states[s];

                if (cpu->enabled >> s & 1 && state->exit_latency_us <= limit_us &&
                    state->target_residency_us * 1e3 <= ns)
                        return s;
        }
        return least;
}

/* Joules that `ns` in state `held` cost more than in the state that a sleep of `length` reaches. */
static double difference(const HoldCostCpu *cpu, int held, double ns, double length)
{
        int to = deepest(cpu, cpu->others_us, length, held);
        double watts = cpu->watts[held] - cpu->watts[to];

        return to == held || watts < 0 ? 0 : watts * ns / 1e9;
}

double hold_cost_joules(const HoldCostCpu *cpu)
{
        const struct sleep_stats *stats;
        double joules = 0, ns = 0, longer = 1;
        int held;

        if (cpu->table->n_states == 0 || cpu->others_us <= cpu->limit_us)
                return 0;
        held = deepest(cpu, cpu->limit_us, INFINITY, 0);
        if (held == deepest(cpu, cpu->others_us, INFINITY, held))
                return 0;
        stats = &cpu->sleeps[held];
        if (stats->count > cpu->resumed[held])
                longer = (double)stats->count / (double)(stats->count - cpu->resumed[held]);
        else if (stats->count)
                longer = INFINITY;
        for (unsigned i = 0; i < SLEEPS_BUCKETS; i++) {
                double mean, low = (double)sleep_bucket_begin(i);

                if (!stats->hist[i])
                        continue;
                mean = i + 1 < SLEEPS_BUCKETS ? (low + (double)sleep_bucket_begin(i + 1)) / 2 : low;
                mean = fmin(fmax(mean, (double)stats->min_ns), (double)stats->max_ns);
                ns += mean * stats->hist[i];
                joules += difference(cpu, held, mean * stats->hist[i], mean * longer);
        }
        if (ns > 0) /* the sum is exact, the buckets are not */
                joules *= (double)stats->sum_ns / ns;
        if (cpu->current == held && cpu->current_ns)
                joules += difference(cpu, held, (double)cpu->current_ns,
                                     (double)cpu->current_ns * longer);
        return joules;
}
