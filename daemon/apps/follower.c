/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which processes rules match, and the holds for these processes.
 *
 * A process can begin to match a rule, or stop, when it executes a program, or changes its name or
 * user. The kernel reports these events (sense/processes.h), and idled then checks the process. A
 * child is what its parent was, so idled listens to forks only while it follows a process whose
 * forks matter. The pidfd of a hold reports the end of its process. idled reads /proc only after
 * these events. For each rule it reads the facts that no earlier rule needed, the executable
 * first and then in the order of `order`, and stops at the first fact that does not match.
 *
 * A process that begins to match may have children already, because their forks were not reported,
 * or did not matter. idled checks them, and the children of each child that it follows, in a loop:
 * processes choose how deep a family is, and so how deep a recursion would be.
 *
 * A program that makes a mount namespace can have any program at any path in it. So a path counts
 * only if it leads to the same file in the mount namespace of the first process. idled's own
 * namespace does not count, because systemd hides homes from it. idled checks the path once: a
 * program that runs stays what it is when its file is replaced.
 *
 * Another process can get the number of one that ended. So idled opens a pidfd first, and then
 * reads the process again. If the process ends in between, the pidfd reports it. When a process
 * ends, idled checks the process that has its number by then.
 *
 * A hold ends with its process. Only the hold for the last process that a rule matches lingers for
 * Linger=, or until the rule matches another process: programs that run for a moment, again and
 * again, do not switch everything twice each time. If root releases a hold, idled follows its
 * process without one, so that the rule does not make another hold at the next event. The pidfd of
 * the released hold reports the end of the process.
 */
#include "apps/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/app.h"
#include "holds/holder.h"
#include "model/cgroup-unit.h"
#include "sense/own-unit.h"
#include "sense/users.h"

/* The most holds for rules, and for the processes of one user other than root: a user who starts
 * many processes could use up all holds. So some are reserved for clients on the bus, and some of
 * the rest for the processes of other users. idled checks a refused process again when there is
 * room. */
#define RULES_MAX         (HOLDS_MAX / 2)
#define RULES_OF_USER_MAX (HOLDS_MAX / 4)

/* A unit can have many groups, made by its user, and its processes end as often as they like. After
 * a search that took more CPU time than this, none is done for so many times that time. */
#define SEARCH_USEC        10000
#define SEARCH_COST_FACTOR 20

/* One process and one rule that means it, or whose hold lingers. */
typedef struct Follow {
        Follower *follower;
        const App *app;
        pid_t pid;
        uid_t uid;            /* its user when it was last checked */
        FileId program;       /* that it executed when it was found to be meant; else zero */
        bool inherited;       /* from its parent: whatever it is now, the rule still applies */
        char *unit;           /* for all of this unit, as unit_of(); NULL: for its process */
        uint64_t hold;        /* 0: it was released */
        sd_event_source *end; /* of the process, if no hold reports it; of lingering */
} Follow;

/* The holds of one rule. */
typedef struct RuleHolds {
        unsigned n;        /* for processes that it means */
        Follow *lingering; /* for the last one that it meant; NULL: none */
} RuleHolds;

struct Follower {
        sd_event *event;
        int proc;
        int files;   /* the root of the first process, else ours: where paths of programs count */
        int cgroups; /* where paths of units are; -1: not known, then each process is followed */
        Holds *holds;
        GPtrArray *rules; /* of App */
        FollowerListener listener;
        GHashTable *users;
        GHashTable *followed;                /* pid -> GPtrArray of Follow, owned */
        GHashTable *units;                   /* those that a Follow is for, as in it */
        uint64_t searched_usec, search_usec; /* when a unit was searched last; its CPU time */
        unsigned n_forking;  /* Follows that are for their process, whose forks matter */
        ProcessFacts *facts; /* of the process that is being checked */

        GHashTable *holds_of_rule; /* App -> RuleHolds, owned */
        unsigned n_holds;
        GHashTable *holds_of; /* uid -> how many of them are for that user's processes */
        bool full;            /* holds were refused since the last check of all processes */
        bool reported;        /* and that was said */
};

/* What the process is followed for, an array of Follow; NULL: nothing. */
static GPtrArray *follows_of(const Follower *follower, pid_t pid)
{
        return g_hash_table_lookup(follower->followed, GINT_TO_POINTER(pid));
}

