/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The load watch: while CPUs are parked, the kernel reports new load, so that ticks can be rare.
 */
#ifndef IDLED_LOAD_WATCH_H
#define IDLED_LOAD_WATCH_H

#include "manager/ground.h"
#include "manager/tick-timer.h"
#include "model/snapshot.h"

typedef struct LoadWatch LoadWatch;

/* New load makes a tick due, now or at `timer`. Only the running system is watched. */
LoadWatch *load_watch_new(Ground *ground, TickTimer *timer);
void load_watch_free(LoadWatch *watch);

/* After a reading: watches if `wanted` and if CPUs are `parked`, else no longer. Returns how long
 * ticks may be apart, in microseconds: 0 without a watch, UINT64_MAX if load causes an event or no
 * CPU is parked. */
uint64_t load_watch_follow(LoadWatch *watch, bool wanted, bool parked, const Snapshot *last);

/* Watches nothing until it is called again. */
void load_watch_stop(LoadWatch *watch);

/* True once after the fast trigger fired: the load is there. */
bool load_watch_take_pressed(LoadWatch *watch);

/* True once after a new task or the slow trigger: there may be load. */
bool load_watch_take_called(LoadWatch *watch);

/* Why there is no PSI trigger, and why fork events do not stand in for it: negative errno, or 0. */
int load_watch_trigger_error(const LoadWatch *watch);
int load_watch_forks_error(const LoadWatch *watch);

#endif
