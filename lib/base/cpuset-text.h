/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * CPU sets as text, in the kernel's list format, "0-3,8,10-11", and its masks, "ff,0000000f".
 */
#ifndef IDLED_CPUSET_TEXT_H
#define IDLED_CPUSET_TEXT_H

#include "base/cpuset.h"

/* Parses a list such as "0-3,8", white space around it allowed; the empty string is the empty set.
 * -EINVAL: anything else; -ERANGE: a CPU number of CPUSET_MAX or more. */
int cpuset_parse(const char *text, CpuSet *ret_set);

/* The list as a new string, shortest form, "" for the empty set; free it with g_free(). */
char *cpuset_format(const CpuSet *set);

/* Parses a mask: hexadecimal words of 32 bits separated by commas, the highest first, white space
 * around it allowed; only the first word may have fewer than eight digits. -EINVAL: anything else;
 * -ERANGE: a bit of CPUSET_MAX or more is set. */
int cpuset_parse_mask(const char *text, CpuSet *ret_set);

/* The mask as a new string, without leading zeros, "0" for the empty set; free it with g_free(). */
char *cpuset_format_mask(const CpuSet *set);

#endif
