/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The benefit of parking, as one sentence and as one object.
 */
#include "benefit.h"

#include <math.h>

json_object *benefit_describe(json_object *manager)
{
        json_object *told = json_get(manager, "ParkingBenefit"), *answer;
        const char *verdict = json_length(told) == 4 ? json_element_text(told, 0) : "";

        if (!*verdict)
                return NULL;
        answer = json_object_new_object();
        json_put_text(answer, "verdict", verdict);
        json_put_real(answer, "active_watts", json_element_number(told, 1), 1);
        json_put_real(answer, "parked_watts", json_element_number(told, 2), 1);
        json_put(answer, "measured_usec", json_object_get(json_element(told, 3)));
        return answer;
}

char *benefit_text(json_object *benefit)
{
        const char *verdict = json_text(benefit, "verdict");
        double active = json_number(benefit, "active_watts", NAN);
        double parked = json_number(benefit, "parked_watts", NAN);
        double past = ((double)g_get_real_time() - json_number(benefit, "measured_usec", 0)) / 1e6;
        g_autofree char *ago = NULL, *what = NULL;

        if (!benefit)
                return NULL;
        ago = text_duration(past);
        if (g_str_equal(verdict, "saves"))
                what = g_strdup_printf("parking saves %.1f W", active - parked);
        else if (g_str_equal(verdict, "saves nothing"))
                what = g_strdup("parking saves nothing");
        else
                what = g_strdup("parking makes no measurable difference");
        return g_strdup_printf(
                "%s (%.1f W with all CPUs active, %.1f W with some parked), measured "
                "%s ago",
                what, active, parked, ago);
}
