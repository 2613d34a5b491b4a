/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The life of the manager: it begins, recovers what an instance before it left, and ends.
 */
#include <errno.h>
#include <stdio.h>

#include "act/knob/undo.h"
#include "act/park/park-affinities.h"
#include "base/log.h"
#include "config/kept.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"

int manager_new(const ManagerSetup *setup, sd_event *event, GPtrArray *errors,
                Manager **ret_manager)
{
        const ActContext context = { setup->root, setup->units, setup->live,
                                     setup->resets_affinities, setup->affinities };
        g_autoptr(Manager) manager = g_new0(Manager, 1);
        Ground *ground = &manager->ground;
        g_autoptr(Config) config = NULL;
        g_autoptr(Knobs) knobs = NULL;
        int r;

        *ground = (Ground){ .setup = *setup,
                            .event = sd_event_ref(event),
                            .unit_kinds = unit_kinds_new() };
        r = config_load(&setup->paths, errors, &config);
        if (r < 0)
                return r;
        manager->timer = tick_timer_new();
        manager->load_watch = load_watch_new(ground, manager->timer);
        knobs = knobs_new(&context, setup->run, setup->dry_run);
        r = seen_new(ground, knobs, &manager->seen);
        if (r < 0)
                return r;
        manager->done = done_new(ground, manager->seen, g_steal_pointer(&knobs));
        manager->asked = asked_new(ground, manager->seen);
        manager->decided = decided_new(ground, manager->seen, manager->asked, manager->done);
        asked_adopt_profile(manager->asked, config);
        kept_read(config, setup->state);
        manager_use_config(manager, g_steal_pointer(&config));
        *ret_manager = g_steal_pointer(&manager);
        return 0;
}

void manager_learn_affinities(ManagerSetup *setup)
{
        char *about;

        setup->resets_affinities = !affinities_kept(setup->root, setup->live ? setup->run : -1,
                                                    &about);
        setup->affinities = g_intern_string(about);
        g_free(about);
}

/* What idled.service has no right to restore any more. Errors are said where the daemon meets them
 * again. */
static void restore_for_one_release(const ManagerSetup *setup)
{
        const ActContext context = { .root = setup->root, .live = setup->live };
        g_autoptr(Knobs) knobs = knobs_new(&context, setup->run, setup->dry_run);
        int skipped;

        if (knobs_recover(knobs, kinds_for_one_release, &skipped) > 0)
                done_restore(knobs);
}

int manager_probe(const ManagerSetup *setup)
{
        const char *why;
        int r;

        restore_for_one_release(setup);
        r = affinities_try(setup->root, &why);
        if (r < 0) {
                printf("Whether the kernel keeps affinities cannot be tried: %s\n", why);
                return 0;
        }
        printf("The kernel %s affinities when CPUs are parked\n", r ? "keeps" : "resets");
        r = affinities_note(setup->run, r > 0);
        return r < 0 ? log_error_errno(r, "Failed to write affinities in %s: %m", setup->run_path)
                     : 0;
}

/* The meaning of these lines is unknown, so it is an error; and restoring the rest must not lose
 * them. */
static int report_skipped(Knobs *knobs, int skipped)
{
        int r = knobs_set_aside(knobs);

        log_error("%d %s not readable: knobs may stay changed", skipped,
                  skipped == 1 ? "line of the record of changes is"
                               : "lines of the record of changes are");
        if (r > 0)
                log_notice("That record is kept as " UNDO_DAMAGED ", next to its usual name");
        else if (r < 0)
                log_error_errno(r, "That record cannot be kept as " UNDO_DAMAGED ": %m");
        return -EBADMSG;
}

/* A later version may have recorded them, and can restore them. */
static int report_unknown(int unknown)
{
        log_warning("%d %s", unknown,
                    unknown == 1
                            ? "knob of a kind that this version does not know is left unchanged"
                            : "knobs of kinds that this version does not know are left unchanged");
        return -EBADMSG;
}

static int report_unreadable(const char *run_path, int error)
{
        g_autofree char *path = g_build_filename(run_path ? run_path : "", UNDO_RECORD, NULL);

        if (error == -EBADMSG || error == -EISDIR)
                log_error("Failed to read the record of changes %s: found %s, expected a regular "
                          "file; remove it and restart idled",
                          path, error == -EISDIR ? "a directory" : "something else");
        else
                log_error_errno(error, "Failed to read the record of changes %s: %m", path);
        return error;
}

int manager_recover(Knobs *knobs, int root, const char *run_path)
{
        g_autofree const KnobKind **kinds = actuators_kinds();
        int skipped, unknown, n, reported = 0, r;

        r = affinities_clean(root);
        if (r < 0)
                reported = log_error_errno(r, "Failed to remove the cgroup idled.probe: %m");
        n = knobs_recover(knobs, kinds, &skipped);
        if (n < 0)
                return report_unreadable(run_path, n);
        if (skipped > 0)
                reported = report_skipped(knobs, skipped);
        unknown = knobs_count_unknown(knobs, kinds);
        if (unknown > 0)
                reported = report_unknown(unknown);
        if (n > 0)
                log_notice("Restoring %d %s that idled had changed before it died", n,
                           n == 1 ? "knob" : "knobs");
        r = done_restore(knobs);
        return r < 0 ? r : reported;
}

int manager_start(Manager *manager)
{
        const ManagerSetup *setup = &manager->ground.setup;
        int r = 0;

        if (!setup->dry_run)
                r = manager_recover(done_knobs(manager->done), setup->root, setup->run_path);
        manager_listen(manager);
        manager_tick(manager);
        asked_use_apps(manager->asked);
        manager_attend(manager);
        return r;
}

/* A manager that could not be made has no parts, or some. */
int manager_free(Manager *manager)
{
        int r;

        if (!manager)
                return 0;
        manager->on_change = NULL;
        if (manager->decided) {
                evaluation_keep(manager->decided);
                manager_record_end(manager);
                manager_unlisten(manager);
        }
        asked_free(manager->asked);
        r = done_free(manager->done);
        decided_free(manager->decided);
        seen_free(manager->seen);
        load_watch_free(manager->load_watch);
        tick_timer_free(manager->timer);
        config_free(manager->ground.config);
        g_ptr_array_unref(manager->ground.unit_kinds);
        sd_event_unref(manager->ground.event);
        g_free(manager);
        return r;
}
