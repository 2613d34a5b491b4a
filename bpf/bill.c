/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loader of the programs that count delays of wake-ups, and the reader of their tables.
 */
#include "bpf/bill.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/cgroup-unit.h"

#if HAVE_BPF

#include <wakeups.lskel.h>

struct Bill {
        struct wakeups_bpf *programs;
        int n_cpus;
};

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
                r = wakeups_bpf__load(bill->programs);
        }
        if (r >= 0)
                r = wakeups_bpf__attach(bill->programs);
        if (r < 0) {
                bill_close(bill);
                return r;
        }
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

/* All keys of the table, collected first, because the kernel begins again behind one that is gone.
 */
static GArray *read_keys(int fd)
{
        GArray *keys = g_array_new(FALSE, FALSE, sizeof(struct bill_key));
        struct bill_key key, *previous = NULL;

        while (keys->len < 2 * BILL_DELAYS && map_call(BPF_MAP_GET_NEXT_KEY, fd, previous, &key)) {
                g_array_append_val(keys, key);
                previous = &key;
        }
        return keys;
}

/* Paths of cgroups by their ID, as far as they have been asked for; "" if one is not known. */
typedef struct Paths {
        const Bill *bill;
        GHashTable *known; /* uint64_t -> char * */
} Paths;

static const char *path_of(const Paths *paths, uint64_t id)
{
        char *path = g_hash_table_lookup(paths->known, &id);
        struct bill_cgroup cgroup;

        if (path)
                return path;
        if (map_call(BPF_MAP_LOOKUP_ELEM, paths->bill->programs->maps.cgroups.map_fd, &id, &cgroup))
                path = cgroup_path_of_names(cgroup.names, MIN(cgroup.size, CGROUP_PATH_SIZE),
                                            cgroup.whole);
        else
                path = g_strdup_printf("?/%" G_GUINT64_FORMAT, id);
        g_hash_table_insert(paths->known, g_memdup2(&id, sizeof(id)), path);
        return path;
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

static void add(UnitWakeups *row, uint32_t kind, const WakeupDelays *delays)
{
        wakeups_merge(&row->all, delays);
        if (kind < WAKEUPS_STATES)
                wakeups_merge(&row->idle[kind], delays);
        if (kind == BILL_WAITING || kind == BILL_PARKED)
                wakeups_merge(&row->waiting, delays);
        if (kind == BILL_PARKED)
                wakeups_merge(&row->parked, delays);
}

static void read_counters(const Bill *bill, BillTotals *totals)
{
        struct bill_cpu cpu;

        totals->lost = __atomic_load_n(&bill->programs->bss->lost, __ATOMIC_RELAXED);
        totals->unstored = __atomic_load_n(&bill->programs->bss->unstored, __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < (uint32_t)bill->n_cpus; i++)
                if (map_call(BPF_MAP_LOOKUP_ELEM, bill->programs->maps.cpus.map_fd, &i, &cpu))
                        totals->skipped += cpu.skipped;
}

/* Makes room. */
static void drop_gone(const Bill *bill, const GArray *keys)
{
        int names = bill->programs->maps.cgroups.map_fd;
        struct bill_cgroup cgroup;

        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);

                if (!map_call(BPF_MAP_LOOKUP_ELEM, names, &key->cgroup, &cgroup) || cgroup.gone)
                        map_call(BPF_MAP_DELETE_ELEM, bill->programs->maps.delays.map_fd, key,
                                 NULL);
        }
        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);

                if (map_call(BPF_MAP_LOOKUP_ELEM, names, &key->cgroup, &cgroup) && cgroup.gone)
                        map_call(BPF_MAP_DELETE_ELEM, names, &key->cgroup, NULL);
        }
}

void bill_read(Bill *bill, BillWants wants, void *data, BillTotals *ret_totals)
{
        int fd = bill->programs->maps.delays.map_fd;
        g_autoptr(GArray) keys = read_keys(fd);
        g_autoptr(GHashTable) rows = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        Paths paths = { bill, g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free) };
        BillTotals totals = { .units = g_ptr_array_new_with_free_func(
                                      (GDestroyNotify)unit_wakeups_free) };
        WakeupDelays delays;

        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);
                g_autofree char *cgroup = cgroup_unit_path(path_of(&paths, key->cgroup));

                if ((!wants || wants(cgroup, data)) &&
                    map_call(BPF_MAP_LOOKUP_ELEM, fd, key, &delays))
                        add(row_of(rows, totals.units, cgroup, key->process), key->kind, &delays);
        }
        read_counters(bill, &totals);
        if (keys->len > BILL_DELAYS / 2)
                drop_gone(bill, keys);
        g_hash_table_unref(paths.known);
        *ret_totals = totals;
}

#else

int bill_open(int n_cpus, bool by_process, Bill **ret_bill)
{
        return -EOPNOTSUPP;
}

void bill_set_parked(Bill *bill, int n_parked, int n_active)
{
}

/* Makes room. */
static void drop_gone(const Bill *bill, const GArray *keys)
{
        int names = bill->programs->maps.cgroups.map_fd;
        struct bill_cgroup cgroup;

        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);

                if (!map_call(BPF_MAP_LOOKUP_ELEM, names, &key->cgroup, &cgroup) || cgroup.gone)
                        map_call(BPF_MAP_DELETE_ELEM, bill->programs->maps.delays.map_fd, key,
                                 NULL);
        }
        for (unsigned i = 0; i < keys->len; i++) {
                const struct bill_key *key = &g_array_index(keys, struct bill_key, i);

                if (map_call(BPF_MAP_LOOKUP_ELEM, names, &key->cgroup, &cgroup) && cgroup.gone)
                        map_call(BPF_MAP_DELETE_ELEM, names, &key->cgroup, NULL);
        }
}

void bill_read(Bill *bill, BillWants wants, void *data, BillTotals *ret_totals)
{
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
