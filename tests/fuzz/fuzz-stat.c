/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text is read as /proc/stat without harm: CPUs are believed only if the machine can have them.
 */
#include <errno.h>

#include "fuzz.h"
#include "model/topology-build.h"
#include "sense/sensor.h"

#define N_CPUS 8

static Topology *topology_new(void)
{
        CpuFacts facts[N_CPUS] = { 0 };
        CpuSet online = { 0 };

        cpuset_add_range(&online, 0, N_CPUS - 1);
        for (int i = 0; i < N_CPUS; i++)
                facts[i].core_id = i;
        return topology_build(N_CPUS, facts, &online, &online, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autoptr(Topology) topology = topology_new();
        g_autoptr(Counters) counters = counters_new(N_CPUS);
        void *state = NULL;
        int r;

        fuzz_put("proc/stat", data, size);
        g_assert(sensor_load.open(fuzz_root(), topology, &state) == 0);
        r = sensor_load.read(state, counters);
        g_assert(r == 0 || r == -EBADMSG);
        g_assert((r == 0) == (counters->have == SENSE_LOAD));
        g_assert((r == 0) == !cpuset_is_empty(&counters->cpus));
        g_assert(cpuset_is_subset(&counters->cpus, &topology->possible));
        sensor_load.close(state);
        return 0;
}