static unsigned holds_of(const Follower *follower, uid_t uid)
{
        return GPOINTER_TO_UINT(g_hash_table_lookup(follower->holds_of, GUINT_TO_POINTER(uid)));
}

static bool has_room(const Follower *follower, uid_t uid)
{
        return follower->n_holds < RULES_MAX &&
               (uid == 0 || holds_of(follower, uid) < RULES_OF_USER_MAX);
}

/* One hold more of the user's, or one less. */
static void count(Follower *follower, uid_t uid, bool more)
{
        unsigned n = holds_of(follower, uid) + (more ? 1 : -1u);

        follower->n_holds += more ? 1 : -1u;
        if (n > 0)
                g_hash_table_insert(follower->holds_of, GUINT_TO_POINTER(uid), GUINT_TO_POINTER(n));
        else
                g_hash_table_remove(follower->holds_of, GUINT_TO_POINTER(uid));
}

static RuleHolds *rule_of(const Follow *follow)
{
        GHashTable *table = follow->follower->holds_of_rule;
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
        Follower *follower = follow->follower;
        RuleHolds *rule = rule_of(follow);

        if (follow->hold == 0)
                return;
        follow->hold = 0;
        if (rule->lingering == follow)
                rule->lingering = NULL;
        else
                rule->n--;
        count(follower, follow->uid, false);
        if (follower->full)
                follower->listener.room(follower->listener.userdata);
}

static void follow_free(Follow *follow, Holds *holds)
{
        if (follow->hold > 0)
                holds_remove(holds, follow->hold);
        sd_event_source_disable_unref(follow->end);
        g_free(follow->unit);
        g_free(follow);
}

/* Its process is no longer followed for this rule; nothing happens if it lingers. */
static void detach(Follow *follow)
{
        Follower *follower = follow->follower;
        GPtrArray *follows = follows_of(follower, follow->pid);

        if (!follows || !g_ptr_array_remove_fast(follows, follow))
                return;
        if (follows->len == 0)
                g_hash_table_remove(follower->followed, GINT_TO_POINTER(follow->pid));
        if (follow->unit)
                g_hash_table_remove(follower->units, follow->unit);
        else if (--follower->n_forking == 0)
                follower->listener.first_or_last(false, follower->listener.userdata);
}

/* The same, and of it nothing stays. */
static void forget(Follow *follow)
{
        Holds *holds = follow->follower->holds;
        uint64_t hold = follow->hold;

        lose_hold(follow);
        detach(follow);
        follow_free(follow, holds);
        if (hold > 0)
                holds_remove(holds, hold);
}

static int on_lingered(sd_event_source *source, uint64_t usec, void *userdata)
{
        forget(userdata);
        return 0;
}

/* Keeps the hold for a while, though the process is no longer followed; false: it does not. */
static bool linger(Follow *follow)
{
        uint64_t usec = follow->app->options->linger_usec;
        RuleHolds *rule = rule_of(follow);

        if (usec == 0 || follow->hold == 0 || rule->n > 1)
                return false;
        if (sd_event_add_time_relative(follow->follower->event, &follow->end, CLOCK_MONOTONIC, usec,
                                       usec / 10, on_lingered, follow) < 0)
                return false;
        detach(follow);
        rule->n--;
        rule->lingering = follow;
        return true;
}

static bool follow(Follower *follower, pid_t pid, const App *app, bool inherited);

/* Follows another process of the unit that the rule means, if there is one. If it cannot be found
 * out now, all processes are checked soon. */
static void follow_another(Follower *follower, const App *app, const char *unit)
{
        g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        uint64_t now = (uint64_t)g_get_monotonic_time();
        uint64_t begin = clock_spent_usec();
        int r = -EBUSY;

        if (follower->search_usec <= SEARCH_USEC ||
            now - follower->searched_usec >= SEARCH_COST_FACTOR * follower->search_usec)
                r = unit_processes_read(follower->cgroups, strchr(unit, '/'), pids);
        for (guint i = 0; i < pids->len && !g_hash_table_contains(follower->units, unit); i++)
                follow(follower, g_array_index(pids, pid_t, i), app, false);
        if (r != -EBUSY) {
                follower->searched_usec = now;
                follower->search_usec = clock_spent_usec() - begin;
        }
        if ((r == -EBUSY || r == -E2BIG || r == -EMFILE || r == -ENFILE) &&
            !g_hash_table_contains(follower->units, unit))
                follower->listener.room(follower->listener.userdata);
}

