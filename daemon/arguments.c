/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line: long options only, one row each, from which the help is printed, too.
 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <glib.h>
#include <stdio.h>

#include "base/log.h"

typedef struct Option {
        const char *name, *argument, *help;
        size_t member; /* of Arguments: a text if there is an argument, else a flag; 0: none */
        Mode mode;     /* MODE_RUN: none */
} Option;

static const Option options[] = {
        { "dry-run", NULL, "decide and publish, but change nothing", offsetof(Arguments, dry_run) },
        { "once", NULL, "decide once, print the decision and why, restore everything, exit",
          .mode = MODE_ONCE },
        { "check", NULL, "read the configuration, print its errors, exit", .mode = MODE_CHECK },
        { "restore", NULL, "restore what idled changed before it died, exit",
          .mode = MODE_RESTORE },
        { "probe", NULL, "try whether parking resets affinities, note it, exit",
          .mode = MODE_PROBE },
        { "root", "DIR", "the machine is below DIR instead of /", offsetof(Arguments, root) },
        { "run", "DIR", "keep the record of changes in DIR (/run/idled)",
          offsetof(Arguments, run) },
        { "state", "DIR", "keep the chosen profile in DIR (/var/lib/idled)",
          offsetof(Arguments, state) },
        { "config-dir", "DIR", "the administrator's configuration (/etc/idled)",
          offsetof(Arguments, config_dir) },
        { "vendor-dir", "DIR", "the shipped configuration (" VENDOR_DIR ")",
          offsetof(Arguments, vendor_dir) },
        { "policy-dir", "DIR", "policies (" POLICY_DIR ")", offsetof(Arguments, policy_dir) },
        { "session-bus", NULL, "serve on the session bus instead of the system bus" },
        { "bus-address", "ADDR", "serve on the bus at this address", offsetof(Arguments, bus) },
        { "no-bus", NULL, "serve on no bus", offsetof(Arguments, no_bus) },
        { "log-level", "LEVEL", LOG_LEVELS },
        { "help", NULL, NULL },
        { "version", NULL, NULL },
};

static int print_help(void)
{
        puts("Usage: idled [OPTION...]\n"
             "Park the CPU cores that the load does not need.\n");
        for (size_t i = 0; options[i].help; i++) {
                g_autofree char *text = g_strjoin(" ", options[i].name, options[i].argument, NULL);

                printf("  --%-18s %s\n", text, options[i].help);
        }
        puts("  --help, --version\n\n"
             "Exit status: 0 success, 1 failure, 2 wrong usage, 78 error in the configuration.\n"
             "See idled(8).");
        return 0;
}

static int take_mode(Mode mode, Arguments *arguments)
{
        if (arguments->mode != MODE_RUN && arguments->mode != mode) {
                fputs("idled: found two of --once, --check, --restore and --probe, expected one\n",
                      stderr);
                return -EINVAL;
        }
        arguments->mode = mode;
        return 1;
}

static int take_log_level(Arguments *arguments)
{
        int level;

        arguments->log_level_given = true;
        if (log_level_parse(optarg, &level) < 0) {
                fprintf(stderr, "idled: --log-level: found \"%s\", expected " LOG_LEVELS "\n",
                        optarg);
                return -EINVAL;
        }
        log_set_level(level);
        return 1;
}

/* Returns 1 to go on, 0 if all is said, -EINVAL with a message on standard error. */
static int take_option(const Option *option, Arguments *arguments)
{
        void *member = (char *)arguments + option->member;

        if (option->mode != MODE_RUN)
                return take_mode(option->mode, arguments);
        if (g_str_equal(option->name, "log-level"))
                return take_log_level(arguments);
        if (g_str_equal(option->name, "help"))
                return print_help();
        if (g_str_equal(option->name, "version")) {
                puts("idled " IDLED_VERSION);
                return 0;
        }
        if (g_str_equal(option->name, "session-bus"))
                arguments->bus = "session";
        else if (option->argument)
                *(const char **)member = optarg;
        else
                *(bool *)member = true;
        return 1;
}

int arguments_parse(int argc, char **argv, Arguments *arguments)
{
        struct option table[G_N_ELEMENTS(options) + 1] = { 0 };
        int c, index, r;

        for (size_t i = 0; i < G_N_ELEMENTS(options); i++)
                table[i] = (struct option){
                        options[i].name,
                        options[i].argument ? required_argument : no_argument,
                        NULL,
                        'o',
                };
        while ((c = getopt_long(argc, argv, "", table, &index)) >= 0) {
                if (c != 'o') {
                        fputs("Try \"idled --help\".\n", stderr);
                        return -EINVAL;
                }
                r = take_option(&options[index], arguments);
                if (r <= 0)
                        return r;
        }
        if (optind < argc) {
                fprintf(stderr, "idled: unexpected argument \"%s\"; try \"idled --help\"\n",
                        argv[optind]);
                return -EINVAL;
        }
        return 1;
}
