/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The knobs of a test, which record what they found in scratch.h's directory, and the next
 * instance, which restores what it finds on record.
 */
#ifndef IDLED_TESTS_KNOBS_H
#define IDLED_TESTS_KNOBS_H

#include "act/knob/knob.h"
#include "scratch.h"
#include "table.h"

#include "steps.h"

static Knobs *knobs; /* freed after the test */

/* What knobs are opened with. */
static ActContext knobs_context;

static inline Knobs *open_knobs(void)
{
        return knobs_new(&knobs_context, scratch_fd, false);
}

static inline void knobs_begin(int at, const UnitControl *units)
{
        knobs_context = (ActContext){ .root = at, .units = units };
        knobs = open_knobs();
}

static inline void knobs_end(void)
{
        g_clear_pointer(&knobs, knobs_free);
}

/* The next instance. */
static inline void knobs_renew(void)
{
        knobs_end();
        knobs = open_knobs();
}

static inline bool record_exists(void)
{
        return faccessat(scratch_fd, "undo", F_OK, 0) == 0;
}

static inline void restore(Knobs *of)
{
        ck_assert_int_eq(knobs_restore(of, NULL, NULL), 0);
        ck_assert(!record_exists());
}

/* A fresh instance restores these kinds from the record. */
static inline void recover_all(const KnobKind *const *kinds)
{
        g_autoptr(Knobs) next = open_knobs();
        int skipped;

        ck_assert_int_ge(knobs_recover(next, kinds, &skipped), 0);
        restore(next);
}

/* The scenario dies at each place, and the next instance restores everything. Returns how many
 * places there were. */
static inline int kill_everywhere(void (*scenario)(void), const KnobKind *const *kinds,
                                  void (*expect_as_found)(void))
{
        bool killed = true;
        int n;

        for (n = 0; killed; n++) {
                knobs_renew();
                killed = killed_at(n, scenario);
                recover_all(kinds);
                expect_as_found();
        }
        return n;
}

#endif
