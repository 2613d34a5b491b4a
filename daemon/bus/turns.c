/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which call is next.
 *
 * 1. A filter sees each method call before any object does. A call that wants no reply is dropped
 *    if it has no effect, or if too many calls of its user wait. After a call that is dropped or
 *    waits, idled reads on: all users share the queue between the bus daemon and idled. The first
 *    call of a sender waits until the bus daemon has reported, asynchronously, the sender's user.
 * 2. A call is answered at once if its user has time left and none of the user's calls waits. Else
 *    it waits behind the user's other calls. If too many wait, its refusal waits in its place.
 * 3. Calls that wait are answered one at a time, the users in turn, when all answers so far are
 *    written. Between two of them the loop serves other events.
 * 4. The CPU time for an answer is charged to the user, and each user has a limited share of
 *    idled's time. root has nothing to gain from an attack, and is not charged.
 *
 * A bus daemon limits the calls of a connection that wait for a reply. Refusals that wait count, so
 * a client whose calls are refused cannot repeat them faster than idled answers its user.
 */
#include "bus/turns.h"

#include <glib.h>

#include "base/clock.h"
#include "base/log.h"
#include "systemd/bus-connect.h"

/* While answers are not written yet, whether they are is checked so often. */
#define WRITING_USEC 1000

/* A user that owes more time than this is refused without reading the call. */
#define OWED_USEC G_USEC_PER_SEC

/* Calls that are not served now are read for so long before the loop serves anything else. */
#define READING_USEC 1000

/* An answer costs at least this: the bus daemon, which others wait for, has work with it, too. */
#define ANSWER_USEC 100

/* Users without calls are forgotten when there are so many. */
#define USERS_MAX 256

typedef struct User {
        uid_t uid;
        GQueue waiting;     /* of sd_bus_message: calls, and refusals of calls */
        size_t size;        /* of these */
        uint64_t paid_usec; /* until then the user's share is used up, CLOCK_MONOTONIC */
} User;

struct Turns {
        sd_bus *connection;
        Authorizer *authorizer;
        sd_bus_slot *filter;
        sd_event_source *next;    /* goes off when a call that waits may be answered */
        sd_event_source *after;   /* runs after each call */
        sd_event_source *reading; /* goes off when a call was dropped, or waits */
        GHashTable *users;        /* uid -> User */
        GHashTable *unknown;      /* sender's name -> User, whose uid is not known yet */
        GQueue order;             /* of User: those with calls that wait, the next one first */
        size_t size;              /* of all calls that wait */
        sd_bus_message *released; /* the filter lets it pass */
        User *releases;           /* whose call that is */
        User *served;             /* whose call is being answered */
        uint64_t since_usec;      /* clock_spent_usec() */
};

static uint64_t now_usec(void)
{
        return (uint64_t)g_get_monotonic_time();
}

/* What users pay for. That idled waits for a CPU, or for parking, is not their fault. */
static void user_free(gpointer data)
{
        User *user = data;

        while (user->waiting.length > 0)
                sd_bus_message_unref(g_queue_pop_head(&user->waiting));
        g_free(user);
}

static gboolean is_forgettable(gpointer key, gpointer value, gpointer turns)
{
        const User *user = value;

        return user != ((const Turns *)turns)->served && user != ((const Turns *)turns)->releases &&
               user->waiting.length == 0 && user->paid_usec <= now_usec();
}

static User *user_get(Turns *turns, uid_t uid)
{
        User *user = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(uid));

        if (user)
                return user;
        if (g_hash_table_size(turns->users) >= USERS_MAX)
                g_hash_table_foreach_remove(turns->users, is_forgettable, turns);
        user = g_new0(User, 1);
        user->uid = uid;
        g_hash_table_insert(turns->users, GUINT_TO_POINTER(uid), user);
        return user;
}

/* True for methods that do something even if the client does not wait for it. */
static bool has_effect(sd_bus_message *call)
{
        static const char *const members[] = {
                "ForgetRefused", "HoldProfile", "Pause", "ReleaseHold", "ReleaseProfile",
                "Reload",        "Resume",      "Set",   "SetOptions",  "SetActionEnabled",
                "SetProfile",    "Stop",        NULL
        };

        return g_strv_contains(members, sd_bus_message_get_member(call));
}

/* What the message takes while it waits; more than TURNS_CALL_MAX if it is too large. */
static size_t size_of(sd_bus_message *message)
{
        size_t size = TURNS_CALL;
        const char *contents, *text;
        char type;
        int r = 1;

        if (!sd_bus_message_is_method_call(message, NULL, NULL)) /* a refusal */
                return size;
        size += strlen(sd_bus_message_get_path(message));
        while (r > 0 && size <= TURNS_CALL_MAX) {
                r = sd_bus_message_peek_type(message, &type, &contents);
                size += 64;
                if (r == 0)
                        r = sd_bus_message_at_end(message, true) > 0
                                    ? 0
                                    : sd_bus_message_exit_container(message);
                else if (r > 0 && strchr("arve", type))
                        r = sd_bus_message_enter_container(message, type, contents);
                else if (r > 0 && strchr("sog", type)) {
                        r = sd_bus_message_read_basic(message, type, &text);
                        size += r > 0 ? strlen(text) : 0;
                } else if (r > 0)
                        r = sd_bus_message_read_basic(message, type, NULL);
        }
        return sd_bus_message_rewind(message, true) < 0 || r < 0 ? TURNS_CALL_MAX + 1 : size;
}

