/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Affinities of all tasks, from /proc/PID/status and, if a process has more than one thread,
 * /proc/PID/task/TID/status: one read per thread, whose text is searched in place.
 *
 * A kernel thread is recognised by what its status lacks on every kernel: the Vm lines, because it
 * has no memory of its own. A task that is exiting has none either and does not matter any more.
 * (Task 2 as parent is no sign: in a container it can be any process.)
 *
 * Nearly all tasks have one of a few lists, so a list is parsed when it appears for the first time
 * and then looked up as text.
 *
 * Cpus_allowed is the task's affinity within its cpuset. While idled confines a cpuset, every task
 * in it shows exactly the confinement, which no program requested; a narrower affinity is still
 * visible. An affinity that equals the confinement is not visible. That is harmless while one of
 * these CPUs stays active; otherwise nothing may be confined during the scan.
 */
#include "sense/affinities.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/private-text.h"

struct AffinityScan {
        int root, proc;
        DIR *processes, *threads; /* where the scan is; NULL: at the end, or in no process */
        int pid;                  /* whose threads these are */
        unsigned left;            /* how many tasks more in this step */
        CpuSet online;
        CpuSet usable;                     /* a list that holds all of these restricts nothing */
        GArray *confined;                  /* of CpuSet: what idled confines tasks to */
        CpuSet memory;                     /* numbers of the nodes that have memory */
        CpuSet bound;                      /* and of those that tasks are bound to */
        GHashTable *cpu_lists, *mem_lists; /* texts seen */
        Affinities *affinities;            /* what was found so far */
        int process;                       /* whose threads are read */
        char *buffer;
        size_t size;
};

/* What matters of a status file; the strings lie in the scan's buffer. */
typedef struct Status {
        char *name, *cpus, *mems; /* NULL: no such line */
        int threads;
        uid_t uid; /* the real one; -1: not known */
        bool has_memory;
} Status;

/* The value of the line that begins with `key`, which starts with a line break. */
static char *line_value(const char *text, const char *key)
{
        char *line = strstr(text, key);

        return line ? line + strlen(key) : NULL;
}

static void end_line(char *value)
{
        if (value)
                value[strcspn(value, "\n")] = '\0';
}

