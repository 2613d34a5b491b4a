/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl: operates idled. For one release it also runs verbs that idlelab has now.
 */
#include <errno.h>
#include <unistd.h>

#include "cli/options.h"
#include "verbs/verbs.h"

static const Verb *const verbs[] = {
        &verb_status,  &verb_top,      &verb_cpus,   &verb_why,     &verb_policies,
        &verb_set,     &verb_profile,  &verb_pause,  &verb_resume,  &verb_reload,
        &verb_check,   &verb_settings, &verb_verify, &verb_hold,    &verb_run,
        &verb_holds,   &verb_sleeps,   &verb_bill,   &verb_release, &verb_doctor,
        &verb_metrics, &verb_dump,     &verb_help,   &verb_version, NULL,
};

static const Program program = {
        .name = "idlectl",
        .summary = "See and steer idled, which keeps CPU cores asleep.",
        .more = "idlelab records, measures and compares.\n"
                "Exit status: 0 success, 1 failure or a negative answer, 2 wrong usage.\n",
        .usual = &verb_status,
        .verbs = verbs,
};

/* Verbs that moved to idlelab. */
static const char *const moved[] = { "record", "export",  "report",   "diff",  "replay",
                                     "advise", "latency", "estimate", "prove", NULL };

/* The first word of the command line that is a verb of idlelab and follows none of idlectl's but
 * help; NULL: there is none. */
static const char *find_moved(char **argv)
{
        for (char **word = argv + 1; *word; word++) {
                if (options_take_next(&program, *word) && word[1]) {
                        word++;
                        continue;
                }
                if (g_strv_contains(moved, *word))
                        return *word;
                for (const Verb *const *v = verbs; *v; v++)
                        if (*v != &verb_help && g_str_equal((*v)->name, *word))
                                return NULL;
        }
        return NULL;
}

/* Runs idlelab in place of this program: the one next to it, else the installed one. */
static int run_idlelab(const char *verb, char **argv)
{
        g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
        g_autofree char *directory = g_path_get_dirname(self ? self : BIN_DIR "/idlectl");
        g_autofree char *path = g_build_filename(directory, "idlelab", NULL);

        if (isatty(STDERR_FILENO))
                complain("%s is a verb of idlelab now: use idlelab %s", verb, verb);
        argv[0] = (char *)"idlelab";
        execv(path, argv);
        execv(BIN_DIR "/idlelab", argv);
        return complain(errno == ENOENT ? "%s is a verb of idlelab, which is not installed: "
                                          "install the package idled-lab"
                                        : "failed to run idlelab %s: %m",
                        verb);
}

int main(int argc, char **argv)
{
        const char *verb = find_moved(argv);

        return verb ? run_idlelab(verb, argv) : program_run(&program, argc, argv);
}
