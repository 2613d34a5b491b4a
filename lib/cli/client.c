/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client: one connection, calls that wait, messages turned into JSON.
 */
#include "cli/client.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "systemd/bus-connect.h"

#define BUS_NAME "org.idled1"
#define BUS_PATH "/org/idled1"

#define SLEEPS_INTERFACE "org.idled1.Sleeps"
#define PROPERTIES       "org.freedesktop.DBus.Properties"

/* So many changes are asked for at once: what a call may at most. */
#define HISTORY_MOST 64

/* How long a user may take to find a password: idled waits two minutes for polkit. */
#define PASSWORD_USEC (150 * G_USEC_PER_SEC)

struct Client {
        sd_bus *connection;
        char *problem; /* why the daemon cannot be asked; NULL: it can, as far as is known */
        json_object *manager;
        GHashTable *changes; /* properties that have changed; NULL: the caller does not listen */
        bool authorize;      /* the user can be asked for a password */
};

Client *client_new(const Ctl *ctl)
{
        Client *client = g_new0(Client, 1);
        g_autofree char *address = NULL;
        int r;

        client->authorize = ctl->screen.terminal;
        if (ctl->root_path && !ctl->bus) {
                client->problem = g_strdup("idled is not running (with --root, idlectl uses a bus "
                                           "only if an option names it)");
                return client;
        }
        address = bus_address(ctl->bus);
        r = address ? bus_connect(address, false, &client->connection) : -ENXIO;
        if (!address)
                client->problem = g_strdup("idled is not running (there is no session bus: neither "
                                           "DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set)");
        else if (r < 0)
                client->problem = g_strdup_printf("idled is not running (no bus at %s: %s)",
                                                  address, g_strerror(-r));
        return client;
}

void client_free(Client *client)
{
        if (!client)
                return;
        json_object_put(client->manager);
        if (client->changes)
                g_hash_table_unref(client->changes);
        sd_bus_close_unref(client->connection);
        g_free(client->problem);
        g_free(client);
}

const char *client_problem(const Client *client)
{
        return client->problem;
}

static json_object *read_value(sd_bus_message *m);

/* An array or a struct. */
static json_object *read_elements(sd_bus_message *m, char type, const char *contents)
{
        json_object *array = json_object_new_array();

        sd_bus_message_enter_container(m, type, contents);
        while (sd_bus_message_at_end(m, false) == 0)
                json_object_array_add(array, read_value(m));
        sd_bus_message_exit_container(m);
        return array;
}

/* A dictionary by strings. */
static json_object *read_dictionary(sd_bus_message *m, const char *contents)
{
        g_autofree char *entry = g_strndup(contents + 1, strlen(contents) - 2);
        json_object *object = json_object_new_object();
        const char *key;

        sd_bus_message_enter_container(m, 'a', contents);
        while (sd_bus_message_enter_container(m, 'e', entry) > 0) {
                if (sd_bus_message_read_basic(m, entry[0], &key) < 0)
                        break;
                json_object_object_add(object, key, read_value(m));
                sd_bus_message_exit_container(m);
        }
        sd_bus_message_exit_container(m);
        return object;
}

/* Handles the types that idled uses. */
static json_object *read_basic(sd_bus_message *m, char type)
{
        union {
                int b;
                int32_t i;
                uint32_t u;
                int64_t x;
                uint64_t t;
                double d;
                const char *s;
        } v = { 0 };

        if (sd_bus_message_read_basic(m, type, &v) < 0)
                return NULL;
        switch (type) {
        case 'b':
                return json_object_new_boolean(v.b);
        case 'i':
                return json_object_new_int(v.i);
        case 'u':
                return json_object_new_int64(v.u);
        case 'x':
                return json_object_new_int64(v.x);
        case 't':
                return json_object_new_uint64(v.t);
        case 'd':
                return json_plain(v.d);
        case 's':
        case 'o':
                return json_object_new_string(v.s);
        default:
                return NULL;
        }
}

