/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a job is: the start of a unit, or something else.
 *
 * Neither JobNew nor JobRemoved says so. So systemd is asked for the type of each job:
 *
 * 1. A job of another type than a start is passed on as UNIT_JOB_OTHER.
 * 2. The end of a job is not passed on before its type is known.
 * 3. A job that ended before systemd got the question has no type any more. Then it was a start if
 *    the unit became active a moment ago. A unit that systemd has already unloaded counts as
 *    started: mostly it was a transient one that ran for a moment.
 *
 * systemd has one job per unit at a time, so a new one replaces the question about an older one.
 */
#include "systemd/unit-parts.h"

/* How long before JobNew arrives here a unit may have become active by that job. */
#define LATE_USEC (2 * G_USEC_PER_SEC)

/* A job whose type is not known yet. */
typedef struct JobQuestion {
        Units *units;
        char *unit, *job;
        sd_bus_slot *slot;   /* the call without an answer */
        uint64_t heard_usec; /* CLOCK_MONOTONIC: of JobNew */
        bool ended;
} JobQuestion;

static void question_free(void *data)
{
        JobQuestion *question = data;

        sd_bus_slot_unref(question->slot);
        g_free(question->unit);
        g_free(question->job);
        g_free(question);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(JobQuestion, question_free)

static void tell(const Units *units, const char *unit, UnitJob job)
{
        if (units->listener.job)
                units->listener.job(unit, job, units->listener.userdata);
}

/* The listener may drop the connection, and with it all questions. */
static void settle(JobQuestion *asked, bool start)
{
        g_autoptr(JobQuestion) question = asked;
        Units *units = question->units;

        g_hash_table_steal(units->jobs, question->unit);
        if (!start)
                tell(units, question->unit, UNIT_JOB_OTHER);
        else if (question->ended)
                tell(units, question->unit, UNIT_JOB_ENDS);
}

/* True if the call was sent whose answer the question waits for now. */
static bool ask_next(JobQuestion *question, const char *path, const char *interface,
                     const char *property, sd_bus_message_handler_t answer)
{
        sd_bus_slot_unref(question->slot);
        question->slot = NULL;
        return units_ask(question->units, path, interface, property, answer, question,
                         &question->slot) >= 0;
}

static int on_activation(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        JobQuestion *question = userdata;
        uint64_t at;

        settle(question, sd_bus_message_is_method_error(message, NULL) ||
                                 sd_bus_message_read(message, "v", "t", &at) < 0 ||
                                 at + LATE_USEC >= question->heard_usec);
        return 0;
}

static int on_path(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        JobQuestion *question = userdata;
        const char *path;

        if (sd_bus_message_is_method_error(message, NULL) ||
            sd_bus_message_read(message, "o", &path) < 0 ||
            !ask_next(question, path, SYSTEMD_UNIT, "InactiveExitTimestampMonotonic",
                      on_activation))
                settle(question, true);
        return 0;
}

/* systemd loads a unit that is asked for a property, so the path is read first. */
static void ask_for_unit(JobQuestion *question)
{
        sd_bus_slot_unref(question->slot);
        question->slot = NULL;
        if (units_ask_path(question->units, question->unit, on_path, question, &question->slot) < 0)
                settle(question, true);
}

static int on_type(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        JobQuestion *question = userdata;
        const char *type;

        if (sd_bus_message_is_method_error(message, NULL))
                ask_for_unit(question);
        else
                settle(question, sd_bus_message_read(message, "v", "s", &type) < 0 ||
                                         g_str_has_suffix(type, "start"));
        return 0;
}

void units_job_new(Units *units, const char *unit, const char *job)
{
        JobQuestion *question = g_new0(JobQuestion, 1);

        tell(units, unit, UNIT_JOB_BEGINS);
        question->units = units;
        question->unit = g_strdup(unit);
        question->job = g_strdup(job);
        question->heard_usec = (uint64_t)g_get_monotonic_time();
        g_hash_table_replace(units->jobs, question->unit, question);
        if (!ask_next(question, job, SYSTEMD_JOB, "JobType", on_type))
                g_hash_table_remove(units->jobs, unit);
}

void units_job_removed(Units *units, const char *unit, const char *job)
{
        JobQuestion *question = g_hash_table_lookup(units->jobs, unit);

        if (question && g_str_equal(question->job, job))
                question->ended = true;
        else
                tell(units, unit, UNIT_JOB_ENDS);
}

void units_jobs_init(Units *units)
{
        units->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, question_free);
}

void units_jobs_forget(Units *units)
{
        g_hash_table_remove_all(units->jobs);
}

void units_jobs_done(Units *units)
{
        g_hash_table_unref(units->jobs);
}
