/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What benchmarks of BPF programs share: threads that wake each other, and what programs cost. */
#ifndef IDLED_TESTS_WAKERS_H
#define IDLED_TESTS_WAKERS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/file.h"

static inline uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void pin(int cpu)
{
        cpu_set_t cpus;

        CPU_ZERO(&cpus);
        CPU_SET(cpu, &cpus);
        sched_setaffinity(0, sizeof(cpus), &cpus);
}

typedef struct Game {
        int ping, pong, cpu;
        atomic_bool over;
} Game;

static void *answer(void *data)
{
        Game *game = data;
        uint64_t value;

        pin(game->cpu);
        while (!game->over)
                if (read(game->ping, &value, sizeof(value)) != sizeof(value) ||
                    write(game->pong, &(uint64_t){ 1 }, sizeof(value)) != sizeof(value))
                        break;
        return NULL;
}

/* Two threads wake each other as fast as they can, this one on CPU 0 and the other on `cpu`:
 * microseconds that a round trip takes. */
static inline double play(int cpu, double seconds)
{
        Game game = { eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC), cpu, false };
        uint64_t value = 1, start, end, trips = 0;
        pthread_t other;

        pin(0);
        pthread_create(&other, NULL, answer, &game);
        start = end = now_ns();
        for (; (double)(end - start) < seconds * 1e9; end = now_ns())
                for (int i = 0; i < 50; i++, trips++)
                        if (write(game.ping, &(uint64_t){ 1 }, sizeof(value)) != sizeof(value) ||
                            read(game.pong, &value, sizeof(value)) != sizeof(value))
                                abort();
        game.over = true;
        if (write(game.ping, &(uint64_t){ 1 }, sizeof(value)) != sizeof(value))
                abort();
        pthread_join(other, NULL);
        close(game.ping);
        close(game.pong);
        return (double)(end - start) / 1e3 / (double)trips;
}

/* Nanoseconds that all programs of this machine ran. */
static inline double programs_ns(void)
{
        double sum = 0;
        __u32 id = 0;

        while (bpf_prog_get_next_id(id, &id) == 0) {
                struct bpf_prog_info info = { 0 };
                __u32 size = sizeof(info);
                int fd = bpf_prog_get_fd_by_id(id);

                if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
                        sum += (double)info.run_time_ns;
                fd_close(&fd);
        }
        return sum;
}

#endif
