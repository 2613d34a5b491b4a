/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Application rules: what idled does while certain processes run. Each file apps/NAME.conf is a
 * rule.
 */
#ifndef IDLED_APP_H
#define IDLED_APP_H

#include "config/config.h"
#include "sense/process-facts.h"

typedef struct AppOptions {
        /* [Match]: globs; an empty list matches everything, else one must match */
        char **executables, **comms, **units, **cgroups, **users;
        bool children; /* processes that it starts match, too, whatever they execute */
        /* [Ask] */
        uint64_t latency_usec; /* 0: any */
        uint64_t p99_usec;     /* of a contract of the unit; 0: none */
        char *profile;         /* "": none */
        uint64_t cores;        /* least number of active ones; CPUSET_MAX: all; 0: any */
        char **kinds;          /* of cores, for the process's unit; empty: any */
        uint64_t linger_usec;  /* the hold outlives the last process for so long */
} AppOptions;

/* One rule. */
struct App {
        char *name;
        const char *file; /* its first file; interned */
        AppOptions *options;
        GHashTable *sources; /* key -> Source *, of keys that a file sets */
};

extern const Setting app_settings[];

/* Reads and checks all rules into config->apps, which comes empty. What is wrong is in `errors`. */
void apps_load(Config *config, const ConfigPaths *paths, GPtrArray *errors);

void app_free(App *app);

/* Where the rule's value of `key` comes from. */
Source app_source(const App *app, const char *key);

/* The facts about a process that `app` needs. */
unsigned app_needs(const App *app);

/* If the rule names its units and nothing else: the cgroup of the highest one that the process is
 * in, as a new string. NULL: it does not, or the process is in none. Needs PROCESS_FACT_CGROUPS. */
char *app_unit(const App *app, const ProcessFacts *facts);

/* True if one hold for a unit serves all its processes as well: the rule names units, maybe with
 * their users, and what it requests is the same for each process of a unit. */
bool app_is_of_units(const App *app);

/* The kinds of cores that it requests, bits of CoreKind. */
unsigned app_kinds(const App *app);

/* Whether the process is meant, by one of these facts: true if the rule says nothing of it. `users`
 * is of users_read(). Pure. */
bool app_matches(const App *app, ProcessFact fact, const ProcessFacts *facts, GHashTable *users);

#endif
