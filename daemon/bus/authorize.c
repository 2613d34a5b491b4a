/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks the bus for the user of a sender, and polkit what a user may do.
 *
 * One Question lives from the client's call to polkit's answer. It ends early when the client
 * leaves the bus: polkit gets a cancellation, and whatever it answers then permits nothing.
 */
#include "bus/authorize.h"

#include <errno.h>
#include <glib.h>
#include <unistd.h>

#include "base/log.h"
#include "systemd/bus-connect.h"

#define DRIVER_NAME "org.freedesktop.DBus"
#define DRIVER_PATH "/org/freedesktop/DBus"

#define POLKIT_NAME      "org.freedesktop.PolicyKit1"
#define POLKIT_PATH      "/org/freedesktop/PolicyKit1/Authority"
#define POLKIT_INTERFACE "org.freedesktop.PolicyKit1.Authority"

/* So many senders are remembered before all are forgotten: as many as a system bus has. */
#define SENDERS_MAX 2048

/* A question to the bus that fails is asked so often, after these times and their double. */
#define LOOKUPS_MAX       4
#define LOOKUP_RETRY_USEC 100000

/* A user may first type a password. */
#define ANSWER_USEC             (25u * 1000 * 1000)
#define ANSWER_INTERACTIVE_USEC (120u * 1000 * 1000)

struct Authorizer {
        sd_bus *connection;
        bool is_system_bus;
        GPtrArray *questions; /* of Question, owned */
        GPtrArray *lookups;   /* of Lookup, owned */
        GHashTable *senders;  /* name -> Sender */
        unsigned n_asked;
};

typedef struct Question {
        Authorizer *authorizer;
        sd_bus_message *message;
        uid_t uid;
        char *id; /* by which polkit knows it */
        AuthorizedCall call;
        void *userdata;
        sd_bus_slot *slot;
        sd_bus_track *track;
} Question;

/* A question to the bus itself: which user owns a name. */
typedef struct Lookup {
        Authorizer *authorizer;
        char *name;
        AuthorizerAnswer answered;
        void *userdata;
        sd_bus_slot *slot;
        sd_event_source *retry;
        unsigned n_failed;
} Lookup;

static void lookup_free(gpointer data)
{
        Lookup *lookup = data;

        sd_bus_slot_unref(lookup->slot);
        sd_event_source_disable_unref(lookup->retry);
        g_free(lookup->name);
        g_free(lookup);
}

static void question_free(gpointer data)
{
        Question *question = data;

        sd_bus_track_unref(question->track);
        sd_bus_slot_unref(question->slot);
        sd_bus_message_unref(question->message);
        g_free(question->id);
        g_free(question);
}

Authorizer *authorizer_new(sd_bus *connection, bool is_system_bus)
{
        Authorizer *authorizer = g_new0(Authorizer, 1);

        authorizer->connection = connection;
        authorizer->is_system_bus = is_system_bus;
        authorizer->questions = g_ptr_array_new_with_free_func(question_free);
        authorizer->lookups = g_ptr_array_new_with_free_func(lookup_free);
        authorizer->senders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        return authorizer;
}

void authorizer_free(Authorizer *authorizer)
{
        if (!authorizer)
                return;
        g_ptr_array_unref(authorizer->questions);
        g_ptr_array_unref(authorizer->lookups);
        g_hash_table_unref(authorizer->senders);
        g_free(authorizer);
}

static int ask_bus(sd_bus_message *message, Sender *ret_sender)
{
        sd_bus_creds *creds = NULL;
        Sender sender = { 0 };
        int r = sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &creds);

        if (r >= 0)
                r = sd_bus_creds_get_euid(creds, &sender.uid);
        if (r >= 0 && sd_bus_creds_get_pid(creds, &sender.pid) < 0)
                sender.pid = 0;
        sd_bus_creds_unref(creds);
        if (r >= 0)
                *ret_sender = sender;
        return r < 0 ? r : 0;
}

static void remember(Authorizer *authorizer, const char *name, const Sender *sender)
{
        if (g_hash_table_size(authorizer->senders) >= SENDERS_MAX)
                g_hash_table_remove_all(authorizer->senders);
        g_hash_table_insert(authorizer->senders, g_strdup(name),
                            g_memdup2(sender, sizeof(*sender)));
}

bool authorizer_knows(const Authorizer *authorizer, const char *name, Sender *ret_sender)
{
        const Sender *known = name ? g_hash_table_lookup(authorizer->senders, name) : NULL;

        if (known)
                *ret_sender = *known;
        return known;
}

