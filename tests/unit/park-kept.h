/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which CPUs a way of parking really keeps free, whatever it was asked for. */
#ifndef IDLED_TESTS_PARK_KEPT_H
#define IDLED_TESTS_PARK_KEPT_H

#include <check.h>

#include "act/knob/knob.h"
#include "base/cpuset-text.h"

/* `of` are the CPUs of the machine; both are lists. */
static inline void expect_kept(const Knobs *knobs, const char *of, const char *kept)
{
        CpuSet now = knobs_kept_free(knobs), machine;
        g_autofree char *text = NULL;

        ck_assert_int_eq(cpuset_parse(of, &machine), 0);
        cpuset_and(&now, &machine);
        text = cpuset_format(&now);
        ck_assert_str_eq(text, kept);
}

#endif
