/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a client requests with Hold(): a dictionary, read by a table of keys.
 *
 * Nothing is guessed: an unknown key, a value of another type or out of its range is an error that
 * says what was expected, because a hold that is not what its owner expects is worse than none.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cpuset-text.h"
#include "base/log.h"
#include "base/nearest.h"
#include "bus/bus-hold.h"
#include "config/profile.h"

#define FREQUENCY_MAX 100000000u /* kHz */
#define REASON_MAX    256
#define CPUS_MAX      32768

static int refuse(sd_bus_error *error, const char *key, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* "KEY: what was found, what was expected". */
static int refuse(sd_bus_error *error, const char *key, const char *format, ...)
{
        g_autofree char *text = NULL, *clean = NULL;
        va_list arguments;

        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        clean = log_clean(text);
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE, "%s: %s", key, clean);
}

/* A key, the type of its value, and the function that reads it; `asks` says that a hold with it
 * requests something. A number has a member, a range and a unit. */
typedef struct Key {
        const char *key, *type;
        bool asks;
        int (*take)(sd_bus_message *m, const struct Key *key, const Manager *manager,
                    BusHoldRequest *request, sd_bus_error *error);
        size_t offset; /* in HoldRequest, of 32 bits */
        uint32_t least, most;
        const char *unit;
} Key;

static int read_number(sd_bus_message *m, const Key *key, uint32_t most, BusHoldRequest *request,
                       sd_bus_error *error)
{
        uint32_t number;
        int r = sd_bus_message_read(m, "u", &number);

        if (r < 0)
                return r;
        if (number < key->least || number > most)
                return refuse(error, key->key, "found %u, expected %u to %u%s", number, key->least,
                              most, key->unit);
        G_STRUCT_MEMBER(uint32_t, &request->hold, key->offset) = number;
        return 0;
}

static int take_number(sd_bus_message *m, const Key *key, const Manager *manager,
                       BusHoldRequest *request, sd_bus_error *error)
{
        return read_number(m, key, key->most, request, error);
}

static int take_cores(sd_bus_message *m, const Key *key, const Manager *manager,
                      BusHoldRequest *request, sd_bus_error *error)
{
        return read_number(m, key, (uint32_t)manager_topology(manager)->n_cores, request, error);
}

static int take_pidfd(sd_bus_message *m, const Key *key, const Manager *manager,
                      BusHoldRequest *request, sd_bus_error *error)
{
        return sd_bus_message_read(m, "h", &request->hold.pidfd);
}

static int take_global(sd_bus_message *m, const Key *key, const Manager *manager,
                       BusHoldRequest *request, sd_bus_error *error)
{
        int global, r = sd_bus_message_read(m, "b", &global);

        if (r >= 0)
                request->hold.global = global;
        return r;
}

static int take_reason(sd_bus_message *m, const Key *key, const Manager *manager,
                       BusHoldRequest *request, sd_bus_error *error)
{
        int r = sd_bus_message_read(m, "s", &request->hold.reason);

        if (r >= 0 && strlen(request->hold.reason) > REASON_MAX)
                return refuse(error, key->key, "found %zu bytes, expected at most %d",
                              strlen(request->hold.reason), REASON_MAX);
        return r;
}

static int take_profile(sd_bus_message *m, const Key *key, const Manager *manager,
                        BusHoldRequest *request, sd_bus_error *error)
{
        g_autofree char *problem = NULL;
        const char *name;
        int r = sd_bus_message_read(m, "s", &name);

        if (r < 0)
                return r;
        if (profile_check_name(manager_config(manager), name, &problem) < 0)
                return refuse(error, key->key, "%s", problem);
        request->hold.profile = name;
        return 0;
}

static int take_kind(sd_bus_message *m, const Key *key, const Manager *manager,
                     BusHoldRequest *request, sd_bus_error *error)
{
        g_auto(GStrv) words = NULL;
        const char *text, *word;
        int r = sd_bus_message_read(m, "s", &text);

        if (r < 0)
                return r;
        words = g_strsplit(text, " ", -1);
        if (kinds_parse((const char *const *)words, &request->hold.kinds, &word) >= 0 && *words)
                return 0;
        return refuse(error, key->key,
                      "found \"%s\", expected efficient, fast, cache or island, or several with "
                      "a space between them",
                      text);
}

static int take_cpus(sd_bus_message *m, const Key *key, const Manager *manager,
                     BusHoldRequest *request, sd_bus_error *error)
{
        const char *text;
        int r = sd_bus_message_read(m, "s", &text);

        if (r < 0)
                return r;
        if (strlen(text) > CPUS_MAX || cpuset_parse(text, &request->cpus) < 0)
                return refuse(error, key->key, "found \"%s\", expected CPUs such as 2-3,8", text);
        if (!cpuset_intersects(&request->cpus, &manager_topology(manager)->online))
                return refuse(error, key->key,
                              "found \"%s\", expected at least one CPU that is online", text);
        request->hold.cpus = &request->cpus;
        return 0;
}

