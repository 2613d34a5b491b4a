/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* CPUs as tests write them. */
#ifndef IDLED_TESTS_SET_OF_H
#define IDLED_TESTS_SET_OF_H

#include <check.h>

#include "base/cpuset-text.h"

/* The CPUs of a list: "0-3,5", "" none. */
static inline CpuSet set_of(const char *text)
{
        CpuSet set = { 0 };

        ck_assert_int_eq(cpuset_parse(text, &set), 0);
        return set;
}

#endif
