/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order of cores.
 *
 * Cores are sorted by class of capacity (except with PackOrder=package), then package, die, cluster
 * and number; groups are numbered in the order of their lowest CPU, so the boot CPU's groups come
 * first among equals. A class is what people call a kind of core: sorted by capacity, a new class
 * begins where the next core is more than an eighth faster than the one before. The few percent by
 * which vendors rank the cores of one kind (preferred cores) make no class of their own: following
 * them would scatter the active cores over all clusters and packages. PackOrder=performance heeds
 * them within a cluster.
 *
 * Kinds of cores that are named come before all others, whatever the order, and keep it among
 * themselves. With PackOrder=efficiency an island comes first: while only its cores are active, the
 * die of all others can sleep.
 */
#include "model/pack.h"

#include <string.h>

#define CLASS_STEP_NUM 9 /* more than 9/8 of the one before: another kind of core */
#define CLASS_STEP_DEN 8

typedef bool (*CoreBefore)(const Topology *topology, int a, int b);

static bool before_in_place(const TopologyCore *x, const TopologyCore *y, bool if_equal)
{
        if (x->package != y->package)
                return x->package < y->package;
        if (x->die != y->die)
                return x->die < y->die;
        if (x->cluster != y->cluster)
                return x->cluster < y->cluster;
        return if_equal;
}

static bool before_by_capacity(const Topology *topology, int a, int b)
{
        const TopologyCore *x = &topology->cores[a], *y = &topology->cores[b];

        return x->capacity != y->capacity ? x->capacity < y->capacity : a < b;
}

static bool before_by_place(const Topology *topology, int a, int b)
{
        return before_in_place(&topology->cores[a], &topology->cores[b], a < b);
}

static bool before_by_place_and_speed(const Topology *topology, int a, int b)
{
        const TopologyCore *x = &topology->cores[a], *y = &topology->cores[b];

        return before_in_place(x, y,
                               x->capacity != y->capacity ? x->capacity > y->capacity : a < b);
}

static void sift_down(int16_t *cores, int root, int n, const Topology *topology, CoreBefore before)
{
        int16_t core = cores[root];

        for (int child = 2 * root + 1; child < n; child = 2 * root + 1) {
                if (child + 1 < n && before(topology, cores[child], cores[child + 1]))
                        child++;
                if (!before(topology, core, cores[child]))
                        break;
                cores[root] = cores[child];
                root = child;
        }
        cores[root] = core;
}

/* Heapsort: libc's qsort() may allocate. */
static void sort(int16_t *cores, int n, const Topology *topology, CoreBefore before)
{
        for (int i = n / 2 - 1; i >= 0; i--)
                sift_down(cores, i, n, topology, before);
        for (int i = n - 1; i > 0; i--) {
                int16_t last = cores[i];

                cores[i] = cores[0];
                cores[0] = last;
                sift_down(cores, 0, i, topology, before);
        }
}

static int class_end(const int16_t *cores, int from, int n, const Topology *topology)
{
        int i = from + 1;

        while (i < n && topology->cores[cores[i]].capacity * CLASS_STEP_DEN <=
                                topology->cores[cores[i - 1]].capacity * CLASS_STEP_NUM)
                i++;
        return i;
}

static void reverse(int16_t *cores, int n)
{
        for (int i = 0, j = n - 1; i < j; i++, j--) {
                int16_t core = cores[i];

                cores[i] = cores[j];
                cores[j] = core;
        }
}

/* Sorts the cores, which are in ascending order of capacity, by class and within each by place. */
static void sort_classes(Pack *pack, const Topology *topology)
{
        bool fast_first = pack->by == PACK_PERFORMANCE;
        CoreBefore before = fast_first ? before_by_place_and_speed : before_by_place;
        int end;

        for (int from = 0; from < pack->n_cores; from = end) {
                end = class_end(pack->order, from, pack->n_cores, topology);
                sort(pack->order + from, end - from, topology, before);
                if (fast_first)
                        reverse(pack->order + from, end - from);
        }
        if (fast_first) /* turns the order of classes around, and each class upright again */
                reverse(pack->order, pack->n_cores);
}

