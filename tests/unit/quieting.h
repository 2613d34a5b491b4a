/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tests of the actuators irq and sysctl share: tuning.h's tree of a machine, and plain paths
 * below it.
 */
#ifndef IDLED_TESTS_QUIETING_H
#define IDLED_TESTS_QUIETING_H

#include "act/tune/quiet.h"
#include "tuning.h"

/* The first line of the file: what a plain file keeps behind a shorter value does not count. */
static inline char *text_of(const char *path)
{
        char *text = scratch_text(path);

        if (text)
                text[strcspn(text, "\n")] = '\0';
        return text;
}

static inline void expect_text(const char *where, const char *path, const char *value)
{
        g_autofree char *found = text_of(path);

        ck_case(where, g_strcmp0(found, value) == 0, "%s is %s, expected %s", path, found, value);
}

static inline void rest_cpus(const char *cpus)
{
        ck_assert_int_eq(cpuset_parse(cpus, &plan.resting), 0);
}

/* Keeps interrupts, or what the test is about, off these CPUs. */
__attribute__((unused)) static inline void rest(const char *cpus)
{
        rest_cpus(cpus);
        ck_assert_int_eq(apply(), 0);
}

#endif
