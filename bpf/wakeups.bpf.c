/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Delays of wake-ups, in the kernel.
 *
 * 1. A task that sleeps is woken (sched_waking, sched_wakeup_new): the time is noted. If a timer is
 *    being handled, it is the time at which that was due, because the CPU had to wake up for it.
 *    Timers that are later than a second are counted from waking: their clock was set.
 * 2. The task runs (sched_switch). If the CPU's idle task ran before it, the delay is that of the
 *    idle state that this task entered. So it is if another task ran in between, but the CPU left
 *    its idle state for most of the delay, or the one that handled the timer did. Otherwise it
 *    waited for a CPU, also if it moved from another CPU while it was runnable.
 * 3. The delay is counted in a row, which the cgroup and the cause share. A reader swaps the two
 *    halves of the tables (`epoch`) and takes the rows of the one that rests.
 * 4. Above BILL_RATE a CPU takes one of several wake-ups. The next of the same task that it takes
 *    also stands for those that it skipped, so that their number stays exact. The first of a new
 *    task is always taken: it may have no other. What a reader finds skipped is lost: its task has
 *    ended, or was not in the sample again.
 *
 * The kernel does not report each switch: of 2000 new tasks, up to 9 ran without one. Such wake-ups
 * are lost, which shows when the task is woken again, or ends.
 *
 * A task that is woken while it runs or is runnable has no delay. From 6.12 on a task that sleeps
 * may remain in the run queue for a while (sched_delayed).
 */
#include <linux/bpf.h>
#include <linux/errno.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bill.h"
#include "kernel.h"

/* As in sleeps.bpf.c. */
char LICENSE[] SEC("license") = "GPL";

#define WINDOW_NS    100000000ull
#define STATE_NONE   WAKEUPS_OTHER
#define SKIPPED_MOST 60000
#define LATE_MOST_NS 1000000000ull /* of a timer: a clock that is set forward makes it later */
#define TASK_DEAD    0x80          /* of the kernel: its last switch */

/* Chosen before loading. */
const volatile __u32 detail;         /* enum bill_detail */
const volatile __u32 share;          /* rows of one service or user in a half */
const volatile WakeupDelays nothing; /* zeroes */

/* Written by the loader. */
volatile __u32 n_active, epoch;
volatile __u32 n_parked_words; /* 0: no CPU is parked */
volatile __u64 parked[CPUSET_WORDS];
volatile __u32 n_limits;
volatile __u64 limits_ns[WAKEUPS_LIMITS];

/* Read by the loader. */
__u64 lost, unstored, full;

struct waiting_task {
        __u64 woken_ns;   /* 0: it does not wait */
        __u64 handled_ns; /* when the timer was handled that woke it, else as above */
        __u32 pid;
        __u16 skipped; /* its wake-ups since the last that was counted */
        __u8 moved;
        __u8 state; /* that the CPU left which handled it; STATE_NONE: none */
};

/* By PID. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, BILL_TASKS);
        __type(key, __u32);
        __type(value, struct waiting_task);
} tasks SEC(".maps");

/* The loader sets the size. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct bill_cpu);
} cpus SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __uint(max_entries, BILL_DELAYS);
        __type(key, struct bill_key);
        __type(value, WakeupDelays);
} delays SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __uint(max_entries, BILL_CGROUPS);
        __type(key, struct bill_cgroup_key);
        __type(value, struct bill_cgroup);
} cgroups SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __uint(max_entries, BILL_CGROUPS);
        __type(key, struct bill_share_key);
        __type(value, struct bill_share);
} shares SEC(".maps");

/* Too large for a stack; only used with interrupts off. */
struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct bill_cgroup);
} scratch SEC(".maps");

static struct bill_cpu *cpu_here(void)
{
        __u32 cpu = bpf_get_smp_processor_id();

        return bpf_map_lookup_elem(&cpus, &cpu);
}

static struct waiting_task *task_of(__u32 pid)
{
        __u32 i = pid % BILL_TASKS;

        return bpf_map_lookup_elem(&tasks, &i);
}

static void choose_sample(struct bill_cpu *cpu, __u64 now)
{
        __u64 n = cpu->n * 1000000000ull;

        cpu->each = n / (now - cpu->since_ns + 1) / BILL_RATE;
        cpu->since_ns = now;
        cpu->n = 0;
}

/* True if the CPU takes this wake-up. */
static bool is_taken(struct bill_cpu *cpu)
{
        cpu->n++;
        return cpu->each < 1 || bpf_get_prandom_u32() % (cpu->each + 1) == 0;
}