/* The next value of the message, whatever it is. What is malformed ends as null: sd-bus has
 * validated the message already. */
static json_object *read_value(sd_bus_message *m)
{
        json_object *value;
        const char *contents;
        char type;

        if (sd_bus_message_peek_type(m, &type, &contents) <= 0)
                return NULL;
        switch (type) {
        case 'a':
                if (g_str_has_prefix(contents, "{s") || g_str_has_prefix(contents, "{o"))
                        return read_dictionary(m, contents);
                return read_elements(m, type, contents);
        case 'r':
                return read_elements(m, type, contents);
        case 'v':
                sd_bus_message_enter_container(m, 'v', contents);
                value = read_value(m);
                sd_bus_message_exit_container(m);
                return value;
        default:
                return read_basic(m, type);
        }
}

/* If the error says that idled does not run or does not answer, records that in client->problem and
 * returns true. */
static bool note_gone(Client *client, const sd_bus_error *error, int r)
{
        const char *how;

        if (sd_bus_error_has_names(error, SD_BUS_ERROR_SERVICE_UNKNOWN,
                                   SD_BUS_ERROR_NAME_HAS_NO_OWNER))
                how = "is not running (its name on the bus has no owner)";
        else if (r == -ETIMEDOUT ||
                 sd_bus_error_has_names(error, SD_BUS_ERROR_NO_REPLY, SD_BUS_ERROR_TIMEOUT))
                how = "does not answer";
        else if (sd_bus_error_is_set(error) && g_str_has_prefix(error->name, BUS_NAME))
                return false;
        else if (!client->manager)
                how = NULL;
        else
                return false;
        if (!client->problem)
                client->problem = how ? g_strdup_printf("idled %s", how)
                                      : g_strdup_printf("idled is not running (%s)",
                                                        error->message ? error->message
                                                                       : g_strerror(-r));
        return true;
}

static char *error_text(const sd_bus_error *error, int r)
{
        if (sd_bus_error_has_names(error, SD_BUS_ERROR_ACCESS_DENIED,
                                   SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED))
                return g_strdup("not authorized: run idlectl as root, or let polkit authorize you");
        return g_strdup(error->message ? error->message : g_strerror(-r));
}

/* A call to the daemon that does not start it; `*ret_error` is set if there can be none. */
static int call_new_at(Client *client, const char *path, const char *interface, const char *method,
                       sd_bus_message **ret_message, char **ret_error)
{
        _message_ sd_bus_message *message = NULL;
        int r;

        if (client->problem) {
                *ret_error = g_strdup(client->problem);
                return -ENOTCONN;
        }
        r = sd_bus_message_new_method_call(client->connection, &message, BUS_NAME, path, interface,
                                           method);
        if (r >= 0)
                r = sd_bus_message_set_auto_start(message, false);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(message, client->authorize);
        if (r < 0) {
                *ret_error = g_strdup(g_strerror(-r));
                return r;
        }
        *ret_message = g_steal_pointer(&message);
        return 0;
}

/* How long the answer may take; 0: any time. A user who is asked for a password takes time, but a
 * call that only reads asks for none. */
static uint64_t patience(const Client *client, sd_bus_message *message)
{
        const char *interface = sd_bus_message_get_interface(message);
        bool asks = client->authorize && (g_strcmp0(interface, MANAGER_INTERFACE) == 0 ||
                                          g_strcmp0(interface, SLEEPS_INTERFACE) == 0);

        return asks ? PASSWORD_USEC : 0;
}

/* Sends the call, if making it went well (`r`), and waits for the answer: so long, or patiently if
 * that is 0. */
