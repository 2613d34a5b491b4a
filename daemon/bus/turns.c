/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which call is next.
 *
 * 1. A filter sees each method call before any object does. A call that wants no reply is dropped
 *    if it has no effect, or if too many calls of its user wait. Every other call waits behind the
 *    user's other calls. If too many wait, its refusal waits in its place. The first call of a
 *    sender waits until the bus daemon has reported, asynchronously, the sender's user.
 * 2. idled reads on before it answers: all users share the queue between the bus daemon and idled.
 * 3. Calls are answered one at a time, the users in turn, when all answers so far are written.
 *    Between two of them the loop serves other events.
 * 4. The CPU time for an answer is charged to the user, and each user has a limited share of
 *    idled's time. root has nothing to gain from an attack, and is not charged.
 *
 * A bus daemon limits the calls of a connection that wait for a reply. Refusals that wait count, so
 * a client whose calls are refused cannot repeat them faster than idled answers its user.
 */
#include "bus/turns.h"

#include <glib.h>

#include "base/clock.h"
#include "systemd/bus-connect.h"

/* A user that owes more time than this is refused without reading the call. */
#define OWED_USEC G_USEC_PER_SEC

/* Calls are read for so long before one is answered and the loop serves anything else. While
 * answers are not written yet, whether they are is checked so often. */
#define STEP_USEC 1000

/* An answer costs at least this: the bus daemon, which others wait for, has work with it, too. */
#define ANSWER_USEC 100

/* Users without calls are forgotten when there are so many. */
#define USERS_MAX 256

/* These methods do something even if the client does not wait for it. */
static const char *const with_effect[] = {
        "ForgetRefused", "HoldProfile", "Pause", "ReleaseHold", "ReleaseProfile",
        "Reload",        "Resume",      "Set",   "SetOptions",  "SetActionEnabled",
        "SetProfile",    "Stop",        NULL
};

typedef struct User {
        uid_t uid;
        GQueue waiting;   /* of sd_bus_message: calls, and refusals of calls */
        size_t size;      /* of these */
        gint64 paid_usec; /* until then the user's share is used up, by the monotonic clock */
} User;

struct Turns {
        sd_bus *connection;
        Authorizer *authorizer;
        sd_bus_slot *filter;
        sd_event_source *next; /* goes off when there is something to read, or to answer */
        GHashTable *users;     /* uid -> User */
        GHashTable *unknown;   /* sender's name -> User, whose uid is not known yet */
        GQueue order;          /* of User: those with calls that wait, the next one first */
        size_t size;           /* of all calls that wait */
        bool due;              /* `next` goes off as soon as it can */
        const sd_bus_message *released; /* the filter lets it pass */
};

static void user_free(gpointer data)
{
        User *user = data;

        while (user->waiting.length > 0)
                sd_bus_message_unref(g_queue_pop_head(&user->waiting));
        g_free(user);
}

static gboolean is_forgettable(gpointer key, gpointer value, gpointer userdata)
{
        const User *user = value;

        return user->waiting.length == 0 && user->paid_usec <= g_get_monotonic_time();
}

static User *user_get(Turns *turns, uid_t uid)
{
        User *user = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(uid));

        if (user)
                return user;
        if (g_hash_table_size(turns->users) >= USERS_MAX)
                g_hash_table_foreach_remove(turns->users, is_forgettable, NULL);
        user = g_new0(User, 1);
        user->uid = uid;
        g_hash_table_insert(turns->users, GUINT_TO_POINTER(uid), user);
        return user;
}

/* What the message takes while it waits; more than TURNS_CALL_MAX if it is too large. */
static size_t size_of(sd_bus_message *message)
{
        size_t size = TURNS_CALL;
        const char *contents;
        char type;
        int r = 1;

        if (!sd_bus_message_is_method_call(message, NULL, NULL)) /* a refusal */
                return size;
        while (r > 0 && size <= TURNS_CALL_MAX) {
                const char *text = "";

                r = sd_bus_message_peek_type(message, &type, &contents);
                if (r == 0 && sd_bus_message_at_end(message, true) > 0)
                        break;
                if (r == 0)
                        r = sd_bus_message_exit_container(message);
                else if (r > 0 && strchr("arve", type))
                        r = sd_bus_message_enter_container(message, type, contents);
                else if (r > 0)
                        r = sd_bus_message_read_basic(message, type,
                                                      strchr("sog", type) ? &text : NULL);
                size += 64 + strlen(text);
        }
        return sd_bus_message_rewind(message, true) < 0 || r < 0 ? TURNS_CALL_MAX + 1 : size;
}

/* Reads on and answers the next call after `usec`; 0: when other work that is due is done. */
static void serve_after(Turns *turns, uint64_t usec)
{
        turns->due = usec == 0;
        sd_event_source_set_time_relative(turns->next, usec);
        sd_event_source_set_enabled(turns->next, SD_EVENT_ONESHOT);
}

/* Has the user pay for the CPU time that idled used since then. That idled waits for a CPU, or for
 * parking, is not the user's fault. */
