/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Chooses the profile that is in effect. Pure.
 *
 * The first of these that is set wins:
 *   1. a profile that a hold requests. Among holds idled prefers the family of power-saver, then
 *      that of performance, as power-profiles-daemon does, then other families; within a
 *      family, profiles that include the profile of the family's name; then the newest hold
 *   2. the profile that a client chose
 *   3. the default on battery power, or that on mains power
 *   4. balanced
 * A name without a profile is skipped.
 */
#ifndef IDLED_PROFILE_CHOICE_H
#define IDLED_PROFILE_CHOICE_H

#include "config/profile.h"

typedef struct HeldProfile {
        uint64_t id; /* of the hold; the newer the greater */
        const char *name;
} HeldProfile;

typedef struct ProfileInput {
        const HeldProfile *held;
        unsigned n_held;
        const char *chosen; /* NULL: none was chosen */
        bool on_battery;
        const char *on_mains_default, *on_battery_default; /* "": none in particular */
} ProfileInput;

typedef enum ProfileWhy {
        PROFILE_HELD,
        PROFILE_CHOSEN,
        PROFILE_ON_BATTERY,
        PROFILE_ON_MAINS,
        PROFILE_UNASKED,
} ProfileWhy;

typedef struct ProfileChoice {
        const Profile *profile;
        ProfileWhy why;
        uint64_t hold;      /* PROFILE_HELD: its id; else 0 */
        const char *absent; /* a name before it that no profile has; NULL: none */
} ProfileChoice;

/* `absent` is one of the input's names. */
ProfileChoice profile_choose(const Config *config, const ProfileInput *input);

#endif
