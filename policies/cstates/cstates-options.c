/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of cstates. conf/policies/cstates.conf documents them.
 */
#include <string.h>

#include "cstates/cstates.h"

const char *const cstates_governors[] = { "keep",     "auto",    "menu",           "teo", "ladder",
                                          "haltpoll", "shallow", "shallow_nopoll", NULL };

static const char *const limits[] = { "a duration or the name of an idle state", NULL };

#define ROW(key, type, field, fallback, ...)                                                       \
        {                                                                                          \
                "Policy", key, type, offsetof(CstatesOptions, field), fallback, __VA_ARGS__        \
        }

const Setting cstates_settings[] = {
        ROW("DeepestState", SETTING_STRING, deepest, "", .choices = limits,
            .help = "Longest exit latency of idle states, such as 50us, or the deepest state's "
                    "name"),
        ROW("UtilizationAware", SETTING_BOOL, by_utilization, "no",
            .help = "On used CPUs, forbid the deepest idle state that suits their sleeps"),
        ROW("UtilizationThreshold", SETTING_PERCENT, threshold, "1.5625%", 0, 1,
            .help = "A CPU counts as used when it is busy for more than this share of the time"),
        ROW("UtilizationRelease", SETTING_PERCENT, release, "1%", 0, 1,
            .help = "A used CPU counts as idle again when it is busy for less than this share"),
        ROW("UtilizationDwell", SETTING_DURATION, dwell_usec, "2s", 0, 3600e6,
            .help = "How long a CPU must be used, or idle again, before the limit begins, or ends"),
        ROW("History", SETTING_BOOL, by_history, "no",
            .help = "Limit CPUs to idle states that suited their sleeps so far"),
        ROW("Period", SETTING_DURATION, period_usec, "1s", 100e3, 3600e6,
            .help = "How often to check CPUs, with UtilizationAware or History"),
        ROW("IdleGovernor", SETTING_CHOICE, idle_governor, "keep", .choices = cstates_governors,
            .help = "The kernel's idle governor; keep: leave it unchanged; auto: what idlelab "
                    "advise "
                    "chose"),
        { "State", "IdleGovernorAdvised", SETTING_STRING, offsetof(CstatesOptions, advised), "",
          .help = "What IdleGovernor=auto uses: a governor, a colon and the reason" },
        { 0 },
};

/* Its part before the colon. -1 if that is no governor of the kernel. */
int cstates_advised(const CstatesOptions *options)
{
        const char *text = options->advised, *colon = strchr(text, ':');
        size_t length = colon ? (size_t)(colon - text) : strlen(text);

        for (int i = IDLE_GOVERNOR_FIRST; cstates_governors[i]; i++)
                if (strlen(cstates_governors[i]) == length &&
                    strncmp(cstates_governors[i], text, length) == 0)
                        return i;
        return -1;
}

const char *cstates_check(const void *options, const char **ret_key)
{
        const CstatesOptions *o = options;

        *ret_key = "DeepestState";
        if (!limit_is_sound(o->deepest))
                return "is neither a time such as 50us nor the name of an idle state";
        *ret_key = "IdleGovernorAdvised";
        if (*o->advised && cstates_advised(o) < 0)
                return "does not begin with one of the kernel's idle governors and a colon";
        *ret_key = "UtilizationRelease";
        return o->release > o->threshold ? "is greater than UtilizationThreshold" : NULL;
}

unsigned cstates_reads(const void *options)
{
        const CstatesOptions *o = options;

        return (o->by_utilization ? SENSE_RESIDENCY : 0) |
               (o->by_history ? SENSE_IDLE_STATISTICS : 0);
}
