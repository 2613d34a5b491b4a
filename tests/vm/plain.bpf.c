/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A scheduler of sched_ext that leaves all decisions to the kernel. Of the kernel's table of
 * functions it names two members; what is missing has the kernel's own behaviour.
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

char _license[] SEC("license") = "GPL";
