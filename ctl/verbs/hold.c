/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl hold: requests something, and keeps the hold until idlectl is interrupted, for a time,
 * or until the process of --pid ends.
 *
 * The descriptor from idled is the hold, and closes when this process ends for any reason. If idled
 * ends or the hold is released, the descriptor hangs up, and idlectl fails. At the end of the
 * process of --pid the descriptor also hangs up, but idlectl succeeds: a pidfd shows the
 * difference. Until the hold is in effect, signals have their default effect: polkit may ask for a
 * password.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/client.h"
#include "cli/observe.h"
#include "hold-options.h"
#include "verbs.h"

/* The signals by which people and services end a program. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP, 0 };

/* The hold hung up before its time. */
static int complain_over(Ctl *ctl)
{
        client_forget(ctl->client);
        return complain("the hold is over: %s",
                        client_manager(ctl->client) ? "it was released" : "idled ended");
}

/* Waits for a signal, the end of the time or of the process, or that of the hold, which is a
 * failure. */
static int keep(Ctl *ctl, int hold, int signals, int process)
{
        struct pollfd fds[] = { { .fd = signals, .events = POLLIN },
                                { .fd = process, .events = POLLIN },
                                { .fd = hold } };
        uint64_t for_usec = hold_arguments.for_usec;
        uint64_t end = for_usec ? clock_usec(CLOCK_MONOTONIC) + for_usec : 0; /* 0: never */
        struct timespec left;
        int r;

        do {
                uint64_t now = clock_usec(CLOCK_MONOTONIC);

                left = timespec_of(end > now ? (end - now) * 1000 : 0);
                r = ppoll(fds, G_N_ELEMENTS(fds), end ? &left : NULL, NULL);
        } while (r < 0 && errno == EINTR);
        if (r < 0)
                return complain("cannot wait: %s", g_strerror(errno));
        if (fds[2].revents && !fds[0].revents && !fds[1].revents)
                return complain_over(ctl);
        return EXIT_FINE;
}

static void report(const Ctl *ctl, const char *path)
{
        g_autoptr(json_object) answer = json_object_new_object();
        g_autofree char *obstacle = client_hold_text(ctl->client, path, "Obstacle");
        g_autofree char *where = hold_where(ctl, path), *on = NULL;
        const char *id = strrchr(path, '/');

        if (ctl->json) {
                json_put_text(answer, "hold", path);
                json_put_text(answer, "on", where);
                json_put_text_any(answer, "obstacle", obstacle ? obstacle : "");
                json_print(answer, JSON_C_TO_STRING_SPACED);
        } else {
                on = where ? g_strconcat(" on ", where, NULL) : NULL;
                printf("Hold %s is %s%s%s\n", id ? id + 1 : path,
                       obstacle ? "not fully in effect: " : "in effect",
                       obstacle ? obstacle
                       : on     ? on
                                : "",
                       hold_arguments.for_usec ? "." : "; interrupt to end it.");
        }
        fflush(stdout);
}

static int hold_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autofree char *path = NULL, *error = NULL;
        _fd_ int process = -1, signals = -1, hold = -1;

        /* Readable when the process has ended; -1 where the kernel has no such descriptors. */
        if (hold_arguments.pid)
                process = (int)syscall(SYS_pidfd_open, (pid_t)hold_arguments.pid, 0);
        if (client_hold(ctl->client, &hold_arguments, &path, &hold, &error) < 0)
                return hold_complain(error, "");
        signals = signals_open(ends, NULL);
        if (signals < 0)
                return complain("failed to wait for signals: %s", g_strerror(-signals));
        report(ctl, path);
        return keep(ctl, hold, signals, process);
}

const Verb verb_hold = {
        .name = "hold",
        .summary = "Request latency, cores or frequency until interrupted",
        .help = "The hold is in effect once idlectl prints it. It ends when idlectl ends for "
                "any\n"
                "reason, after --for, or with the process of --pid.\n"
                "  idlectl hold --latency 50us --for 10s",
        .options = { hold_options, hold_end_options },
        .check = hold_options_check,
        .ask = hold_ask,
};
