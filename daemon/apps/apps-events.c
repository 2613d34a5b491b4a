/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What makes application rules check processes: events of processes, and units.
 *
 * The events of all processes on the machine arrive here. No rule matches most of them, and most
 * end in a moment. So after each batch the socket rests for REST_USEC: when thousands of processes
 * begin in a second they are handled in batches of AT_ONCE at most, and a match waits no longer
 * than that.
 *
 * If the socket's buffer overflows, events are lost, and idled no longer knows which process is
 * which: then it checks all processes, AGAIN_USEC after the last time at the soonest. It does the
 * same when systemd made units, because systemd moves a process into a scope when it has long been
 * running.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "apps/apps-parts.h"
#include "sense/processes.h"

#define REST_USEC  4000
#define AGAIN_USEC G_USEC_PER_SEC
#define LATE_USEC  500 /* that a rest may be longer */
#define AT_ONCE    64

static uint64_t now(void)
{
        return (uint64_t)g_get_monotonic_time();
}

void apps_rescan(Apps *apps)
{
        uint64_t due = MAX(now(), apps->scanned_usec + AGAIN_USEC);
        int r = 0;

        if (!apps->again || sd_event_source_get_enabled(apps->again, NULL) > 0)
                return;
        r = sd_event_source_set_time(apps->again, due);
        if (r >= 0)
                r = sd_event_source_set_enabled(apps->again, SD_EVENT_ONESHOT);
        if (r < 0)
                log_error_errno(r, "Failed to schedule a check of processes: %m");
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
        int r = apps_scan_begin(userdata);

        if (r < 0)
                log_error_errno(r, "Failed to schedule a check of processes: %m");
        return 0;
}

static void take(Apps *apps, const ProcessEvent *event)
{
        if (event->kind != PROCESS_FORK) {
                apps_check(apps, event->pid);
        } else if (event->pid == event->tid &&
                   g_hash_table_contains(apps->followed, GINT_TO_POINTER(event->parent))) {
                apps_inherit(apps, event->parent, event->pid);
                apps_check(apps, event->pid);
        }
}

/* Handles what waits, as far as others can wait for it. Returns how many events that were, or the
 * error that ended it; that some were lost is none. */
static int take_some(Apps *apps)
{
        int fd = sd_event_source_get_io_fd(apps->source), n = 0, r = 0;
        ProcessEvent event;

        while (n < AT_ONCE && ((r = process_events_read(fd, &event)) > 0 || r == -ENOBUFS)) {
                n++;
                if (r > 0) {
                        take(apps, &event);
                } else {
                        log_debug("Process events were lost: checking all processes");
                        apps_rescan(apps);
                }
        }
        return r < 0 && r != -ENOBUFS ? r : n;
}

static int rest(Apps *apps)
{
        int r = sd_event_source_set_enabled(apps->source, SD_EVENT_OFF);

        if (r >= 0)
                r = sd_event_source_set_time_relative(apps->rest, REST_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(apps->rest, SD_EVENT_ONESHOT);
}

static void give_up(Apps *apps, int error)
{
        log_warning("Process events are no longer available (%s)", g_strerror(-error));
        apps_unlisten(apps);
        apps->error = error;
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Apps *apps = userdata;
        int r = take_some(apps);

        if (r >= 0)
                r = rest(apps);
        if (r < 0)
                give_up(apps, r);
        return 0;
}

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata)
{
        Apps *apps = userdata;
        int r = take_some(apps);

        if (r > 0)
                r = rest(apps);
        else if (r == 0)
                r = sd_event_source_set_enabled(apps->source, SD_EVENT_ON);
        if (r < 0)
                give_up(apps, r);
        return 0;
}

/* What rules can be about. */
static unsigned wanted_kinds(const Apps *apps)
{
        unsigned kinds = PROCESS_EXEC;

        for (guint i = 0; i < apps->rules->len; i++) {
                const AppOptions *options = ((const App *)apps->rules->pdata[i])->options;

                kinds |= *options->comms ? PROCESS_COMM : 0;
                kinds |= *options->users ? PROCESS_UID : 0;
        }
        return kinds;
}

void apps_first_or_last(Apps *apps, bool first)
{
        unsigned kinds = wanted_kinds(apps) | (first ? PROCESS_FORK : 0);
        int r;

        if (!apps->source)
                return;
        r = process_events_filter(sd_event_source_get_io_fd(apps->source), kinds);
        if (r < 0)
                log_error_errno(r, "Failed to subscribe to process events again: %m");
}

static int add_sources(Apps *apps, int fd)
{
        int r;

        r = sd_event_add_time(apps->event, &apps->again, CLOCK_MONOTONIC, 0, 0, on_again, apps);
        if (r >= 0)
                r = sd_event_source_set_enabled(apps->again, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_time(apps->event, &apps->rest, CLOCK_MONOTONIC, 0, LATE_USEC,
                                      on_rested, apps);
        if (r >= 0)
                r = sd_event_source_set_enabled(apps->rest, SD_EVENT_OFF);
        return r < 0 ? r
                     : sd_event_add_io(apps->event, &apps->source, fd, EPOLLIN, on_events, apps);
}

void apps_listen(Apps *apps)
{
        int fd = process_events_open(wanted_kinds(apps), 0), r = fd;

        if (fd >= 0)
                r = add_sources(apps, fd);
        if (r >= 0)
                return;
        if (fd >= 0 && !apps->source)
                process_events_close(fd);
        apps->error = r;
        log_info("Process events are not available (%s): application rules apply only to processes "
                 "that run when the rules are read",
                 g_strerror(-r));
}

void apps_unlisten(Apps *apps)
{
        int fd = apps->source ? sd_event_source_get_io_fd(apps->source) : -1;

        apps->source = sd_event_source_disable_unref(apps->source);
        apps->rest = sd_event_source_disable_unref(apps->rest);
        apps->again = sd_event_source_disable_unref(apps->again);
        process_events_close(fd);
}
