/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching units: what systemd announces about them, and the CPUs that they name.
 */
#ifndef IDLED_UNIT_WATCH_H
#define IDLED_UNIT_WATCH_H

#include "systemd/unit-bus.h"
#include "systemd/unit-control.h"

typedef struct UnitWatch UnitWatch;

/* Watches nothing yet. `bus` stays the caller's, and reports its connection to the watch. Without
 * `event` nothing can be watched. */
UnitWatch *unit_watch_new(sd_event *event, UnitBus *bus);

/* To be called after the bus was disconnected. */
void unit_watch_free(UnitWatch *watch);

/* As units_watch() and units_listen_again(). */
void unit_watch_set(UnitWatch *watch, unsigned what, const UnitListener *listener);
void unit_watch_again(UnitWatch *watch);

#endif
