/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * quiet: what wakes parked CPUs is moved, or done less often.
 *
 *  1. Interrupts and unbound workqueues are kept off parked CPUs.
 *  2. Housekeeping of the kernel that runs on every CPU, or at short intervals, gets longer ones:
 *     statistics of memory, polling for corrected machine checks, writeback.
 *
 * It reads nothing and needs no timer: its requests are the same at any time, and idled carries
 * them out while CPUs are parked. Which CPUs these are, other policies decide.
 */
#include "idled-policy.h"

#define USEC_PER_SEC 1000000
#define USEC_PER_CS  10000

typedef struct QuietOptions {
        bool interrupts, workqueues;
        uint64_t stat_usec, check_usec, writeback_usec;
} QuietOptions;

#define ROW(key_, type_, field_, fallback_, ...)                                                   \
        {                                                                                          \
                .section = "Policy", .key = key_, .type = type_,                                   \
                .offset = offsetof(QuietOptions, field_), .fallback = fallback_, __VA_ARGS__       \
        }

static const Setting quiet_settings[] = {
        ROW("Interrupts", SETTING_BOOL, interrupts, "yes",
            .help = "Keep interrupts off parked CPUs"),
        ROW("Workqueues", SETTING_BOOL, workqueues, "yes",
            .help = "Keep unbound workqueues of the kernel off parked CPUs"),
        ROW("StatInterval", SETTING_DURATION, stat_usec, "1min", .max = QUIET_STAT_MAX_S * 1e6,
            .help = "Shortest time between updates of memory statistics; 0: unchanged"),
        ROW("MachineCheckInterval", SETTING_DURATION, check_usec, "30min",
            .max = QUIET_CHECK_MAX_S * 1e6,
            .help = "Shortest time between polls for corrected machine checks; 0: unchanged"),
        ROW("WritebackInterval", SETTING_DURATION, writeback_usec, "15s",
            .max = QUIET_WRITEBACK_MAX_CS * 1e4,
            .help = "Shortest time between periodic writebacks; 0: unchanged"),
        { .key = NULL },
};

/* In whole units, and not 0 for what is less than one. */
static uint32_t in_units(uint64_t usec, uint64_t unit_usec)
{
        return (uint32_t)((usec + unit_usec - 1) / unit_usec);
}

static void quiet_decide(void *state, const PolicyInput *input, Wish *wish)
{
        const QuietOptions *options = input->options;

        wish->quiet = (QuietWish){
                .interrupts = options->interrupts,
                .workqueues = options->workqueues,
                .stat_s = in_units(options->stat_usec, USEC_PER_SEC),
                .check_s = in_units(options->check_usec, USEC_PER_SEC),
                .writeback_cs = in_units(options->writeback_usec, USEC_PER_CS),
        };
}

static int add_flag(Reason *reasons, int n, bool on, const char *because, const char *option)
{
        if (on)
                reasons[n++] = (Reason){ .because = because, .option = option };
        return n;
}

static int add_time(Reason *reasons, int n, uint64_t usec, double unit_usec, const char *because,
                    const char *option, const char *unit)
{
        if (usec)
                reasons[n++] = (Reason){
                        .because = because,
                        .option = option,
                        .threshold = (double)usec / unit_usec,
                        .threshold_unit = unit,
                };
        return n;
}

/* For parked CPUs only. */
static int quiet_explain(const void *state, const PolicyInput *input, int cpu, Reason *ret_reasons)
{
        const QuietOptions *options = input->options;
        int n = 0;

        if (cpuset_has(input->allowed, cpu))
                return 0;
        n = add_flag(ret_reasons, n, options->interrupts,
                     "interrupts are kept off parked CPUs unless irqbalance runs", "Interrupts");
        n = add_flag(ret_reasons, n, options->workqueues,
                     "unbound workqueues are kept off parked CPUs", "Workqueues");
        n = add_time(ret_reasons, n, options->stat_usec, USEC_PER_SEC,
                     "memory statistics are updated less often while CPUs are parked",
                     "StatInterval", "s");
        n = add_time(ret_reasons, n, options->check_usec, USEC_PER_SEC,
                     "machine checks are polled for less often while CPUs are parked",
                     "MachineCheckInterval", "s");
        return add_time(ret_reasons, n, options->writeback_usec, USEC_PER_SEC,
                        "periodic writeback runs less often while CPUs are parked",
                        "WritebackInterval", "s");
}

_Static_assert(EXPLAIN_MAX >= 5, "a reason for each part");

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "quiet",
        .summary = "moves or slows down what wakes parked CPUs",
        .settings = quiet_settings,
        .options_size = sizeof(QuietOptions),
        .decide = quiet_decide,
        .explain = quiet_explain,
};
