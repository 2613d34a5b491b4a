/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holds for processes: followed as long as they live, and ended with them. On real ones. */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

/* Before what shadows a name of it. */
#include "machine.h"

#include "holds-fixture.h"

TEST(bound_to_a_process)
{
        HoldRequest r = request();
        pid_t pid = start_process(), other = start_process();
        int fds[2];

        r.pid = pid;
        r.bound = true;
        add(&r, &fds[0]);
        r.pid = other;
        add(&r, &fds[1]);
        end_process(pid);
        wait_for(1);
        ck_assert_uint_eq(n_ended, 1);
        close(fds[1]);
        wait_for(0);
        close(fds[0]);
        end_process(other);
        expect_left(0);
}

/* A hold is for a process without ending with it: the descriptor counts. */
TEST(outlives_its_process)
{
        HoldRequest r = request();
        CpuSet before;
        int fd;

        r.pid = start_process();
        add(&r, &fd);
        before = holds_hold(holds_nth(holds, 0))->cpus;
        end_process(r.pid);
        expect_left(1);
        ck_assert(!holds_follow(holds, &online, UINT64_MAX));
        ck_assert(cpuset_equal(&holds_hold(holds_nth(holds, 0))->cpus, &before));
        close(fd);
        wait_for(0);
}

static int pidfd_of(pid_t pid)
{
        return (int)syscall(SYS_pidfd_open, pid, 0);
}

TEST(refused)
{
        HoldRequest r = request();
        pid_t gone = start_process();
        int pidfd = pidfd_of(gone);
        uint64_t id;

        end_process(gone);
        r.pid = gone;
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), -ESRCH);
        r.pid = getpid();
        r.pidfd = pidfd;
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), -ESRCH);
        close(pidfd);
        r.pidfd = root;
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), -EBADF);
        r.pidfd = -1;
        r.uid = getuid() + 1;
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), -EPERM);
        ck_assert_uint_eq(holds_count(holds), 0);
        ck_assert_uint_eq(n_changes, 0);
}

/* Another process has the number of one that ended before the kernel reports the end. */
TEST(number_used_again)
{
        HoldRequest r = request();
        pid_t pid = start_process();
        uint64_t first, second;

        r.bound = true;
        r.pid = pid;
        first = add(&r, NULL);
        end_process(pid);
        if (start_with_number(pid) < 0) {
                case_skip("number_used_again", "the number of a process cannot be chosen");
                return;
        }
        second = add(&r, NULL);
        wait_for(1);
        ck_assert_uint_eq(last_ended, first);
        expect_left(1);
        end_last(pid);
        ck_assert_uint_eq(last_ended, second);
}

static void bind_to(pid_t pid, int cpu)
{
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        ck_assert_int_eq(sched_setaffinity(pid, sizeof(set), &set), 0);
}

/* The first two CPUs; false, and the case is skipped: there is nowhere to go, or an emulator adds a
 * thread to each process, which is not bound with it. */
static bool find_two(const char *name, int ret_cpus[2])
{
        struct stat threads;

        ck_assert_int_eq(stat("/proc/self/task", &threads), 0);
        if (threads.st_nlink > 2 + 1) {
                case_skip(name, "an emulator has threads of its own");
                return false;
        }
        ret_cpus[0] = cpuset_next(&online, -1);
        ret_cpus[1] = cpuset_next(&online, ret_cpus[0]);
        if (ret_cpus[1] < 0)
                case_skip(name, "needs two CPUs");
        return ret_cpus[1] >= 0;
}

/* A process that may run on the first CPU only, and a hold for it. NULL as find_two(). */
static const Hold *hold_of_bound(const char *name, pid_t *ret_pid, int ret_cpus[2])
{
        HoldRequest r = request();

        if (!find_two(name, ret_cpus))
                return NULL;
        *ret_pid = r.pid = start_process();
        bind_to(r.pid, ret_cpus[0]);
        add(&r, NULL);
        return holds_hold(holds_nth(holds, 0));
}

