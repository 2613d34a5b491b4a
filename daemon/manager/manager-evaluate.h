/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Evaluators in the manager: manager-evaluate.c.
 */
#ifndef IDLED_MANAGER_EVALUATE_H
#define IDLED_MANAGER_EVALUATE_H

#include "manager/manager-view.h"

/* What measuring has the manager do. */
typedef struct EvaluationCalls {
        void (*tick)(Manager *manager); /* now */
        void (*wake)(Manager *manager); /* tick soon */
        void (*changed)(Manager *manager, unsigned changes);
} EvaluationCalls;

/* `calls` stays the caller's. Between listen() and done() trials are possible. */
void manager_meter_init(Manager *manager, const EvaluationCalls *calls);
void manager_meter_listen(Manager *manager);
void manager_meter_done(Manager *manager);

/* Finds out what energy is measured by, with this configuration. If that is something else than
 * before, evaluators end: what two sources measured is never mixed. */
void manager_choose_source(Manager *manager, const Config *config);

/* What evaluators count work in, by that source. */
WorkUnit manager_work_unit(const Manager *manager);

/* What ticks read for evaluators (Sense flags). */
unsigned manager_evaluation_senses(const Manager *manager);

/* Gives the policy an evaluator with what was found before the restart; if nothing was, only with
 * `always`. */
void manager_start_evaluation(const Manager *manager, ActivePolicy *active, bool always);

/* Writes what was found to the state directory. */
void manager_keep_evaluations(Manager *manager);

/* Time has passed since the last tick: notes what was in effect in it, and begins a trial if it is
 * time for one. */
void manager_evaluate(Manager *manager);

/* Whatever is measured now is of no use. Ends the trial, if one goes on, and ticks soon. */
void manager_interrupt_evaluation(Manager *manager, BlockDrop why);

/* False while the requests of the policy are ignored; then why, as a cause. */
bool manager_honours(const Manager *manager, const ActivePolicy *active);
void manager_explain_ignored(const Manager *manager, const ActivePolicy *active, CpuCause *cause);

#endif
