/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Turns: the order in which idled answers calls.
 *
 * One connection carries the calls of all users, in the order in which they arrived. Turns keeps
 * the calls of one user from delaying those of others, and idled's own work.
 */
#ifndef IDLED_TURNS_H
#define IDLED_TURNS_H

#include "bus/authorize.h"

typedef struct Turns Turns;

/* A user other than root gets at most this share of idled's time, averaged; a new user, or one that
 * requested nothing lately, has TURNS_SAVED_USEC at once. */
#define TURNS_SHARE      4 /* a quarter */
#define TURNS_SAVED_USEC 50000

/* The memory of the calls that wait: of one call, of one user, of a sender whose user is not known
 * yet, and of all. A call costs TURNS_CALL, and its arguments what they take. What is above these
 * limits gets LimitsExceeded when it is the user's turn; above twice its own limit a user gets no
 * answer. */
#define TURNS_CALL     1024u
#define TURNS_CALL_MAX (64u * 1024)
#define TURNS_USER_MAX (4096u * TURNS_CALL)
#define TURNS_NAME_MAX (256u * TURNS_CALL)
#define TURNS_MAX      (8 * TURNS_USER_MAX)

/* Takes charge of every method call that arrives at `connection`, which must outlive it, as must
 * `authorizer`. */
int turns_new(sd_bus *connection, sd_event *event, Authorizer *authorizer, Turns **ret_turns);

/* Forgets all calls that wait. */
void turns_free(Turns *turns);

#endif
