/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Noticing cgroups that come and go where the back end of parking writes to each of them.
 *
 * systemd reports its units, but other programs make cgroups, too. So idled watches the directory
 * by inotify while a knob there is ours or was taken over. A group is made before it is given CPUs,
 * seldom alone, and useless until then, so the plan is carried out again a second later. What was
 * known about a group that had the name before, or has it no longer, is forgotten at once: a
 * program that took over the old group has no claim on the new one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/manager-parts.h"

#define SETTLE_USEC G_USEC_PER_SEC

/* True if a knob of the actuator is ours, or was taken over. */
static bool has_knobs(const Manager *manager, const Actuator *actuator)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(manager->knobs, &knobs); i < n; i++)
                if (knob_is_of(knobs[i], actuator->kinds))
                        return true;
        return false;
}

/* The actuator that knows where, NULL if none does. */
static const ActuatorState *keeper(const Manager *manager)
{
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(manager->actuators, i)); i++)
                if (a->state && a->actuator->groups && a->actuator->groups(a->state))
                        return a;
        return NULL;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        log_debug("Cgroups have changed: applying the plan again");
        manager_groups_changed(userdata);
        return 0;
}

static int on_group(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
        Manager *manager = userdata;
        const ActuatorState *a = keeper(manager);

        if (!(event->mask & (IN_ISDIR | IN_Q_OVERFLOW)))
                return 0;
        if (a && event->len > 0)
                a->actuator->group_moved(a->state, manager->knobs, event->name);
        if (sd_event_source_get_enabled(manager->groups_settle, NULL) == 0)
                timer_set_in(manager->groups_settle, SETTLE_USEC);
        return 0;
}

static int watch(Manager *manager, const char *path)
{
        _fd_ int fd = openat(manager->setup.root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = sd_event_add_time(manager->event, &manager->groups_settle, CLOCK_MONOTONIC, 0,
                              SETTLE_USEC / 2, on_settled, manager);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->groups_settle, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_inotify_fd(manager->event, &manager->groups, fd,
                                            IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR, on_group,
                                            manager);
        if (r < 0)
                manager_unwatch_groups(manager);
        return r;
}

void manager_unwatch_groups(Manager *manager)
{
        manager->groups = sd_event_source_disable_unref(manager->groups);
        manager->groups_settle = sd_event_source_disable_unref(manager->groups_settle);
}

void manager_watch_groups(Manager *manager)
{
        const ActuatorState *a = keeper(manager);
        bool wanted = a && has_knobs(manager, a->actuator);
        int r;

        if (!wanted || !tick_timer_is_listening(manager->timer))
                manager_unwatch_groups(manager);
        else if (!manager->groups) {
                r = watch(manager, a->actuator->groups(a->state));
                if (r < 0)
                        log_info("Failed to watch cgroups (%s): new ones are confined at the next "
                                 "check",
                                 g_strerror(-r));
        }
}
