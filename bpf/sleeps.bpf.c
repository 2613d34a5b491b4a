/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sleep ledger, in the kernel.
 *
 * 1. cpu_idle with a state: a sleep begins. The one before is counted now, together with its cause,
 *    so that counts of sleeps and of causes always agree. Without causes it is counted as it ends.
 * 2. The first thing that happens from then on is the cause. Where the CPU waits in "hlt" its
 *    interrupt is handled before the sleep's end is announced, with "mwait" after that: so a cause
 *    is taken until the idle task has given the CPU away or the next sleep begins.
 * 3. What follows says more about a cause: the timer behind the interrupt, the task that it wakes.
 * 4. A reader swaps the two halves of the tables (`epoch`) and takes the one that rests.
 *
 * Each CPU writes only its own entries. The exception is a CPU that wakes a task on another one: it
 * holds the run queue's lock of the CPU that it wakes.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "cgroup-path.h"
#include "kernel.h"
#include "sleeps.h"

/* The kernel lends some of its helpers to programs under its own licence only; LGPL 2.1, section 3,
 * lets this be taken under that. */
char LICENSE[] SEC("license") = "GPL";

/* Chosen before loading. */
const volatile bool with_events; /* interrupts, timers and wake-ups are watched, by their kind */
const volatile bool with_causes; /* and by name, in a table */
const volatile bool with_latencies;
const volatile bool with_records;
const volatile __u32 n_cpus;

/* Read and written by the loader. */
volatile __u32 epoch;
volatile __u32
        active; /* nothing counts until all programs are attached: attaching them wakes CPUs */
__u64 records_lost;
__u64 unpaired; /* sleeps that had begun before the programs were loaded */

#define CLASS_TICK            1
#define CLASS_HRTIMER_WAKEUP  2
#define CLASS_DELAYED_WORK    3
#define CLASS_PROCESS_TIMEOUT 4
#define CLASS_REMOTE_WAKEUP   5
#define CLASS_OTHER           6

#define IRQF_TIMER     0x200
#define UNBOUND_NS     (2000ull * 1000000000) /* a PM QoS latency that limits nothing */
#define LENGTH_UNKNOWN ((__u64)-1)
#define EPOCHS         2

/* Sizes are set by the loader. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(map_flags, BPF_F_MMAPABLE);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct sleeper);
} sleepers SEC(".maps");

/* By CPU, epoch, state. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(map_flags, BPF_F_MMAPABLE);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct sleep_stats);
} sleeps SEC(".maps");

/* Wake-up latencies, by CPU, epoch. */
struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(map_flags, BPF_F_MMAPABLE);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct sleep_stats);
} latencies SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 1);
        __type(key, struct cause_key);
        __type(value, struct cause_value);
} causes SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 2048);
        __type(key, __u64);
        __type(value, struct function);
} functions SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 4096);
        __type(key, __u64);
        __type(value, struct unit);
} units SEC(".maps");

/* How many of these are in a service or a user's slice, by its ID. */
struct {
        __uint(type, BPF_MAP_TYPE_HASH);
        __uint(max_entries, 4096);
        __type(key, __u64);
        __type(value, __u32);
} shares SEC(".maps");

/* Too large for a stack, and only used with interrupts off or where losing a name does no harm. */
struct {
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
        __uint(max_entries, 1);
        __type(key, __u32);
        __type(value, struct unit);
} scratch SEC(".maps");

struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 4096);
} records SEC(".maps");

static struct sleeper *sleeper_of(__u32 cpu)
{
        return active ? bpf_map_lookup_elem(&sleepers, &cpu) : NULL;
}

/* This CPU's, if its idle task has it and the cause of its sleep may still be found; else NULL. */
static struct sleeper *sleeper_here(void)
{
        struct sleeper *s = sleeper_of(bpf_get_smp_processor_id());

        return s && s->entered_ns && (__u32)bpf_get_current_pid_tgid() == 0 ? s : NULL;
}

/* A line of a table with `per_half` of them for each CPU and half. */
static struct sleep_stats *stats_of(void *map, __u32 cpu, __u32 half, __u32 per_half, __u32 line)
{
        __u32 i = (cpu * EPOCHS + half) * per_half + line;

        return bpf_map_lookup_elem(map, &i);
}

static __u64 switches_of(const struct sleeper *s)
{
        const struct rq *rq = (const struct rq *)s->trace.run_queue;

        return BPF_CORE_READ(rq, nr_switches);
}

