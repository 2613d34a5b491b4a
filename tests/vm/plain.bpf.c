/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A scheduler of sched_ext that leaves all decisions to the kernel: for each function that its
 * table lacks, the kernel has one. The table has only the members that libbpf needs.
 */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct sched_ext_ops {
        void (*exit)(void *info);
        char name[128];
};

/* A table without any program is not loaded by libbpf 1.1. */
SEC("struct_ops/end")
void end(void *context)
{
}

SEC(".struct_ops")
struct sched_ext_ops plain = { .exit = (void *)end, .name = "plain" };

/* To the kernel, as in bpf/sleeps.bpf.c. */
char LICENSE[] SEC("license") = "GPL";
