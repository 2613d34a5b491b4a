/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Talking to systemd.
 *
 * - AllowedCPUs in SetUnitProperties replaces the set; an empty array removes it. The call succeeds
 *   whatever the kernel answers. Only EffectiveCPUs shows the result; it is empty if the cpuset
 *   controller is off, which means that nothing is limited.
 * - The units below a slice are its property SliceOf. It lists all that are loaded. The question
 *   which of them may have processes is sent for all at once, because there can be hundreds.
 *   Processes that a stopped unit left behind do not count.
 *
 * systemd answers a request to start or stop with the name of a job, and with the signal JobRemoved
 * when that is done. The signal goes to the connection that queued the job without a subscription;
 * it is listened for before the job is requested, so that it cannot be missed. Each job has a
 * connection of its own: CPUs are also parked and unparked from within signals of the shared one,
 * which cannot wait for another signal then (sd_bus_process(3), EBUSY).
 *
 * Our slice is bound to the service that we are (BindsTo=), if we are one's main process, and goes
 * with it however it ends. It is started without regard for dependencies: the job would otherwise
 * wait for the start of our own service, which waits for us, and a job of our service that stops it
 * would be cancelled. For the same reason there is no After=, which lets a bound unit start only
 * when the other is up.
 *
 * systemd forgets a stopped slice as soon as nothing refers to it. Until then it still exists when
 * it is started again, and only gets its CPUs.
 */
#include "systemd/unit-control.h"

#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-login.h>

#include "base/log.h"
#include "systemd/bus-connect.h"
#include "systemd/unit-watch.h"

#define DESCRIPTION "CPUs parked by idled"

/* What is not restored at the end stays until the next start. */
#define PATIENT_USEC (15 * G_USEC_PER_SEC)

/* How long a user may take to find a password. */
#define PASSWORD_USEC (150 * G_USEC_PER_SEC)

struct Units {
        UnitBus bus;
        UnitControl control;
        bool reload; /* systemd must reload its files */
        UnitWatch *watch;
};

/* The path of a unit that is loaded, as a new string; -ENOENT. */
static int find_unit(UnitBus *bus, const char *unit, char **ret_path)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        const char *path;
        int r = unit_bus_connect(bus);

        if (r >= 0)
                r = sd_bus_message_new_method_call(bus->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER, "GetUnit");
        if (r >= 0)
                r = sd_bus_message_append(ask, "s", unit);
        if (r >= 0)
                r = unit_bus_call(bus, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return r;
        *ret_path = g_strdup(path);
        return 0;
}

/* Reads a property of the unit at `path` up to where its value of `type` begins. */
static int read_property(UnitBus *bus, const char *path, const char *interface,
                         const char *property, const char *type, sd_bus_message **ret_reply)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus->connection, &ask, SYSTEMD_NAME, path,
                                           "org.freedesktop.DBus.Properties", "Get");
        if (r >= 0)
                r = sd_bus_message_append(ask, "ss", interface, property);
        if (r >= 0)
                r = unit_bus_call(bus, ask, &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'v', type);
        if (r < 0)
                return r;
        *ret_reply = g_steal_pointer(&reply);
        return 0;
}

/* The question which of the units of `slice` run; none if it has no unit that may have tasks. */
static int ask_for_children(UnitBus *bus, const char *slice, sd_bus_message **ret_ask)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autofree char *path = NULL;
        const char *unit;
        int n = 0, r = unit_bus_connect(bus);

        if (r >= 0)
                r = sd_bus_path_encode(UNITS_PATH, slice, &path);
        if (r >= 0)
                r = read_property(bus, path, SYSTEMD_UNIT, "SliceOf", "as", &reply);
        if (r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "s");
        if (r >= 0)
                r = sd_bus_message_new_method_call(bus->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER,
                                                   "ListUnitsByNames");
        if (r >= 0)
                r = sd_bus_message_open_container(ask, 'a', "s");
        while (r >= 0 && (r = sd_bus_message_read(reply, "s", &unit)) > 0)
                if (unit_interface(unit)) {
                        r = sd_bus_message_append(ask, "s", unit);
                        n++;
                }
        if (r >= 0)
                r = sd_bus_message_close_container(ask);
        if (r < 0)
                return r;
        *ret_ask = n > 0 ? g_steal_pointer(&ask) : NULL;
        return 0;
}

