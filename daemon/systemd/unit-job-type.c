/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Jobs of units: which of them are starts.
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
 *
 * All jobs are listed together with all units: when idled or systemd starts, and when systemd has
 * read its files again, there are jobs whose JobNew idled did not get, or whose end it missed.
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

/* "start", "restart", "try-restart". */
static bool is_start(const char *type)
{
        return g_str_has_suffix(type, "start");
}

static void report(Units *units, const char *unit, UnitJob job)
{
        if (job == UNIT_JOB_BEGINS)
                g_hash_table_add(units->starting, g_strdup(unit));
        else
                g_hash_table_remove(units->starting, unit);
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
                report(units, question->unit, UNIT_JOB_OTHER);
        else if (question->ended)
                report(units, question->unit, UNIT_JOB_ENDS);
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
                settle(question,
                       sd_bus_message_read(message, "v", "s", &type) < 0 || is_start(type));
        return 0;
}

void units_job_new(Units *units, const char *unit, const char *job)
{
        JobQuestion *question = g_new0(JobQuestion, 1);

        report(units, unit, UNIT_JOB_BEGINS);
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
                report(units, unit, UNIT_JOB_ENDS);
}

/* The units that have a start job, as a set. */
static GHashTable *read_starts(sd_bus_message *message)
{
        GHashTable *starts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        const char *unit, *type;

        if (sd_bus_message_is_method_error(message, NULL) ||
            sd_bus_message_enter_container(message, 'a', "(usssoo)") < 0)
                return starts;
        while (sd_bus_message_read(message, "(usssoo)", NULL, &unit, &type, NULL, NULL, NULL) > 0)
                if (unit_interface(unit) && is_start(type))
                        g_hash_table_add(starts, g_strdup(unit));
        return starts;
}

/* Passes on `job` for each unit that is in `of`, but not in `without`. What is known of a job whose
 * type was asked comes with the answer. */
static void report_difference(Units *units, GHashTable *of, GHashTable *without, UnitJob job)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        gpointer unit;

        g_hash_table_iter_init(&iter, of);
        while (g_hash_table_iter_next(&iter, &unit, NULL))
                if (!g_hash_table_contains(without, unit) &&
                    !g_hash_table_contains(units->jobs, unit))
                        g_ptr_array_add(names, g_strdup(unit));
        for (guint i = 0; i < names->len; i++)
                report(units, names->pdata[i], job);
}

/* Their ends were missed if systemd executed itself again meanwhile. */
static void end_questions(Units *units, GHashTable *starts)
{
        GHashTableIter iter;
        gpointer unit, question;

        g_hash_table_iter_init(&iter, units->jobs);
        while (g_hash_table_iter_next(&iter, &unit, &question))
                if (!g_hash_table_contains(starts, unit))
                        ((JobQuestion *)question)->ended = true;
}

static int on_jobs(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Units *units = userdata;
        g_autoptr(GHashTable) starts = read_starts(message);

        end_questions(units, starts);
        report_difference(units, starts, units->starting, UNIT_JOB_BEGINS);
        report_difference(units, units->starting, starts, UNIT_JOB_ENDS);
        return 0;
}

void units_jobs_read(Units *units)
{
        sd_bus_slot *slot = NULL;

        if (units_ask(units, SYSTEMD_PATH, SYSTEMD_MANAGER, "ListJobs", on_jobs, units, &slot) >= 0)
                g_ptr_array_add(units->slots, slot);
}

void units_jobs_init(Units *units)
{
        units->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, question_free);
        units->starting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void units_jobs_forget(Units *units)
{
        g_hash_table_remove_all(units->jobs);
}

void units_jobs_done(Units *units)
{
        g_hash_table_unref(units->jobs);
        g_hash_table_unref(units->starting);
}
