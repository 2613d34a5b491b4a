/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations. All have the same parts: the state, the policy, the reason, the inputs, and the
 * line of the configuration that sets the threshold.
 */
#include "model/explain.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/number.h"

static bool is_text(const char *text)
{
        return text && *text;
}

static void add_value(GString *text, double value, const char *unit)
{
        g_autofree char *formatted = value_format(value, unit);

        g_string_append_printf(text, " %s", formatted);
}

/* " (load 0.4 CPUs, battery 20 %)", or nothing. The unit is omitted if the name contains it. */
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
        return !is_text(reason->option) && reason->threshold_unit && isfinite(reason->threshold);
}

/* "; DownThreshold is 30 % (FILE:LINE)", "; see IdleMask (FILE:LINE)" if its value is no number, ";
 * no option decides this" if the inputs were compared with something else, or nothing; "Dwell is 5
 * s (default), now 20 s after 2 reversals" if another value than the configured one is in effect.
 */
static void add_option(GString *text, const Reason *reason, const char *source)
{
        const char *unit = reason->threshold_unit;

        if (!is_text(reason->option)) {
                g_string_append(text,
                                reason_lacks_option(reason) ? "; no option decides this" : "");
                return;
        }
        if (unit && isfinite(reason->threshold)) {
                g_string_append_printf(text, "; %s is", reason->option);
                add_value(text, reason->threshold, unit);
        } else {
                g_string_append_printf(text, "; see %s", reason->option);
        }
        if (is_text(source))
                g_string_append_printf(text, " (%s)", source);
        if (unit && is_text(reason->effective_because) && isfinite(reason->effective)) {
                g_string_append(text, ", now");
                add_value(text, reason->effective, unit);
                g_string_append_printf(text, " %s", reason->effective_because);
        }
}

static void add_reason(GString *text, const Explanation *why)
{
        if (!is_text(why->reason.because))
                return;
        g_string_append_printf(text, ": %s", why->reason.because);
        add_inputs(text, &why->reason);
        add_option(text, &why->reason, why->source);
}

static const char *const causes[] = { [CAUSE_POLICY] = "policy",
                                      [CAUSE_PAUSE] = "pause",
                                      [CAUSE_WINDOW] = "window",
                                      [CAUSE_SAFETY] = "safety" };

const char *cause_text(Cause cause, const char *policy)
{
        return cause == CAUSE_POLICY && !is_text(policy) ? "" : causes[cause];
}

Cause cause_parse(const char *text)
{
        for (size_t i = 0; i < G_N_ELEMENTS(causes); i++)
                if (g_strcmp0(causes[i], text) == 0)
                        return (Cause)i;
        return CAUSE_POLICY;
}

const char *cause_name(Cause cause, const char *policy)
{
        if (cause != CAUSE_POLICY)
                return causes[cause];
        return policy ? policy : "";
}

/* " by POLICY", or " (POLICY)" if the policy changes nothing. */
static void add_cause(GString *text, const Explanation *why, bool acts)
{
        static const char *const others[] = { [CAUSE_PAUSE] = " while paused",
                                              [CAUSE_WINDOW] = " during a window",
                                              [CAUSE_SAFETY] = " for safety" };

        if (why->cause != CAUSE_POLICY)
                g_string_append(text, others[why->cause]);
        else if (is_text(why->policy))
                g_string_append_printf(text, acts ? " by %s" : " (%s)", why->policy);
}

char *explain_cpu(const CpuState *state, const Explanation *why)
{
        bool done = state->wanted == state->parked;
        GString *text = g_string_new(!done           ? state->wanted ? "should be parked"
                                                                     : "should be unparked"
                                     : state->parked ? "parked"
                                                     : "active");

        if (done && state->since)
                g_string_append_printf(text, state->parked ? " %s ago" : " for %s", state->since);
        add_cause(text, why, state->wanted || state->parked);
        if (!*cause_text(why->cause, why->policy) && !is_text(why->reason.because))
                g_string_append(text, ": no policy requests anything else");
        add_reason(text, why);
        if (state->wanted && !state->parked && is_text(state->obstacle))
                g_string_append_printf(text, ", but tasks may still run there: %s",
                                       state->obstacle);
        return g_string_free(text, FALSE);
}

char *explain_change(const char *parked, const Explanation *why)
{
        GString *text = g_string_new(is_text(parked) ? parked : "nothing");

        g_string_append(text, " parked");
        add_cause(text, why, true);
        add_reason(text, why);
        return g_string_free(text, FALSE);
}

char *explain_reason(const Explanation *why)
{
        GString *text = g_string_new(why->policy);

        add_reason(text, why);
        return g_string_free(text, FALSE);
}

char *explain_wish(const CpuSet *allowed, const CpuSet *online, const Explanation *why)
{
        CpuSet used = *allowed;
        g_autofree char *cpus = NULL;
        GString *text = g_string_new("Requests ");

        cpuset_and(&used, online);
        cpus = cpuset_format(&used);
        if (cpuset_is_subset(online, allowed))
                g_string_append(text, "all CPUs");
        else if (*cpus)
                g_string_append_printf(text, "CPUs %s", cpus);
        else
                g_string_append(text, "no CPUs");
        add_reason(text, why);
        return g_string_free(text, FALSE);
}