/* The cgroup of a unit comes with its start, and goes with its last process. */
static bool has_group(const char *active, const char *sub)
{
        static const char *const without[] = { "inactive", "failed", NULL };

        return !g_strv_contains(without, active) && !g_str_equal(sub, "exited");
}

static int list_children(void *userdata, const char *slice, char ***ret_units)
{
        UnitBus *bus = &((Units *)userdata)->bus;
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autoptr(GPtrArray) children = g_ptr_array_new_with_free_func(g_free);
        const char *unit, *active, *sub;
        int r;

        r = ask_for_children(bus, slice, &ask);
        if (ask)
                r = unit_bus_call(bus, ask, &reply);
        if (reply && r >= 0)
                r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");
        while (reply && r >= 0 &&
               (r = sd_bus_message_read(reply, "(ssssssouso)", &unit, NULL, NULL, &active, &sub,
                                        NULL, NULL, NULL, NULL, NULL)) > 0)
                if (has_group(active, sub))
                        g_ptr_array_add(children, g_strdup(unit));
        if (r < 0)
                return r;
        g_ptr_array_add(children, NULL);
        *ret_units = (char **)g_ptr_array_free(g_steal_pointer(&children), FALSE);
        return 0;
}

static int get_cpus(UnitBus *bus, const char *unit, const char *property, CpuSet *ret_cpus)
{
        _message_ sd_bus_message *reply = NULL;
        const char *interface = unit_interface(unit);
        g_autofree char *path = NULL;
        int r = interface ? find_unit(bus, unit, &path) : -ENOENT;

        if (r >= 0)
                r = read_property(bus, path, interface, property, "ay", &reply);
        return r < 0 ? r : unit_read_cpus(reply, ret_cpus);
}

static int get_allowed(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        return get_cpus(&((Units *)userdata)->bus, unit, "AllowedCPUs", ret_cpus);
}

static int get_effective(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        return get_cpus(&((Units *)userdata)->bus, unit, "EffectiveCPUs", ret_cpus);
}

static int get_affinity(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        *ret_cpus = (CpuSet){ 0 };
        return g_str_has_suffix(unit, ".service")
                       ? get_cpus(&((Units *)userdata)->bus, unit, "CPUAffinity", ret_cpus)
                       : 0;
}

