/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Options: a row each, from which parsing, checking and help come.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "hold-options.h"

typedef struct OptionRow {
        const char *name;
        const char *argument; /* NULL: takes none */
        Option flag;
        const char *help;
} OptionRow;

static const OptionRow rows[] = {
        { "json", NULL, OPTION_JSON, "print one JSON document" },
        { "no-colour", NULL, OPTION_NO_COLOUR, "no colours, as with NO_COLOR set" },
        { "session-bus", NULL, OPTION_SESSION_BUS, "ask the daemon on the session bus" },
        { "bus-address", "ADDRESS", OPTION_BUS_ADDRESS, "ask the daemon on the bus there" },
        { "root", "DIR", OPTION_ROOT, "the machine is below DIR instead of /" },
        { "run", "DIR", OPTION_RUN, "where idled keeps its record (/run/idled)" },
        { "config-dir", "DIR", OPTION_CONFIG_DIR, "the administrator's files (/etc/idled)" },
        { "vendor-dir", "DIR", OPTION_VENDOR_DIR, "the shipped files (" VENDOR_DIR ")" },
        { "policy-dir", "DIR", OPTION_POLICY_DIR, "policies (" POLICY_DIR ")" },
        { "interval", "TIME", OPTION_INTERVAL, "measure over this time, such as 1s" },
        { "history", NULL, OPTION_HISTORY, "tell of the last transitions" },
        { "knobs", NULL, OPTION_KNOBS, "only PATH<TAB>VALUE of all that idled could change" },
        { "latency", "TIME", OPTION_LATENCY, "be woken within this time, such as 50us" },
        { "cores", "N", OPTION_CORES, "have so many cores in use" },
        { "min-frequency", "FREQ", OPTION_MIN_FREQUENCY, "not slower than this: 800MHz, 2.4GHz" },
        { "cpus", "LIST", OPTION_CPUS, "keep these in use, and ask for them" },
        { "profile", "NAME", OPTION_PROFILE, "have this profile in force" },
        { "global", NULL, OPTION_GLOBAL, "the latency is for all CPUs of the machine" },
        { "reason", "TEXT", OPTION_REASON, "what for, for people" },
        { "pid", "PID", OPTION_PID, "for this process, until it ends" },
        { "for", "TIME", OPTION_FOR, "end the hold after this time, such as 10s" },
        { "help", NULL, OPTION_HELP, "print this" },
        { "version", NULL, OPTION_VERSION, "print the version" },
};

/* How long somebody may want to wait. */
#define INTERVAL_MIN_USEC (10u * 1000)
#define INTERVAL_MAX_USEC (3600ull * 1000 * 1000)

static int take_interval(Ctl *ctl, const char *text)
{
        if (duration_parse(text, &ctl->interval_usec) < 0 ||
            ctl->interval_usec < INTERVAL_MIN_USEC || ctl->interval_usec > INTERVAL_MAX_USEC)
                return complain_usage(NULL,
                                      "--interval: found \"%s\", expected a duration from 10ms "
                                      "to 1h, such as 1s",
                                      text);
        return EXIT_FINE;
}

static int take_option(Ctl *ctl, const OptionRow *row, const char *argument)
{
        ctl->given |= row->flag;
        switch (row->flag) {
        case OPTION_SESSION_BUS:
                ctl->bus = "session";
                break;
        case OPTION_BUS_ADDRESS:
                ctl->bus = argument;
                break;
        case OPTION_ROOT:
                ctl->root_path = argument;
                break;
        case OPTION_RUN:
                ctl->run_path = argument;
                break;
        case OPTION_CONFIG_DIR:
                ctl->config_dir = argument;
                break;
        case OPTION_VENDOR_DIR:
                ctl->vendor_dir = argument;
                break;
        case OPTION_POLICY_DIR:
                ctl->policy_dir = argument;
                break;
        case OPTION_INTERVAL:
                return take_interval(ctl, argument);
        default:
                if (row->flag & (OPTIONS_HOLD | OPTION_PID | OPTION_FOR))
                        return hold_option_take(ctl, row->flag, argument);
                break;
        }
        return EXIT_FINE;
}

