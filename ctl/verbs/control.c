/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Verbs that have the daemon do one thing: pause and resume, reload, release.
 *
 * A pause outlives idlectl: the daemon keeps it until it is resumed, its time is over, or the
 * daemon ends. A program that pauses idled holds a descriptor: that pause is only listed here.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "cli/client.h"
#include "control.h"
#include "cli/facts.h"
#include "cli/save.h"
#include "verbs.h"

#define HOLD_PREFIX    "/org/idled1/hold/"
#define REASON_DEFAULT "idlectl pause"

static uint64_t pause_usec;
static const char *pause_reason = REASON_DEFAULT;

static const VerbOption pause_options[] = {
        { "for", "TIME", "resume after this time, such as 10min", .number = &pause_usec, .least = 1,
          .expected = "a duration such as 10min" },
        { "reason", "TEXT", "the reason, for other users", .text = &pause_reason },
        { 0 },
};

json_object *pauses_describe(json_object *manager)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, json_get(manager, "Pauses")) {
                json_object *object = json_add(answer);

                json_put_members(object, row, "owner reason lasting");
                json_put_int_from(object, "until_usec", json_int(row, "until_usec", 0), 1);
        }
        return answer;
}

/* How long something still takes, rounded up to minutes: "9 min", "1 h 30 min". */
static char *text_left(double seconds)
{
        int64_t minutes = (int64_t)ceil(MAX(seconds, 0) / 60);

        if (seconds <= 60)
                return g_strdup_printf("%.0f s", ceil(MAX(seconds, 0)));
        if (minutes < 60)
                return g_strdup_printf("%" PRId64 " min", minutes);
        if (minutes >= (int64_t)48 * 60)
                return g_strdup_printf("%" PRId64 " days", (minutes + 1439) / 1440);
        return minutes % 60 ? g_strdup_printf("%" PRId64 " h %" PRId64 " min", minutes / 60,
                                              minutes % 60)
                            : g_strdup_printf("%" PRId64 " h", minutes / 60);
}

char *pause_text(json_object *pause)
{
        double left = json_number(pause, "until_usec", 0) / 1e6 - (double)g_get_real_time() / 1e6;
        g_autofree char *duration = text_left(left);
        g_autofree char *end = json_get(pause, "until_usec")
                                       ? g_strdup_printf("for %s more", duration)
                               : json_true(pause, "lasting")
                                       ? g_strdup("until idlectl resume")
                                       : g_strdup("until its program ends it");

        return g_strdup_printf("by %s, %s: %s", json_text(pause, "owner"), end,
                               json_text(pause, "reason"));
}

/* What is paused now, as the daemon says after the call. */
static json_object *answer_pauses(Ctl *ctl)
{
        json_object *answer;

        client_forget(ctl->client);
        answer = answer_new(ctl);
        json_put(answer, "pauses", pauses_describe(client_manager(ctl->client)));
        return answer;
}

static void show_pauses(const Ctl *ctl, json_object *answer)
{
        json_object *pause;

        JSON_FOREACH(pause, json_get(answer, "pauses")) {
                g_autofree char *text = pause_text(pause);

                screen_line(&ctl->screen, STYLE_WARN, "Paused %s", text);
        }
}

static int pause_ask(Ctl *ctl, json_object **ret_answer)
{
        const ClientArgument arguments[] = { { .s = pause_reason },
                                             { .t = pause_usec ?: UINT64_MAX } };

        if (client_ask(ctl->client, "Pause", "st", arguments, NULL) != EXIT_FINE)
                return EXIT_FAILED;
        *ret_answer = answer_pauses(ctl);
        return EXIT_FINE;
}

/* Fails if another program's pause is left: idled is not resumed then. */
static int resume_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) ended = NULL;
        json_object *answer;

        if (client_ask(ctl->client, "Resume", "", NULL, &ended) != EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_pauses(ctl);
        json_put(answer, "ended", json_object_get(ended));
        *ret_answer = answer;
        return json_length(json_get(answer, "pauses")) > 0 ? EXIT_FAILED : EXIT_FINE;
}

static void resume_show(const Ctl *ctl, json_object *answer)
{
        if (json_length(json_get(answer, "pauses")) == 0)
                screen_line(&ctl->screen, STYLE_GOOD, "%s",
                            json_int(answer, "ended", 0) > 0 ? "Resumed." : "Nothing is paused.");
        show_pauses(ctl, answer);
}

