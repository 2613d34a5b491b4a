/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Threads that stay on one CPU.
 */
#ifndef IDLED_PIN_H
#define IDLED_PIN_H

#include <errno.h>
#include <sched.h>

/* Binds the calling thread to the CPU. -EINVAL: it is offline, or the thread's cpuset does not have
 * it. */
static inline int thread_pin(int cpu)
{
        size_t size = CPU_ALLOC_SIZE(cpu + 1);
        cpu_set_t *cpus = CPU_ALLOC(cpu + 1);
        int r;

        CPU_ZERO_S(size, cpus);
        CPU_SET_S((size_t)cpu, size, cpus);
        r = sched_setaffinity(0, size, cpus) < 0 ? -errno : 0;
        CPU_FREE(cpus);
        return r;
}

#endif
