/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The plan's part about what wakes parked CPUs: merging it, and making it harmless.
 *
 * Policies request it without knowing what will be parked: that is decided when all of them have
 * been asked. So a request holds at any time, and is carried out while the plan leaves CPUs out.
 */
#include <glib.h>

#include "model/plan.h"

void plan_merge_quiet(Plan *plan, const Wish *wish)
{
        const QuietWish *w = &wish->quiet;
        QuietWish *q = &plan->quiet;

        q->interrupts |= w->interrupts;
        q->workqueues |= w->workqueues;
        q->stat_s = MAX(q->stat_s, w->stat_s);
        q->check_s = MAX(q->check_s, w->check_s);
        q->writeback_cs = MAX(q->writeback_cs, w->writeback_cs);
}

void plan_sanitize_quiet(Plan *plan)
{
        QuietWish *q = &plan->quiet;

        if (cpuset_is_empty(&plan->resting))
                *q = (QuietWish){ 0 };
        q->stat_s = MIN(q->stat_s, QUIET_STAT_MAX_S);
        q->check_s = MIN(q->check_s, QUIET_CHECK_MAX_S);
        q->writeback_cs = MIN(q->writeback_cs, QUIET_WRITEBACK_MAX_CS);
}

bool plan_equal_quiet(const Plan *a, const Plan *b)
{
        const QuietWish *p = &a->quiet, *q = &b->quiet;

        return p->interrupts == q->interrupts && p->workqueues == q->workqueues &&
               p->stat_s == q->stat_s && p->check_s == q->check_s &&
               p->writeback_cs == q->writeback_cs && cpuset_equal(&a->resting, &b->resting);
}
