/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab: records, measures and compares what the machine and idled do.
 */
#include "verbs/verbs.h"

static const Verb *const verbs[] = {
        &verb_record,  &verb_export,   &verb_report, &verb_diff, &verb_replay,  &verb_advise,
        &verb_latency, &verb_estimate, &verb_prove,  &verb_help, &verb_version, NULL,
};

static const Program program = {
        .name = "idlelab",
        .summary = "Record and measure what idled and idle states save, and what they cost.",
        .more = "Exit status: 0 success, 1 failure or a negative answer, 2 wrong usage.\n",
        .usual = &verb_help,
        .verbs = verbs,
};

int main(int argc, char **argv)
{
        return program_run(&program, argc, argv);
}
