/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which cores stay awake first: an order of all cores that may be parked.
 *
 * The active cores are always the beginning of that order, plus, where cores differ in speed, the
 * first few of the fastest. So a number of cores always means the same cores: the set never
 * reshuffles while it grows and shrinks, and cores, clusters, dies and packages fall idle one whole
 * group after the other.
 */
#ifndef IDLED_PACK_H
#define IDLED_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "model/topology.h"

typedef enum PackOrder {
        PACK_EFFICIENCY,  /* slowest cores first */
        PACK_PERFORMANCE, /* fastest cores first */
        PACK_PACKAGE,     /* one package after the other, however fast its cores are */
} PackOrder;

/* The throughput that each further busy thread adds to a core, as a share of the first one's. */
#define SMT_GAIN 0.25

/* What the busy shares of a core's threads amount to, in CPUs of the machine's fastest kind: its
 * capacity while at least one thread is busy, and SMT_GAIN of it for each further one, as if they
 * were busy independently of each other. Only the CPUs in `cpus` count; `busy` is by CPU. */
double core_work(const Topology *topology, const TopologyCore *core, const CpuSet *cpus,
                 const float *busy);

/* The active cores: the first `cores` of the order, and those of the first `fast` cores of the
 * fastest class that are not among them. */
typedef struct PackSize {
        int cores, fast;
} PackSize;

/* Kinds of cores that come first, in this order; 0 ends them. */
typedef struct PackKinds {
        uint16_t kinds[CORE_KINDS]; /* bits of CoreKind */
} PackKinds;

typedef struct Pack {
        CpuSet cpus;          /* that may be parked */
        uint32_t fingerprint; /* of the topology that the order was made for */
        PackOrder by;         /* how it was made */
        PackKinds first;      /* these are the first n_first cores of it */
        int n_first;
        int n_cpus;                 /* how many of these */
        int n_cores, n_fast;        /* their cores, and those of the fastest class */
        uint16_t slowest, fast;     /* lowest capacity of all and of the fastest class */
        int16_t order[CPUSET_MAX];  /* core numbers, active longest first; n_cores of them */
        float capacity[CPUSET_MAX]; /* of each of these, in units of the machine's fastest CPU */
} Pack;

/* Makes the order again if the topology, `offered` (NULL: all), `by` or `first` are not those it
 * was made for; true if so. Starts from a zeroed Pack. */
bool pack_update(Pack *pack, const Topology *topology, const CpuSet *offered, PackOrder by,
                 PackKinds first);

/* True if all cores that `size` keeps are of these kinds. */
bool pack_is_of(const Pack *pack, const Topology *topology, PackSize size, unsigned kinds);

/* The smallest size with at least these `fast` cores whose capacity is at least `capacity`, in
 * units of the machine's fastest CPU; everything if there is none. A core of several threads,
 * however many, is taken to do SMT_GAIN more than one of them. */
PackSize pack_fit(const Pack *pack, const Topology *topology, double capacity, int fast);

/* `size` with at least `min` and at most `max` cores; of the fastest class as many as it requests
 * stay if they fit. Two results are equal if and only if they keep the same cores: `cores` is then
 * as large as it can be, and `fast` the number of cores of that class that are active. */
PackSize pack_resize(const Pack *pack, const Topology *topology, PackSize size, int min, int max);

/* The capacity of the active cores, in units of the machine's fastest CPU. */
double pack_capacity(const Pack *pack, const Topology *topology, PackSize size);

/* How many cores are active. */
int pack_count(const Pack *pack, const Topology *topology, PackSize size);

/* The CPUs that are parked. */
void pack_parked(const Pack *pack, const Topology *topology, PackSize size, CpuSet *ret_parked);

#endif
