/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Section [Evaluate] of idled.conf.
 *
 * Apart from the code, so that the tool that writes idled.conf(5) builds from tables alone.
 */
#include <stddef.h>

#include "stats/evaluator.h"

const Setting evaluate_settings[] = {
        { .section = "Evaluate",
          .key = "Trials",
          .type = SETTING_BOOL,
          .offset = offsetof(EvaluateOptions, trials),
          .fallback = "yes",
          .help = "Ignore a policy for some seconds now and then, to measure what it saves" },
        { .section = "Evaluate",
          .key = "BackOff",
          .type = SETTING_BOOL,
          .offset = offsetof(EvaluateOptions, back_off),
          .fallback = "yes",
          .help = "Ignore a policy for as long as it was measured to cost energy" },
        { .section = "Evaluate",
          .key = "PowerTable",
          .type = SETTING_STRING,
          .offset = offsetof(EvaluateOptions, power_table),
          .fallback = "",
          .choices = (const char *const[]){ "the name of a power table", NULL },
          .help = "Power table to estimate energy from where there is no RAPL; empty: none" },
        { .key = NULL },
};
