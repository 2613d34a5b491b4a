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
#include "cli/client.h"
#include "verbs/control.h"
#include "verbs/hold-options.h"
#include "verbs/holds-measure.h"
#include "verbs/metrics.h"
#include "cli/options.h"
#include "cli/output.h"
#include "lab/verbs/record.h"
#include "cli/price.h"
#include "lab/verbs/report.h"
#include "verbs/sleeps.h"

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
          .summary = "Show the daemon, the machine, and the parked CPUs",
          .help = "Without the daemon idlectl measures the machine for 0.2 s. ~ marks an "
                  "estimate:\n"
                  "a sleep that had not ended. - is a value that is not known.",
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
          .help = "Busy% and the shares of the idle states add up to 100. The column of a state\n"
                  "without % counts how often it was entered. Without --interval the values cover\n"
                  "the time since the daemon was last asked, or 0.2 s without the daemon.",
          .options = { interval_option },
          .ask = cpus_ask,
          .show = cpus_show },
        { .name = "why",
          .arguments = "[CPU...]",
          .summary = "Show why CPUs are parked or active",
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
                  "lost when the daemon ends, unless --save writes them to a file, as root.\n"
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
          .help = "The choice is kept across restarts. auto removes it, so that idled.conf "
                  "decides.",
          .max_args = 2,
          .ask = profile_ask,
          .show = profile_show },
        { .name = "pause",
          .arguments = "",
          .summary = "Restore every knob until idlectl resume",
          .help = "The pause stays when idlectl exits. It ends with idlectl resume, after --for, "
                  "or\n"
                  "when the daemon ends. A second pause of the same user replaces the first.\n"
                  "  idlectl pause --for 10min --reason \"a benchmark\"",
          .options = { pause_options },
          .ask = pause_ask,
          .show = pause_show },
        { .name = "resume",
          .arguments = "",
          .summary = "End the pauses of idlectl pause",
          .help = "The exit status is 1 if other programs still pause idled.",
          .ask = resume_ask,
          .show = resume_show },
        { .name = "reload",
          .arguments = "",
          .summary = "Reload the configuration of the daemon",
          .help = "If a file has an error, the running configuration stays in effect.",
          .ask = reload_ask,
          .show = reload_show },
        { .name = "check",
          .arguments = "[DIR]",
          .summary = "Check the configuration files, without the daemon",
          .help = "DIR is the same as --config-dir. Every error is printed as FILE:LINE: what was\n"
                  "found, and what was expected.",
          .max_args = 1,
          .ask = check_ask,
          .show = check_show },
        { .name = "settings",
          .arguments = "[SECTION]",
          .summary = "Show every option: its value, and where it was set",
          .help = "With a SECTION also shows the default, the meaning, and the valid values.\n"
                  "Without the daemon it shows the values of the files.",
          .max_args = 1,
          .ask = settings_ask,
          .show = settings_show },
        { .name = "verify",
          .arguments = "",
          .summary = "Check that every knob has the value that idled wrote",
          .help = "The exit status is 1 if a knob has another value, or if a daemon that ended "
                  "left\n"
                  "a knob changed.",
          .ask = verify_ask,
          .show = verify_show },
        { .name = "hold",
          .arguments = "",
          .summary = "Request latency, cores or frequency until interrupted",
          .help = "The hold is in effect once idlectl prints it. It ends when idlectl ends for "
                  "any\n"
                  "reason, after --for, or with the process of --pid.\n"
                  "  idlectl hold --latency 50us --for 10s",
          .options = { hold_options, hold_end_options },
          .check = hold_options_check,
          .ask = hold_ask },
        { .name = "run",
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
          .mute = true },
        { .name = "holds",
          .arguments = "",
          .summary = "Show the holds and their owners",
          .help = "With --measure, idlectl also measures the wake-up latency of the CPUs of each\n"
                  "hold for 10 s. Late is how often it exceeded the limit of the hold. Costs is "
                  "the\n"
                  "power that these CPUs would save without the hold, estimated by a power table.\n"
                  "This requires root or authorization by polkit.",
          .options = { holds_options, sleeps_seconds_option, price_option },
          .check = holds_check,
          .ask = holds_ask,
          .show = holds_show },
        { .name = "replay",
          .arguments = "TRACE...",
          .summary = "Compare idle governors on recorded idle periods",
          .help = "Correct% is how often a governor chose the deepest state that saves energy and\n"
                  "meets the latency limit. Energy is relative to always choosing that state. The\n"
                  "TRACE - is standard input. Governors: ladder, menu-6.1, menu-6.12, teo-6.1,\n"
                  "teo-6.12, teo-6.18, teo-util, learned, weighted:BASE, history:BASE, "
                  "omniscient,\n"
                  "timer-only, fixed:N.\n"
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
          .arguments = "FILE [-- COMMAND...] | --idle FILE [-- COMMAND...] | --daemon",
          .summary = "Record what the machine and idled do",
          .help = "Every second (--interval), samples load, idle states, frequencies, power, and\n"
                  "the plan, holds and transitions of idled: until interrupted, for --seconds, or\n"
                  "while COMMAND runs. With --max-size or --max-age it continues an existing "
                  "FILE.\n"
                  "--idle writes every idle period of every CPU as CSV, for 10 s, and requires\n"
                  "root. --daemon makes idled itself record, as root.\n"
                  "  idlectl record a.rec --seconds 60 -- make -j8",
          .options = { record_options },
          .check = record_check,
          .max_args = INT_MAX,
          .ask = record_ask,
          .show = record_show },
        { .name = "export",
          .arguments = "FILE",
          .summary = "Print a recording as CSV or for Perfetto",
          .help = "FILE is a file that idlectl record or idled wrote; - is standard input. CSV "
                  "has\n"
                  "a line for each value. Open a trace for Perfetto in ui.perfetto.dev. idlectl\n"
                  "reports and leaves out damaged parts. The exit status is 1 if nothing could be\n"
                  "read.\n"
                  "  idlectl export --format perfetto a.rec > a.json",
          .options = { export_options },
          .min_args = 1,
          .max_args = 1,
          .ask = export_ask,
          .mute = true },
        { .name = "diff",
          .arguments = "A B",
          .summary = "Show the differences between two recordings",
          .help = "Compares the means of every metric. A difference is real if chance alone would\n"
                  "cause one as large among all metrics in at most 5 % of such comparisons. The\n"
                  "test takes correlation in time into account. Exit status: 0 if no difference "
                  "is\n"
                  "real, 1 if one is, 2 if the recordings cannot be compared.\n"
                  "  idlectl diff before.rec after.rec",
          .min_args = 2,
          .max_args = 2,
          .ask = diff_ask,
          .show = diff_show },
        { .name = "report",
          .arguments = "--output FILE RECORDING...",
          .summary = "Write a page with plots of recordings",
          .help = "The page is one HTML file with parked CPUs, load, idle states, power, savings,\n"
                  "wake-ups, and events with their reasons. It shows up to 8 recordings next to\n"
                  "each other.\n"
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
                  "cost of that, by a power table. Asleep: a CPU sleeps now, and has for this "
                  "long.\n"
                  "Needs root or idled; otherwise it shows the kernel's counters.\n"
                  "  idlectl sleeps --cpus 2-3 --seconds 60",
          .options = { sleeps_seconds_option, sleeps_options, price_option, output_option },
          .max_args = INT_MAX,
          .ask = sleeps_ask,
          .show = sleeps_show,
          .command = true },
        { .name = "release",
          .arguments = "ID|SERVICE",
          .summary = "End a hold, or forget which CPUs were refused to a service",
          .help = "ID is the number that idlectl holds shows. Only root may end a hold of another\n"
                  "user. SERVICE is one that idlectl status shows as refused: its CPUs may be "
                  "parked\n"
                  "again.",
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
          .help = "The idle states are those of this machine during --interval (1s), or those in\n"
                  "the output of turbostat. NAME is a table such as coreidle. The default is the\n"
                  "table of this machine. --fit --output /etc/idled/power/machine.conf makes that\n"
                  "table: it runs a load and requires RAPL.\n"
                  "  idlectl estimate --turbostat table.txt --power coreidle",
          .options = { interval_option, estimate_options },
          .check = estimate_check,
          .ask = estimate_ask,
          .show = estimate_show },
        { .name = "prove",
          .arguments = "[-- COMMAND...]",
          .summary = "Measure whether one setting draws less power than another",
          .help = "Switches between two settings in blocks of random order. Compares power, "
                  "energy\n"
                  "per work, and waiting, each with a 95 % interval. With a COMMAND, compares\n"
                  "energy per run. Exit status: 0 if the second setting saves energy, 1 if that "
                  "was\n"
                  "not shown, 3 after an error. All settings are restored at the end and after a\n"
                  "signal; after SIGKILL, idled --restore restores those of --knob.\n"
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
          .summary = "Show what keeps this machine from sleeping deeply",
          .help = "For each finding, shows the cost and the command that fixes it. Costs in watts\n"
                  "are upper bounds, from a power table and the sleeps of one second. A finding "
                  "is\n"
                  "wrong if this machine can do better; otherwise it is a note. The exit status "
                  "is\n"
                  "0 only if nothing is wrong.",
          .options = { price_option },
          .ask = doctor_ask,
          .show = doctor_show },
        { .name = "metrics",
          .arguments = "",
          .summary = "Print all values as metrics for Prometheus",
          .help = "Prints OpenMetrics text. If idled does not run, it contains only idled_up, "
                  "which\n"
                  "is 0. idled-metrics.socket uses --http.\n"
                  "  idlectl metrics --textfile /var/lib/prometheus/node-exporter/idled.prom",
          .options = { metrics_options },
          .check = metrics_check,
          .ask = metrics_ask,
          .mute = true },
        { .name = "dump",
          .arguments = "",
          .summary = "Print all values, for a report",
          .help = "Two outputs of --knobs are equal if nothing changed between them.",
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
