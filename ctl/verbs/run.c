/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl run: a command, and a hold for as long as it runs.
 *
 * The command's process exists before the hold, which is for that process: its CPUs are those that
 * count, and its end is that of the hold. It waits on a pipe until the hold is in effect and only
 * then becomes the command. What the command leaves running has no hold.
 *
 * Both are in one process group, as if the command had been started without us. What the terminal
 * sends, the kernel sends to both, and it is the command's business; a signal sent to us alone we
 * pass on. When the command is stopped so are we, that the shell sees it. All that begins when the
 * hold is in effect: until then signals do to both what they do to any program, because polkit may
 * ask for a password first.
 *
 * The parent process may ignore SIGCHLD, and we inherit that: the kernel would keep no exit status
 * for us then. The command gets it as it was found.
 */
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/observe.h"
#include "hold-options.h"
#include "systemd/unit-control.h"
#include "verbs.h"

/* As env(1), nice(1) and timeout(1) have it. */
#define EXIT_OURSELVES 125 /* we failed, and the command was not run */

typedef struct Run {
        Command command;
        int signals;            /* those that are sent to us */
        struct sigaction child; /* what SIGCHLD did when we were started */
} Run;

static bool also_without;

static const VerbOption run_options[] = {
        { "try", NULL, "without idled, or if it refuses the hold, run COMMAND anyway",
          .flag = &also_without },
        { 0 },
};

/* Passed on, but the first. */
static const int signals[] = { SIGCHLD, SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,  SIGUSR1,
                               SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH, 0 };

/* In the process that waits. */
static void restore_child_signal(const void *data)
{
        sigaction(SIGCHLD, &((const Run *)data)->child, NULL);
}

/* Reaps the command if it ended, and stops with it. True if it ended; then with its exit status. */
static bool reap_command(const Run *run, int *ret_status)
{
        int status;

        while (waitpid(run->command.pid, &status, WNOHANG | WUNTRACED) > 0) {
                if (WIFSTOPPED(status)) {
                        raise(SIGSTOP);
                        continue;
                }
                *ret_status = command_status(status);
                return true;
        }
        return false;
}

/* Does with a signal what it asks for. True if the command ended; then with its exit status. */
static bool handle_signal(const Run *run, int *ret_status)
{
        struct signalfd_siginfo info;

        if (read(run->signals, &info, sizeof(info)) != sizeof(info))
                return false;
        if (info.ssi_signo == SIGCHLD)
                return reap_command(run, ret_status);
        if (info.ssi_code <= 0) /* else it is from the kernel, and went to the whole group */
                kill(run->command.pid, (int)info.ssi_signo);
        return false;
}

/* Waits until the command ends, and returns its exit status. */
static int follow(const Run *run, int hold)
{
        struct pollfd fds[] = { { .fd = run->signals, .events = POLLIN }, { .fd = hold } };
        int status = EXIT_OURSELVES;

        if (reap_command(run, &status)) /* perhaps before signals were caught */
                return status;
        for (;;) {
                if (poll(fds, G_N_ELEMENTS(fds), -1) < 0)
                        continue;
                if (fds[0].revents) {
                        if (handle_signal(run, &status))
                                return status;
                } else if (fds[1].revents) {
                        if (reap_command(run, &status))
                                return status;
                        complain("the hold has ended, because it was released or idled exited; the "
                                 "command continues without it");
                        fds[1].fd = -1;
                }
        }
}

/* The command is not to be. Returns the exit status. */
static int give_up(Run *run)
{
        command_drop(&run->command);
        return EXIT_OURSELVES;
}

/* Gives the command a unit of its own, which a kind of cores is for. Failing is no error: the hold
 * then says what is not in effect. */
static void make_scope(const Ctl *ctl, const Command *command)
{
        g_autofree char *name = g_strdup_printf("idlectl-run-%d.scope", command->pid);
        g_autoptr(Units) units = units_new(NULL, ctl->bus);
        int r = units_start_scope(units, name, command->pid);

        if (r < 0)
                complain("systemd makes no scope for %s: %s", ctl->args[0], g_strerror(-r));
}

static int hold_and_run(Ctl *ctl, Run *run)
{
        g_autofree char *path = NULL, *error = NULL, *obstacle = NULL, *where = NULL;
        _fd_ int hold = -1;
        int status, r;

        hold_arguments.pid = (uint64_t)run->command.pid;
        if (hold_arguments.kind)
                make_scope(ctl, &run->command);
        if (client_hold(ctl->client, &hold_arguments, &path, &hold, &error) < 0) {
                hold_complain(error, also_without ? "; the command runs without a hold" : "");
                if (!also_without)
                        return give_up(run);
        }
        r = run->signals = signals_open(signals, NULL);
        if (r < 0) {
                complain("failed to wait for signals: %s", g_strerror(-r));
                return give_up(run);
        }
        if (path)
                obstacle = client_hold_text(ctl->client, path, "Obstacle");
        if (obstacle)
                complain("the hold is not fully in effect: %s", obstacle);
        else if (path && isatty(STDERR_FILENO) && (where = hold_where(ctl, path)))
                complain("the hold is in effect on %s", where);
        status = command_exec(&run->command, ctl->args[0]);
        return status == EXIT_FINE ? follow(run, hold) : status;
}

static int run_ask(Ctl *ctl, json_object **ret_answer)
{
        const struct sigaction usual = { .sa_handler = SIG_DFL };
        Run run = { .signals = -1 };
        int r, status = EXIT_OURSELVES;

        sigaction(SIGCHLD, &usual, &run.child);
        r = command_fork(&run.command, ctl->args, restore_child_signal, &run);
        if (!hold_arguments.reason)
                hold_arguments.reason = ctl->args[0];
        if (r < 0)
                complain("%s cannot be started: %s", ctl->args[0], g_strerror(-r));
        else
                status = hold_and_run(ctl, &run);
        fd_close(&run.signals);
        return status;
}

const Verb verb_run = {
        .name = "run",
        .arguments = "COMMAND...",
        .summary = "Run a command, and hold while it runs",
        .help = "The hold applies to the CPUs that COMMAND may run on. It ends with COMMAND, "
                "even\n"
                "if processes that COMMAND started continue. Exit status: that of COMMAND; 128\n"
                "plus the number of the signal that ended it; 125 if the hold failed and "
                "COMMAND\n"
                "was not run; 126 if COMMAND cannot be executed; 127 if it does not exist.\n"
                "  idlectl run --latency 50us pw-record take.wav",
        .options = { hold_options, run_options },
        .check = hold_options_check,
        .min_args = 1,
        .max_args = INT_MAX,
        .ask = run_ask,
        .command = true,
        .mute = true,
};
