/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl reload: the daemon reads its configuration again.
 */
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/save.h"
#include "verbs.h"

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

const Verb verb_reload = {
        .name = "reload",
        .summary = "Reload the configuration of the daemon",
        .help = "If a file has an error, the running configuration stays in effect.",
        .ask = reload_ask,
        .show = reload_show,
};
