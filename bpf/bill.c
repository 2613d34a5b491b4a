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

#include "base/clock.h"
#include "model/cgroup-unit.h"

#define ROWS_EACH 128 /* that one call reads */

uint32_t bill_rows = BILL_DELAYS;

#if HAVE_BPF

#include <wakeups.lskel.h>

struct Bill {
        struct wakeups_bpf *programs;
        uint64_t read_ns;    /* when it was read last */
        BillReading counted; /* by then */
        GPtrArray *over;     /* of the last reading */
};

void bill_close(Bill *bill)
{
        if (!bill)
                return;
        wakeups_bpf__destroy(bill->programs);
        g_ptr_array_unref(bill->over);
        g_free(bill);
}

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        Bill *bill = g_new0(Bill, 1);
        int r = -ENOMEM;

        bill->over = g_ptr_array_new_with_free_func(g_free);
        bill->programs = wakeups_bpf__open();
        if (bill->programs) {
                bill->programs->rodata->detail = detail;
                bill->programs->maps.cpus.max_entries = (__u32)MAX(n_cpus, 1);
                bill->programs->maps.delays.max_entries = bill_rows;
                bill->programs->rodata->share = MAX(bill_rows / BILL_SHARES, 1);
                r = wakeups_bpf__load(bill->programs);
        }
        if (r >= 0 && wakeups_bpf__attach(bill->programs) < 0)
                r = -errno; /* it returns -1, which is not -EPERM */
        if (r < 0) {
                bill_close(bill);
                return r;
        }
        bill->read_ns = clock_nsec(CLOCK_MONOTONIC);
        *ret_bill = bill;
        return 0;
}

void bill_set_parked(Bill *bill, const CpuSet *parked, int n_active)
{
        struct wakeups_bpf__bss *bss = bill->programs->bss;
        uint32_t n = 0;

        for (uint32_t i = 0; i < CPUSET_WORDS; i++) {
                __atomic_store_n(&bss->parked[i], parked->bits[i], __ATOMIC_RELAXED);
                if (parked->bits[i])
                        n = i + 1;
        }
        __atomic_store_n(&bss->n_active, (__u32)n_active, __ATOMIC_RELAXED);
        __atomic_store_n(&bss->n_parked_words, n, __ATOMIC_RELEASE);
}

void bill_set_limit(Bill *bill, unsigned i, uint64_t ns)
{
        struct wakeups_bpf__bss *bss = bill->programs->bss;

        __atomic_store_n(&bss->limits_ns[i], ns, __ATOMIC_RELEASE);
        __atomic_store_n(&bss->n_limits, MAX(bss->n_limits, i + 1), __ATOMIC_RELEASE);
}

/* Until no program that began before works any more. */
static void wait_for_programs(void)
{
        static const struct timespec long_enough = { .tv_nsec = 2000000 };

        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
                nanosleep(&long_enough, NULL);
}

typedef void (*RowFunc)(const void *key, const void *value, void *data);

/* A table of the kernel whose keys, but for the one of CPUs, say in which half a row is. */
typedef struct Table {
        int fd;
        size_t key_size, value_size, epoch_at; /* 0: no halves */
} Table;

/* Calls `use` for all rows of one half, and then deletes them, or of a table without halves.
 * Negative errno: the kernel refuses. */
