/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which call is next.
 *
 * 1. A filter sees each method call before any object does. The first call of a sender waits until
 *    the bus daemon has reported, asynchronously, the sender's user.
 * 2. A call is answered at once if its user has time left, none of the user's calls waits, and the
 *    answer does not grow with the machine. Else it waits behind the user's other calls.
 * 3. Calls that wait are answered one at a time, the users in turn, when all calls that arrived
 *    have been seen and all answers so far are written, or when that takes too long. Between two of
 *    them the loop serves other events.
 * 4. The time for an answer is charged to the user, and each user has a limited share of idled's
 *    time. root has nothing to gain from an attack, and is not charged.
 *
 * The limits keep memory bounded. They are beyond what 16 connections of one user may have
 * unanswered at a bus daemon, so the usual flood waits for its answers instead of repeating itself.
 */
#include "bus/turns.h"

#include <errno.h>
#include <glib.h>
#include <time.h>

#include "base/log.h"
#include "systemd/bus-connect.h"

/* While answers are not written yet, whether they are is checked so often. */
#define WRITING_USEC 1000

/* What may be answered does not wait longer than this until no more calls arrive. */
#define STARVED_USEC 20000

/* Users without calls are forgotten when there are so many. */
#define USERS_MAX 256

typedef struct User {
        uid_t uid;
        GQueue waiting;     /* of sd_bus_message */
        unsigned n_large;   /* of these, calls with large arguments */
        uint64_t paid_usec; /* until then the user's share is used up, CLOCK_MONOTONIC */
} User;

struct Turns {
        sd_bus *connection;
        Authorizer *authorizer;
        sd_bus_slot *filter;
        sd_event_source *next;    /* goes off when a call that waits may be answered */
        sd_event_source *after;   /* runs after each call */
        GHashTable *users;        /* uid -> User */
        GPtrArray *order;         /* of User: the next one comes first */
        GHashTable *unknown;      /* sender's name -> GQueue of calls */
        unsigned n_waiting;       /* calls, with those of unknown senders */
        sd_bus_message *released; /* the filter lets it pass */
        User *releases;           /* whose call that is */
        User *served;             /* whose call is being answered */
        uint64_t since_usec;
        uint64_t next_usec; /* when `next` goes off, CLOCK_MONOTONIC */
};

static uint64_t now_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * G_USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static void calls_clear(GQueue *calls)
{
        sd_bus_message *call;

        while ((call = g_queue_pop_head(calls)))
                sd_bus_message_unref(call);
}

static void calls_free(gpointer data)
{
        calls_clear(data);
        g_queue_free(data);
}

static void user_free(gpointer data)
{
        User *user = data;

        calls_clear(&user->waiting);
        g_free(user);
}

/* Forgets users who have no calls and owe no time. */
static void forget_users(Turns *turns)
{
        uint64_t now = now_usec();

        for (guint i = turns->order->len; i-- > 0;) {
                User *user = turns->order->pdata[i];

                if (user == turns->served || user == turns->releases ||
                    !g_queue_is_empty(&user->waiting) || user->paid_usec > now)
                        continue;
                g_ptr_array_remove_index(turns->order, i);
                g_hash_table_remove(turns->users, GUINT_TO_POINTER(user->uid));
        }
}

static User *user_get(Turns *turns, uid_t uid)
{
        User *user = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(uid));

        if (user)
                return user;
        if (turns->order->len >= USERS_MAX)
                forget_users(turns);
        user = g_new0(User, 1);
        user->uid = uid;
        g_queue_init(&user->waiting);
        g_hash_table_insert(turns->users, GUINT_TO_POINTER(uid), user);
        g_ptr_array_add(turns->order, user);
        return user;
}

/* True for calls whose answers grow with the machine: with CPUs, or with knobs. */
static bool is_large_answer(sd_bus_message *call)
{
        static const char *const members[] = { "GetManagedObjects", "GetAll", "Explain", "Verify" };
        const char *member = sd_bus_message_get_member(call);

        for (size_t i = 0; member && i < G_N_ELEMENTS(members); i++)
                if (g_str_equal(member, members[i]))
                        return true;
        return false;
}

