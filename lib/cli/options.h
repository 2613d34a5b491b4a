/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line: options, and help about them and the verbs.
 */
#ifndef IDLED_OPTIONS_H
#define IDLED_OPTIONS_H

#include "cli/verb.h"

/* Finds the verb, the usual one if none is named, and reads the options into `ctl`, whose options
 * come zeroed; the environment has what is left open. What is no option is left in ctl->args.
 * `*ret_named` says whether a verb was named. Returns EXIT_FINE, or EXIT_USAGE after a message. */
int options_parse(int argc, char **argv, Ctl *ctl, const Verb **ret_verb, bool *ret_named);

/* Checks the number of arguments and what the verb itself checks. EXIT_FINE, or EXIT_USAGE after a
 * message. */
int options_check(const Ctl *ctl, const Verb *verb);

/* True if the word is an option of the program, and the next word is its argument. */
bool options_take_next(const Program *program, const char *word);

/* Prints help about everything, or about one verb. */
void options_help(const Program *program, const Verb *verb);

/* Prints the version of the program. */
void options_version(const Ctl *ctl);

#endif
