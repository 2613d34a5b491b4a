/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watching units: new ones, so that a new slice next to system.slice does not stay unconfined;
 * starting ones, so that they see all CPUs; and the CPUs that they name.
 *
 * systemd announces units only to subscribers, and announces every unit that it loads. Names that
 * can have no cgroup are dropped at once. For came() the others are checked together a moment
 * later. The event loop never waits for an answer.
 *
 * systemd announces a job before it does anything for it (JobNew), so the job is handed on before
 * any other request, even about the kind of the job. In guests with four emulated CPUs the unit's
 * process sets its affinity 17 to 45 ms after idled gets the signal with systemd 252 on Linux 6.1,
 * and 90 to 127 ms with 257 on 6.12, whose executor starts first. idled unparks within 9 ms
 * (tests/bench/vm-starts). This order is not guaranteed, so CPUs that only a loaded unit names are
 * never parked (model/unit-cpus.h).
 *
 * Neither JobNew nor JobRemoved says whether a job is a start. So systemd is asked for its type:
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
#include "systemd/unit-watch.h"

#include "base/log.h"
#include "systemd/unit-read.h"

/* A unit is announced before it has a cgroup, and seldom alone. */
#define SETTLE_USEC (200u * 1000)

/* How long before JobNew arrives here a unit may have become active by that job. */
#define LATE_USEC (2 * G_USEC_PER_SEC)

struct UnitWatch {
        UnitBus *bus;
        sd_event *event;
        UnitListener listener;
        unsigned what;      /* is wanted: UnitsWatch flags */
        GPtrArray *matches; /* of sd_bus_slot, while watching and connected */
        UnitReader *reader;

        GHashTable *jobs;      /* unit -> JobQuestion: jobs of a type that is not known yet */
        GHashTable *starting;  /* names of units whose start was reported, but not its end */
        sd_bus_slot *job_list; /* of the question for all jobs */

        sd_event_source *settle; /* goes off a moment after units came; NULL: watching is not
                                  * possible */
        GHashTable *arrived;     /* names of these */
        GHashTable *asked;       /* and of those that came before, of which systemd was asked */
        sd_bus_slot *top;        /* whether they are directly below the root slice; NULL: unasked */
};

