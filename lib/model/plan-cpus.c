/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan's requests for single CPUs: merging them and making them safe.
 *
 * There are two kinds of rules for contradicting policies. Limits add up: the shortest latency, the
 * union of disabled states, the highest minimum and the lowest maximum frequency. Choices cannot be
 * mixed: governor, EPP, EPB and boost are those of the policy of the highest rank that requests
 * one. If a minimum frequency is above the maximum, the minimum wins: performance matters more than
 * the saving.
 */
#include <glib.h>

#include "model/plan.h"

static int32_t min_latency(int32_t a, int32_t b)
{
        return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void merge_cpu(CpuWish *plan, const CpuWish *wish)
{
        plan->latency_us = min_latency(plan->latency_us, wish->latency_us);
        plan->disabled |= wish->disabled;
        plan->min_khz = MAX(plan->min_khz, wish->min_khz);
        if (wish->max_khz && (!plan->max_khz || wish->max_khz < plan->max_khz))
                plan->max_khz = wish->max_khz;
        if (plan->bias < 0)
                plan->bias = wish->bias;
        if (plan->boost < 0)
                plan->boost = wish->boost;
        if (!plan->governor)
                plan->governor = g_intern_string(wish->governor);
        if (!plan->preference)
                plan->preference = g_intern_string(wish->preference);
}

void plan_merge_cpus(Plan *plan, const Wish *wish)
{
        for (int i = 0; plan->cpus && i < MIN(plan->n_cpus, wish->n_cpus); i++)
                merge_cpu(&plan->cpus[i], &wish->cpus[i]);
        plan->global_latency_us = min_latency(plan->global_latency_us, wish->global_latency_us);
        if (!plan->idle_governor)
                plan->idle_governor = g_intern_string(wish->idle_governor);
        if (!plan->platform)
                plan->platform = g_intern_string(wish->platform);
}

/* Fastest first. */
static const char *const governor_speeds[] = { "performance",  "schedutil", "ondemand", "userspace",
                                               "conservative", "powersave", NULL };
static const char *const preference_speeds[] = { "performance", "balance_performance", "default",
                                                 "dynamic",     "balance_power",       "power",
                                                 NULL };

static size_t speed_rank(const char *const *speeds, const char *word)
{
        size_t i = 0;

        while (speeds[i] && !g_str_equal(speeds[i], word))
                i++;
        return i;
}

static const char *faster(const char *const *speeds, const char *a, const char *b)
{
        if (!a || !b)
                return a ? a : b;
        return speed_rank(speeds, b) < speed_rank(speeds, a) ? b : a;
}

/* cpuset_next(), which looks no further than `n_cpus`: most sets are small, and there are many. */
static int next_below(const CpuSet *set, int cpu, int n_cpus)
{
        for (int from = cpu + 1; from < n_cpus; from = (from | 63) + 1) {
                uint64_t rest = set->bits[from / 64] & (~UINT64_C(0) << (from % 64));

                if (rest) {
                        int next = from / 64 * 64 + __builtin_ctzll(rest);

                        return next < n_cpus ? next : -1;
                }
        }
        return -1;
}

CpuWish plan_shared_wish(const Plan *plan, const CpuSet *cpus)
{
        CpuWish shared = { .latency_us = -1, .bias = -1, .boost = -1 };

        for (int cpu = next_below(cpus, -1, plan->n_cpus); cpu >= 0;
             cpu = next_below(cpus, cpu, plan->n_cpus)) {
                const CpuWish *wish = &plan->cpus[cpu];

                shared.min_khz = MAX(shared.min_khz, wish->min_khz);
                if (wish->max_khz && (!shared.max_khz || wish->max_khz < shared.max_khz))
                        shared.max_khz = wish->max_khz;
                if (wish->bias >= 0 && (shared.bias < 0 || wish->bias < shared.bias))
                        shared.bias = wish->bias;
                shared.boost = MAX(shared.boost, wish->boost);
                shared.governor = faster(governor_speeds, shared.governor, wish->governor);
                shared.preference = faster(preference_speeds, shared.preference, wish->preference);
        }
        if (shared.max_khz && shared.max_khz < shared.min_khz)
                shared.max_khz = shared.min_khz;
        return shared;
}

/* What may be switched off of these states: never all of them, the shallowest stays. */
static uint16_t harmless_disabled(const IdleTable *table, uint16_t disabled)
{
        uint16_t all = (uint16_t)((1u << table->n_states) - 1);

        disabled &= all;
        return disabled == all ? disabled & (uint16_t)~1u : disabled;
}

void plan_sanitize_cpus(Plan *plan, const IdleTable *idle)
{
        for (int i = 0; plan->cpus && i < plan->n_cpus; i++) {
                CpuWish *cpu = &plan->cpus[i];

                cpu->disabled = idle ? harmless_disabled(&idle[i], cpu->disabled) : 0;
                if (cpu->max_khz && cpu->max_khz < cpu->min_khz)
                        cpu->max_khz = cpu->min_khz;
        }
}

bool cpu_wish_equal(const CpuWish *a, const CpuWish *b)
{
        return a->latency_us == b->latency_us && a->disabled == b->disabled && a->bias == b->bias &&
               a->boost == b->boost && a->min_khz == b->min_khz && a->max_khz == b->max_khz &&
               a->governor == b->governor && a->preference == b->preference;
}

bool plan_equal_cpus(const Plan *a, const Plan *b)
{
        if (a->n_cpus != b->n_cpus)
                return false;
        for (int i = 0; i < a->n_cpus; i++)
                if (!cpu_wish_equal(&a->cpus[i], &b->cpus[i]))
                        return false;
        return true;
}

bool plan_equal(const Plan *a, const Plan *b)
{
        return cpuset_equal(&a->allowed, &b->allowed) && cpuset_equal(&a->kept, &b->kept) &&
               a->min_cores == b->min_cores && a->idle_governor == b->idle_governor &&
               a->platform == b->platform && a->global_latency_us == b->global_latency_us &&
               plan_equal_quiet(a, b) && plan_equal_cpus(a, b);
}
