/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl's command line: options, and help about them and the verbs.
 */
#ifndef IDLED_OPTIONS_H
#define IDLED_OPTIONS_H

#include "ctl.h"

/* Reads the options into `ctl`, which comes zeroed, and places that none of them names from the
 * environment; what is none is left in ctl->args, the verb
 * first. Returns EXIT_FINE, or EXIT_USAGE after a message. */
int options_parse(int argc, char **argv, Ctl *ctl);

/* Checks that the verb takes what was given. EXIT_FINE, or EXIT_USAGE after a message. */
int options_check(const Ctl *ctl, const Verb *verb);

/* Prints help about everything, or about one verb. */
void options_help(const Verb *verb);

#endif
