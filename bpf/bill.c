/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loader of the programs that count delays of wake-ups, and the reader of their tables.
 */
#include "bpf/bill.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "model/cgroup-unit.h"

uint32_t bill_rows = BILL_DELAYS;

#if HAVE_BPF

#include <wakeups.lskel.h>

struct Bill {
        struct wakeups_bpf *programs;
        int n_cpus;
        uint64_t read_ns;    /* when it was read last */
        BillReading counted; /* by then; without units */
};

static uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bill_close(Bill *bill)
{
        if (!bill)
                return;
        wakeups_bpf__destroy(bill->programs);
        g_free(bill);
}

int bill_open(int n_cpus, bool by_process, Bill **ret_bill)
{
        Bill *bill = g_new0(Bill, 1);
        int r = -ENOMEM;

        bill->n_cpus = MAX(n_cpus, 1);
        bill->programs = wakeups_bpf__open();
        if (bill->programs) {
                bill->programs->rodata->by_process = by_process;
                bill->programs->maps.cpus.max_entries = (__u32)bill->n_cpus;
                bill->programs->maps.delays.max_entries = bill_rows;
                r = wakeups_bpf__load(bill->programs);
        }
        if (r >= 0 && wakeups_bpf__attach(bill->programs) < 0)
                r = -errno; /* it returns -1, which is not -EPERM */
        if (r < 0) {
                bill_close(bill);
                return r;
        }
        bill->read_ns = now_ns();
        *ret_bill = bill;
        return 0;
}

void bill_set_parked(Bill *bill, int n_parked, int n_active)
{
        __atomic_store_n(&bill->programs->bss->n_active, (__u32)n_active, __ATOMIC_RELEASE);
        __atomic_store_n(&bill->programs->bss->n_parked, (__u32)n_parked, __ATOMIC_RELEASE);
}

static bool map_call(int command, int fd, const void *key, void *value)
{
        union bpf_attr attr = { .map_fd = (__u32)fd,
                                .key = (uintptr_t)key,
                                .value = (uintptr_t)value };

        return syscall(SYS_bpf, command, &attr, sizeof(attr)) == 0;
}

/* Until no program that began before works any more. */
static void wait_for_programs(void)
{
        static const struct timespec long_enough = { .tv_nsec = 2000000 };

        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
                nanosleep(&long_enough, NULL);
}

/* Keys of the half that rests, collected before any is taken, because the kernel begins again
 * behind one that is gone. `*error` stays if the table can be read. */
static GArray *read_keys(int fd, size_t size, size_t epoch_at, uint32_t epoch, int *error)
{
        GArray *keys = g_array_new(FALSE, FALSE, (guint)size);
        g_autofree char *key = g_malloc0(size), *previous = NULL;
        uint32_t its;

        while (map_call(BPF_MAP_GET_NEXT_KEY, fd, previous, key)) {
                memcpy(&its, key + epoch_at, sizeof(its));
                if (its == epoch)
                        g_array_append_vals(keys, key, 1);
                if (!previous)
                        previous = g_malloc(size);
                memcpy(previous, key, size);
        }
        if (errno != ENOENT)
                *error = -errno;
        return keys;
}

/* Paths of units by the IDs of their cgroups. */
static GHashTable *take_paths(const Bill *bill, uint32_t epoch, int *error)
{
        GHashTable *paths = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        int fd = bill->programs->maps.cgroups.map_fd;
        g_autoptr(GArray) keys = read_keys(fd, sizeof(struct bill_cgroup_key),
                                           offsetof(struct bill_cgroup_key, epoch), epoch, error);
        struct bill_cgroup cgroup;

        for (unsigned i = 0; i < keys->len; i++) {
                struct bill_cgroup_key *key = &g_array_index(keys, struct bill_cgroup_key, i);
                g_autofree char *path = NULL;

                if (!map_call(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, &cgroup))
                        continue;
                path = cgroup_path_of_names(cgroup.names, MIN(cgroup.size, CGROUP_PATH_SIZE),
                                            cgroup.whole);
                g_hash_table_insert(paths, g_memdup2(&key->cgroup, sizeof(key->cgroup)),
                                    cgroup_unit_path(path));
        }
        return paths;
}

