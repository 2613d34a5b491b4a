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
#include "client.h"
#include "control.h"
#include "hold-options.h"
#include "holds-measure.h"
#include "metrics.h"
#include "options.h"
#include "output.h"
#include "record.h"
#include "price.h"
#include "report.h"
#include "sleeps.h"

static int take_history(Ctl *ctl, const char *text)
{
        ctl->history = true;
        return EXIT_FINE;
}

static int take_knobs(Ctl *ctl, const char *text)
{
        ctl->knobs = true;
        return EXIT_FINE;
}

static const VerbOption why_options[] = {
        { "history", NULL, "show the last changes, and how long CPUs were parked", take_history },
        { 0 },
};

static const VerbOption dump_options[] = {
        { "knobs", NULL, "only PATH<TAB>VALUE of all that idled could change", take_knobs },
        { 0 },
};

static const Verb verbs[] = {
        { .name = "status",
          .arguments = "",
          .summary = "Show the daemon, the machine, and what is kept asleep",
          .help = "Without the daemon the machine is measured for 0.2 s. ~ marks an estimate: a\n"
                  "sleep that had not ended. - stands for what is not known.",
          .ask = status_ask,
          .show = status_show },
        { .name = "top",
          .arguments = "[COMMAND...]",
          .summary = "Show how CPUs spend their time, and the power",
          .help = "The shares of a row, Busy% and one for each idle state, add up to 100. NAME+ "
                  "and\n"
                  "NAME- count sleeps for which a state was too deep, or too shallow. ~ marks an\n"
                  "estimate, - a value that is not known. Longest is a lower bound. On a "
                  "terminal:\n"
                  "q quits, arrows scroll, s selects the column to sort by, r reverses the order.\n"
                  "With a COMMAND, idlectl measures while COMMAND runs, prints the result to\n"
                  "standard error, and exits with the status of COMMAND.\n"
                  "  idlectl top make -j8",
          .options = { interval_option, top_options, output_option },
          .check = top_check,
          .max_args = INT_MAX,
          .ask = top_ask,
          .command = true,
          .mute = true },
        { .name = "cpus",
          .arguments = "",
          .summary = "Show every CPU: place, state, and how it spent its time",
          .help = "Busy% and the idle states' shares add up to 100; the column of a state without\n"
                  "% counts how often it was entered. Without --interval they cover the time "
                  "since\n"
                  "the daemon was last asked, or 0.2 s without the daemon.",
          .options = { interval_option },
          .ask = cpus_ask,
          .show = cpus_show },
        { .name = "why",
          .arguments = "[CPU...]",
          .summary = "Say why CPUs are parked or not",
          .help = "CPUs are numbers or lists such as 0-3,8.",
          .options = { why_options },
          .max_args = INT_MAX,
          .ask = why_ask,
          .show = why_show },
        { .name = "policies",
          .arguments = "",
          .summary = "Show what every policy requests, and which are not active",
          .ask = policies_ask,
          .show = policies_show },
        { .name = "set",
          .arguments = "SECTION KEY=VALUE...",
          .summary = "Change options while the daemon runs",
          .help = "SECTION is a section of idled.conf or the name of a policy. An empty VALUE\n"
                  "restores the value of the files. Either all options change or none. Changes "
                  "are\n"
                  "lost when the daemon ends, but for --save, which takes root.\n"
                  "  idlectl set userspace IdleMask=2-3\n"
                  "  idlectl set ondemand MinCores=2 --save",
          .options = { set_options },
          .min_args = 2,
          .max_args = INT_MAX,
          .ask = set_ask,
          .show = set_show },
        { .name = "profile",
          .arguments = "[list | get | [set] NAME]",
          .summary = "Show the profiles, or choose one",
          .help = "The choice is kept over restarts; auto removes it, so that idled.conf decides.",
          .max_args = 2,
          .ask = profile_ask,
          .show = profile_show },
        { .name = "pause",
          .arguments = "",
          .summary = "Restore the machine until idlectl resume",
          .help = "The pause outlives idlectl. It ends with idlectl resume, after --for, or when\n"
                  "the daemon ends. A second pause of the same user replaces the first.\n"
                  "  idlectl pause --for 10min --reason \"a benchmark\"",
          .options = { pause_options },
          .ask = pause_ask,
          .show = pause_show },
        { .name = "resume",
          .arguments = "",
          .summary = "End the pauses of idlectl pause",
          .help = "Exit status 1 if programs still pause idled: their pauses end with them.",
          .ask = resume_ask,
          .show = resume_show },
        { .name = "reload",
          .arguments = "",
          .summary = "Have the daemon read its configuration again",
          .help = "With any error in the files the running configuration stays in effect.",
          .ask = reload_ask,
          .show = reload_show },
        { .name = "check",
          .arguments = "[DIR]",
          .summary = "Check the configuration's files, without the daemon",
          .help = "DIR stands for --config-dir. Every error is printed as FILE:LINE: what was\n"
                  "found, what was expected.",
          .max_args = 1,
          .ask = check_ask,
          .show = check_show },
        { .name = "settings",
          .arguments = "[SECTION]",
          .summary = "Show every option: value, source",
          .help = "With a SECTION also default, meaning, and what is expected. Without the "
                  "daemon:\n"
                  "as in the files.",
          .max_args = 1,
          .ask = settings_ask,
          .show = settings_show },
        { .name = "verify",
          .arguments = "",
          .summary = "Check that every knob is as idled left it",
          .help = "Exit status 1 if a knob is not, or if a daemon that ended left one changed.",
          .ask = verify_ask,
          .show = verify_show },
        { .name = "hold",
          .arguments = "",
          .summary = "Ask for latency, cores or frequency until interrupted",
          .help = "The hold is active once this is printed. It ends with this process, however "
                  "that\n"
                  "ends, after --for, or with the process of --pid.\n"
                  "  idlectl hold --latency 50us --for 10s",
          .options = { hold_options, hold_end_options },
          .check = hold_options_check,
          .ask = hold_ask },
        { .name = "run",
          .arguments = "COMMAND...",
          .summary = "Run a command, and hold for as long as it runs",
          .help = "The hold is for the CPUs that COMMAND may run on, and ends when COMMAND does,\n"
                  "even if processes that it started go on. Exit status: that of COMMAND, 128 "
                  "plus\n"
                  "the number of the signal that ended it, 125 if the hold failed and COMMAND was\n"
                  "not run, 126 if it cannot be executed, 127 if there is no such command.\n"
                  "  idlectl run --latency 50us pw-record take.wav",
          .options = { hold_options },
          .check = hold_options_check,
          .min_args = 1,
          .max_args = INT_MAX,
          .ask = run_ask,
          .command = true,
          .mute = true },
        { .name = "holds",
          .arguments = "",
          .summary = "Show the holds and their owners",
          .help = "With --measure also the wake-up latency that the CPUs of each hold had within\n"
                  "10 s, Late, how often it was above the hold's limit, and Costs, the power that\n"
                  "these CPUs would save without it, estimated by a power table. That needs root,\n"
                  "or polkit's consent.",
          .options = { holds_options, sleeps_seconds_option, price_option },
          .check = holds_check,
          .ask = holds_ask,
          .show = holds_show },
        { .name = "replay",
          .arguments = "TRACE...",
          .summary = "Show how idle governors do with recorded idle periods",
          .help = "Correct% is how often a governor chose the deepest state that paid and kept to\n"
                  "the latency limit; Energy is that of its choices, by that of those. A TRACE of "
                  "-\n"
                  "is standard input. Governors: ladder, menu-6.1, menu-6.12, teo-6.1, teo-6.12,\n"
                  "teo-6.18, teo-util, learned, weighted:BASE, history:BASE, omniscient, "
                  "timer-only,\n"
                  "fixed:N.\n"
                  "  idlectl replay --table laptop.tbl --governor menu-6.12,teo-6.18 trace.csv.xz",
          .options = { replay_options },
          .check = replay_check,
          .min_args = 1,
          .max_args = INT_MAX,
          .ask = replay_ask,
          .show = replay_show },
        { .name = "advise",
          .arguments = "TRACE... | --record SECONDS",
          .summary = "Show which governor and limit suit recorded idle periods",
          .help = "Replays the kernel's governors with every limit on idle states, and prints the\n"
                  "commands that apply the best. Energy is relative to the candidate that needs\n"
                  "least. Among candidates that need about the same energy, the best has the\n"
                  "shortest exit latency. With --apply or --save cstates uses it.\n"
                  "  idlectl advise --table laptop.tbl --latency 100us trace.csv.xz",
          .options = { advise_options },
          .check = advise_check,
          .max_args = INT_MAX,
          .ask = advise_ask,
          .show = advise_show },
        { .name = "record",
          .arguments = "FILE [-- COMMAND...] | --idle FILE [-- COMMAND...]",
          .summary = "Record what the machine and idled do",
          .help = "Samples load, idle states, frequencies, power, and idled's plan, holds and\n"
                  "transitions every second (--interval), until interrupted, for --seconds, or "
                  "while\n"
                  "COMMAND runs. With --max-size or --max-age an existing FILE is continued. With "
                  "--idle\n"
                  "it writes every idle period of every CPU as CSV, for 10 s; that needs root.\n"
                  "  idlectl record a.rec --seconds 60 -- make -j8",
          .options = { interval_option, sleeps_seconds_option, record_options },
          .check = record_check,
          .max_args = INT_MAX,
          .ask = record_ask,
          .show = record_show },
        { .name = "export",
          .arguments = "FILE",
          .summary = "Print a recording as CSV or for Perfetto",
          .help = "FILE is one that idlectl record or idled wrote; - is standard input. CSV has a "
                  "line\n"
                  "for each value. A trace for Perfetto can be opened in ui.perfetto.dev. Exit "
                  "status 1\n"
                  "if nothing could be read; what is damaged is left out with a message.\n"
                  "  idlectl export --format perfetto a.rec > a.json",
          .options = { export_options },
          .min_args = 1,
          .max_args = 1,
          .ask = export_ask,
          .mute = true },
        { .name = "diff",
          .arguments = "A B",
          .summary = "Show what differs between two recordings",
          .help = "Compares the means of every metric. A difference is real if chance makes one\n"
                  "among all of them as large in at most 5 % of such comparisons; correlation in "
                  "time\n"
                  "is taken into account. Exit status: 0 if no difference is real, 1 if one is, 2 "
                  "if\n"
                  "the recordings cannot be compared.\n"
                  "  idlectl diff before.rec after.rec",
          .min_args = 2,
          .max_args = 2,
          .ask = diff_ask,
          .show = diff_show },
        { .name = "report",
          .arguments = "--output FILE RECORDING...",
          .summary = "Write a page with plots of recordings",
          .help = "The page is one HTML file: parked CPUs over load, idle states, power, what was\n"
                  "saved, wake-ups, and events with their reasons. Several recordings, 8 at most,\n"
                  "stand next to each other.\n"
                  "  idlectl report --output monday.html monday.rec",
          .options = { report_options },
          .check = report_check,
          .min_args = 1,
          .max_args = REPORT_MOST,
          .ask = report_ask,
          .show = report_show },
        { .name = "sleeps",
          .arguments = "[-- COMMAND...]",
          .summary = "Show how long CPUs sleep, and what ends their sleeps",
          .help = "Measures for 10 s. With a COMMAND, measures while COMMAND runs, prints the "
                  "result\n"
                  "to standard error, and exits with the status of COMMAND. Ctrl-C ends the\n"
                  "measurement and prints the result. Lost is by how much the sleeps were shorter\n"
                  "than the target residency of the deepest state that is permitted. Energy is "
                  "the\n"
                  "cost of that, by a power table. Asleep is the length of a sleep that has not\n"
                  "ended. Needs root or idled; otherwise it shows the kernel's counters.\n"
                  "  idlectl sleeps --cpus 2-3 --seconds 60",
          .options = { sleeps_seconds_option, sleeps_options, price_option, output_option },
          .max_args = INT_MAX,
          .ask = sleeps_ask,
          .show = sleeps_show,
          .command = true },
        { .name = "release",
          .arguments = "ID",
          .summary = "End a hold",
          .help = "ID is the number that idlectl holds shows. Only root may end the holds of "
                  "others.",
          .min_args = 1,
          .max_args = 1,
          .ask = release_ask,
          .show = release_show },
        { .name = "latency",
          .arguments = "",
          .summary = "Measure wake-up latency, and power next to it",
          .help = "Threads on all CPUs (--cpus) repeatedly sleep for 1ms, 100us and 10us\n"
                  "(--interval). Latency is how much later they run. Overrun% is the share of\n"
                  "wake-ups that were left out, because the thread was still awake. --sweep\n"
                  "measures under several settings: governor, epp, latency, dma-latency, states "
                  "or\n"
                  "profile, each with all values of this machine or those listed. idlectl "
                  "restores\n"
                  "all of them, also after a signal. ~ marks power that is estimated.\n"
                  "  idlectl latency --sweep governor --sweep latency=0,50us --plot page.html",
          .options = { latency_options },
          .check = latency_check,
          .ask = latency_ask,
          .show = latency_show },
        { .name = "estimate",
          .arguments = "",
          .summary = "Estimate power from idle states and a power table",
          .help = "The idle states are those of this machine during --interval (1s), or of\n"
                  "turbostat's output. NAME is a table such as coreidle; without --power it is\n"
                  "that of this machine, which --fit --output /etc/idled/power/machine.conf "
                  "makes.\n"
                  "--fit runs a load of its own and needs RAPL.\n"
                  "  idlectl estimate --turbostat table.txt --power coreidle",
          .options = { interval_option, estimate_options },
          .check = estimate_check,
          .ask = estimate_ask,
          .show = estimate_show },
        { .name = "prove",
          .arguments = "[-- COMMAND...]",
          .summary = "Measure whether one setting draws less than another",
          .help = "Switches between the two in blocks of random order, and compares power, energy\n"
                  "per work and waiting, each with a 95 % interval. Exit status: 0 if the second\n"
                  "setting was shown to save energy, 1 if not, 3 after an error. All settings are\n"
                  "restored, however idlectl ends. With a COMMAND, energy per run of it.\n"
                  "  idlectl prove --policy ondemand --for 1h\n"
                  "  idlectl prove --profile balanced,power-saver --precision 1% -- make -j4",
          .options = { prove_options },
          .check = prove_check,
          .max_args = INT_MAX,
          .ask = prove_ask,
          .show = prove_show,
          .command = true },
        { .name = "doctor",
          .arguments = "",
          .summary = "Find what keeps this machine from sleeping deeply",
          .help = "For each finding: what it costs, and the command that fixes it. Costs in watts\n"
                  "are bounds that a power table gives for the sleeps of one second. Exit status\n"
                  "0 only if nothing is wrong; notes are what cannot be changed here.",
          .options = { price_option },
          .ask = doctor_ask,
          .show = doctor_show },
        { .name = "metrics",
          .arguments = "",
          .summary = "Print everything as metrics for Prometheus",
          .help = "Prints OpenMetrics text. If idled does not run, idled_up is 0 and there is\n"
                  "nothing else. --http is for idled-metrics.socket.\n"
                  "  idlectl metrics --textfile /var/lib/prometheus/node-exporter/idled.prom",
          .options = { metrics_options },
          .check = metrics_check,
          .ask = metrics_ask,
          .mute = true },
        { .name = "dump",
          .arguments = "",
          .summary = "Print everything, for a report",
          .help = "Two outputs of --knobs are the same if nothing changed in between.",
          .options = { dump_options },
          .ask = dump_ask,
          .show = dump_show },
        { .name = "help",
          .arguments = "[VERB]",
          .summary = "Print help about idlectl or a verb",
          .max_args = 1,
          .ask = help_ask,
          .mute = true,
          .alone = true },
        { .name = "version",
          .arguments = "",
          .summary = "Print the version",
          .ask = version_ask,
          .mute = true,
          .alone = true },
        { 0 },
};

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

        if (verb->alone) {
                verb->ask(ctl, &status);
                return status;
        }
        ctl->root = root_open(ctl->root_path ? ctl->root_path : "/");
        if (ctl->root < 0)
                return complain("%s: %s", ctl->root_path, g_strerror(-ctl->root));
        ctl->screen = screen_look(ctl->no_colour);
        ctl->client = client_new(ctl);
        answer = verb->ask(ctl, &status);
        if (answer && ctl->json)
                print_json(answer);
        else if (answer)
                verb->show(ctl, answer);
        client_free(ctl->client);
        fd_close(&ctl->root);
        return status;
}

/* A reader may close the pipe early; everything else that keeps the answer from arriving is a
 * failure. */
static int finish_output(const Ctl *ctl, int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        return errno == EPIPE
                       ? EXIT_FAILED
                       : complain("%s: %s", ctl->output ?: "standard output", g_strerror(errno));
}

int main(int argc, char **argv)
{
        Ctl ctl = { .verbs = verbs, .root = -1 };
        const Verb *verb;
        bool named;
        int status;

        log_set_target("null");
        status = options_parse(argc, argv, verbs, &ctl, &verb, &named);
        if (status != EXIT_FINE)
                return status;
        if (ctl.help)
                options_help(verbs, named ? verb : NULL);
        else if (ctl.version)
                puts("idlectl " IDLED_VERSION);
        else
                status = options_check(&ctl, verb);
        if (status == EXIT_FINE && !ctl.help && !ctl.version)
                status = run(&ctl, verb);
        return finish_output(&ctl, status);
}
