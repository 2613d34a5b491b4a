/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Application rules in effect on this machine's processes: how many holds and how much of the
 * daemon's time they may take. */
#include <sys/prctl.h>

/* Before what shadows a name of it. */
#include "machine.h"

#include "apps/apps.h"
#include "apps/follower.h"
#include "config/app.h"
#include "holds-fixture.h"

#define NOT_ROOT     "only root can change its user"
#define NO_EVENTS    "the kernel reports no processes here"
#define OTHER_NUMBER "the number of a process cannot be chosen"

#define NOBODY 65534

/* What the processes of this test are called. */
static char comm[16];
static GPtrArray *rules;
static AppOptions options;

/* What follows their processes, and what does so without events of them, so that a test says when
 * to check one; the second is given processes whose facts a tree says. */
static Apps *apps;
static Follower *follower;
static int proc = -1;
static Tree facts;
static bool forks; /* are asked for */

/* Rules, all alike, that mean processes called so. */
static void make_rules(unsigned n)
{
        static char *comms[] = { comm, NULL }, *none[] = { NULL };

        snprintf(comm, sizeof(comm), "idled-%d", getpid());
        options = (AppOptions){ .executables = none,
                                .comms = comms,
                                .units = none,
                                .cgroups = none,
                                .users = none,
                                .kinds = none,
                                .profile = (char *)"",
                                .cores = 1 };
        rules = g_ptr_array_new_with_free_func(g_free);
        for (unsigned i = 0; i < n; i++) {
                App *app = g_new0(App, 1);

                *app = (App){ (char *)"test", "test.conf", &options };
                g_ptr_array_add(rules, app);
        }
}

static void start_apps(void)
{
        apps = apps_new(event, root, holds, rules);
}

static void teardown_apps(void)
{
        apps_free(apps);
        follower_free(follower);
        fd_close(&proc);
        if (facts.path)
                tree_done(&facts);
        ck_assert_uint_eq(holds_count(holds), 0);
        g_clear_pointer(&rules, g_ptr_array_unref);
        teardown();
}

static void on_first_or_last(bool first, void *userdata)
{
        forks = first;
}

static void on_room(void *userdata)
{
}

static void start_following(void)
{
        static const FollowerListener listener = { on_first_or_last, on_room, NULL };

        proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(proc, 0);
        follower = follower_new(event, root, proc, holds, rules, &listener);
}

static unsigned count_followed(void)
{
        g_autoptr(GArray) pids = follower_pids(follower);

        return pids->len;
}

