/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starting and stopping units.
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
 * A slice that was stopped is forgotten by systemd as soon as nobody mentions it. While it is not,
 * it exists already for a new start, and is given its CPUs and started as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-login.h>

#include "base/log.h"
#include "systemd/bus-connect.h"
#include "systemd/unit-parts.h"

#define DESCRIPTION "CPUs parked by idled"

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
        Units *units;
        sd_bus *connection;
        GHashTable *results;
} Jobs;

static void jobs_done(Jobs *jobs)
{
        sd_bus_close_unref(jobs->connection);
        g_clear_pointer(&jobs->results, g_hash_table_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Jobs, jobs_done)

/* -ENOTCONN. `jobs` is to be ended in any case. */
static int jobs_init(Jobs *jobs, Units *units)
{
        int r;

        *jobs = (Jobs){ .units = units };
        jobs->results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        r = units_connect(units);
        if (r < 0)
                return r;
        r = bus_connect(units->address, false, &jobs->connection);
        if (r >= 0)
                r = bus_wait_ready(jobs->connection);
        if (r < 0)
                return -ENOTCONN;
        sd_bus_set_method_call_timeout(jobs->connection, units->timeout_usec);
        return sd_bus_match_signal(jobs->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                   SYSTEMD_MANAGER, "JobRemoved", on_job_removed, jobs->results);
}

/* Works on the connection until the job is done. */
static int wait_for_job(Jobs *jobs, const char *job)
{
        gint64 end = g_get_monotonic_time() + (gint64)jobs->units->timeout_usec;
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
        int r = units_call(jobs->units, ask, &reply);

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
                r = unit_append_cpus(ask, cpus);
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

static int start_again(Jobs *jobs, const char *slice, const CpuSet *cpus)
{
        _message_ sd_bus_message *ask = NULL;
        int r = jobs->units->control.set_allowed(jobs->units, slice, cpus);

        if (r >= 0)
                r = ask_for_job(jobs, "StartUnit", slice, "ignore-dependencies", &ask);
        return r < 0 ? r : run_job(jobs, ask);
}

int unit_start_slice(void *userdata, const char *slice, const CpuSet *cpus)
{
        g_auto(Jobs) jobs = { 0 };
        int r = jobs_init(&jobs, userdata);

        if (r >= 0)
                r = start_new(&jobs, slice, cpus);
        return r == -EEXIST ? start_again(&jobs, slice, cpus) : MIN(r, 0);
}

int unit_stop(void *userdata, const char *unit)
{
        _message_ sd_bus_message *ask = NULL;
        g_auto(Jobs) jobs = { 0 };
        int r = jobs_init(&jobs, userdata);

        if (r >= 0)
                r = ask_for_job(&jobs, "StopUnit", unit, "replace", &ask);
        if (r >= 0)
                r = run_job(&jobs, ask);
        return r == -ENOENT ? 0 : MIN(r, 0);
}
