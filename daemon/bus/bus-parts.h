/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of the bus, for each other. bus.c has the connection and the name; bus-publish.c sends
 * signals for the changes that bus-changes.c collects; bus-objects.c has what all objects share:
 *   bus-manager.c      /org/idled1: properties that idled decides, profiles, refused affinities
 *   bus-measured.c     its measured properties
 *   bus-methods.c      its methods that change something
 *   bus-explain.c      its query methods
 *   bus-reasons.c      parts of answers: CPU sets, failures, reasons and figures of policies
 *   bus-cpu.c          /org/idled1/cpu/N
 *   bus-policy.c       /org/idled1/policy/NAME
 *   bus-energy.c       /org/idled1/energy/NAME
 *   bus-hold.c         /org/idled1/hold/ID; bus-hold-methods.c makes and ends them by what
 *   bus-hold-request.c reads
 *   bus-trial.c        trials, on /org/idled1
 *   bus-contracts.c    contracts of units, on /org/idled1
 *   bus-sleeps.c       the sleep ledger, on /org/idled1
 *   bus-bill.c         the bill of wake-ups, the same
 *   turns.c            the order in which calls are answered
 *   bus-log-control.c  /org/freedesktop/LogControl1
 *   bus-power.c        the names of power-profiles-daemon (bus-power.h)
 *
 * idled registers a vtable for all paths below a prefix, not for each object. A handler gets the
 * Bus and finds its object by the path. So nothing changes with the policies or energy domains.
 */
#ifndef IDLED_BUS_PARTS_H
#define IDLED_BUS_PARTS_H

#include <systemd/sd-bus.h>

#include "bus/authorize.h"
#include "systemd/bus-connect.h"
#include "bus/bus.h"
#include "bus/turns.h"
#include "manager/manager-view.h"
#include "systemd/unit-control.h"

#define BUS_NAME        "org.idled1"
#define BUS_PATH        "/org/idled1"
#define BUS_PATH_CPU    BUS_PATH "/cpu"
#define BUS_PATH_POLICY BUS_PATH "/policy"
#define BUS_PATH_ENERGY BUS_PATH "/energy"
#define BUS_PATH_HOLD   BUS_PATH "/hold"

#define BUS_INTERFACE        "org.idled1.Manager"
#define BUS_INTERFACE_CPU    "org.idled1.Cpu"
#define BUS_INTERFACE_POLICY "org.idled1.Policy"
#define BUS_INTERFACE_ENERGY "org.idled1.Energy"
#define BUS_INTERFACE_HOLD   "org.idled1.Hold"
#define BUS_INTERFACE_SLEEPS "org.idled1.Sleeps"

#define BUS_ERROR_INVALID_VALUE   "org.idled1.Error.InvalidValue"
#define BUS_ERROR_NO_SUCH_OPTION  "org.idled1.Error.NoSuchOption"
#define BUS_ERROR_NO_SUCH_POLICY  "org.idled1.Error.NoSuchPolicy"
#define BUS_ERROR_NO_SUCH_PROFILE "org.idled1.Error.NoSuchProfile"
#define BUS_ERROR_CONFIG_INVALID  "org.idled1.Error.ConfigInvalid"
#define BUS_ERROR_NOT_AVAILABLE   "org.idled1.Error.NotAvailable"
#define BUS_ERROR_TOO_MANY_PAUSES "org.idled1.Error.TooManyPauses"
#define BUS_ERROR_TOO_MANY_HOLDS  "org.idled1.Error.TooManyHolds"
#define BUS_ERROR_NO_SUCH_HOLD    "org.idled1.Error.NoSuchHold"
#define BUS_ERROR_NO_SUCH_PROCESS "org.idled1.Error.NoSuchProcess"
#define BUS_ERROR_TRIAL_RUNS      "org.idled1.Error.TrialRuns"

/* The idle states of one CPU. */
typedef struct IdleStates {
        int n;
        IdleState info[IDLE_STATES_MAX];
} IdleStates;

/* What clients last heard about one CPU. */
typedef struct CpuSeen {
        uint64_t since_usec;
        bool parked, online;
} CpuSeen;

/* What clients know. */
typedef struct BusSeen {
        CpuSeen *cpus;     /* by CPU number */
        CpuWish *limits;   /* the same */
        GPtrArray *paths;  /* of policies and energy domains */
        GHashTable *holds; /* by ID */
        GPtrArray *states; /* by CPU number: IdleStates *, NULL: not read yet */
} BusSeen;

/* The sleep ledgers of clients. */
typedef struct BusSleeps BusSleeps;
void bus_sleeps_free(BusSleeps *sleeps);

