/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the results of a verb go that runs a command: standard output is the command's.
 */
#ifndef IDLED_OUTPUT_H
#define IDLED_OUTPUT_H

#include "cli/verb.h"

/* The option --output FILE, as the only row, and what it sets; NULL: not given. */
extern const VerbOption output_option[];
extern const char *output_asked;

/* Opens the file of --output, before anything is measured; `*ret_fd` is -1 without that option.
 * EXIT_FAILED after a message. */
int output_open(const Ctl *ctl, int *ret_fd);

/* From now on standard output is the file. Without one it is standard error if a command has run,
 * else nothing changes. What a terminal can show is found out again. */
void output_use(Ctl *ctl, int fd);

#endif