/* True for calls whose arguments may take a lot of memory. */
static bool has_large_arguments(sd_bus_message *call)
{
        const char *signature = sd_bus_message_get_signature(call, true), *text;
        size_t length = 0;

        if (!signature || strspn(signature, "so") != strlen(signature))
                return true;
        for (const char *type = signature; *type; type++)
                if (sd_bus_message_read_basic(call, *type, &text) > 0)
                        length += strlen(text);
        return sd_bus_message_rewind(call, true) < 0 || length > TURNS_TEXT_MAX;
}

static int refuse(sd_bus_message *call)
{
        sd_bus_reply_method_errorf(call, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                   "Too many calls of this user are waiting for an answer");
        return 1;
}

/* Has the next call answered after `usec`; 0: as soon as other work that is due is done. */
static void serve_after(Turns *turns, uint64_t usec)
{
        int r;

        turns->next_usec = now_usec() + usec;
        r = sd_event_source_set_time(turns->next, turns->next_usec);
        if (r >= 0)
                r = sd_event_source_set_enabled(turns->next, SD_EVENT_ONESHOT);
        if (r < 0)
                log_error_errno(r, "Failed to answer calls on the bus: %m");
}

/* The same for a new call of `user`, if what the timer is set for comes later. */
static void serve_soon(Turns *turns, const User *user)
{
        uint64_t now = now_usec();

        if (turns->released)
                return; /* the filter goes on */
        if (sd_event_source_get_enabled(turns->next, NULL) > 0 &&
            turns->next_usec <= MAX(user->paid_usec, now))
                return;
        serve_after(turns, user->paid_usec > now ? user->paid_usec - now : 0);
}

static int wait_in(Turns *turns, User *user, sd_bus_message *call)
{
        bool large = has_large_arguments(call);

        if (turns->n_waiting >= TURNS_MAX || user->waiting.length >= TURNS_OF_USER_MAX ||
            (large && user->n_large >= TURNS_LARGE_MAX))
                return refuse(call);
        user->n_large += large;
        turns->n_waiting++;
        g_queue_push_tail(&user->waiting, sd_bus_message_ref(call));
        serve_soon(turns, user);
        return 1;
}

static void charge(User *user, uint64_t spent)
{
        uint64_t now = now_usec();
        uint64_t floor = now > TURNS_SAVED_USEC * TURNS_SHARE
                                 ? now - (uint64_t)TURNS_SAVED_USEC * TURNS_SHARE
                                 : 0;

        if (user->uid != 0)
                user->paid_usec = MAX(user->paid_usec, floor) + spent * TURNS_SHARE;
}

static int on_served(sd_event_source *source, void *userdata)
{
        Turns *turns = userdata;

        if (turns->served)
                charge(turns->served, now_usec() - turns->since_usec);
        turns->served = NULL;
        return 0;
}

/* Lets the filter pass the call on; what it takes is the user's. */
static int serve(Turns *turns, User *user)
{
        turns->served = user;
        turns->since_usec = now_usec();
        sd_event_source_set_enabled(turns->after, SD_EVENT_ONESHOT);
        return 0;
}

static int admit(Turns *turns, User *user, sd_bus_message *call)
{
        if (!g_queue_is_empty(&user->waiting) || is_large_answer(call) ||
            (user->uid != 0 && user->paid_usec > now_usec()))
                return wait_in(turns, user, call);
        return serve(turns, user);
}

/* The next user who has a call that waits and time left; else NULL, and when the first will have
 * time, UINT64_MAX if none waits. */
static User *next_user(Turns *turns, uint64_t *ret_usec)
{
        uint64_t now = now_usec();

        *ret_usec = UINT64_MAX;
        for (guint i = 0; i < turns->order->len; i++) {
                User *user = turns->order->pdata[i];

                if (g_queue_is_empty(&user->waiting))
                        continue;
                if (user->paid_usec <= now) {
                        g_ptr_array_add(turns->order, g_ptr_array_steal_index(turns->order, i));
                        return user;
                }
                *ret_usec = MIN(*ret_usec, user->paid_usec - now);
        }
        return NULL;
}

/* Hands the call to sd-bus once more: it passes the filter before anything that arrives now. */
static void release(Turns *turns, User *user)
{
        sd_bus_message *call = g_queue_pop_head(&user->waiting);
        int r;

        turns->n_waiting--;
        user->n_large -= has_large_arguments(call);
        turns->released = call;
        turns->releases = user;
        r = sd_bus_enqueue_for_read(turns->connection, call);
        if (r < 0) {
                log_debug("Failed to answer a call on the bus: %s", g_strerror(-r));
                turns->released = sd_bus_message_unref(call);
                turns->releases = NULL;
                serve_after(turns, 0);
        }
}

