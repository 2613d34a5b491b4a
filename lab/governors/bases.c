/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The governors that another one can be built on: without options, and with a small state. */
#include "governors/bases.h"

#include <stddef.h>
#include <string.h>

#include "governors/governors.h"

static const Governor *const bases[] = {
        &governor_ladder,   &governor_menu_6_1,   &governor_menu_6_12,  &governor_teo_6_1,
        &governor_teo_6_12, &governor_teo_6_18,   &governor_menu_7_3,   &governor_teo_7_3,
        &governor_teo_util, &governor_omniscient, &governor_timer_only,
};

const Governor *base_find(const char *name)
{
        for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
                if (strcmp(bases[i]->name, name) == 0)
                        return bases[i];
        return NULL;
}

const char *base_check(const void *options, const StateTable *table)
{
        const char *const *name = options;

        return base_find(*name) ? NULL
                                : "base cannot be built on, expected a governor without options "
                                  "such as teo-6.1";
}