static void record(struct sleeper *s, __u32 cpu)
{
        __u64 woken = s->woken_ns && s->woken_ns < s->left_ns ? s->woken_ns : s->left_ns;
        struct sleep_record *r;

        if (s->trace.length_ns == LENGTH_UNKNOWN)
                return; /* it says nothing about a governor, and there are few */
        r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
        if (!r) {
                __sync_fetch_and_add(&records_lost, 1);
                return;
        }
        r->entered_ns = s->trace.chosen_ns;
        r->idle_ns = woken - s->trace.chosen_ns;
        r->length_ns = s->trace.length_ns;
        r->latency_us = s->trace.latency_us;
        r->cause = s->cause;
        r->cpu = cpu;
        r->utilization = s->trace.utilization;
        r->io_waiting = s->trace.io_waiting;
        r->state = s->state;
        r->kind = s->kind;
        r->resched = !s->trace.run_queue || switches_of(s) != s->trace.switches;
        r->got_tick = s->trace.got_tick;
        r->length_guessed = s->trace.length_guessed;
        __builtin_memset(r->spare, 0, sizeof(r->spare));
        bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
}

static bool count_cause(const struct sleeper *s, __u32 cpu, __u32 half, __u64 slept)
{
        struct cause_key key = {
                .cause = s->cause, .cpu = cpu, .epoch = half, .state = s->state, .kind = s->kind
        };
        __u64 missing = s->deepest_ns > slept ? s->deepest_ns - slept : 0;
        struct cause_value *found = bpf_map_lookup_elem(&causes, &key), first;

        if (found) {
                found->count++;
                found->slept_ns += slept;
                found->short_ns += missing;
                return true;
        }
        first = (struct cause_value){ 1, slept, missing };
        return bpf_map_update_elem(&causes, &key, &first, BPF_ANY) == 0;
}

static void count_latency(struct sleeper *s, __u32 cpu, __u64 ns)
{
        struct sleep_stats *stats = stats_of(&latencies, cpu, epoch & 1, 1, 0);

        if (!stats)
                return;
        sleep_stats_add(stats, ns);
        if (s->limit_ns && ns > s->limit_ns)
                stats->violations++;
}

/* Counts the sleep that is over. */
static void finish(struct sleeper *s, __u32 cpu)
{
        __u64 slept = s->left_ns - s->entered_ns;
        __u32 half = epoch & 1;
        struct sleep_stats *stats = stats_of(&sleeps, cpu, half, SLEEPS_STATES, s->state);

        if (!stats)
                return;
        sleep_stats_add(stats, slept);
        if (with_causes && !count_cause(s, cpu, half, slept))
                stats->unstored++;
        if (with_latencies && s->kind == CAUSE_TASK && s->sent_ns && s->left_ns > s->sent_ns)
                count_latency(s, cpu, s->left_ns - s->sent_ns);
        if (with_records)
                record(s, cpu);
}

/* The run queue of this CPU, found through its idle task. */
static __u64 find_run_queue(void)
{
        const struct task_struct *idle = (const void *)bpf_get_current_task();
        const struct cfs_rq *queue = NULL;

        if (!bpf_core_field_exists(idle->se.cfs_rq) || !bpf_core_field_exists(queue->rq))
                return 0;
        return (__u64)BPF_CORE_READ(idle, se.cfs_rq, rq);
}

/* What the governor knew when it chose. One that did not ask for the next timer could have found it
 * where the kernel's timers keep it; until the tick is stopped that is the tick. Where these are is
 * not known before the first of this CPU has expired. */
static void note_circumstances(struct sleeper *s)
{
        const struct hrtimer_cpu_base *timers = (const void *)s->trace.timers;
        const struct rq *rq;
        __u64 utilization;

        s->trace.length_ns = s->trace.reported_length_ns;
        s->trace.latency_us = s->trace.reported_latency_us;
        s->trace.chosen_ns = s->trace.length_reported ? s->trace.reported_ns : s->entered_ns;
        s->trace.length_guessed = !s->trace.length_reported;
        if (!s->trace.length_reported) {
                __s64 length = timers ? BPF_CORE_READ(timers, expires_next) - s->entered_ns : 0;

                s->trace.length_ns = !timers ? LENGTH_UNKNOWN : length > 0 ? length : 0;
        }
        s->trace.length_reported = 0;
        if (!s->trace.run_queue)
                s->trace.run_queue = find_run_queue();
        if (!s->trace.run_queue)
                return;
        rq = (const struct rq *)s->trace.run_queue;
        utilization = BPF_CORE_READ(rq, cfs.avg.util_avg);
        s->trace.utilization = utilization < UTILIZATION_MAX ? utilization : UTILIZATION_MAX;
        s->trace.io_waiting = BPF_CORE_READ(rq, nr_iowait.counter);
        s->trace.switches = switches_of(s);
}

