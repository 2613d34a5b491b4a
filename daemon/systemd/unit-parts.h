/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of units, for each other: unit-call.c has the connection and calls, unit-job.c starts
 * and stops, unit-read.c reads the CPUs that units name, unit-job-type.c finds out which jobs are
 * starts, unit-watch.c listens, and unit-control.c puts them together.
 */
#ifndef IDLED_UNIT_PARTS_H
#define IDLED_UNIT_PARTS_H

#include <systemd/sd-bus.h>

#include "systemd/unit-control.h"

#define SYSTEMD_NAME    "org.freedesktop.systemd1"
#define SYSTEMD_PATH    "/org/freedesktop/systemd1"
#define UNITS_PATH      SYSTEMD_PATH "/unit"
#define SYSTEMD_MANAGER "org.freedesktop.systemd1.Manager"
#define SYSTEMD_JOB     "org.freedesktop.systemd1.Job"
#define SYSTEMD_UNIT    "org.freedesktop.systemd1.Unit"

struct Units {
        char *address;
        sd_event *event;
        sd_bus *connection;    /* NULL: none yet, or it broke */
        uint64_t timeout_usec; /* of a call, and of a job */
        gint64 silent_until;   /* CLOCK_MONOTONIC: it did not answer, and is not asked before */
        UnitControl control;
        bool reload;             /* systemd must reload its files */
        unsigned watching;       /* UnitsWatch flags */
        GPtrArray *matches;      /* of sd_bus_slot, while watching and connected */
        GQueue *unread;          /* names of listed units whose CPUs are still to be read */
        GQueue *newcomers;       /* and of units that came since, which are read before these */
        GHashTable *readings;    /* name -> Reading: those that are being read */
        GPtrArray *slots;        /* of sd_bus_slot: other questions without an answer yet */
        GHashTable *jobs;        /* unit -> JobQuestion: jobs of a type that is not known yet */
        GHashTable *starting;    /* names of units whose start was reported, but not its end */
        bool listing;            /* all units are being read */
        sd_event_source *settle; /* goes off a moment after units came */
        GHashTable *arrived;     /* names of these */
        GHashTable *asked;       /* and of those that came before, of which systemd was asked */
        sd_bus_slot *top;        /* whether they are directly below the root slice; NULL: unasked */
        UnitListener listener;
        void (*connected)(Units *units); /* unit-watch.c's, when the connection is made */
        void (*lost)(Units *units);      /* and when it is lost */
};

/* Makes the connection if there is none, and listens on it if that is wanted. -ENOTCONN. */
int units_connect(Units *units);

void units_disconnect(Units *units);

/* Calls systemd on the connection of the message and waits for the answer, whose errors are those
 * of UnitControl. */
int units_call(Units *units, sd_bus_message *message, sd_bus_message **ret_reply);

/* The path of a unit that is loaded, as a new string; -ENOENT. */
int unit_path(Units *units, const char *unit, char **ret_path);

/* Reads a property of a unit that is loaded up to where its value of `type` begins. */
int unit_property(Units *units, const char *unit, const char *interface, const char *property,
                  const char *type, sd_bus_message **ret_reply);

/* The same of the unit at `path`. */
int unit_property_at(Units *units, const char *path, const char *interface, const char *property,
                     const char *type, sd_bus_message **ret_reply);

/* The interface that has the cgroup properties of this type of unit; NULL: not one to confine. */
const char *unit_interface(const char *unit);

/* Appends ("AllowedCPUs", `cpus`) to the properties of a unit. */
int unit_append_cpus(sd_bus_message *message, const CpuSet *cpus);

/* UnitControl's. */
int unit_start_slice(void *userdata, const char *slice, const CpuSet *cpus);
int unit_stop(void *userdata, const char *unit);

/* Reads all units that are loaded, and then calls listed(). */
void units_read_all(Units *units);

/* Reads one, before all others. */
void units_read(Units *units, const char *unit);
void units_read_forget(Units *units);
void units_read_init(Units *units);
void units_read_done(Units *units);

/* Asks for the property `member` of the object at `path`; of the manager it is a method without
 * arguments. answer() is called with the reply unless the slot is released before. */
int units_ask(Units *units, const char *path, const char *interface, const char *member,
              sd_bus_message_handler_t answer, void *userdata, sd_bus_slot **ret_slot);

/* The same for the path of a unit; an error if the unit is not loaded. */
int units_ask_path(Units *units, const char *unit, sd_bus_message_handler_t answer, void *userdata,
                   sd_bus_slot **ret_slot);

/* systemd queued a job for the unit, or has ended it; both call job(). */
void units_job_new(Units *units, const char *unit, const char *job);
void units_job_removed(Units *units, const char *unit, const char *job);

/* Calls job() for starts that began or ended unnoticed. */
void units_jobs_read(Units *units);
void units_jobs_forget(Units *units);
void units_jobs_init(Units *units);
void units_jobs_done(Units *units);

/* The CPUs of an array of bytes, which the message has next. */
int unit_read_cpus(sd_bus_message *message, CpuSet *ret_cpus);

void units_watch_init(Units *units);
void units_watch_done(Units *units);

#endif
