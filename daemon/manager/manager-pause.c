/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pauses. A client gets the writing end of a pipe; when the last copy of it is closed, by the
 * client or by its death, the reading end hangs up and the pause is over. Nothing can leak or be
 * guessed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/manager-parts.h"

/* Clients come and go as often as they like. */
static LogLimit pause_log;

static void pause_free(Pause *pause)
{
        sd_event_source_disable_unref(pause->source);
        g_free(pause->reason);
        g_free(pause->owner);
        g_free(pause);
}

static void pauses_changed(Manager *manager)
{
        manager->stale = true;
        manager_wake(manager);
        manager_changed(manager, CHANGE_PAUSED);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Pause *pause = userdata;
        Manager *manager = pause->manager;

        log_limited(&pause_log, "Pause by %s is over: %s", pause->owner, pause->reason);
        g_ptr_array_remove(manager->pauses, pause);
        pause_free(pause);
        pauses_changed(manager);
        return 0;
}

int manager_pause(Manager *manager, const char *reason, const char *owner, uid_t uid, int *ret_fd)
{
        g_autofree char *clean_reason = log_clean(reason), *clean_owner = log_clean(owner);
        Pause *pause;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pause = g_new0(Pause, 1);
        r = sd_event_add_io(manager->event, &pause->source, ends[0], 0, on_hangup, pause);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                g_free(pause);
                return r;
        }
        sd_event_source_set_io_fd_own(pause->source, true);
        pause->manager = manager;
        pause->uid = uid;
        pause->reason = g_steal_pointer(&clean_reason);
        pause->owner = g_steal_pointer(&clean_owner);
        g_ptr_array_add(manager->pauses, pause);
        log_limited(&pause_log, "Paused by %s: %s", pause->owner, pause->reason);
        pauses_changed(manager);
        *ret_fd = ends[1];
        return 0;
}

void manager_set_standby(Manager *manager, bool standby)
{
        if (manager->standby == standby)
                return;
        manager->standby = standby;
        pauses_changed(manager);
}

bool manager_is_paused(const Manager *manager)
{
        return manager->standby || manager->pauses->len > 0;
}

void manager_pauses_drop(Manager *manager)
{
        for (guint i = 0; i < manager->pauses->len; i++)
                pause_free(g_ptr_array_index(manager->pauses, i));
        g_ptr_array_set_size(manager->pauses, 0);
}
