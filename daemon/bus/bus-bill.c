/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bill of wake-ups on /org/idled1: a call counts for some seconds and is then answered. The
 * kernel has the programs only while calls wait; a client that leaves the bus ends its call.
 *
 * Every user may see the delays of their own units; those of others are a question of
 * authorisation, as the sleep ledger is.
 */

#include "bpf/bill.h"
#include "bus/bus-parts.h"
#include "model/cgroup-unit.h"

#define BILLS_OF_USER_MAX 1
#define BILLS_MAX         4
#define SECONDS_USUAL     10
#define SECONDS_MOST      600
#define ERROR_TOO_MANY    "org.idled1.Error.TooManyBills"

typedef struct Options {
        double seconds;
        int processes, all;
} Options;

typedef struct Call {
        Bus *bus;
        sd_bus_message *message;
        Sender sender;
        Options options;
        Bill *bill;
        GHashTable *rows; /* of UnitWakeups, that its user may see */
        sd_event_source *timer;
        sd_bus_track *client;
} Call;

static void call_free(gpointer data)
{
        Call *call = data;

        sd_event_source_disable_unref(call->timer);
        sd_bus_track_unref(call->client);
        bill_close(call->bill);
        g_clear_pointer(&call->rows, g_hash_table_unref);
        sd_bus_message_unref(call->message);
        g_free(call);
}

GPtrArray *bus_bills_new(void)
{
        return g_ptr_array_new_with_free_func(call_free);
}

static int read_value(sd_bus_message *message, const char *key, void *data, sd_bus_error *error)
{
        Options *options = data;

        if (g_str_equal(key, "Seconds")) {
                if (sd_bus_message_read(message, "v", "d", &options->seconds) >= 0 &&
                    options->seconds >= 0.1 && options->seconds <= SECONDS_MOST)
                        return 0;
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "Seconds: expected a number from 0.1 to %d", SECONDS_MOST);
        }
        if (!g_str_equal(key, "Processes") && !g_str_equal(key, "All"))
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "Found the key \"%.64s\", expected Seconds, Processes or "
                                         "All",
                                         key);
        if (sd_bus_message_read(message, "v", "b",
                                *key == 'A' ? &options->all : &options->processes) >= 0)
                return 0;
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE, "%s: expected a boolean", key);
}

/* a{sv} */
static int read_options(sd_bus_message *message, Options *options, sd_bus_error *error)
{
        int r = sd_bus_message_rewind(message, true);

        *options = (Options){ .seconds = SECONDS_USUAL };
        return r < 0 ? r : bus_read_dictionary(message, read_value, options, error);
}

static int check_limits(const Bus *bus, uid_t uid, sd_bus_error *error)
{
        int n = 0;

        for (unsigned i = 0; i < bus->bills->len; i++)
                n += ((const Call *)bus->bills->pdata[i])->sender.uid == uid;
        if (bus->bills->len < BILLS_MAX && (uid == 0 || n < BILLS_OF_USER_MAX))
                return 0;
        return sd_bus_error_setf(error, ERROR_TOO_MANY,
                                 "%u bills are being counted, %d of user %u; the limits are %d and "
                                 "%d",
                                 bus->bills->len, n, (unsigned)uid, BILLS_MAX, BILLS_OF_USER_MAX);
}

static void take(const char *cgroup, const char *process, enum wakeup_kind kind,
                 const WakeupDelays *delays, void *data)
{
        const Call *call = data;

        if (call->options.all || cgroup_is_of_user(cgroup, call->sender.uid))
                unit_wakeups_add(call->rows, cgroup, process, kind, delays);
}

