/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds on the bus: what the two files about them share.
 */
#ifndef IDLED_BUS_HOLD_H
#define IDLED_BUS_HOLD_H

#include "bus/bus-parts.h"

/* A request as read from a message, into which its strings and its pidfd point. */
typedef struct BusHoldRequest {
        HoldRequest hold; /* without owner, sender and user */
        CpuSet cpus;      /* of hold.cpus */
} BusHoldRequest;

/* Reads the a{sv} of Hold(), from the start of the message. On failure `error` says what was found
 * and what was expected. */
int bus_hold_request_read(sd_bus_message *message, const Manager *manager,
                          BusHoldRequest *ret_request, sd_bus_error *error);

/* The hold that the path names, NULL if there is none such, and the path of one as a new string. */
const Held *bus_path_hold(const Bus *bus, const char *path);
char *bus_hold_path(uint64_t id);

#endif
