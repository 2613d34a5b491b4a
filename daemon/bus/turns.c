/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which call is next.
 *
 * 1. A filter sees each method call before any object does. A call that wants no reply is dropped
 *    if it has no effect, or if too many calls of its user wait. The first calls of a sender wait
 *    until the bus daemon has reported, asynchronously, the sender's user.
 * 2. root's calls pass as they arrive, and are not charged: root has nothing to gain from an
 * attack. Every other call waits behind the user's other calls. If too many wait, its refusal waits
 * in its place. What others do costs no user the first TURNS_CALL_MAX of memory.
 * 3. idled reads on before it answers: all users share the queue between the bus daemon and idled.
 * 4. Calls that wait are answered one at a time, when all answers so far are written. The next one
 *    is of the user who has used least. Between two of them the loop serves other events.
 * 5. The CPU time for an answer is charged to the user, and each user has a limited share of
 *    idled's time.
 *
 * A bus daemon limits the calls of a connection that wait for a reply. Refusals that wait count, so
 * a client whose calls are refused cannot repeat them faster than idled answers its user.
 */
#include "bus/turns.h"

#include <glib.h>

#include "base/clock.h"
#include "manager/ground.h"
#include "systemd/bus-connect.h"

/* A user that owes more time than this is refused without reading the call. */
#define OWED_USEC G_USEC_PER_SEC

/* Calls are read for so long before one is answered and the loop serves anything else. While
 * answers are not written yet, whether they are is checked so often. */
#define STEP_USEC 1000

/* An answer costs at least this: the bus daemon, which others wait for, has work with it, too. */
#define ANSWER_USEC 100

/* These methods do something even if the client does not wait for it. */
static const char *const with_effect[] = {
        "ForgetRefused", "HoldProfile", "Pause", "ReleaseHold", "ReleaseProfile",
        "Reload",        "Resume",      "Set",   "SetOptions",  "SetActionEnabled",
        "SetProfile",    "Stop",        NULL
};

typedef struct User {
        bool known;       /* else it is a sender, for whose user the bus daemon was asked */
        GQueue waiting;   /* of sd_bus_message: calls, and refusals of calls */
        size_t size;      /* of these */
        gint64 paid_usec; /* until then the user's share is used up, by the monotonic clock */
} User;

struct Turns {
        sd_bus *connection;
        Authorizer *authorizer;
        sd_bus_slot *filter;
        sd_event_source *next; /* goes off when there is something to read, or to answer */
        bool due;              /* as soon as it can */
        GHashTable *users;     /* number of the user, or name of the sender -> User; without root */
        size_t size;           /* of all calls that wait */
        const sd_bus_message *released; /* the filter lets it pass */
};

static void user_free(gpointer data)
{
        User *user = data;

        while (user->waiting.length > 0)
                sd_bus_message_unref(g_queue_pop_head(&user->waiting));
        g_free(user);
}

static User *user_get(Turns *turns, bool known, uid_t uid, const char *name)
{
        g_autofree char *key = known ? g_strdup_printf("%u", uid) : g_strdup(name);
        User *user = g_hash_table_lookup(turns->users, key);

        if (user)
                return user;
        user = g_new0(User, 1);
        user->known = known;
        g_hash_table_insert(turns->users, g_steal_pointer(&key), user);
        return user;
}

/* Returns the user who has used least of idled's time and has calls that wait; NULL: there is none.
 * Forgets users without calls when that changes nothing for them. */
