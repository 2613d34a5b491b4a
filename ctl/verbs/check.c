/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl check: the configuration that a reload would give.
 */
#include "cli/offline.h"
#include "verbs.h"

static int check_check(const Ctl *ctl, const Verb *verb)
{
        if (ctl->n_args && ctl->config_dir)
                return complain_usage(verb, "DIR and --config-dir: expected one of them");
        return EXIT_FINE;
}

static int check_ask(Ctl *ctl, json_object **ret_answer)
{
        const char *dir = ctl->n_args ? ctl->args[0] : ctl->config_dir;
        g_autoptr(json_object) offline = NULL;
        json_object *answer;

        if (offline_check_directory(dir) != EXIT_FINE ||
            offline_check_directory(ctl->vendor_dir) != EXIT_FINE)
                return EXIT_FAILED;
        offline = offline_config(ctl, dir);
        answer = json_object_new_object();
        json_put_bool(answer, "valid", json_length(json_get(offline, "errors")) == 0);
        json_put_members(answer, offline, "files errors warnings");
        *ret_answer = answer;
        return !json_true(answer, "valid") ? EXIT_FAILED : EXIT_FINE;
}

static void check_show(const Ctl *ctl, json_object *answer)
{
        json_object *errors = json_get(answer, "errors"), *error;
        json_object *warnings = json_get(answer, "warnings"), *warning;
        size_t n = json_length(json_get(answer, "files"));

        JSON_FOREACH(error, errors)
                screen_sentence(&ctl->screen, STYLE_BAD, json_text(error, "text"));
        JSON_FOREACH(warning, warnings)
                screen_sentence(&ctl->screen, STYLE_WARN, json_text(warning, "text"));
        if (json_true(answer, "valid"))
                screen_line(&ctl->screen, STYLE_GOOD, "The configuration is valid (%zu file%s).", n,
                            n == 1 ? "" : "s");
}

const Verb verb_check = {
        .name = "check",
        .arguments = "[DIR]",
        .summary = "Check the configuration files, without the daemon",
        .help = "DIR is the same as --config-dir. Every error is printed as FILE:LINE: what was\n"
                "found, and what was expected.",
        .max_args = 1,
        .check = check_check,
        .ask = check_ask,
        .show = check_show,
};
