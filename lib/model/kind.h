/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kinds of cores: which of a machine's cores are efficient, fast, or have the large cache.
 *
 * Kinds are found, not configured. A machine whose cores are alike has none.
 */
#ifndef IDLED_KIND_H
#define IDLED_KIND_H

#include "model/topology-build.h"

/* "efficient", "fast", "cache", "island", in the order of the bits of CoreKind; ends with NULL. */
extern const char *const kind_names[];

/* Fills the kinds of the topology's CPUs, whose cores and capacities are known. */
void kinds_find(Topology *topology, const CpuFacts *facts);

/* The bits of the kinds that `words`, which end with NULL, name. -EINVAL: `*ret_word` is none. */
int kinds_parse(const char *const *words, unsigned *ret_kinds, const char **ret_word);

/* "efficient cache", as a new string. */
char *kinds_format(unsigned kinds);

/* The CPUs for a unit that requests these kinds while the others than `active` are parked: those of
 * the kinds that are active and usable; if there are none, all that are active, since a unit must
 * run somewhere. */
CpuSet kinds_choose(const Topology *topology, unsigned kinds, const CpuSet *active);

/* The kinds that are requested for a unit. */
typedef struct UnitKinds {
        char *cgroup; /* of the unit, "/background.slice"; NULL: they are for no unit */
        unsigned kinds;
} UnitKinds;

/* The unit's name. */
const char *unit_kinds_name(const UnitKinds *unit);

/* A list of UnitKinds without repetition: the kinds of a unit that is added again add up. */
GPtrArray *unit_kinds_new(void);
void unit_kinds_add(GPtrArray *list, const char *cgroup, unsigned kinds);

/* True if both request the same, in whatever order. */
bool unit_kinds_equal(const GPtrArray *a, const GPtrArray *b);

#endif
