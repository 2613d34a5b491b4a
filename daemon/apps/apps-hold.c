/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds for the processes that rules match.
 *
 * A user who starts many processes could use up all holds. So some are reserved for clients on the
 * bus, and some of the rest for the processes of other users; idled checks a refused process again
 * when there is room.
 *
 * A hold ends with its process. Only that of the last process that a rule matches lingers for a
 * while, until there is another one at the latest: programs that run for a moment, again and again,
 * do not have everything switched twice each time. If root releases it before, idled still follows
 * the process without a hold, so that the rule does not make another one at the next event. It
 * waits for the end of the process by the pidfd that the hold had.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "apps/apps-parts.h"
#include "holds/holder.h"

/* The most holds for rules, and for the processes of one user other than root. */
#define RULES_MAX         (HOLDS_MAX / 2)
#define RULES_OF_USER_MAX (HOLDS_MAX / 4)

GPtrArray *apps_follows_of(const Apps *apps, pid_t pid)
{
        return g_hash_table_lookup(apps->followed, GINT_TO_POINTER(pid));
}

static unsigned holds_of(const Apps *apps, uid_t uid)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(apps->holds_of, GUINT_TO_POINTER(uid)));
}

static bool has_room(const Apps *apps, uid_t uid)
{
        return apps->n_holds < RULES_MAX && (uid == 0 || holds_of(apps, uid) < RULES_OF_USER_MAX);
}

/* One hold more of the user's, or one less. */
static void count(Apps *apps, uid_t uid, bool more)
{
        unsigned n = holds_of(apps, uid) + (more ? 1 : -1u);

        apps->n_holds += more ? 1 : -1u;
        if (n > 0)
                g_hash_table_insert(apps->holds_of, GUINT_TO_POINTER(uid), GUINT_TO_POINTER(n));
        else
                g_hash_table_remove(apps->holds_of, GUINT_TO_POINTER(uid));
}

static RuleHolds *rule_of(const Follow *follow)
{
        GHashTable *table = follow->apps->holds_of_rule;
        RuleHolds *rule = g_hash_table_lookup(table, follow->app);

        if (!rule) {
                rule = g_new0(RuleHolds, 1);
                g_hash_table_insert(table, (void *)follow->app, rule);
        }
        return rule;
}

/* Its hold is gone. */
static void lose_hold(Follow *follow)
{
        Apps *apps = follow->apps;
        RuleHolds *rule = rule_of(follow);

        if (follow->hold == 0)
                return;
        follow->hold = 0;
        if (rule->lingering == follow)
                rule->lingering = NULL;
        else
                rule->n--;
        count(apps, follow->uid, false);
        if (apps->full)
                apps->calls->rescan(apps);
}

void follow_free(Follow *follow, Holds *holds)
{
        if (follow->hold > 0)
                holds_remove(holds, follow->hold);
        sd_event_source_disable_unref(follow->end);
        g_free(follow);
}

/* Its process is no longer followed for this rule. */
static void detach(Follow *follow)
{
        Apps *apps = follow->apps;
        GPtrArray *follows = apps_follows_of(apps, follow->pid);

        g_ptr_array_remove_fast(follows, follow);
        if (follows->len == 0)
                g_hash_table_remove(apps->followed, GINT_TO_POINTER(follow->pid));
        if (g_hash_table_size(apps->followed) == 0)
                apps->calls->first_or_last(apps, false);
}

/* The same, and of it nothing stays. */
static void forget(Follow *follow)
{
        Holds *holds = follow->apps->holds;
        uint64_t hold = follow->hold;

        lose_hold(follow);
        detach(follow);
        follow_free(follow, holds);
        if (hold > 0)
                holds_remove(holds, hold);
}

/* Ends what lingers. */
static void end_lingering(Follow *follow)
{
        Holds *holds = follow->apps->holds;
        uint64_t hold = follow->hold;

        lose_hold(follow);
        follow_free(follow, holds);
        holds_remove(holds, hold);
}

static int on_lingered(sd_event_source *source, uint64_t usec, void *userdata)
{
        end_lingering(userdata);
        return 0;
}