static int call_send(Client *client, sd_bus_message *message, int r, uint64_t usec,
                     sd_bus_message **ret_reply, char **ret_error)
{
        _bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        bool gone;

        if (r >= 0)
                r = sd_bus_call(client->connection, message, usec ?: patience(client, message),
                                &error, ret_reply);
        if (r >= 0)
                return 0;
        gone = note_gone(client, &error, r);
        *ret_error = gone ? g_strdup(client->problem) : error_text(&error, r);
        return gone                                                            ? -ENOTCONN
               : sd_bus_error_has_name(&error, BUS_NAME ".Error.NotAvailable") ? -EOPNOTSUPP
                                                                               : -EREMOTEIO;
}

void client_set_patience(Client *client, uint64_t usec)
{
        if (client->connection)
                sd_bus_set_method_call_timeout(client->connection, usec);
}

static int call(Client *client, const char *path, const char *interface, const char *method,
                const char *types, const ClientArgument *arguments, json_object **ret_answer,
                char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        int r = call_new_at(client, path, interface, method, &message, ret_error);

        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && types[i]; i++)
                r = sd_bus_message_append_basic(
                        message, types[i],
                        strchr("so", types[i]) ? arguments[i].s : (const void *)&arguments[i]);
        r = call_send(client, message, r, 0, &reply, ret_error);
        if (r >= 0 && ret_answer)
                *ret_answer = read_value(reply);
        return r;
}

/* All properties of an object; NULL: they are not known. */
static json_object *get_all(Client *client, const char *path, const char *interface)
{
        g_autofree char *error = NULL;
        json_object *properties = NULL;

        call(client, path, PROPERTIES, "GetAll", "s", &(ClientArgument){ .s = interface },
             &properties, &error);
        return properties;
}

json_object *client_manager(Client *client)
{
        if (!client->manager && !client->problem)
                client->manager = get_all(client, BUS_PATH, MANAGER_INTERFACE);
        return client->manager;
}

json_object *client_property(Client *client, const char *name)
{
        const ClientArgument arguments[] = { { .s = MANAGER_INTERFACE }, { .s = name } };
        g_autofree char *error = NULL;
        json_object *value = NULL;

        call(client, BUS_PATH, PROPERTIES, "Get", "ss", arguments, &value, &error);
        return value;
}

json_object *client_policy(Client *client, const char *name)
{
        g_autofree char *path = NULL;

        if (sd_bus_path_encode(BUS_PATH "/policy", name, &path) < 0)
                return NULL;
        return get_all(client, path, BUS_NAME ".Policy");
}

/* A call to the daemon of which an error says whether it is there. */
static int call_new(Client *client, const char *interface, const char *method,
                    sd_bus_message **ret_message, char **ret_error)
{
        client_manager(client);
        return call_new_at(client, BUS_PATH, interface, method, ret_message, ret_error);
}

/* Keeps a descriptor of an answer (-1: it has none) that goes with it. */
static int keep_fd(int fd, int *ret_fd, char **ret_error)
{
        fd = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (fd < 0) {
                *ret_error = g_strdup("the answer contains no descriptor");
                return -EREMOTEIO;
        }
        *ret_fd = fd;
        return 0;
}

void client_forget(Client *client)
{
        json_object_put(client->manager);
        client->manager = NULL;
}

void client_try_again(Client *client)
{
        client_forget(client);
        if (client->connection)
                g_clear_pointer(&client->problem, g_free);
}

int client_call(Client *client, const char *method, const char *types,
                const ClientArgument *arguments, json_object **ret_answer, char **ret_error)
{
        client_manager(client); /* so that an error says whether the daemon is there */
        return call(client, BUS_PATH, MANAGER_INTERFACE, method, types, arguments, ret_answer,
                    ret_error);
}

int client_ask(Client *client, const char *method, const char *types,
               const ClientArgument *arguments, json_object **ret_answer)
{
        g_autofree char *error = NULL;
        int r = client_call(client, method, types, arguments, ret_answer, &error);

        return r < 0 ? complain("%s", error) : EXIT_FINE;
}

