/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bins for times of any length: 2^sub of them per power of 2, for `octaves` powers of 2 from
 * 2^shift ns on. Bin 0 is for all that is shorter, the last for all that is longer. BPF programs
 * use it, too, so the arguments are constants.
 *
 * Part of what idled installs for plugins.
 */
#ifndef IDLED_OCTAVES_H
#define IDLED_OCTAVES_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u32 uint32_t;
typedef __u64 uint64_t;
#else
#include <stdint.h>
#endif

#define OCTAVES_BINS(sub, octaves) (((octaves) << (sub)) + 2)

/* The bin of a time. */
static inline uint32_t octaves_bin(uint64_t ns, uint32_t sub, uint32_t shift, uint32_t octaves)
{
        uint64_t rest = ns >> shift;
        uint32_t log = 0;

        if (!rest)
                return 0;
        if (rest >> octaves)
                return OCTAVES_BINS(sub, octaves) - 1;
        for (uint32_t step = 32; step > 0; step /= 2)
                if (rest >> step) {
                        rest >>= step;
                        log += step;
                }
        return 1 + (log << sub) + ((ns >> (log + shift - sub)) & ((1 << sub) - 1));
}

/* Where bin `i` begins, in ns; `i` up to the number of bins. */
static inline uint64_t octaves_begin(uint32_t i, uint32_t sub, uint32_t shift)
{
        uint32_t octave = i ? (i - 1) >> sub : 0, step = (i - 1) & ((1u << sub) - 1);

        return i ? (((uint64_t)1 << sub) + step) << (octave + shift - sub) : 0;
}

#endif
