/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl resume: ends the pauses of idlectl pause.
 */
#include "cli/client.h"
#include "pause.h"
#include "verbs.h"

/* Fails if another program's pause is left: idled is not resumed then. */
static int resume_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) ended = NULL;
        json_object *answer;

        if (client_ask(ctl->client, "Resume", "", NULL, &ended) != EXIT_FINE)
                return EXIT_FAILED;
        answer = pauses_answer(ctl);
        json_put(answer, "ended", json_object_get(ended));
        *ret_answer = answer;
        return json_length(json_get(answer, "pauses")) > 0 ? EXIT_FAILED : EXIT_FINE;
}

static void resume_show(const Ctl *ctl, json_object *answer)
{
        if (json_length(json_get(answer, "pauses")) == 0)
                screen_line(&ctl->screen, STYLE_GOOD, "%s",
                            json_int(answer, "ended", 0) > 0 ? "Resumed." : "Nothing is paused.");
        pauses_show(ctl, answer);
}

const Verb verb_resume = {
        .name = "resume",
        .summary = "End the pauses of idlectl pause",
        .help = "The exit status is 1 if other programs still pause idled.",
        .ask = resume_ask,
        .show = resume_show,
};
