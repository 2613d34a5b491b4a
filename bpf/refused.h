/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls of sched_setaffinity(2) that failed with EINVAL, from the exit of the kernel's function: no
 * other system call pays for it. The first part is what the BPF program and its reader share.
 *
 * The program is loaded by raw bpf(2) calls that bpftool generates (a light skeleton), not by
 * libbpf: loading takes some kB of memory instead of some MB, and idled loads it at each parking.
 */
#ifndef IDLED_REFUSED_H
#define IDLED_REFUSED_H

#include <linux/types.h>

#include "cgroup-path.h"

#define REFUSED_WORDS 128    /* of 64 CPUs: CPUSET_MAX */
#define REFUSED_RING  131072 /* bytes that wait to be read: 80 calls at 8192 CPUs */

struct refused_call {
        __u32 pid, uid;              /* of the process that called */
        __u32 target;                /* the thread that it was for; 0: the caller itself */
        __u32 path_size;             /* bytes of `path` */
        __u32 whole;                 /* 1: `path` reaches the root, and no name is cut */
        char program[16];            /* the thread's name */
        char path[CGROUP_PATH_SIZE]; /* names of its cgroup and those above, each ended by a NUL */
        __u64 cpus[REFUSED_WORDS];
};

#ifndef __bpf__

#include <stdint.h>

typedef struct RefusedWatch RefusedWatch;

/* Watches all processes from now on; `n_cpus` is how many CPUs the machine can have.
 * -EOPNOTSUPP: idled was built without BPF; -EPERM: BPF is forbidden to idled; else the kernel
 * lacks something. */
int refused_watch_new(int n_cpus, RefusedWatch **ret_watch);
void refused_watch_free(RefusedWatch *watch);

/* Becomes readable when a call was refused; belongs to `watch`. */
int refused_watch_fd(const RefusedWatch *watch);

/* The next one, valid until the next call; NULL: none waits. CPUs from `n_cpus` on are not set. */
const struct refused_call *refused_watch_next(RefusedWatch *watch);

#endif

#define REFUSED_OF_USER 32

/* Users from here on share the limits of one: user namespaces give a single user many of them. */
#define REFUSED_SHARED_UID 65536
#define REFUSED_EACH_NS    10000000000ull

#endif
