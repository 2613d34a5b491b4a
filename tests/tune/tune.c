/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A policy that requests for single CPUs what its options say: for tests of requests.
 *
 * 1. Every CPU of Cpus gets the latency, the states, the governor and the frequencies of the
 *    options that are set.
 * 2. It requests that no tasks run on the CPUs of Park, and that those of Keep stay active.
 * 3. It has no period because nothing depends on the load.
 */
#include "idled-policy.h"

#define NO_LATENCY 1000000

typedef struct Options {
        CpuSet cpus, park, kept;
        uint64_t latency_us, global_us, disabled, min_khz, max_khz, boost, bias;
        char *governor, *preference, *idle_governor;
        bool for_saving;
} Options;

#define ROW(key_, type_, member, fallback_)                                                        \
        {                                                                                          \
                .section = "Policy", .key = key_, .type = type_,                                   \
                .offset = offsetof(Options, member), .fallback = fallback_, .help = "For tests"    \
        }

static const Setting settings[] = {
        ROW("Cpus", SETTING_CPUSET, cpus, ""),
        ROW("Park", SETTING_CPUSET, park, ""),
        ROW("Keep", SETTING_CPUSET, kept, ""),
        ROW("Latency", SETTING_COUNT, latency_us, "1000000"),
        ROW("GlobalLatency", SETTING_COUNT, global_us, "1000000"),
        ROW("Disabled", SETTING_COUNT, disabled, "0"),
        ROW("MinFrequency", SETTING_COUNT, min_khz, "0"),
        ROW("MaxFrequency", SETTING_COUNT, max_khz, "0"),
        ROW("Boost", SETTING_COUNT, boost, "2"),
        ROW("Bias", SETTING_COUNT, bias, "16"),
        ROW("Governor", SETTING_STRING, governor, ""),
        ROW("Preference", SETTING_STRING, preference, ""),
        ROW("IdleGovernor", SETTING_STRING, idle_governor, ""),
        ROW("ForSaving", SETTING_BOOL, for_saving, "no"),
        { .key = NULL },
};

static const char *wished_word(const char *word)
{
        return *word ? word : NULL;
}

static void decide(void *state, const PolicyInput *input, Wish *wish)
{
        const Options *o = input->options;

        CPUSET_FOREACH(cpu, &o->cpus)
                if (cpu < wish->n_cpus)
                        wish->cpus[cpu] = (CpuWish){
                                .latency_us = o->latency_us < NO_LATENCY ? (int)o->latency_us : -1,
                                .disabled = (uint16_t)o->disabled,
                                .bias = (int8_t)(o->bias < 16 ? (int)o->bias : -1),
                                .boost = (int8_t)(o->boost < 2 ? (int)o->boost : -1),
                                .min_khz = (uint32_t)o->min_khz,
                                .max_khz = (uint32_t)o->max_khz,
                                .governor = wished_word(o->governor),
                                .preference = wished_word(o->preference),
                        };
        cpuset_subtract(&wish->allowed, &o->park);
        wish->kept = o->kept;
        wish->idle_governor = wished_word(o->idle_governor);
        wish->for_saving = o->for_saving;
        wish->global_latency_us = o->global_us < NO_LATENCY ? (int)o->global_us : -1;
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "tune",
        .summary = "Wishes for single CPUs what its options say",
        .settings = settings,
        .options_size = sizeof(Options),
        .wishes = WISHES_CPUS,
        .decide = decide,
};