/* A process that rules mean, of this user, once it is that. */
static pid_t start_meant(uid_t uid)
{
        int ready[2];
        pid_t pid;
        char byte;

        ck_assert_int_eq(pipe(ready), 0);
        pid = fork();
        if (pid == 0) {
                prctl(PR_SET_NAME, comm);
                if (setresuid(uid, uid, uid) == 0 && write(ready[1], "", 1) == 1)
                        pause();
                _exit(1);
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        close(ready[1]);
        return pid;
}

/* The same, of the test's own user, and followed. */
static pid_t follow_meant(void)
{
        pid_t pid = start_meant(geteuid());

        start_following();
        follower_check(follower, pid);
        return pid;
}

static const struct {
        const char *name;
        int of_root, of_user;
        unsigned n_holds;
} crowds[] = {
        { "few", 2, 2, 4 * 64 },
        { "many of one user", 0, 20, HOLDS_MAX / 4 },
        { "many of one user, and root", 4, 20, HOLDS_MAX / 4 + 4 * 64 },
        { "many of root", 40, 0, HOLDS_MAX / 2 },
};

/* However many processes a user has, clients on the bus can still hold, and so can rules for the
 * processes of other users. */
TEST_EACH(takes_a_part, crowds)
{
        int n = c->of_root + c->of_user;
        pid_t pids[64];

        if (geteuid() != 0) {
                case_skip("takes_a_part", NOT_ROOT);
                return;
        }
        make_rules(64);
        for (int i = 0; i < n; i++)
                pids[i] = start_meant(i < c->of_user ? NOBODY : 0);
        start_apps();
        ck_case(c->name, holds_count(holds) == c->n_holds, "%u holds", holds_count(holds));
        end_all(pids, (size_t)n);
}

/* A refused process gets its hold when others have left room. */
TEST(room_again)
{
        pid_t pids[17];

        if (geteuid() != 0) {
                case_skip("room_again", NOT_ROOT);
                return;
        }
        make_rules(64);
        for (int i = 0; i < 17; i++)
                pids[i] = start_meant(NOBODY);
        start_apps();
        ck_assert_uint_eq(holds_count(holds), HOLDS_MAX / 4);
        for (int i = 0; i < 16 && apps_error(apps) == 0; i++)
                end_process(pids[i]);
        if (apps_error(apps) == 0)
                wait_for(64);
        else
                case_skip("room_again", NO_EVENTS);
        for (int i = apps_error(apps) == 0 ? 16 : 0; i < 17; i++)
                end_process(pids[i]);
        wait_for(0);
}

static void put_fact(const Tree *tree, pid_t pid, const char *file, const char *text)
{
        g_autofree char *path = g_strdup_printf("%d/%s", pid, file);

        tree_put(tree, path, text);
}

/* Kinds of cores are for the unit that the rule names. */
TEST(kinds_of_a_unit)
{
        static char *kinds[] = { (char *)"cache", (char *)"fast", NULL }, *none[] = { NULL },
                    *units[] = { (char *)"background.slice", NULL };
        static const FollowerListener listener = { on_first_or_last, on_room, NULL };
        g_autoptr(GPtrArray) list = unit_kinds_new();
        const UnitKinds *found;
        pid_t pid;

        facts = tree_make();
        make_rules(1);
        options.kinds = kinds;
        options.units = units;
        options.comms = none;
        pid = start_meant(geteuid());
        put_fact(&facts, pid, "cgroup", "0::/background.slice/a.service\n");
        put_fact(&facts, pid, "status", "Name:\tx\nPPid:\t1\nUid:\t0\t0\t0\t0\n");
        put_fact(&facts, pid, "comm", "x\n");
        follower = follower_new(event, root, facts.root, holds, rules, &listener);
        follower_check(follower, pid);
        holds_list_kinds(holds, list);
        ck_assert_uint_eq(list->len, 1);
        found = g_ptr_array_index(list, 0);
        ck_assert_uint_eq(found->kinds, KIND_CACHE | KIND_FAST);
        ck_assert_str_eq(found->cgroup, "/background.slice");
        end_process(pid);
}

/* Runs the loop until no process is followed. */
static void wait_for_end(void)
{
        while (count_followed() > 0)
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
        ck_assert(!forks);
}

/* In the tree, for a rule of units that means a.service and b.service. */
static void put_in_unit(pid_t pid, const char *unit)
{
        g_autofree char *text = g_strdup_printf("0::/x.slice/%s\n", unit);

        put_fact(&facts, pid, "cgroup", text);
}

/* A process that is there without being in a list of its unit yet. */
static pid_t start_in_unit(const char *unit)
{
        pid_t pid = start_process();

        put_fact(&facts, pid, "status", "Name:\tx\nPPid:\t1\nUid:\t0\t0\t0\t0\n");
        put_fact(&facts, pid, "comm", "x\n");
        put_in_unit(pid, unit);
        return pid;
}

/* What the kernel lists of a unit. */
static void put_list(const char *unit, const pid_t *pids, int n)
{
        g_autofree char *path = g_strdup_printf("sys/fs/cgroup/x.slice/%s/cgroup.procs", unit);
        g_autoptr(GString) text = g_string_new(NULL);

        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%d\n", pids[i]);
        tree_put(&facts, path, text->str);
}

static void start_following_units(uint64_t linger_usec)
{
        static char *names[] = { (char *)"[ab].service", NULL }, *none[] = { NULL };
        static const FollowerListener listener = { on_first_or_last, on_room, NULL };

        make_rules(1);
        options.comms = none;
        options.units = names;
        options.p99_usec = 5000;
        options.linger_usec = linger_usec;
        facts = tree_make();
        tree_put(&facts, "sys/fs/cgroup/cgroup.procs", "");
        forks = false;
        follower = follower_new(event, facts.root, facts.root, holds, rules, &listener);
}

static bool is_held_for(pid_t pid)
{
        for (unsigned i = 0; i < holds_count(holds); i++)
                if (held_pid(holds_nth(holds, i)) == pid)
                        return true;
        return false;
}

/* However many processes a unit has, and however many come and go, one of them has its hold. When
 * that one ends another one has it, without a time between. */
TEST_RANGE(one_for_a_unit, 0, 2)
{
        pid_t pids[3];

        start_following_units(_i > 0 ? 600 * G_USEC_PER_SEC : 0);
        for (int i = 0; i < 3; i++) {
                pids[i] = start_in_unit("a.service");
                follower_check(follower, pids[i]);
        }
        put_list("a.service", pids, 3);
        ck_assert_uint_eq(holds_count(holds), 1);
        ck_assert(is_held_for(pids[0]));
        ck_assert_uint_eq(count_followed(), 1);
        ck_assert(!forks);
        end_process(pids[1]);
        expect_left(1);
        ck_assert_uint_eq(n_changes, 1);
        end_process(pids[0]);
        while (!is_held_for(pids[2]))
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
        expect_left(1);
        ck_assert_uint_eq(n_changes, 2); /* so none saw the time when there was no hold */
        end_process(pids[2]);
        wait_for_end();
        ck_assert_uint_eq(holds_count(holds), _i > 0 ? 1 : 0); /* which lingers */
}

/* The first moves to another unit, then to one that no rule means: each unit has one hold while the
 * rule means a process of it. */
TEST(moves_between_units)
{
        pid_t pids[3];

        start_following_units(0);
        for (int i = 0; i < 3; i++) {
                pids[i] = start_in_unit(i < 2 ? "a.service" : "c.service");
                follower_check(follower, pids[i]);
        }
        put_in_unit(pids[0], "b.service");
        put_list("a.service", &pids[1], 1);
        put_list("b.service", pids, 1);
        follower_check(follower, pids[0]);
        ck_assert_uint_eq(holds_count(holds), 2);
        ck_assert(is_held_for(pids[0]) && is_held_for(pids[1]));
        put_in_unit(pids[0], "a.service");
        put_list("b.service", NULL, 0);
        put_list("a.service", pids, 2);
        follower_check(follower, pids[0]);
        ck_assert_uint_eq(holds_count(holds), 1);
        ck_assert(is_held_for(pids[1]));
        for (int i = 0; i < 2; i++)
                put_in_unit(pids[i], "c.service");
        put_list("a.service", NULL, 0);
        follower_check(follower, pids[1]);
        ck_assert_uint_eq(holds_count(holds), 0);
        ck_assert_uint_eq(count_followed(), 0);
}

/* Root releases the hold of a unit: there is no other one while its process runs. */
TEST(released_for_a_unit)
{
        pid_t pids[2];

        start_following_units(0);
        for (int i = 0; i < 2; i++)
                pids[i] = start_in_unit("a.service");
        put_list("a.service", pids, 2);
        follower_check(follower, pids[0]);
        ck_assert_int_eq(holds_release(holds, 1), 0);
        for (int i = 0; i < 2; i++)
                follower_check(follower, pids[i]);
        expect_left(0);
        end_process(pids[0]);
        wait_for(1);
        ck_assert(is_held_for(pids[1]));
}

/* Another rule that means processes, not units, needs forks while it means one. */
TEST(forks_of_processes_only)
{
        AppOptions others;
        App *app;
        pid_t pid;

        start_following_units(0);
        pid = start_in_unit("a.service");
        follower_check(follower, pid);
        ck_assert(!forks);
        others = options;
        others.latency_usec = 50;
        app = g_memdup2(rules->pdata[0], sizeof(App));
        app->options = &others;
        g_ptr_array_add(rules, app);
        follower_check(follower, pid);
        ck_assert_uint_eq(holds_count(holds), 2);
        ck_assert(forks);
        put_in_unit(pid, "c.service");
        follower_check(follower, pid);
        ck_assert_uint_eq(holds_count(holds), 0);
        ck_assert(!forks);
}

/* Root releases a rule's hold: the rule makes no new one while the process runs. idled forgets this
 * when the process ends, so a later process with its number gets a hold. */
TEST(released)
{
        pid_t pid, next;

        make_rules(1);
        pid = follow_meant();
        ck_assert_int_eq(holds_release(holds, 1), 0);
        ck_assert_uint_eq(follower_count_holds(follower), 0);
        follower_check(follower, pid);
        expect_left(0);
        end_process(pid);
        wait_for_end();
        prctl(PR_SET_NAME, comm); /* a child is called as its parent is */
        next = start_with_number(pid);
        prctl(PR_SET_NAME, "check-apps");
        if (next < 0) {
                case_skip("released", OTHER_NUMBER);
                next = start_meant(geteuid());
        }
        follower_check(follower, next);
        ck_assert_uint_eq(holds_count(holds), 1);
        ck_assert_uint_eq(follower_count_holds(follower), 1);
        end_last(next);
        ck_assert_uint_eq(follower_count_holds(follower), 0);
}

/* Who stops being meant after that and then is again has a hold again. */
TEST(released_and_meant_again)
{
        int calls[2], answers[2];
        pid_t pid;
        char byte;

        make_rules(1);
        ck_assert_int_eq(pipe(calls) | pipe(answers), 0);
        pid = fork();
        for (bool meant = true; pid == 0; meant = !meant) {
                prctl(PR_SET_NAME, meant ? comm : "another");
                if (write(answers[1], "", 1) != 1 || read(calls[0], &byte, 1) != 1)
                        _exit(1);
        }
        ck_assert_int_eq(read(answers[0], &byte, 1), 1);
        start_following();
        follower_check(follower, pid);
        ck_assert_int_eq(holds_release(holds, 1), 0);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert_int_eq(write(calls[1], "", 1), 1);
                ck_assert_int_eq(read(answers[0], &byte, 1), 1);
                follower_check(follower, pid);
                ck_assert_uint_eq(holds_count(holds), i);
        }
        end_last(pid);
}

