/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of units, for each other: unit-control.c asks and changes, unit-job.c starts and stops,
 * unit-watch.c listens.
 */
#ifndef IDLED_UNIT_PARTS_H
#define IDLED_UNIT_PARTS_H

#include <systemd/sd-bus.h>

#include "systemd/unit-control.h"

#define SYSTEMD_NAME    "org.freedesktop.systemd1"
#define SYSTEMD_PATH    "/org/freedesktop/systemd1"
#define UNITS_PATH      SYSTEMD_PATH "/unit"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define SYSTEMD_UNIT    "org.freedesktop.systemd1.Unit"

struct Units {
        char *address;
        sd_event *event;
        sd_bus *connection;    /* NULL: none yet, or it broke */
        uint64_t timeout_usec; /* of a call, and of a job */
        gint64 silent_until;   /* CLOCK_MONOTONIC: it did not answer, and is not asked before */
        UnitControl control;
        bool reload; /* systemd has to read its files anew */
        bool watching;
        sd_bus_slot *match, *owner; /* while watching and connected */
        sd_event_source *settle;    /* goes off a moment after units came */
        GPtrArray *arrived;         /* names of these */
        void (*came)(bool top, void *userdata);
        void *userdata;
};

/* Makes the connection if there is none, and listens on it if that is wanted. -ENOTCONN. */
int units_connect(Units *units);

/* Calls systemd and waits for the answer, whose errors are those of UnitControl. */
int units_call(Units *units, sd_bus_message *message, sd_bus_message **ret_reply);

/* The interface that has the cgroup properties of this type of unit; NULL: not one to confine. */
const char *unit_interface(const char *unit);

/* A property of that interface, as a new string. */
int unit_string(Units *units, const char *unit, const char *property, char **ret_value);

/* Appends ("AllowedCPUs", `cpus`) to the properties of a unit. */
int unit_append_cpus(sd_bus_message *message, const CpuSet *cpus);

/* UnitControl's. */
int unit_start_slice(void *userdata, const char *slice, const CpuSet *cpus);
int unit_stop(void *userdata, const char *unit);

/* Listens on a connection that was just made. */
void units_subscribe(Units *units);

void units_watch_init(Units *units);
void units_watch_done(Units *units);

#endif
