/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pauses, of two kinds.
 *
 * A program's pause is a descriptor: the client gets the writing end of a pipe; when the last copy
 * of it is closed, by the client or by its death, the reading end hangs up and the pause is over.
 * Nothing can leak or be guessed. An administrator's pause lasts: it outlives the command that
 * requested it, until it is resumed, its time is over, or the daemon ends.
 */
#include "manager/pauses.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/epoll.h>

#include "base/file.h"
#include "base/log.h"

struct Pauses {
        Ground *ground;
        GPtrArray *all; /* of ActivePause */
};

typedef struct ActivePause {
        Pause shown; /* by pauses_nth() */
        Pauses *pauses;
        sd_event_source *source; /* its end: the client's descriptor closes, or time is over */
} ActivePause;

/* Clients come and go as often as they like. */
static LogLimit pause_log;

/* All policies' requests count, or none. */
static void pauses_changed(const Pauses *pauses)
{
        ground_raise(pauses->ground,
                     CHANGE_PAUSED | DUE_DROP(DROP_HOLD) | DUE_STALE | DUE_TICK_SOON);
}

static void pause_free(ActivePause *pause)
{
        sd_event_source_disable_unref(pause->source);
        g_free(pause->shown.reason);
        g_free(pause->shown.owner);
        g_free(pause);
}

static void pause_end(ActivePause *pause)
{
        Pauses *pauses = pause->pauses;

        log_limited(&pause_log, "Pause by %s has ended: %s", pause->shown.owner,
                    pause->shown.reason);
        g_ptr_array_remove(pauses->all, pause);
        pauses_changed(pauses);
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

static void pause_begin(Pauses *pauses, ActivePause *pause, const char *reason, const char *owner,
                        uid_t uid)
{
        pause->pauses = pauses;
        pause->shown.uid = uid;
        pause->shown.reason = log_clean(reason);
        pause->shown.owner = log_clean(owner);
        g_ptr_array_add(pauses->all, pause);
        log_limited(&pause_log, "Paused by %s: %s", pause->shown.owner, pause->shown.reason);
        pauses_changed(pauses);
}

int pauses_add(Pauses *pauses, const char *reason, const char *owner, uid_t uid, int *ret_fd)
{
        ActivePause *pause;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        pause = g_new0(ActivePause, 1);
        r = sd_event_add_io(pauses->ground->event, &pause->source, ends[0], 0, on_hangup, pause);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                g_free(pause);
                return r;
        }
        sd_event_source_set_io_fd_own(pause->source, true);
        pause_begin(pauses, pause, reason, owner, uid);
        *ret_fd = ends[1];
        return 0;
}

unsigned pauses_resume(Pauses *pauses, uid_t uid)
{
        unsigned n = 0;

        for (guint i = pauses->all->len; i-- > 0;) {
                ActivePause *pause = g_ptr_array_index(pauses->all, i);

                if (!pause->shown.lasting || (uid != (uid_t)-1 && pause->shown.uid != uid))
                        continue;
                pause_end(pause);
                n++;
        }
        return n;
}

int pauses_add_lasting(Pauses *pauses, const char *reason, const char *owner, uid_t uid,
                       uint64_t usec)
{
        g_autofree ActivePause *pause = g_new0(ActivePause, 1);
        int r = 0;

        pause->shown.lasting = true;
        if (usec > 0) {
                pause->shown.until_usec = (uint64_t)g_get_real_time() + usec;
                r = sd_event_add_time_relative(pauses->ground->event, &pause->source,
                                               CLOCK_BOOTTIME, usec, 0, on_time_over, pause);
        }
        if (r < 0)
                return r;
        pauses_resume(pauses, uid);
        pause_begin(pauses, g_steal_pointer(&pause), reason, owner, uid);
        return 0;
}

char *pauses_text(const Pauses *pauses)
{
        g_autoptr(GDateTime) end = NULL, now = g_date_time_new_now_local();
        g_autofree char *text = NULL;
        uint64_t until_usec = 0;

        for (guint i = 0; i < pauses->all->len; i++) {
                const ActivePause *pause = g_ptr_array_index(pauses->all, i);

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

bool pauses_any(const Pauses *pauses)
{
        return pauses->all->len > 0;
}

const Pause *pauses_nth(const Pauses *pauses, unsigned i)
{
        const ActivePause *pause = i < pauses->all->len ? pauses->all->pdata[i] : NULL;

        return pause ? &pause->shown : NULL;
}

Pauses *pauses_new(Ground *ground)
{
        Pauses *pauses = g_new0(Pauses, 1);

        pauses->ground = ground;
        pauses->all = g_ptr_array_new_with_free_func((GDestroyNotify)pause_free);
        return pauses;
}

void pauses_free(Pauses *pauses)
{
        if (!pauses)
                return;
        g_ptr_array_unref(pauses->all);
        g_free(pauses);
}