/* Appends ("AllowedCPUs", `cpus`) to the properties of a unit. */
static int append_cpus(sd_bus_message *message, const CpuSet *cpus)
{
        uint8_t bytes[CPUSET_MAX / 8] = { 0 };
        size_t size = 0;
        int r;

        CPUSET_FOREACH(cpu, cpus) {
                bytes[cpu / 8] |= (uint8_t)(1u << (cpu % 8));
                size = (size_t)cpu / 8 + 1;
        }
        r = sd_bus_message_open_container(message, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", "AllowedCPUs");
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', "ay");
        if (r >= 0)
                r = sd_bus_message_append_array(message, 'y', bytes, size);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

static int set_allowed(void *userdata, const char *unit, const CpuSet *cpus)
{
        UnitBus *bus = &((Units *)userdata)->bus;
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        g_autofree char *path = NULL;
        int r = find_unit(bus, unit, &path);

        if (r >= 0)
                r = sd_bus_message_new_method_call(bus->connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER,
                                                   "SetUnitProperties");
        if (r >= 0)
                r = sd_bus_message_append(ask, "sb", unit, true);
        if (r >= 0)
                r = sd_bus_message_open_container(ask, 'a', "(sv)");
        if (r >= 0)
                r = append_cpus(ask, cpus);
        if (r >= 0)
                r = sd_bus_message_close_container(ask);
        return r < 0 ? r : unit_bus_call(bus, ask, &reply);
}

/* Notes the result of a job by its name. */
static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        GHashTable *results = userdata;
        const char *job, *unit, *result;
        uint32_t id;

        if (sd_bus_message_read(message, "uoss", &id, &job, &unit, &result) >= 0)
                g_hash_table_insert(results, g_strdup(job), g_strdup(result));
        return 0;
}

/* A connection that listens for the results of jobs, and these: name of the job -> result. */
typedef struct Jobs {
        UnitBus *bus;
        sd_bus *connection;
        GHashTable *results;
} Jobs;

static void jobs_done(Jobs *jobs)
{
        sd_bus_close_unref(jobs->connection);
        g_clear_pointer(&jobs->results, g_hash_table_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Jobs, jobs_done)

/* -ENOTCONN. End `jobs` in any case. */
static int jobs_init(Jobs *jobs, UnitBus *bus)
{
        int r;

        *jobs = (Jobs){ .bus = bus };
        jobs->results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r = unit_bus_connect(bus);
        if (r < 0)
                return r;
        r = bus_connect(bus->address, false, &jobs->connection);
        if (r >= 0)
                r = bus_wait_ready(jobs->connection);
        if (r < 0)
                return -ENOTCONN;
        sd_bus_set_method_call_timeout(jobs->connection, bus->timeout_usec);
        return sd_bus_match_signal(jobs->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                   SYSTEMD_MANAGER, "JobRemoved", on_job_removed, jobs->results);
}

/* Works on the connection until the job is done. */
static int wait_for_job(Jobs *jobs, const char *job)
{
        gint64 end = g_get_monotonic_time() + (gint64)jobs->bus->timeout_usec;
        const char *result;

        while (!(result = g_hash_table_lookup(jobs->results, job))) {
                gint64 left = end - g_get_monotonic_time();
                int r;

                if (left <= 0)
                        return -ETIMEDOUT;
                r = sd_bus_process(jobs->connection, NULL);
                if (r == 0)
                        r = sd_bus_wait(jobs->connection, (uint64_t)left);
                if (r < 0)
                        return r == -ECONNRESET ? -ENOTCONN : r;
        }
        log_debug("systemd: %s: %s", job, result);
        return g_str_equal(result, "done") ? 0 : -ECANCELED;
}

/* Sends `ask`, whose answer is a job, and waits until that is done. */
static int run_job(Jobs *jobs, sd_bus_message *ask)
{
        _message_ sd_bus_message *reply = NULL;
        const char *job;
        int r = unit_bus_call(jobs->bus, ask, &reply);

        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &job);
        return r < 0 ? r : wait_for_job(jobs, job);
}

static int ask_for_job(Jobs *jobs, const char *method, const char *unit, const char *mode,
                       sd_bus_message **ret_ask)
{
        _message_ sd_bus_message *ask = NULL;
        int r = sd_bus_message_new_method_call(jobs->connection, &ask, SYSTEMD_NAME, SYSTEMD_PATH,
                                               SYSTEMD_MANAGER, method);

        if (r >= 0)
                r = sd_bus_message_append(ask, "ss", unit, mode);
        if (r < 0)
                return r;
        *ret_ask = g_steal_pointer(&ask);
        return 0;
}

/* The service whose main process we are, as a new string; NULL: of none. */
static char *own_service(void)
{
        const char *started = getenv("SYSTEMD_EXEC_PID");
        g_autofree char *own = g_strdup_printf("%d", getpid()), *service = NULL;
        char *unit = NULL; /* from malloc() */

        if (g_strcmp0(started, own) != 0 || sd_pid_get_unit(0, &unit) < 0)
                return NULL;
        if (g_str_has_suffix(unit, ".service"))
                service = g_strdup(unit);
        free(unit);
        return g_steal_pointer(&service);
}

static int append_properties(sd_bus_message *ask, const CpuSet *cpus)
{
        g_autofree char *service = own_service();
        int r = sd_bus_message_open_container(ask, 'a', "(sv)");

        if (r >= 0)
                r = sd_bus_message_append(ask, "(sv)", "Description", "s", DESCRIPTION);
        if (r >= 0 && service)
                r = sd_bus_message_append(ask, "(sv)", "BindsTo", "as", 1, service);
        if (r >= 0)
                r = append_cpus(ask, cpus);
        return r < 0 ? r : sd_bus_message_close_container(ask);
}

/* -EEXIST: systemd has not forgotten an older one. */
static int start_new(Jobs *jobs, const char *slice, const CpuSet *cpus)
{
        _message_ sd_bus_message *ask = NULL;
        int r = ask_for_job(jobs, "StartTransientUnit", slice, "ignore-dependencies", &ask);

        if (r >= 0)
                r = append_properties(ask, cpus);
        if (r >= 0) /* no other units with it */
                r = sd_bus_message_append(ask, "a(sa(sv))", 0);
        return r < 0 ? r : run_job(jobs, ask);
}

static int start_again(Units *units, Jobs *jobs, const char *slice, const CpuSet *cpus)
{
        _message_ sd_bus_message *ask = NULL;
        int r = set_allowed(units, slice, cpus);

        if (r >= 0)
                r = ask_for_job(jobs, "StartUnit", slice, "ignore-dependencies", &ask);
        return r < 0 ? r : run_job(jobs, ask);
}

static int start_slice(void *userdata, const char *slice, const CpuSet *cpus)
{
        Units *units = userdata;
        g_auto(Jobs) jobs = { 0 };
        int r = jobs_init(&jobs, &units->bus);

        if (r >= 0)
                r = start_new(&jobs, slice, cpus);
        return r == -EEXIST ? start_again(units, &jobs, slice, cpus) : MIN(r, 0);
}

int units_start_scope(Units *units, const char *scope, pid_t pid)
{
        _message_ sd_bus_message *ask = NULL;
        g_auto(Jobs) jobs = { 0 };
        char *slice = NULL; /* from malloc() */
        int r;

        units->bus.timeout_usec = PASSWORD_USEC;
        r = jobs_init(&jobs, &units->bus);
        if (r >= 0)
                r = ask_for_job(&jobs, "StartTransientUnit", scope, "fail", &ask);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(ask, true);
        if (r >= 0)
                r = sd_bus_message_open_container(ask, 'a', "(sv)");
        if (r >= 0)
                r = sd_bus_message_append(ask, "(sv)", "PIDs", "au", 1, (uint32_t)pid);
        if (r >= 0 && sd_pid_get_slice(0, &slice) >= 0)
                r = sd_bus_message_append(ask, "(sv)", "Slice", "s", slice);
        free(slice);
        if (r >= 0)
                r = sd_bus_message_close_container(ask);
        if (r >= 0)
                r = sd_bus_message_append(ask, "a(sa(sv))", 0);
        return r < 0 ? r : run_job(&jobs, ask);
}

static int stop(void *userdata, const char *unit)
{
        _message_ sd_bus_message *ask = NULL;
        g_auto(Jobs) jobs = { 0 };
        int r = jobs_init(&jobs, &((Units *)userdata)->bus);

        if (r >= 0)
                r = ask_for_job(&jobs, "StopUnit", unit, "replace", &ask);
        if (r >= 0)
                r = run_job(&jobs, ask);
        return r == -ENOENT ? 0 : MIN(r, 0);
}

static void reload_later(void *userdata)
{
        ((Units *)userdata)->reload = true;
}

/* This takes systemd long, and it does not read its bus meanwhile. */
static void reload(Units *units)
{
        _message_ sd_bus_message *ask = NULL, *reply = NULL;
        int r = unit_bus_connect(&units->bus);

        units->reload = false;
        if (r >= 0)
                r = sd_bus_message_new_method_call(units->bus.connection, &ask, SYSTEMD_NAME,
                                                   SYSTEMD_PATH, SYSTEMD_MANAGER, "Reload");
        if (r >= 0)
                r = unit_bus_call(&units->bus, ask, &reply);
        if (r < 0 && r != -ENOTCONN)
                log_error_errno(r, "Failed to make systemd reload its units: %m");
}

Units *units_new(sd_event *event, const char *bus)
{
        Units *units = g_new0(Units, 1);

        units->bus.address = bus_address(bus);
        units->bus.timeout_usec = BUS_TIMEOUT_USEC;
        units->watch = unit_watch_new(event, &units->bus);
        units->control = (UnitControl){
                .list_children = list_children,
                .get_allowed = get_allowed,
                .set_allowed = set_allowed,
                .get_effective = get_effective,
                .get_affinity = get_affinity,
                .start_slice = start_slice,
                .stop = stop,
                .reload_later = reload_later,
                .userdata = units,
        };
        return units;
}

void units_be_patient(Units *units)
{
        UnitBus *bus = &units->bus;

        bus->timeout_usec = PATIENT_USEC;
        bus->silent_until = 0;
        if (bus->connection)
                sd_bus_set_method_call_timeout(bus->connection, bus->timeout_usec);
}

void units_free(Units *units)
{
        if (!units)
                return;
        if (units->reload)
                reload(units);
        unit_bus_disconnect(&units->bus);
        unit_watch_free(units->watch);
        g_free(units->bus.address);
        g_free(units);
}

const UnitControl *units_control(const Units *units)
{
        return &units->control;
}

void units_watch(Units *units, unsigned what, const UnitListener *listener)
{
        unit_watch_set(units->watch, what, listener);
}

void units_listen_again(Units *units)
{
        unit_watch_again(units->watch);
}
