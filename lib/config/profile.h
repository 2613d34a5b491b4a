/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles: named sets of values for the options of policies.
 *
 * A profile lies between the files and what is set at run time: an option that it sets overrides
 * the policy's own files, and SetOptions overrides the profile. Other options are as in the files,
 * so an empty profile changes nothing. "balanced" always exists; without a file of that name it is
 * empty.
 *
 * Going from one profile to another is one step: all options of all policies are computed and
 * checked first, and only if everything fits is anything exchanged.
 */
#ifndef IDLED_PROFILE_H
#define IDLED_PROFILE_H

#include "config/config.h"

#define PROFILE_BALANCED "balanced"

/* A reserved name: no profile is chosen. */
#define PROFILE_AUTO "auto"

/* A profile's value of one option. */
typedef struct ProfileValue {
        char *text; /* "": nothing, whatever the profiles that it includes say */
        Source source;
} ProfileValue;

struct Profile {
        char *name;
        char *summary; /* "" if it has none */
        char **includes;
        Source include_source;
        const char *file;   /* its first; NULL: there is none */
        GHashTable *own;    /* "POLICY\nKEY" -> ProfileValue *, owned */
        GHashTable *values; /* the same with those of included profiles and without empty ones */
        const char *family; /* power-saver, balanced or performance: itself, else the first of these
                               that it includes, else balanced */
};

typedef struct ProfileOptions {
        char *summary;
        char **includes;
} ProfileOptions;

/* Section [Profile] of profiles/NAME.conf. */
extern const Setting profile_settings[];

/* True for at most 64 letters, digits, "-" and "_" of which the first is a letter or digit, except
 * PROFILE_AUTO. */
bool profile_is_name(const char *name);

/* The profile of this name, NULL if there is none. */
const Profile *config_profile(const Config *config, const char *name);

/* "power-saver, balanced, performance": all there are, as a new string. */
char *config_profile_names(const Config *config);

/* The key under which a profile stores an option, as a new string. */
char *profile_value_id(const char *section, const char *key);

/* The profile's value of an option; NULL if it has none, or `profile` is NULL. */
const ProfileValue *profile_value(const Profile *profile, const char *section, const char *key);

/* The section's options with a profile (NULL: none), with or without what was set at run time, as a
 * new struct for settings_free(). */
void *profile_options(const Profile *profile, const Section *section, bool with_runtime);

/* Activates `profile`. Returns 1 if this changes an option of an active policy, 0 if not. -EINVAL:
 * options would contradict each other or options set at run time; `*ret_error` says which, and the
 * old profile stays. */
int config_use_profile(Config *config, const Profile *profile, char **ret_error);

/* As section_check_all(), for the policy's options with `profile` and without what was set at run
 * time. */
void profile_check_section(const Profile *profile, const Section *section,
                           void (*report)(const char *key, const char *error, void *userdata),
                           void *userdata);

/* True for the keys of [Daemon] that name a profile. */
bool profile_row_is_name(const Setting *row);

/* -EINVAL if `name` is not, letter by letter, that of a profile that there is; `*ret_error` says
 * what was found and what was expected. */
int profile_check_name(const Config *config, const char *name, char **ret_error);

void profile_free(Profile *profile);

#endif
