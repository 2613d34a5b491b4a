/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl release: ends a hold, or forgets which CPUs were refused to a service.
 */
#include <string.h>

#include "base/number.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "verbs.h"

#define HOLD_PREFIX "/org/idled1/hold/"

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
