/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl: what its parts share.
 *
 * Every verb is a row of a table. It answers with one JSON document, made by ask(); with --json
 * that is printed as it is, else show() prints it for people. So both always say the same.
 */
#ifndef IDLED_CTL_H
#define IDLED_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/json.h"
#include "cli/screen.h"
#include "cli/table.h"

/* Exit statuses. */
#define EXIT_FINE   0
#define EXIT_FAILED 1 /* the answer is no, or there is none */
#define EXIT_USAGE  2

/* Numbers are 0 and texts NULL if they were not given; so is the latency if its option was not. */
typedef struct HoldArguments {
        bool latency_given, global;
        uint32_t latency_us, min_cores, min_khz, pid;
        const char *cpus, *profile, *reason;
        uint64_t for_usec;
} HoldArguments;

/* Arguments of replay; NULL: not given. */
typedef struct ReplayArguments {
        const char *table, *governors, *html;
        const char *options[32]; /* "NAME=VALUE" */
        int n_options;
        bool decisions, csv;
} ReplayArguments;
/* What verbs about sleeps were given. */
typedef struct SleepsArguments {
        uint64_t usec;           /* 0: not given */
        const char *cpus, *file; /* NULL: not given */
        bool causes, exits, measure;
} SleepsArguments;

typedef struct Client Client;

typedef struct Ctl {
        const struct Verb *verbs; /* all of them */
        bool json, no_colour, help, version;
        const char *root_path, *run_path, *config_dir, *vendor_dir,
                *policy_dir; /* NULL: not given */
        const char *bus;     /* NULL: the system bus; "session"; an address */
        uint64_t interval_usec;
        bool history, knobs;
        const char *power_table; /* --power; NULL: not given */
        const char *output;      /* --output of verbs that run a command; NULL: not given */
        HoldArguments hold;
        ReplayArguments replay;
        uint64_t advise_usec;      /* longest exit latency; 0: any */
        const char *advise_record; /* seconds; NULL: traces are given */
        SleepsArguments sleeps;
        int root;    /* the machine's root directory */
        char **args; /* behind the verb, NULL at the end */
        int n_args;
        Screen screen;
        Client *client;
} Ctl;

/* An option of the command line. Help, checks and the shells' completions follow from it; the
 * placeholder of its argument says what a shell offers: DIR, FILE, TIME, else nothing. Verbs may
 * use the same name in different ways, but either all of them take an argument or none does. */
typedef struct VerbOption {
        const char *name;                        /* without the two dashes */
        const char *argument;                    /* placeholder; NULL: takes none */
        const char *help;                        /* one line */
        int (*take)(Ctl *ctl, const char *text); /* EXIT_FINE, or EXIT_USAGE after a message */
} VerbOption;

/* --interval, for verbs that measure: ctl->interval_usec. */
extern const VerbOption interval_option[];

typedef struct Verb {
        const char *name;
        const char *arguments; /* for the usage line */
        const char *summary;   /* one line */
        const char *help;      /* more, for --help of the verb; NULL none */
        int min_args, max_args;

        /* The answer and, in `*ret_status`, which comes as EXIT_FINE, the exit status. NULL: none;
         * why not is on standard error and the status is not EXIT_FINE, or all is said already. */
        json_object *(*ask)(Ctl *ctl, int *ret_status);
        void (*show)(const Ctl *ctl, json_object *answer);
        /* Its own options: tables that end with a row without name, and after those NULL. */
        const VerbOption *options[4];
        int (*check)(const Ctl *ctl, const struct Verb *verb); /* of all options; may be NULL */
        bool command; /* its arguments are a command: options end with the first of them */
        bool mute;    /* it has no answer, and so takes no --json */
        bool alone;   /* it needs neither the machine nor the daemon */
} Verb;

extern const VerbOption replay_options[];
int replay_check(const Ctl *ctl, const Verb *verb);

extern const VerbOption advise_options[];
int advise_check(const Ctl *ctl, const Verb *verb);