TEST(follows_its_process)
{
        int cpus[2];
        pid_t pid;
        const Hold *hold = hold_of_bound("follows_its_process", &pid, cpus);

        if (!hold)
                return;
        ck_assert_int_eq(cpuset_next(&hold->cpus, -1), cpus[0]);
        ck_assert_int_eq(cpuset_count(&hold->cpus), 1);
        bind_to(pid, cpus[1]);
        ck_assert(holds_follow(holds, &online, (uint64_t)g_get_monotonic_time()));
        ck_assert_int_eq(cpuset_next(&hold->cpus, -1), cpus[1]);
        bind_to(pid, cpus[0]);
        ck_assert(!holds_follow(holds, &online, (uint64_t)g_get_monotonic_time())); /* too soon */
        holds_recheck(holds);
        ck_assert(holds_follow(holds, &online, (uint64_t)g_get_monotonic_time()));
        ck_assert_int_eq(cpuset_count(&hold->cpus), 1);
}

static void put_cpus(const Tree *tree, pid_t pid, const char *cpus)
{
        g_autofree char *path = g_strdup_printf("proc/%d/status", pid);
        g_autofree char *text = g_strdup_printf("Name:\tx\nThreads:\t1\nCpus_allowed_list:\t%s\n",
                                                cpus);

        tree_put(tree, path, text);
}

static void expect_cpus(const Hold *hold, const char *expected)
{
        g_autofree char *cpus = cpuset_format(&hold->cpus);

        ck_assert_str_eq(cpus, expected);
}

/* A hold of a unit is about the CPUs of all processes of the unit, wherever its own is bound to. */
TEST(follows_its_unit)
{
        const pid_t other = 5000000; /* more than the kernel gives */
        HoldRequest r = request();
        CpuSet eight = { 0 };
        g_autoptr(GString) many = g_string_new(NULL);
        g_auto(Tree) tree = tree_make();
        Holds *own;
        uint64_t id;

        cpuset_add_range(&eight, 0, 7);
        r.pid = start_process();
        tree_put(&tree, "sys/fs/cgroup/cgroup.procs", "");
        tree_put(&tree, "sys/fs/cgroup/a.service/below/cgroup.procs", "5000000\n");
        put_cpus(&tree, r.pid, "1");
        put_cpus(&tree, other, "4-5");
        own = holds_new(event, tree.root, &eight, FOLLOW_USEC, on_change, NULL);
        ck_assert_int_eq(holds_add(own, &r, NULL, &id), 0);
        r.cgroup = "/a.service";
        ck_assert_int_eq(holds_add(own, &r, NULL, &id), 0);
        expect_cpus(holds_hold(holds_nth(own, 0)), "1");
        expect_cpus(holds_hold(holds_nth(own, 1)), "1,4-5");
        put_cpus(&tree, other, "6-9");
        holds_recheck(own);
        ck_assert(holds_follow(own, &eight, (uint64_t)g_get_monotonic_time()));
        expect_cpus(holds_hold(holds_nth(own, 1)), "1,6-7");
        for (int i = 0; i < 1100; i++)
                g_string_append(many, "5000000\n");
        tree_put(&tree, "sys/fs/cgroup/a.service/many/cgroup.procs", many->str);
        holds_recheck(own);
        ck_assert(holds_follow(own, &eight, (uint64_t)g_get_monotonic_time()));
        expect_cpus(holds_hold(holds_nth(own, 1)), "0-7"); /* too many to be read */
        holds_free(own);
}

/* Holds follow a process to its CPUs by themselves, without the manager's ticks. */
TEST(followed_by_itself)
{
        int cpus[2];
        pid_t pid;
        const Hold *hold = hold_of_bound("followed_by_itself", &pid, cpus);

        if (!hold)
                return;
        for (int i = 0; i < 4; i++) {
                int cpu = cpus[(i + 1) % 2];
                unsigned before = n_changes;

                bind_to(pid, cpu);
                while (!cpuset_has(&hold->cpus, cpu))
                        ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
                ck_assert_int_eq(cpuset_count(&hold->cpus), 1);
                ck_assert_uint_eq(n_changes, before + 1);
        }
}

static const struct {
        const char *name;
        bool process, gone, named;
        int32_t latency_us;
        uint32_t min_khz;
        bool woken;
} wakers[] = {
        { "a process with a short latency", true, false, false, 50, 0, true },
        { "a process with a high frequency", true, false, false, -1, 800000, true },
        { "a process that is no more", true, true, false, 50, 0, false },
        { "a process with CPUs that were named", true, false, true, 50, 0, false },
        { "a process that asks for something else", true, false, false, -1, 0, false },
        { "no process", false, false, false, 50, 0, false },
};

