/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A connection to systemd, and calls on it.
 */
#ifndef IDLED_UNIT_BUS_H
#define IDLED_UNIT_BUS_H

#include <glib.h>
#include <systemd/sd-bus.h>

#include "base/cpuset.h"

#define SYSTEMD_NAME    "org.freedesktop.systemd1"
#define SYSTEMD_PATH    "/org/freedesktop/systemd1"
#define UNITS_PATH      SYSTEMD_PATH "/unit"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define SYSTEMD_JOB     "org.freedesktop.systemd1.Job"
#define SYSTEMD_UNIT    "org.freedesktop.systemd1.Unit"

typedef struct UnitBus {
        char *address;
        sd_bus *connection;    /* NULL: none yet, or it broke */
        uint64_t timeout_usec; /* of a call, and of a job */
        gint64 silent_until;   /* CLOCK_MONOTONIC: it did not answer, and is not asked before */
        void (*connected)(void *userdata); /* when the connection is made */
        void (*lost)(void *userdata);      /* and when it is lost */
        void *userdata;
} UnitBus;

/* Makes the connection if there is none. -ENOTCONN. */
int unit_bus_connect(UnitBus *bus);

void unit_bus_disconnect(UnitBus *bus);

/* Calls systemd on the connection of the message and waits for the answer, whose errors are those
 * of UnitControl. */
int unit_bus_call(UnitBus *bus, sd_bus_message *message, sd_bus_message **ret_reply);

/* Asks for the property `member` of the object at `path`; of the manager it is a method, without
 * arguments if `argument` is NULL. answer() is called with the reply unless the slot is released
 * before. */
int unit_ask(UnitBus *bus, const char *path, const char *interface, const char *member,
             const char *argument, sd_bus_message_handler_t answer, void *userdata,
             sd_bus_slot **ret_slot);

/* For arrays of slots. */
static inline void unit_slot_free(void *slot)
{
        sd_bus_slot_unref(slot);
}

/* The interface that has the cgroup properties of this type of unit; NULL: not one to confine. */
const char *unit_interface(const char *unit);

/* The CPUs of an array of bytes, which the message has next. */
int unit_read_cpus(sd_bus_message *message, CpuSet *ret_cpus);

#endif
