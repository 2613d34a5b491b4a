/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record: what idled knows. Only decided properties are asked for, which cost idled no
 * measurement; more is asked only when one of them has changed.
 */
#include <math.h>

#include "base/cpuset-text.h"
#include "model/explain.h"
#include "cli/client.h"
#include "record.h"

#define ASK_USEC         (900 * 1000) /* a second, that may be short when a sample was late */
#define TRY_USEC         (10 * 1000 * 1000)
#define SAVED_USEC       (10 * 1000 * 1000)
#define POLICY_INTERFACE "org.idled1.Policy"
#define HOLD_INTERFACE   "org.idled1.Hold"

typedef struct Row {
        const char *property, *column, *unit;
        bool text;
} Row;

/* Properties that go into table machine as they are. */
static const Row rows[] = {
        { "Parked", "parked", "", true },
        { "Allowed", "allowed", "", true },
        { "WantedCores", "wanted_cores", "cores", false },
        { "ActiveCores", "active_cores", "cores", false },
        { "Transitions", "transitions", "", false },
        { "Pauses", "paused", "", false },
        { "Profile", "profile", "", true },
        { "Holds", "holds", "", false },
};
#define ROWS G_N_ELEMENTS(rows)

/* What a policy saves, as numbers with so many decimals and as texts. */
static const struct {
        const char *property, *column, *unit;
        int element; /* of the property, -1: it is a number */
        int decimals;
} saved[] = {
        { "SavedJoules", "saved_joules", "J", 0, 0 },
        { "SavedJoules", "saved_joules_low", "J", 1, 0 },
        { "SavedJoules", "saved_joules_high", "J", 2, 0 },
        { "SavedWatts", "saved_watts", "W", 0, 3 },
        { "SavedWatts", "saved_watts_low", "W", 1, 3 },
        { "SavedWatts", "saved_watts_high", "W", 2, 3 },
        { "EffectiveShare", "effective_share", "share", -1, 4 },
}, saved_texts[] = {
        { "Verdict", "saved_verdict", "", -1, 0 },
        { "EnergySource", "saved_source", "", -1, 0 },
};

struct RecordDaemon {
        Client *client;
        RecordingSampler *sampler;
        RecordingTable *machine;
        int64_t asked_usec;        /* when it was asked last, monotonic */
        int64_t saved_usec;        /* and for what policies save */
        bool there, begun;         /* it answers; it did once */
        json_object *values[ROWS]; /* NULL: not known */
        uint64_t transition;       /* number of the last one that was recorded */
        GHashTable *holds;         /* object path: text of its event */
        GHashTable *requests;      /* policy: CPUs that it requests */
};

RecordDaemon *record_daemon_new(Client *client, RecordingSampler *sampler, RecordingTable *machine)
{
        RecordDaemon *daemon = g_new0(RecordDaemon, 1);

        daemon->client = client;
        daemon->sampler = sampler;
        daemon->machine = machine;
        daemon->holds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        daemon->requests = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return daemon;
}

static void forget_values(RecordDaemon *daemon)
{
        for (size_t i = 0; i < ROWS; i++)
                g_clear_pointer(&daemon->values[i], json_object_put);
}

void record_daemon_free(RecordDaemon *daemon)
{
        forget_values(daemon);
        g_hash_table_unref(daemon->holds);
        g_hash_table_unref(daemon->requests);
        g_free(daemon);
}

static json_object *value(const RecordDaemon *daemon, const char *column)
{
        for (size_t i = 0; i < ROWS; i++)
                if (g_str_equal(rows[i].column, column))
                        return daemon->values[i];
        return NULL;
}

static uint64_t transitions(const RecordDaemon *daemon)
{
        return (uint64_t)json_object_get_int64(value(daemon, "transitions"));
}

/* The transitions after the last recorded one, oldest first. */
static void add_transitions(RecordDaemon *daemon)
{
        g_autofree char *error = NULL;
        g_autoptr(json_object) all = client_history(daemon->client, daemon->transition, &error);

        for (size_t i = json_length(all); i-- > 0;) {
                json_object *row = json_element(all, i);

                daemon->transition = (uint64_t)json_int(row, "number", 0);
                recording_event(daemon->sampler,
                                &(RecordingEvent){
                                        .time_usec = (uint64_t)json_int(row, "time_usec", 0),
                                        .kind = "transition",
                                        .cpus = json_text(row, "parked"),
                                        .policy = cause_name(cause_parse(json_text(row, "cause")),
                                                             json_text(row, "policy")),
                                        .text = json_text(row, "text"),
                                });
        }
}

