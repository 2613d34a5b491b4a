/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * systemd's units, for the back end of parking that may not speak D-Bus itself (act/knob.h).
 *
 * The functions of its table wait for answers, because idled reads a knob back right after it
 * wrote it. Watching units waits for none. It has its own connection to the bus, so that its
 * blocking calls never wait for clients of idled. It connects when first needed, and again after
 * the connection broke. A call takes at most BUS_TIMEOUT_USEC. After a call without an answer all
 * calls fail with -ETIMEDOUT for half a minute. Without a bus, or without systemd on it, every call
 * fails at once with -ENOTCONN.
 */
#ifndef IDLED_UNIT_CONTROL_H
#define IDLED_UNIT_CONTROL_H

#include <systemd/sd-event.h>

#include "act/knob/knob.h"
#include "model/unit-cpus.h"

typedef struct Units Units;

/* systemd on a bus: NULL the system's, "session", or an address. `event` may be NULL, then
 * units_watch() does nothing. */
Units *units_new(sd_event *event, const char *bus);
void units_free(Units *units);

/* From now on waits three times as long for answers, to restore units at the end. */
void units_be_patient(Units *units);

/* The table of functions over `units`, valid as long as it is. */
const UnitControl *units_control(const Units *units);

/* Moves the process, a child of ours, into a new scope of that name in our slice, and waits until
 * it is there. systemd may ask for a password meanwhile. -EACCES: it does not permit that. */
int units_start_scope(Units *units, const char *scope, pid_t pid);

/* What systemd does with a unit. */
typedef enum UnitJob {
        UNIT_JOB_BEGINS, /* something was queued for it, mostly its start; nothing was done yet */
        UNIT_JOB_OTHER,  /* that is no start */
        UNIT_JOB_ENDS,   /* that is done, or was cancelled */
} UnitJob;

/* What is called while units are watched; each may be NULL. */
typedef struct UnitListener {
        /* Units came a moment ago, one of them directly below the root slice; or systemd itself. */
        void (*came)(bool top, void *userdata);
        /* For services, scopes and slices. */
        void (*job)(const char *unit, UnitJob job, void *userdata);
        /* The unit's properties about CPUs; NULL: it was unloaded. `unit` NULL: all were. */
        void (*cpus)(const char *unit, const UnitCpus *cpus, void *userdata);
        /* cpus() was called for all units there are; or, with a negative errno, they cannot be
         * listed. */
        void (*listed)(int error, void *userdata);
        void *userdata;
} UnitListener;

/* What is wanted of the watch. */
typedef enum UnitsWatch {
        UNITS_COME = 1 << 0, /* came() */
        UNITS_JOBS = 1 << 1, /* job(), cpus() and listed() */
} UnitsWatch;

/* Watches units while `what` is not 0. The listener is copied. */
void units_watch(Units *units, unsigned what, const UnitListener *listener);

/* To be called when the bus is back after it was away: listens again, if it did. */
void units_listen_again(Units *units);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Units, units_free)

#endif