/* The hold of the last process that is meant stays for a while. */
TEST(lingers)
{
        pid_t pids[2];

        make_rules(1);
        options.linger_usec = 100000;
        for (int i = 0; i < 2; i++)
                pids[i] = start_meant(geteuid());
        start_following();
        for (int i = 0; i < 2; i++)
                follower_check(follower, pids[i]);
        end_process(pids[0]);
        wait_for(1);
        ck_assert_uint_eq(count_followed(), 1);
        end_process(pids[1]);
        wait_for_end();
        ck_assert_uint_eq(holds_count(holds), 1);
        ck_assert_uint_eq(follower_count_holds(follower), 1);
        wait_for(0);
        ck_assert_uint_eq(follower_count_holds(follower), 0);
}

/* Until there is another one, until root releases it, or until all end; then there is no delay. */
TEST_RANGE(lingers_no_longer, 0, 2)
{
        pid_t pid;

        make_rules(1);
        options.linger_usec = 600 * G_USEC_PER_SEC;
        pid = follow_meant();
        end_process(pid);
        wait_for_end();
        ck_assert(holds_find(holds, 1)->bound); /* as reported, which never changes */
        pid = start_meant(geteuid());
        follower_check(follower, pid);
        ck_assert_uint_eq(holds_count(holds), 1);
        ck_assert_ptr_nonnull(holds_find(holds, 2));
        end_process(pid);
        wait_for_end();
        ck_assert_uint_eq(holds_count(holds), 1);
        if (_i > 0) {
                ck_assert_int_eq(holds_release(holds, 2), 0);
                ck_assert_uint_eq(follower_count_holds(follower), 0);
        }
}

