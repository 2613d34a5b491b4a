/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cstates: how deep each CPU may sleep. Three parts (steps 2 to 4), each off by default; where they
 * disagree about a CPU the shallowest state wins. docs/cstates.md has the reasons.
 *
 *  1. Floor. Only step 2 takes a CPU to a state that polls (no exit latency, no target residency).
 *  2. Limit. DeepestState is the longest exit latency allowed. Each CPU compares it with its own
 *     table. States that are slower are disabled; if all are, the shallowest stays. A name ("C6")
 *     stands for:
 *     a) the state of this name, which is then the deepest;
 *     b) else the longest exit latency of such a state of other CPUs, as the limit;
 *     c) else, if it is C and a number, the deepest state that is C and no higher number;
 *     d) else no limit.
 *  3. Utilization. A CPU that is busy for more than UtilizationThreshold is limited to one state
 *     shallower than it would choose: the deepest one whose target residency is within its mean
 *     sleep (idle time by number of sleeps). It is released below UtilizationRelease. Each change
 *     waits until it was called for during all of UtilizationDwell.
 *  4. History. For each state the kernel counts sleeps, and how many of them were too deep (above)
 *     or too shallow (below). Each state has a row of weights (model/weights.h): which state its
 *     sleeps fitted, itself or the neighbour. Each reading moves a row's weights towards what its
 *     sleeps fitted by HISTORY_LEARN times their share, and all rows back towards the beginning by
 *     HISTORY_FORGET. Then a state is drawn at random, by the fourth power of the weights in the
 *     row of the state that was entered most. Its latency is the CPU's limit until the next reading
 *     with sleeps.
 *  5. Holds. Steps 3 and 4 request nothing for a CPU with a latency hold. Step 2 does. A call
 *     because of a hold has the snapshot of the last one, and learns nothing from it.
 *  6. Readings. Steps 3 and 4 request one every Period, settled if no CPU dwells and none drew, and
 *     only they need the counters of idle states.
 */
#include "cstates/cstates.h"

/* Identifies a table of idle states. */
static uint32_t fingerprint(const IdleTable *table)
{
        uint32_t hash = 2166136261u + (uint32_t)table->n_states;

        for (int i = 0; i < table->n_states; i++) {
                hash = (hash ^ table->states[i].exit_latency_us) * 16777619u;
                hash = (hash ^ table->states[i].target_residency_us) * 16777619u;
        }
        return hash ? hash : 1;
}

/* Forgets what was about other idle states than the CPU has now. */
static void cpu_update(Cpu *cpu, const IdleTable *table)
{
        uint32_t now = fingerprint(table);

        if (cpu->fingerprint == now)
                return;
        *cpu = (Cpu){ .fingerprint = now };
        while (cpu->floor < table->n_states - 1 && idle_state_polls(table->states[cpu->floor].name))
                cpu->floor++;
        cpu->use.fits = (int8_t)(table->n_states - 1);
        cpu->history.drawn = -1;
        weights_init(&cpu->history.weights, table->n_states - cpu->floor);
}

/* Forbids more states, unless that would be all: a table whose states do not stand in the order of
 * their latencies may have none that is both fast and shallow. */
static void forbid(CpuWish *wish, const IdleTable *table, uint16_t states)
{
        unsigned all = (1u << table->n_states) - 1;

        if ((wish->disabled | states) != all)
                wish->disabled |= states;
}

static void wish_for_cpu(Call *call, int number, const IdleTable *table, CpuWish *wish)
{
        const Limit *limit = &call->limit;
        Cpu *cpu = &call->self->cpus[number];
        int cap, drawn;

        cpu_update(cpu, table);
        cpu->limit = (int8_t)limit_resolve(limit, table, &cpu->limited);
        cap = call->options->by_utilization ? use_decide(call, number, table) : -1;
        drawn = call->options->by_history ? history_decide(call, number, table) : -1;
        wish->disabled = limit_forbids(limit, cpu->limited, table, cpu->limit);
        if (cpuset_has(&call->self->held, number))
                return;
        if (cap >= 0)
                forbid(wish, table, idle_table_deeper(table, cap));
        if (drawn >= 0 && drawn < table->n_states - 1) {
                uint32_t latency = table->states[drawn].exit_latency_us;

                wish->latency_us = latency > INT32_MAX ? INT32_MAX
                                   : latency > 0       ? (int32_t)latency
                                                       : 1;
        }
}

/* Step 5. */
static CpuSet held_cpus(const PolicyInput *input)
{
        CpuSet held = { 0 };

        for (int i = 0; i < input->n_holds; i++)
                if (input->holds[i].latency_us >= 0)
                        cpuset_or(&held, &input->holds[i].cpus);
        return held;
}

/* One reading without an earlier one says nothing; two that say nothing are a kernel without the
 * counters. */
static void count_unreported(Cstates *self, const Snapshot *snapshot)
{
        if (snapshot->have & SENSE_IDLE_STATISTICS)
                self->unreported = 0;
        else if (self->unreported < 2 && snapshot->interval_usec > 0)
                self->unreported++;
}

/* The same sleeps lead to the same limits. */
static void cstates_init(void *state, const Topology *topology)
{
        ((Cstates *)state)->random = 1;
}

static void cstates_decide(void *state, const PolicyInput *input, Wish *wish)
{
        const CstatesOptions *options = input->options;
        int governor = options->idle_governor == IDLE_GOVERNOR_AUTO ? cstates_advised(options)
                                                                    : options->idle_governor;
        Cstates *self = state;
        Call call = { .self = self,
                      .input = input,
                      .options = options,
                      .limit = limit_read(input, options),
                      .is_new = input->snapshot->time_usec != self->seen_usec,
                      .settled = true };

        if (governor >= IDLE_GOVERNOR_FIRST)
                wish->idle_governor = cstates_governors[governor];
        self->seen_usec = input->snapshot->time_usec;
        if (call.is_new)
                count_unreported(self, input->snapshot);
        self->held = held_cpus(input);
        self->limit_us = call.limit.is_time ? call.limit.latency_us : -1;
        if (!input->idle || !wish->cpus)
                return;
        CPUSET_FOREACH(cpu, &input->topology->online)
                if (cpu < wish->n_cpus && input->idle[cpu].n_states > 0)
                        wish_for_cpu(&call, cpu, &input->idle[cpu], &wish->cpus[cpu]);
        if (options->by_utilization || options->by_history)
                wish->period_usec = options->period_usec;
        wish->settled = call.settled;
}

static int cstates_figures(const void *state, int cpu, Figure *ret_figures)
{
        const History *history = &((const Cstates *)state)->cpus[cpu].history;
        double correct = (double)history->correct, deep = (double)history->deep;
        double shallow = (double)history->shallow, all = correct + deep + shallow;

        if (all <= 0)
                return 0;
        ret_figures[0] = (Figure){ "correct", "", correct };
        ret_figures[1] = (Figure){ "too deep", "", deep };
        ret_figures[2] = (Figure){ "too shallow", "", shallow };
        ret_figures[3] = (Figure){ "accuracy", "%", 100 * correct / all };
        return 4;
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "cstates",
        .summary = "limits how deeply each CPU sleeps: by latency, utilization or history",
        .settings = cstates_settings,
        .options_size = sizeof(CstatesOptions),
        .state_size = sizeof(Cstates),
        .wishes = WISHES_CPUS | WISHES_BESIDE_HOLDS,
        .reads = cstates_reads,
        .check = cstates_check,
        .init = cstates_init,
        .decide = cstates_decide,
        .explain = cstates_explain,
        .figures = cstates_figures,
        .unmet = cstates_unmet,
};
