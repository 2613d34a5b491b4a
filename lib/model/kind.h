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

#endif
