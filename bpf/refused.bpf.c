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

#include "cgroup-path.h"
#include "kernel.h"
#include "refused.h"

/* As in sleeps.bpf.c. */
char LICENSE[] SEC("license") = "GPL";

#define EINVAL    22
#define USERS_MAX 1024

/* Chosen before loading: how many bytes a mask of CPUs has. */
const volatile __u32 mask_size;

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

SEC("fexit/sched_setaffinity")
int BPF_PROG(on_sched_setaffinity, int pid, const void *mask, long result)
{
        __u32 uid = (__u32)bpf_get_current_uid_gid();
        __u32 limited = uid < REFUSED_SHARED_UID ? uid : REFUSED_SHARED_UID;
        const struct task_struct *task = (const void *)bpf_get_current_task();
        struct refused_call *call;

        if (result != -EINVAL)
                return 0;
        call = too_many(limited)
                       ? NULL
                       : bpf_ringbuf_reserve(&calls,
                                             offsetof(struct refused_call, cpus) + mask_size, 0);
        if (!call)
                return 0;
        call->pid = bpf_get_current_pid_tgid() >> 32;
        call->uid = uid;
        call->target = pid;
        bpf_get_current_comm(call->program, sizeof(call->program));
        bpf_probe_read_kernel(call->cpus, mask_size, mask);
        call->path_size = cgroup_names(BPF_CORE_READ(task, cgroups, dfl_cgrp, kn), call->path,
                                       &call->whole);
        bpf_ringbuf_submit(call, 0);
        return 0;
}
