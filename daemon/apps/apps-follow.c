/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which processes rules mean, and following these.
 *
 * A process can begin to match a rule, or stop, when it executes a program, or changes its name or
 * user: the kernel reports that (sense/processes.h), and then idled checks it. A fork makes a
 * process that is what its parent was, which matters only if idled follows the parent: while it
 * follows none it does not listen to forks. The pidfd that a hold is bound to reports the end of a
 * process. idled reads /proc only after these events. It reads what a rule needs and earlier ones
 * did not in the order of the table below, until a rule is out.
 *
 * A program that makes a mount namespace can have any program at any path in it. So a path counts
 * only if it leads to the same file in the namespace of the first process, and not in ours, from
 * which systemd hides homes. That is checked once: a program that runs stays what it is when its
 * file is replaced.
 *
 * A number is no process: idled reads it again once it has a pidfd, which keeps the number from
 * being taken, and only then believes it. When a process ends, idled checks the process that has
 * its number by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "apps/apps-parts.h"

/* After the executable, which rules out most: cheap ones first. */
static const ProcessFact order[] = { PROCESS_FACT_COMM, PROCESS_FACT_STATUS, PROCESS_FACT_CGROUPS };

/* Whether the path of the process's program leads to this program where every process would look.
 * Where idled may not look, in a home, it does if the program was reached there, too. */
static bool is_genuine(const Apps *apps, const ProcessFacts *facts)
{
        FileId id;
        int r = file_id_read(apps->files, facts->executable, &id);

        if (r == -EACCES)
                return process_has_mount(apps->proc, 1, facts->program.mount);
        return r >= 0 && file_id_equal(id, facts->program);
}

/* Reads the process's executable into apps->facts. True if the rule names it, or if the process
 * still executes the program that it was `known` for, whatever became of the file. */
static bool check_executable(Apps *apps, const App *app, const Follow *known)
{
        if (process_facts_read(apps->proc, PROCESS_FACT_EXECUTABLE, apps->facts) < 0)
                return false;
        if (known && file_id_equal(known->program, apps->facts->program))
                return true;
        return app_matches(app, PROCESS_FACT_EXECUTABLE, apps->facts, apps->users) &&
               is_genuine(apps, apps->facts);
}

/* Reads what the rule needs of the process into apps->facts. True if the rule applies to the
 * process; `known` if it already did. */
static bool check_rule(Apps *apps, const App *app, const Follow *known)
{
        unsigned needs = app_needs(app);

        if (needs & PROCESS_FACT_EXECUTABLE && !check_executable(apps, app, known))
                return false;

        for (size_t i = 0; i < G_N_ELEMENTS(order); i++)
                if (needs & order[i] &&
                    (process_facts_read(apps->proc, order[i], apps->facts) < 0 ||
                     !app_matches(app, order[i], apps->facts, apps->users)))
                        return false;
        return true;
}

static Follow *find_follow(const Apps *apps, pid_t pid, const App *app)
{
        GPtrArray *follows = apps_follows_of(apps, pid);

        for (guint i = 0; follows && i < follows->len; i++) {
                Follow *follow = g_ptr_array_index(follows, i);

                if (follow->app == app)
                        return follow;
        }
        return NULL;
}

static void say_refused(Apps *apps, const App *app, int error)
{
        if (error == -ESRCH)
                return;
        if (!apps->reported)
                log_warning("%s: failed to hold for a process: %s", app->file,
                            error == -EMFILE ? "there are too many holds, or too many for this user"
                                             : g_strerror(-error));
        apps->reported = apps->full = true;
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
static bool follow(Apps *apps, pid_t pid, const App *app, bool inherited)
{
        _fd_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        GPtrArray *follows;
        Follow *new;
        bool first;
        int r;

        if (pidfd < 0 || has_ended(pidfd))
                return false;
        process_facts_init(apps->facts, pid);
        if (!inherited && !check_rule(apps, app, NULL))
                return false;
        new = g_new0(Follow, 1);
        *new = (Follow){ .apps = apps, .app = app, .pid = pid, .inherited = inherited };
        if (apps->facts->have & PROCESS_FACT_EXECUTABLE)
                new->program = apps->facts->program;
        r = follow_hold(new, pidfd);
        if (r < 0) {
                say_refused(apps, app, r);
                g_free(new);
                return false;
        }
        log_debug("%s means process %d", app->file, pid);
        follows = apps_follows_of(apps, pid);
        if (!follows) {
                follows = g_ptr_array_new();
                g_hash_table_insert(apps->followed, GINT_TO_POINTER(pid), follows);
        }
        g_ptr_array_add(follows, new);
        first = g_hash_table_size(apps->followed) == 1 && follows->len == 1;
        if (first)
                apps->calls->first_or_last(apps, true);
        return first || app->options->children;
}

static void unfollow(Follow *follow)
{
        log_debug("%s no longer matches process %d", follow->app->file, follow->pid);
        follow_end(follow);
}

bool apps_check_one(Apps *apps, pid_t pid)
{
        bool children = false;

        process_facts_init(apps->facts, pid);
        for (guint i = 0; i < apps->rules->len; i++) {
                const App *app = g_ptr_array_index(apps->rules, i);
                Follow *known = find_follow(apps, pid, app);

                if (known && known->inherited)
                        continue;
                if (check_rule(apps, app, known) == (known != NULL))
                        continue;
                if (known)
                        unfollow(known);
                else
                        children |= follow(apps, pid, app, false);
        }
        return children;
}

void apps_inherit(Apps *apps, pid_t parent, pid_t child)
{
        GPtrArray *follows = apps_follows_of(apps, parent);

        for (guint i = 0; follows && i < follows->len; i++) {
                const App *app = ((Follow *)g_ptr_array_index(follows, i))->app;

                if (app->options->children && !find_follow(apps, child, app))
                        follow(apps, child, app, true);
        }
}
