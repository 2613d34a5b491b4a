/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Refused affinities, in the kernel.
 *
 * 1. sched_setaffinity() returns -EINVAL: none of the CPUs is in the caller's cpuset, or none is
 *    online. Which it was, the reader finds out.
 * 2. A user who makes many such calls does not wake idled for all of them.
 * 3. The names of the cgroup are taken here: when idled reads, the process may have exited, and its
 *    cgroup may be gone.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kernel.h"
#include "refused.h"

/* As in sleeps.bpf.c. */
char LICENSE[] SEC("license") = "GPL";

#define EINVAL     22
#define LEVELS_MAX 16
#define USERS_MAX  1024

/* Chosen before loading: how many bytes a mask of CPUs has. */
const volatile __u32 mask_size;

/* Read by the loader. */
__u64 lost;

struct rate {
        __u64 since_ns;
        __u32 n;
};

struct {
        __uint(type, BPF_MAP_TYPE_LRU_HASH);
        __uint(max_entries, USERS_MAX);
        __type(key, __u32);
        __type(value, struct rate);
} rates SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, REFUSED_RING);
} calls SEC(".maps");

static bool too_many(__u32 uid)
{
        __u64 now = bpf_ktime_get_ns();
        struct rate *rate = bpf_map_lookup_elem(&rates, &uid), first = { now, 1 };

        if (!rate) {
                bpf_map_update_elem(&rates, &uid, &first, BPF_ANY);
                return false;
        }
        if (now - rate->since_ns > REFUSED_EACH_NS)
                *rate = first;
        else
                rate->n++;
        return rate->n > REFUSED_OF_USER;
}

static const struct kernfs_node *parent_of(const struct kernfs_node *node)
{
        const struct kernfs_node___rcu *newer = (const void *)node;

        if (bpf_core_field_exists(newer->__parent))
                return BPF_CORE_READ(newer, __parent);
        return BPF_CORE_READ(node, parent);
}

static void take_path(struct refused_call *call)
{
        const struct task_struct *task = (const void *)bpf_get_current_task();
        const struct kernfs_node *node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
        __u32 size = 0;

        for (int level = 0; level < LEVELS_MAX && node; level++) {
                long n;

                if (size > REFUSED_PATH - REFUSED_NAME)
                        break;
                n = bpf_probe_read_kernel_str(&call->path[size], REFUSED_NAME,
                                              BPF_CORE_READ(node, name));
                if (n <= 0 || n >= REFUSED_NAME)
                        break; /* or it may be cut */
                size += (__u32)n;
                node = parent_of(node);
        }
        call->path_size = size;
        call->whole = !node;
}

SEC("fexit/sched_setaffinity")
int BPF_PROG(on_sched_setaffinity, int pid, const void *mask, long result)
{
        __u32 uid = (__u32)bpf_get_current_uid_gid();
        __u32 limited = uid < REFUSED_SHARED_UID ? uid : REFUSED_SHARED_UID;
        struct refused_call *call;

        if (result != -EINVAL)
                return 0;
        call = too_many(limited)
                       ? NULL
                       : bpf_ringbuf_reserve(&calls,
                                             offsetof(struct refused_call, cpus) + mask_size, 0);
        if (!call) {
                __sync_fetch_and_add(&lost, 1);
                return 0;
        }
        call->pid = bpf_get_current_pid_tgid() >> 32;
        call->uid = uid;
        call->target = pid;
        bpf_get_current_comm(call->program, sizeof(call->program));
        bpf_probe_read_kernel(call->cpus, mask_size, mask);
        take_path(call);
        bpf_ringbuf_submit(call, 0);
        return 0;
}
