/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Application rules in effect, and what makes them check processes: events of processes, and units.
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
 *
 * Processes choose how many they are, and one that overflows the socket makes idled check them all.
 * So except at the start, when nothing waits, idled checks a batch at a time and serves other
 * events in between. The kernel lists processes by number, from that after the last one on. A
 * process that gets a smaller number meanwhile is reported by an event; if events are lost again,
 * idled starts over.
 *
 * A process that inherited a rule from its parent is found by its parent, as far as that is still
 * there: first all are checked for themselves, then as children of their parents, then children of
 * those that are followed are followed, from the top to the bottom. By then a number may belong to
 * another process, so its parent is read once more.
 */
#include "apps/apps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "apps/follower.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "config/app.h"
#include "holds/timer.h"
#include "sense/netlink.h"
#include "sense/processes.h"

#define REST_USEC    4000
#define LATE_USEC    500 /* that a rest may be longer */
#define AT_ONCE      64
#define AGAIN_USEC   G_USEC_PER_SEC
#define SCAN_AT_ONCE 200

typedef struct Process {
        pid_t pid, parent;
} Process;

/* A check of all processes, a part of it in every turn of the loop. */
typedef struct Scan {
        DIR *dir;      /* NULL: all were seen */
        GArray *list;  /* of Process */
        guint n_asked; /* of these for their parents */
        bool again;    /* once more after this */
} Scan;

struct Apps {
        sd_event *event;
        int proc;
        GPtrArray *rules;  /* of App */
        bool any_children; /* some rule means what its processes start, too */
        Follower *follower;

        int error;               /* why there are no events */
        uint64_t scanned_usec;   /* of the last check of all processes; CLOCK_MONOTONIC */
        sd_event_source *source; /* of process events; its descriptor is ours */
        sd_event_source *rest;   /* until they are read again */
        sd_event_source *again;  /* until the next check of all processes */
        Scan *scan;              /* NULL: none is done */
        sd_event_source *scanning;
};

static void scan_free(Scan *scan)
{
        if (!scan)
                return;
        if (scan->dir)
                closedir(scan->dir);
        g_array_unref(scan->list);
        g_free(scan);
}

static pid_t parent_of(const Apps *apps, pid_t pid)
{
        ProcessFacts facts;

        process_facts_init(&facts, pid);
        return process_facts_read(apps->proc, PROCESS_FACT_STATUS, &facts) < 0 ? 0 : facts.parent;
}

/* Looks at some; the list ends where the directory does. */
static void check_some(Apps *apps, Scan *scan)
{
        struct dirent *entry = NULL;
        uint64_t pid;

        for (int n = 0; scan->dir && n < SCAN_AT_ONCE && (entry = readdir(scan->dir));)
                if (u64_parse(entry->d_name, &pid) >= 0 && pid > 0 && pid <= INT32_MAX) {
                        Process process = { .pid = (pid_t)pid };

                        n++;
                        follower_check(apps->follower, process.pid);
                        g_array_append_val(scan->list, process);
                }
        if (entry)
                return;
        if (scan->dir)
                closedir(scan->dir);
        scan->dir = NULL;
}

static void ask_some(Apps *apps, Scan *scan)
{
        guint end = MIN(scan->n_asked + SCAN_AT_ONCE, scan->list->len);

        for (; scan->n_asked < end; scan->n_asked++) {
                Process *process = &g_array_index(scan->list, Process, scan->n_asked);

                process->parent = parent_of(apps, process->pid);
        }
}

/* The children of each process: pid -> GArray of pid_t. */
static GHashTable *families(const Scan *scan)
{
        GHashTable *children = g_hash_table_new_full(NULL, NULL, NULL,
                                                     (GDestroyNotify)g_array_unref);

        for (guint i = 0; i < scan->list->len; i++) {
                const Process *process = &g_array_index(scan->list, Process, i);
                gpointer key = GINT_TO_POINTER(process->parent);
                GArray *list = g_hash_table_lookup(children, key);

                if (process->parent <= 0)
                        continue;
                if (!list) {
                        list = g_array_new(FALSE, FALSE, sizeof(pid_t));
                        g_hash_table_insert(children, key, list);
                }
                g_array_append_val(list, process->pid);
        }
        return children;
}

static void inherit_all(Apps *apps, const Scan *scan)
{
        g_autoptr(GHashTable) children = families(scan);
        g_autoptr(GArray) parents = follower_pids(apps->follower);
        g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

        for (guint i = 0; i < parents->len; i++) {
                pid_t parent = g_array_index(parents, pid_t, i);
                const GArray *list = g_hash_table_lookup(children, GINT_TO_POINTER(parent));

                if (!g_hash_table_add(seen, GINT_TO_POINTER(parent)))
                        continue;
                for (guint j = 0; list && j < list->len; j++) {
                        pid_t child = g_array_index(list, pid_t, j);

                        if (parent_of(apps, child) != parent)
                                continue;
                        follower_inherit(apps->follower, parent, child);
                        if (follower_has(apps->follower, child))
                                g_array_append_val(parents, child);
                }
        }
}

/* True if there is more to do. */
static bool go_on(Apps *apps, Scan *scan)
{
        if (scan->dir)
                check_some(apps, scan);
        else if (scan->n_asked < scan->list->len && apps->any_children)
                ask_some(apps, scan);
        if (scan->dir || (apps->any_children && scan->n_asked < scan->list->len))
                return true;
        if (apps->any_children)
                inherit_all(apps, scan);
        return false;
}

