/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names of a cgroup's path, taken in the kernel: a reader may come when the cgroup is gone.
 */
#ifndef IDLED_CGROUP_PATH_H
#define IDLED_CGROUP_PATH_H

#define CGROUP_PATH_SIZE 512
#define CGROUP_NAME_SIZE 128 /* a longer name is cut */
#define CGROUP_LEVELS    16  /* with the root */

#ifdef __bpf__

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"

#define CGROUP_DEPTH 24

static __always_inline const struct kernfs_node *cgroup_parent(const struct kernfs_node *node)
{
        const struct kernfs_node___rcu *newer = (const void *)node;

        if (bpf_core_field_exists(newer->__parent))
                return BPF_CORE_READ(newer, __parent);
        return BPF_CORE_READ(node, parent);
}

/* The cgroup of the service or user that has this one: the second below the root. The service or
 * user can make any number of cgroups in it, and none elsewhere. NULL: too deep to see whose. */
static __always_inline const struct kernfs_node *cgroup_owner(const struct kernfs_node *node)
{
        const struct kernfs_node *top = node, *first = node, *second = node, *parent = node;

        for (int i = 0; i < CGROUP_DEPTH && (parent = cgroup_parent(top)); i++) {
                second = first;
                first = top;
                top = parent;
        }
        return parent ? NULL : second;
}

/* Writes the names from the innermost on, each ended by a NUL, into `path` of CGROUP_PATH_SIZE, and
 * returns their size. `*ret_whole` is 1 if they reach the root, and no name is cut. */
static __always_inline __u32 cgroup_names(const struct kernfs_node *node, char *path,
                                          __u32 *ret_whole)
{
        __u32 size = 0;

        for (int level = 0; level < CGROUP_LEVELS && node; level++) {
                long n;

                if (size > CGROUP_PATH_SIZE - CGROUP_NAME_SIZE)
                        break;
                n = bpf_probe_read_kernel_str(&path[size], CGROUP_NAME_SIZE,
                                              BPF_CORE_READ(node, name));
                if (n <= 0 || n >= CGROUP_NAME_SIZE)
                        break; /* or it may be cut */
                size += (__u32)n;
                node = cgroup_parent(node);
        }
        *ret_whole = !node;
        return size;
}

#endif
#endif
