/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile in effect.
 *
 * At every tick, and whenever a hold comes or goes, profile_choose() chooses the profile. If it is
 * another one, the options of all policies are exchanged in one step and the decision that follows
 * is made with them. A profile that contradicts what was set at run time stays out until one of
 * both changes.
 */
#include "manager/active-profile.h"

#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "model/snapshot.h"

#define FILE_NAME "profile"

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

/* Clients choose as often as they like. */
static LogLimit profile_log;

/* What holds request, as an array of HeldProfile. */
static GArray *held_profiles(const Holds *holds)
{
        GArray *array = g_array_new(FALSE, FALSE, sizeof(HeldProfile));

        for (unsigned i = 0; i < holds_count(holds); i++) {
                const Held *held = holds_nth(holds, i);
                HeldProfile profile = { held->id, held->profile };

                if (held->profile)
                        g_array_append_val(array, profile);
        }
        return array;
}

/* The profile that must be in effect. */
static ProfileChoice choose(const ActiveProfile *active, const ProfileScene *scene)
{
        const DaemonOptions *options = config_section(scene->config, "Daemon")->options;
        g_autoptr(GArray) held = held_profiles(scene->holds);

        return profile_choose(scene->config, &(ProfileInput){
                                                     .held = (const HeldProfile *)held->data,
                                                     .n_held = held->len,
                                                     .chosen = active->chosen,
                                                     .on_battery = scene->on_battery,
                                                     .on_mains_default = options->profile_ac,
                                                     .on_battery_default = options->profile_battery,
                                             });
}

unsigned active_profile_senses(const Config *config)
{
        const DaemonOptions *options = config_section(config, "Daemon")->options;

        return *options->profile_ac || *options->profile_battery ? SENSE_POWER : 0;
}

/* "held by user 1000 (:1.4): a game", "chosen", ... as a new string. */
static char *describe(const ActiveProfile *active, const Holds *holds, const ProfileChoice *choice)
{
        const Held *held;
        const char *kept = active->keep_error < 0 ? g_strerror(-active->keep_error) : NULL;

        switch (choice->why) {
        case PROFILE_HELD:
                held = holds_find(holds, choice->hold);
                return g_strdup_printf("held by %s: %s", held->owner, held->reason);
        case PROFILE_CHOSEN:
                return kept ? g_strdup_printf(
                                      "chosen, until idled exits: the choice cannot be saved: %s",
                                      kept)
                            : g_strdup("chosen");
        case PROFILE_ON_BATTERY:
                return g_strdup("the default on battery power");
        case PROFILE_ON_MAINS:
                return g_strdup("the default on mains power");
        default:
                return g_strdup("no other one is chosen");
        }
}

/* Puts the words for `choice` in place; true if they are others than before. */
static bool explain(ActiveProfile *active, const Holds *holds, const ProfileChoice *choice)
{
        g_autofree char *clean = choice->absent ? log_clean(choice->absent) : NULL;
        g_autofree char *why = describe(active, holds, choice), *reason = NULL;

        reason = clean ? g_strdup_printf("%s; there is no profile \"%s\"", why, clean)
                       : g_strdup(why);
        if (g_strcmp0(active->reason, reason) == 0)
                return false;
        g_free(active->reason);
        active->reason = g_steal_pointer(&reason);
        return true;
}

/* Notes that `profile` cannot be applied, and logs it once. */
static void refuse(ActiveProfile *active, const Profile *profile, const char *error)
{
        g_free(active->problem);
        active->problem = g_strdup_printf("%s cannot be activated: %s", profile->name, error);
        active->refused = profile;
        log_warning("Profile %s", active->problem);
}

void active_profile_retry(ActiveProfile *active)
{
        active->refused = NULL;
        g_clear_pointer(&active->problem, g_free);
}

/* Holds come and go with programs, as often as these run: that is nothing for a log that is kept.
 */
static void log_switch(const ActiveProfile *active, const ProfileChoice *choice)
{
        if (choice->why == PROFILE_HELD || active->held)
                log_debug("Profile %s: %s", choice->profile->name, active->reason);
        else
                log_limited(&profile_log, "Profile %s: %s", choice->profile->name, active->reason);
}

