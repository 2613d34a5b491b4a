/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading the CPUs that loaded units name.
 */
#ifndef IDLED_UNIT_READ_H
#define IDLED_UNIT_READ_H

#include "systemd/unit-bus.h"
#include "systemd/unit-control.h"

typedef struct UnitReader UnitReader;

/* Answers arrive while an event loop serves the connection, and go to cpus() and listed() of the
 * listener, which stays the caller's. */
UnitReader *unit_reader_new(UnitBus *bus, const UnitListener *listener);
void unit_reader_free(UnitReader *reader);

/* Reads all units that are loaded, and then calls listed(). */
void unit_reader_read_all(UnitReader *reader);

/* Reads one, before all others. */
void unit_reader_read(UnitReader *reader, const char *unit);

/* Forgets all that is being read. */
void unit_reader_forget(UnitReader *reader);

#endif
