/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The list of all governors.
 */
#include <string.h>

#include "governors/governors.h"

const Governor *const governors[] = {
        &governor_ladder,   &governor_menu_6_1,   &governor_menu_6_12,  &governor_teo_6_1,
        &governor_menu_7_3, &governor_teo_6_12,   &governor_teo_6_18,   &governor_teo_7_3,
        &governor_teo_util, &governor_omniscient, &governor_timer_only, &governor_learned,
        &governor_weighted, &governor_history,    &governor_fixed,      NULL,
};

const Governor *governor_find(const char *name)
{
        size_t length = strcspn(name, ":");

        for (int i = 0; governors[i]; i++)
                if (strlen(governors[i]->name) == length &&
                    strncmp(governors[i]->name, name, length) == 0)
                        return governors[i];
        return NULL;
}
