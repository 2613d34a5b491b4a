/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Starting and stopping units.
 *
 * systemd answers a request to start or stop with the name of a job, and with the signal JobRemoved
 * when that is done. The signal goes to who queued the job without a subscription; it is listened
 * for before the job is asked for, so that it cannot be missed.
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

#define _slot_ __attribute__((cleanup(sd_bus_slot_unrefp)))

#define DESCRIPTION "CPUs kept free of work by idled"

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

static int listen_for_jobs(Units *units, GHashTable *results, sd_bus_slot **ret_slot)
{
        int r = units_connect(units);

        return r < 0 ? r
                     : sd_bus_match_signal(units->connection, ret_slot, SYSTEMD_NAME, SYSTEMD_PATH,
                                           SYSTEMD_MANAGER, "JobRemoved", on_job_removed, results);
}

/* Works on the connection until the job is done. */
static int wait_for_job(Units *units, GHashTable *results, const char *job)
{
        gint64 end = g_get_monotonic_time() + (gint64)units->timeout_usec;
        const char *result;

        while (!(result = g_hash_table_lookup(results, job))) {
                gint64 left = end - g_get_monotonic_time();
                int r;

                if (left <= 0)
                        return -ETIMEDOUT;
                r = sd_bus_process(units->connection, NULL);
                if (r == 0)
                        r = sd_bus_wait(units->connection, (uint64_t)left);
                if (r < 0)
                        return r == -ECONNRESET ? -ENOTCONN : r;
        }
        log_debug("systemd: %s: %s", job, result);
        return g_str_equal(result, "done") ? 0 : -ECANCELED;
}

/* Sends `ask`, whose answer is a job, and waits until that is done. */
static int run_job(Units *units, GHashTable *results, sd_bus_message *ask)
{
        _message_ sd_bus_message *reply = NULL;
        const char *job;
        int r = units_call(units, ask, &reply);

        if (r >= 0)
                r = sd_bus_message_read(reply, "o", &job);
        return r < 0 ? r : wait_for_job(units, results, job);
}

static int ask_for_job(Units *units, const char *method, const char *unit, const char *mode,
                       sd_bus_message **ret_ask)
{
        _message_ sd_bus_message *ask = NULL;
        int r = sd_bus_message_new_method_call(units->connection, &ask, SYSTEMD_NAME, SYSTEMD_PATH,
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
static int start_new(Units *units, GHashTable *results, const char *slice, const CpuSet *cpus)
{
        _message_ sd_bus_message *ask = NULL;
        int r = ask_for_job(units, "StartTransientUnit", slice, "ignore-dependencies", &ask);

        if (r >= 0)
                r = append_properties(ask, cpus);
        if (r >= 0) /* no other units with it */
                r = sd_bus_message_append(ask, "a(sa(sv))", 0);
        return r < 0 ? r : run_job(units, results, ask);
}

static int start_again(Units *units, GHashTable *results, const char *slice, const CpuSet *cpus)
{
        _message_ sd_bus_message *ask = NULL;
        int r = units->control.set_allowed(units, slice, cpus);

        if (r >= 0)
                r = ask_for_job(units, "StartUnit", slice, "ignore-dependencies", &ask);
        return r < 0 ? r : run_job(units, results, ask);
}

int unit_start_slice(void *userdata, const char *slice, const CpuSet *cpus)
{
        Units *units = userdata;
        g_autoptr(GHashTable)
                results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        _slot_ sd_bus_slot *slot = NULL;
        int r = listen_for_jobs(units, results, &slot);

        if (r >= 0)
                r = start_new(units, results, slice, cpus);
        return r == -EEXIST ? start_again(units, results, slice, cpus) : MIN(r, 0);
}

int unit_stop(void *userdata, const char *unit)
{
        Units *units = userdata;
        g_autoptr(GHashTable)
                results = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        _message_ sd_bus_message *ask = NULL;
        _slot_ sd_bus_slot *slot = NULL;
        int r = listen_for_jobs(units, results, &slot);

        if (r >= 0)
                r = ask_for_job(units, "StopUnit", unit, "replace", &ask);
        if (r >= 0)
                r = run_job(units, results, ask);
        return r == -ENOENT ? 0 : MIN(r, 0);
}
