/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command.
 *
 * Its counter of instructions belongs to the process and is inherited by those that it starts. The
 * kernel adds up what ended tasks had counted, and asks only CPUs that run one of them now.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "cli/verb.h"

#define PATIENCE_USEC (2 * G_USEC_PER_SEC)
#define POLL_USEC     5000

struct Workload {
        char *const *command;
        pid_t pid; /* 0: it does not run */
        int status;
        bool ended;  /* but workload_ended() has not reported it */
        int counter; /* of instructions; -1: none */
        int counter_error;
};

Workload *workload_new(char *const *command)
{
        Workload *workload = g_new0(Workload, 1);

        workload->command = command;
        workload->counter = -1;
        workload->counter_error = -ENOENT;
        return workload;
}

/* In the process that waits until it is counted. */
static void separate(const void *data)
{
        sigset_t none;
        int nothing;

        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing >= 0) {
                dup2(nothing, STDIN_FILENO);
                dup2(nothing, STDOUT_FILENO);
        }
}

static void open_counter(Workload *workload)
{
        struct perf_event_attr attr = {
                .type = PERF_TYPE_HARDWARE,
                .size = sizeof(attr),
                .config = PERF_COUNT_HW_INSTRUCTIONS,
                .disabled = 1,
                .enable_on_exec = 1,
                .inherit = 1,
                .exclude_kernel = 1, /* needs no privilege */
                .exclude_hv = 1,
        };

        fd_close(&workload->counter);
        workload->counter = (int)syscall(SYS_perf_event_open, &attr, workload->pid, -1, -1,
                                         PERF_FLAG_FD_CLOEXEC);
        workload->counter_error = workload->counter < 0 ? -errno : 0;
}

int workload_start(Workload *workload)
{
        const char *name = workload->command[0];
        Command command;
        int status, r = command_fork(&command, workload->command, separate, NULL);

        if (r < 0)
                return complain("%s cannot be started: %s", name, g_strerror(-r));
        workload->pid = command.pid;
        workload->ended = false;
        setpgid(workload->pid, workload->pid);
        open_counter(workload);
        status = command_exec(&command, name);
        workload->pid = command.pid;
        return status;
}

bool workload_runs(Workload *workload)
{
        int status;

        if (workload->pid <= 0)
                return false;
        if (waitpid(workload->pid, &status, WNOHANG) != workload->pid)
                return true;
        workload->status = command_status(status);
        kill(-workload->pid, SIGKILL); /* what it left running is no part of the next run */
        workload->pid = 0;
        workload->ended = true;
        return false;
}

bool workload_ended(Workload *workload)
{
        bool ended = !workload_runs(workload) && workload->ended;

        if (ended)
                workload->ended = false;
        return ended;
}

int workload_status(const Workload *workload)
{
        return workload->status;
}

int workload_instructions(const Workload *workload, uint64_t *ret_count)
{
        if (workload->counter < 0)
                return workload->counter_error;
        return read(workload->counter, ret_count, sizeof(*ret_count)) == sizeof(*ret_count) ? 0
                                                                                            : -EIO;
}

void workload_stop(Workload *workload)
{
        int64_t end = g_get_monotonic_time() + PATIENCE_USEC;

        if (workload_runs(workload)) {
                kill(-workload->pid, SIGTERM);
                kill(-workload->pid, SIGCONT);
        }
        while (workload_runs(workload)) {
                if (g_get_monotonic_time() >= end)
                        kill(-workload->pid, SIGKILL);
                g_usleep(POLL_USEC);
        }
        workload->ended = false;
}

void workload_free(Workload *workload)
{
        if (!workload)
                return;
        workload_stop(workload);
        fd_close(&workload->counter);
        g_free(workload);
}