static void begin(struct sleeper *s, __u32 state, __u64 now)
{
        s->left_ns = 0;
        s->woken_ns = 0;
        s->sent_ns = 0;
        s->state = state < SLEEPS_STATES ? state : SLEEPS_STATES - 1;
        s->kind = CAUSE_UNKNOWN;
        s->trace.got_tick = 0;
        if (with_events)
                __builtin_memset(&s->cause, 0, sizeof(s->cause));
        s->entered_ns = now;
}

SEC("tp_btf/cpu_idle")
int BPF_PROG(on_cpu_idle, unsigned int state, unsigned int unused)
{
        __u32 cpu = bpf_get_smp_processor_id();
        struct sleeper *s = sleeper_of(cpu);
        __u64 now = bpf_ktime_get_ns();

        if (!s)
                return 0;
        if (state != (__u32)-1) {
                if (with_events && s->entered_ns && s->left_ns)
                        finish(s, cpu);
                begin(s, state, now);
                if (with_records)
                        note_circumstances(s);
                return 0;
        }
        if (!s->entered_ns || s->left_ns) {
                __sync_fetch_and_add(&unpaired, 1);
                return 0;
        }
        s->left_ns = now;
        if (!with_events) {
                finish(s, cpu);
                s->entered_ns = 0;
        }
        return 0;
}

/* True if it is the first. */
static bool set_kind(struct sleeper *s, __u32 kind)
{
        if (s->kind != CAUSE_UNKNOWN)
                return false;
        s->kind = kind;
        s->woken_ns = bpf_ktime_get_ns();
        return true;
}

/* Whether there is room for one more unit of this service or user. */
static bool take_share(const struct kernfs_node *node)
{
        const struct kernfs_node *owner = cgroup_owner(node);
        __u32 *count, one = 1;
        __u64 id;

        if (!owner)
                return false;
        id = BPF_CORE_READ(owner, id);
        count = bpf_map_lookup_elem(&shares, &id);
        if (!count)
                return bpf_map_update_elem(&shares, &id, &one, BPF_ANY) == 0;
        return *count < UNITS_SHARE && __sync_fetch_and_add(count, 1) < UNITS_SHARE;
}

static void learn_unit(__u64 id, const struct kernfs_node *node)
{
        __u32 zero = 0;
        struct unit *unit = bpf_map_lookup_elem(&scratch, &zero);

        if (!unit)
                return;
        for (int i = 0; i < UNIT_LEVELS; i++) {
                const char *name = node ? BPF_CORE_READ(node, name) : NULL;

                unit->names[i][0] = 0;
                if (!name)
                        continue;
                bpf_probe_read_kernel_str(unit->names[i], UNIT_NAME, name);
                node = cgroup_parent(node);
        }
        bpf_map_update_elem(&units, &id, unit, BPF_ANY);
}

static void set_task(struct sleeper *s, const struct task_struct *task)
{
        const struct kernfs_node *node;
        __u64 id;

        if (!with_causes)
                return;
        node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn);
        id = node ? BPF_CORE_READ(node, id) : 0;
        bpf_probe_read_kernel(s->cause.name, sizeof(task->comm), task->comm);
        s->cause.cgroup = id;
        if (id && !bpf_map_lookup_elem(&units, &id) && take_share(node))
                learn_unit(id, node);
}

static bool is_name(const char *name, const char *expected)
{
        return bpf_strncmp(name, FUNCTION_NAME, expected) == 0;
}

