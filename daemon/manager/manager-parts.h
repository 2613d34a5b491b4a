/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager, for the files that work on all of it. Its parts, which do not include it, the lowest
 * first; a file uses those above it:
 *   ground                            what all stand on: one word for what is due
 *   tick-timer, load-watch            when the next tick is; load between ticks
 *   affinity-cache, machine           pinned tasks; CPUs, and what their drivers offer
 *   windows, refusals, watching       what must not notice parking
 *   observers, pauses, history        readings for queries; what is and was parked, and why
 *   contracts                         limits of delays
 *   active-profile                    the profile in effect
 *   actuator-set                      the open actuators, and what they failed at
 *   seen, done, asked, decided        the four objects, which are opaque
 *   evaluation                        measuring what policies save, for `decided`
 * Files that work on the manager:
 *   manager-record.c      the recording of all this
 *   manager-explain.c     why the plan is as it is
 *   manager-contracts.c   contracts around deciding
 *   hold-obstacles.c      why a hold is not in effect
 *   manager.c             the tick, and attending to what is due
 *   manager-control.c     what clients have it do
 *   manager-start.c       starts and ends it
 *   manager-view.c        what others see of it
 */
#ifndef IDLED_MANAGER_PARTS_H
#define IDLED_MANAGER_PARTS_H

#include "manager/decided.h"
#include "manager/manager-view.h"

struct Manager {
        Ground ground;
        Seen *seen;
        Done *done;
        Asked *asked;
        Decided *decided;
        TickTimer *timer;
        LoadWatch *load_watch;
        sd_event_source *quiet_timer; /* fires when nothing was changed for a while */
        struct Recorder *recorder;    /* NULL: nothing is recorded */
        bool acting; /* a plan is being made and carried out: not again meanwhile */
        ManagerListener on_change;
        void *userdata; /* of on_change */
};

/* Notes for every CPU why the plan leaves it out or not. */
void manager_note_causes(Manager *manager, const SafetyNotes *notes);

/* Adds a change to the history if the set of parked CPUs is not that of the last one; in a dry run
 * that set is what the plan leaves out. A plan that cannot be carried out changes nothing. */
void manager_note_change(Manager *manager);

/* Brings up to date which contracts there are; `fresh`: a hold came or went. True if they
 * changed: then a tick must follow. */
bool manager_follow_contracts(Manager *manager, bool fresh);

/* Before the policies decide: the same, and what was counted; after it: what they found out. */
void manager_read_contracts(Manager *manager);
void manager_drop_contracts(Manager *manager);
void manager_note_contracts(Manager *manager);

/* Why the hold's p99 has no effect, as a new string; NULL: it has. */
char *manager_contract_obstacle(const Manager *manager, const Held *held);

/* Puts `config`, which it takes over, to work in place of the old one. */
void manager_use_config(Manager *manager, Config *config);

/* Begins or ends to attend to events. */
void manager_listen(Manager *manager);
void manager_unlisten(Manager *manager);

/* After acting between two ticks: sets the timer for the next one, but a tick that is due stays so.
 */
void manager_arm_sooner(Manager *manager);

/* Begins, changes or ends the recording, as section [Recording] has it, and takes a sample if one
 * is due. */
void manager_record_follow(Manager *manager);

/* Adds an event to the recording, if there is one, for each of these Change flags. */
void manager_record_changes(Manager *manager, unsigned changes);

/* Ends the recording, which is written then. */
void manager_record_end(Manager *manager);

#endif
