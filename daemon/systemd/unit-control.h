/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * systemd's units, for the back end of parking that may not speak D-Bus itself (act/knob.h).
 *
 * It has a connection to the bus of its own, made when first needed and again after it broke, so
 * that its calls, which wait for their answers, never wait for what clients of idled do. A call
 * takes BUS_TIMEOUT_USEC at most, and after one that was not answered all fail for half a minute
 * with -ETIMEDOUT. Without a bus, or without systemd on it, every call fails at once
 * with -ENOTCONN.
 */
#ifndef IDLED_UNIT_CONTROL_H
#define IDLED_UNIT_CONTROL_H

#include <systemd/sd-event.h>

#include "act/knob/knob.h"

typedef struct Units Units;

/* systemd on a bus: NULL the system's, "session", or an address. `event` may be NULL, then
 * units_watch() does nothing. */
Units *units_new(sd_event *event, const char *bus);
void units_free(Units *units);

/* From now on waits three times as long for answers, for what is to be given back at the end. */
void units_be_patient(Units *units);

/* The table of functions over `units`, valid as long as it is. */
const UnitControl *units_control(const Units *units);

/* While on: calls `came` a moment after units came, with whether one of them is directly below the
 * root slice; also when systemd itself did. */
void units_watch(Units *units, bool on, void (*came)(bool top, void *userdata), void *userdata);

/* To be called when the bus is back after it was away: listens again, if it did. */
void units_listen_again(Units *units);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Units, units_free)

#endif
