/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Application rules in effect: which processes match rules, and their holds.
 */
#ifndef IDLED_APPS_H
#define IDLED_APPS_H

#include <glib.h>
#include <systemd/sd-event.h>

#include "holds/holds.h"

typedef struct Apps Apps;

/* Looks at the processes that are there, and at what becomes of them. Without `rules` (of App;
 * kept) nothing is watched. `root` leads to /proc and stays the caller's. */
Apps *apps_new(sd_event *event, int root, Holds *holds, GPtrArray *rules);

/* Takes all holds back; NULL is allowed. */
void apps_free(Apps *apps);

/* Why no events of processes arrive, so that idled sees only those that exist when it reads the
 * configuration: negative errno; 0: they arrive, or no rule needs them, or `apps` is NULL. */
int apps_error(const Apps *apps);

/* Units or cgroups came: their processes may be meant, though nothing happened to them. */
void apps_rescan(Apps *apps);

#endif