/* A job whose type is not known yet. */
typedef struct JobQuestion {
        UnitWatch *watch;
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

static void report(UnitWatch *watch, const char *unit, UnitJob job)
{
        if (job == UNIT_JOB_BEGINS)
                g_hash_table_add(watch->starting, g_strdup(unit));
        else
                g_hash_table_remove(watch->starting, unit);
        if (watch->listener.job)
                watch->listener.job(unit, job, watch->listener.userdata);
}

/* The listener may drop the connection, and with it all questions. */
static void settle(JobQuestion *asked, bool start)
{
        g_autoptr(JobQuestion) question = asked;
        UnitWatch *watch = question->watch;

        g_hash_table_steal(watch->jobs, question->unit);
        if (!start)
                report(watch, question->unit, UNIT_JOB_OTHER);
        else if (question->ended)
                report(watch, question->unit, UNIT_JOB_ENDS);
}

/* True if the call was sent whose answer the question waits for now. */
static bool ask_next(JobQuestion *question, const char *path, const char *interface,
                     const char *member, const char *argument, sd_bus_message_handler_t answer)
{
        question->slot = sd_bus_slot_unref(question->slot);
        return unit_ask(question->watch->bus, path, interface, member, argument, answer, question,
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
            !ask_next(question, path, SYSTEMD_UNIT, "InactiveExitTimestampMonotonic", NULL,
                      on_activation))
                settle(question, true);
        return 0;
}

static int on_type(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        JobQuestion *question = userdata;
        const char *type;

        if (!sd_bus_message_is_method_error(message, NULL))
                settle(question,
                       sd_bus_message_read(message, "v", "s", &type) < 0 || is_start(type));
        else if (!ask_next(question, SYSTEMD_PATH, SYSTEMD_MANAGER, "GetUnit", question->unit,
                           on_path)) /* asked for a property, systemd would load the unit */
                settle(question, true);
        return 0;
}

static void job_new(UnitWatch *watch, const char *unit, const char *job)
{
        JobQuestion *question = g_new0(JobQuestion, 1);

        report(watch, unit, UNIT_JOB_BEGINS);
        question->watch = watch;
        question->unit = g_strdup(unit);
        question->job = g_strdup(job);
        question->heard_usec = (uint64_t)g_get_monotonic_time();
        g_hash_table_replace(watch->jobs, question->unit, question);
        if (!ask_next(question, job, SYSTEMD_JOB, "JobType", NULL, on_type))
                g_hash_table_remove(watch->jobs, unit);
}

static void job_removed(UnitWatch *watch, const char *unit, const char *job)
{
        JobQuestion *question = g_hash_table_lookup(watch->jobs, unit);

        if (question && g_str_equal(question->job, job))
                question->ended = true;
        else
                report(watch, unit, UNIT_JOB_ENDS);
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
static void report_difference(UnitWatch *watch, GHashTable *of, GHashTable *without, UnitJob job)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iter;
        gpointer unit;

        g_hash_table_iter_init(&iter, of);
        while (g_hash_table_iter_next(&iter, &unit, NULL))
                if (!g_hash_table_contains(without, unit) &&
                    !g_hash_table_contains(watch->jobs, unit))
                        g_ptr_array_add(names, g_strdup(unit));
        for (guint i = 0; i < names->len; i++)
                report(watch, names->pdata[i], job);
}

/* Their ends were missed if systemd executed itself again meanwhile. */
static void end_questions(UnitWatch *watch, GHashTable *starts)
{
        GHashTableIter iter;
        gpointer unit, question;

        g_hash_table_iter_init(&iter, watch->jobs);
        while (g_hash_table_iter_next(&iter, &unit, &question))
                if (!g_hash_table_contains(starts, unit))
                        ((JobQuestion *)question)->ended = true;
}

static int on_jobs(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        g_autoptr(GHashTable) starts = read_starts(message);

        end_questions(watch, starts);
        report_difference(watch, starts, watch->starting, UNIT_JOB_BEGINS);
        report_difference(watch, watch->starting, starts, UNIT_JOB_ENDS);
        return 0;
}

/* Passes on starts that began or ended unnoticed. */
static void read_jobs(UnitWatch *watch)
{
        watch->job_list = sd_bus_slot_unref(watch->job_list);
        unit_ask(watch->bus, SYSTEMD_PATH, SYSTEMD_MANAGER, "ListJobs", NULL, on_jobs, watch,
                 &watch->job_list);
}

static void read_all(UnitWatch *watch)
{
        read_jobs(watch);
        unit_reader_read_all(watch->reader);
}

static void ask_which_are_top(UnitWatch *watch);

/* True if one of the units that were asked about is in the list, or if there is none: an error. */
static bool is_any_listed(const UnitWatch *watch, sd_bus_message *message)
{
        const char *unit;
        bool any = false;

        if (sd_bus_message_is_method_error(message, NULL) ||
            sd_bus_message_enter_container(message, 'v', "as") < 0 ||
            sd_bus_message_enter_container(message, 'a', "s") < 0)
                return true;
        while (!any && sd_bus_message_read(message, "s", &unit) > 0)
                any = g_hash_table_contains(watch->asked, unit);
        return any;
}

/* The listener may drop the connection. */
static int on_top_units(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        bool any = is_any_listed(watch, message);

        watch->top = sd_bus_slot_unref(watch->top);
        g_hash_table_remove_all(watch->asked);
        if (watch->listener.came)
                watch->listener.came(any, watch->listener.userdata);
        if (sd_event_source_get_enabled(watch->settle, NULL) <= 0)
                ask_which_are_top(watch);
        return 0;
}

/* The units below the root slice are its property SliceOf, as in unit-control.c. One question at a
 * time: units that come before its answer wait for the next one. */
static void ask_which_are_top(UnitWatch *watch)
{
        g_autofree char *path = NULL;
        GHashTable *asked = watch->asked;

        if (watch->top || g_hash_table_size(watch->arrived) == 0)
                return;
        watch->asked = watch->arrived;
        watch->arrived = asked;
        if (sd_bus_path_encode(UNITS_PATH, "-.slice", &path) < 0 ||
            unit_ask(watch->bus, path, SYSTEMD_UNIT, "SliceOf", NULL, on_top_units, watch,
                     &watch->top) < 0)
                g_hash_table_remove_all(watch->asked);
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        ask_which_are_top(userdata);
        return 0;
}

static int note_arrival(UnitWatch *watch, const char *unit)
{
        int r = 0;

        g_hash_table_add(watch->arrived, g_strdup(unit));
        if (g_hash_table_size(watch->arrived) == 1) {
                r = sd_event_source_set_time_relative(watch->settle, SETTLE_USEC);
                if (r >= 0)
                        r = sd_event_source_set_enabled(watch->settle, SD_EVENT_ONESHOT);
        }
        return r;
}

static int on_unit_new(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) < 0 || !unit_interface(unit))
                return 0;
        if (watch->what & UNITS_JOBS)
                unit_reader_read(watch->reader, unit);
        return watch->what & UNITS_COME ? note_arrival(watch, unit) : 0;
}