static int reload_ask(Ctl *ctl, json_object **ret_answer)
{
        json_object *answer;

        if (settings_reload(ctl) != EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_new(ctl);
        json_put_members(answer, client_manager(ctl->client), "config_files=ConfigFiles");
        *ret_answer = answer;
        return EXIT_FINE;
}

static void reload_show(const Ctl *ctl, json_object *answer)
{
        screen_line(&ctl->screen, STYLE_GOOD, "The configuration is reloaded.");
}

json_object *refused_describe(json_object *manager)
{
        json_object *answer = json_object_new_array(), *row;

        JSON_FOREACH(row, json_get(manager, "RefusedAffinities")) {
                json_object *object = json_add(answer);

                json_put_texts(object, row, "unit program");
                json_put_members(object, row, "user cpus count");
                json_put_int_from(object, "pid", json_int(row, "pid", 0), 1);
        }
        return answer;
}

char *refused_text(json_object *refused)
{
        const char *cpus = json_text(refused, "cpus");
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "CPU%s %s, for ", strpbrk(cpus, "-,") ? "s" : "", cpus);
        if (json_get(refused, "unit"))
                g_string_append(text, json_text(refused, "unit"));
        else
                g_string_append_printf(text, "a process of user %" G_GINT64_FORMAT,
                                       json_int(refused, "user", 0));
        if (json_get(refused, "program"))
                g_string_append_printf(text, " (%s", json_text(refused, "program"));
        if (json_get(refused, "program") && json_get(refused, "pid"))
                g_string_append_printf(text, ", PID %" G_GINT64_FORMAT,
                                       json_int(refused, "pid", 0));
        if (json_get(refused, "program"))
                g_string_append_c(text, ')');
        return g_string_free(text, FALSE);
}

/* Forgets that CPUs were refused to the service. */
static int release_service(Ctl *ctl, const char *name, json_object **ret_answer)
{
        g_autoptr(json_object) reply = NULL;
        json_object *answer;

        if (client_ask(ctl->client, "ForgetRefused", "s", &(ClientArgument){ .s = name }, &reply) !=
            EXIT_FINE)
                return EXIT_FAILED;
        if (json_object_get_int64(reply) == 0)
                return complain("release: no CPUs stay active for %s; idlectl status lists "
                                "the services for which some do",
                                name);
        answer = answer_new(ctl);
        json_put_text(answer, "released", name);
        *ret_answer = answer;
        return EXIT_FINE;
}

static int release_ask(Ctl *ctl, json_object **ret_answer)
{
        const char *name = ctl->args[0];
        const char *number = g_str_has_prefix(name, HOLD_PREFIX) ? name + strlen(HOLD_PREFIX)
                                                                 : name;
        g_autofree char *path = NULL;
        json_object *answer;
        uint64_t id;

        if (g_str_has_suffix(name, ".service"))
                return release_service(ctl, name, ret_answer);
        if (u64_parse(number, &id) < 0)
                return complain_usage(NULL,
                                      "release: found \"%s\", expected the number of a "
                                      "hold, as idlectl holds shows it, or the name of a "
                                      "service",
                                      name);
        path = g_strdup_printf(HOLD_PREFIX "%" G_GUINT64_FORMAT, id);
        if (client_ask(ctl->client, "ReleaseHold", "o", &(ClientArgument){ .s = path }, NULL) !=
            EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_new(ctl);
        json_put(answer, "released", json_object_new_uint64(id));
        *ret_answer = answer;
        return EXIT_FINE;
}

static void release_show(const Ctl *ctl, json_object *answer)
{
        json_object *released = json_get(answer, "released");

        if (json_object_is_type(released, json_type_string))
                screen_line(&ctl->screen, STYLE_PLAIN, "CPUs may be parked although %s runs.",
                            json_object_get_string(released));
        else
                screen_line(&ctl->screen, STYLE_PLAIN, "Hold %s is released.",
                            json_object_get_string(released));
}

const Verb verb_pause = {
        .name = "pause",
        .arguments = "",
        .summary = "Restore every knob until idlectl resume",
        .help = "The pause stays when idlectl exits. It ends with idlectl resume, after --for, "
                "or\n"
                "when the daemon ends. A second pause of the same user replaces the first.\n"
                "  idlectl pause --for 10min --reason \"a benchmark\"",
        .options = { pause_options },
        .ask = pause_ask,
        .show = show_pauses,
};

const Verb verb_resume = {
        .name = "resume",
        .arguments = "",
        .summary = "End the pauses of idlectl pause",
        .help = "The exit status is 1 if other programs still pause idled.",
        .ask = resume_ask,
        .show = resume_show,
};

const Verb verb_reload = {
        .name = "reload",
        .arguments = "",
        .summary = "Reload the configuration of the daemon",
        .help = "If a file has an error, the running configuration stays in effect.",
        .ask = reload_ask,
        .show = reload_show,
};

const Verb verb_release = {
        .name = "release",
        .arguments = "ID|SERVICE",
        .summary = "End a hold, or forget which CPUs were refused to a service",
        .help = "ID is the number that idlectl holds shows. Only root may end a hold of another\n"
                "user. SERVICE is one that idlectl status shows as refused: its CPUs may be "
                "parked\n"
                "again.",
        .min_args = 1,
        .max_args = 1,
        .ask = release_ask,
        .show = release_show,
};
