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
        GHashTable *requests;      /* policy: CPUs that it requests */
};

RecordDaemon *record_daemon_new(Client *client, RecordingSampler *sampler, RecordingTable *machine)
{
        RecordDaemon *daemon = g_new0(RecordDaemon, 1);

        daemon->client = client;
        daemon->sampler = sampler;
        daemon->machine = machine;
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

static void add_holds(RecordDaemon *daemon, json_object *objects)
{
        json_object_object_foreach(objects, object, interfaces)
        {
                json_object *hold = json_get(interfaces, HOLD_INTERFACE);
                json_object *request = json_get(hold, "Request");

                if (!object || !hold)
                        continue;
                recording_hold(daemon->sampler,
                               &(RecordingHold){
                                       .id = (uint64_t)json_int(hold, "Id", 0),
                                       .owner = json_text(hold, "Owner"),
                                       .uid = (unsigned)json_int(hold, "User", 0),
                                       .latency_us = json_int(request, "latency_us", -1),
                                       .p99_us = json_int(request, "wakeup_p99_us", 0),
                                       .khz = json_int(request, "min_frequency_khz", 0),
                                       .cores = json_int(request, "min_cores", 0),
                                       .global = json_true(request, "global"),
                                       .cpus = json_text(hold, "CPUs"),
                                       .kinds = json_text(request, "kind"),
                                       .profile = json_text(request, "profile"),
                                       .reason = json_text(hold, "Reason"),
                               });
        }
        recording_holds_end(daemon->sampler);
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

static void add_profile(RecordDaemon *daemon)
{
        g_autoptr(json_object) reason = client_property(daemon->client, "ProfileReason");
        const char *name = json_object_get_string(value(daemon, "profile"));

        recording_profile(daemon->sampler, name && *name ? name : NULL,
                          json_object_get_string(reason));
}

static void add_pauses(RecordDaemon *daemon)
{
        json_object *pauses = value(daemon, "paused"), *pause;
        g_autoptr(GString) text = g_string_new(NULL);

        JSON_FOREACH(pause, pauses)
                g_string_append_printf(text, "%s%s: %s", text->len ? "; " : "",
                                       json_text(pause, "owner"), json_text(pause, "reason"));
        recording_pauses(daemon->sampler, json_length(pauses) > 0 ? text->str : NULL);
}

/* What follows from values that changed. */
static void add_events(RecordDaemon *daemon)
{
        g_autoptr(json_object) objects = client_objects(daemon->client);

        if (!daemon->begun || transitions(daemon) < daemon->transition)
                daemon->transition = transitions(daemon); /* it has just begun, or it is another */
        else if (transitions(daemon) > daemon->transition)
                add_transitions(daemon);
        add_profile(daemon);
        add_pauses(daemon);
        if (json_object_is_type(objects, json_type_object)) {
                add_holds(daemon, objects);
                add_requests(daemon, objects);
        }
        daemon->begun = true;
}

/* Returns whether it answers, and whether a value is another one than before. */
static bool read_values(RecordDaemon *daemon, bool *ret_changed)
{
        bool any = false;

        *ret_changed = false;
        for (size_t i = 0; i < ROWS; i++) {
                json_object *before = daemon->values[i];

                daemon->values[i] = client_property(daemon->client, rows[i].property);
                *ret_changed |= !json_object_equal(before, daemon->values[i]);
                any |= daemon->values[i] != NULL;
                json_object_put(before);
        }
        return any;
}

void record_daemon_ask(RecordDaemon *daemon, RecordingCpu *cpus, int n_cpus)
{
        int64_t now = g_get_monotonic_time();
        bool there, known, changed = false;
        CpuSet parked;

        if (daemon->asked_usec && now - daemon->asked_usec < (daemon->there ? ASK_USEC : TRY_USEC))
                return;
        if (daemon->asked_usec && !daemon->there)
                client_try_again(daemon->client);
        daemon->asked_usec = now;
        there = client_manager(daemon->client) && read_values(daemon, &changed);
        if (daemon->begun && there != daemon->there)
                recording_event_now(daemon->sampler, "daemon", NULL, NULL,
                                    there ? "idled runs again" : client_problem(daemon->client));
        daemon->there = there;
        if (!there)
                forget_values(daemon);
        else if (changed)
                add_events(daemon);
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

                for (size_t i = 0; i < G_N_ELEMENTS(saved); i++)
                        recording_put(daemon->machine, saved[i].column, name, saved[i].unit,
                                      saved[i].decimals,
                                      json_number_at(policy, saved[i].property, saved[i].element));
                for (size_t i = 0; i < G_N_ELEMENTS(saved_texts); i++)
                        if (*json_text(policy, saved_texts[i].property))
                                recording_put_text(daemon->machine, saved_texts[i].column, name,
                                                   json_text(policy, saved_texts[i].property));
        }
}

/* The number of things in a list, 1 for any number of pauses; else the number itself. */
static double number_of(const Row *row, json_object *object)
{
        double number = json_object_is_type(object, json_type_array)
                                ? (double)json_length(object)
                                : json_object_get_double(object);

        return g_str_equal(row->column, "paused") ? number > 0 : number;
}

void record_daemon_put(RecordDaemon *daemon)
{
        put_saved(daemon);
        for (size_t i = 0; i < ROWS; i++) {
                const Row *row = &rows[i];

                if (daemon->values[i] && row->text)
                        recording_put_text(daemon->machine, row->column, NULL,
                                           json_object_get_string(daemon->values[i]));
                else if (daemon->values[i])
                        recording_put(daemon->machine, row->column, NULL, row->unit, 0,
                                      number_of(row, daemon->values[i]));
        }
}