static int on_next(sd_event_source *source, uint64_t usec, void *userdata)
{
        Turns *turns = userdata;
        uint64_t unwritten = 0;
        User *user;

        sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
        if (turns->released) /* the filter goes on */
                return 0;
        if (sd_bus_get_n_queued_write(turns->connection, &unwritten) >= 0 && unwritten > 0) {
                serve_after(turns, WRITING_USEC);
                return 0;
        }
        user = next_user(turns, &usec);
        if (user)
                release(turns, user);
        else if (usec != UINT64_MAX)
                serve_after(turns, usec);
        return 0;
}

/* The bus daemon reported the sender's user: all calls that waited for that wait for the user's
 * turn. */
static void on_sender(const char *name, const Sender *sender, void *userdata)
{
        Turns *turns = userdata;
        g_autoptr(GQueue) calls = NULL;
        g_autofree char *key = NULL;
        sd_bus_message *call;

        if (!g_hash_table_steal_extended(turns->unknown, name, (gpointer *)&key,
                                         (gpointer *)&calls))
                return;
        turns->n_waiting -= calls->length;
        while ((call = g_queue_pop_head(calls))) {
                if (sender)
                        wait_in(turns, user_get(turns, sender->uid), call);
                else
                        sd_bus_reply_method_errorf(
                                call, SD_BUS_ERROR_ACCESS_DENIED,
                                "The bus does not report the sender of this call");
                sd_bus_message_unref(call);
        }
}

/* The call waits until the sender is known. */
static int ask_first(Turns *turns, const char *name, sd_bus_message *call)
{
        GQueue *calls = g_hash_table_lookup(turns->unknown, name);

        if (turns->n_waiting >= TURNS_MAX || (calls && calls->length >= TURNS_OF_USER_MAX))
                return refuse(call);
        if (!calls) {
                int r = authorizer_ask(turns->authorizer, name, on_sender, turns);

                if (r < 0)
                        return r;
                calls = g_queue_new();
                g_hash_table_insert(turns->unknown, g_strdup(name), calls);
        }
        turns->n_waiting++;
        g_queue_push_tail(calls, sd_bus_message_ref(call));
        return 1;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Turns *turns = userdata;
        const char *name = sd_bus_message_get_sender(message);
        Sender sender;

        if (!sd_bus_message_is_method_call(message, NULL, NULL) || !name)
                return 0;
        if (turns->n_waiting > 0 && now_usec() > turns->next_usec + STARVED_USEC)
                sd_event_source_set_priority(turns->next, SD_EVENT_PRIORITY_NORMAL);
        if (message == turns->released) {
                turns->released = sd_bus_message_unref(message); /* sd-bus has it, too */
                if (turns->n_waiting > 0)
                        serve_after(turns, 0);
                return serve(turns, g_steal_pointer(&turns->releases));
        }
        if (!sd_bus_message_get_expect_reply(message) && is_large_answer(message))
                return 1; /* no client would see the answer */
        if (!authorizer_knows(turns->authorizer, name, &sender))
                return ask_first(turns, name, message);
        return admit(turns, user_get(turns, sender.uid), message);
}

int turns_new(sd_bus *connection, sd_event *event, Authorizer *authorizer, Turns **ret_turns)
{
        Turns *turns = g_new0(Turns, 1);
        int r;

        turns->connection = connection;
        turns->authorizer = authorizer;
        turns->users = g_hash_table_new_full(NULL, NULL, NULL, user_free);
        turns->order = g_ptr_array_new();
        turns->unknown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, calls_free);
        r = sd_bus_add_filter(connection, &turns->filter, on_message, turns);
        if (r >= 0)
                r = sd_event_add_time_relative(event, &turns->next, CLOCK_MONOTONIC, 0, 1, on_next,
                                               turns);
        if (r >= 0)
                r = sd_event_source_set_enabled(turns->next, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_priority(turns->next, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_event_add_post(event, &turns->after, on_served, turns);
        if (r >= 0)
                r = sd_event_source_set_priority(turns->after, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_source_set_enabled(turns->after, SD_EVENT_OFF);
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
        sd_bus_message_unref(turns->released);
        g_hash_table_unref(turns->unknown);
        g_ptr_array_unref(turns->order);
        g_hash_table_unref(turns->users);
        g_free(turns);
}
