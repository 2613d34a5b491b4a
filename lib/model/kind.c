/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding kinds of cores.
 *
 *  1. Efficient and fast. What the kernel calls a core's type decides (cpu_atom, cpu_core,
 *     cpu_lowpower). Where it does not distinguish types a core is efficient if its capacity is
 *     less than three quarters of the largest: compact cores clocked lower (Zen 4c) are below that,
 *     the few percent by which vendors rank cores of one kind are not.
 *  2. Cache. Cores that are not efficient, with the largest last-level cache, if another such
 *     core's is smaller by a third or more. The cache of efficient cores says nothing: it is often
 *     a level lower. Cores with a smaller one are fast if each core with the largest is slower
 *     (7950X3D), where no core is efficient.
 *  3. Island. Efficient cores without a cache of level 3, if other efficient cores have one: they
 *     are on a die of their own (Meteor Lake), so the others' tile can sleep while they run.
 */
#include "model/kind.h"

#include <errno.h>
#include <string.h>

const char *const kind_names[] = CORE_KIND_NAMES;

static bool is_typed(const Topology *t, const CpuFacts *facts)
{
        bool has[CORE_TYPES] = { false };

        CPUSET_FOREACH(cpu, &t->online)
                has[facts[cpu].type] = true;
        return has[CORE_TYPE_SMALL] && has[CORE_TYPE_LARGE] && !has[CORE_TYPE_UNKNOWN];
}

/* Step 1. Leaves all without a kind if none is efficient. */
static void find_speeds(Topology *t, const CpuFacts *facts)
{
        bool typed = is_typed(t, facts), any = false;

        CPUSET_FOREACH(cpu, &t->online) {
                bool small = typed ? facts[cpu].type == CORE_TYPE_SMALL
                                   : 4 * t->cpus[cpu].capacity < 3 * CAPACITY_SCALE;

                t->cpus[cpu].kinds = small ? KIND_EFFICIENT : KIND_FAST;
                any |= small;
        }
        for (int cpu = 0; cpu < t->n_cpus && !any; cpu++)
                t->cpus[cpu].kinds = 0;
}

/* Step 2. */
static void find_caches(Topology *t, const CpuFacts *facts)
{
        uint32_t largest = 0, least = UINT32_MAX;
        uint16_t capacity = 0; /* the largest of those with that cache */

        CPUSET_FOREACH(cpu, &t->online) {
                if (t->cpus[cpu].kinds & KIND_EFFICIENT)
                        continue;
                largest = MAX(largest, facts[cpu].cache_kib);
                least = MIN(least, facts[cpu].cache_kib);
        }
        if (least == 0 || 2 * (uint64_t)largest < 3 * (uint64_t)least)
                return;
        CPUSET_FOREACH(cpu, &t->online)
                if (!(t->cpus[cpu].kinds & KIND_EFFICIENT) && facts[cpu].cache_kib == largest) {
                        t->cpus[cpu].kinds |= KIND_CACHE;
                        capacity = MAX(capacity, t->cpus[cpu].capacity);
                }
        CPUSET_FOREACH(cpu, &t->online)
                if (t->cpus[cpu].kinds == 0 && t->cpus[cpu].capacity > capacity)
                        t->cpus[cpu].kinds = KIND_FAST;
}

/* Step 3. */
static void find_islands(Topology *t, const CpuFacts *facts)
{
        bool any = false;

        CPUSET_FOREACH(cpu, &t->online)
                any |= t->cpus[cpu].kinds & KIND_EFFICIENT && facts[cpu].cache_level >= 3;
        CPUSET_FOREACH(cpu, &t->online)
                if (any && t->cpus[cpu].kinds & KIND_EFFICIENT && facts[cpu].cache_level > 0 &&
                    facts[cpu].cache_level < 3)
                        t->cpus[cpu].kinds |= KIND_ISLAND;
}

void kinds_find(Topology *topology, const CpuFacts *facts)
{
        find_speeds(topology, facts);
        find_caches(topology, facts);
        find_islands(topology, facts);
}

int kinds_parse(const char *const *words, unsigned *ret_kinds, const char **ret_word)
{
        unsigned kinds = 0;

        for (; *words; words++) {
                int i = 0;

                while (kind_names[i] && !g_str_equal(kind_names[i], *words))
                        i++;
                if (!kind_names[i]) {
                        *ret_word = *words;
                        return -EINVAL;
                }
                kinds |= 1u << i;
        }
        *ret_kinds = kinds;
        return 0;
}

char *kinds_format(unsigned kinds)
{
        GString *text = g_string_new(NULL);

        for (int i = 0; kind_names[i]; i++)
                if (kinds & 1u << i)
                        g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "",
                                               kind_names[i]);
        return g_string_free(text, FALSE);
}

CpuSet kinds_choose(const Topology *topology, unsigned kinds, const CpuSet *active)
{
        CpuSet chosen = topology_of_kinds(topology, kinds), usable = topology_usable(topology);

        cpuset_and(&chosen, &usable);
        cpuset_and(&chosen, active);
        if (!cpuset_is_empty(&chosen))
                return chosen;
        chosen = topology->online;
        cpuset_and(&chosen, active);
        return chosen;
}

const char *unit_kinds_name(const UnitKinds *unit)
{
        return strrchr(unit->cgroup, '/') + 1;
}

static void unit_kinds_free(gpointer data)
{
        UnitKinds *unit = data;

        g_free(unit->cgroup);
        g_free(unit);
}

GPtrArray *unit_kinds_new(void)
{
        return g_ptr_array_new_with_free_func(unit_kinds_free);
}

static UnitKinds *unit_kinds_find(const GPtrArray *list, const char *cgroup)
{
        for (guint i = 0; i < list->len; i++) {
                UnitKinds *unit = g_ptr_array_index(list, i);

                if (g_strcmp0(unit->cgroup, cgroup) == 0)
                        return unit;
        }
        return NULL;
}

void unit_kinds_add(GPtrArray *list, const char *cgroup, unsigned kinds)
{
        UnitKinds *unit = unit_kinds_find(list, cgroup);

        if (!unit) {
                unit = g_new0(UnitKinds, 1);
                unit->cgroup = g_strdup(cgroup);
                g_ptr_array_add(list, unit);
        }
        unit->kinds |= kinds;
}

bool unit_kinds_equal(const GPtrArray *a, const GPtrArray *b)
{
        for (guint i = 0; i < a->len; i++) {
                const UnitKinds *unit = g_ptr_array_index(a, i);
                const UnitKinds *other = unit_kinds_find(b, unit->cgroup);

                if (!other || other->kinds != unit->kinds)
                        return false;
        }
        return a->len == b->len;
}