struct Bus {
        sd_event *event;
        char *address;
        bool is_system;
        Units *units;
        Manager *manager; /* NULL until bus_serve() */

        sd_bus *connection; /* NULL between two attempts */
        Authorizer *authorizer;
        Turns *turns;
        sd_event_source *retry;
        uint64_t retry_usec; /* how long the next attempt is put off */
        bool owned;          /* the name is ours, or was when the bus went away */
        int yielded;         /* the pause held while another program owns it, -1 none */

        BusSleeps *sleeps; /* NULL until the first connection is served */
        GPtrArray *bills;  /* of calls that are answered when their wake-ups are counted */

        struct BusPower *power; /* NULL: the power-profiles names are not served */

        sd_event_source *publish, *publish_later;
        unsigned changes; /* Change flags not yet signalled */
        BusSeen seen;
};

/* The signature of every property's getter; the body follows. */
#define BUS_GETTER(function)                                                                       \
        static int function(sd_bus *connection, const char *path, const char *interface,           \
                            const char *property, sd_bus_message *reply, void *userdata,           \
                            sd_bus_error *error)

/* The getter of a property that one call appends, and of one whose value sd_bus_message_append()
 * takes: `bus`, `path` and `reply` are there. */
#define BUS_APPENDED(function, ...)                                                                \
        BUS_GETTER(function)                                                                       \
        {                                                                                          \
                Bus *bus __attribute__((unused)) = userdata;                                       \
                return __VA_ARGS__;                                                                \
        }
#define BUS_VALUE(function, type, ...)                                                             \
        BUS_APPENDED(function, sd_bus_message_append(reply, type, __VA_ARGS__))

/* The handler of a method: `work` is called if the sender is permitted to do `action`. */
#define BUS_AUTHORIZED(function, action, work)                                                     \
        int function(sd_bus_message *message, void *userdata, sd_bus_error *error)                 \
        {                                                                                          \
                return authorize(((Bus *)userdata)->authorizer, message, action, work, userdata,   \
                                 error);                                                           \
        }

/* NAME_find() and NAME_enumerate() for bus_export_below(): the objects for which `is_there` is true
 * of `bus` and `path`, and those whose paths append() appends. What is found is the Bus. */
#define BUS_OBJECTS(name, is_there, append)                                                        \
        static int name##_find(sd_bus *connection, const char *path, const char *interface,        \
                               void *userdata, void **ret_found, sd_bus_error *error)              \
        {                                                                                          \
                const Bus *bus = *ret_found = userdata;                                            \
                return is_there;                                                                   \
        }                                                                                          \
        static int name##_enumerate(sd_bus *connection, const char *prefix, void *userdata,        \
                                    char ***ret_nodes, sd_bus_error *error)                        \
        {                                                                                          \
                return bus_list_nodes(userdata, append, ret_nodes);                                \
        }

/* Calls `append` with what, where and why of everything that failed and that no knob reports, as
 * long as it returns no error; returns the last. */
typedef int (*BusFailure)(sd_bus_message *message, const Manager *manager, const char *actuator,
                          const char *how, const char *why);
int bus_append_failures(sd_bus_message *message, const Manager *manager, BusFailure append);

/* The user that reads the message: the caller of a reply, 0 if trusted; (uid_t)-1 for signals. */
uid_t bus_reader(const Bus *bus, sd_bus_message *message);

/* Appends what that user may read of the text (private-text.h); NULL is the empty text. The second
 * appends it as one key of a dictionary. */
int bus_append_shown(sd_bus_message *message, const Bus *bus, const char *text);
int bus_append_shown_key(sd_bus_message *message, const Bus *bus, const char *key,
                         const char *text);

/* Begins one key of a dictionary, whose value is an array of this type, "a(ss)"; ends it unless `r`
 * is an error, which is returned. */
int bus_open_key(sd_bus_message *message, const char *key, const char *type);
int bus_close_key(sd_bus_message *message, int r);

/* Reads a dictionary, a{sv}: calls `read` for the value of each key, until it returns an error. */
typedef int (*BusOption)(sd_bus_message *message, const char *key, void *data, sd_bus_error *error);
int bus_read_dictionary(sd_bus_message *message, BusOption read, void *data, sd_bus_error *error);

/* Begins a reply with an array of this type. The second ends the array and sends the reply, unless
 * `r` is an error, which is returned. */
int bus_begin_reply(sd_bus_message *message, const char *type, sd_bus_message **ret_reply);
int bus_send_reply(sd_bus_message *reply, int r);

/* Appends the keys of a dictionary that every reason has, from "policy" to "source". */
int bus_append_why(sd_bus_message *message, const Bus *bus, Cause cause, const char *policy,
                   const Reason *reason, const Source *source);