static int on_woken(const struct task_struct *task, bool is_new)
{
        struct waiting_task *waiting = task_of(task->pid);
        struct bill_cpu *cpu = cpu_here();
        __u64 now;

        if (!waiting || !cpu)
                return 0;
        if (waiting->woken_ns)
                __sync_fetch_and_add(&lost, 1);
        if (waiting->pid != (__u32)task->pid) {
                waiting->pid = task->pid;
                waiting->woken_ns = 0;
                waiting->skipped = 0;
        }
        if (!is_taken(cpu) && !is_new && waiting->skipped < SKIPPED_MOST) {
                waiting->skipped++;
                waiting->woken_ns = 0;
                cpu->pending++;
                return 0;
        }
        now = bpf_ktime_get_ns();
        if (now - cpu->since_ns > WINDOW_NS)
                choose_sample(cpu, now);
        waiting->moved = 0;
        waiting->state = bpf_get_current_pid_tgid() ? STATE_NONE : cpu->state;
        waiting->handled_ns = now;
        waiting->woken_ns = now - cpu->due_ns <= LATE_MOST_NS ? cpu->due_ns : now;
        return 0;
}

static bool is_queued(const struct task_struct *task)
{
        const struct task_struct___byte *newer = (const void *)task;

        return bpf_core_field_size(newer->on_rq) == sizeof(newer->on_rq) ? newer->on_rq
                                                                         : task->on_rq;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct *task)
{
        bool delayed = bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed;

        return is_queued(task) && !delayed ? 0 : on_woken(task, false);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct *task)
{
        return on_woken(task, true);
}

/* A task that is being woken also moves, but is not runnable yet. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_sched_migrate_task, struct task_struct *task, int cpu)
{
        struct waiting_task *waiting = task->__state == 0 ? task_of(task->pid) : NULL;

        if (waiting && waiting->pid == (__u32)task->pid)
                waiting->moved = 1;
        return 0;
}

/* The time that handlers get is older than the handling: the interrupt read it when it began. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_expire_entry, const struct hrtimer *timer)
{
        struct bill_cpu *cpu = cpu_here();

        if (cpu)
                cpu->due_ns = timer->node.expires - timer->base->offset;
        return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_hrtimer_expire_exit, struct hrtimer *timer)
{
        struct bill_cpu *cpu = cpu_here();

        if (cpu)
                cpu->due_ns = 0;
        return 0;
}

SEC("tp_btf/cpu_idle")
int BPF_PROG(on_cpu_idle, unsigned int state, unsigned int number)
{
        struct bill_cpu *cpu = state != ~0u ? cpu_here() : NULL;

        if (cpu)
                cpu->state = state < WAKEUPS_STATES ? state : WAKEUPS_STATES - 1;
        return 0;
}

/* Other errors, such as a lack of memory for the moment, are no reason to end contracts. */
static void note_full(long r)
{
        if (r == -E2BIG)
                full = 1;
}

/* One that is not stored is in no unit. */
static void note_cgroup(const struct kernfs_node *node, __u64 id, __u32 its_epoch)
{
        struct bill_cgroup_key key = { id, its_epoch };
        struct bill_cgroup *cgroup;
        __u32 zero = 0;
        long r;

        if (bpf_map_lookup_elem(&cgroups, &key))
                return;
        cgroup = bpf_map_lookup_elem(&scratch, &zero);
        if (!cgroup)
                return;
        cgroup->size = cgroup_names(node, cgroup->names, &cgroup->whole);
        r = bpf_map_update_elem(&cgroups, &key, cgroup, BPF_NOEXIST);
        note_full(r);
        if (r < 0 && !bpf_map_lookup_elem(&cgroups, &key))
                __sync_fetch_and_add(&unstored, 1);
}

/* NULL: a task of the kernel. */
static const unsigned char *executable_of(const struct task_struct *task)
{
        const struct mm_struct *mm = task->mm;
        const struct file *file = mm ? mm->exe_file : NULL;
        const struct dentry *dentry = file ? file->f_path.dentry : NULL;

        return dentry ? dentry->d_name.name : NULL;
}

/* Whether there is room for one more row of this cgroup's service or user. */
static bool take_share(const struct bill_key *row, const struct kernfs_node *node, __u32 times)
{
        const struct kernfs_node *owner = cgroup_owner(node);
        struct bill_share_key key = { .epoch = row->epoch };
        struct bill_share *its, one = { .rows = 1 };

        if (owner)
                key.owner = BPF_CORE_READ(owner, id);
        its = bpf_map_lookup_elem(&shares, &key);
        if (!its) {
                long r = bpf_map_update_elem(&shares, &key, &one, BPF_ANY);

                note_full(r);
                return r == 0;
        }
        if (its->rows < share && __sync_fetch_and_add(&its->rows, 1) < share)
                return true;
        if (__sync_fetch_and_add(&its->refused, times) == 0 && owner)
                note_cgroup(owner, key.owner, row->epoch);
        return false;
}

