/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sections [Frequency], [IdleStates], [Latency], [Interrupts] and [Housekeeping] of idled.conf.
 *
 * Apart from the code, so that the tool that writes idled.conf(5) builds from tables alone.
 */
#include <stddef.h>

#include "act/tune/quiet.h"
#include "act/tune/tuning.h"

#define SETTINGS(name_, what_, exclude_)                                                           \
        {                                                                                          \
                { .section = name_,                                                                \
                  .key = "Manage",                                                                 \
                  .type = SETTING_BOOL,                                                            \
                  .offset = offsetof(TuneOptions, manage),                                         \
                  .fallback = "yes",                                                               \
                  .help = "Whether policies may change " what_ },                                  \
                        { .section = name_,                                                        \
                          .key = "Exclude",                                                        \
                          .type = SETTING_CPUSET,                                                  \
                          .offset = offsetof(TuneOptions, exclude),                                \
                          .fallback = "",                                                          \
                          .help = exclude_ },                                                      \
                {                                                                                  \
                        .key = NULL                                                                \
                }                                                                                  \
        }

const Setting frequency_settings[] = SETTINGS(
        "Frequency", "governor, EPP, EPB, boost, frequencies and platform profile",
        "CPUs to leave alone, and all that share their frequency; if any is set, boost too");
const Setting idle_states_settings[] = SETTINGS(
        "IdleStates", "idle states",
        "CPUs to leave alone; if any is set, the kernel's idle governor too");
const Setting latency_settings[] = SETTINGS(
        "Latency", "wake-up latencies",
        "CPUs to leave alone; if any is set, idled refuses limits for the whole machine");

const Setting interrupt_settings[] = {
        { .section = "Interrupts",
          .key = "Manage",
          .type = SETTING_BOOL,
          .offset = offsetof(InterruptOptions, manage),
          .fallback = "yes",
          .help = "Whether policies may move interrupts" },
        { .section = "Interrupts",
          .key = "Exclude",
          .type = SETTING_LIST,
          .offset = offsetof(InterruptOptions, exclude),
          .fallback = "",
          .help = "Interrupts to leave alone, as globs of numbers or names" },
        { .key = NULL },
};

const Setting housekeeping_settings[] = {
        { .section = "Housekeeping",
          .key = "Manage",
          .type = SETTING_BOOL,
          .offset = offsetof(HousekeepingOptions, manage),
          .fallback = "yes",
          .help = "Whether policies may change workqueues and intervals" },
        { .key = NULL },
};
