/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager on the message bus, as org.idled1.
 *
 * The bus is optional at any time: idled works without one, and serves as soon as one appears. Only
 * one process can own the name. While another process does, idled pauses itself until it owns the
 * name again.
 *
 * Order: bus_new() before anything of the machine is touched, since it reports another active
 * instance; manager_new(); bus_serve(); manager_free(); bus_free().
 */
#ifndef IDLED_BUS_H
#define IDLED_BUS_H

#include "manager/manager.h"

typedef struct Bus Bus;

/* Connects to a bus (NULL: the system's, "session", or an address) and takes the name. No bus is no
 * error: it is waited for. Errors are logged. -EEXIST: another process owns the name; -EACCES: the
 * bus does not let us have it; -EINVAL: not an address; -ENXIO: there is no session. */
int bus_new(sd_event *event, const char *address, Bus **ret_bus);
void bus_free(Bus *bus);

/* How to reach systemd on this bus; for ManagerSetup, valid until bus_free(). */
const UnitControl *bus_units(const Bus *bus);

/* The daemon ends: what systemd restores now may take its time. `bus` may be NULL. */
void bus_be_patient(Bus *bus);

/* Shows `manager` on the bus, and takes its on_change callback. Units that come while CPUs are
 * parked make it carry out its plan again. */
int bus_serve(Bus *bus, Manager *manager);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Bus, bus_free)

#endif