unsigned active_profile_follow(ActiveProfile *active, const ProfileScene *scene)
{
        ProfileChoice choice = choose(active, scene);
        const Profile *before = scene->config->profile;
        bool changed = explain(active, scene->holds, &choice);
        g_autofree char *error = NULL;
        int r = 0;

        if (choice.profile != active->refused && active->refused) {
                active_profile_retry(active);
                changed = true;
        }
        if (choice.profile != before && choice.profile != active->refused) {
                r = config_use_profile(scene->config, choice.profile, &error);
                if (r < 0)
                        refuse(active, choice.profile, error);
                else
                        log_switch(active, &choice);
                changed = true;
        }
        active->held = choice.why == PROFILE_HELD;
        return (changed ? PROFILE_CHANGED_TEXT : 0) | (r > 0 ? PROFILE_CHANGED_OPTIONS : 0);
}

void active_profile_adopt(ActiveProfile *active, const ProfileScene *scene)
{
        g_autofree char *never = NULL;

        active_profile_retry(active);
        config_use_profile(scene->config, choose(active, scene).profile, &never);
}

/* Makes `name` (NULL: none) the chosen one. */
static void set_chosen(ActiveProfile *active, const char *name)
{
        char *copy = g_strdup(name);

        g_free(active->chosen);
        active->chosen = copy;
}

int profile_state_read(const char *dir, char **ret_name)
{
        g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL), *text = NULL;
        int r;

        r = file_read_regular(path, &text);
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        if (!profile_is_name(text))
                return -EBADMSG;
        *ret_name = g_steal_pointer(&text);
        return 0;
}

int profile_state_write(const char *dir, const char *name)
{
        g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL);
        g_autofree char *line = g_strconcat(name ? name : "", "\n", NULL);

        if (name)
                return file_replace(dir, path, line);
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* Without waiting for the disk: after a power cut the choice before may be in effect. */
static void keep(ActiveProfile *active)
{
        if (!active->dir)
                return;
        active->keep_error = profile_state_write(active->dir, active->chosen);
        if (active->keep_error < 0)
                log_error_errno(active->keep_error, "%s: failed to save the chosen profile: %m",
                                active->dir);
}

int active_profile_choose(ActiveProfile *active, const ProfileScene *scene, const char *name,
                          char **ret_error)
{
        bool automatic = !*name || g_str_equal(name, PROFILE_AUTO);
        g_autofree char *before = g_strdup(active->chosen);
        const char *effective;
        ProfileChoice choice;
        int r;

        if (!automatic && profile_check_name(scene->config, name, ret_error) < 0)
                return -ENOENT;
        set_chosen(active, automatic ? NULL : name);
        choice = choose(active, scene);
        r = config_use_profile(scene->config, choice.profile, ret_error);
        if (r < 0) {
                set_chosen(active, before);
                return r;
        }
        active_profile_retry(active);
        keep(active);
        explain(active, scene->holds, &choice);
        effective = choice.profile ? choice.profile->name : "none";
        if (choice.why == PROFILE_HELD)
                log_limited(&profile_log, "Profile %s is chosen, but %s stays active: %s",
                            automatic ? PROFILE_AUTO : name, effective, active->reason);
        else
                log_limited(&profile_log, "Profile %s: %s", effective, active->reason);
        active->held = choice.why == PROFILE_HELD;
        return PROFILE_CHANGED_TEXT | (r > 0 ? PROFILE_CHANGED_OPTIONS : 0);
}

void active_profile_init(ActiveProfile *active, const char *dir, bool keep)
{
        int r = dir ? profile_state_read(dir, &active->chosen) : -ENOENT;

        if (r == -EBADMSG)
                log_warning("%s/profile: found no name of a profile; no profile is chosen", dir);
        else if (r < 0 && r != -ENOENT)
                log_error_errno(r, "%s/profile: %m; no profile is chosen", dir);
        active->dir = keep ? dir : NULL;
}

void active_profile_done(ActiveProfile *active)
{
        g_clear_pointer(&active->chosen, g_free);
        g_clear_pointer(&active->reason, g_free);
        g_clear_pointer(&active->problem, g_free);
}