int authorizer_sender(Authorizer *authorizer, sd_bus_message *message, Sender *ret_sender)
{
        const char *name = sd_bus_message_get_sender(message);
        int r;

        if (authorizer_knows(authorizer, name, ret_sender))
                return 0;
        r = ask_bus(message, ret_sender);
        if (r >= 0 && name)
                remember(authorizer, name, ret_sender);
        return r;
}

/* Reads the credentials' (a{sv}); -ENODATA: the user is not among them. */
static int credentials_read(sd_bus_message *answer, Sender *ret_sender)
{
        uint32_t uid = UINT32_MAX, pid = 0;
        const char *key;
        int r = sd_bus_message_enter_container(answer, 'a', "{sv}");

        while (r >= 0 && (r = sd_bus_message_enter_container(answer, 'e', "sv")) > 0) {
                r = sd_bus_message_read(answer, "s", &key);
                if (r >= 0 && g_str_equal(key, "UnixUserID"))
                        r = sd_bus_message_read(answer, "v", "u", &uid);
                else if (r >= 0 && g_str_equal(key, "ProcessID"))
                        r = sd_bus_message_read(answer, "v", "u", &pid);
                else if (r >= 0)
                        r = sd_bus_message_skip(answer, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(answer);
        }
        if (r < 0 || uid == UINT32_MAX)
                return r < 0 ? r : -ENODATA;
        *ret_sender = (Sender){ uid, (pid_t)pid };
        return 0;
}

static void lookup_send(Lookup *lookup);

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata)
{
        lookup_send(userdata);
        return 0;
}

/* Asks again later, unless the name is gone or it was asked too often. */
static void lookup_failed(Lookup *lookup, int error)
{
        uint64_t wait = (uint64_t)LOOKUP_RETRY_USEC << lookup->n_failed++;

        log_debug("The bus does not report the user of %s: %s", lookup->name, g_strerror(-error));
        lookup->retry = sd_event_source_disable_unref(lookup->retry);
        if (error != -ENXIO && lookup->n_failed < LOOKUPS_MAX &&
            sd_event_add_time_relative(sd_bus_get_event(lookup->authorizer->connection),
                                       &lookup->retry, CLOCK_MONOTONIC, wait, 0, on_retry,
                                       lookup) >= 0)
                return;
        lookup->answered(lookup->name, NULL, lookup->userdata);
        g_ptr_array_remove_fast(lookup->authorizer->lookups, lookup);
}

static int lookup_answered(sd_bus_message *answer, void *userdata, sd_bus_error *unused)
{
        Lookup *lookup = userdata;
        Sender sender;
        int r = sd_bus_message_is_method_error(answer, NULL) ? -sd_bus_message_get_errno(answer)
                                                             : credentials_read(answer, &sender);

        if (r < 0) {
                lookup_failed(lookup, r);
                return 0;
        }
        remember(lookup->authorizer, lookup->name, &sender);
        lookup->answered(lookup->name, &sender, lookup->userdata);
        g_ptr_array_remove_fast(lookup->authorizer->lookups, lookup);
        return 0;
}

static void lookup_send(Lookup *lookup)
{
        int r;

        lookup->slot = sd_bus_slot_unref(lookup->slot);
        r = sd_bus_call_method_async(lookup->authorizer->connection, &lookup->slot, DRIVER_NAME,
                                     DRIVER_PATH, DRIVER_NAME, "GetConnectionCredentials",
                                     lookup_answered, lookup, "s", lookup->name);
        if (r < 0)
                lookup_failed(lookup, r);
}

void authorizer_ask(Authorizer *authorizer, const char *name, AuthorizerAnswer answered,
                    void *userdata)
{
        Lookup *lookup = g_new0(Lookup, 1);

        lookup->authorizer = authorizer;
        lookup->name = g_strdup(name);
        lookup->answered = answered;
        lookup->userdata = userdata;
        g_ptr_array_add(authorizer->lookups, lookup);
        lookup_send(lookup);
}

static int question_refuse(sd_bus_error *error)
{
        return sd_bus_error_set(error, SD_BUS_ERROR_ACCESS_DENIED,
                                "Permission denied: this needs root, or polkit's consent");
}

