/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sleep ledger on the bus: interface org.idled1.Sleeps of /org/idled1.
 *
 * A client that starts a ledger is given the writing end of a pipe; when the last copy is closed
 * the ledger is gone, and with the last ledger its programs are gone from the kernel. It is its
 * owner's: others, root excepted, cannot read it by its number. What tasks and units wake CPUs is
 * other users' business, so starting one is a question of authorisation.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/ledger.h"
#include "sense/sensor.h"
#include "bus/bus-parts.h"

#define SLEEPS_OF_USER_MAX 2
#define SLEEPS_MAX         8
#define ERROR_TOO_MANY     "org.idled1.Error.TooManyLedgers"
#define ERROR_NO_LEDGER    "org.idled1.Error.NoSuchLedger"

typedef struct Session {
        BusSleeps *sleeps;
        uint32_t number;
        uid_t uid;
        char *sender;
        Ledger *ledger;
        sd_event_source *source; /* of the pipe's reading end */
} Session;

struct BusSleeps {
        GPtrArray *sessions; /* of Session */
        uint32_t last;
        const LedgerBackend *backend;
};

static void session_free(gpointer data)
{
        Session *session = data;

        sd_event_source_disable_unref(session->source);
        if (session->ledger)
                session->sleeps->backend->close(session->ledger);
        g_free(session->sender);
        g_free(session);
}

void bus_sleeps_free(BusSleeps *sleeps)
{
        if (!sleeps)
                return;
        g_ptr_array_unref(sleeps->sessions);
        g_free(sleeps);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
        Session *session = userdata;

        g_ptr_array_remove(session->sleeps->sessions, session);
        return 0;
}

static int read_value(sd_bus_message *message, const char *key, void *data, sd_bus_error *error)
{
        LedgerConfig *config = data;
        int value;

        if (!g_str_equal(key, "Causes") && !g_str_equal(key, "Latencies"))
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "Found the key \"%.64s\", expected Causes or Latencies",
                                         key);
        if (sd_bus_message_read(message, "v", "b", &value) < 0)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE, "%s: expected a boolean",
                                         key);
        if (g_str_equal(key, "Causes"))
                config->causes = value;
        else
                config->latencies = value;
        return 0;
}

/* The target residency of the deepest state that each CPU may enter, for what sleeps lack. */
static LedgerCpu *describe_cpus(Bus *bus, int *ret_n)
{
        const Topology *topology = manager_topology(bus->manager);
        LedgerCpu *cpus = g_new0(LedgerCpu, (size_t)topology->n_cpus);
        int root = manager_setup(bus->manager)->root;
        g_autofree IdleTable *tables = idle_tables_read(root, topology->n_cpus);

        for (int cpu = 0; cpu < topology->n_cpus; cpu++) {
                uint16_t permitted = idle_states_permitted(root, cpu, &tables[cpu]);

                cpus[cpu].latency_us = -1;
                for (int state = 0; state < tables[cpu].n_states; state++) {
                        const IdleState *info = &tables[cpu].states[state];

                        if (idle_state_polls(info->name))
                                cpus[cpu].polling |= 1u << state;
                        if (permitted >> state & 1)
                                cpus[cpu].deepest_ns = info->target_residency_us * UINT64_C(1000);
                }
        }
        *ret_n = topology->n_cpus;
        return cpus;
}

static int check_limits(const Bus *bus, uid_t uid, sd_bus_error *error)
{
        const GPtrArray *sessions = bus->sleeps->sessions;
        int n = 0;

        for (unsigned i = 0; i < sessions->len; i++)
                n += ((const Session *)sessions->pdata[i])->uid == uid;
        if (sessions->len < SLEEPS_MAX && (uid == 0 || n < SLEEPS_OF_USER_MAX))
                return 0;
        return sd_bus_error_setf(error, ERROR_TOO_MANY,
                                 "User %u has %d sleep ledgers, and there are %u; the limits are "
                                 "%d and %d",
                                 (unsigned)uid, n, sessions->len, SLEEPS_OF_USER_MAX, SLEEPS_MAX);
}