/* The CLASS_ of a function, whose name is learnt when it is first seen. */
static __u32 class_of(__u64 address)
{
        struct function *known = bpf_map_lookup_elem(&functions, &address);
        struct function function = {};
        __u64 arguments[] = { address };

        if (known)
                return known->class;
        bpf_snprintf(function.name, sizeof(function.name), "%ps", arguments, sizeof(arguments));
        function.class = CLASS_OTHER;
        if (is_name(function.name, "tick_nohz_handler") ||
            is_name(function.name, "tick_sched_timer"))
                function.class = CLASS_TICK;
        else if (is_name(function.name, "hrtimer_wakeup"))
                function.class = CLASS_HRTIMER_WAKEUP;
        else if (is_name(function.name, "delayed_work_timer_fn"))
                function.class = CLASS_DELAYED_WORK;
        else if (is_name(function.name, "process_timeout"))
                function.class = CLASS_PROCESS_TIMEOUT;
        else if (is_name(function.name, "sched_ttwu_pending"))
                function.class = CLASS_REMOTE_WAKEUP;
        bpf_map_update_elem(&functions, &address, &function, BPF_ANY);
        return function.class;
}

/* The first timer of the interrupt that ended the sleep: how late it is. */
static void count_timer_latency(struct sleeper *s, const struct hrtimer *timer, __s64 base_now)
{
        __s64 late = base_now - timer->node.expires;

        if (late >= 0 && s->woken_ns - s->entered_ns > (__u64)late)
                count_latency(s, bpf_get_smp_processor_id(), late);
}

/* A time that new kernels (7.3) pass by value, and old ones (6.12) by its address, which is
 * negative as a number: in the upper half of the address space. */
static __s64 time_passed(__s64 passed)
{
        __s64 time = passed;

        if (passed < 0)
                bpf_probe_read_kernel(&time, sizeof(time), (const void *)passed);
        return time;
}

/* Clocks of other bases differ from the monotonic one; `now` is of the timer's own. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer, struct hrtimer *timer, __s64 now)
{
        struct sleeper *s = sleeper_of(bpf_get_smp_processor_id());
        __u64 function = (__u64)timer->function;
        bool first;
        __u32 class;

        if (with_records && s && !s->trace.timers)
                s->trace.timers = (__u64)BPF_CORE_READ(timer, base, cpu_base);
        s = sleeper_here();
        if (!s)
                return 0;
        first = set_kind(s, CAUSE_LOCAL_TIMER) ||
                (s->kind == CAUSE_LOCAL_TIMER && !s->cause.function);
        if (!first && !with_records)
                return 0;
        class = class_of(function);
        if (class == CLASS_TICK)
                s->trace.got_tick = 1;
        if (!first)
                return 0;
        if (with_latencies)
                count_timer_latency(s, timer, time_passed(now));
        s->kind = class == CLASS_TICK ? CAUSE_TICK : CAUSE_TIMER;
        s->cause.function = function;
        if (class == CLASS_HRTIMER_WAKEUP)
                set_task(s, BPF_CORE_READ((struct hrtimer_sleeper *)timer, task));
        return 0;
}

/* The tick is what runs these, so they say more than it does. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_timer, struct timer_list *timer)
{
        struct sleeper *s = sleeper_here();
        __u64 function = (__u64)timer->function;
        __u32 class;

        if (!s || !(set_kind(s, CAUSE_LOCAL_TIMER) || s->kind == CAUSE_LOCAL_TIMER ||
                    s->kind == CAUSE_TICK))
                return 0;
        class = class_of(function);
        s->kind = CAUSE_TIMER;
        if (class == CLASS_PROCESS_TIMEOUT) {
                set_task(s, BPF_CORE_READ((struct process_timer *)timer, task));
        } else if (class == CLASS_DELAYED_WORK) {
                __u64 offset = bpf_core_field_offset(struct delayed_work, timer);
                const struct delayed_work *work = (const void *)((__u64)timer - offset);

                function = (__u64)BPF_CORE_READ(work, work.func);
                class_of(function);
        }
        s->cause.function = function;
        return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq, int irq, struct irqaction *action)
{
        struct sleeper *s = sleeper_here();

        if (!s)
                return 0;
        if (action->flags & IRQF_TIMER) {
                set_kind(s, CAUSE_LOCAL_TIMER);
        } else if (set_kind(s, CAUSE_IRQ)) {
                s->cause.function = irq;
                bpf_probe_read_kernel_str(s->cause.name, CAUSE_NAME, action->name);
        }
        return 0;
}

static int on_vector(__u32 kind)
{
        struct sleeper *s = sleeper_here();

        if (s)
                set_kind(s, kind);
        return 0;
}

SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_local_timer, int vector)
{
        return on_vector(CAUSE_LOCAL_TIMER);
}

SEC("tp_btf/reschedule_entry")
int BPF_PROG(on_reschedule, int vector)
{
        return on_vector(CAUSE_RESCHEDULE);
}

SEC("tp_btf/call_function_entry")
int BPF_PROG(on_call_function, int vector)
{
        return on_vector(CAUSE_FUNCTION_CALL);
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(on_call_function_single, int vector)
{
        return on_vector(CAUSE_FUNCTION_CALL);
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(on_irq_work, int vector)
{
        return on_vector(CAUSE_IRQ_WORK);
}

static int on_named_vector(const char *name, __u32 size)
{
        struct sleeper *s = sleeper_here();

        if (s && set_kind(s, CAUSE_VECTOR))
                bpf_probe_read_kernel_str(s->cause.name, size, name);
        return 0;
}

SEC("tp_btf/thermal_apic_entry")
int BPF_PROG(on_thermal, int vector)
{
        static const char name[] = "thermal event";

        return on_named_vector(name, sizeof(name));
}

SEC("tp_btf/x86_platform_ipi_entry")
int BPF_PROG(on_platform, int vector)
{
        static const char name[] = "platform";

        return on_named_vector(name, sizeof(name));
}

/* From 6.6 on. A CPU that polls is called without an interrupt. The kernel shows no pointers to
 * functions to programs that know types. */
