/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line.
 */
#ifndef IDLED_ARGUMENTS_H
#define IDLED_ARGUMENTS_H

#include <stdbool.h>

typedef enum Mode {
        MODE_RUN,
        MODE_ONCE,
        MODE_CHECK,
        MODE_RESTORE,
        MODE_PROBE,
} Mode;

typedef struct Arguments {
        Mode mode;
        const char *root, *run, *state, *config_dir, *vendor_dir, *policy_dir, *bus;
        bool no_bus, dry_run, log_level_given;
} Arguments;

/* Fills `arguments`, which comes zeroed. Returns 1 to go on, 0 if all that was asked for has been
 * printed, -EINVAL after a message on standard error. The strings are argv's. */
int arguments_parse(int argc, char **argv, Arguments *arguments);

#endif