/* Another process has the number of one that ended before the kernel reports the end: idled matches
 * the new process and makes a hold for it if a rule names it. */
TEST_RANGE(number_used_again, 0, 2)
{
        bool meant = _i, taken;
        pid_t pid;

        make_rules(1);
        pid = follow_meant();
        ck_assert_uint_eq(holds_count(holds), 1);
        end_process(pid);
        if (meant) /* a child is called as its parent is */
                prctl(PR_SET_NAME, comm);
        taken = start_with_number(pid) < 0;
        prctl(PR_SET_NAME, "check-apps");
        if (taken)
                case_skip("number_used_again", OTHER_NUMBER);
        while (holds_find(holds, 1))
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
        ck_assert_uint_eq(holds_count(holds), meant && !taken ? 1 : 0);
        if (!taken)
                end_process(pid);
        wait_for(0);
}

/* A process that ended counts as gone, however long its parent leaves it unreaped. */
TEST_RANGE(ended_and_not_waited_for, 0, 2)
{
        pid_t pid;

        make_rules(1);
        options.linger_usec = _i > 0 ? 1000 : 0;
        pid = follow_meant();
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
        wait_for_end();
        wait_for(0);
        follower_check(follower, pid);
        expect_left(0);
        ck_assert_uint_eq(n_changes, 2); /* one hold came, and went */
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* All processes are checked in batches, too, and none is left out. The test has the name that rules
 * mean only while it forks, so that its events lead to none of them. */
TEST_RANGE(all_some_at_a_time, 0, 2)
{
        enum { N = 300 };
        unsigned before = 0;
        pid_t pids[N];

        make_rules(1);
        options.children = _i > 0;
        start_apps();
        prctl(PR_SET_NAME, comm);
        for (int i = 0; i < N; i++)
                pids[i] = start_process();
        prctl(PR_SET_NAME, "check-apps");
        apps_rescan(apps);
        while (apps_error(apps) == 0 && before < N) {
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
                ck_assert_uint_lt(holds_count(holds) - before, N);
                before = holds_count(holds);
        }
        if (apps_error(apps) < 0)
                case_skip("all_some_at_a_time", NO_EVENTS);
        expect_left(before);
        end_all(pids, N);
}

/* Others have their turn, however much happens: events are handled some at a time. */
TEST(some_at_a_time)
{
        enum { N = 150 };
        pid_t pids[N];

        make_rules(1);
        start_apps();
        for (int i = 0; i < N; i++)
                pids[i] = start_meant(geteuid());
        if (apps_error(apps) == 0) {
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
                ck_assert_uint_lt(holds_count(holds), N);
                wait_for(N);
        } else {
                case_skip("some_at_a_time", NO_EVENTS);
        }
        end_all(pids, N);
}

UNIT("apps", .setup = setup, .teardown = teardown_apps, .timeout = 60)
