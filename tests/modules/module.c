/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Policies that decide nothing, for tests of loading and configuration: built once per name, some
 * with one thing wrong that WRONG says.
 */
#include "idled-policy.h"

#define NOTHING_WRONG 0
#define WRONG_ABI     1
#define WRONG_NAME    2
#define WRONG_SYMBOL  3
#define WRONG_OFFSET  4
#define WRONG_ALIGN   5
#define WRONG_DEFAULT 6
#define WRONG_CHECK   7
#define WRONG_KEY     8
#define WRONG_TWICE   9
#define WRONG_SECTION 10
#define WRONG_DECIDE  11
#define WRONG_SIZE    12
#define WRONG_TYPE    13
#define WRONG_CHOICES 14
#define WRONG_BOUNDS  15
#define WRONG_HELP    16
#define WRONG_END     17

typedef struct Options {
        uint64_t period, min_cores, max_cores;
        double share;
        int order;
        bool eager;
        CpuSet cpus;
        char *text;
        char **words;
} Options;

static const char *const orders[] = { "efficiency", "performance", "package", NULL };

#define ROW(key_, type_, member, fallback_, ...)                                                   \
        {                                                                                          \
                .section = "Policy", .key = key_, .type = type_,                                   \
                .offset = offsetof(Options, member), .fallback = fallback_, .help = "For tests",   \
                __VA_ARGS__                                                                        \
        }

#if WRONG == WRONG_END
#define ROW1  ROW("Order", SETTING_CHOICE, order, "package", .choices = orders)
#define ROW8  ROW1, ROW1, ROW1, ROW1, ROW1, ROW1, ROW1, ROW1
#define ROW64 ROW8, ROW8, ROW8, ROW8, ROW8, ROW8, ROW8, ROW8
static const Setting settings[] = { ROW64, ROW64, ROW64, ROW64, ROW64 };
#else
static const Setting settings[] = {
        ROW("Period", SETTING_DURATION, period, WRONG == WRONG_DEFAULT ? "250" : "250ms",
            .min = WRONG == WRONG_BOUNDS ? 1e8 : 10e3, .max = 10e6),
        ROW("MinCores", SETTING_COUNT, min_cores, WRONG == WRONG_CHECK ? "9" : "1", .min = 1,
            .max = 8192),
        ROW(WRONG == WRONG_TWICE ? "MinCores" : "MaxCores", SETTING_COUNT, max_cores, "8", .min = 1,
            .max = 8192),
        ROW("Share", SETTING_PERCENT, share, "80%", .min = 0.01, .max = 1),
        ROW("Order", SETTING_CHOICE, order, "package",
            .choices = WRONG == WRONG_CHOICES ? NULL : orders),
        ROW("Cpus", SETTING_CPUSET, cpus, ""),
        ROW("Text", WRONG == WRONG_TYPE ? (SettingType)99 : SETTING_STRING, text, "none"),
        ROW("Words", SETTING_LIST, words, "one two"),
        { .section = WRONG == WRONG_SECTION ? "Daemon" : "Policy",
          .key = WRONG == WRONG_KEY ? "A key" : "Eager",
          .type = WRONG == WRONG_ALIGN ? SETTING_COUNT : SETTING_BOOL,
          .offset = WRONG == WRONG_OFFSET  ? sizeof(Options)
                    : WRONG == WRONG_ALIGN ? 1
                                           : offsetof(Options, eager),
          .fallback = "1",
          .help = WRONG == WRONG_HELP ? NULL : "For tests" },
        { .key = NULL },
};
#endif

static const char *check(const void *options, const char **ret_key)
{
        const Options *o = options;

        if (o->min_cores > o->max_cores) {
                *ret_key = "MinCores";
                return "is greater than MaxCores";
        }
        if (o->share >= 1 && !o->eager) {
                *ret_key = "Share";
                return "needs Eager=yes";
        }
        return NULL;
}

static void decide(void *state, const PolicyInput *input, Wish *wish)
{
}

#if WRONG == WRONG_SYMBOL
extern const IdledPolicy some_policy;
const IdledPolicy some_policy = {
#else
extern const IdledPolicy idled_policy;
const IdledPolicy idled_policy = {
#endif
        .abi = IDLED_POLICY_ABI + (WRONG == WRONG_ABI),
        .name = WRONG == WRONG_NAME ? "other" : NAME,
        .summary = "Decides nothing",
        .settings = settings,
        .options_size = sizeof(Options),
        .state_size = WRONG == WRONG_SIZE ? (size_t)1 << 30 : 0,
        .check = check,
        .decide = WRONG == WRONG_DECIDE ? NULL : decide,
};
