/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of removed options.
 */
#include "config/removed.h"

#include "config/config-files.h"

/* The same option of the policy, but in a profile. */
#define IN_PROFILE(policy, option)                                                                 \
        "has no effect: set " option "= in section [" policy "] of the profile that "              \
        "ProfileBattery= of [Daemon] names; if it names none, set ProfileBattery=battery and "     \
        "write profiles/battery.conf with Include=balanced in [Profile]"
#define BUILT_IN "has no effect: it is built in; remove it"

#define ADVISE                                                                                     \
        "counts only while idled keeps no other advice: run idlelab advise --apply, and remove it"

#define TIMER_SLACK "has no effect: set TimerSlackNSec= in the units"

static const struct {
        const char *section, *key, *instead;
} removed[] = {
        { "Daemon", "MaxStretch", BUILT_IN },
        { "quiet", "TimerSlackUnits", TIMER_SLACK },
        { "quiet", "TimerSlack", TIMER_SLACK },
        { "Evaluate", "BlockTime", BUILT_IN },
        { "Evaluate", "WashOut", BUILT_IN },
        { "Evaluate", "Duty", BUILT_IN },
        { "cstates", "DeepestStateBattery", IN_PROFILE("cstates", "DeepestState") },
        { "cpufreq", "GovernorBattery", IN_PROFILE("cpufreq", "Governor") },
        { "cpufreq", "EnergyPreferenceBattery", IN_PROFILE("cpufreq", "EnergyPreference") },
        { "cpufreq", "EnergyBiasBattery", IN_PROFILE("cpufreq", "EnergyBias") },
        { "cpufreq", "MinFrequencyBattery", IN_PROFILE("cpufreq", "MinFrequency") },
        { "cpufreq", "MaxFrequencyBattery", IN_PROFILE("cpufreq", "MaxFrequency") },
        { "cpufreq", "BoostBattery", IN_PROFILE("cpufreq", "Boost") },
        { "cstates", "HistoryLearn", BUILT_IN },
        { "cstates", "HistoryForget", BUILT_IN },
        { "cstates", "HistoryDraw", BUILT_IN },
        { "cstates", "HistorySeed", BUILT_IN },
        { "cstates", "IdleGovernorAdvised", ADVISE },
};

const char *removed_find(const char *section, const char *key)
{
        for (size_t i = 0; i < G_N_ELEMENTS(removed); i++)
                if (g_str_equal(removed[i].section, section) && g_str_equal(removed[i].key, key))
                        return removed[i].instead;
        return NULL;
}

char *removed_warning(const char *section, const char *key)
{
        const char *instead = removed_find(section, key);

        return instead ? g_strdup_printf("%s: found an option that was removed and %s", key,
                                         instead)
                       : NULL;
}

bool removed_note(const Config *config, const char *section, const char *key, Source source)
{
        g_autofree char *warning = removed_warning(section, key);

        if (warning)
                config_error_add(config->removed, source.file, source.line, "%s", warning);
        return warning;
}
