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

/* So many calls may wait, of one user and altogether; what is above is answered with
 * LimitsExceeded. The same goes for calls with arguments that are longer, or no strings: of these
 * TURNS_LARGE_MAX may wait for a user. */
#define TURNS_OF_USER_MAX 2048
#define TURNS_MAX         8192
#define TURNS_TEXT_MAX    1024
#define TURNS_LARGE_MAX   4

/* Takes charge of every method call that arrives at `connection`, which must outlive it, as must
 * `authorizer`. */
int turns_new(sd_bus *connection, sd_event *event, Authorizer *authorizer, Turns **ret_turns);

/* Forgets all calls that wait. */
void turns_free(Turns *turns);

#endif