static int append_delays(sd_bus_message *reply, unsigned kind, const WakeupDelays *delays)
{
        static const char *const kinds[] = { "waiting", "parked", "other" };
        bool is_state = kind < WAKEUPS_STATES;
        int r = sd_bus_message_open_container(reply, 'r', "sutdda(td)");

        if (r >= 0)
                r = sd_bus_message_append(reply, "sutdd",
                                          is_state ? "idle" : kinds[kind - WAKEUPS_WAITING],
                                          is_state ? kind : 0, delays->count,
                                          (double)delays->sum_ns, (double)delays->max_ns);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(td)");
        for (unsigned i = 0; r >= 0 && i < WAKEUPS_BINS; i++)
                if (delays->bins[i])
                        r = sd_bus_message_append(reply, "(td)", wakeups_bin_begin(i),
                                                  (double)delays->bins[i]);
        for (int i = 0; r >= 0 && i < 2; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_unit(sd_bus_message *reply, const UnitWakeups *unit)
{
        g_autofree char *name = g_utf8_make_valid(unit->unit, -1);
        g_autofree char *cgroup = g_utf8_make_valid(unit->cgroup, -1);
        g_autofree char *process = g_utf8_make_valid(unit->process ?: "", -1);
        int r = sd_bus_message_open_container(reply, 'r', "sssa(sutdda(td))");

        if (r >= 0)
                r = sd_bus_message_append(reply, "sss", name, cgroup, process);
        if (r >= 0)
                r = sd_bus_message_open_container(reply, 'a', "(sutdda(td))");
        for (unsigned kind = 0; r >= 0 && kind < WAKEUPS_KINDS; kind++)
                if (unit->kinds[kind])
                        r = append_delays(reply, kind, unit->kinds[kind]);
        for (int i = 0; r >= 0 && i < 2; i++)
                r = sd_bus_message_close_container(reply);
        return r;
}

static int append_units(sd_bus_message *reply, GHashTable *rows)
{
        int r = bus_open_key(reply, "Units", "a(sssa(sutdda(td)))");
        GHashTableIter iter;
        gpointer row;

        g_hash_table_iter_init(&iter, rows);
        while (r >= 0 && g_hash_table_iter_next(&iter, NULL, &row))
                r = append_unit(reply, row);
        return bus_close_key(reply, r);
}

static int answer(const Call *call, const BillReading *reading)
{
        _message_ sd_bus_message *reply = NULL;
        int r = bus_begin_reply(call->message, "{sv}", &reply);

        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}{sv}{sv}", "DurationNSec", "t",
                                          reading->duration_ns, "Sampled", "t", reading->skipped,
                                          "Lost", "t", reading->lost, "Unstored", "t",
                                          reading->unstored);
        if (r >= 0)
                r = append_units(reply, call->rows);
        return bus_send_reply(reply, r);
}

static int on_time(sd_event_source *source, uint64_t usec, void *userdata)
{
        Call *call = userdata;
        BillReading reading;
        int r = bill_read(call->bill, take, call, &reading);

        if (r >= 0)
                r = answer(call, &reading);
        if (r < 0)
                sd_bus_reply_method_errno(call->message, r, NULL);
        g_ptr_array_remove(call->bus->bills, call);
        return 0;
}

static int on_gone(sd_bus_track *client, void *userdata)
{
        Call *call = userdata;

        g_ptr_array_remove(call->bus->bills, call);
        return 0;
}

void bus_bills_set_parked(Bus *bus)
{
        const CpuSet *parked = manager_parked(bus->manager);
        int n_active = cpuset_count(&manager_topology(bus->manager)->online) - cpuset_count(parked);

        for (unsigned i = 0; i < bus->bills->len; i++)
                bill_set_parked(((Call *)bus->bills->pdata[i])->bill, parked, n_active);
}

static int begin(Call *call, sd_bus_error *error)
{
        Bus *bus = call->bus;
        g_autofree char *why = NULL;
        int r = bill_open(manager_topology(bus->manager)->n_cpus,
                          call->options.processes ? BILL_PROCESSES : BILL_KINDS, &call->bill);

        if (r < 0) {
                why = bill_error(r);
                return sd_bus_error_setf(error, BUS_ERROR_NOT_AVAILABLE, "No bill of wake-ups: %s",
                                         why);
        }
        /* Loading took some of the loop's turn. */
        r = sd_event_add_time(bus->event, &call->timer, CLOCK_MONOTONIC,
                              (uint64_t)g_get_monotonic_time() +
                                      (uint64_t)(call->options.seconds * 1e6),
                              0, on_time, call);
        if (r >= 0)
                r = sd_bus_track_new(bus->connection, &call->client, on_gone, call);
        return r < 0 ? r : sd_bus_track_add_sender(call->client, call->message);
}

static int do_bill(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        Options options;
        Call *call;
        Sender sender = { 0 };
        int r = read_options(message, &options, error);

        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r >= 0)
                r = check_limits(bus, sender.uid, error);
        if (r < 0)
                return r;
        call = g_new0(Call, 1);
        call->bus = bus;
        call->message = sd_bus_message_ref(message);
        call->sender = sender;
        call->options = options;
        call->rows = unit_wakeups_new();
        r = begin(call, error);
        if (r < 0) {
                call_free(call);
                return r;
        }
        g_ptr_array_add(bus->bills, call);
        bus_bills_set_parked(bus);
        return 1; /* on_time() answers */
}

int bus_method_wakeup_bill(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        Options options;
        int r = read_options(message, &options, error);

        if (r < 0)
                return r;
        if (!options.all)
                return do_bill(message, bus, error);
        return authorize(bus->authorizer, message, "org.idled1.watch-sleeps", do_bill, bus, error);
}
