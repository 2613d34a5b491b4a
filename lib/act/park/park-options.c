/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Section [Park] of idled.conf.
 *
 * Apart from the code, so that the tool that writes idled.conf(5) builds from tables alone.
 */
#include "act/park/park.h"

#include <stddef.h>

static const char *const backend_names[] = {
        "auto", "systemd", "partition", "cgroup", "none", NULL
};

const Setting park_settings[] = {
        { .section = "Park",
          .key = "Backend",
          .type = SETTING_CHOICE,
          .offset = offsetof(ParkOptions, backend),
          .fallback = "auto",
          .choices = backend_names,
          .help = "How ordinary tasks are kept off parked CPUs" },
        { .section = "Park",
          .key = "Units",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, units),
          .fallback = "*",
          .help = "Units or cgroups that idled may confine, as globs" },
        { .section = "Park",
          .key = "Exclude",
          .type = SETTING_LIST,
          .offset = offsetof(ParkOptions, exclude),
          .fallback = "",
          .help = "Units or cgroups that idled never confines, as globs" },
        { .section = "Park",
          .key = "StartWindow",
          .type = SETTING_DURATION,
          .offset = offsetof(ParkOptions, start_window),
          .fallback = "2s",
          .max = 3600e6,
          .help = "All CPUs are active while a unit starts and for this long after; 0: no window" },
        { .section = "Park",
          .key = "TerminalWindow",
          .type = SETTING_DURATION,
          .offset = offsetof(ParkOptions, terminal_window),
          .fallback = "2min",
          .max = 86400e6,
          .help = "All CPUs are active for this long after input to a terminal; 0: no window" },
        { .key = NULL },
};
