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
        int n_cpus;
        uint64_t read_ns;    /* when it was read last */
        BillReading counted; /* by then; without units */
};

void bill_close(Bill *bill)
{
        if (!bill)
                return;
        wakeups_bpf__destroy(bill->programs);
        g_free(bill);
}

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        Bill *bill = g_new0(Bill, 1);
        int r = -ENOMEM;

        bill->n_cpus = MAX(n_cpus, 1);
        bill->programs = wakeups_bpf__open();
        if (bill->programs) {
                bill->programs->rodata->detail = detail;
                bill->programs->maps.cpus.max_entries = (__u32)bill->n_cpus;
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

/* The reading that rows are taken for. */
typedef struct Taking {
        BillWants wants;
        void *data;
        GHashTable *rows;
        BillReading *reading;
} Taking;

static void take_row(const Taking *taking, const struct bill_key *key, const struct bill_row *row)
{
        g_autofree char *path = cgroup_path_of_names(row->names, MIN(row->size, CGROUP_PATH_SIZE),
                                                     row->whole);
        g_autofree char *cgroup = cgroup_unit_path(path);

        if (key->kind == WAKEUPS_KINDS) {
                if (!taking->reading->over)
                        taking->reading->over = g_ptr_array_new_with_free_func(g_free);
                g_ptr_array_add(taking->reading->over, g_steal_pointer(&cgroup));
        } else if (!taking->wants || taking->wants(cgroup, taking->data)) {
                unit_wakeups_add(unit_wakeups_row(taking->reading->units, taking->rows, cgroup,
                                                  key->process),
                                 key->kind, &row->delays);
        }
}

/* Takes the rows of one half of a table, or with NULL only deletes them. Negative errno: the kernel
 * refuses to read it. */
static int take_rows(int map, size_t key_size, size_t value_size, uint32_t epoch,
                     const Taking *taking)
{
        g_autofree uint8_t *keys = g_malloc0(key_size * ROWS_EACH);
        g_autofree uint8_t *values = g_malloc0(value_size * ROWS_EACH);
        g_autoptr(GByteArray) taken = g_byte_array_new();
        union bpf_attr gone = { 0 };
        uint32_t at = 0;
        bool first = true, more = true;

        for (; more; first = false) {
                union bpf_attr attr = { .batch = { .in_batch = first ? 0 : (uintptr_t)&at,
                                                   .out_batch = (uintptr_t)&at,
                                                   .keys = (uintptr_t)keys,
                                                   .values = (uintptr_t)values,
                                                   .count = ROWS_EACH,
                                                   .map_fd = (uint32_t)map } };

                more = syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr)) == 0;
                if (!more && errno != ENOENT)
                        return -errno;
                for (uint32_t i = 0; i < attr.batch.count; i++) {
                        const void *key = keys + i * key_size, *value = values + i * value_size;

                        if (*(const uint32_t *)key != epoch)
                                continue;
                        if (taking)
                                take_row(taking, key, value);
                        g_byte_array_append(taken, key, (guint)key_size);
                }
        }
        if (taken->len == 0)
                return 0;
        gone.batch.keys = (uintptr_t)taken->data;
        gone.batch.count = (uint32_t)(taken->len / key_size);
        gone.batch.map_fd = (uint32_t)map;
        return syscall(SYS_bpf, BPF_MAP_DELETE_BATCH, &gone, sizeof(gone)) < 0 ? -errno : 0;
}

static void take_counters(Bill *bill, BillReading *reading)
{
        g_autofree struct bill_cpu *cpus = g_new0(struct bill_cpu, (size_t)bill->n_cpus);
        g_autofree uint32_t *numbers = g_new0(uint32_t, (size_t)bill->n_cpus);
        uint32_t at = 0;
        union bpf_attr attr = { .batch = { .out_batch = (uintptr_t)&at,
                                           .keys = (uintptr_t)numbers,
                                           .values = (uintptr_t)cpus,
                                           .count = (uint32_t)bill->n_cpus,
                                           .map_fd = (uint32_t)bill->programs->maps.cpus.map_fd } };
        BillReading counted = { 0 };

        counted.lost = __atomic_load_n(&bill->programs->bss->lost, __ATOMIC_RELAXED);
        counted.unstored = __atomic_load_n(&bill->programs->bss->unstored, __ATOMIC_RELAXED);
        syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr));
        for (int cpu = 0; cpu < bill->n_cpus; cpu++) {
                counted.skipped += cpus[cpu].skipped;
                counted.lost += cpus[cpu].pending;
        }
        reading->lost = counted.lost - MIN(bill->counted.lost, counted.lost);
        reading->unstored = counted.unstored - bill->counted.unstored;
        reading->skipped = counted.skipped - bill->counted.skipped;
        reading->full = __atomic_exchange_n(&bill->programs->bss->full, 0, __ATOMIC_RELAXED);
        bill->counted = counted;
}

int bill_read(Bill *bill, BillWants wants, void *data, BillReading *ret_reading)
{
        g_autoptr(GHashTable) rows = unit_wakeups_index();
        const Taking taking = { wants, data, rows, ret_reading };
        uint32_t epoch = bill->programs->bss->epoch;
        uint64_t now = clock_nsec(CLOCK_MONOTONIC);
        int r, error;

        *ret_reading = (BillReading){ .duration_ns = now - bill->read_ns };
        ret_reading->units = g_ptr_array_new_with_free_func((GDestroyNotify)unit_wakeups_free);
        bill->read_ns = now;
        __atomic_store_n(&bill->programs->bss->epoch, !epoch, __ATOMIC_RELEASE);
        wait_for_programs();
        r = take_rows(bill->programs->maps.delays.map_fd, sizeof(struct bill_key),
                      sizeof(struct bill_row), epoch, &taking);
        error = take_rows(bill->programs->maps.shares.map_fd, sizeof(struct bill_share_key),
                          sizeof(uint32_t), epoch, NULL);
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
        g_clear_pointer(&reading->over, g_ptr_array_unref);
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