/* Ends it: its process asks no longer for what its hold was for, but others of the unit may. */
static void follow_end(Follow *follow)
{
        Follower *follower = follow->follower;
        const App *app = follow->app;
        g_autofree char *unit = g_strdup(follow->unit);

        if (unit)
                holds_defer(follower->holds, true);
        if (!linger(follow))
                forget(follow);
        if (!unit)
                return;
        follow_another(follower, app, unit);
        holds_defer(follower->holds, false);
}

/* Its process ended, and its number may be another's. */
static void end_with_process(Follow *follow)
{
        Follower *follower = follow->follower;
        pid_t pid = follow->pid;

        follow_end(follow);
        follower_check(follower, pid);
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
                       : sd_event_add_io(follow->follower->event, &follow->end, fd, EPOLLIN,
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
                follow_free(follow, follow->follower->holds);
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
        count(follow->follower, follow->uid, true);
        if (rule->lingering)
                forget(rule->lingering);
}

/* Holds for the process, whatever has its number now. -ESRCH: it is not there; -EMFILE: there are
 * too many, or too many of its user; else as holds_add(). */
static int follow_hold(Follow *follow, int pidfd)
{
        const AppOptions *options = follow->app->options;
        g_autofree char *owner = g_strdup_printf("app %s", follow->app->name);
        g_autofree char *process = NULL, *unit = NULL;
        ProcessFacts *facts = follow->follower->facts;
        HoldRequest request = HOLD_REQUEST_NONE;
        int r;

        if (process_facts_read(follow->follower->proc, PROCESS_FACT_STATUS, facts) < 0)
                return -ESRCH;
        follow->uid = facts->uid;
        if (!has_room(follow->follower, follow->uid))
                return -EMFILE;
        if (process_facts_read(follow->follower->proc, PROCESS_FACT_COMM, facts) >= 0)
                process = g_strdup_printf("process %d, %s", follow->pid, facts->comm);
        request.owner = owner;
        request.reason = follow->app->file;
        request.process = process;
        request.shown_uid = follow->uid;
        request.profile = *options->profile ? options->profile : NULL;
        request.pid = follow->pid;
        request.pidfd = pidfd;
        request.bound = true;
        request.latency_us = options->latency_usec > 0 ? (int32_t)options->latency_usec : -1;
        request.p99_us = (uint32_t)options->p99_usec;
        if (follow->unit && options->p99_usec > 0)
                request.cgroup = strchr(follow->unit, '/');
        request.min_cores = (unsigned)options->cores;
        request.kinds = app_kinds(follow->app);
        if (request.kinds &&
            process_facts_read(follow->follower->proc, PROCESS_FACT_CGROUPS, facts) >= 0)
                request.unit = unit = app_unit(follow->app, facts);
        request.calls = (HoldCalls){ on_hold_ended, options->linger_usec > 0 ? on_gone : NULL,
                                     follow };
        r = holds_add(follow->follower->holds, &request, NULL, &follow->hold);
        if (r >= 0)
                gain_hold(follow);
        return r;
}

/* After the executable, which rules out most: cheap ones first. */
static const ProcessFact order[] = { PROCESS_FACT_COMM, PROCESS_FACT_STATUS, PROCESS_FACT_CGROUPS };

/* Whether the path of the process's program leads to this program where every process would look.
 * Where idled may not look, in a home, it does if the program was reached there, too. */
static bool is_genuine(const Follower *follower, const ProcessFacts *facts)
{
        FileId id;
        int r = file_id_read(follower->files, facts->executable, &id);

        if (r == -EACCES)
                return process_has_mount(follower->proc, 1, facts->program.mount);
        return r >= 0 && file_id_equal(id, facts->program);
}

/* Reads the process's executable into follower->facts. True if the rule names it, or if the process
 * still executes the program that it was `known` for, whatever became of the file. */
static bool check_executable(Follower *follower, const App *app, const Follow *known)
{
        if (process_facts_read(follower->proc, PROCESS_FACT_EXECUTABLE, follower->facts) < 0)
                return false;
        if (known && file_id_equal(known->program, follower->facts->program))
                return true;
        return app_matches(app, PROCESS_FACT_EXECUTABLE, follower->facts, follower->users) &&
               is_genuine(follower, follower->facts);
}

/* If the rule requests the same for all processes of a unit, that of the process in
 * follower->facts: "NAME/a.slice/b.service", with the rule's name; else NULL. A unit can start
 * thousands, as a build does, so one of them is followed. When that one ends or is no longer meant,
 * idled reads the processes of the unit and follows another one. The hold changes with it, but
 * there is always one, so that a contract goes on. Forks do not matter, because the child is in the
 * unit of its parent. */
static char *unit_of(const Follower *follower, const App *app)
{
        g_autofree char *path = NULL;

        if (follower->cgroups < 0 || !app_is_of_units(app))
                return NULL;
        path = cgroup_unit_path(follower->facts->unit_cgroup);
        return g_strconcat(app->name, path, NULL);
}

/* Reads what the rule needs of the process into follower->facts. True if the process must be
 * followed for the rule; `known` if it already is. For a unit one process is. */
static bool check_rule(Follower *follower, const App *app, const Follow *known)
{
        unsigned needs = app_needs(app);
        g_autofree char *unit = NULL;

        if (needs & PROCESS_FACT_EXECUTABLE && !check_executable(follower, app, known))
                return false;

        for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
                if (needs & order[i] &&
                    (process_facts_read(follower->proc, order[i], follower->facts) < 0 ||
                     !app_matches(app, order[i], follower->facts, follower->users)))
                        return false;
        unit = unit_of(follower, app);
        if (unit && known)
                return g_str_equal(unit, known->unit);
        return !unit || !g_hash_table_contains(follower->units, unit);
}

static Follow *find_follow(const Follower *follower, pid_t pid, const App *app)
{
        GPtrArray *follows = follows_of(follower, pid);

        for (guint i = 0; follows && i < follows->len; i++) {
                Follow *follow = g_ptr_array_index(follows, i);

                if (follow->app == app)
                        return follow;
        }
        return NULL;
}

static void say_refused(Follower *follower, const App *app, int error)
{
        if (error == -ESRCH)
                return;
        if (!follower->reported)
                log_warning("%s: failed to hold for a process: %s", app->file,
                            error == -EMFILE ? "there are too many holds, or too many for this user"
                                             : g_strerror(-error));
        follower->reported = follower->full = true;
}

/* A process that ended is there until its parent has asked for its exit status, and still has a
 * name, a user and a cgroup. */
static bool has_ended(int pidfd)
{
        struct pollfd end = { .fd = pidfd, .events = POLLIN };

        return poll(&end, 1, 0) > 0;
}

/* Follows the process that has this number now, if it is meant or `inherited`. True if it does, and
 * children that the process has already count: forks are heard of from now on, or only now this
 * rule follows them. */
static bool follow(Follower *follower, pid_t pid, const App *app, bool inherited)
{
        _fd_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        GPtrArray *follows;
        Follow *new;
        bool first;
        int r;

        process_facts_init(follower->facts, pid);
        if (pidfd < 0 || has_ended(pidfd))
                return false;
        if (!inherited && !check_rule(follower, app, NULL))
                return false;
        new = g_new0(Follow, 1);
        *new = (Follow){ .follower = follower, .app = app, .pid = pid, .inherited = inherited };
        if (follower->facts->have & PROCESS_FACT_EXECUTABLE)
                new->program = follower->facts->program;
        new->unit = unit_of(follower, app);
        r = follow_hold(new, pidfd);
        if (r < 0) {
                say_refused(follower, app, r);
                follow_free(new, follower->holds);
                return false;
        }
        log_debug("%s means process %d", app->file, pid);
        follows = follows_of(follower, pid);
        if (!follows) {
                follows = g_ptr_array_new();
                g_hash_table_insert(follower->followed, GINT_TO_POINTER(pid), follows);
        }
        g_ptr_array_add(follows, new);
        if (new->unit)
                g_hash_table_add(follower->units, new->unit);
        first = !new->unit && follower->n_forking++ == 0;
        if (first)
                follower->listener.first_or_last(true, follower->listener.userdata);
        return first || app->options->children;
}

static void unfollow(Follow *follow)
{
        log_debug("%s no longer matches process %d", follow->app->file, follow->pid);
        follow_end(follow);
}

/* Checks which rules mean the process now. True if its children must be checked. */
static bool check_one(Follower *follower, pid_t pid)
{
        bool children = false;

        process_facts_init(follower->facts, pid);
        for (guint i = 0; i < follower->rules->len; i++) {
                const App *app = g_ptr_array_index(follower->rules, i);
                Follow *known = find_follow(follower, pid, app);

                if (known && known->inherited)
                        continue;
                if (check_rule(follower, app, known) == (known != NULL))
                        continue;
                if (known)
                        unfollow(known); /* it may be in another unit that the rule means */
                children |= follow(follower, pid, app, false);
        }
        return children;
}

void follower_inherit(Follower *follower, pid_t parent, pid_t child)
{
        GPtrArray *follows = follows_of(follower, parent);

        for (guint i = 0; follows && i < follows->len; i++) {
                const App *app = ((Follow *)g_ptr_array_index(follows, i))->app;

                if (app->options->children && !find_follow(follower, child, app))
                        follow(follower, child, app, true);
        }
}

void follower_check(Follower *follower, pid_t pid)
{
        g_autoptr(GArray) parents = NULL;
        g_autoptr(GArray) children = NULL;

        if (!check_one(follower, pid))
                return;
        parents = g_array_new(FALSE, FALSE, sizeof(pid_t));
        children = g_array_new(FALSE, FALSE, sizeof(pid_t));
        g_array_append_val(parents, pid);
        for (guint i = 0; i < parents->len; i++) {
                pid_t parent = g_array_index(parents, pid_t, i);

                g_array_set_size(children, 0);
                process_children_read(follower->proc, parent, children);
                for (guint j = 0; j < children->len; j++) {
                        pid_t child = g_array_index(children, pid_t, j);

                        follower_inherit(follower, parent, child);
                        check_one(follower, child);
                        if (follower_has(follower, child))
                                g_array_append_val(parents, child);
                }
        }
}

bool follower_has(const Follower *follower, pid_t pid)
{
        return follows_of(follower, pid);
}

GArray *follower_pids(const Follower *follower)
{
        GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        GHashTableIter iter;
        gpointer key;

        g_hash_table_iter_init(&iter, follower->followed);
        while (g_hash_table_iter_next(&iter, &key, NULL)) {
                pid_t pid = GPOINTER_TO_INT(key);

                g_array_append_val(pids, pid);
        }
        return pids;
}

unsigned follower_count_holds(const Follower *follower)
{
        return follower->n_holds;
}

void follower_forget_refused(Follower *follower)
{
        follower->full = false;
}

Follower *follower_new(sd_event *event, int root, int proc, Holds *holds, GPtrArray *rules,
                       const FollowerListener *listener)
{
        Follower *follower = g_new0(Follower, 1);

        follower->event = sd_event_ref(event);
        follower->proc = proc;
        follower->files = openat(proc, "1/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (follower->files < 0)
                follower->files = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        follower->cgroups = unit_cgroups_open(root);
        follower->holds = holds;
        follower->rules = g_ptr_array_ref(rules);
        follower->listener = *listener;
        follower->users = users_read(root);
        follower->facts = g_new(ProcessFacts, 1);
        follower->followed = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
                                                   (GDestroyNotify)g_ptr_array_unref);
        follower->units = g_hash_table_new(g_str_hash, g_str_equal);
        follower->holds_of = g_hash_table_new(NULL, NULL);
        follower->holds_of_rule = g_hash_table_new_full(NULL, NULL, NULL, g_free);
        return follower;
}

void follower_free(Follower *follower)
{
        GHashTableIter iter;
        gpointer value;

        if (!follower)
                return;
        holds_defer(follower->holds, true);
        g_hash_table_iter_init(&iter, follower->followed);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                g_ptr_array_foreach(value, (GFunc)follow_free, follower->holds);
        g_hash_table_iter_init(&iter, follower->holds_of_rule);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const RuleHolds *rule = value;

                if (rule->lingering)
                        follow_free(rule->lingering, follower->holds);
        }
        holds_defer(follower->holds, false);
        g_hash_table_unref(follower->holds_of_rule);
        g_hash_table_unref(follower->units);
        g_hash_table_unref(follower->followed);
        g_hash_table_unref(follower->holds_of);
        g_hash_table_unref(follower->users);
        g_ptr_array_unref(follower->rules);
        g_free(follower->facts);
        fd_close(&follower->files);
        fd_close(&follower->cgroups);
        sd_event_unref(follower->event);
        g_free(follower);
}