json_object *client_history(Client *client, uint64_t after, char **ret_error)
{
        g_autoptr(json_object) all = json_object_new_array();
        uint64_t number = UINT64_MAX;

        for (size_t n = HISTORY_MOST; n == HISTORY_MOST && number > after + 1;) {
                const ClientArgument arguments[] = { { .t = number == UINT64_MAX ? 0 : number },
                                                     { .u = HISTORY_MOST } };
                g_autoptr(json_object) some = NULL;
                json_object *row;

                if (client_call(client, "History", "tu", arguments, &some, ret_error) < 0)
                        return NULL;
                n = json_length(some);
                JSON_FOREACH(row, some) {
                        number = MIN(number - 1, (uint64_t)json_int(row, "number", 0));
                        if (number > after)
                                json_object_array_add(all, json_object_get(row));
                }
        }
        return g_steal_pointer(&all);
}

static int append_request(sd_bus_message *m, const HoldArguments *request)
{
        const struct {
                const char *key;
                uint64_t number;
                bool given;
        } numbers[] = {
                { "latency_us", request->latency_us, request->latency_given },
                { "wakeup_p99_us", request->p99_us, request->p99_us > 0 },
                { "min_cores", request->min_cores, request->min_cores > 0 },
                { "min_frequency_khz", request->min_khz, request->min_khz > 0 },
                { "pid", request->pid, request->pid > 0 },
        };
        const char *const texts[][2] = { { "cpus", request->cpus },
                                         { "kind", request->kind },
                                         { "profile", request->profile },
                                         { "reason", request->reason } };
        int r = sd_bus_message_open_container(m, 'a', "{sv}");

        for (size_t i = 0; i < G_N_ELEMENTS(numbers) && r >= 0; i++)
                if (numbers[i].given)
                        r = sd_bus_message_append(m, "{sv}", numbers[i].key, "u",
                                                  (uint32_t)numbers[i].number);
        for (size_t i = 0; i < G_N_ELEMENTS(texts) && r >= 0; i++)
                if (texts[i][1])
                        r = sd_bus_message_append(m, "{sv}", texts[i][0], "s", texts[i][1]);
        if (r >= 0 && request->global)
                r = sd_bus_message_append(m, "{sv}", "global", "b", 1);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int client_hold(Client *client, const HoldArguments *request, char **ret_path, int *ret_fd,
                char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        const char *path = NULL;
        int fd = -1, r;

        r = call_new(client, MANAGER_INTERFACE, "Hold", &message, ret_error);
        if (r < 0)
                return r;
        r = call_send(client, message, append_request(message, request), 0, &reply, ret_error);
        if (r < 0)
                return r;
        sd_bus_message_read(reply, "oh", &path, &fd);
        r = keep_fd(fd, ret_fd, ret_error);
        if (r >= 0)
                *ret_path = g_strdup(path);
        return r;
}

/* Section, key and value of each as a(sss). */
static int append_options(sd_bus_message *m, const char *const *options)
{
        int r = sd_bus_message_open_container(m, 'a', "(sss)");

        for (; r >= 0 && *options; options += 3)
                r = sd_bus_message_append(m, "(sss)", options[0], options[1], options[2]);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int client_set_options(Client *client, const char *const *options, json_object **ret_warnings,
                       char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        int r;

        r = call_new(client, MANAGER_INTERFACE, "SetOptions", &message, ret_error);
        if (r < 0)
                return r;
        r = call_send(client, message, append_options(message, options), 0, &reply, ret_error);
        if (r >= 0)
                *ret_warnings = read_value(reply);
        return r;
}

int client_trial(Client *client, const char *const *policies, bool honoured,
                 const char *const *options, const char *reason, int *ret_fd, char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        int fd = -1, r;

        r = call_new(client, MANAGER_INTERFACE, "StartTrial", &message, ret_error);
        if (r < 0)
                return r;
        r = sd_bus_message_open_container(message, 'a', "{sb}");
        for (; r >= 0 && *policies; policies++)
                r = sd_bus_message_append(message, "{sb}", *policies, (int)honoured);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        if (r >= 0)
                r = append_options(message, options);
        if (r >= 0)
                r = sd_bus_message_append(message, "s", reason);
        r = call_send(client, message, r, 0, &reply, ret_error);
        if (r < 0)
                return r;
        sd_bus_message_read(reply, "h", &fd);
        return keep_fd(fd, ret_fd, ret_error);
}

/* The properties in its dictionary, and behind it those that were only invalidated. */
static int on_change(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
        Client *client = userdata;
        const char *interface, *name;
        int r = sd_bus_message_read(m, "s", &interface);

        if (r < 0 || !g_str_equal(interface, MANAGER_INTERFACE))
                return 0;
        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        while (r >= 0 && sd_bus_message_enter_container(m, 'e', "sv") > 0) {
                r = sd_bus_message_read(m, "s", &name);
                if (r >= 0)
                        g_hash_table_add(client->changes, g_strdup(name));
                if (r >= 0)
                        r = sd_bus_message_skip(m, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
        }
        return 0;
}

int client_listen(Client *client)
{
        if (client->problem)
                return -ENOTCONN;
        client->changes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return sd_bus_match_signal(client->connection, NULL, BUS_NAME, BUS_PATH, PROPERTIES,
                                   "PropertiesChanged", on_change, client);
}

GHashTable *client_changes(Client *client)
{
        GHashTable *none = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL), *changes;

        if (!client->changes)
                return none;
        while (sd_bus_process(client->connection, NULL) > 0)
                continue;
        changes = client->changes;
        client->changes = none;
        return changes;
}

int client_sleeps_start(Client *client, bool latencies, uint32_t *ret_number, int *ret_fd,
                        char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        int fd = -1, r;

        r = call_new(client, SLEEPS_INTERFACE, "Start", &message, ret_error);
        if (r < 0)
                return r;
        r = sd_bus_message_append(message, "a{sv}", 1, "Latencies", "b", (int)latencies);
        r = call_send(client, message, r, 0, &reply, ret_error);
        if (r < 0)
                return r;
        sd_bus_message_read(reply, "uh", ret_number, &fd);
        return keep_fd(fd, ret_fd, ret_error);
}

int client_sleeps_read(Client *client, uint32_t number, json_object **ret_answer, char **ret_error)
{
        return call(client, BUS_PATH, SLEEPS_INTERFACE, "Read", "u",
                    &(ClientArgument){ .u = number }, ret_answer, ret_error);
}

int client_bill(Client *client, double seconds, bool processes, bool all, json_object **ret_answer,
                char **ret_error)
{
        _message_ sd_bus_message *message = NULL, *reply = NULL;
        int r;

        r = call_new(client, MANAGER_INTERFACE, "WakeupBill", &message, ret_error);
        if (r < 0)
                return r;
        r = sd_bus_message_append(message, "a{sv}", 3, "Seconds", "d", seconds, "Processes", "b",
                                  (int)processes, "All", "b", (int)all);
        r = call_send(client, message, r, PASSWORD_USEC + (uint64_t)(seconds * 1e6), &reply,
                      ret_error);
        if (r >= 0)
                *ret_answer = read_value(reply);
        return r;
}

char *client_hold_text(Client *client, const char *path, const char *property)
{
        char *text = NULL, *copy;
        int r = sd_bus_get_property_string(client->connection, BUS_NAME, path, "org.idled1.Hold",
                                           property, NULL, &text);

        copy = r >= 0 && *text ? g_strdup(text) : NULL;
        free(text);
        return copy;
}

void client_release(Client *client, char **path)
{
        g_autofree char *released = g_steal_pointer(path), *error = NULL;

        if (released)
                client_call(client, "ReleaseHold", "o", &(ClientArgument){ .s = released }, NULL,
                            &error);
}

json_object *client_objects(Client *client)
{
        json_object *objects = NULL;
        g_autofree char *error = NULL;

        if (client_manager(client))
                call(client, BUS_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
                     "", NULL, &objects, &error);
        return objects;
}