/* Holds wake up only if a process's CPUs can change and its request depends on them. */
TEST_EACH(wakes_up, wakers)
{
        HoldRequest r = request();
        uint64_t id;

        r.pid = c->process ? start_process() : 0;
        r.cpus = c->named ? &online : NULL;
        r.latency_us = c->latency_us;
        r.min_khz = c->min_khz;
        r.min_cores = 1;
        id = add(&r, NULL);
        if (c->gone) {
                end_process(r.pid);
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
                while (sd_event_run(event, 10 * FOLLOW_USEC) > 0)
                        continue;
        }
        ck_case(c->name, (sd_event_run(event, 10 * FOLLOW_USEC) > 0) == c->woken, "woken or not");
        ck_assert_int_eq(holds_remove(holds, id), 0);
        ck_case(c->name, sd_event_run(event, 10 * FOLLOW_USEC) == 0, "woken without a hold");
}

/* A new hold of the same process says where that runs now, for its other holds, too. */
TEST(rechecked)
{
        HoldRequest r = request();
        const Hold *list;
        int cpus[2];

        if (!find_two("rechecked", cpus))
                return;
        r.pid = start_process();
        bind_to(r.pid, cpus[0]);
        ck_assert_int_eq(holds_remove(holds, add(&r, NULL)), 0);
        bind_to(r.pid, cpus[1]);
        add(&r, NULL);
        bind_to(r.pid, cpus[0]);
        add(&r, NULL);
        ck_assert_uint_eq(holds_list(holds, &list), 2);
        for (int i = 0; i < 2; i++) {
                ck_assert_int_eq(cpuset_count(&list[i].cpus), 1);
                ck_assert(cpuset_has(&list[i].cpus, cpus[0]));
        }
}

static void *stay(void *userdata)
{
        bind_to(0, *(int *)userdata);
        if (write(((int *)userdata)[1], "", 1) == 1)
                pause();
        return NULL;
}

/* Threads that are bound to different CPUs: the hold is about all of them. */
TEST(all_threads)
{
        HoldRequest r = request();
        int cpus[2], ready[2];
        char byte;

        if (!find_two("all_threads", cpus))
                return;
        ck_assert_int_eq(pipe(ready), 0);
        r.pid = fork();
        if (r.pid == 0) {
                int where[] = { cpus[1], ready[1] };
                pthread_t thread;

                bind_to(0, cpus[0]);
                pthread_create(&thread, NULL, stay, where);
                pthread_join(thread, NULL);
                _exit(0);
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        add(&r, NULL);
        ck_assert_int_eq(cpuset_count(&holds_hold(holds_nth(holds, 0))->cpus), 2);
        end_process(r.pid);
        close(ready[0]);
        close(ready[1]);
}

/* Processes that hold nothing any more are not known for ever. */
TEST(rests)
{
        unsigned before = count_descriptors(), during;
        HoldRequest r = request();
        pid_t pids[64];

        for (size_t i = 0; i < G_N_ELEMENTS(pids); i++) {
                r.pid = pids[i] = start_process();
                ck_assert_int_eq(holds_remove(holds, add(&r, NULL)), 0);
        }
        during = count_descriptors();
        ck_assert_uint_le(during, before + 16);
        for (size_t i = 0; i < G_N_ELEMENTS(pids); i++)
                end_process(pids[i]);
        expect_left(0);
        ck_assert_uint_eq(count_descriptors(), before);
}

/* A callback may end others, also those that would have ended next. */
static void end_another(const Held *held, void *userdata)
{
        uint64_t *other = userdata;

        n_ended++;
        holds_remove(holds, *other);
}

TEST(ended_in_a_callback)
{
        HoldRequest r = request();
        uint64_t ids[3];

        r.pid = start_process();
        r.bound = true;
        r.calls.ended = end_another;
        for (int i = 0; i < 3; i++) {
                r.calls.userdata = &ids[(i + 1) % 3];
                ids[i] = add(&r, NULL);
        }
        end_process(r.pid);
        wait_for(0);
        ck_assert_uint_ge(n_ended, 1);
        ck_assert_uint_le(n_ended, 2);
}

UNIT("holds-process", .setup = setup, .teardown = teardown, .timeout = 60)