/* Has the next call answered after `usec`; 0: when other work that is due is done. */
static void serve_after(Turns *turns, uint64_t usec)
{
        int r = sd_event_source_set_time_relative(turns->next, usec);

        if (r >= 0)
                r = sd_event_source_set_enabled(turns->next, SD_EVENT_ONESHOT);
        if (r < 0)
                log_error_errno(r, "Failed to answer calls on the bus: %m");
}

static void charge(User *user, uint64_t spent)
{
        uint64_t now = now_usec(), saved = MIN(now, (uint64_t)TURNS_SAVED_USEC * TURNS_SHARE);

        if (user->uid != 0)
                user->paid_usec = MAX(user->paid_usec, now - saved) + spent * TURNS_SHARE;
}

/* Puts the message behind the user's others. Nothing is answered while the user is unknown. */
static void push(Turns *turns, User *user, sd_bus_message *message, size_t size)
{
        if (user->waiting.length == 0 && user->uid != (uid_t)-1) {
                g_queue_push_tail(&turns->order, user);
                if (!turns->released) /* else the filter goes on */
                        serve_after(turns, 0);
        }
        g_queue_push_tail(&user->waiting, sd_bus_message_ref(message));
        user->size += size;
        turns->size += size;
}

/* For a call that is not served now. */
static int read_on(Turns *turns)
{
        sd_event_source_set_enabled(turns->reading, SD_EVENT_ONESHOT);
        return 1;
}

static int on_served(sd_event_source *source, void *userdata)
{
        Turns *turns = userdata;

        if (turns->served)
                charge(turns->served, MAX(clock_spent_usec() - turns->since_usec, ANSWER_USEC));
        turns->served = NULL;
        return 0;
}

static int on_reading(sd_event_source *source, void *userdata)
{
        Turns *turns = userdata;
        uint64_t until = now_usec() + READING_USEC;

        while (sd_bus_process(turns->connection, NULL) > 0 && now_usec() < until)
                on_served(NULL, turns);
        return 0;
}

/* Has the call wait; its refusal, if `max` is exceeded; or nothing. */
static int wait_in(Turns *turns, User *user, sd_bus_message *call, size_t max)
{
        _message_ sd_bus_message *refusal = NULL;
        bool full = user->size + TURNS_CALL > max || user->paid_usec > now_usec() + OWED_USEC;
        size_t size = TURNS_MAX;

        if (full && sd_bus_message_get_expect_reply(call) <= 0)
                return read_on(turns);
        if (!full) {
                uint64_t since = clock_spent_usec();

                size = size_of(call);
                charge(user, clock_spent_usec() - since);
        }
        if (size <= TURNS_CALL_MAX && user->size + size <= max && turns->size + size <= TURNS_MAX)
                push(turns, user, call, size);
        else if (sd_bus_message_get_expect_reply(call) > 0 && user->size < 2 * max &&
                 sd_bus_message_new_method_errorf(
                         call, &refusal, SD_BUS_ERROR_LIMITS_EXCEEDED,
                         "Too many calls of this user are waiting for an answer, or this one is "
                         "too large") >= 0)
                push(turns, user, refusal, TURNS_CALL);
        return read_on(turns);
}

/* Lets the filter pass the call on; what it takes is the user's. */
static int serve(Turns *turns, User *user)
{
        turns->served = user;
        turns->since_usec = clock_spent_usec();
        sd_event_source_set_enabled(turns->after, SD_EVENT_ONESHOT);
        return 0;
}

/* Sends the user's first refusal, or hands the call to sd-bus once more: it passes the filter
 * before anything that arrives now. */
