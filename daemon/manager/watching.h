/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What must not notice parking: programs that start, people at terminals, cgroups with cpusets.
 */
#ifndef IDLED_WATCHING_H
#define IDLED_WATCHING_H

#include "manager/machine.h"
#include "manager/refusals.h"
#include "model/plan.h"

typedef struct Watching Watching;

/* `parked` are the parked CPUs, now and later. Between listen() and unlisten() windows close. */
Watching *watching_new(Ground *ground, const MachineFacts *machine, const Knobs *knobs,
                       const CpuSet *parked);
void watching_free(Watching *w);
int watching_listen(Watching *w);
void watching_unlisten(Watching *w);

/* Begins or ends to watch terminals and cgroups, by what is parked now. `widest`: the CPUs that the
 * administrator left for parking by name are not among them. */
void watching_follow(Watching *w, const CpuSet *widest);

/* Nothing was changed for a while: ends to watch refused affinities if nothing is parked. */
void watching_rest(Watching *w);

/* What depends on CPUs, tasks aside. With `fresh` cgroups are read again. If units are reported
 * (`follows`) false is returned while it is not known yet what they need. The strings are valid
 * until the next call. */
bool watching_dependents(Watching *w, bool fresh, bool follows, Dependents *ret_who);

/* True while a window is open; or if one opens now because of input to a terminal while nothing was
 * parked, for which a file's status is read for each terminal. */
bool watching_has_window(const Watching *w);
bool watching_find_window(Watching *w);

/* The option that says how long. */
const char *watching_window_option(const Watching *w);

/* As the manager's functions of the same names. */
void watching_unit_job(Watching *w, const char *unit, UnitJob job);
void watching_unit_cpus(Watching *w, const char *unit, const UnitCpus *cpus);
void watching_units_listed(Watching *w, int error);

/* Why idled does not notice input to terminals, or cpusets that change, while CPUs are parked, for
 * people: an inotify watch is refused. NULL: it does, or there are none. */
const char *watching_terminals_unwatched(const Watching *w);
const char *watching_cpusets_unwatched(const Watching *w);

/* Affinities that were refused because CPUs were parked. */
Refusals *watching_refusals(const Watching *w);

#endif
