/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The profile in effect: what the manager does when active-profile.c exchanges the options.
 */
#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-explain.h"
#include "manager/manager-parts.h"

static ProfileScene scene_of(const Manager *manager, Config *config)
{
        return (ProfileScene){ config, manager->holds, manager->readings.seen->on_battery };
}

/* Reports what the call changed. True if options did. */
static bool report(Manager *manager, unsigned changed)
{
        if (changed & PROFILE_CHANGED_OPTIONS)
                manager_interrupt_evaluation(manager, DROP_CONFIG);
        manager_changed(manager, (changed & PROFILE_CHANGED_TEXT ? CHANGE_PROFILE : 0) |
                                         (changed & PROFILE_CHANGED_OPTIONS ? CHANGE_CONFIG : 0));
        return changed & PROFILE_CHANGED_OPTIONS;
}

bool manager_follow_profile(Manager *manager)
{
        const ProfileScene scene = scene_of(manager, manager->config);

        return report(manager, active_profile_follow(&manager->profile, &scene));
}

void manager_adopt_profile(Manager *manager, Config *config)
{
        const ProfileScene scene = scene_of(manager, config);

        active_profile_adopt(&manager->profile, &scene);
}

int manager_choose_profile(Manager *manager, const char *name, char **ret_error)
{
        const ProfileScene scene = scene_of(manager, manager->config);
        int r = active_profile_choose(&manager->profile, &scene, name, ret_error);

        if (r >= 0)
                report(manager, (unsigned)r);
        return MIN(r, 0);
}

/* The last choice is on the disk, or cannot be: then the reason of the profile says so. */
static void on_kept(int error, void *userdata)
{
        Manager *manager = userdata;
        const ProfileScene scene = scene_of(manager, manager->config);
        unsigned changed = active_profile_note_kept(&manager->profile, &scene, error);

        if (error < 0)
                log_error_errno(error, "%s: failed to save the chosen profile: %m",
                                manager->setup.state);
        manager_changed(manager,
                        CHANGE_KEPT | (changed & PROFILE_CHANGED_TEXT ? CHANGE_PROFILE : 0));
}

void manager_recall_profile(Manager *manager)
{
        active_profile_init(&manager->profile, manager->event, manager->setup.state,
                            !manager->setup.dry_run, on_kept, manager);
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