static int take_rows(const Table *table, uint32_t epoch, RowFunc use, void *data)
{
        g_autofree uint8_t *chunk_keys = g_malloc0(table->key_size * ROWS_EACH);
        g_autofree uint8_t *values = g_malloc0(table->value_size * ROWS_EACH);
        g_autoptr(GByteArray) keys = g_byte_array_new();
        uint32_t at = 0, its = epoch;
        union bpf_attr attr;

        for (bool first = true, more = true; more; first = false) {
                attr = (union bpf_attr){ .batch = { .in_batch = first ? 0 : (uintptr_t)&at,
                                                    .out_batch = (uintptr_t)&at,
                                                    .keys = (uintptr_t)chunk_keys,
                                                    .values = (uintptr_t)values,
                                                    .count = ROWS_EACH,
                                                    .map_fd = (uint32_t)table->fd } };
                more = syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr)) == 0;
                if (!more && errno != ENOENT)
                        return -errno;
                for (uint32_t i = 0; i < attr.batch.count; i++) {
                        const uint8_t *key = chunk_keys + i * table->key_size;

                        if (table->epoch_at)
                                memcpy(&its, key + table->epoch_at, sizeof(its));
                        if (its != epoch)
                                continue;
                        use(key, values + i * table->value_size, data);
                        g_byte_array_append(keys, key, (guint)table->key_size);
                }
        }
        if (keys->len == 0 || !table->epoch_at)
                return 0;
        attr = (union bpf_attr){ .batch = { .keys = (uintptr_t)keys->data,
                                            .count = (uint32_t)(keys->len / table->key_size),
                                            .map_fd = (uint32_t)table->fd } };
        return syscall(SYS_bpf, BPF_MAP_DELETE_BATCH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/* The path of a unit, by the ID of its cgroup. */
static void add_path(const void *row, const void *value, void *paths)
{
        const struct bill_cgroup_key *key = row;
        const struct bill_cgroup *cgroup = value;
        g_autofree char *path = cgroup_path_of_names(
                cgroup->names, MIN(cgroup->size, CGROUP_PATH_SIZE), cgroup->whole);

        g_hash_table_insert(paths, g_memdup2(&key->cgroup, sizeof(key->cgroup)),
                            cgroup_unit_path(path));
}

static void add_cpu(const void *key, const void *value, void *data)
{
        const struct bill_cpu *cpu = value;
        BillReading *counted = data;

        counted->skipped += cpu->skipped;
        counted->lost += cpu->pending;
}

static void take_counters(Bill *bill, BillReading *reading)
{
        const Table cpus = { bill->programs->maps.cpus.map_fd, sizeof(uint32_t),
                             sizeof(struct bill_cpu), 0 };
        BillReading counted = { 0 };

        counted.lost = __atomic_load_n(&bill->programs->bss->lost, __ATOMIC_RELAXED);
        counted.unstored = __atomic_load_n(&bill->programs->bss->unstored, __ATOMIC_RELAXED);
        take_rows(&cpus, 0, add_cpu, &counted);
        reading->lost = counted.lost - MIN(bill->counted.lost, counted.lost);
        reading->unstored = counted.unstored - bill->counted.unstored;
        reading->skipped = counted.skipped - bill->counted.skipped;
        reading->full = __atomic_exchange_n(&bill->programs->bss->full, 0, __ATOMIC_RELAXED);
        bill->counted = counted;
}

typedef struct Taking {
        BillTake take;
        void *data;
        GHashTable *paths;
        GPtrArray *over;
} Taking;

static void add_delays(const void *row, const void *value, void *data)
{
        const struct bill_key *key = row;
        const Taking *taking = data;
        const char *cgroup = g_hash_table_lookup(taking->paths, &key->cgroup) ?: "?";

        if (key->kind < WAKEUPS_KINDS && taking->take)
                taking->take(cgroup, key->process, key->kind, value, taking->data);
}

static void add_over(const void *row, const void *value, void *data)
{
        const struct bill_share_key *key = row;
        const struct bill_share *share = value;
        const Taking *taking = data;
        const char *cgroup = g_hash_table_lookup(taking->paths, &key->owner);

        if (share->refused && cgroup)
                g_ptr_array_add(taking->over, g_strdup(cgroup));
}

int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading)
{
        const Table cgroups = { bill->programs->maps.cgroups.map_fd, sizeof(struct bill_cgroup_key),
                                sizeof(struct bill_cgroup),
                                offsetof(struct bill_cgroup_key, epoch) };
        const Table delays = { bill->programs->maps.delays.map_fd, sizeof(struct bill_key),
                               sizeof(WakeupDelays), offsetof(struct bill_key, epoch) };
        const Table shares = { bill->programs->maps.shares.map_fd, sizeof(struct bill_share_key),
                               sizeof(struct bill_share), offsetof(struct bill_share_key, epoch) };
        g_autoptr(GHashTable)
                paths = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        Taking taking = { take, data, paths, bill->over };
        uint32_t epoch = bill->programs->bss->epoch;
        uint64_t now = clock_nsec(CLOCK_MONOTONIC);
        int r, error;

        *ret_reading = (BillReading){ .duration_ns = now - bill->read_ns, .over = bill->over };
        g_ptr_array_set_size(bill->over, 0);
        bill->read_ns = now;
        __atomic_store_n(&bill->programs->bss->epoch, !epoch, __ATOMIC_RELEASE);
        wait_for_programs();
        error = take_rows(&cgroups, epoch, add_path, paths);
        r = take_rows(&delays, epoch, add_delays, &taking);
        if (r >= 0)
                r = take_rows(&shares, epoch, add_over, &taking);
        take_counters(bill, ret_reading);
        return r < 0 ? r : error;
}

#else

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        return -EOPNOTSUPP;
}

void bill_set_parked(Bill *bill, const CpuSet *parked, int n_active)
{
}

void bill_set_limit(Bill *bill, unsigned i, uint64_t ns)
{
}

int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading)
{
        return -EOPNOTSUPP;
}

void bill_close(Bill *bill)
{
}

#endif

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