static void answer(Turns *turns, User *user)
{
        _message_ sd_bus_message *message = g_queue_pop_head(&user->waiting);
        size_t size = size_of(message);
        int r;

        user->size -= size;
        turns->size -= size;
        if (user->waiting.length > 0)
                g_queue_push_tail(&turns->order, user);
        if (!sd_bus_message_is_method_call(message, NULL, NULL)) {
                serve(turns, user);
                r = sd_bus_send(NULL, message, NULL);
        } else {
                r = sd_bus_enqueue_for_read(turns->connection, message);
                if (r >= 0) {
                        turns->released = g_steal_pointer(&message);
                        turns->releases = user;
                        return;
                }
        }
        if (r < 0)
                log_debug("Failed to answer a call on the bus: %s", g_strerror(-r));
        serve_after(turns, 0);
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata)
{
        Turns *turns = userdata;
        uint64_t unwritten = 0, now = now_usec(), wait = UINT64_MAX;

        if (turns->released) /* the filter goes on */
                return 0;
        if (sd_bus_get_n_queued_write(turns->connection, &unwritten) >= 0 && unwritten > 0) {
                serve_after(turns, WRITING_USEC);
                return 0;
        }
        for (guint i = turns->order.length; i > 0; i--) {
                User *user = g_queue_pop_head(&turns->order);

                if (user->paid_usec <= now) {
                        answer(turns, user);
                        return 0;
                }
                wait = MIN(wait, user->paid_usec - now);
                g_queue_push_tail(&turns->order, user);
        }
        if (wait != UINT64_MAX)
                serve_after(turns, wait);
        return 0;
}

/* The bus daemon reported the sender's user: all calls that waited for that wait for the user's
 * turn. */
static void on_sender(const char *name, const Sender *sender, void *userdata)
{
        Turns *turns = userdata;
        User *unknown = g_hash_table_lookup(turns->unknown, name);
        sd_bus_message *call;

        turns->size -= unknown->size;
        while ((call = g_queue_pop_head(&unknown->waiting))) {
                if (sender)
                        wait_in(turns, user_get(turns, sender->uid), call, TURNS_USER_MAX);
                else if (sd_bus_message_is_method_call(call, NULL, NULL))
                        sd_bus_reply_method_errorf(call, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                                   "The bus did not report the user of this call "
                                                   "in time; try again");
                sd_bus_message_unref(call);
        }
        g_hash_table_remove(turns->unknown, name);
}

static int ask_first(Turns *turns, const char *name, sd_bus_message *call)
{
        User *unknown = g_hash_table_lookup(turns->unknown, name);

        if (unknown)
                return wait_in(turns, unknown, call, TURNS_NAME_MAX);
        unknown = g_new0(User, 1);
        unknown->uid = (uid_t)-1;
        g_hash_table_insert(turns->unknown, g_strdup(name), unknown);
        wait_in(turns, unknown, call, TURNS_NAME_MAX);
        authorizer_ask(turns->authorizer, name, on_sender, turns);
        return 1;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Turns *turns = userdata;
        const char *name = sd_bus_message_get_sender(message);
        Sender sender;
        User *user;

        if (!sd_bus_message_is_method_call(message, NULL, NULL) || !name)
                return 0;
        if (message == turns->released) {
                turns->released = sd_bus_message_unref(message); /* sd-bus has it, too */
                if (turns->order.length > 0)
                        serve_after(turns, 0);
                return serve(turns, g_steal_pointer(&turns->releases));
        }
        if (sd_bus_message_get_expect_reply(message) <= 0 && !has_effect(message))
                return read_on(turns);
        if (!authorizer_knows(turns->authorizer, name, &sender))
                return ask_first(turns, name, message);
        user = user_get(turns, sender.uid);
        if (user->waiting.length > 0 || user->paid_usec > now_usec())
                return wait_in(turns, user, message, TURNS_USER_MAX);
        return serve(turns, user);
}

int turns_new(sd_bus *connection, sd_event *event, Authorizer *authorizer, Turns **ret_turns)
{
        Turns *turns = g_new0(Turns, 1);
        int r;

        turns->connection = connection;
        turns->authorizer = authorizer;
        turns->users = g_hash_table_new_full(NULL, NULL, NULL, user_free);
        turns->unknown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, user_free);
        r = sd_bus_add_filter(connection, &turns->filter, on_message, turns);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &turns->next, CLOCK_MONOTONIC, 0, 1, on_next,
                                               turns);
        if (r >= 0)
                r = sd_event_add_defer(event, &turns->reading, on_reading, turns);
        if (r >= 0)
                r = sd_event_add_post(event, &turns->after, on_served, turns);
        if (r >= 0)
                r = sd_event_source_set_priority(turns->after, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0) {
                sd_event_source_set_enabled(turns->next, SD_EVENT_OFF);
                sd_event_source_set_enabled(turns->reading, SD_EVENT_OFF);
                sd_event_source_set_enabled(turns->after, SD_EVENT_OFF);
        }
        if (r < 0)
                turns_free(turns);
        else
                *ret_turns = turns;
        return r < 0 ? r : 0;
}

void turns_free(Turns *turns)
{
        if (!turns)
                return;
        sd_bus_slot_unref(turns->filter);
        sd_event_source_disable_unref(turns->next);
        sd_event_source_disable_unref(turns->after);
        sd_event_source_disable_unref(turns->reading);
        sd_bus_message_unref(turns->released);
        g_queue_clear(&turns->order);
        g_hash_table_unref(turns->unknown);
        g_hash_table_unref(turns->users);
        g_free(turns);
}