SEC("raw_tp/csd_function_entry")
int on_csd_function(struct bpf_raw_tracepoint_args *args)
{
        struct sleeper *s = sleeper_here();
        __u64 function = args->args[0];

        if (!s)
                return 0;
        set_kind(s, CAUSE_FUNCTION_CALL);
        /* One that only passes on wake-ups is left to them. */
        if (s->kind == CAUSE_FUNCTION_CALL && !s->cause.function &&
            class_of(function) != CLASS_REMOTE_WAKEUP)
                s->cause.function = function;
        return 0;
}

/* An interrupt for this alone is only how the wake-up came. */
static void wake_target(struct sleeper *s, const struct task_struct *task)
{
        if (s->kind == CAUSE_TASK)
                return;
        if (s->sent_pid != (__u32)BPF_CORE_READ(task, pid))
                s->sent_ns = 0;
        if (!set_kind(s, CAUSE_TASK)) {
                if ((s->kind != CAUSE_RESCHEDULE && s->kind != CAUSE_FUNCTION_CALL) ||
                    s->cause.function || s->cause.name[0])
                        return;
                s->kind = CAUSE_TASK;
        }
        set_task(s, task);
}

static int on_wakeup(const struct task_struct *task)
{
        __u32 target = BPF_CORE_READ(task, thread_info.cpu), here = bpf_get_smp_processor_id();
        struct sleeper *s = sleeper_here();

        if (s && s->kind == CAUSE_TIMER && !s->cause.name[0])
                set_task(s, task);
        if (target == here) {
                if (s)
                        wake_target(s, task);
                return 0;
        }
        s = sleeper_of(target);
        if (s && s->entered_ns)
                wake_target(s, task);
        return 0;
}

/* The CPU that the task was on is most often the one that it will run on; wake_target() sees. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_sched_waking, struct task_struct *task)
{
        struct sleeper *s = sleeper_of(BPF_CORE_READ(task, thread_info.cpu));

        if (s && s->entered_ns && !s->left_ns && s->kind == CAUSE_UNKNOWN && !s->sent_ns) {
                s->sent_pid = BPF_CORE_READ(task, pid);
                s->sent_ns = bpf_ktime_get_ns();
        }
        return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct *task)
{
        return on_wakeup(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct *task)
{
        return on_wakeup(task);
}

/* What the governor asks for, and the answers. */
SEC("fexit/tick_nohz_get_sleep_length")
int BPF_PROG(on_sleep_length, __s64 *unused, __s64 length)
{
        struct sleeper *s = sleeper_of(bpf_get_smp_processor_id());

        if (s) {
                s->trace.reported_length_ns = length > 0 ? length : 0;
                s->trace.reported_ns = bpf_ktime_get_ns();
                s->trace.length_reported = 1;
        }
        return 0;
}

SEC("fexit/cpuidle_governor_latency_req")
int BPF_PROG(on_latency_limit, unsigned int cpu, __s64 limit)
{
        struct sleeper *s = sleeper_of(cpu);

        if (s)
                s->trace.reported_latency_us = (__u64)limit < UNBOUND_NS ? (__u64)limit / 1000 : -1;
        return 0;
}
