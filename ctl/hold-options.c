/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options of holds: texts become numbers in the units of the bus. What fits the machine, the daemon
 * knows better.
 */
#include "hold-options.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "model/hold.h"
#include "client.h"

static int take_latency(HoldWishes *wishes, const char *text)
{
        uint64_t usec;

        if (duration_parse(text, &usec) < 0 || usec > HOLD_LATENCY_MAX_US)
                return complain_usage(NULL,
                                      "--latency: found \"%s\", expected 0 (no sleep at all) or a "
                                      "duration from 1us to 1s, such as 50us",
                                      text);
        wishes->latency_us = (uint32_t)usec;
        wishes->latency_given = true;
        return EXIT_FINE;
}

/* "2.4GHz" as kHz. */
static int frequency_parse(const char *text, uint32_t *ret_khz)
{
        static const struct {
                const char *unit;
                double khz;
        } units[] = { { "kHz", 1 }, { "MHz", 1e3 }, { "GHz", 1e6 } };

        for (size_t i = 0; i < G_N_ELEMENTS(units); i++) {
                g_autofree char *number = NULL;
                double value;

                if (!g_str_has_suffix(text, units[i].unit))
                        continue;
                number = g_strndup(text, strlen(text) - strlen(units[i].unit));
                if (real_parse(number, &value) < 0)
                        return -EINVAL;
                value *= units[i].khz;
                if (value < 1 || value > 1e8)
                        return -ERANGE;
                *ret_khz = (uint32_t)(value + 0.5);
                return 0;
        }
        return -EINVAL;
}

static int take_frequency(HoldWishes *wishes, const char *text)
{
        if (frequency_parse(text, &wishes->min_khz) < 0)
                return complain_usage(NULL,
                                      "--min-frequency: found \"%s\", expected a frequency such as "
                                      "800MHz or 2.4GHz",
                                      text);
        return EXIT_FINE;
}

static int take_count(const char *option, const char *text, const char *what, uint32_t *ret_count)
{
        uint64_t number;

        if (u64_parse(text, &number) < 0 || number == 0 || number > INT32_MAX)
                return complain_usage(NULL, "%s: found \"%s\", expected %s", option, text, what);
        *ret_count = (uint32_t)number;
        return EXIT_FINE;
}

static int take_time(HoldWishes *wishes, const char *text)
{
        if (duration_parse(text, &wishes->for_usec) < 0 || wishes->for_usec == 0)
                return complain_usage(NULL, "--for: found \"%s\", expected a duration such as 10s",
                                      text);
        return EXIT_FINE;
}

int hold_option_take(Ctl *ctl, Option option, const char *argument)
{
        HoldWishes *wishes = &ctl->hold;

        switch (option) {
        case OPTION_LATENCY:
                return take_latency(wishes, argument);
        case OPTION_CORES:
                return take_count("--cores", argument, "a number of cores", &wishes->min_cores);
        case OPTION_MIN_FREQUENCY:
                return take_frequency(wishes, argument);
        case OPTION_PID:
                return take_count("--pid", argument, "the number of a process", &wishes->pid);
        case OPTION_FOR:
                return take_time(wishes, argument);
        case OPTION_CPUS:
                wishes->cpus = argument;
                break;
        case OPTION_PROFILE:
                wishes->profile = argument;
                break;
        case OPTION_REASON:
                wishes->reason = argument;
                break;
        default: /* OPTION_GLOBAL */
                wishes->global = true;
                break;
        }
        return EXIT_FINE;
}

int hold_options_check(const Ctl *ctl, const Verb *verb)
{
        if (!(ctl->given & OPTIONS_HOLD_ASKS))
                return complain_usage(verb,
                                      "%s: expected at least one of --latency, --cores, "
                                      "--min-frequency, --cpus, --profile",
                                      verb->name);
        if (ctl->given & OPTION_GLOBAL && !(ctl->given & OPTION_LATENCY))
                return complain_usage(verb, "--global: expected --latency with it");
        return EXIT_FINE;
}

char *hold_where(const Ctl *ctl, const char *path)
{
        const HoldWishes *wishes = &ctl->hold;
        g_autofree char *cpus = NULL;
        const char *online;

        if (wishes->global)
                return g_strdup("all CPUs of the machine");
        if (!wishes->latency_given && !wishes->min_khz && !wishes->cpus)
                return NULL;
        cpus = client_hold_cpus(ctl->client, path);
        online = json_text(client_manager(ctl->client), "Online");
        if (!cpus)
                return NULL;
        return g_strdup_printf("CPU%s %s%s", strpbrk(cpus, ",-") ? "s" : "", cpus,
                               g_str_equal(cpus, online) ? ", all of them" : "");
}