static char *hold_text(json_object *hold)
{
        json_object *request = json_get(hold, "Request");

        return recording_hold_text(&(RecordingHold){
                .id = (uint64_t)json_int(hold, "Id", 0),
                .owner = json_text(hold, "Owner"),
                .uid = (unsigned)json_int(hold, "User", 0),
                .latency_us = json_int(request, "latency_us", -1),
                .p99_us = json_int(request, "wakeup_p99_us", 0),
                .khz = json_int(request, "min_frequency_khz", 0),
                .cores = json_int(request, "min_cores", 0),
                .global = json_true(request, "global"),
                .kinds = json_text(request, "kind"),
                .profile = json_text(request, "profile"),
                .reason = json_text(hold, "Reason"),
        });
}

/* A hold that came is an event, unless it was there before the recording began. */
static void add_holds(RecordDaemon *daemon, json_object *objects)
{
        g_autoptr(GHashTable) now = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        GHashTableIter iter;
        gpointer path, text;

        json_object_object_foreach(objects, object, interfaces)
        {
                json_object *hold = json_get(interfaces, HOLD_INTERFACE);
                char *description;

                if (!hold)
                        continue;
                description = hold_text(hold);
                g_hash_table_insert(now, g_strdup(object), description);
                if (!g_hash_table_contains(daemon->holds, object))
                        recording_event_now(daemon->sampler, "hold", json_text(hold, "CPUs"), NULL,
                                            description);
        }
        g_hash_table_iter_init(&iter, daemon->holds);
        while (g_hash_table_iter_next(&iter, &path, &text))
                if (!g_hash_table_contains(now, path))
                        recording_event_now(daemon->sampler, "release", NULL, NULL, text);
        g_hash_table_unref(daemon->holds);
        daemon->holds = g_steal_pointer(&now);
}

static void add_requests(RecordDaemon *daemon, json_object *objects)
{
        json_object_object_foreach(objects, object, interfaces)
        {
                json_object *policy = json_get(interfaces, POLICY_INTERFACE);
                const char *name = json_text(policy, "Name"), *cpus = json_text(policy, "Allowed");

                if (!object || !policy ||
                    g_strcmp0(g_hash_table_lookup(daemon->requests, name), cpus) == 0)
                        continue;
                g_hash_table_replace(daemon->requests, g_strdup(name), g_strdup(cpus));
                recording_event_now(daemon->sampler, "request", cpus, name,
                                    json_text(policy, "Reason"));
        }
}

static void add_text_event(RecordDaemon *daemon, const char *kind, const char *property)
{
        g_autoptr(json_object) reason = client_property(daemon->client, property);
        g_autofree char *text = g_strdup_printf(
                "%s: %s", json_object_get_string(value(daemon, "profile")) ?: "",
                json_object_is_type(reason, json_type_string) ? json_object_get_string(reason)
                                                              : "");

        recording_event_now(daemon->sampler, kind, NULL, NULL, text);
}

static void add_pause_event(RecordDaemon *daemon)
{
        g_autoptr(json_object) pauses = client_property(daemon->client, "Pauses");
        bool paused = json_object_get_boolean(value(daemon, "paused"));
        g_autoptr(GString) text = g_string_new(NULL);
        json_object *pause;

        JSON_FOREACH(pause, pauses)
                g_string_append_printf(text, "%s%s: %s", text->len ? "; " : "",
                                       json_text(pause, "owner"), json_text(pause, "reason"));
        recording_event_now(daemon->sampler, paused ? "pause" : "resume", NULL, NULL,
                            paused ? text->str : NULL);
}

/* What follows from `before`, the values of the last time, and those of now. */
static void add_events(RecordDaemon *daemon, json_object *const *before)
{
        bool changed[ROWS], any = false;

        for (size_t i = 0; i < ROWS; i++) {
                changed[i] = !json_object_equal(before[i], daemon->values[i]);
                any |= changed[i];
        }
        if (!any && daemon->begun)
                return;
        if (!daemon->begun || transitions(daemon) < daemon->transition)
                daemon->transition = transitions(daemon); /* it has just begun, or it is another */
        else if (transitions(daemon) > daemon->transition)
                add_transitions(daemon);
        if (daemon->begun)
                for (size_t i = 0; i < ROWS; i++) {
                        if (changed[i] && g_str_equal(rows[i].column, "profile"))
                                add_text_event(daemon, "profile", "ProfileReason");
                        if (changed[i] && g_str_equal(rows[i].column, "paused"))
                                add_pause_event(daemon);
                }
        g_autoptr(json_object) objects = client_objects(daemon->client);

        if (json_object_is_type(objects, json_type_object)) {
                add_holds(daemon, objects);
                add_requests(daemon, objects);
        }
        daemon->begun = true;
}