static WakeupDelays *row_of(const struct task_struct *task, __u32 kind, __u32 times)
{
        const struct kernfs_node *node = task->cgroups->dfl_cgrp->kn;
        struct bill_key key = { .cgroup = node->id, .kind = kind, .epoch = epoch & 1 };
        WakeupDelays *row;

        if (detail == BILL_PROCESSES) {
                const unsigned char *name = executable_of(task);

                if (!name || bpf_probe_read_kernel_str(key.process, BILL_PROCESS, name) <= 0)
                        bpf_probe_read_kernel_str(key.process, sizeof(task->comm), task->comm);
        }
        row = bpf_map_lookup_elem(&delays, &key);
        if (row || !take_share(&key, node, times))
                return row;
        note_cgroup(node, key.cgroup, key.epoch);
        note_full(bpf_map_update_elem(&delays, &key, (const void *)&nothing, BPF_NOEXIST));
        return bpf_map_lookup_elem(&delays, &key);
}

static void count(const struct task_struct *task, __u32 kind, __u64 ns, __u32 times)
{
        WakeupDelays *row = row_of(task, kind, times);
        __u32 bin = wakeups_bin(ns);

        if (!row) {
                __sync_fetch_and_add(&unstored, times);
                return;
        }
        __sync_fetch_and_add(&row->count, times);
        __sync_fetch_and_add(&row->sum_ns, ns * times);
        if (bin < WAKEUPS_BINS) /* for the verifier */
                __sync_fetch_and_add(&row->bins[bin], times);
        for (__u32 i = 0; i < WAKEUPS_LIMITS && i < n_limits; i++)
                if (ns > limits_ns[i])
                        __sync_fetch_and_add(&row->late[i], times);
        for (int i = 0; i < 8; i++) {
                __u64 max = row->max_ns;

                if (ns <= max || __sync_val_compare_and_swap(&row->max_ns, max, ns) == max)
                        break;
        }
}

/* A task on all active CPUs, unless its affinity has no parked one. The cpuset that parks CPUs has
 * none of these, and the kernel does not keep which CPUs it had otherwise. */
static bool could_run_parked(const struct task_struct *task)
{
        const __u64 *requested = task->user_cpus_ptr;
        __u64 word;

        if (n_parked_words == 0 || task->nr_cpus_allowed < (int)n_active)
                return false;
        for (__u32 i = 0; requested && i < CPUSET_WORDS && i < n_parked_words; i++)
                if (bpf_probe_read_kernel(&word, sizeof(word), &requested[i]) == 0 &&
                    word & parked[i])
                        return true;
        return !requested;
}

/* What the task waited for from `woken` to `now`: what took most of that time. */
static __u32 kind_of(const struct waiting_task *waiting, const struct bill_cpu *cpu,
                     const struct task_struct *task, __u64 woken, __u64 now)
{
        __s64 half = (__s64)((now - woken) >> 1);

        if (waiting->state != STATE_NONE && (__s64)(waiting->handled_ns - woken) > half)
                return waiting->state;
        if (!waiting->moved && (__s64)(cpu->left_ns - woken) >= half)
                return cpu->state;
        return could_run_parked(task) ? WAKEUPS_PARKED : WAKEUPS_WAITING;
}

/* The task ends before it ran: its wake-up is lost. */
static void end(const struct task_struct *task)
{
        struct waiting_task *waiting = task_of(task->pid);

        if (!waiting || waiting->pid != (__u32)task->pid || !waiting->woken_ns)
                return;
        __sync_fetch_and_add(&lost, 1);
        waiting->woken_ns = 0;
}

/* The last switch of a task may be missing, too, where those before it are. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_sched_process_exit, struct task_struct *task)
{
        end(task);
        return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
        __u32 pid = next->pid, kind;
        struct waiting_task *waiting;
        struct bill_cpu *cpu;
        __u64 now, woken;

        if (prev->pid && (preempt || prev->__state == 0)) {
                waiting = task_of(prev->pid); /* it was not asleep when it was woken */
                if (waiting && waiting->pid == (__u32)prev->pid)
                        waiting->woken_ns = 0;
        } else if (prev->pid && prev->__state & TASK_DEAD) {
                end(prev);
        }
        if (pid == 0) {
                cpu = cpu_here();
                if (cpu)
                        cpu->state = STATE_NONE;
                return 0;
        }
        cpu = prev->pid == 0 ? cpu_here() : NULL;
        if (cpu)
                cpu->left_ns = bpf_ktime_get_ns();
        waiting = task_of(pid);
        if (!waiting || waiting->pid != pid || !waiting->woken_ns)
                return 0;
        cpu = cpu_here();
        if (!cpu)
                return 0;
        now = prev->pid == 0 ? cpu->left_ns : bpf_ktime_get_ns();
        woken = waiting->woken_ns < now ? waiting->woken_ns : now;
        waiting->woken_ns = 0;
        kind = kind_of(waiting, cpu, next, woken, now);
        cpu->pending -= waiting->skipped;
        cpu->skipped += waiting->skipped;
        if (detail == BILL_COARSE)
                kind = kind < WAKEUPS_STATES ? 0 : WAKEUPS_WAITING;
        count(next, kind, now - woken, 1 + waiting->skipped);
        waiting->skipped = 0;
        return 0;
}
