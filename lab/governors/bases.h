/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Governors that another governor can be built on.
 */
#ifndef IDLED_GOVERNORS_BASES_H
#define IDLED_GOVERNORS_BASES_H

#include "governors/governor.h"

/* The base of this name; NULL: there is none. */
const Governor *base_find(const char *name);

/* NULL if the name is that of a base whose state fits GOVERNOR_STATE_MAX, or what is wrong. */
const char *base_check(const char *name);

#endif
