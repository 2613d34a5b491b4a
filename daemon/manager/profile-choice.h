/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which profile must be in effect: pure.
 *
 * The first of these that is set wins:
 *   1. what a hold asks for; of several the family of power-saver before that of performance, as
 *      power-profiles-daemon has it, and both before others; of a family those that include the
 *      profile of its name before that; of those that are left the newest hold's
 *   2. what a client chose
 *   3. the default on battery power, or that on mains power
 *   4. balanced
 * A name that no profile has (any more) is passed over.
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
