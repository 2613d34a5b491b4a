/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile in effect: which it is, why, and which one a client chose.
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
#ifndef IDLED_ACTIVE_PROFILE_H
#define IDLED_ACTIVE_PROFILE_H

#include "config/config.h"
#include "config/profile.h"
#include "holds/holds.h"

/* What profile_choose() depends on; it is pure. */
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

/* Only active-profile.c changes it. The profile itself is that of the configuration. */
typedef struct ActiveProfile {
        const char *dir;        /* where choices are kept over a restart; NULL: nowhere */
        char *chosen;           /* by a client, until the next choice; NULL: none */
        int keep_error;         /* why `chosen` is forgotten when the daemon ends; 0: it is not */
        char *reason;           /* why this one, for people; NULL before the first decision */
        bool held;              /* it is in effect because of a hold */
        const Profile *refused; /* was chosen but contradicts other options; NULL: none */
        char *problem;          /* which and what it contradicts; NULL: none */
} ActiveProfile;

/* What the choice depends on. */
typedef struct ProfileScene {
        Config *config;
        const Holds *holds;
        bool on_battery;
} ProfileScene;

/* Reads the chosen name from the file "profile" in directory `dir`. -ENOENT: none was chosen;
 * -EBADMSG: no name of a profile is in the file; else why it cannot be read. */
int profile_state_read(const char *dir, char **ret_name);

/* Keeps the name there, or none (NULL), as file_replace(). */
int profile_state_write(const char *dir, const char *name);

/* Reads from directory `dir`, which must outlive it, which one was chosen before the restart; NULL:
 * there is no such directory. Later choices are kept there if `keep`. */
void active_profile_init(ActiveProfile *active, const char *dir, bool keep);
void active_profile_done(ActiveProfile *active);

/* What the choice reads with this configuration: Sense flags. */
unsigned active_profile_senses(const Config *config);

/* What a call below changed. */
enum { PROFILE_CHANGED_TEXT = 1 << 0, PROFILE_CHANGED_OPTIONS = 1 << 1 };

/* Puts the profile into effect that must be, if it is another one now. Flags as above. */
unsigned active_profile_follow(ActiveProfile *active, const ProfileScene *scene);

/* As manager_set_profile(), but decides nothing; flags as above, or its errors. */
int active_profile_choose(ActiveProfile *active, const ProfileScene *scene, const char *name,
                          char **ret_error);

/* The same in a configuration that is not in effect yet. */
void active_profile_adopt(ActiveProfile *active, const ProfileScene *scene);

/* Options changed: a profile that contradicted them must be tried again. */
void active_profile_retry(ActiveProfile *active);

#endif
