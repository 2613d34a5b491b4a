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

#include "json.h"
#include "screen.h"
#include "table.h"

/* Exit statuses. */
#define EXIT_FINE   0
#define EXIT_FAILED 1 /* the answer is no, or there is none */
#define EXIT_USAGE  2

/* Options, as flags: what was given, and what a verb takes. */
typedef enum Option {
        OPTION_JSON = 1 << 0,
        OPTION_NO_COLOUR = 1 << 1,
        OPTION_SESSION_BUS = 1 << 2,
        OPTION_BUS_ADDRESS = 1 << 3,
        OPTION_ROOT = 1 << 4,
        OPTION_RUN = 1 << 5,
        OPTION_CONFIG_DIR = 1 << 6,
        OPTION_VENDOR_DIR = 1 << 7,
        OPTION_POLICY_DIR = 1 << 8,
        OPTION_INTERVAL = 1 << 9,
        OPTION_HISTORY = 1 << 10,
        OPTION_KNOBS = 1 << 11,
        OPTION_HELP = 1 << 12,
        OPTION_VERSION = 1 << 13,
        OPTION_LATENCY = 1 << 14,
        OPTION_CORES = 1 << 15,
        OPTION_MIN_FREQUENCY = 1 << 16,
        OPTION_CPUS = 1 << 17,
        OPTION_PROFILE = 1 << 18,
        OPTION_GLOBAL = 1 << 19,
        OPTION_REASON = 1 << 20,
        OPTION_PID = 1 << 21,
        OPTION_FOR = 1 << 22,
} Option;

#define OPTIONS_BUS (OPTION_SESSION_BUS | OPTION_BUS_ADDRESS)

/* Where things are: every verb takes them, so that one set of them fits all. */
#define OPTIONS_PLACES                                                                             \
        (OPTIONS_BUS | OPTION_ROOT | OPTION_RUN | OPTION_CONFIG_DIR | OPTION_VENDOR_DIR |          \
         OPTION_POLICY_DIR)
#define OPTIONS_EVERYWHERE (OPTIONS_PLACES | OPTION_NO_COLOUR | OPTION_HELP | OPTION_VERSION)

/* What a hold can ask for, and what goes with it. */
#define OPTIONS_HOLD_ASKS                                                                          \
        (OPTION_LATENCY | OPTION_CORES | OPTION_MIN_FREQUENCY | OPTION_CPUS | OPTION_PROFILE)
#define OPTIONS_HOLD (OPTIONS_HOLD_ASKS | OPTION_GLOBAL | OPTION_REASON)

/* Numbers are 0 and texts NULL if they were not given; so is the latency if its option was not. */
typedef struct HoldWishes {
        bool latency_given, global;
        uint32_t latency_us, min_cores, min_khz, pid;
        const char *cpus, *profile, *reason;
        uint64_t for_usec;
} HoldWishes;

typedef struct Client Client;

typedef struct Ctl {
        unsigned given; /* Option flags */
        const char *root_path, *run_path, *config_dir, *vendor_dir,
                *policy_dir; /* NULL: not given */
        const char *bus;     /* NULL: the system bus; "session"; an address */
        uint64_t interval_usec;
        HoldWishes hold;
        int root;    /* the machine's root directory */
        char **args; /* behind the verb, NULL at the end */
        int n_args;
        Screen screen;
        Client *client;
} Ctl;

typedef struct Verb {
        const char *name;
        const char *arguments; /* for the usage line */
        const char *summary;   /* one line */
        const char *help;      /* more, for --help of the verb; NULL none */
        unsigned options;      /* beside those that go everywhere, and --json */
        int min_args, max_args;

        /* The answer and, in `*ret_status`, which comes as EXIT_FINE, the exit status. NULL: none;
         * why not is on standard error and the status is not EXIT_FINE, or all is said already. */
        json_object *(*ask)(Ctl *ctl, int *ret_status);
        void (*show)(const Ctl *ctl, json_object *answer);
        bool mute; /* it has no answer, and so takes no --json */
} Verb;

/* All verbs; ends with a row without name. The first is what idlectl does without arguments. */
extern const Verb verbs[];

json_object *status_ask(Ctl *ctl, int *ret_status);
void status_show(const Ctl *ctl, json_object *answer);
json_object *cpus_ask(Ctl *ctl, int *ret_status);
void cpus_show(const Ctl *ctl, json_object *answer);
json_object *why_ask(Ctl *ctl, int *ret_status);
void why_show(const Ctl *ctl, json_object *answer);
json_object *policies_ask(Ctl *ctl, int *ret_status);
void policies_show(const Ctl *ctl, json_object *answer);
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
json_object *run_ask(Ctl *ctl, int *ret_status);
json_object *holds_ask(Ctl *ctl, int *ret_status);
void holds_show(const Ctl *ctl, json_object *answer);
json_object *dump_ask(Ctl *ctl, int *ret_status);
void dump_show(const Ctl *ctl, json_object *answer);

/* "idlectl: ..." on standard error, one line. Returns EXIT_FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a hint at --help behind it; `verb` may be NULL. Returns EXIT_USAGE. */
int complain_usage(const Verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