static int on_unit_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        const char *unit;

        if (sd_bus_message_read(message, "s", &unit) >= 0 && unit_interface(unit) &&
            watch->listener.cpus)
                watch->listener.cpus(unit, NULL, watch->listener.userdata);
        return 0;
}

/* The unit may be one whose CPUs were changed since they were read. */
static int on_job_new(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        const char *job, *unit;
        uint32_t id;

        if (sd_bus_message_read(message, "uos", &id, &job, &unit) < 0 || !unit_interface(unit))
                return 0;
        job_new(watch, unit, job);
        unit_reader_read(watch->reader, unit);
        return 0;
}

static int on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        const char *job, *unit;
        uint32_t id;

        if (sd_bus_message_read(message, "uos", &id, &job, &unit) >= 0 && unit_interface(unit))
                job_removed(watch, unit, job);
        return 0;
}

/* systemd has read its files again. */
static int on_reloading(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        int active;

        if (sd_bus_message_read(message, "b", &active) >= 0 && !active)
                read_all(userdata);
        return 0;
}

static int ask_for_signals(UnitWatch *watch)
{
        return sd_bus_call_method_async(watch->bus->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                        SYSTEMD_MANAGER, "Subscribe", NULL, NULL, NULL);
}

/* systemd came to the bus, or came back: it knows nothing of us, nor we of its units. */
static int on_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        UnitWatch *watch = userdata;
        const char *name, *before, *now;
        int r = sd_bus_message_read(message, "sss", &name, &before, &now);

        if (r < 0 || !*now)
                return 0;
        watch->bus->silent_until = 0;
        r = ask_for_signals(watch);
        if (watch->what & UNITS_JOBS)
                read_all(watch);
        if (watch->what & UNITS_COME && watch->listener.came)
                watch->listener.came(true, watch->listener.userdata);
        return r < 0 ? r : 0;
}

static int match(UnitWatch *watch, const char *signal, sd_bus_message_handler_t handler)
{
        sd_bus_slot *slot = NULL;
        int r = sd_bus_match_signal_async(watch->bus->connection, &slot, SYSTEMD_NAME, SYSTEMD_PATH,
                                          SYSTEMD_MANAGER, signal, handler, NULL, watch);

        if (r >= 0)
                g_ptr_array_add(watch->matches, slot);
        return r;
}

static int match_owner(UnitWatch *watch)
{
        sd_bus_slot *slot = NULL;
        int r = sd_bus_add_match_async(watch->bus->connection, &slot,
                                       "type='signal',sender='org.freedesktop.DBus',"
                                       "member='NameOwnerChanged',arg0='" SYSTEMD_NAME "'",
                                       on_owner_changed, NULL, watch);

        if (r >= 0)
                g_ptr_array_add(watch->matches, slot);
        return r;
}

static int match_jobs(UnitWatch *watch)
{
        static const struct {
                const char *signal;
                sd_bus_message_handler_t handler;
        } signals[] = {
                { "JobNew", on_job_new },
                { "JobRemoved", on_job_removed },
                { "UnitRemoved", on_unit_removed },
                { "Reloading", on_reloading },
        };
        int r = 0;

        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(signals); i++)
                r = match(watch, signals[i].signal, signals[i].handler);
        return r;
}