/* Appends the key "reasons": what every policy requested for the CPU in addition to parking, and
 * why. */
int bus_append_reasons(sd_bus_message *message, const Bus *bus, int cpu);

/* Appends what policies counted for the CPU, as a(sssd), or as the key "figures". */
int bus_append_figures(sd_bus_message *message, const Manager *manager, int cpu);
int bus_append_figures_key(sd_bus_message *message, const Manager *manager, int cpu);

/* As manager_set_profile(), its errors as those of the bus. Returns 0 or what to return. */
int bus_set_profile(Bus *bus, const char *name, sd_bus_error *error);

/* Appends a CPU set in list format. */
int bus_append_cpus(sd_bus_message *message, const CpuSet *set);

/* Appends what any user may know of every energy domain, as (sstdts): name, parent, whole joules
 * since the start, watts (-1: not known yet), readings that were dropped, and the source. */
int bus_append_energy(sd_bus_message *message, Bus *bus);

/* Shows the objects on the connection; see the list above. */
int bus_export_manager(Bus *bus);
int bus_export_measured(Bus *bus);
int bus_export_cpus(Bus *bus);
int bus_export_policies(Bus *bus);
int bus_export_energy(Bus *bus);
int bus_export_holds(Bus *bus);
int bus_export_sleeps(Bus *bus);
int bus_export_log_control(Bus *bus);

/* Appends to `paths` (of new strings) the objects that there are now. */
typedef void (*BusPaths)(const Bus *bus, GPtrArray *paths);
void bus_policy_paths(const Bus *bus, GPtrArray *paths);
void bus_energy_paths(const Bus *bus, GPtrArray *paths);

/* The same as a new vector: what a node enumerator returns. */
int bus_list_nodes(const Bus *bus, BusPaths append, char ***ret_nodes);

/* Shows the objects below `prefix` that `find` and `enumerate` know, all with the same vtable. */
int bus_export_below(Bus *bus, const char *prefix, const char *interface,
                     const sd_bus_vtable *vtable, sd_bus_object_find_t find,
                     sd_bus_node_enumerator_t enumerate);

/* The CPU's idle states, read when first asked for and again after CPUs came or went. */
const IdleStates *bus_idle_states(Bus *bus, int cpu);

/* Notes what clients find if they ask now. */
void bus_remember_cpus(Bus *bus);
void bus_remember_limits(Bus *bus);

/* PropertiesChanged for `changes`, on objects that clients know already. */
void bus_publish_manager(Bus *bus, unsigned changes);
void bus_publish_cpus(Bus *bus, unsigned changes);
void bus_publish_limits(Bus *bus, unsigned changes);
void bus_publish_policies(Bus *bus, unsigned changes);
void bus_publish_holds(Bus *bus, unsigned changes);

/* Frees what clients know of a hold. */
void bus_seen_hold_free(gpointer data);

/* The longest delay of signals about holds that came and went. */
#define BUS_HOLDS_USEC 10000

void bus_publish_init(Bus *bus);
void bus_publish_done(Bus *bus);

/* Watches those of systemd's units that the manager needs, as it is configured now. */
void bus_watch_units(Bus *bus);

/* The manager's on_change: signals clients once the loop is free, everything at once. */
void bus_changed(Manager *manager, unsigned changes, void *userdata);

/* The calls for a bill of wake-ups, none yet; and what they must know when the parked CPUs have
 * changed. */
GPtrArray *bus_bills_new(void);
void bus_bills_set_parked(Bus *bus);

/* Handlers of the manager's methods. */
int bus_method_explain(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_history(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_get_settings(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_verify(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_get_energy(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_sample(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_pause(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_start_trial(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_resume(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_set_options(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_reload(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_hold(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_release_hold(sd_bus_message *message, void *userdata, sd_bus_error *error);
int bus_method_wakeup_bill(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* The getter of Contracts. */
int bus_get_contracts(sd_bus *connection, const char *path, const char *interface,
                      const char *property, sd_bus_message *reply, void *userdata,
                      sd_bus_error *error);

/* 0 if the user may have one more hold, else the error of that name. */
int bus_check_hold_limit(const Bus *bus, uid_t uid, const char *name, sd_bus_error *error);

/* Appends the trial that runs as a dictionary, empty without one. */
int bus_append_trial(sd_bus_message *message, const Manager *manager);

/* Reads a(sss) into an array of OptionValue, each option once, whose strings belong to the message.
 */
int bus_read_options(sd_bus_message *message, GArray *options, sd_bus_error *error);

/* Appends the paths of all holds. */
int bus_append_holds(sd_bus_message *message, const Holds *holds);

#endif
