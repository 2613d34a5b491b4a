/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is done: the plan in effect, the actuators that carry it out and their knobs.
 */
#ifndef IDLED_DONE_H
#define IDLED_DONE_H

#include "manager/actuator-set.h"
#include "manager/seen.h"
#include "model/plan.h"

typedef struct Done Done;

/* Without actuators; takes `knobs` over, which `seen` may read until then. The second restores
 * everything, and frees; it returns the first error that left something changed. */
Done *done_new(Ground *ground, Seen *seen, Knobs *knobs);
int done_free(Done *done);

/* The configuration is another one than `old` now (NULL: the first): actuators whose options differ
 * are opened again, after what they changed was restored. */
void done_use_config(Done *done, const Config *old);

/* Before acting: opens the actuators that are due. */
void done_reopen(Done *done);

/* Carries out `plan`; or keeps to what is in effect, because only times of `plan` are others. */
void done_carry_out(Done *done, const Plan *plan);
void done_keep(Done *done, const Plan *plan);

/* Compares every knob with what it should be: one that another program changed is taken over from
 * then on. The second does that once in a while, and carries out the plan again for new cgroups;
 * false if it is not time for that. */
void done_verify(Done *done);
bool done_check_knobs(Done *done);

/* After how many microseconds to do so although no policy needs a tick; 0: nothing is changed. */
uint64_t done_check_after(const Done *done);

/* The value of each knob that was taken over is its original value from now on, even if idled had
 * not noticed yet that it was taken over. */
void done_forget_foreign(Done *done);

/* The plan in effect, merged and safe; and the CPUs that it leaves out. */
const Plan *done_plan(const Done *done);
CpuSet done_planned(const Done *done);

/* The actuators, which carry it out, and everything that is changed or was. */
const ActuatorSet *done_actuators(const Done *done);
Knobs *done_knobs(const Done *done);

/* What idled limits units to, for holds: CpuSets, as a new array. */
GArray *done_unit_limits(const Done *done);

/* True if new units and cgroups must be reported; if jobs and CPUs of systemd's units must be. */
bool done_follows_units(const Done *done);
bool done_follows_starts(const Done *done);

/* Watches for cgroups that come and go if the present plan makes that necessary, else no longer. */
void done_watch_groups(Done *done);

/* manager_obstacle(), manager_unconfined(), manager_limits(). */
char *done_obstacle(const Done *done);
const char *done_unconfined(const Done *done);
CpuWish done_limits(const Done *done, int cpu);

/* knobs_restore(), and logs the results. */
int done_restore(Knobs *knobs);

#endif