/* Reads polkit's (bba{ss}): whether the call may go on. */
static int answer_read(Question *question, sd_bus_message *answer, sd_bus_error *error)
{
        int authorized = 0, challenge = 0, r;

        if (sd_bus_message_is_method_error(answer, NULL)) {
                log_debug("polkit: %s", sd_bus_message_get_error(answer)->name);
                return question_refuse(error);
        }
        r = sd_bus_message_enter_container(answer, 'r', "bba{ss}");
        if (r >= 0)
                r = sd_bus_message_read(answer, "bb", &authorized, &challenge);
        if (r < 0)
                return question_refuse(error);
        if (authorized)
                return 0;
        if (challenge && sd_bus_message_get_allow_interactive_authorization(question->message) <= 0)
                return sd_bus_error_set(error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
                                        "Authentication is required: allow interactive "
                                        "authorization, or call as root");
        return question_refuse(error);
}

static int question_answered(sd_bus_message *answer, void *userdata, sd_bus_error *unused)
{
        Question *question = userdata;
        _bus_error_ sd_bus_error error = SD_BUS_ERROR_NULL;
        int r = answer_read(question, answer, &error);

        if (r >= 0)
                r = question->call(question->message, question->userdata, &error);
        if (r < 0)
                sd_bus_reply_method_errno(question->message, r, &error);
        g_ptr_array_remove_fast(question->authorizer->questions, question);
        return 0;
}

static int asker_gone(sd_bus_track *track, void *userdata)
{
        Question *question = userdata;
        _message_ sd_bus_message *cancel = NULL;

        if (sd_bus_message_new_method_call(question->authorizer->connection, &cancel, POLKIT_NAME,
                                           POLKIT_PATH, POLKIT_INTERFACE,
                                           "CancelCheckAuthorization") >= 0 &&
            sd_bus_message_append(cancel, "s", question->id) >= 0)
                sd_bus_send(NULL, cancel, NULL);
        g_ptr_array_remove_fast(question->authorizer->questions, question);
        return 0;
}

static int question_send(Question *question, const char *action)
{
        sd_bus *connection = question->authorizer->connection;
        bool interactive = sd_bus_message_get_allow_interactive_authorization(question->message) >
                           0;
        _message_ sd_bus_message *ask = NULL;
        int r;

        r = sd_bus_track_new(connection, &question->track, asker_gone, question);
        if (r >= 0)
                r = sd_bus_track_add_sender(question->track, question->message);
        if (r >= 0)
                r = sd_bus_message_new_method_call(connection, &ask, POLKIT_NAME, POLKIT_PATH,
                                                   POLKIT_INTERFACE, "CheckAuthorization");
        if (r >= 0)
                r = sd_bus_message_append(ask, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name",
                                          "s", sd_bus_message_get_sender(question->message), action,
                                          0, (uint32_t)interactive, question->id);
        if (r < 0)
                return r;
        return sd_bus_call_async(connection, &question->slot, ask, question_answered, question,
                                 interactive ? ANSWER_INTERACTIVE_USEC : ANSWER_USEC);
}

static unsigned questions_of(const Authorizer *authorizer, uid_t uid)
{
        unsigned n = 0;

        for (guint i = 0; i < authorizer->questions->len; i++)
                n += ((const Question *)authorizer->questions->pdata[i])->uid == uid;
        return n;
}

bool authorizer_trusts(const Authorizer *authorizer, uid_t uid)
{
        return uid == 0 || (!authorizer->is_system_bus && uid == geteuid());
}

int authorize(Authorizer *authorizer, sd_bus_message *message, const char *action,
              AuthorizedCall call, void *userdata, sd_bus_error *error)
{
        Question *question;
        Sender sender;
        int r = authorizer_sender(authorizer, message, &sender);

        if (r < 0)
                return question_refuse(error);
        if (authorizer_trusts(authorizer, sender.uid))
                return call(message, userdata, error);
        if (questions_of(authorizer, sender.uid) >= CALLS_WAITING_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "Too many calls of this user wait for authorization");

        question = g_new0(Question, 1);
        question->authorizer = authorizer;
        question->message = sd_bus_message_ref(message);
        question->uid = sender.uid;
        question->id = g_strdup_printf("idled-%d-%u", (int)getpid(), authorizer->n_asked++);
        question->call = call;
        question->userdata = userdata;
        g_ptr_array_add(authorizer->questions, question);
        r = question_send(question, action);
        if (r >= 0)
                return 1;
        g_ptr_array_remove_fast(authorizer->questions, question);
        return question_refuse(error);
}