/* What getopt_long() did not like. */
static int complain_option(const char *word, int what)
{
        const char *names[G_N_ELEMENTS(rows) + 1] = { NULL }, *nearest;
        g_autofree char *name = g_strndup(word, strcspn(word, "="));

        if (what == ':')
                return complain_usage(NULL, "%s: expected an argument behind it", name);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                names[i] = rows[i].name;
                if (g_str_has_prefix(name, "--") && g_str_equal(name + 2, rows[i].name))
                        return complain_usage(NULL, "%s: takes no argument", name);
        }
        nearest = word_nearest(name + strspn(name, "-"), names);
        return complain_usage(NULL, "found an unknown option %s%s%s%s", name,
                              nearest ? " (did you mean --" : "", nearest ? nearest : "",
                              nearest ? "?)" : "");
}

/* The variable's value, NULL if it is not set or empty. */
static const char *environment_text(const char *name)
{
        const char *text = g_getenv(name);

        return text && *text ? text : NULL;
}

/* What the command line leaves open. */
static void take_environment(Ctl *ctl)
{
        if (!ctl->run_path)
                ctl->run_path = environment_text("IDLED_RUN");
        if (!ctl->bus)
                ctl->bus = environment_text("IDLED_BUS_ADDRESS");
}

int options_parse(int argc, char **argv, Ctl *ctl)
{
        struct option table[G_N_ELEMENTS(rows) + 1] = { 0 };
        int c, index, status;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                table[i] = (struct option){ rows[i].name,
                                            rows[i].argument ? required_argument : no_argument,
                                            NULL, 'o' };
        opterr = 0;
        while ((c = getopt_long(argc, argv, ":", table, &index)) >= 0) {
                status = c == 'o' ? take_option(ctl, &rows[index], optarg)
                                  : complain_option(argv[optind - 1], c);
                if (status != EXIT_FINE)
                        return status;
        }
        take_environment(ctl);
        ctl->args = argv + optind;
        ctl->n_args = argc - optind;
        return EXIT_FINE;
}

static unsigned options_of(const Verb *verb)
{
        return OPTIONS_EVERYWHERE | verb->options | (verb->mute ? 0 : OPTION_JSON);
}

int options_check(const Ctl *ctl, const Verb *verb)
{
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (ctl->given & rows[i].flag & ~options_of(verb))
                        return complain_usage(verb, "%s does not take --%s", verb->name,
                                              rows[i].name);
        if ((ctl->given & OPTIONS_BUS) == OPTIONS_BUS)
                return complain_usage(verb, "--session-bus and --bus-address: expected one of "
                                            "them");
        if (ctl->n_args > verb->max_args)
                return complain_usage(verb, "%s: found an unexpected argument \"%s\"", verb->name,
                                      ctl->args[verb->max_args]);
        if (ctl->n_args < verb->min_args)
                return complain_usage(verb, "%s: expected %s", verb->name, verb->arguments);
        if (verb->options & OPTIONS_HOLD_ASKS)
                return hold_options_check(ctl, verb);
        return EXIT_FINE;
}

static void print_options(unsigned flags)
{
        puts("\nOptions:");
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *text = g_strconcat("--", rows[i].name, rows[i].argument ? " " : "",
                                                    rows[i].argument, NULL);

                if (rows[i].flag & flags)
                        printf("  %-22s %s\n", text, rows[i].help);
        }
}

void options_help(const Verb *verb)
{
        if (verb) {
                printf("Usage: idlectl %s [OPTION...]%s%s\n%s.\n", verb->name,
                       *verb->arguments ? " " : "", verb->arguments, verb->summary);
                if (verb->help)
                        printf("\n%s\n", verb->help);
                print_options(options_of(verb));
                return;
        }
        puts("Usage: idlectl [OPTION...] [VERB [ARGUMENT...]]\n"
             "See and steer idled, which keeps CPU cores asleep.\n\nVerbs:");
        for (const Verb *v = verbs; v->name; v++) {
                g_autofree char *text = g_strjoin(" ", v->name, *v->arguments ? v->arguments : NULL,
                                                  NULL);

                printf("  %-30s %s\n", text, v->summary);
        }
        print_options(~0u);
        puts("\nWithout a verb: status. \"idlectl VERB --help\" tells more of one.\n"
             "Exit status: 0 fine, 1 the answer is no or there is none, 2 wrong usage.\n"
             "See idlectl(1).");
}
