/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's structures, as far as the sleep ledger reads them. The loader moves every member to
 * where the running kernel has it (CO-RE), so that names matter and offsets do not. A name behind
 * "___" is that of another version.
 */
#ifndef IDLED_KERNEL_H
#define IDLED_KERNEL_H

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
        const char *name;
        __u64 id;
        struct kernfs_node *parent;
};

/* From 6.15 on. */
struct kernfs_node___rcu {
        struct kernfs_node *__parent;
};

struct cgroup {
        struct kernfs_node *kn;
};

struct css_set {
        struct cgroup *dfl_cgrp;
};

struct thread_info {
        __u32 cpu;
};

struct cfs_rq;

/* cfs_rq: with CONFIG_FAIR_GROUP_SCHED only. sched_delayed: from 6.12 on. */
struct sched_entity {
        struct cfs_rq *cfs_rq;
        unsigned char sched_delayed;
};

struct qstr {
        const unsigned char *name;
};

struct dentry {
        struct qstr d_name;
};

struct path {
        struct dentry *dentry;
};

struct file {
        struct path f_path;
};

struct mm_struct {
        struct file *exe_file;
};

/* In Linux 7.3. */
struct task_struct___byte {
        unsigned char on_rq;
};

struct task_struct {
        struct thread_info thread_info;
        unsigned int __state;
        int on_rq;
        struct sched_entity se;
        int nr_cpus_allowed;
        void *user_cpus_ptr; /* the affinity that a program requested; from 6.2 on of all tasks */
        struct mm_struct *mm;
        int pid;
        char comm[16];
        struct css_set *cgroups;
};

struct irqaction {
        unsigned int flags;
        const char *name;
};

struct timerqueue_node {
        __s64 expires;
};

struct hrtimer_cpu_base {
        __s64 expires_next;
};

struct hrtimer_clock_base {
        struct hrtimer_cpu_base *cpu_base;
        __s64 offset; /* of the clock to CLOCK_MONOTONIC */
};

struct hrtimer {
        struct timerqueue_node node;
        void *function;
        struct hrtimer_clock_base *base;
};

struct hrtimer_sleeper {
        struct hrtimer timer;
        struct task_struct *task;
};

struct timer_list {
        void *function;
};

struct process_timer {
        struct timer_list timer;
        struct task_struct *task;
};

struct work_struct {
        void *func;
};

struct delayed_work {
        struct work_struct work;
        struct timer_list timer;
};

struct sched_avg {
        unsigned long util_avg;
};

struct rq;

/* rq: with CONFIG_FAIR_GROUP_SCHED only. */
struct cfs_rq {
        struct sched_avg avg;
        struct rq *rq;
};

typedef struct {
        int counter;
} atomic_t;

struct rq {
        struct cfs_rq cfs;
        __u64 nr_switches;
        atomic_t nr_iowait;
};

#pragma clang attribute pop

#endif
