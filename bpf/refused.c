/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loader of the program that sees refused affinities, and the reader of its ring buffer: a page
 * with the position of the reader, one with that of the kernel, and the data, which is mapped
 * twice, so that every record is whole.
 */
#include "bpf/refused.h"

#include <errno.h>
#include <glib.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cpuset.h"

#if HAVE_BPF

#include <refused.lskel.h>

_Static_assert(REFUSED_WORDS == CPUSET_WORDS, "the mask has room for all CPUs");

struct RefusedWatch {
        struct refused_bpf *program;
        size_t page;
        unsigned long *consumer; /* how far this reader is; NULL: not mapped */
        unsigned long *producer; /* how far the kernel is, and the data behind; NULL: the same */
        size_t mask_size;
        struct refused_call call;
};

void refused_watch_free(RefusedWatch *watch)
{
        if (!watch)
                return;
        if (watch->consumer)
                munmap(watch->consumer, watch->page);
        if (watch->producer)
                munmap(watch->producer, watch->page + 2 * REFUSED_RING);
        refused_bpf__destroy(watch->program);
        g_free(watch);
}

static void *map_ring(int fd, size_t size, int protection, size_t offset)
{
        void *memory = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);

        return memory == MAP_FAILED ? NULL : memory;
}

static int load(RefusedWatch *watch)
{
        int r;

        watch->program = refused_bpf__open();
        if (!watch->program)
                return -ENOMEM;
        watch->program->rodata->mask_size = (__u32)watch->mask_size;
        r = refused_bpf__load(watch->program);
        if (r >= 0 && refused_bpf__attach(watch->program) < 0)
                r = -errno; /* it returns -1, which is not -EPERM */
        return r;
}

int refused_watch_new(int n_cpus, RefusedWatch **ret_watch)
{
        RefusedWatch *watch = g_new0(RefusedWatch, 1);
        int r, fd;

        watch->page = (size_t)sysconf(_SC_PAGESIZE);
        watch->mask_size = ((size_t)CLAMP(n_cpus, 1, CPUSET_MAX) + 63) / 64 * 8;
        r = load(watch);
        if (r >= 0) {
                fd = watch->program->maps.calls.map_fd;
                watch->consumer = map_ring(fd, watch->page, PROT_READ | PROT_WRITE, 0);
                watch->producer = map_ring(fd, watch->page + 2 * REFUSED_RING, PROT_READ,
                                           watch->page);
                r = watch->consumer && watch->producer ? 0 : -errno;
        }
        if (r < 0) {
                refused_watch_free(watch);
                return r;
        }
        *ret_watch = watch;
        return 0;
}

int refused_watch_fd(const RefusedWatch *watch)
{
        return watch->program->maps.calls.map_fd;
}

static void copy(RefusedWatch *watch, const struct refused_call *call)
{
        memset(&watch->call, 0, sizeof(watch->call));
        memcpy(&watch->call, call, offsetof(struct refused_call, cpus) + watch->mask_size);
        watch->call.path_size = MIN(watch->call.path_size, CGROUP_PATH_SIZE);
        watch->call.program[sizeof(watch->call.program) - 1] = '\0';
}

const struct refused_call *refused_watch_next(RefusedWatch *watch)
{
        unsigned long at = *watch->consumer;
        const char *data = (const char *)watch->producer + watch->page;

        while (at != __atomic_load_n(watch->producer, __ATOMIC_ACQUIRE)) {
                const char *record = data + (at & (REFUSED_RING - 1));
                uint32_t size = __atomic_load_n((const uint32_t *)(const void *)record,
                                                __ATOMIC_ACQUIRE);
                bool is_whole = !(size & BPF_RINGBUF_DISCARD_BIT);

                if (size & BPF_RINGBUF_BUSY_BIT)
                        return NULL; /* it is being written, and its end is an event again */
                if (is_whole)
                        copy(watch, (const void *)(record + BPF_RINGBUF_HDR_SZ));
                size &= ~BPF_RINGBUF_DISCARD_BIT;
                at += (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
                __atomic_store_n(watch->consumer, at, __ATOMIC_RELEASE);
                if (is_whole)
                        return &watch->call;
        }
        return NULL;
}

#else

int refused_watch_new(int n_cpus, RefusedWatch **ret_watch)
{
        return -EOPNOTSUPP;
}

void refused_watch_free(RefusedWatch *watch)
{
}

int refused_watch_fd(const RefusedWatch *watch)
{
        return -1;
}

const struct refused_call *refused_watch_next(RefusedWatch *watch)
{
        return NULL;
}

#endif