static Scan *scan_new(Apps *apps)
{
        Scan *scan = g_new0(Scan, 1);

        apps->scanned_usec = (uint64_t)g_get_monotonic_time();
        follower_forget_refused(apps->follower);
        scan->dir = dir_open(apps->proc, ".");
        scan->list = g_array_new(FALSE, TRUE, sizeof(Process));
        return scan;
}

/* Checks all processes now. */
static void scan_all(Apps *apps)
{
        Scan *scan = scan_new(apps);

        while (go_on(apps, scan))
                continue;
        scan_free(scan);
}

static int on_scan(sd_event_source *source, void *userdata)
{
        Apps *apps = userdata;
        bool again;

        if (go_on(apps, apps->scan))
                return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        again = apps->scan->again;
        g_clear_pointer(&apps->scan, scan_free);
        if (again)
                apps_rescan(apps);
        return 0;
}

/* Checks all processes, SCAN_AT_ONCE in every turn of the loop from now on; once more if that was
 * begun already. */
static int scan_begin(Apps *apps)
{
        int r = 0;

        if (apps->scan) {
                apps->scan->again = true;
                return 0;
        }
        if (!apps->scanning)
                r = sd_event_add_defer(apps->event, &apps->scanning, on_scan, apps);
        if (r >= 0)
                r = sd_event_source_set_enabled(apps->scanning, SD_EVENT_ONESHOT);
        if (r >= 0)
                apps->scan = scan_new(apps);
        return r;
}

void apps_rescan(Apps *apps)
{
        uint64_t now = (uint64_t)g_get_monotonic_time();

        if (apps->again && sd_event_source_get_enabled(apps->again, NULL) == 0)
                timer_set_at(apps->again, MAX(now, apps->scanned_usec + AGAIN_USEC));
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
        int r = scan_begin(userdata);

        if (r < 0)
                log_error_errno(r, "Failed to schedule a check of processes: %m");
        return 0;
}

static void take(Apps *apps, const ProcessEvent *event)
{
        if (event->kind != PROCESS_FORK) {
                follower_check(apps->follower, event->pid);
        } else if (event->pid == event->tid && follower_has(apps->follower, event->parent)) {
                follower_inherit(apps->follower, event->parent, event->pid);
                follower_check(apps->follower, event->pid);
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
        timer_set_in(apps->rest, REST_USEC);
        return sd_event_source_set_enabled(apps->source, SD_EVENT_OFF);
}

static void unlisten(Apps *apps)
{
        int fd = apps->source ? sd_event_source_get_io_fd(apps->source) : -1;

        apps->source = sd_event_source_disable_unref(apps->source);
        apps->rest = sd_event_source_disable_unref(apps->rest);
        apps->again = sd_event_source_disable_unref(apps->again);
        process_events_close(fd);
}

static void give_up(Apps *apps, int error)
{
        log_warning("Process events are no longer available (%s)", g_strerror(-error));
        unlisten(apps);
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

static void on_first_or_last(bool first, void *userdata)
{
        Apps *apps = userdata;
        unsigned kinds = wanted_kinds(apps) | (first ? PROCESS_FORK : 0);
        int r;

        if (!apps->source)
                return;
        r = process_events_filter(sd_event_source_get_io_fd(apps->source), kinds);
        if (r < 0)
                log_error_errno(r, "Failed to subscribe to process events again: %m");
}

static void on_room(void *userdata)
{
        apps_rescan(userdata);
}

static int add_sources(Apps *apps, int fd)
{
        int r = timer_add(apps->event, &apps->again, 0, on_again, apps);

        if (r >= 0)
                r = timer_add(apps->event, &apps->rest, LATE_USEC, on_rested, apps);
        return r < 0 ? r
                     : sd_event_add_io(apps->event, &apps->source, fd, EPOLLIN, on_events, apps);
}

static void listen_to_events(Apps *apps)
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
                 "that run when the rules are read%s",
                 netlink_strerror(r),
                 r == -EPERM
                         ? "; before Linux 6.6, fork-events.conf permits them (idled(8), HARDENING)"
                         : "");
}

Apps *apps_new(sd_event *event, int root, Holds *holds, GPtrArray *rules)
{
        Apps *apps = g_new0(Apps, 1);
        const FollowerListener listener = { on_first_or_last, on_room, apps };

        apps->event = sd_event_ref(event);
        apps->rules = g_ptr_array_ref(rules);
        apps->proc = rules->len > 0 ? openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (apps->proc < 0)
                return apps;
        apps->follower = follower_new(event, root, apps->proc, holds, rules, &listener);
        for (guint i = 0; i < rules->len; i++)
                apps->any_children |= ((const App *)rules->pdata[i])->options->children;
        listen_to_events(apps);
        scan_all(apps);
        return apps;
}

void apps_free(Apps *apps)
{
        if (!apps)
                return;
        unlisten(apps);
        sd_event_source_disable_unref(apps->scanning);
        scan_free(apps->scan);
        follower_free(apps->follower);
        g_ptr_array_unref(apps->rules);
        fd_close(&apps->proc);
        sd_event_unref(apps->event);
        g_free(apps);
}

int apps_error(const Apps *apps)
{
        return apps ? apps->error : 0;
}
