/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile in effect.
 *
 * At every tick, and whenever a hold comes or goes, profile-choice.h chooses the profile. If it is
 * another one, the options of all policies are exchanged in one step and the decision that follows
 * is made with them. A profile that contradicts what was set at run time stays out until one of
 * both changes.
 */
#include <errno.h>

#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "manager/profile-keeper.h"
#include "manager/profile-state.h"

/* Clients choose as often as they like. */
static LogLimit profile_log;

/* What holds ask for, as an array of HeldProfile. */
static GArray *held_profiles(const Manager *manager)
{
        GArray *array = g_array_new(FALSE, FALSE, sizeof(HeldProfile));

        for (unsigned i = 0; i < holds_count(manager->holds); i++) {
                const Held *held = holds_nth(manager->holds, i);
                HeldProfile profile = { held->id, held->profile };

                if (held->profile)
                        g_array_append_val(array, profile);
        }
        return array;
}

/* The profile that must be in effect, with the profiles of `config`. */
static ProfileChoice choose(const Manager *manager, const Config *config)
{
        const DaemonOptions *options = config_section(config, "Daemon")->options;
        g_autoptr(GArray) held = held_profiles(manager);

        return profile_choose(config, &(ProfileInput){
                                              .held = (const HeldProfile *)held->data,
                                              .n_held = held->len,
                                              .chosen = manager->profile.chosen,
                                              .on_battery = manager->snapshot->on_battery,
                                              .on_mains_default = options->profile_ac,
                                              .on_battery_default = options->profile_battery,
                                      });
}

unsigned manager_profile_senses(const Manager *manager)
{
        const DaemonOptions *options = config_section(manager->config, "Daemon")->options;

        return *options->profile_ac || *options->profile_battery ? SENSE_POWER : 0;
}

