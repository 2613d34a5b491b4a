/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sentences. All are built alike: what is so, by whom, why, from which inputs, and which line of
 * which file would have to be changed for it to be otherwise.
 */
#include "manager/sentence.h"

#include <math.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/number.h"

static void add_value(GString *text, double value, const char *unit)
{
        g_autofree char *formatted = value_format(value, unit);

        g_string_append_printf(text, " %s", formatted);
}

/* " (load 0.4 CPUs, battery 20 %)", or nothing. A name that holds its unit needs none behind it. */
static void add_inputs(GString *text, const Reason *reason)
{
        const char *separator = " (";

        for (int i = 0; i < REASON_INPUTS && reason->inputs[i].name; i++) {
                const char *unit = reason->inputs[i].unit;

                if (!isfinite(reason->inputs[i].value))
                        continue;
                g_string_append_printf(text, "%s%s", separator, reason->inputs[i].name);
                add_value(text, reason->inputs[i].value,
                          unit && !strstr(reason->inputs[i].name, unit) ? unit : "");
                separator = ", ";
        }
        if (separator[0] == ',')
                g_string_append_c(text, ')');
}

bool reason_lacks_option(const Reason *reason)
{
        return !reason->option && reason->threshold_unit && isfinite(reason->threshold);
}

/* "; DownThreshold is 30 % (FILE:LINE)", "; see IdleMask (FILE:LINE)" if its value is no number, ";
 * no option decides this" if the inputs were compared with something else, or nothing. */
static void add_option(GString *text, const Reason *reason, const Source *source)
{
        const char *unit = reason->threshold_unit;
        g_autofree char *where = NULL;

        if (!reason->option) {
                g_string_append(text,
                                reason_lacks_option(reason) ? "; no option decides this" : "");
                return;
        }
        where = source_format(source);
        if (unit && isfinite(reason->threshold)) {
                g_string_append_printf(text, "; %s is", reason->option);
                add_value(text, reason->threshold, unit);
        } else {
                g_string_append_printf(text, "; see %s", reason->option);
        }
        g_string_append_printf(text, " (%s)", where);
}

static void add_reason(GString *text, const Reason *reason, const Source *source)
{
        if (!reason->because)
                return;
        g_string_append_printf(text, ": %s", reason->because);
        add_inputs(text, reason);
        add_option(text, reason, source);
}

static char *finish(GString *text, const Reason *reason, const Source *source)
{
        add_reason(text, reason, source);
        g_string_append_c(text, '.');
        return g_string_free(text, FALSE);
}

char *cpu_sentence(int cpu, bool wanted, bool parked, const CpuCause *why, const char *obstacle)
{
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "CPU %d %s %s", cpu, wanted == parked ? "is" : "should be",
                               wanted ? "parked" : "in use");
        if (why->policy)
                g_string_append_printf(text, " by %s", why->policy);
        else if (!why->reason.because)
                g_string_append(text, ": no policy wishes otherwise");
        add_reason(text, &why->reason, &why->option_source);
        if (wanted && !parked && obstacle)
                g_string_append_printf(text, ", but nobody is kept off it: %s", obstacle);
        g_string_append_c(text, '.');
        return g_string_free(text, FALSE);
}

char *reason_sentence(const char *policy, const Reason *reason, const Source *option_source)
{
        return finish(g_string_new(policy), reason, option_source);
}

char *transition_sentence(const Transition *transition)
{
        const char *parked = transition->parked;
        GString *text = g_string_new(*parked ? parked : "Nothing");

        g_string_append(text, strpbrk(parked, ",-") ? " are parked" : " is parked");
        if (transition->policy)
                g_string_append_printf(text, " by %s", transition->policy);
        return finish(text, &transition->reason, &transition->option_source);
}

char *wish_sentence(const Wish *wish, const CpuSet *online, const Source *option_source)
{
        CpuSet allowed = wish->allowed;
        g_autofree char *cpus = NULL;
        GString *text;

        if (cpuset_is_subset(online, &allowed)) {
                text = g_string_new("Wishes all CPUs in use");
        } else {
                cpuset_and(&allowed, online);
                cpus = cpuset_format(&allowed);
                text = g_string_new(NULL);
                g_string_append_printf(text, "Wishes %s in use", *cpus ? cpus : "none");
        }
        return finish(text, &wish->allowed_reason, option_source);
}