static int open_ledger(Bus *bus, Session *session, LedgerConfig *config, sd_bus_error *error)
{
        g_autofree LedgerCpu *cpus = NULL;
        g_autofree char *why = NULL;
        int r = -ENOENT;

        if (!bus->sleeps->backend)
                bus->sleeps->backend = ledger_backend(LEDGER_DIR, &why);
        config->cpus = cpus = describe_cpus(bus, &config->n_cpus);
        if (bus->sleeps->backend)
                r = bus->sleeps->backend->open(config, &session->ledger, &why);
        if (r >= 0)
                return 0;
        return sd_bus_error_setf(error, BUS_ERROR_NOT_AVAILABLE, "No sleep ledger: %s", why);
}

/* What is requested and by whom, if it is available. */
static int read_start(sd_bus_message *message, Bus *bus, LedgerConfig *config, Sender *sender,
                      sd_bus_error *error)
{
        int r = sd_bus_message_rewind(message, true);

        config->causes = true;
        if (r >= 0)
                r = bus_read_dictionary(message, read_value, config, error);
        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, sender);
        return r < 0 ? r : check_limits(bus, sender->uid, error);
}

static int do_start(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        LedgerConfig config = { 0 };
        Session *session;
        Sender sender = { 0 };
        int fd = -1, r = read_start(message, bus, &config, &sender, error);

        if (r < 0)
                return r;
        session = g_new0(Session, 1);
        session->sleeps = bus->sleeps;
        session->uid = sender.uid;
        session->sender = g_strdup(sd_bus_message_get_sender(message));
        session->number = ++bus->sleeps->last;
        r = open_ledger(bus, session, &config, error);
        if (r >= 0)
                r = hangup_watch(bus->event, &session->source, on_hangup, session, &fd);
        if (r < 0) {
                session_free(session);
                return r;
        }
        g_ptr_array_add(bus->sleeps->sessions, session);
        log_debug("Sleep ledger %u is open for user %u", session->number, (unsigned)sender.uid);
        r = sd_bus_reply_method_return(message, "uh", session->number, fd);
        close(fd);
        return r;
}

static int method_start(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        LedgerConfig config = { 0 };
        Sender sender = { 0 };
        int r = read_start(message, bus, &config, &sender, error);

        if (r < 0)
                return r;
        return authorize(bus->authorizer, message, "org.idled1.watch-sleeps", do_start, bus, error);
}

/* The session of a number that the sender may use. */
static int find_session(sd_bus_message *message, Bus *bus, Session **ret_session,
                        sd_bus_error *error)
{
        const char *name = sd_bus_message_get_sender(message);
        uint32_t number;
        Sender sender = { 0 };
        int r = sd_bus_message_read(message, "u", &number);

        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r < 0)
                return r;
        for (unsigned i = 0; i < bus->sleeps->sessions->len; i++) {
                Session *session = bus->sleeps->sessions->pdata[i];

                if (session->number != number)
                        continue;
                if (sender.uid != 0 &&
                    !(sender.uid == session->uid && g_strcmp0(name, session->sender) == 0))
                        break;
                *ret_session = session;
                return 0;
        }
        if (sender.uid != 0)
                return sd_bus_error_set(
                        error, SD_BUS_ERROR_ACCESS_DENIED,
                        "Only the connection that started a sleep ledger, or root, can read it");
        return sd_bus_error_setf(error, ERROR_NO_LEDGER, "There is no sleep ledger %u", number);
}

/* Count, mean, deviation, min, max, and the buckets up to the last that has any. */
static int append_stats(sd_bus_message *reply, const struct sleep_stats *stats)
{
        unsigned n = SLEEPS_BUCKETS;
        int r;

        while (n > 0 && stats->hist[n - 1] == 0)
                n--;
        r = sd_bus_message_append(reply, "tdddd", stats->count, sleep_mean_ns(stats),
                                  sleep_deviation_ns(stats), (double)stats->min_ns,
                                  (double)stats->max_ns);
        return r < 0 ? r
                     : sd_bus_message_append_array(reply, 'u', stats->hist,
                                                   n * sizeof(stats->hist[0]));
}

static int append_sleeps(sd_bus_message *reply, const LedgerTotals *totals)
{
        int r = bus_open_key(reply, "Sleeps", "a(uutddddau)");

        for (int i = 0; r >= 0 && i < totals->n_cpus * SLEEPS_STATES; i++) {
                if (!totals->sleeps[i].count)
                        continue;
                r = sd_bus_message_open_container(reply, 'r', "uutddddau");
                if (r >= 0)
                        r = sd_bus_message_append(reply, "uu", (unsigned)i / SLEEPS_STATES,
                                                  (unsigned)i % SLEEPS_STATES);
                if (r >= 0)
                        r = append_stats(reply, &totals->sleeps[i]);
                if (r >= 0)
                        r = sd_bus_message_close_container(reply);
        }
        return bus_close_key(reply, r);
}