/* Keeps the hold for a while, though the process is no longer followed; false: it does not. */
static bool linger(Follow *follow)
{
        uint64_t usec = follow->app->options->linger_usec;
        RuleHolds *rule = rule_of(follow);

        if (usec == 0 || follow->hold == 0 || rule->n > 1)
                return false;
        if (sd_event_add_time_relative(follow->apps->event, &follow->end, CLOCK_MONOTONIC, usec,
                                       usec / 10, on_lingered, follow) < 0)
                return false;
        detach(follow);
        rule->n--;
        rule->lingering = follow;
        return true;
}

void follow_end(Follow *follow)
{
        if (!linger(follow))
                forget(follow);
}

/* Its process ended, and its number may be another's. */
static void end_with_process(Follow *follow)
{
        Apps *apps = follow->apps;
        pid_t pid = follow->pid;

        follow_end(follow);
        apps->calls->check(apps, pid);
}

static int on_process_end(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        end_with_process(userdata);
        return 0;
}

/* Waits for the end of its process without a hold. */
static int wait_for_end(Follow *follow, int pidfd)
{
        _fd_ int fd = fcntl(pidfd, F_DUPFD_CLOEXEC, 3);
        int r = fd < 0 ? -errno
                       : sd_event_add_io(follow->apps->event, &follow->end, fd, EPOLLIN,
                                         on_process_end, follow);

        if (r >= 0)
                r = sd_event_source_set_io_fd_own(follow->end, true);
        if (r >= 0)
                fd = -1;
        return r;
}

/* Its process ended. */
static void on_gone(const Held *held, void *userdata)
{
        Follow *follow = userdata;

        if (rule_of(follow)->lingering != follow)
                end_with_process(follow);
}

/* Root released it, or its process ended if it does not linger. */
static void on_hold_ended(const Held *held, void *userdata)
{
        Follow *follow = userdata;
        bool lingered = rule_of(follow)->lingering == follow;
        int r;

        lose_hold(follow);
        if (lingered) {
                follow_free(follow, follow->apps->holds);
                return;
        }
        if (!held->holder->alive) {
                end_with_process(follow);
                return;
        }
        r = wait_for_end(follow, held->holder->pidfd);
        if (r >= 0)
                return;
        log_error_errno(r, "%s: failed to wait for the exit of process %d: %m", follow->app->file,
                        follow->pid);
        forget(follow);
}

/* There is one hold more. One that lingers for the rule is needed no longer. */
static void gain_hold(Follow *follow)
{
        RuleHolds *rule = rule_of(follow);

        rule->n++;
        count(follow->apps, follow->uid, true);
        if (rule->lingering)
                end_lingering(rule->lingering);
}

int follow_hold(Follow *follow, int pidfd)
{
        const AppOptions *options = follow->app->options;
        g_autofree char *owner = g_strdup_printf("app %s", follow->app->name);
        g_autofree char *reason = NULL;
        ProcessFacts *facts = follow->apps->facts;
        HoldRequest request = HOLD_REQUEST_NONE;
        int r;

        if (process_facts_read(follow->apps->proc, PROCESS_FACT_STATUS, facts) < 0)
                return -ESRCH;
        follow->uid = facts->uid;
        if (!has_room(follow->apps, follow->uid))
                return -EMFILE;
        if (process_facts_read(follow->apps->proc, PROCESS_FACT_COMM, facts) >= 0)
                reason = g_strdup_printf("%s, process %d, %s", follow->app->file, follow->pid,
                                         facts->comm);
        request.owner = owner;
        request.reason = reason;
        request.shown_uid = follow->uid;
        request.profile = *options->profile ? options->profile : NULL;
        request.pid = follow->pid;
        request.pidfd = pidfd;
        request.bound = true;
        request.latency_us = options->latency_usec > 0 ? (int32_t)options->latency_usec : -1;
        request.min_cores = (unsigned)options->cores;
        request.ended = on_hold_ended;
        request.gone = options->linger_usec > 0 ? on_gone : NULL;
        request.userdata = follow;
        r = holds_add(follow->apps->holds, &request, NULL, &follow->hold);
        if (r >= 0)
                gain_hold(follow);
        return r;
}