static void charge(User *user, uint64_t since_usec, uint64_t least_usec)
{
        uint64_t spent = MAX(clock_usec(CLOCK_THREAD_CPUTIME_ID) - since_usec, least_usec);
        gint64 earliest = g_get_monotonic_time() - TURNS_SAVED_USEC * TURNS_SHARE;

        if (user->uid != 0)
                user->paid_usec = MAX(user->paid_usec, earliest) + (gint64)spent * TURNS_SHARE;
}

/* Puts the call behind the user's others; if `max` is exceeded, its refusal; or nothing. Nothing is
 * answered while the user is unknown. */
static void wait_in(Turns *turns, User *user, sd_bus_message *call, size_t max)
{
        _message_ sd_bus_message *refusal = NULL;
        size_t size = TURNS_MAX;

        if (user->size + TURNS_CALL <= max &&
            user->paid_usec <= g_get_monotonic_time() + OWED_USEC) {
                uint64_t since = clock_usec(CLOCK_THREAD_CPUTIME_ID);

                size = size_of(call);
                charge(user, since, 0);
        }
        if (size > TURNS_CALL_MAX || user->size + size > max || turns->size + size > TURNS_MAX) {
                if (sd_bus_message_get_expect_reply(call) <= 0 || user->size >= 2 * max ||
                    sd_bus_message_new_method_errorf(
                            call, &refusal, SD_BUS_ERROR_LIMITS_EXCEEDED,
                            "Too many calls of this user are waiting for an answer, or this one is "
                            "too large") < 0)
                        return;
                call = refusal;
                size = TURNS_CALL;
        }
        if (user->waiting.length == 0 && user->uid != (uid_t)-1)
                g_queue_push_tail(&turns->order, user);
        g_queue_push_tail(&user->waiting, sd_bus_message_ref(call));
        user->size += size;
        turns->size += size;
}

/* Sends the user's first refusal, or hands the call to sd-bus once more, which lets it pass the
 * filter before anything that arrives now. */
static void answer(Turns *turns, User *user)
{
        _message_ sd_bus_message *message = g_queue_pop_head(&user->waiting);
        uint64_t since = clock_usec(CLOCK_THREAD_CPUTIME_ID);
        size_t size = size_of(message);

        user->size -= size;
        turns->size -= size;
        if (user->waiting.length > 0)
                g_queue_push_tail(&turns->order, user);
        if (!sd_bus_message_is_method_call(message, NULL, NULL))
                sd_bus_send(NULL, message, NULL);
        else if (sd_bus_enqueue_for_read(turns->connection, message) >= 0)
                turns->released = message;
        while (turns->released && sd_bus_process(turns->connection, NULL) > 0)
                continue;
        turns->released = NULL; /* also if the bus is gone */
        charge(user, since, ANSWER_USEC);
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata)
{
        Turns *turns = userdata;
        gint64 now = g_get_monotonic_time(), until = now + STEP_USEC;
        uint64_t unwritten = 0, wait;

        while (sd_bus_process(turns->connection, NULL) > 0 && now < until)
                now = g_get_monotonic_time();
        sd_bus_get_n_queued_write(turns->connection, &unwritten);
        wait = unwritten > 0 && turns->order.length > 0 ? STEP_USEC : UINT64_MAX; /* never */
        for (guint i = turns->order.length; i > 0 && unwritten == 0 && wait > 0; i--) {
                User *user = g_queue_pop_head(&turns->order);

                wait = MIN(wait, (uint64_t)MAX(user->paid_usec - now, 0));
                if (wait > 0)
                        g_queue_push_tail(&turns->order, user);
                else
                        answer(turns, user);
        }
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
        serve_after(turns, 0);
}

/* The calls of this sender wait until its user is known. */
static User *user_unknown(Turns *turns, const char *name)
{
        User *user = g_hash_table_lookup(turns->unknown, name);

        if (user)
                return user;
        user = g_new0(User, 1);
        user->uid = (uid_t)-1;
        g_hash_table_insert(turns->unknown, g_strdup(name), user);
        authorizer_ask(turns->authorizer, name, on_sender, turns);
        return user;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Turns *turns = userdata;
        const char *name = sd_bus_message_get_sender(message);
        Sender sender;

        if (!sd_bus_message_is_method_call(message, NULL, NULL) || !name)
                return 0;
        if (message == turns->released) {
                turns->released = NULL;
                return 0;
        }
        if (!turns->due) /* else that would put it off */
                serve_after(turns, 0);
        if (sd_bus_message_get_expect_reply(message) <= 0 &&
            !g_strv_contains(with_effect, sd_bus_message_get_member(message)))
                return 1;
        if (authorizer_knows(turns->authorizer, name, &sender))
                wait_in(turns, user_get(turns, sender.uid), message, TURNS_USER_MAX);
        else
                wait_in(turns, user_unknown(turns, name), message, TURNS_NAME_MAX);
        return 1;
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
                r = sd_event_add_time(event, &turns->next, CLOCK_MONOTONIC, 0, 1, on_next, turns);
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
        g_queue_clear(&turns->order);
        g_hash_table_unref(turns->unknown);
        g_hash_table_unref(turns->users);
        g_free(turns);
}
