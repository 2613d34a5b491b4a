/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options of holds: texts become numbers in the units of the bus. What fits the machine, the daemon
 * knows better.
 */
#include "hold-options.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "model/contract.h"
#include "model/hold.h"
#include "cli/client.h"

HoldArguments hold_arguments;

/* "2.4GHz" as kHz. */
static int frequency_parse(const char *text, uint64_t *ret_khz)
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
                *ret_khz = (uint64_t)(value + 0.5);
                return 0;
        }
        return -EINVAL;
}

static int take_frequency(Ctl *ctl, const VerbOption *row, const char *text)
{
        if (frequency_parse(text, &hold_arguments.min_khz) < 0)
                return complain_usage(NULL,
                                      "--min-frequency: found \"%s\", expected a frequency such as "
                                      "800MHz or 2.4GHz",
                                      text);
        return EXIT_FINE;
}

static CpuSet given_cpus; /* the daemon gets their text */

const VerbOption hold_options[] = {
        { "latency", "TIME", "limit the wake-up latency, such as 50us",
          .flag = &hold_arguments.latency_given, .number = &hold_arguments.latency_us,
          .most = HOLD_LATENCY_MAX_US,
          .expected = "0 (no sleep at all) or a duration from 1us to 1s, such as 50us" },
        { "p99", "TIME", "99 % of wake-ups of the process's unit run within TIME, such as 5ms",
          .number = &hold_arguments.p99_us, .least = 1, .most = CONTRACT_LIMIT_MAX_US,
          .expected = "a duration from 1us to 10s, such as 5ms" },
        { "cores", "N", "keep this many cores active", .number = &hold_arguments.min_cores,
          .least = 1, .most = INT32_MAX, .expected = "a number of cores" },
        { "min-frequency", "FREQ", "lowest frequency: 800MHz, 2.4GHz", .take = take_frequency },
        { "cpus", "LIST", "apply to these CPUs, and keep them active", .text = &hold_arguments.cpus,
          .cpus = &given_cpus },
        { "kind", "WORDS", "kinds of cores: efficient, fast, cache, island",
          .text = &hold_arguments.kind },
        { "profile", "NAME", "activate this profile", .text = &hold_arguments.profile },
        { "global", NULL, "apply the latency to all CPUs of the machine",
          .flag = &hold_arguments.global },
        { "reason", "TEXT", "the reason, for other users", .text = &hold_arguments.reason },
        { 0 },
};

const VerbOption hold_end_options[] = {
        { "pid", "PID", "hold for this process, until it ends", .number = &hold_arguments.pid,
          .least = 1, .most = INT32_MAX, .expected = "the number of a process" },
        { "for", "TIME", "end the hold after this time, such as 10s",
          .number = &hold_arguments.for_usec, .least = 1, .expected = "a duration such as 10s" },
        { 0 },
};

int hold_options_check(const Ctl *ctl, const Verb *verb)
{
        const HoldArguments *hold = &hold_arguments;

        if (!hold->latency_given && !hold->p99_us && !hold->min_cores && !hold->min_khz &&
            !hold->cpus && !hold->profile && !hold->kind)
                return complain_usage(verb,
                                      "%s: expected at least one of --latency, --p99, --cores, "
                                      "--min-frequency, --cpus, --kind, --profile",
                                      verb->name);
        if (hold->global && !hold->latency_given)
                return complain_usage(verb, "--global: expected --latency with it");
        if (hold->p99_us && !hold->pid && g_str_equal(verb->name, "hold"))
                return complain_usage(verb, "--p99: expected --pid with it, a process of the unit");
        return EXIT_FINE;
}

char *hold_where(const Ctl *ctl, const char *path)
{
        const HoldArguments *request = &hold_arguments;
        g_autoptr(json_object) active = NULL;
        g_autofree char *cpus = NULL;
        const char *online, *all = "";

        if (request->global)
                return g_strdup("all CPUs of the machine");
        if (!request->latency_given && !request->min_khz && !request->cpus)
                return NULL;
        cpus = client_hold_text(ctl->client, path, "CPUs");
        if (!cpus)
                return NULL;
        online = json_text(client_manager(ctl->client), "Online");
        active = client_property(ctl->client, "Allowed");
        if (g_str_equal(cpus, online))
                all = ", all of them";
        else if (active && g_str_equal(cpus, json_object_get_string(active)))
                all = ", all that are active";
        return g_strdup_printf("CPU%s %s%s", strpbrk(cpus, ",-") ? "s" : "", cpus, all);
}

int hold_complain(const char *error, const char *more)
{
        static const struct {
                const char *key, *option;
        } rows[] = {
                { "latency_us: ", "--latency: " },
                { "wakeup_p99_us: ", "--p99: " },
                { "min_cores: ", "--cores: " },
                { "min_frequency_khz: ", "--min-frequency: " },
                { "cpus: ", "--cpus: " },
                { "kind: ", "--kind: " },
                { "profile: ", "--profile: " },
                { "reason: ", "--reason: " },
                { "pid: ", "--pid: " },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_str_has_prefix(error, rows[i].key))
                        return complain("%s%s%s", rows[i].option, error + strlen(rows[i].key),
                                        more);
        return complain("%s%s", error, more);
}
