/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measuring what policies save: the evaluators of active policies.
 */
#ifndef IDLED_EVALUATION_H
#define IDLED_EVALUATION_H

#include "manager/decided.h"
#include "manager/history.h"
#include "model/energy-source.h"

/* Between listen() and done() trials are possible. */
void evaluation_init(Decided *decided);
void evaluation_listen(Decided *decided);
void evaluation_done(Decided *decided);

/* Finds out what energy is measured by, with this configuration. If that is something else than
 * before, evaluators end: what two sources measured is never mixed. */
void evaluation_choose_source(Decided *decided, const Config *config);

/* That. */
EnergySource evaluation_source(const Decided *decided);

/* What ticks read for evaluators (Sense flags). */
unsigned evaluation_senses(const Decided *decided);

/* Gives the policy an evaluator with what was found before the restart; if nothing was, only with
 * `always`. */
void evaluation_begin(const Decided *decided, ActivePolicy *active, bool always);

/* Writes what was found to the state directory. */
void evaluation_keep(Decided *decided);

/* Time has passed since the last tick: notes what was in effect in it, and begins a trial if it is
 * time for one. */
void evaluation_pass(Decided *decided);

/* Whatever is measured now is of no use. Ends the trial, if one goes on, and ticks soon. */
void evaluation_interrupt(Decided *decided, BlockDrop why);

/* False while the requests of the policy are ignored. */
bool evaluation_honours(const Decided *decided, const ActivePolicy *active);

/* True while they are because they cost energy. */
bool evaluation_backs_off(const Decided *decided, const ActivePolicy *active);

/* Why they are, as a cause. */
void evaluation_explain(const Decided *decided, const ActivePolicy *active, CpuCause *cause);

#endif