static int append_latencies(sd_bus_message *reply, const LedgerTotals *totals)
{
        int r = bus_open_key(reply, "Latencies", "a(utddddau)");

        for (int cpu = 0; r >= 0 && cpu < totals->n_cpus; cpu++) {
                if (!totals->latencies[cpu].count)
                        continue;
                r = sd_bus_message_open_container(reply, 'r', "utddddau");
                if (r >= 0)
                        r = sd_bus_message_append(reply, "u", (unsigned)cpu);
                if (r >= 0)
                        r = append_stats(reply, &totals->latencies[cpu]);
                if (r >= 0)
                        r = sd_bus_message_close_container(reply);
        }
        return bus_close_key(reply, r);
}

static int append_causes(sd_bus_message *reply, const LedgerTotals *totals)
{
        int r = bus_open_key(reply, "Causes", "a(uusisssttt)");

        for (size_t i = 0; r >= 0 && i < totals->n_causes; i++) {
                const LedgerCause *cause = &totals->causes[i];
                g_autofree char *name = g_utf8_make_valid(cause->name ?: "", -1);
                g_autofree char *unit = g_utf8_make_valid(cause->unit ?: "", -1);

                r = sd_bus_message_append(
                        reply, "(uusisssttt)", (unsigned)cause->cpu, (unsigned)cause->state,
                        ledger_kind_text(cause->kind), cause->irq, cause->function, name, unit,
                        cause->value.count, cause->value.slept_ns, cause->value.short_ns);
        }
        return bus_close_key(reply, r);
}

static int append_asleep(sd_bus_message *reply, const LedgerTotals *totals)
{
        int r = bus_open_key(reply, "Asleep", "a(uut)");

        for (int cpu = 0; r >= 0 && cpu < totals->n_cpus; cpu++) {
                const struct sleeper *s = &totals->current[cpu];

                if (sleep_goes_on(s) && totals->now_ns > s->entered_ns)
                        r = sd_bus_message_append(reply, "(uut)", (unsigned)cpu, s->state,
                                                  totals->now_ns - s->entered_ns);
        }
        return bus_close_key(reply, r);
}

static int method_read(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        _message_ sd_bus_message *reply = NULL;
        g_autofree char *missing = NULL;
        Session *session = NULL;
        LedgerTotals totals;
        int r = find_session(message, bus, &session, error);

        if (r < 0 || !session)
                return r;
        bus->sleeps->backend->read(session->ledger, &totals);
        missing = bus->sleeps->backend->missing(session->ledger);
        r = bus_begin_reply(message, "{sv}", &reply);
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}{sv}{sv}", "DurationNSec", "t",
                                          totals.duration_ns, "BeganBefore", "t", totals.unpaired,
                                          "Missing", "s", missing);
        if (r >= 0)
                r = append_sleeps(reply, &totals);
        if (r >= 0)
                r = append_causes(reply, &totals);
        if (r >= 0)
                r = append_latencies(reply, &totals);
        if (r >= 0)
                r = append_asleep(reply, &totals);
        return bus_send_reply(reply, r);
}

static int method_stop(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        Session *session = NULL;
        int r = find_session(message, bus, &session, error);

        if (r < 0 || !session)
                return r;
        bus->sleeps->backend->stop(session->ledger);
        return sd_bus_reply_method_return(message, NULL);
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Start", SD_BUS_ARGS("a{sv}", options),
                                SD_BUS_RESULT("u", number, "h", descriptor), method_start,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Read", SD_BUS_ARGS("u", number), SD_BUS_RESULT("a{sv}", totals),
                                method_read, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD_WITH_ARGS("Stop", SD_BUS_ARGS("u", number), SD_BUS_NO_RESULT, method_stop,
                                SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int bus_export_sleeps(Bus *bus)
{
        if (!bus->sleeps) {
                bus->sleeps = g_new0(BusSleeps, 1);
                bus->sleeps->sessions = g_ptr_array_new_with_free_func(session_free);
        }
        return sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE_SLEEPS,
                                        vtable, bus);
}
