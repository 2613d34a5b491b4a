/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl pause: every knob is restored until idlectl resume.
 *
 * A pause outlives idlectl: the daemon keeps it until it is resumed, its time is over, or the
 * daemon ends. A program that pauses idled holds a descriptor: that pause is only listed here.
 */
#include "pause.h"

#include <inttypes.h>
#include <math.h>

#include "cli/client.h"
#include "cli/facts.h"
#include "verbs.h"

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

json_object *pauses_answer(Ctl *ctl)
{
        json_object *answer;

        client_forget(ctl->client);
        answer = answer_new(ctl);
        json_put(answer, "pauses", pauses_describe(client_manager(ctl->client)));
        return answer;
}

void pauses_show(const Ctl *ctl, json_object *answer)
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
        *ret_answer = pauses_answer(ctl);
        return EXIT_FINE;
}

const Verb verb_pause = {
        .name = "pause",
        .summary = "Restore every knob until idlectl resume",
        .help = "The pause stays when idlectl exits. It ends with idlectl resume, after --for, "
                "or\n"
                "when the daemon ends. A second pause of the same user replaces the first.\n"
                "  idlectl pause --for 10min --reason \"a benchmark\"",
        .options = { pause_options },
        .ask = pause_ask,
        .show = pauses_show,
};