/* Whether there is anything in the list; NULL without a list. */
static json_object *as_flag(json_object *list)
{
        json_object *flag = list ? json_object_new_boolean(json_length(list) > 0) : NULL;

        json_object_put(list);
        return flag;
}

/* False if it does not answer. */
static bool read_values(RecordDaemon *daemon)
{
        bool any = false;

        for (size_t i = 0; i < ROWS; i++) {
                json_object_put(daemon->values[i]);
                daemon->values[i] = client_property(daemon->client, rows[i].property);
                if (g_str_equal(rows[i].column, "paused"))
                        daemon->values[i] = as_flag(daemon->values[i]);
                any |= daemon->values[i] != NULL;
        }
        return any;
}

void record_daemon_ask(RecordDaemon *daemon, RecordingCpu *cpus, int n_cpus)
{
        int64_t now = g_get_monotonic_time();
        json_object *before[ROWS];
        CpuSet parked;
        bool there, known;

        if (daemon->asked_usec && now - daemon->asked_usec < (daemon->there ? ASK_USEC : TRY_USEC))
                return;
        if (daemon->asked_usec && !daemon->there)
                client_try_again(daemon->client);
        daemon->asked_usec = now;
        for (size_t i = 0; i < ROWS; i++)
                before[i] = g_steal_pointer(&daemon->values[i]);
        there = client_manager(daemon->client) && read_values(daemon);
        if (daemon->begun && there != daemon->there)
                recording_event_now(daemon->sampler, "daemon", NULL, NULL,
                                    there ? "idled runs again" : client_problem(daemon->client));
        daemon->there = there;
        if (there)
                add_events(daemon, before);
        for (size_t i = 0; i < ROWS; i++)
                json_object_put(before[i]);
        known = there && json_object_is_type(value(daemon, "parked"), json_type_string) &&
                cpuset_parse(json_object_get_string(value(daemon, "parked")), &parked) == 0;
        for (int cpu = 0; cpu < n_cpus; cpu++)
                cpus[cpu].parked = known ? cpuset_has(&parked, cpu) : NAN;
}

/* What a policy saves goes into a sample every ten seconds: it changes by blocks of minutes. */
static void put_saved(RecordDaemon *daemon)
{
        int64_t now = g_get_monotonic_time();
        GHashTableIter iter;
        gpointer name;

        if (!daemon->there || (daemon->saved_usec && now - daemon->saved_usec < SAVED_USEC))
                return;
        daemon->saved_usec = now;
        g_hash_table_iter_init(&iter, daemon->requests);
        while (g_hash_table_iter_next(&iter, &name, NULL)) {
                g_autoptr(json_object) policy = client_policy(daemon->client, name);

                for (size_t i = 0; i < G_N_ELEMENTS(saved); i++) {
                        double number = json_number_at(policy, saved[i].property, saved[i].element);

                        if (!isnan(number))
                                recording_put(daemon->machine, saved[i].column, name, saved[i].unit,
                                              saved[i].decimals, number);
                }
                for (size_t i = 0; i < G_N_ELEMENTS(saved_texts); i++)
                        if (*json_text(policy, saved_texts[i].property))
                                recording_put_text(daemon->machine, saved_texts[i].column, name,
                                                   json_text(policy, saved_texts[i].property));
        }
}

void record_daemon_put(RecordDaemon *daemon)
{
        put_saved(daemon);
        for (size_t i = 0; i < ROWS; i++) {
                json_object *object = daemon->values[i];

                if (!object)
                        continue;
                if (rows[i].text)
                        recording_put_text(daemon->machine, rows[i].column, NULL,
                                           json_object_get_string(object));
                else
                        recording_put(daemon->machine, rows[i].column, NULL, rows[i].unit, 0,
                                      json_object_is_type(object, json_type_array)
                                              ? (double)json_length(object)
                                              : json_object_get_double(object));
        }
}