static void subscribe(UnitWatch *watch)
{
        int r = sd_bus_attach_event(watch->bus->connection, watch->event,
                                    SD_EVENT_PRIORITY_IMPORTANT);

        if (r >= 0)
                r = match(watch, "UnitNew", on_unit_new);
        if (r >= 0 && watch->what & UNITS_JOBS)
                r = match_jobs(watch);
        if (r >= 0)
                r = match_owner(watch);
        if (r >= 0)
                r = ask_for_signals(watch);
        if (r < 0)
                log_debug("Failed to subscribe to new units: %s", g_strerror(-r));
        else if (watch->what & UNITS_JOBS)
                read_all(watch);
}

/* The connection was just made. */
static void on_connected(void *userdata)
{
        UnitWatch *watch = userdata;

        if (watch->what)
                subscribe(watch);
}

void unit_watch_again(UnitWatch *watch)
{
        if (watch->what)
                unit_bus_connect(watch->bus);
}

/* Forgets matches and all that was asked for; the connection broke or is not watched any more. */
static void forget(void *userdata)
{
        UnitWatch *watch = userdata;

        g_ptr_array_set_size(watch->matches, 0);
        watch->top = sd_bus_slot_unref(watch->top);
        g_hash_table_remove_all(watch->asked);
        g_hash_table_remove_all(watch->arrived);
        unit_reader_forget(watch->reader);
        watch->job_list = sd_bus_slot_unref(watch->job_list);
        g_hash_table_remove_all(watch->jobs);
        if (watch->settle)
                sd_event_source_set_enabled(watch->settle, SD_EVENT_OFF);
}

static void unsubscribe(UnitWatch *watch)
{
        forget(watch);
        if (!watch->bus->connection)
                return;
        sd_bus_call_method_async(watch->bus->connection, NULL, SYSTEMD_NAME, SYSTEMD_PATH,
                                 SYSTEMD_MANAGER, "Unsubscribe", NULL, NULL, NULL);
        sd_bus_flush(watch->bus->connection);
        sd_bus_detach_event(watch->bus->connection);
}

void unit_watch_set(UnitWatch *watch, unsigned what, const UnitListener *listener)
{
        int r;

        if (!watch->settle || what == watch->what)
                return;
        if (what & watch->what & UNITS_JOBS) { /* listens to all of it already */
                watch->what = what;
                return;
        }
        if (watch->what)
                unsubscribe(watch);
        watch->what = what;
        watch->listener = *listener;
        if (!what)
                return;
        r = watch->bus->connection ? 0 : unit_bus_connect(watch->bus);
        if (watch->bus->connection && watch->matches->len == 0)
                subscribe(watch);
        if (r < 0 && what & UNITS_JOBS && listener->listed)
                listener->listed(r, listener->userdata);
}

UnitWatch *unit_watch_new(sd_event *event, UnitBus *bus)
{
        UnitWatch *watch = g_new0(UnitWatch, 1);

        watch->bus = bus;
        bus->connected = on_connected;
        bus->lost = forget;
        bus->userdata = watch;
        watch->matches = g_ptr_array_new_with_free_func(unit_slot_free);
        watch->reader = unit_reader_new(bus, &watch->listener);
        watch->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, question_free);
        watch->starting = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        watch->arrived = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        watch->asked = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        if (!event)
                return watch;
        watch->event = sd_event_ref(event);
        if (sd_event_add_time(event, &watch->settle, CLOCK_MONOTONIC, 0, 0, on_settled, watch) >= 0)
                sd_event_source_set_enabled(watch->settle, SD_EVENT_OFF);
        return watch;
}

void unit_watch_free(UnitWatch *watch)
{
        sd_event_source_disable_unref(watch->settle);
        g_hash_table_unref(watch->arrived);
        g_hash_table_unref(watch->asked);
        g_ptr_array_unref(watch->matches);
        g_hash_table_unref(watch->jobs);
        g_hash_table_unref(watch->starting);
        unit_reader_free(watch->reader);
        sd_event_unref(watch->event);
        g_free(watch);
}