json_object *status_ask(Ctl *ctl, int *ret_status);
void status_show(const Ctl *ctl, json_object *answer);
json_object *cpus_ask(Ctl *ctl, int *ret_status);
void cpus_show(const Ctl *ctl, json_object *answer);
json_object *why_ask(Ctl *ctl, int *ret_status);
void why_show(const Ctl *ctl, json_object *answer);
json_object *policies_ask(Ctl *ctl, int *ret_status);
void policies_show(const Ctl *ctl, json_object *answer);
extern const VerbOption set_options[];
json_object *set_ask(Ctl *ctl, int *ret_status);
void set_show(const Ctl *ctl, json_object *answer);
json_object *check_ask(Ctl *ctl, int *ret_status);
void check_show(const Ctl *ctl, json_object *answer);
json_object *profile_ask(Ctl *ctl, int *ret_status);
void profile_show(const Ctl *ctl, json_object *answer);
json_object *settings_ask(Ctl *ctl, int *ret_status);
void settings_show(const Ctl *ctl, json_object *answer);
json_object *verify_ask(Ctl *ctl, int *ret_status);
void verify_show(const Ctl *ctl, json_object *answer);
json_object *hold_ask(Ctl *ctl, int *ret_status);
extern const VerbOption run_options[];
json_object *run_ask(Ctl *ctl, int *ret_status);
json_object *holds_ask(Ctl *ctl, int *ret_status);
void holds_show(const Ctl *ctl, json_object *answer);
json_object *replay_ask(Ctl *ctl, int *ret_status);
void replay_show(const Ctl *ctl, json_object *answer);
json_object *advise_ask(Ctl *ctl, int *ret_status);
void advise_show(const Ctl *ctl, json_object *answer);
json_object *record_ask(Ctl *ctl, int *ret_status);
void record_show(const Ctl *ctl, json_object *answer);
json_object *diff_ask(Ctl *ctl, int *ret_status);
void diff_show(const Ctl *ctl, json_object *answer);
extern const VerbOption export_options[];
json_object *export_ask(Ctl *ctl, int *ret_status);
extern const VerbOption report_options[];
int report_check(const Ctl *ctl, const Verb *verb);
json_object *report_ask(Ctl *ctl, int *ret_status);
void report_show(const Ctl *ctl, json_object *answer);
json_object *sleeps_ask(Ctl *ctl, int *ret_status);
void sleeps_show(const Ctl *ctl, json_object *answer);
json_object *doctor_ask(Ctl *ctl, int *ret_status);
void doctor_show(const Ctl *ctl, json_object *answer);
extern const VerbOption top_options[];
int top_check(const Ctl *ctl, const Verb *verb);
json_object *top_ask(Ctl *ctl, int *ret_status);
extern const VerbOption latency_options[];
int latency_check(const Ctl *ctl, const Verb *verb);
json_object *latency_ask(Ctl *ctl, int *ret_status);
void latency_show(const Ctl *ctl, json_object *answer);
extern const VerbOption estimate_options[];
int estimate_check(const Ctl *ctl, const Verb *verb);
json_object *estimate_ask(Ctl *ctl, int *ret_status);
void estimate_show(const Ctl *ctl, json_object *answer);
extern const VerbOption prove_options[];
int prove_check(const Ctl *ctl, const Verb *verb);
json_object *prove_ask(Ctl *ctl, int *ret_status);
void prove_show(const Ctl *ctl, json_object *answer);
json_object *dump_ask(Ctl *ctl, int *ret_status);
void dump_show(const Ctl *ctl, json_object *answer);
json_object *pause_ask(Ctl *ctl, int *ret_status);
void pause_show(const Ctl *ctl, json_object *answer);
json_object *resume_ask(Ctl *ctl, int *ret_status);
void resume_show(const Ctl *ctl, json_object *answer);
json_object *reload_ask(Ctl *ctl, int *ret_status);
void reload_show(const Ctl *ctl, json_object *answer);
json_object *release_ask(Ctl *ctl, int *ret_status);
void release_show(const Ctl *ctl, json_object *answer);
json_object *help_ask(Ctl *ctl, int *ret_status);
json_object *version_ask(Ctl *ctl, int *ret_status);

/* "idlectl: ..." on standard error, one line. Returns EXIT_FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a hint at the --help of `verb`; NULL: that of the last complain_about(). Returns
 * EXIT_USAGE. */
int complain_usage(const Verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whose --help such hints name from now on; NULL: idlectl's. */
void complain_about(const Verb *verb);

#endif
