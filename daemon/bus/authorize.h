/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Permissions: every call that changes something goes through authorize().
 *
 * Root may do everything, and on a bus that is not the system's also the user that runs the daemon;
 * the bus itself identifies the sender. For all other users idled asks polkit, without blocking,
 * about the sender's name on the bus, which cannot be taken over by another process as a process id
 * can. Where no polkit answers, idled refuses them.
 */
#ifndef IDLED_AUTHORIZE_H
#define IDLED_AUTHORIZE_H

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

typedef struct Authorizer Authorizer;

/* What to do once it is allowed: a method handler as sd-bus knows them. */
typedef int (*AuthorizedCall)(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* For calls that arrive at `connection`, which must outlive it. */
Authorizer *authorizer_new(sd_bus *connection, bool is_system_bus);

/* Forgets all calls that still wait for an answer. */
void authorizer_free(Authorizer *authorizer);

/* Runs `call` now or when polkit has said yes, or replies with an error: AccessDenied,
 * InteractiveAuthorizationRequired, or LimitsExceeded if the sender's user has CALLS_WAITING_MAX
 * calls waiting already. To be returned from a method's handler. */
int authorize(Authorizer *authorizer, sd_bus_message *message, const char *action,
              AuthorizedCall call, void *userdata, sd_bus_error *error);
#define CALLS_WAITING_MAX 16

/* Who sent a message, as the bus says: effective user, and process when it connected. */
typedef struct Sender {
        uid_t uid;
        pid_t pid; /* 0: not known */
} Sender;

/* True for root, and on a bus that is not the system's for the user that runs the daemon. */
bool authorizer_trusts(const Authorizer *authorizer, uid_t uid);

/* Asks the bus once for every name: the bus never assigns a unique name twice. */
int authorizer_sender(Authorizer *authorizer, sd_bus_message *message, Sender *ret_sender);

/* True if the bus has answered which user owns the unique name. */
bool authorizer_knows(const Authorizer *authorizer, const char *name, Sender *ret_sender);

/* Asks the bus which user owns the unique name, without blocking, and again if that fails. Calls
 * `answered` later, with the answer; NULL: there is none, as the name may be gone. Not called after
 * authorizer_free(). */
typedef void (*AuthorizerAnswer)(const char *name, const Sender *sender, void *userdata);
void authorizer_ask(Authorizer *authorizer, const char *name, AuthorizerAnswer answered,
                    void *userdata);

#endif
