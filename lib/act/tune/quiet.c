/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the actuators for interrupts and for housekeeping share.
 */
#include "act/tune/quiet.h"

#include <errno.h>

uint64_t quiet_identity(const ActContext *context, const char *name)
{
        return 1;
}

static const char *skip_zeros(const char *text)
{
        while (*text == '0' || *text == ',')
                text++;
        return text;
}

bool quiet_equal_number(const char *a, const char *b)
{
        return g_str_equal(skip_zeros(a), skip_zeros(b));
}

bool quiet_cpus(const CpuSet *found, const CpuSet *resting, const Topology *topology,
                CpuSet *ret_cpus)
{
        CpuSet cpus = *found;

        if (!cpuset_intersects(found, resting))
                return false;
        cpuset_subtract(&cpus, resting);
        if (!cpuset_intersects(&cpus, &topology->online)) {
                cpus = topology_usable(topology);
                cpuset_subtract(&cpus, resting);
        }
        if (cpuset_is_empty(&cpus))
                return false;
        *ret_cpus = cpus;
        return true;
}

int quiet_release(Knobs *knobs, const KnobKind *kind)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const Knob *const *list;
        int first = 0;

        for (int i = knobs_list(knobs, &list); i-- > 0;)
                if (list[i]->kind == kind)
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (guint i = 0; i < names->len; i++) {
                int r = knob_release(knobs, kind, names->pdata[i]);

                if (r < 0 && r != -ESTALE && r != -ENOENT)
                        first = first ?: r;
        }
        return first;
}