static UnitWakeups *row_of(GHashTable *rows, GPtrArray *units, const char *cgroup,
                           const char *process)
{
        g_autofree char *key = g_strconcat(cgroup, "\n", process, NULL);
        UnitWakeups *row = g_hash_table_lookup(rows, key);

        if (row)
                return row;
        row = g_new0(UnitWakeups, 1);
        row->cgroup = g_strdup(cgroup);
        row->unit = cgroup_unit_name(cgroup);
        row->process = *process ? g_strndup(process, BILL_PROCESS) : NULL;
        g_ptr_array_add(units, row);
        g_hash_table_insert(rows, g_steal_pointer(&key), row);
        return row;
}

static void take_counters(Bill *bill, BillReading *reading)
{
        BillReading counted = { 0 };
        struct bill_cpu cpu;

        counted.lost = __atomic_load_n(&bill->programs->bss->lost, __ATOMIC_RELAXED);
        counted.unstored = __atomic_load_n(&bill->programs->bss->unstored, __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < (uint32_t)bill->n_cpus; i++)
                if (map_call(BPF_MAP_LOOKUP_ELEM, bill->programs->maps.cpus.map_fd, &i, &cpu))
                        counted.skipped += cpu.skipped;
        reading->lost = counted.lost - bill->counted.lost;
        reading->unstored = counted.unstored - bill->counted.unstored;
        reading->skipped = counted.skipped - bill->counted.skipped;
        bill->counted = counted;
}

int bill_read(Bill *bill, BillWants wants, void *data, BillReading *ret_reading)
{
        uint32_t epoch = bill->programs->bss->epoch;
        uint64_t now = now_ns();
        int fd = bill->programs->maps.delays.map_fd;
        g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GHashTable) paths = NULL;
        g_autoptr(GArray) keys = NULL;
        BillReading reading = { .duration_ns = now - bill->read_ns };
        WakeupDelays delays;
        int r = 0;

        bill->read_ns = now;
        __atomic_store_n(&bill->programs->bss->epoch, !epoch, __ATOMIC_RELEASE);
        wait_for_programs();
        paths = take_paths(bill, epoch, &r);
        keys = read_keys(fd, sizeof(struct bill_key), offsetof(struct bill_key, epoch), epoch, &r);
        reading.units = g_ptr_array_new_with_free_func((GDestroyNotify)unit_wakeups_free);
        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);
                const char *cgroup = g_hash_table_lookup(paths, &key->cgroup) ?: "?";

                if (map_call(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, &delays) &&
                    key->kind < WAKEUPS_KINDS && (!wants || wants(cgroup, data)))
                        unit_wakeups_add(row_of(rows, reading.units, cgroup, key->process),
                                         key->kind, &delays);
        }
        take_counters(bill, &reading);
        *ret_reading = reading;
        return r;
}

#else

int bill_open(int n_cpus, bool by_process, Bill **ret_bill)
{
        return -EOPNOTSUPP;
}

void bill_set_parked(Bill *bill, int n_parked, int n_active)
{
}

int bill_read(Bill *bill, BillWants wants, void *data, BillReading *ret_reading)
{
        return -EOPNOTSUPP;
}

void bill_close(Bill *bill)
{
}

#endif

void bill_reading_done(BillReading *reading)
{
        g_clear_pointer(&reading->units, g_ptr_array_unref);
}

char *bill_error(int error)
{
        switch (error) {
        case -EOPNOTSUPP:
                return g_strdup("idled was built without BPF (-Dbpf=enabled)");
        case -EPERM:
        case -EACCES:
                return g_strdup("the kernel refuses BPF programs: CAP_BPF and CAP_PERFMON are "
                                "needed, and a kernel that is not locked down "
                                "(/sys/kernel/security/lockdown)");
        case -ENOENT:
        case -ESRCH:
                return g_strdup("this kernel has no BTF, or lacks an event: Linux 6.1 or newer "
                                "with CONFIG_DEBUG_INFO_BTF=y is needed");
        default:
                return g_strdup_printf("failed to load BPF programs: %s", g_strerror(-error));
        }
}
