/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pauses, of two kinds.
 *
 * A program's pause is a descriptor: the client gets the writing end of a pipe; when the last copy
 * of it is closed, by the client or by its death, the reading end hangs up and the pause is over.
 * Nothing can leak or be guessed. An administrator's pause lasts: it outlives the command that
 * asked for it, until it is resumed, its time is over, or the daemon ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "base/file.h"
#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

/* Clients come and go as often as they like. */
static LogLimit pause_log;

static void pause_free(ActivePause *pause)
{
        sd_event_source_disable_unref(pause->source);
        g_free(pause->shown.reason);
        g_free(pause->shown.owner);
        g_free(pause);
}

static void pauses_changed(Manager *manager)
{
        manager_interrupt_evaluation(manager, DROP_HOLD);
        manager->stale = true;
        manager_wake(manager);
        manager_changed(manager, CHANGE_PAUSED);
}

static void pause_end(ActivePause *pause)
{
        Manager *manager = pause->manager;

        log_limited(&pause_log, "Pause by %s has ended: %s", pause->shown.owner,
                    pause->shown.reason);
        g_ptr_array_remove(manager->pauses, pause);
        pause_free(pause);
        pauses_changed(manager);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        pause_end(userdata);
        return 0;
}

static int on_time_over(sd_event_source *source, uint64_t usec, void *userdata)
{
        pause_end(userdata);
        return 0;
}

static void pause_begin(Manager *manager, ActivePause *pause, const char *reason, const char *owner,
                        uid_t uid)
{
        pause->manager = manager;
        pause->shown.uid = uid;
        pause->shown.reason = log_clean(reason);
        pause->shown.owner = log_clean(owner);
        g_ptr_array_add(manager->pauses, pause);
        log_limited(&pause_log, "Paused by %s: %s", pause->shown.owner, pause->shown.reason);
        pauses_changed(manager);
}

int manager_pause(Manager *manager, const char *reason, const char *owner, uid_t uid, int *ret_fd)
{
        ActivePause *pause;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pause = g_new0(ActivePause, 1);
        r = sd_event_add_io(manager->event, &pause->source, ends[0], 0, on_hangup, pause);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                g_free(pause);
                return r;
        }
        sd_event_source_set_io_fd_own(pause->source, true);
        pause_begin(manager, pause, reason, owner, uid);
        *ret_fd = ends[1];
        return 0;
}

unsigned manager_resume(Manager *manager, uid_t uid)
{
        unsigned n = 0;

        for (guint i = manager->pauses->len; i-- > 0;) {
                ActivePause *pause = g_ptr_array_index(manager->pauses, i);

                if (!pause->shown.lasting || (uid != (uid_t)-1 && pause->shown.uid != uid))
                        continue;
                pause_end(pause);
                n++;
        }
        return n;
}

int manager_pause_lasting(Manager *manager, const char *reason, const char *owner, uid_t uid,
                          uint64_t usec)
{
        g_autofree ActivePause *pause = g_new0(ActivePause, 1);
        int r = 0;

        pause->shown.lasting = true;
        if (usec > 0) {
                pause->shown.until_usec = (uint64_t)g_get_real_time() + usec;
                r = sd_event_add_time_relative(manager->event, &pause->source, CLOCK_BOOTTIME, usec,
                                               0, on_time_over, pause);
        }
        if (r < 0)
                return r;
        manager_resume(manager, uid);
        pause_begin(manager, g_steal_pointer(&pause), reason, owner, uid);
        return 0;
}

char *manager_pause_text(const Manager *manager)
{
        g_autoptr(GDateTime) end = NULL, now = g_date_time_new_now_local();
        g_autofree char *text = NULL;
        uint64_t until_usec = 0;

        for (guint i = 0; i < manager->pauses->len; i++) {
                const ActivePause *pause = g_ptr_array_index(manager->pauses, i);

                if (!pause->shown.lasting)
                        return g_strdup("a client requested a pause");
                until_usec = MAX(until_usec,
                                 pause->shown.until_usec ? pause->shown.until_usec : UINT64_MAX);
        }
        end = g_date_time_new_from_unix_local((int64_t)(until_usec / G_USEC_PER_SEC));
        if (until_usec == UINT64_MAX || !end)
                return g_strdup("idled is paused until idlectl resume");
        text = g_date_time_format(end, g_date_time_get_year(end) == g_date_time_get_year(now) &&
                                                       g_date_time_get_day_of_year(end) ==
                                                               g_date_time_get_day_of_year(now)
                                               ? "%H:%M:%S"
                                               : "%Y-%m-%d %H:%M:%S");
        return g_strdup_printf("idled is paused until %s", text);
}

bool manager_is_paused(const Manager *manager)
{
        return manager->pauses->len > 0;
}

void manager_pauses_drop(Manager *manager)
{
        for (guint i = 0; i < manager->pauses->len; i++)
                pause_free(g_ptr_array_index(manager->pauses, i));
        g_ptr_array_set_size(manager->pauses, 0);
}
