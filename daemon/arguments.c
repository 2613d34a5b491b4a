/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line: long options only, one row each.
 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/log.h"

static const char help_text[] =
        "Usage: idled [OPTION...]\n"
        "Park the CPU cores that the load does not need.\n\n"
        "  --dry-run            decide and publish, but change nothing\n"
        "  --once               decide once, print the decision and why, restore everything, exit\n"
        "  --check              read the configuration, print its errors, exit\n"
        "  --restore            restore what idled changed before it died, exit\n"
        "  --probe              try whether parking resets affinities, note it, exit\n"
        "  --root DIR           the machine is below DIR instead of /\n"
        "  --run DIR            keep the record of changes in DIR (/run/idled)\n"
        "  --state DIR          keep the chosen profile in DIR (/var/lib/idled)\n"
        "  --config-dir DIR     the administrator's configuration (/etc/idled)\n"
        "  --vendor-dir DIR     the shipped configuration (" VENDOR_DIR ")\n"
        "  --policy-dir DIR     policies (" POLICY_DIR ")\n"
        "  --session-bus        serve on the session bus instead of the system bus\n"
        "  --bus-address ADDR   serve on the bus at this address\n"
        "  --no-bus             serve on no bus\n"
        "  --log-level LEVEL    " LOG_LEVELS "\n"
        "  --help, --version\n\n"
        "Exit status: 0 success, 1 failure, 2 wrong usage, 78 error in the configuration.\n"
        "See idled(8).\n";

enum {
        ARG_DRY_RUN = 256,
        ARG_ONCE,
        ARG_CHECK,
        ARG_RESTORE,
        ARG_PROBE,
        ARG_ROOT,
        ARG_RUN,
        ARG_STATE,
        ARG_CONFIG_DIR,
        ARG_VENDOR_DIR,
        ARG_POLICY_DIR,
        ARG_SESSION_BUS,
        ARG_BUS_ADDRESS,
        ARG_NO_BUS,
        ARG_LOG_LEVEL,
        ARG_HELP,
        ARG_VERSION,
};

static const struct option long_options[] = {
        { "dry-run", no_argument, NULL, ARG_DRY_RUN },
        { "once", no_argument, NULL, ARG_ONCE },
        { "check", no_argument, NULL, ARG_CHECK },
        { "restore", no_argument, NULL, ARG_RESTORE },
        { "probe", no_argument, NULL, ARG_PROBE },
        { "root", required_argument, NULL, ARG_ROOT },
        { "run", required_argument, NULL, ARG_RUN },
        { "state", required_argument, NULL, ARG_STATE },
        { "config-dir", required_argument, NULL, ARG_CONFIG_DIR },
        { "vendor-dir", required_argument, NULL, ARG_VENDOR_DIR },
        { "policy-dir", required_argument, NULL, ARG_POLICY_DIR },
        { "session-bus", no_argument, NULL, ARG_SESSION_BUS },
        { "bus-address", required_argument, NULL, ARG_BUS_ADDRESS },
        { "no-bus", no_argument, NULL, ARG_NO_BUS },
        { "log-level", required_argument, NULL, ARG_LOG_LEVEL },
        { "help", no_argument, NULL, ARG_HELP },
        { "version", no_argument, NULL, ARG_VERSION },
        { 0 },
};

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

/* Returns 1 to go on, 0 if all is said, -EINVAL with a message on standard error. */
static int take_argument(int option, Arguments *arguments)
{
        int level;

        switch (option) {
        case ARG_DRY_RUN:
                arguments->dry_run = true;
                return 1;
        case ARG_ONCE:
                return take_mode(MODE_ONCE, arguments);
        case ARG_CHECK:
                return take_mode(MODE_CHECK, arguments);
        case ARG_RESTORE:
                return take_mode(MODE_RESTORE, arguments);
        case ARG_PROBE:
                return take_mode(MODE_PROBE, arguments);
        case ARG_ROOT:
                arguments->root = optarg;
                return 1;
        case ARG_RUN:
                arguments->run = optarg;
                return 1;
        case ARG_STATE:
                arguments->state = optarg;
                return 1;
        case ARG_CONFIG_DIR:
                arguments->config_dir = optarg;
                return 1;
        case ARG_VENDOR_DIR:
                arguments->vendor_dir = optarg;
                return 1;
        case ARG_POLICY_DIR:
                arguments->policy_dir = optarg;
                return 1;
        case ARG_SESSION_BUS:
                arguments->bus = "session";
                return 1;
        case ARG_BUS_ADDRESS:
                arguments->bus = optarg;
                return 1;
        case ARG_NO_BUS:
                arguments->no_bus = true;
                return 1;
        case ARG_LOG_LEVEL:
                arguments->log_level_given = true;
                if (log_level_parse(optarg, &level) >= 0) {
                        log_set_level(level);
                        return 1;
                }
                fprintf(stderr, "idled: --log-level: found \"%s\", expected " LOG_LEVELS "\n",
                        optarg);
                return -EINVAL;
        case ARG_HELP:
                fputs(help_text, stdout);
                return 0;
        case ARG_VERSION:
                puts("idled " IDLED_VERSION);
                return 0;
        default:
                fputs("Try \"idled --help\".\n", stderr);
                return -EINVAL;
        }
}

int arguments_parse(int argc, char **argv, Arguments *arguments)
{
        int option, r;

        while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
                r = take_argument(option, arguments);
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
