/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl: the verbs, and the way from the command line to an answer.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "client.h"
#include "options.h"

const Verb verbs[] = {
        { "status", "", "Show the daemon, the machine, and what is kept asleep",
          "Without the daemon the machine is watched for 0.2 s. ~ marks an estimate: a sleep that\n"
          "was still going on. - stands for what is not known.",
          0, 0, 0, status_ask, status_show },
        { "cpus", "", "Show every CPU: place, state, and how it spent its time",
          "Busy% and the idle states' shares add up to 100; the column of a state without % "
          "counts\n"
          "how often it was entered. Without --interval they are over the time since somebody "
          "last\n"
          "asked the daemon, or over 0.2 s without the daemon.",
          OPTION_INTERVAL, 0, 0, cpus_ask, cpus_show },
        { "why", "[CPU...]", "Say why CPUs are parked or not",
          "CPUs are numbers or lists such as 0-3,8.", OPTION_HISTORY, 0, INT_MAX, why_ask,
          why_show },
        { "policies", "", "Show what every policy wishes, and which are not at work", NULL, 0, 0, 0,
          policies_ask, policies_show },
        { "set", "SECTION KEY=VALUE...", "Change options while the daemon runs",
          "SECTION is one of idled.conf, or the name of a policy. An empty VALUE is that of the "
          "files.\n"
          "Either all are changed or none. What is set is forgotten when the daemon ends.\n"
          "  idlectl set userspace IdleMask=2-3",
          0, 2, INT_MAX, set_ask, set_show },
        { "profile", "[list | get | set NAME]", "Show the profiles, or choose one",
          "What is chosen is kept over restarts; auto chooses none, so that idled.conf decides.", 0,
          0, 2, profile_ask, profile_show },
        { "check", "[DIR]", "Check the configuration's files, without the daemon",
          "DIR stands for --config-dir. Every mistake is printed as FILE:LINE: what was found, "
          "what\n"
          "was expected.",
          0, 0, 1, check_ask, check_show },
        { "settings", "[SECTION]", "Show every option: value, source",
          "With a SECTION also default, meaning, and what is expected. Without the daemon: as the "
          "files say.",
          0, 0, 1, settings_ask, settings_show },
        { "verify", "", "Check that everything is as idled left it",
          "Exit status 1 if a knob is not, or if a daemon that is gone left something changed.", 0,
          0, 0, verify_ask, verify_show },
        { "hold", "", "Ask for latency, cores or frequency until interrupted",
          "The hold is in force when this says so, and ends with this process, however that ends,\n"
          "after --for, or with the process of --pid.\n"
          "  idlectl hold --latency 50us --for 10s",
          OPTIONS_HOLD | OPTION_PID | OPTION_FOR, 0, 0, hold_ask, NULL },
        { "run", "-- COMMAND...", "Run a command, and hold for as long as it runs",
          "The hold is for the CPUs that COMMAND may run on, and ends when COMMAND does, even if\n"
          "processes that it started go on. Exit status: that of COMMAND, 128 plus the number of\n"
          "the signal that ended it, 125 if the hold failed and COMMAND was not run, 126 if it\n"
          "cannot be executed, 127 if there is no such command.\n"
          "  idlectl run --latency 50us -- pw-record take.wav",
          OPTIONS_HOLD, 1, INT_MAX, run_ask, NULL, .mute = true },
        { "holds", "", "Show who holds what", NULL, 0, 0, 0, holds_ask, holds_show },
        { "dump", "", "Print everything, for a report",
          "Two outputs of --knobs are the same if nothing was changed in between.", OPTION_KNOBS, 0,
          0, dump_ask, dump_show },
        { 0 },
};

static int complain_text(const char *format, va_list arguments, const char *hint)
{
        g_autofree char *text = g_strdup_vprintf(format, arguments);
        g_autofree char *clean = text_fit(&(Screen){ 0 }, text, 0);

        return fprintf(stderr, "idlectl: %s%s\n", clean, hint);
}

int complain(const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        complain_text(format, arguments, "");
        va_end(arguments);
        return EXIT_FAILED;
}

int complain_usage(const Verb *verb, const char *format, ...)
{
        g_autofree char *hint = g_strdup_printf("; try \"idlectl %s%s--help\"",
                                                verb ? verb->name : "", verb ? " " : "");
        va_list arguments;

        va_start(arguments, format);
        complain_text(format, arguments, hint);
        va_end(arguments);
        return EXIT_USAGE;
}

/* NULL after a message. */
static const Verb *find_verb(const char *name)
{
        const char *names[G_N_ELEMENTS(verbs)] = { NULL }, *nearest;

        for (size_t i = 0; verbs[i].name; i++) {
                if (g_str_equal(verbs[i].name, name))
                        return &verbs[i];
                names[i] = verbs[i].name;
        }
        nearest = word_nearest(name, names);
        complain_usage(NULL, "found an unknown verb \"%s\"%s%s%s", name,
                       nearest ? " (did you mean " : "", nearest ? nearest : "",
                       nearest ? "?)" : "");
        return NULL;
}

static void print_json(json_object *answer)
{
        puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PRETTY |
                                                            JSON_C_TO_STRING_SPACED |
                                                            JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int run(Ctl *ctl, const Verb *verb)
{
        g_autoptr(json_object) answer = NULL;
        int status = EXIT_FINE;

        ctl->root = root_open(ctl->root_path ? ctl->root_path : "/");
        if (ctl->root < 0)
                return complain("%s: %s", ctl->root_path, g_strerror(-ctl->root));
        ctl->screen = screen_look(ctl->given & OPTION_NO_COLOUR);
        ctl->client = client_new(ctl);
        answer = verb->ask(ctl, &status);
        if (answer && ctl->given & OPTION_JSON)
                print_json(answer);
        else if (answer)
                verb->show(ctl, answer);
        client_free(ctl->client);
        fd_close(&ctl->root);
        return status;
}

/* Whoever reads may have had enough; all else that keeps the answer from arriving is a failure. */
static int finish_output(int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        return errno == EPIPE ? EXIT_FAILED : complain("standard output: %s", g_strerror(errno));
}

int main(int argc, char **argv)
{
        Ctl ctl = { .root = -1 };
        const Verb *verb = NULL;
        int status = options_parse(argc, argv, &ctl);

        log_set_target("null");
        if (status != EXIT_FINE)
                return status;
        if (ctl.n_args > 0) {
                verb = find_verb(ctl.args[0]);
                if (!verb)
                        return EXIT_USAGE;
                ctl.args++;
                ctl.n_args--;
        }
        if (ctl.given & OPTION_HELP)
                options_help(verb);
        else if (ctl.given & OPTION_VERSION)
                puts("idlectl " IDLED_VERSION);
        else
                status = options_check(&ctl, verb ? verb : verbs);
        if (status == EXIT_FINE && !(ctl.given & (OPTION_HELP | OPTION_VERSION)))
                status = run(&ctl, verb ? verb : verbs);
        return finish_output(status);
}
