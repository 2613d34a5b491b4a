/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The way from the command line to an answer.
 */
#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/client.h"
#include "cli/options.h"
#include "cli/output.h"

static int run(Ctl *ctl, const Verb *verb)
{
        g_autoptr(json_object) answer = NULL;
        int status;

        if (verb->renamed)
                complain("%s is obsolete and will be removed: use %s %s", verb->name,
                         ctl->program->name, verb->renamed);
        if (verb->alone)
                return verb->ask(ctl, &answer);
        ctl->root = root_open(ctl->root_path ? ctl->root_path : "/");
        if (ctl->root < 0)
                return complain("%s: %s", ctl->root_path, g_strerror(-ctl->root));
        ctl->screen = screen_look(ctl->no_colour);
        ctl->client = client_new(ctl);
        status = verb->ask(ctl, &answer);
        if (answer && ctl->json)
                json_print(answer, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
        else if (answer)
                verb->show(ctl, answer);
        client_free(ctl->client);
        fd_close(&ctl->root);
        return status;
}

/* A reader may close the pipe early; everything else that keeps the answer from arriving is a
 * failure. */
static int finish_output(const Ctl *ctl, int status)
{
        if (fflush(stdout) == 0 && !ferror(stdout))
                return status;
        return errno == EPIPE
                       ? EXIT_FAILED
                       : complain("%s: %s", output_asked ?: "standard output", g_strerror(errno));
}

int program_run(const Program *program, int argc, char **argv)
{
        Ctl ctl = { .program = program, .root = -1 };
        const Verb *verb;
        bool named;
        int status;

        log_set_target("null");
        complain_about(program, NULL);
        status = options_parse(argc, argv, &ctl, &verb, &named);
        if (status != EXIT_FINE)
                return status;
        if (ctl.help)
                options_help(program, named ? verb : NULL);
        else if (ctl.version)
                options_version(&ctl);
        else
                status = options_check(&ctl, verb);
        if (status == EXIT_FINE && !ctl.help && !ctl.version)
                status = run(&ctl, verb);
        return finish_output(&ctl, status);
}
