/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Unbound workqueues and isolated partitions.
 *
 * When an isolated partition changes, Linux 6.8 and later takes its CPUs out of the mask of unbound
 * workqueues, under cpuset_mutex. That may create kernel threads, and can deadlock:
 *
 *      writer of the partition   has cpuset_mutex, waits for kthreadd to create a thread
 *      kthreadd                  forks, waits for cgroup_threadgroup_rwsem
 *      any program that moves    has cgroup_threadgroup_rwsem, waits for cpuset_mutex
 *      tasks between cgroups     (cgroup.procs, cgroup.subtree_control)
 *
 * From then on no process can start or end. On 6.12 one start of a service with AllowedCPUs= was
 * enough, because systemd switches the cpuset controller on while idled unparks CPUs.
 *
 * The kernel creates nothing if the mask has none of the CPUs already. So idled removes CPUs from
 * the mask before they join the partition, and adds them after they left it. A write to the mask
 * does not take cpuset_mutex.
 *
 *      workqueue  cpumask      as found -> without the parked CPUs
 *
 * The write also replaces what the kernel excluded for partitions of other programs. So idled makes
 * no partition next to those.
 */
#include "act/park/park-workqueue.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "act/park/park-isolate.h"
#include "base/cpuset-text.h"
#include "base/file.h"

static int workqueue_read(const ActContext *context, const char *name, char **ret_value)
{
        int r;

        if (!g_str_equal(name, PARK_UNBOUND))
                return -ENOENT;
        r = file_read(context->root, PARK_UNBOUND_PATH "_requested", ret_value);
        return r == -ENOENT ? file_read(context->root, PARK_UNBOUND_PATH, ret_value) : r;
}

static int workqueue_write(const ActContext *context, const char *name, const char *value)
{
        return g_str_equal(name, PARK_UNBOUND) ? file_write(context->root, PARK_UNBOUND_PATH, value)
                                               : -ENOENT;
}

static uint64_t workqueue_identity(const ActContext *context, const char *name)
{
        return 1; /* there is only one */
}

static bool workqueue_equal(const char *a, const char *b)
{
        CpuSet x, y;

        return cpuset_parse_mask(a, &x) == 0 && cpuset_parse_mask(b, &y) == 0 &&
               cpuset_equal(&x, &y);
}

const KnobKind park_workqueue_kind = {
        .name = "workqueue",
        .read = workqueue_read,
        .write = workqueue_write,
        .identity = workqueue_identity,
        .equal = workqueue_equal,
};

bool workqueue_follows_partitions(int root)
{
        return faccessat(root, PARK_UNBOUND_PATH "_isolated", F_OK, 0) == 0;
}

/* CPUs of a mask in a file; empty if it cannot be read. */
static CpuSet read_mask(int root, const char *path)
{
        g_autofree char *text = NULL;
        CpuSet cpus = { 0 };

        if (file_read(root, path, &text) < 0 || cpuset_parse_mask(text, &cpus) < 0)
                cpus = (CpuSet){ 0 };
        return cpus;
}

/* Takes `cpus` out of the original mask; one that has no other CPU becomes all others. */
static int set_without(Knobs *knobs, const CpuSet *cpus, const CpuSet *online)
{
        g_autofree char *original = NULL, *mask = NULL;
        CpuSet found, left;
        int r = knob_original(knobs, &park_workqueue_kind, PARK_UNBOUND, &original);

        if (r < 0)
                return r;
        r = cpuset_parse_mask(original, &found);
        if (r < 0)
                return r;
        left = found;
        cpuset_subtract(&left, cpus);
        if (!cpuset_intersects(&found, cpus))
                return knob_release(knobs, &park_workqueue_kind, PARK_UNBOUND);
        if (!cpuset_intersects(&left, online)) {
                left = *online;
                cpuset_subtract(&left, cpus);
        }
        mask = cpuset_format_mask(&left);
        return knob_set(knobs, &park_workqueue_kind, PARK_UNBOUND, mask);
}

/* Why the kernel would change the mask when `both` are or were in the partition, as a new string;
 * NULL: it would not. */
static char *obstacle(int root, const CpuSet *before, const CpuSet *both)
{
        CpuSet mask = read_mask(root, PARK_UNBOUND_PATH "_requested");
        CpuSet others = read_mask(root, PARK_UNBOUND_PATH "_isolated");
        g_autofree char *list = NULL;

        cpuset_subtract(&others, before);
        cpuset_and(&others, &mask);
        if (!cpuset_is_empty(&others)) {
                list = cpuset_format(&others);
                return g_strdup_printf("another program isolates CPUs %s", list);
        }
        cpuset_and(&mask, both);
        if (cpuset_is_empty(&mask))
                return NULL;
        list = cpuset_format(&mask);
        return g_strdup_printf("another program lets unbound workqueues run on CPUs %s", list);
}

int workqueue_leave(Knobs *knobs, int root, const CpuSet *before, const CpuSet *after,
                    const CpuSet *online, char **ret_why)
{
        static const CpuSet none;
        CpuSet both = *before;
        char *why;
        int r;

        if (!workqueue_follows_partitions(root))
                return 0;
        cpuset_or(&both, after);
        why = obstacle(root, before, &none);
        if (!why) {
                r = set_without(knobs, &both, online);
                if (r < 0 && r != -ESTALE) {
                        if (knobs_record_error(knobs) >= 0)
                                *ret_why = g_strdup_printf("Failed to write /" PARK_UNBOUND_PATH
                                                           ": %s",
                                                           g_strerror(-r));
                        return r;
                }
                why = knobs_is_dry_run(knobs) ? NULL : obstacle(root, before, &both);
        }
        *ret_why = why;
        return why ? -EBUSY : 0;
}

void workqueue_return(Knobs *knobs, int root, const CpuSet *after, const CpuSet *online)
{
        if (!workqueue_follows_partitions(root))
                return;
        if (!cpuset_is_empty(after))
                set_without(knobs, after, online);
        else if (!workqueue_is_parked(knobs, root))
                knob_release(knobs, &park_workqueue_kind, PARK_UNBOUND);
}

bool workqueue_is_parked(const Knobs *knobs, int root)
{
        return workqueue_follows_partitions(root) &&
               (knob_find(knobs, &park_partition_kind, PARK_TYPE_OF(PARK_GROUP)) ||
                knob_find(knobs, &park_partition_kind, PARK_TYPE_OF(PARK_SLICE)));
}
