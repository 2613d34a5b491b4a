/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program of verbs, idlectl or idlelab: what its parts share.
 *
 * Every verb is a constant in a file of its own. It answers with one JSON document, made by ask();
 * with --json that is printed as it is, else show() prints it for people. So both always say the
 * same.
 */
#ifndef IDLED_CTL_H
#define IDLED_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "cli/json.h"
#include "cli/screen.h"
#include "cli/table.h"

/* Exit statuses. */
#define EXIT_FINE   0
#define EXIT_FAILED 1 /* the answer is no, or there is none */
#define EXIT_USAGE  2

typedef struct Client Client;

typedef struct Ctl {
        const struct Program *program;
        bool json, no_colour, help, version;
        const char *root_path, *run_path, *config_dir, *vendor_dir,
                *policy_dir; /* NULL: not given */
        const char *bus;     /* NULL: the system bus; "session"; an address */
        int root;            /* the machine's root directory */
        char **args;         /* behind the verb, NULL at the end */
        int n_args;
        int n_behind; /* of them, those behind "--"; only of verbs whose options may follow words */
        Screen screen;
        Client *client;
} Ctl;

/* An option of the command line. Help, checks and the shells' completions follow from it; the
 * placeholder of its argument says what a shell offers: DIR, FILE, TIME, else nothing. Verbs may
 * use the same name in different ways, but either all of them take an argument or none does. */
typedef struct VerbOption {
        const char *name;     /* without the two dashes */
        const char *argument; /* placeholder; NULL: takes none */
        const char *help;     /* one line */

        /* EXIT_FINE, or EXIT_USAGE after a message */
        int (*take)(Ctl *ctl, const struct VerbOption *row, const char *text);

        /* What the option sets if there is no take(): a bool or text of Ctl, if all verbs have the
         * option, or those that are not NULL. */
        size_t member; /* offset in Ctl; 0: none */
        bool *flag;    /* becomes true */
        const char **text;
        CpuSet *cpus;
        uint64_t *number; /* or microseconds, if the placeholder is TIME */
        double *real;     /* above 0; a share, if the placeholder is PERCENT */
        int *choice;      /* becomes the index of the word in this list, which ends with NULL */
        const char *const *choices;

        double least, most;   /* of the number; 0: none */
        const char *expected; /* of numbers or choice, for messages: "a duration such as 10s" */
} VerbOption;

typedef struct Verb {
        const char *name;
        const char *arguments; /* for the usage line; NULL: it takes none */
        const char *summary;   /* one line */
        const char *help;      /* more, for --help of the verb; NULL none */
        int min_args, max_args;

        /* Returns the exit status. `*ret_answer` comes as NULL and stays so if there is no answer:
         * why not is on standard error and the status is not EXIT_FINE, or all is said already. */
        int (*ask)(Ctl *ctl, json_object **ret_answer);
        void (*show)(const Ctl *ctl, json_object *answer);
        /* Its own options: tables that end with a row without name, and after those NULL. */
        const VerbOption *options[4];
        int (*check)(const Ctl *ctl, const struct Verb *verb); /* of all options; may be NULL */
        bool command;        /* its arguments are a command: options end with the first of them */
        bool mute;           /* it has no answer, and so takes no --json */
        bool alone;          /* it needs neither the machine nor the daemon */
        const char *renamed; /* what replaces it: it runs with a warning, and help omits it */
} Verb;

/* What both programs have: help about them and their verbs, and their version. */
extern const Verb verb_help, verb_version;

/* A program of verbs: idlectl or idlelab. */
typedef struct Program {
        const char *name;
        const char *summary;      /* one line */
        const char *more;         /* the last lines of its help */
        const Verb *usual;        /* the verb if none is named */
        const Verb *const *verbs; /* all, NULL at the end */
} Program;

/* Runs the verb of the command line. Returns the exit status. */
int program_run(const Program *program, int argc, char **argv);

/* "PROGRAM: ..." on standard error, one line. Returns EXIT_FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a machine whose CPUs cannot be read. */
int complain_cpus(const Ctl *ctl, int error);

/* The same with a hint at the --help of `verb`; NULL: that of the last complain_about(). Returns
 * EXIT_USAGE. */
int complain_usage(const Verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whose messages these are from now on, and whose --help hints name; no verb: the program's. */
void complain_about(const Program *program, const Verb *verb);

#endif
