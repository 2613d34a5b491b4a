/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bus names that clients of power-profiles-daemon use, if the administrator enables them:
 *   bus-power-holds.c  holds
 *   bus-power-rivals.c the names, and other programs that do the same
 *   bus-power.c        objects and properties
 *
 * Clients know three profiles: power-saver, balanced and performance. If another profile is in
 * effect, they see the one of the three that it belongs to (Profile.family).
 */
#ifndef IDLED_BUS_POWER_H
#define IDLED_BUS_POWER_H

#include "bus/bus-parts.h"
#include "config/profile.h"

/* One of the two names, each with its object and its interface. */
typedef struct PowerName {
        const char *name; /* of the interface as well */
        const char *path;
} PowerName;

#define POWER_NAMES   2
#define POWER_WATCHED 5
extern const PowerName power_names[POWER_NAMES]; /* the older one first */

typedef struct BusPower {
        Bus *bus;
        sd_bus_slot *slots[POWER_NAMES][3];
        GPtrArray *holds; /* of PowerHold */
        struct PowerAsked {
                struct BusPower *power;
                const PowerName *name;
        } asked[POWER_NAMES];
        sd_bus_slot *units; /* the question which ones run */
        GPtrArray
                *rivals; /* of names of others' that we asked for, and of units that run; static */
        char *sent[POWER_WATCHED]; /* what clients last heard, by property */
} BusPower;

/* The three profiles that clients know; ends with NULL. */
extern const char *const power_profiles[];

/* True for one of these. */
bool power_is_profile(const char *name);

/* By which of the names the client came, of a call to one of our objects. */
const PowerName *power_name_of(sd_bus_message *message);

/* Asks for one of the names; and systemd, where it runs, for units that do the same as we. */
int power_ask_name(BusPower *power, int i);
int power_ask_units(BusPower *power);

/* Serves the names, if the configuration says so; the connection is lost; signals changes, or
 * begins or ends to serve them. */
int power_export(Bus *bus);
void power_drop(Bus *bus);
void power_publish(Bus *bus, unsigned changes);

/* Appends rows of Degraded for all of them. */
int power_append_rivals(sd_bus_message *reply, const BusPower *power);

/* The error for calls that were allowed when the names were switched off already: what waits for
 * polkit knows the bus, and looks there for what is served by then. */
int power_refuse(sd_bus_error *error);

/* HoldProfile and ReleaseProfile. */
int power_method_hold(sd_bus_message *message, void *userdata, sd_bus_error *error);
int power_method_release(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* Ends all holds at once; no profile of a hold that is still there is applied in between. `emit`:
 * signals their owners. */
void power_holds_end(BusPower *power, bool emit);

/* Signals the owners of holds that were ended elsewhere. */
void power_holds_follow(BusPower *power);

/* Appends ActiveProfileHolds, or the same as a text that says whether it changed. */
int power_append_holds(sd_bus_message *message, const Bus *bus);
char *power_describe_holds(const Manager *manager);

#endif
