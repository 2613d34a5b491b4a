/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The benefit of policies, as sentences and as objects.
 */
#include "benefit.h"

#include <math.h>

static json_object *describe(json_object *policy)
{
        static const struct {
                const char *key, *property;
                int element; /* of the property, -1: it is a number */
                double factor;
                int decimals;
        } reals[] = {
                { "saved_watts", "SavedWatts", 0, 1, 1 },
                { "saved_watts_low", "SavedWatts", 1, 1, 1 },
                { "saved_watts_high", "SavedWatts", 2, 1, 1 },
                { "saved_joules", "SavedJoules", 0, 1, 0 },
                { "saved_joules_low", "SavedJoules", 1, 1, 0 },
                { "saved_joules_high", "SavedJoules", 2, 1, 0 },
                { "effective_watts", "MeanWatts", 0, 1, 1 },
                { "ignored_watts", "MeanWatts", 1, 1, 1 },
                { "saved_percent", "SavedShare", 0, 100, 1 },
                { "saved_percent_low", "SavedShare", 1, 100, 1 },
                { "saved_percent_high", "SavedShare", 2, 100, 1 },
                { "waiting_change_percent", "WaitingChange", 0, 100, 1 },
                { "waiting_change_percent_low", "WaitingChange", 1, 100, 1 },
                { "waiting_change_percent_high", "WaitingChange", 2, 100, 1 },
                { "effective_percent", "EffectiveShare", -1, 100, 1 },
        };
        json_object *answer = json_object_new_object();

        json_put_members(answer, policy, "policy=Name verdict=Verdict");
        for (size_t i = 0; i < G_N_ELEMENTS(reals); i++)
                json_put_real(answer, reals[i].key,
                              reals[i].factor *
                                      json_number_at(policy, reals[i].property, reals[i].element),
                              reals[i].decimals);
        json_put_members(answer, policy,
                         "blocks=Blocks blocks_dropped=BlocksDropped energy_source=EnergySource "
                         "work_unit=WorkUnit");
        return answer;
}

json_object *benefits_describe(json_object *policies)
{
        json_object *answer = json_object_new_array(), *policy;

        JSON_FOREACH(policy, policies)
                if (json_int(policy, "Blocks", 0) > 0 || json_int(policy, "BlocksDropped", 0) > 0)
                        json_object_array_add(answer, describe(policy));
        return answer;
}

static char *text_joules(double joules)
{
        if (fabs(joules) >= 3.6e6)
                return g_strdup_printf("%.1f kWh", joules / 3.6e6);
        if (fabs(joules) >= 10e3)
                return g_strdup_printf("%.1f kJ", joules / 1e3);
        return g_strdup_printf("%.0f J", joules);
}

/* What marks an estimate, as in tables. */
static const char *energy_mark(json_object *benefit)
{
        return g_str_equal(json_text(benefit, "energy_source"), "estimate") ? "~" : "";
}

/* ", 12.1 W with it and 15.3 W without it", or nothing. */
static void add_means(GString *text, json_object *benefit)
{
        double with = json_number(benefit, "effective_watts", NAN);
        double without = json_number(benefit, "ignored_watts", NAN);
        const char *mark = energy_mark(benefit);

        if (isfinite(with) && isfinite(without))
                g_string_append_printf(text, ", %s%.1f W with it and %s%.1f W without it", mark,
                                       with, mark, without);
}

/* ", 12.3 kJ (10.0 kJ to 14.6 kJ) since measuring began", or nothing. */
static void add_joules(GString *text, json_object *benefit)
{
        double joules = json_number(benefit, "saved_joules", NAN);
        g_autofree char *value = text_joules(joules);
        g_autofree char *low = text_joules(json_number(benefit, "saved_joules_low", NAN));
        g_autofree char *high = text_joules(json_number(benefit, "saved_joules_high", NAN));

        if (isfinite(joules))
                g_string_append_printf(text, ", %s%s (%s to %s) since measuring began",
                                       energy_mark(benefit), value, low, high);
}

/* "; tasks wait 0.4 % more of the time (-0.1 to 0.9 %)": what saving energy may cost. */
static void add_shares(GString *text, json_object *benefit)
{
        double saved = json_number(benefit, "saved_percent", NAN);
        double wait = json_number(benefit, "waiting_change_percent", NAN);

        if (isfinite(saved))
                g_string_append_printf(text, "; %s%.1f %% of the energy per work (%.1f to %.1f %%)",
                                       energy_mark(benefit), saved,
                                       json_number(benefit, "saved_percent_low", NAN),
                                       json_number(benefit, "saved_percent_high", NAN));
        if (isfinite(wait))
                g_string_append_printf(text,
                                       "; tasks wait %.1f %% %s of the time (%.1f to %.1f %%)",
                                       fabs(wait), wait < 0 ? "less" : "more",
                                       json_number(benefit, "waiting_change_percent_low", NAN),
                                       json_number(benefit, "waiting_change_percent_high", NAN));
}

char *benefit_text(json_object *benefit)
{
        const char *policy = json_text(benefit, "policy"), *verdict = json_text(benefit, "verdict");
        double watts = json_number(benefit, "saved_watts", NAN);
        double low = json_number(benefit, "saved_watts_low", NAN);
        double high = json_number(benefit, "saved_watts_high", NAN);
        double share = json_number(benefit, "effective_percent", NAN);
        const char *mark = energy_mark(benefit);
        GString *text = g_string_new(policy);

        if (g_str_equal(verdict, "saves"))
                g_string_append_printf(text, " saves %s%.1f W (%.1f to %.1f W)", mark, watts, low,
                                       high);
        else if (g_str_equal(verdict, "costs"))
                g_string_append_printf(text, " costs %s%.1f W (%.1f to %.1f W)", mark, -watts,
                                       -high, -low);
        else if (isfinite(low))
                g_string_append_printf(text, ": whether it saves is not known yet (%.1f to %.1f W)",
                                       low, high);
        else
                g_string_append(text, ": whether it saves is not known yet");
        add_means(text, benefit);
        add_joules(text, benefit);
        add_shares(text, benefit);
        if (isfinite(share))
                g_string_append_printf(text, "; in effect %.0f %% of the time", share);
        g_string_append_printf(
                text, "; %d blocks by %s, %d dropped", (int)json_int(benefit, "blocks", 0),
                json_text(benefit, "energy_source"), (int)json_int(benefit, "blocks_dropped", 0));
        return g_string_free(text, FALSE);
}