#define NUMBER(member) take_number, offsetof(HoldRequest, member)

static const Key keys[] = {
        { "latency_us", "u", true, NUMBER(latency_us), 0, HOLD_LATENCY_MAX_US, " microseconds" },
        { "wakeup_p99_us", "u", true, NUMBER(p99_us), 1, CONTRACT_LIMIT_MAX_US, " microseconds" },
        { "global", "b", false, take_global },
        { "profile", "s", true, take_profile },
        { "min_cores", "u", true, take_cores, offsetof(HoldRequest, min_cores), 1, 0,
          ", the number of cores here" },
        { "min_frequency_khz", "u", true, NUMBER(min_khz), 1, FREQUENCY_MAX, " kHz" },
        { "cpus", "s", true, take_cpus },
        { "kind", "s", true, take_kind },
        { "pid", "u", false, NUMBER(pid), 1, INT32_MAX, "" },
        { "pidfd", "h", false, take_pidfd },
        { "reason", "s", false, take_reason },
};

static int find_key(const char *key, sd_bus_error *error)
{
        const char *names[G_N_ELEMENTS(keys) + 1] = { NULL };
        g_autofree char *clean = NULL, *hint = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                if (g_str_equal(keys[i].key, key))
                        return (int)i;
                names[i] = keys[i].key;
        }
        clean = log_clean(key);
        hint = text_suggest(word_nearest(clean, names));
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE, "Found an unknown key \"%s\"%s",
                                 clean, hint);
}

/* One entry of the dictionary, which is entered. `seen` are the keys that came before. */
static int read_entry(sd_bus_message *m, const Manager *manager, unsigned *seen,
                      BusHoldRequest *request, sd_bus_error *error)
{
        const char *key, *type;
        int i, r = sd_bus_message_read(m, "s", &key);

        if (r < 0)
                return r;
        i = find_key(key, error);
        if (i < 0)
                return i;
        if (*seen & 1u << i)
                return refuse(error, key, "found twice, expected once");
        *seen |= 1u << i;
        r = sd_bus_message_peek_type(m, NULL, &type);
        if (r >= 0 && !g_str_equal(type, keys[i].type))
                return refuse(error, key, "found a value of type \"%s\", expected \"%s\"", type,
                              keys[i].type);
        if (r >= 0)
                r = sd_bus_message_enter_container(m, 'v', keys[i].type);
        if (r >= 0)
                r = keys[i].take(m, &keys[i], manager, request, error);
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* Checks that need more than one key. */
static int check_whole(unsigned seen, const BusHoldRequest *request, sd_bus_error *error)
{
        bool asks = false;

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                asks |= seen & 1u << i && keys[i].asks;
        if (!asks)
                return sd_bus_error_set(
                        error, BUS_ERROR_INVALID_VALUE,
                        "Found no request, expected at least one of latency_us, "
                        "wakeup_p99_us, profile, min_cores, min_frequency_khz, cpus, kind");
        if (request->hold.global && request->hold.latency_us < 0)
                return sd_bus_error_set(error, BUS_ERROR_INVALID_VALUE,
                                        "global: found no latency_us, expected both");
        if (request->hold.p99_us > 0 && request->hold.pid == 0 && request->hold.pidfd < 0)
                return sd_bus_error_set(
                        error, BUS_ERROR_INVALID_VALUE,
                        "wakeup_p99_us: found no pid or pidfd, expected the process "
                        "whose unit it is about");
        if (request->hold.pid > 0 && request->hold.pidfd >= 0)
                return sd_bus_error_set(error, BUS_ERROR_INVALID_VALUE,
                                        "pid, pidfd: found both, expected one of them");
        return 0;
}

int bus_hold_request_read(sd_bus_message *message, const Manager *manager,
                          BusHoldRequest *ret_request, sd_bus_error *error)
{
        BusHoldRequest request = { .hold = HOLD_REQUEST_NONE };
        unsigned seen = 0;
        int r = sd_bus_message_rewind(message, true);

        if (r >= 0)
                r = sd_bus_message_enter_container(message, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
                r = read_entry(message, manager, &seen, &request, error);
                if (r >= 0)
                        r = sd_bus_message_exit_container(message);
        }
        if (r >= 0)
                r = check_whole(seen, &request, error);
        if (r < 0)
                return r;
        request.hold.bound = request.hold.pid > 0 || request.hold.pidfd >= 0;
        *ret_request = request;
        if (request.hold.cpus)
                ret_request->hold.cpus = &ret_request->cpus;
        return 0;
}
