/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Connecting to a message bus without ever blocking for long.
 */
#ifndef IDLED_BUS_CONNECT_H
#define IDLED_BUS_CONNECT_H

#include <stdbool.h>
#include <systemd/sd-bus.h>

/* How long one call to another process may take. */
#define BUS_TIMEOUT_USEC (5u * 1000 * 1000)

#define _connection_ __attribute__((cleanup(sd_bus_close_unrefp)))
#define _message_    __attribute__((cleanup(sd_bus_message_unrefp)))
#define _bus_error_  __attribute__((cleanup(sd_bus_error_free)))

/* The address of a bus as sd-bus takes it, as a new string: NULL is the system bus, "session" the
 * user's, all else an address already. NULL: there is no session to be found. */
char *bus_address(const char *bus);

/* True if the text begins as an address does. sd-bus accepts any text and then fails to connect. */
bool bus_is_address(const char *text);

/* Begins a connection to `address`. With `wait_for_socket` a socket that is not there yet is waited
 * for in the event loop, else it is an error (-ENOENT, -ECONNREFUSED). -EINVAL: not an address. */
int bus_connect(const char *address, bool wait_for_socket, sd_bus **ret_connection);

/* Works on a connection that no event loop serves yet until it can be used, BUS_TIMEOUT_USEC long
 * at most: -ETIMEDOUT. */
int bus_wait_ready(sd_bus *connection);

#endif
