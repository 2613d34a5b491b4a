/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon, asked over the bus. Answers come as JSON, with the names that org.idled1(5) uses.
 *
 * The daemon is never started by asking.
 */
#ifndef IDLED_CLIENT_H
#define IDLED_CLIENT_H

#include "cli/verb.h"

#define MANAGER_INTERFACE "org.idled1.Manager"

/* What a hold requests. Numbers are 0 and texts NULL where it does not. */
typedef struct HoldArguments {
        bool latency_given, global;
        uint64_t latency_us, p99_us, min_cores, min_khz, pid, for_usec;
        const char *cpus, *kind, *profile, *reason;
} HoldArguments;

/* Never fails: without a bus every call reports that there is none. With a root directory of its
 * own and no bus named, no bus is asked, because the daemon there may serve another root. */
Client *client_new(const Ctl *ctl);
void client_free(Client *client);

/* All properties of the manager, asked for once; NULL if the daemon is not there. */
json_object *client_manager(Client *client);

/* The properties of an active policy, read now; NULL if there is none of this name. The caller
 * puts the object. */
json_object *client_policy(Client *client, const char *name);

/* Sets how long an answer may take; the default is the 25 s of the bus. */
void client_set_patience(Client *client, uint64_t usec);

/* One property of the manager, read now; NULL if it is not available. The caller puts it. */
json_object *client_property(Client *client, const char *name);

/* Reads them again the next time, because something was changed. */
void client_forget(Client *client);

/* Asks a daemon that was not there again the next time: it may have been started. */
void client_try_again(Client *client);

/* Why client_manager() is NULL, as a sentence without full stop: "idled is not running (...)". */
const char *client_problem(const Client *client);

/* Calls a method of the manager with arguments of the basic D-Bus types that the letters in `types`
 * say. Returns 0, or negative errno and `*ret_error`, a new string for people: -ENOTCONN if the
 * daemon is not there, -EREMOTEIO if it says no, -EOPNOTSUPP if it cannot. `ret_answer` may be
 * NULL. */
typedef union ClientArgument {
        const char *s; /* s, o */
        uint64_t t;
        uint32_t u;
} ClientArgument;
int client_call(Client *client, const char *method, const char *types,
                const ClientArgument *arguments, json_object **ret_answer, char **ret_error);

/* The same: EXIT_FINE, or EXIT_FAILED after a message. */
int client_ask(Client *client, const char *method, const char *types,
               const ClientArgument *arguments, json_object **ret_answer);

/* The changes of parked CPUs with a number above `after`, the newest first. NULL: as
 * client_call(). */
json_object *client_history(Client *client, uint64_t after, char **ret_error);

/* Begins a hold: its object, a new string, and the descriptor whose closing ends it. Errors as
 * those of client_call(). */
int client_hold(Client *client, const HoldArguments *request, char **ret_path, int *ret_fd,
                char **ret_error);

/* Ends the hold `*path`, if there is one, and frees its name. By a call, because idled may notice
 * only later that a descriptor was closed. */
void client_release(Client *client, char **path);

/* A property of the hold that is a text, as a new string; NULL if it is empty or not known.
 * "Obstacle": why the hold, or a part of it, is not in effect; "CPUs": those that it is about. */
char *client_hold_text(Client *client, const char *path, const char *property);

/* Begins a sleep ledger of idled's, which ends when the descriptor is closed; its number. Errors as
 * those of client_call(). */
int client_sleeps_start(Client *client, bool latencies, uint32_t *ret_number, int *ret_fd,
                        char **ret_error);

/* What it has counted, as org.idled1.Sleeps.Read() says it. */
int client_sleeps_read(Client *client, uint32_t number, json_object **ret_answer, char **ret_error);

/* What WakeupBill() counts in `seconds`, as org.idled1(5) describes it: with a row per executable
 * if `processes`, and of `all` users. Errors as those of client_call(). */
int client_bill(Client *client, double seconds, bool processes, bool all, json_object **ret_answer,
                char **ret_error);

/* Begins a trial, or replaces that of this client: idled ignores the requests of `policies`, or
 * honours them, and sets options, of each three texts: section, key, value; both end with NULL. It
 * ends when the descriptor is closed. Errors as those of client_call(). */
int client_trial(Client *client, const char *const *policies, bool honoured,
                 const char *const *options, const char *reason, int *ret_fd, char **ret_error);

/* Sets options, of each three texts: section, key, value; ends with NULL. All or none.
 * `*ret_warnings` is an array of sentences on what the machine does not offer of them. Errors as
 * those of client_call(). */
int client_set_options(Client *client, const char *const *options, json_object **ret_warnings,
                       char **ret_error);

/* Has client_changes() report changes from now on. */
int client_listen(Client *client);

/* The manager's properties that were signalled to have changed since the last call, as the keys of
 * a table; never blocks. */
GHashTable *client_changes(Client *client);

/* All objects below the manager by path, each with its properties; NULL if it is not there. */
json_object *client_objects(Client *client);

#endif
