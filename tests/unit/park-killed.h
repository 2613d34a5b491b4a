/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the ways of parking share: one that is killed at any place, and the next
 * instance, which restores everything.
 */
#ifndef IDLED_TESTS_PARK_KILLED_H
#define IDLED_TESTS_PARK_KILLED_H

#include "act/park/park-common.h"
#include "act/park/park-workqueue.h"
#include "scratch.h"

#include "steps.h"

/* The kinds of knobs of parking, up to a NULL, and that which it shares with housekeeping. */
static inline const KnobKind *const *park_kinds(void)
{
        static const KnobKind *kinds[16] = { &park_workqueue_kind };

        for (int i = 0; actuator_park.kinds[i]; i++)
                kinds[i + 1] = actuator_park.kinds[i];
        return kinds;
}

/* Returns how many places there were. */
static inline int kill_everywhere(void (*run)(void), Knobs *(*open_knobs)(void),
                                  void (*expect_as_found)(void))
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                g_autoptr(Knobs) knobs = NULL;
                int skipped;

                killed = killed_at(n, run);
                knobs = open_knobs();
                ck_assert_int_ge(knobs_recover(knobs, park_kinds(), &skipped), 0);
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
                expect_as_found();
        }
        return n;
}

#endif
