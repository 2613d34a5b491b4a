/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the ways of parking share: knobs, one that is killed at any place, and the next
 * instance, which restores everything.
 */
#ifndef IDLED_TESTS_PARK_KILLED_H
#define IDLED_TESTS_PARK_KILLED_H

#include "act/park/park-common.h"
#include "scratch.h"

#include "steps.h"

static const UnitControl *park_units; /* systemd, as the test has it; NULL: none */

static inline ActContext park_context(void)
{
        return (ActContext){ .root = scratch_fd, .units = park_units };
}

static inline Knobs *park_open_knobs(void)
{
        const ActContext context = park_context();

        return knobs_new(&context, scratch_fd, false);
}

/* With the test's own apply() and expect_log(): CPUs are parked, and this is all that is done. */
#define apply_does(knobs, allowed, expected)                                                       \
        do {                                                                                       \
                ck_assert_int_eq(apply(knobs, allowed), 0);                                        \
                expect_log(expected);                                                              \
        } while (0)

/* With the test's own expect_as_found(), and its arguments. */
#define restore_all(knobs, ...)                                                                    \
        do {                                                                                       \
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);                             \
                expect_as_found(__VA_ARGS__);                                                      \
        } while (0)

/* Returns how many places there were. */
static inline int kill_everywhere(void (*run)(void), Knobs *(*open_knobs)(void),
                                  void (*expect_as_found)(void))
{
        g_autofree const KnobKind **kinds = actuators_kinds();
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                g_autoptr(Knobs) knobs = NULL;
                int skipped;

                killed = killed_at(n, run);
                knobs = open_knobs();
                ck_assert_int_ge(knobs_recover(knobs, kinds, &skipped), 0);
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
                expect_as_found();
        }
        return n;
}

#endif
