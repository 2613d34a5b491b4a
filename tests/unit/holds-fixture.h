/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tests of holds share: holds on this machine's processes, and processes to hold for.
 */
#ifndef IDLED_TESTS_HOLDS_FIXTURE_H
#define IDLED_TESTS_HOLDS_FIXTURE_H

#include <dirent.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "holds/holds.h"
#include "table.h"

/* So soon, so that a test need not wait. */
#define FOLLOW_USEC 20000

static sd_event *event;
static Holds *holds;
static CpuSet online;
static int root = -1;
static unsigned n_changes, n_ended;
__attribute__((unused)) static uint64_t last_ended;

static void on_change(bool moved, void *userdata)
{
        n_changes++;
}

static void on_ended(const Held *held, void *userdata)
{
        n_ended++;
        last_ended = held->id;
}

static void setup(void)
{
        g_autofree char *text = NULL;

        root = root_open("/");
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(file_read(root, "sys/devices/system/cpu/online", &text), 0);
        ck_assert_int_ge(cpuset_parse(text, &online), 0);
        holds = holds_new(event, root, &online, FOLLOW_USEC, on_change, NULL);
        n_changes = n_ended = 0;
}

static void teardown(void)
{
        holds_free(holds);
        sd_event_unref(event);
        close(root);
}

__attribute__((unused)) static HoldRequest request(void)
{
        HoldRequest r = HOLD_REQUEST_NONE;

        r.owner = "a test";
        r.reason = "to see it";
        r.latency_us = 50;
        r.calls.ended = on_ended;
        return r;
}

__attribute__((unused)) static uint64_t add(const HoldRequest *r, int *ret_fd)
{
        uint64_t id;

        ck_assert_int_eq(holds_add(holds, r, ret_fd, &id), 0);
        return id;
}

/* Runs the loop until so many holds are left; fails if nothing happens for long. */
__attribute__((unused)) static void wait_for(unsigned left)
{
        while (holds_count(holds) != left)
                ck_assert_int_gt(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
}

/* What is waiting in the loop is done, and so many holds are left. */
__attribute__((unused)) static void expect_left(unsigned left)
{
        while (sd_event_run(event, 0) > 0)
                continue;
        ck_assert_uint_eq(holds_count(holds), left);
}

/* A process of a user that waits until it is killed; it ends with the test. */
__attribute__((unused)) static pid_t start_process_of(uid_t uid)
{
        pid_t pid = fork();

        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
                if (uid != geteuid() && setresuid(uid, uid, uid) < 0)
                        _exit(1);
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                pause();
                _exit(0);
        }
        return pid;
}

__attribute__((unused)) static pid_t start_process(void)
{
        return start_process_of(geteuid());
}

/* A child with a number of our choice; negative if another process has it or we may not choose. */
__attribute__((unused)) static pid_t start_with_number(pid_t number)
{
        struct clone_args args = { .exit_signal = SIGCHLD,
                                   .set_tid = (uintptr_t)&number,
                                   .set_tid_size = 1 };
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

        if (pid == 0) {
                pause();
                _exit(0);
        }
        return pid;
}

__attribute__((unused)) static void end_process(pid_t pid)
{
        kill(pid, SIGKILL);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* The last holds end with these processes. */
__attribute__((unused)) static void end_all(const pid_t *pids, size_t n)
{
        for (size_t i = 0; i < n; i++)
                end_process(pids[i]);
        wait_for(0);
}

__attribute__((unused)) static void end_last(pid_t pid)
{
        end_all(&pid, 1);
}

__attribute__((unused)) static unsigned count_descriptors(void)
{
        DIR *dir = opendir("/proc/self/fd");
        unsigned n = 0;

        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

#endif
