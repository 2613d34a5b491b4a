/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of the ways of parking share: parking by one of them, and which CPUs that keeps
 * free, whatever it was asked for.
 */
#ifndef IDLED_TESTS_WAYS_OF_PARKING_H
#define IDLED_TESTS_WAYS_OF_PARKING_H

#include "act/park/park-common.h"
#include "knobs.h"
#include "set-of.h"

static const CpuSet four_cpus = { { 0xf } };

/* Opens the way of parking for these units, which blanks separate, applies the plan that only
 * `allowed` are used, and closes it. `expected`: how it then describes itself; NULL: no matter. */
static inline int park_by(const ParkBackendOps *way, const char *allowed, const CpuSet *machine,
                          const char *units, const char *exclude, const char *expected)
{
        g_auto(GStrv) units_globs = g_strsplit(units, " ", -1);
        g_auto(GStrv) exclude_globs = g_strsplit(exclude, " ", -1);
        const ParkOptions options = { .units = units_globs, .exclude = exclude_globs };
        const Topology topology = { .online = *machine };
        CpuSet cpus = set_of(allowed);
        void *state;
        int r;

        ck_assert_int_eq(way->open(&knobs_context, &options, &state), 0);
        r = way->apply(state, knobs, &cpus, &topology);
        if (expected)
                ck_assert_str_eq(way->describe(state), expected);
        way->close(state);
        return r;
}

/* `of` are the CPUs of the machine; both are lists. */
static inline void expect_kept(const char *of, const char *kept)
{
        CpuSet now = knobs_kept_free(knobs), machine = set_of(of);
        g_autofree char *text = NULL;

        cpuset_and(&now, &machine);
        text = cpuset_format(&now);
        ck_assert_str_eq(text, kept);
}

static inline int park_killed_everywhere(void (*scenario)(void), void (*as_found)(void))
{
        g_autofree const KnobKind **kinds = actuators_kinds();

        return kill_everywhere(scenario, kinds, as_found);
}

/* With the test's own apply() and expect_log(): CPUs are parked, and this is all that is done. */
#define apply_does(allowed, expected)                                                              \
        do {                                                                                       \
                ck_assert_int_eq(apply(allowed), 0);                                               \
                expect_log(expected);                                                              \
        } while (0)

/* With the test's own expect_as_found(), and its arguments. */
#define restore_all(...)                                                                           \
        do {                                                                                       \
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);                             \
                expect_as_found(__VA_ARGS__);                                                      \
        } while (0)

#endif