static User *user_next(Turns *turns)
{
        gint64 unused = g_get_monotonic_time() - TURNS_SAVED_USEC * TURNS_SHARE;
        GHashTableIter i;
        gpointer value;
        User *next = NULL;

        g_hash_table_iter_init(&i, turns->users);
        while (g_hash_table_iter_next(&i, NULL, &value)) {
                const User *user = value;

                if (user->known && user->waiting.length == 0 && user->paid_usec <= unused)
                        g_hash_table_iter_remove(&i);
                else if (user->known && user->waiting.length > 0 &&
                         (!next || user->paid_usec < next->paid_usec))
                        next = value;
        }
        return next;
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

/* Reads on, and answers the next call, when other work that is due is done. */
static void go_on(Turns *turns)
{
        if (!turns->due) /* else that would put it off */
                timer_set_in(turns->next, 0);
        turns->due = true;
}

/* Has the user pay for the CPU time that idled used since then. That idled waits for a CPU, or for
 * parking, is not the user's fault. */
static void charge(User *user, uint64_t since_usec, uint64_t least_usec)
{
        uint64_t spent = MAX(clock_usec(CLOCK_THREAD_CPUTIME_ID) - since_usec, least_usec);
        gint64 earliest = g_get_monotonic_time() - TURNS_SAVED_USEC * TURNS_SHARE;

        user->paid_usec = MAX(user->paid_usec, earliest) + (gint64)spent * TURNS_SHARE;
}

/* Puts the message behind the user's others; if that is too much, the refusal of the call; or
 * nothing. */
static void wait_in(Turns *turns, User *user, sd_bus_message *message)
{
        _message_ sd_bus_message *refusal = NULL;
        size_t size = TURNS_MAX, max = user->known ? TURNS_USER_MAX : TURNS_NAME_MAX;

        if (user->size + TURNS_CALL <= max &&
            user->paid_usec <= g_get_monotonic_time() + OWED_USEC) {
                uint64_t since = clock_usec(CLOCK_THREAD_CPUTIME_ID);

                size = size_of(message);
                charge(user, since, 0);
        }
        if (size > TURNS_CALL_MAX || user->size + size > max ||
            (user->size >= TURNS_CALL_MAX && turns->size + size > TURNS_MAX)) {
                if (sd_bus_message_get_expect_reply(message) > 0)
                        sd_bus_message_new_method_errorf(
                                message, &refusal, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "Too many calls of this user are waiting for an answer, or this "
                                "one is too large");
                if (refusal)
                        message = refusal;
                if (sd_bus_message_is_method_call(message, NULL, NULL) || user->size >= 2 * max)
                        return;
                size = TURNS_CALL;
        }
        g_queue_push_tail(&user->waiting, sd_bus_message_ref(message));
        user->size += size;
        turns->size += size;
}

/* Sends the user's first refusal, or hands the call to sd-bus once more, which lets it pass the
 * filter before anything that arrives now. */
static void answer(Turns *turns, User *user)
{
        sd_bus_message *message = g_queue_peek_head(&user->waiting);
        uint64_t since = clock_usec(CLOCK_THREAD_CPUTIME_ID);
        size_t size = size_of(message);

        if (!sd_bus_message_is_method_call(message, NULL, NULL))
                sd_bus_send(NULL, message, NULL);
        else if (sd_bus_enqueue_for_read(turns->connection, message) >= 0)
                turns->released = message;
        while (turns->released) {
                since = clock_usec(CLOCK_THREAD_CPUTIME_ID);
                if (sd_bus_process(turns->connection, NULL) <= 0)
                        turns->released = NULL; /* the bus is gone */
        }
        charge(user, since, ANSWER_USEC);
        user->size -= size;
        turns->size -= size;
        sd_bus_message_unref(g_queue_pop_head(&user->waiting));
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata)
{
        Turns *turns = userdata;
        gint64 now = g_get_monotonic_time(), until = now + STEP_USEC;
        uint64_t unwritten = 0;
        User *user;

        while (sd_bus_process(turns->connection, NULL) > 0 && now < until)
                now = g_get_monotonic_time();
        turns->due = false;
        user = user_next(turns);
        sd_bus_get_n_queued_write(turns->connection, &unwritten);
        if (user && unwritten > 0)
                timer_set_in(turns->next, STEP_USEC);
        else if (user && user->paid_usec > now)
                timer_set_at(turns->next, (uint64_t)user->paid_usec);
        else if (user) {
                answer(turns, user);
                if (turns->size > 0)
                        go_on(turns);
        }
        return 0;
}

/* The bus daemon reported the sender's user: all calls that waited for that wait for the user's
 * turn. Those of root pass. */
static void on_sender(const char *name, const Sender *sender, void *userdata)
{
        Turns *turns = userdata;
        User *unknown = g_hash_table_lookup(turns->users, name);
        sd_bus_message *message;

        turns->size -= unknown->size;
        while ((message = g_queue_pop_head(&unknown->waiting))) {
                if (sender && sender->uid != 0)
                        wait_in(turns, user_get(turns, true, sender->uid, name), message);
                else if (!sd_bus_message_is_method_call(message, NULL, NULL))
                        sd_bus_send(NULL, message, NULL);
                else if (sender)
                        sd_bus_enqueue_for_read(turns->connection, message);
                else
                        sd_bus_reply_method_errorf(message, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                                   "The bus did not report the user of this call "
                                                   "in time; try again");
                sd_bus_message_unref(message);
        }
        g_hash_table_remove(turns->users, name);
        go_on(turns);
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Turns *turns = userdata;
        const char *name = sd_bus_message_get_sender(message);
        bool known, asked, dropped;
        Sender sender = { 0 };

        if (!sd_bus_message_is_method_call(message, NULL, NULL) || !name)
                return 0;
        if (message == turns->released) {
                turns->released = NULL;
                return 0;
        }
        known = authorizer_knows(turns->authorizer, name, &sender);
        dropped = sd_bus_message_get_expect_reply(message) <= 0 &&
                  !g_strv_contains(with_effect, sd_bus_message_get_member(message));
        if (known && sender.uid == 0 && !dropped)
                return 0;
        go_on(turns);
        if (dropped)
                return 1;
        asked = known || g_hash_table_contains(turns->users, name);
        wait_in(turns, user_get(turns, known, sender.uid, name), message);
        if (!asked)
                authorizer_ask(turns->authorizer, name, on_sender, turns);
        return 1;
}

int turns_new(sd_bus *connection, sd_event *event, Authorizer *authorizer, Turns **ret_turns)
{
        Turns *turns = g_new0(Turns, 1);
        int r = sd_bus_add_filter(connection, &turns->filter, on_message, turns);

        turns->connection = connection;
        turns->authorizer = authorizer;
        turns->users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, user_free);
        if (r >= 0)
                r = timer_add(event, &turns->next, 1, on_next, turns);
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
        g_hash_table_unref(turns->users);
        g_free(turns);
}