/* Reads the status file in the directory `path`. */
static int status_read(AffinityScan *scan, const char *path)
{
        _fd_ int fd = -1;
        char file[80];
        int n;

        snprintf(file, sizeof(file), "%s/status", path);
        fd = openat(scan->proc, file, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        while ((n = fd_read_at_start(fd, scan->buffer, scan->size)) == (int)scan->size - 1) {
                if (scan->size >= FILE_SIZE_MAX)
                        return -EFBIG;
                scan->size *= 2;
                scan->buffer = g_realloc(scan->buffer, scan->size);
        }
        return n;
}

static int status_parse(AffinityScan *scan, const char *path, Status *ret_status)
{
        char *text, *threads, *uid;
        int r = status_read(scan, path);

        if (r < 0)
                return r;
        text = scan->buffer;
        threads = line_value(text, "\nThreads:\t");
        uid = line_value(text, "\nUid:\t");
        *ret_status = (Status){
                .name = g_str_has_prefix(text, "Name:\t") ? text + strlen("Name:\t") : NULL,
                .cpus = line_value(text, "\nCpus_allowed_list:\t"),
                .mems = line_value(text, "\nMems_allowed_list:\t"),
                .threads = threads ? atoi(threads) : 1,
                .uid = uid ? (uid_t)strtoul(uid, NULL, 10) : (uid_t)-1,
                .has_memory = line_value(text, "\nVmSize:"),
        };
        end_line(ret_status->name);
        end_line(ret_status->cpus);
        end_line(ret_status->mems);
        return 0;
}

/* Remembers `list`; false: it was known. */
static bool remember(GHashTable *lists, const char *list)
{
        if (g_hash_table_contains(lists, list))
                return false;
        g_hash_table_add(lists, g_strdup(list));
        return true;
}

/* True if a task with this set, offline CPUs left out, is kept from CPUs by others than us. */
static bool restricts(const AffinityScan *scan, const CpuSet *set)
{
        if (cpuset_is_empty(set) || cpuset_is_subset(&scan->usable, set))
                return false;
        for (guint i = 0; i < scan->confined->len; i++)
                if (cpuset_equal(set, &g_array_index(scan->confined, CpuSet, i)))
                        return false;
        return true;
}

void affinity_scan_permit(AffinityScan *scan, const CpuSet *cpus)
{
        CpuSet online = *cpus;

        cpuset_and(&online, &scan->online);
        g_array_append_val(scan->confined, online);
}

/* "process 9 (dpdk)", "thread 12 (worker) of process 9", as a new string; private to its user. */
static char *owner_of(const AffinityScan *scan, const Status *status, int tid)
{
        g_autofree char *clean = log_clean(status->name ? status->name : "?"), *whole = NULL;

        whole = tid == scan->process ? g_strdup_printf("process %d (%s)", tid, clean)
                                     : g_strdup_printf("thread %d (%s) of process %d", tid, clean,
                                                       scan->process);
        return private_text(status->uid, whole, "a process");
}

static void note_cpus(AffinityScan *scan, const Status *status, int tid)
{
        CpuSet set;

        if (!remember(scan->cpu_lists, status->cpus) || cpuset_parse(status->cpus, &set) < 0)
                return;
        cpuset_and(&set, &scan->online);
        if (restricts(scan, &set)) /* lists may differ only in CPUs that are offline */
                affinities_add(scan->affinities, &set, owner_of(scan, status, tid));
}

static void note_mems(AffinityScan *scan, const Status *status, int tid)
{
        Affinities *affinities = scan->affinities;
        CpuSet nodes;

        if (!remember(scan->mem_lists, status->mems) || cpuset_parse(status->mems, &nodes) < 0 ||
            cpuset_is_subset(&scan->memory, &nodes))
                return;
        cpuset_subtract(&nodes, &scan->bound);
        cpuset_or(&scan->bound, &nodes);
        CPUSET_FOREACH(node, &nodes) {
                int n = affinities->n_nodes++;

                affinities->nodes = g_renew(int, affinities->nodes, affinities->n_nodes);
                affinities->node_owners = g_renew(char *, affinities->node_owners,
                                                  affinities->n_nodes);
                affinities->nodes[n] = node;
                affinities->node_owners[n] = owner_of(scan, status, tid);
        }
}

static void note_task(AffinityScan *scan, const Status *status, int tid)
{
        if (!status->has_memory)
                return;
        if (status->cpus)
                note_cpus(scan, status, tid);
        if (status->mems)
                note_mems(scan, status, tid);
}

/* Continues with the threads of a process; the first one was read already. */
static void scan_threads(AffinityScan *scan)
{
        char path[64];
        Status status;

        while (scan->left > 0) {
                int tid = dir_next_number(scan->threads);

                if (tid < 0) {
                        g_clear_pointer(&scan->threads, closedir);
                        return;
                }
                if (tid == scan->pid)
                        continue;
                scan->left--;
                snprintf(path, sizeof(path), "%d/task/%d", scan->pid, tid);
                if (status_parse(scan, path, &status) >= 0)
                        note_task(scan, &status, tid);
        }
}

static void scan_process(AffinityScan *scan, int pid)
{
        char path[64];
        Status status;

        scan->left--;
        scan->process = pid;
        snprintf(path, sizeof(path), "%d", pid);
        if (status_parse(scan, path, &status) < 0)
                return;
        note_task(scan, &status, pid);
        if (status.threads <= 1)
                return;
        snprintf(path, sizeof(path), "%d/task", pid);
        scan->pid = pid;
        scan->threads = dir_open(scan->proc, path);
}

/* The nodes that have memory: what a task's memory is restricted to if it is not restricted. */
static void read_memory_nodes(AffinityScan *scan, const Topology *topology)
{
        static const char *const files[] = { "sys/devices/system/node/has_memory",
                                             "sys/devices/system/node/online" };

        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *text = NULL;

                if (file_read(scan->root, files[i], &text) >= 0 &&
                    cpuset_parse(text, &scan->memory) >= 0 && !cpuset_is_empty(&scan->memory))
                        return;
        }
        for (int node = 0; node < topology->n_nodes; node++)
                cpuset_add(&scan->memory, topology->node_ids[node]);
}

int affinity_scan_new(int root, const Topology *topology, const CpuSet *confined,
                      AffinityScan **ret_scan)
{
        g_autoptr(AffinityScan) scan = g_new(AffinityScan, 1);

        *scan = (AffinityScan){
                .root = root,
                .proc = openat(root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                .online = topology->online,
                .usable = topology_usable(topology),
                .cpu_lists = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .mem_lists = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                .affinities = g_new0(Affinities, 1),
                .confined = g_array_new(FALSE, FALSE, sizeof(CpuSet)),
                .size = 16384,
        };
        scan->buffer = g_malloc(scan->size);
        scan->processes = scan->proc < 0 ? NULL : dir_open(scan->proc, ".");
        if (!scan->processes)
                return -errno;
        if (confined)
                affinity_scan_permit(scan, confined);
        read_memory_nodes(scan, topology);
        *ret_scan = g_steal_pointer(&scan);
        return 0;
}

bool affinity_scan_step(AffinityScan *scan, unsigned tasks)
{
        scan->left = tasks;
        while (scan->left > 0 && scan->processes) {
                int pid;

                if (scan->threads) {
                        scan_threads(scan);
                        continue;
                }
                pid = dir_next_number(scan->processes);
                if (pid >= 0)
                        scan_process(scan, pid);
                else
                        g_clear_pointer(&scan->processes, closedir);
        }
        return scan->processes;
}

Affinities *affinity_scan_end(AffinityScan *scan)
{
        Affinities *affinities = g_steal_pointer(&scan->affinities);

        affinity_scan_free(scan);
        return affinities;
}

void affinity_scan_free(AffinityScan *scan)
{
        if (!scan)
                return;
        if (scan->threads)
                closedir(scan->threads);
        if (scan->processes)
                closedir(scan->processes);
        fd_close(&scan->proc);
        affinities_free(scan->affinities);
        g_array_unref(scan->confined);
        g_hash_table_unref(scan->cpu_lists);
        g_hash_table_unref(scan->mem_lists);
        g_free(scan->buffer);
        g_free(scan);
}
