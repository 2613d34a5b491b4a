/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A set of CPUs as a plain value.
 *
 * It has room for 8192 CPUs, the largest NR_CPUS that Linux can be built with, so that no function
 * that takes or returns one can fail, allocate, or be too small for a machine. An operation costs
 * some tens of nanoseconds, a copy one kilobyte. `(CpuSet){ 0 }` is the empty set.
 *
 * This header is part of what idled installs for policy plugins: everything in it is inline.
 * Reading and writing the kernel's list format ("0-3,8") is in cpuset-text.h.
 */
#ifndef IDLED_CPUSET_H
#define IDLED_CPUSET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CPUSET_MAX   8192
#define CPUSET_WORDS (CPUSET_MAX / 64)

typedef struct CpuSet {
        uint64_t bits[CPUSET_WORDS];
} CpuSet;

/* True if `cpu` is a member; false for every number outside 0 .. CPUSET_MAX - 1. */
static inline bool cpuset_has(const CpuSet *set, int cpu)
{
        return cpu >= 0 && cpu < CPUSET_MAX && (set->bits[cpu / 64] >> (cpu % 64)) & 1;
}

/* Adds `cpu`; a number outside 0 .. CPUSET_MAX - 1 is ignored. */
static inline void cpuset_add(CpuSet *set, int cpu)
{
        if (cpu >= 0 && cpu < CPUSET_MAX)
                set->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/* Removes `cpu`; a number outside 0 .. CPUSET_MAX - 1 is ignored. */
static inline void cpuset_remove(CpuSet *set, int cpu)
{
        if (cpu >= 0 && cpu < CPUSET_MAX)
                set->bits[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

/* Adds the CPUs `first` .. `last`, both included. */
static inline void cpuset_add_range(CpuSet *set, int first, int last)
{
        for (int cpu = first; cpu <= last; cpu++)
                cpuset_add(set, cpu);
}

/* Removes from `set` what is not in `other`. */
static inline void cpuset_and(CpuSet *set, const CpuSet *other)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                set->bits[i] &= other->bits[i];
}

/* Adds to `set` what is in `other`. */
static inline void cpuset_or(CpuSet *set, const CpuSet *other)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                set->bits[i] |= other->bits[i];
}

/* Removes from `set` what is in `other`. */
static inline void cpuset_subtract(CpuSet *set, const CpuSet *other)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                set->bits[i] &= ~other->bits[i];
}

/* The number of members. */
static inline int cpuset_count(const CpuSet *set)
{
        int n = 0;

        for (int i = 0; i < CPUSET_WORDS; i++)
                n += __builtin_popcountll(set->bits[i]);
        return n;
}

static inline bool cpuset_is_empty(const CpuSet *set)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                if (set->bits[i])
                        return false;
        return true;
}

static inline bool cpuset_equal(const CpuSet *a, const CpuSet *b)
{
        return memcmp(a, b, sizeof(*a)) == 0;
}

/* True if every member of `part` is in `whole`; the empty set is a subset of all. */
static inline bool cpuset_is_subset(const CpuSet *part, const CpuSet *whole)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                if (part->bits[i] & ~whole->bits[i])
                        return false;
        return true;
}

/* True if the sets share at least one CPU. */
static inline bool cpuset_intersects(const CpuSet *a, const CpuSet *b)
{
        for (int i = 0; i < CPUSET_WORDS; i++)
                if (a->bits[i] & b->bits[i])
                        return true;
        return false;
}

/* The smallest member that is greater than `cpu`, -1 if there is none. With -1: the smallest. */
static inline int cpuset_next(const CpuSet *set, int cpu)
{
        int from = cpu < 0 ? 0 : cpu + 1;

        if (from >= CPUSET_MAX)
                return -1;

        int word = from / 64;
        uint64_t rest = set->bits[word] & (~UINT64_C(0) << (from % 64));

        while (!rest) {
                if (++word == CPUSET_WORDS)
                        return -1;
                rest = set->bits[word];
        }
        return word * 64 + __builtin_ctzll(rest);
}

/* Visits the members in ascending order; the set may be changed behind the visitor. */
#define CPUSET_FOREACH(cpu, set)                                                                   \
        for (int cpu = cpuset_next((set), -1); cpu >= 0; cpu = cpuset_next((set), cpu))

#endif