static void find_classes(Pack *pack, const Topology *topology)
{
        int from = 0, end;

        for (end = 0; end < pack->n_cores;) {
                from = end;
                end = class_end(pack->order, from, pack->n_cores, topology);
        }
        pack->n_fast = end - from;
        pack->slowest = topology->cores[pack->order[0]].capacity;
        pack->fast = topology->cores[pack->order[from]].capacity;
}

static float core_capacity(const Pack *pack, const Topology *topology, int number)
{
        const TopologyCore *core = &topology->cores[number];
        int threads = 0;

        for (int i = 0; i < core->n_threads; i++)
                threads += cpuset_has(&pack->cpus, topology->core_cpus[core->first + i]);
        return (float)((threads > 1 ? 1 + SMT_GAIN : 1) * core->capacity / CAPACITY_SCALE);
}

/* Bits of the kinds of a core's CPUs. */
static unsigned kinds_of(const Topology *topology, int core)
{
        return topology->cpus[topology->core_cpus[topology->cores[core].first]].kinds;
}

/* Moves the cores from position `from` on that are of the kind before the others; both keep their
 * order. Returns where these others begin. */
static int move_first(Pack *pack, const Topology *topology, int from, unsigned kind)
{
        int16_t others[CPUSET_MAX];
        int n = from, n_others = 0;

        for (int i = from; i < pack->n_cores; i++)
                if (kinds_of(topology, pack->order[i]) & kind)
                        pack->order[n++] = pack->order[i];
                else
                        others[n_others++] = pack->order[i];
        for (int i = 0; i < n_others; i++)
                pack->order[n + i] = others[i];
        return n;
}

static void move_kinds(Pack *pack, const Topology *topology)
{
        if (pack->by == PACK_EFFICIENCY)
                move_first(pack, topology, 0, KIND_ISLAND);
        pack->n_first = 0;
        for (int i = 0; i < CORE_KINDS && pack->first.kinds[i]; i++)
                pack->n_first = move_first(pack, topology, pack->n_first, pack->first.kinds[i]);
}

static void make_order(Pack *pack, const Topology *topology)
{
        CpuSet met = { 0 };

        pack->n_cores = 0;
        CPUSET_FOREACH(cpu, &pack->cpus) {
                int core = topology->cpus[cpu].core;

                if (core < 0 || cpuset_has(&met, core))
                        continue;
                cpuset_add(&met, core);
                pack->order[pack->n_cores++] = (int16_t)core;
        }
        if (pack->n_cores == 0)
                return;
        sort(pack->order, pack->n_cores, topology, before_by_capacity);
        find_classes(pack, topology);
        if (pack->by == PACK_PACKAGE)
                sort(pack->order, pack->n_cores, topology, before_by_place);
        else
                sort_classes(pack, topology);
        move_kinds(pack, topology);
        for (int i = 0; i < pack->n_cores; i++)
                pack->capacity[i] = core_capacity(pack, topology, pack->order[i]);
}

static uint32_t fingerprint(const Topology *topology)
{
        uint32_t print = (uint32_t)topology->n_cores;

        for (int i = 0; i < topology->n_cores; i++) {
                const TopologyCore *core = &topology->cores[i];

                uint32_t place = (uint32_t)(core->cluster << 16 | core->package << 8 | core->die);

                print = print * 31 + core->capacity + 7919 * place + 104729 * core->first +
                        kinds_of(topology, i);
        }
        return print;
}

bool pack_update(Pack *pack, const Topology *topology, const CpuSet *offered, PackOrder by,
                 PackKinds first)
{
        uint32_t print = fingerprint(topology);
        CpuSet cpus = topology_usable(topology);

        if (offered && cpuset_intersects(&cpus, offered))
                cpuset_and(&cpus, offered);
        if (pack->n_cores > 0 && pack->fingerprint == print && pack->by == by &&
            memcmp(&pack->first, &first, sizeof(first)) == 0 && cpuset_equal(&pack->cpus, &cpus))
                return false;
        pack->cpus = cpus;
        pack->n_cpus = cpuset_count(&cpus);
        pack->fingerprint = print;
        pack->by = by;
        pack->first = first;
        make_order(pack, topology);
        return true;
}

