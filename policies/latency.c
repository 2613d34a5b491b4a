/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * latency: what applications hold, on the CPUs that they run on.
 *
 *  1. A hold says how soon something must be running after a wake-up. On every CPU that the hold is
 *     about the strictest latency wins; all others sleep as deeply as before. Floor is the shortest
 *     latency that any hold gets: 0 would forbid every sleep.
 *  2. Only a hold that explicitly requests it limits the whole machine, through the kernel's one
 *     global limit. That costs energy, and turbo, on CPUs that have nothing to do with the hold.
 *  3. The highest of the frequencies that are held for a CPU is its lowest.
 *  4. CPUs that a hold names are not parked. As many cores stay active as the largest request for
 *     cores among the holds says.
 *
 * It reads nothing but holds, so it needs no timer: idled calls it when a hold comes or goes.
 * Without holds it requests nothing.
 */
#include "idled-policy.h"

typedef struct LatencyOptions {
        uint64_t floor_usec;
} LatencyOptions;

static const Setting latency_settings[] = {
        { "Policy", "Floor", SETTING_DURATION, offsetof(LatencyOptions, floor_usec), "0",
          .max = 1e6, .help = "Shortest wake-up latency that a hold gets; 0: no bound" },
        { 0 },
};

/* What the hold gets: -1 if it requests none. */
static int32_t latency_of(const Hold *hold, const LatencyOptions *options)
{
        if (hold->latency_us >= 0 && (uint64_t)hold->latency_us < options->floor_usec)
                return (int32_t)options->floor_usec;
        return hold->latency_us;
}

static bool is_stricter(int32_t latency_us, int32_t than_us)
{
        return latency_us >= 0 && (than_us < 0 || latency_us < than_us);
}

static void wish_for_cpus(const Hold *hold, int32_t latency_us, Wish *wish)
{
        CPUSET_FOREACH(cpu, &hold->cpus) {
                CpuWish *w;

                if (cpu >= wish->n_cpus)
                        return;
                w = &wish->cpus[cpu];
                if (is_stricter(latency_us, w->latency_us))
                        w->latency_us = latency_us;
                if (hold->min_khz > w->min_khz)
                        w->min_khz = hold->min_khz;
        }
}

static void latency_decide(void *state, const PolicyInput *input, Wish *wish)
{
        for (int i = 0; i < input->n_holds; i++) {
                const Hold *hold = &input->holds[i];
                int32_t latency_us = latency_of(hold, input->options);

                if (latency_us >= 0 || hold->min_khz > 0)
                        wish_for_cpus(hold, latency_us, wish);
                if (hold->global && is_stricter(latency_us, wish->global_latency_us))
                        wish->global_latency_us = latency_us;
                if (hold->keep)
                        cpuset_or(&wish->kept, &hold->cpus);
                if (hold->min_cores > wish->min_cores)
                        wish->min_cores = hold->min_cores;
        }
}

/* The hold that decides the latency of `cpu`: the oldest of those that request the strictest. */
static const Hold *strictest(const PolicyInput *input, int cpu)
{
        const Hold *found = NULL;

        for (int i = 0; i < input->n_holds; i++) {
                const Hold *hold = &input->holds[i];
                int32_t latency_us = latency_of(hold, input->options), best;

                if (latency_us < 0 || !cpuset_has(&hold->cpus, cpu))
                        continue;
                best = found ? latency_of(found, input->options) : -1;
                if (is_stricter(latency_us, best) || (latency_us == best && hold->id < found->id))
                        found = hold;
        }
        return found;
}

static const Hold *fastest(const PolicyInput *input, int cpu)
{
        const Hold *found = NULL;

        for (int i = 0; i < input->n_holds; i++) {
                const Hold *hold = &input->holds[i];
                uint32_t best = found ? found->min_khz : 0;

                if (hold->min_khz == 0 || !cpuset_has(&hold->cpus, cpu))
                        continue;
                if (hold->min_khz > best || (hold->min_khz == best && hold->id < found->id))
                        found = hold;
        }
        return found;
}

static Reason reason_of(const Hold *hold, const char *what, const char *unit, double value)
{
        return (Reason){
                .because = hold->reason,
                .inputs = { { "hold", "", (double)hold->id }, { what, unit, value } },
        };
}

static int latency_explain(const void *state, const PolicyInput *input, int cpu,
                           Reason *ret_reasons)
{
        const LatencyOptions *options = input->options;
        const Hold *limit = strictest(input, cpu), *speed = fastest(input, cpu);
        int n = 0;

        if (limit) {
                ret_reasons[n] = reason_of(limit, "wake-up latency", "us", limit->latency_us);
                if ((uint64_t)limit->latency_us < options->floor_usec) {
                        ret_reasons[n].option = "Floor";
                        ret_reasons[n].threshold = (double)options->floor_usec;
                        ret_reasons[n].threshold_unit = "us";
                }
                n++;
        }
        if (speed)
                ret_reasons[n++] = reason_of(speed, "lowest frequency", "MHz",
                                             speed->min_khz / 1e3);
        return n;
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "latency",
        .summary = "serves the wake-up latency, cores and frequency of holds",
        .settings = latency_settings,
        .options_size = sizeof(LatencyOptions),
        .wishes = WISHES_CPUS | WISHES_BY_HOLDS,
        .decide = latency_decide,
        .explain = latency_explain,
};
