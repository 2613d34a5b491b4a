/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Governors that another governor can be built on.
 */
#ifndef IDLED_GOVERNORS_BASES_H
#define IDLED_GOVERNORS_BASES_H

#include "governors/governor.h"

/* The base of this name; NULL: there is none. */
const Governor *base_find(const char *name);

/* Governor.check() of those whose options begin with the name of a base. */
const char *base_check(const void *options, const StateTable *table);

#endif