/* A walk over the cores that a size keeps. */
typedef struct Walk {
        int position, fast_met;
} Walk;

/* The position of the next active core, -1 if there is none. */
static int walk(const Pack *pack, const Topology *topology, PackSize size, Walk *at)
{
        while (at->position < pack->n_cores &&
               (at->position < size.cores || at->fast_met < size.fast)) {
                int i = at->position++;
                bool active = i < size.cores;

                if (topology->cores[pack->order[i]].capacity >= pack->fast &&
                    at->fast_met++ < size.fast)
                        active = true;
                if (active)
                        return i;
        }
        return -1;
}

double pack_capacity(const Pack *pack, const Topology *topology, PackSize size)
{
        double sum = 0;
        Walk at = { 0 };

        for (int i; (i = walk(pack, topology, size, &at)) >= 0;)
                sum += pack->capacity[i];
        return sum;
}

int pack_count(const Pack *pack, const Topology *topology, PackSize size)
{
        int n = 0;

        if (pack->n_fast == pack->n_cores) /* one class */
                return size.cores > size.fast ? size.cores : size.fast;
        for (Walk at = { 0 }; walk(pack, topology, size, &at) >= 0;)
                n++;
        return n;
}

bool pack_is_of(const Pack *pack, const Topology *topology, PackSize size, unsigned kinds)
{
        Walk at = { 0 };

        for (int i; (i = walk(pack, topology, size, &at)) >= 0;)
                if (!(kinds_of(topology, pack->order[i]) & kinds))
                        return false;
        return true;
}

PackSize pack_fit(const Pack *pack, const Topology *topology, double capacity, int fast)
{
        PackSize size = { 0, fast < pack->n_fast ? fast : pack->n_fast };
        double sum = size.fast > 0 ? pack_capacity(pack, topology, size) : 0;
        int fast_met = 0;

        while (size.cores < pack->n_cores && sum < capacity) {
                int i = size.cores++;

                if (topology->cores[pack->order[i]].capacity < pack->fast ||
                    fast_met++ >= size.fast)
                        sum += pack->capacity[i];
        }
        return size;
}

PackSize pack_resize(const Pack *pack, const Topology *topology, PackSize size, int min, int max)
{
        PackSize fitted = { 0, size.fast < pack->n_fast ? size.fast : pack->n_fast };
        int fast_met = 0, n;

        if (fitted.fast > max)
                fitted.fast = max;
        n = fitted.fast;
        while (fitted.cores < pack->n_cores) {
                bool fast = topology->cores[pack->order[fitted.cores]].capacity >= pack->fast;
                bool counted = fast && fast_met < fitted.fast;

                if (!counted && (n == max || (fitted.cores >= size.cores && n >= min)))
                        break;
                n += !counted;
                fast_met += fast;
                fitted.cores++;
        }
        if (fitted.fast < fast_met)
                fitted.fast = fast_met;
        return fitted;
}

void pack_parked(const Pack *pack, const Topology *topology, PackSize size, CpuSet *ret_parked)
{
        Walk at = { 0 };

        *ret_parked = pack->cpus;
        for (int i; (i = walk(pack, topology, size, &at)) >= 0;) {
                const TopologyCore *core = &topology->cores[pack->order[i]];

                for (int t = 0; t < core->n_threads; t++)
                        cpuset_remove(ret_parked, topology->core_cpus[core->first + (uint32_t)t]);
        }
}

double core_work(const Topology *topology, const TopologyCore *core, const CpuSet *cpus,
                 const float *busy)
{
        double free = 1, sum = 0, occupied;

        for (int i = 0; i < core->n_threads; i++) {
                int cpu = topology->core_cpus[core->first + (uint32_t)i];
                double share = cpuset_has(cpus, cpu) && busy[cpu] > 0 ? busy[cpu] : 0;

                share = share < 1 ? share : 1;
                free *= 1 - share;
                sum += share;
        }
        occupied = 1 - free;
        return core->capacity * (occupied + SMT_GAIN * (sum - occupied)) / CAPACITY_SCALE;
}
