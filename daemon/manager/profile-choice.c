/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The choice of the profile in effect: ranks of profiles that holds request, then the sources in
 * the order that the header documents.
 */
#include "manager/profile-choice.h"

/* The greater the stronger: by family, and what includes the family's own is more than that. */
static int held_rank(const Profile *profile)
{
        int family = g_str_equal(profile->family, "power-saver")   ? 3
                     : g_str_equal(profile->family, "performance") ? 1
                                                                   : 0;

        return family ? family + !g_str_equal(profile->name, profile->family) : 0;
}

static bool is_stronger(const Config *config, const HeldProfile *a, const HeldProfile *b)
{
        int difference = held_rank(config_profile(config, a->name)) -
                         held_rank(config_profile(config, b->name));

        return difference ? difference > 0 : a->id > b->id;
}

/* The strongest of the holds whose profile there is; NULL if there is none. */
static const HeldProfile *strongest(const Config *config, const ProfileInput *input,
                                    const char **ret_absent)
{
        const HeldProfile *best = NULL;

        for (unsigned i = 0; i < input->n_held; i++) {
                const HeldProfile *held = &input->held[i];

                if (!config_profile(config, held->name))
                        *ret_absent = held->name;
                else if (!best || is_stronger(config, held, best))
                        best = held;
        }
        return best;
}

/* True if there is a profile of this name, which it then is. */
static bool take(const Config *config, const char *name, ProfileWhy why, ProfileChoice *choice)
{
        const Profile *profile = name && *name ? config_profile(config, name) : NULL;

        if (profile) {
                choice->profile = profile;
                choice->why = why;
                return true;
        }
        if (name && *name && !choice->absent)
                choice->absent = name;
        return false;
}

ProfileChoice profile_choose(const Config *config, const ProfileInput *input)
{
        ProfileChoice choice = { 0 };
        const HeldProfile *held = strongest(config, input, &choice.absent);

        if (held && take(config, held->name, PROFILE_HELD, &choice)) {
                choice.hold = held->id;
                choice.absent = NULL;
        } else if (!take(config, input->chosen, PROFILE_CHOSEN, &choice) &&
                   !(input->on_battery
                             ? take(config, input->on_battery_default, PROFILE_ON_BATTERY, &choice)
                             : take(config, input->on_mains_default, PROFILE_ON_MAINS, &choice))) {
                take(config, PROFILE_BALANCED, PROFILE_UNASKED, &choice);
        }
        return choice;
}
