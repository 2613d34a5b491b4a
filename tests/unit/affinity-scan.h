/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A scan of all tasks' affinities in one step, for tests and benchmarks. */
#ifndef IDLED_TESTS_AFFINITY_SCAN_H
#define IDLED_TESTS_AFFINITY_SCAN_H

#include <limits.h>

#include "sense/affinities.h"

static inline int affinities_read(int root, const Topology *topology, const CpuSet *confined,
                                  Affinities **ret_affinities)
{
        AffinityScan *scan;
        int r = affinity_scan_new(root, topology, confined, &scan);

        if (r < 0)
                return r;
        while (affinity_scan_step(scan, UINT_MAX))
                continue;
        *ret_affinities = affinity_scan_end(scan);
        return 0;
}

#endif
