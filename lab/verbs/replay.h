/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What replaying takes, and what comes of it: traces, each through several governors.
 */
#ifndef IDLED_REPLAY_VERB_H
#define IDLED_REPLAY_VERB_H

#include "governors/governors.h"
#include "governors/replay.h"
#include "cli/verb.h"

/* A governor as it was asked for. */
typedef struct Choice {
        char *name; /* with its argument: "fixed:2" */
        const Governor *governor;
        void *options;
} Choice;

/* A trace on its way through all governors. */
typedef struct Run {
        const char *path;
        TraceFacts facts;
        Replay **replays; /* by choice */
        char *error;      /* NULL: it is read to its end */
} Run;

/* The table that --table= names: a file, or "this" (or NULL) for the machine below ctl->root.
 * EXIT_FAILED after a message. */
int replay_table(const Ctl *ctl, const char *name, StateTable *ret_table);

/* EXIT_USAGE after a message if --table= names a file, which has powers, and --power is given. */
int replay_check_table(const Ctl *ctl, const Verb *verb);

/* The governors of a list such as "teo-6.1,fixed:2" (NULL: all that need no argument), with the
 * options of replay_arguments. An array of Choice, or NULL after a message. */
GPtrArray *replay_choices(const Ctl *ctl, const char *list, const StateTable *table);

/* Replays all traces, several at a time. An array of Run, in their order; with a progress bar if
 * standard error is a terminal. */
GPtrArray *replay_runs(char *const *paths, int n, const GPtrArray *choices,
                       const StateTable *table);

/* Prints "RECORD CPU STATE" of every period. EXIT_FINE, or EXIT_FAILED after a message. */
int replay_decisions(const char *path, const Choice *choice, const StateTable *table);

/* Arguments of replay; NULL: not given. */
typedef struct ReplayArguments {
        const char *table, *governors, *html;
        const char *options[32]; /* "NAME=VALUE" */
        int n_options;
        bool decisions, csv;
} ReplayArguments;

extern ReplayArguments replay_arguments;

#endif