/* "held by user 1000 (:1.4): a game", "chosen", ... as a new string. */
static char *describe(const Manager *manager, const ProfileChoice *choice)
{
        const Held *held = choice->hold ? holds_find(manager->holds, choice->hold) : NULL;
        const char *kept = manager->profile.keep_error < 0
                                   ? g_strerror(-manager->profile.keep_error)
                                   : NULL;

        switch (choice->why) {
        case PROFILE_HELD:
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
static bool explain(Manager *manager, const ProfileChoice *choice)
{
        ActiveProfile *active = &manager->profile;
        g_autofree char *clean = choice->absent ? log_clean(choice->absent) : NULL;
        g_autofree char *why = describe(manager, choice), *reason = NULL;

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

void manager_profile_retry(Manager *manager)
{
        manager->profile.refused = NULL;
        g_clear_pointer(&manager->profile.problem, g_free);
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

bool manager_follow_profile(Manager *manager)
{
        ProfileChoice choice = choose(manager, manager->config);
        ActiveProfile *active = &manager->profile;
        const Profile *before = manager->config->profile;
        bool changed = explain(manager, &choice);
        g_autofree char *error = NULL;
        int r = 0;

        if (choice.profile != active->refused && active->refused) {
                manager_profile_retry(manager);
                changed = true;
        }
        if (choice.profile != before && choice.profile != active->refused) {
                r = config_use_profile(manager->config, choice.profile, &error);
                if (r < 0)
                        refuse(active, choice.profile, error);
                else
                        log_switch(active, &choice);
                changed = true;
        }
        active->held = choice.why == PROFILE_HELD;
        if (r > 0)
                manager_interrupt_evaluation(manager, DROP_CONFIG);
        manager_changed(manager, (changed ? CHANGE_PROFILE : 0) | (r > 0 ? CHANGE_CONFIG : 0));
        return r > 0;
}

void manager_adopt_profile(Manager *manager, Config *config)
{
        g_autofree char *never = NULL;

        manager_profile_retry(manager);
        config_use_profile(config, choose(manager, config).profile, &never);
}

/* Makes `name` (NULL: none) the chosen one. */
static void set_chosen(ActiveProfile *active, const char *name)
{
        char *copy = g_strdup(name);

        g_free(active->chosen);
        active->chosen = copy;
}

/* The last choice is on the disk, or cannot be: then the reason of the profile says so. */
static void on_kept(int error, void *userdata)
{
        Manager *manager = userdata;
        ActiveProfile *active = &manager->profile;
        ProfileChoice choice = choose(manager, manager->config);
        unsigned changes = CHANGE_KEPT;

        active->keep_error = error;
        if (error < 0)
                log_error_errno(error, "%s: failed to save the chosen profile: %m",
                                manager->setup.state);
        if (explain(manager, &choice))
                changes |= CHANGE_PROFILE;
        manager_changed(manager, changes);
}

/* Keeps the choice over a restart, as far as that is possible. */
static void keep(Manager *manager)
{
        ActiveProfile *active = &manager->profile;

        active->keep_error = 0;
        if (manager->setup.dry_run || !manager->setup.state)
                return;
        if (!active->keeper)
                active->keep_error = profile_keeper_new(manager->event, manager->setup.state,
                                                        on_kept, manager, &active->keeper);
        if (active->keeper)
                profile_keeper_keep(active->keeper, active->chosen);
}

bool manager_is_keeping(const Manager *manager)
{
        return manager->profile.keeper && profile_keeper_is_busy(manager->profile.keeper);
}

int manager_choose_profile(Manager *manager, const char *name, char **ret_error)
{
        bool automatic = !*name || g_str_equal(name, PROFILE_AUTO);
        ActiveProfile *active = &manager->profile;
        g_autofree char *before = g_strdup(active->chosen);
        ProfileChoice choice;
        int r;

        if (!automatic && profile_check_name(manager->config, name, ret_error) < 0)
                return -ENOENT;
        set_chosen(active, automatic ? NULL : name);
        choice = choose(manager, manager->config);
        r = config_use_profile(manager->config, choice.profile, ret_error);
        if (r < 0) {
                set_chosen(active, before);
                return r;
        }
        manager_profile_retry(manager);
        keep(manager);
        explain(manager, &choice);
        if (choice.why == PROFILE_HELD)
                log_limited(&profile_log, "Profile %s is chosen, but %s stays active: %s",
                            automatic ? PROFILE_AUTO : name, choice.profile->name, active->reason);
        else
                log_limited(&profile_log, "Profile %s: %s", choice.profile->name, active->reason);
        active->held = choice.why == PROFILE_HELD;
        if (r > 0)
                manager_interrupt_evaluation(manager, DROP_CONFIG);
        manager_changed(manager, CHANGE_PROFILE | (r > 0 ? CHANGE_CONFIG : 0));
        return 0;
}

void manager_recall_profile(Manager *manager)
{
        const char *dir = manager->setup.state;
        int r = dir ? profile_state_read(dir, &manager->profile.chosen) : -ENOENT;

        if (r == -EBADMSG)
                log_warning("%s/profile: found no name of a profile; no profile is chosen", dir);
        else if (r < 0 && r != -ENOENT)
                log_error_errno(r, "%s/profile: %m; no profile is chosen", dir);
}

void manager_drop_profile(Manager *manager)
{
        g_clear_pointer(&manager->profile.keeper, profile_keeper_free);
        g_clear_pointer(&manager->profile.chosen, g_free);
        g_clear_pointer(&manager->profile.reason, g_free);
        g_clear_pointer(&manager->profile.problem, g_free);
}

char *manager_profile_inhibited(const Manager *manager)
{
        const Pause *pause = pauses_nth(manager->pauses, 0);

        if (pause)
                return g_strdup_printf("paused by %s: %s", pause->owner, pause->reason);
        if (manager->setup.dry_run)
                return g_strdup("this is a dry run");
        return g_strdup(manager->profile.problem);
}
