/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Load that varies.
 *
 * A step is a share of CPUs that work, a share of the time that they do, and a period. The period
 * is what chooses the idle state: a CPU that is woken every 200 us sleeps less deeply than one that
 * is woken every 100 ms. CPUs that do not work in a step sleep until the next one.
 */
#include "exercise.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "pin.h"

#define NICE        19
#define NSEC_PER_MS 1000000
#define SEC_NSEC    1000000000

typedef struct Load {
        double cpus, busy; /* 0 .. 1 */
        long period_nsec;
} Load;

struct Exercise {
        int n;
        struct Worker *workers;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        atomic_uint generation; /* of the load below; odd: stop */
        Load load;
        GRand *random; /* chooses which CPUs work */
};

typedef struct Worker {
        Exercise *exercise;
        int cpu;
        bool works; /* in this step */
        pthread_t thread;
} Worker;

/* Works and sleeps in turns until the load is another one. */
static void work(const Exercise *exercise, Load load, unsigned generation)
{
        int64_t next = (int64_t)clock_nsec(CLOCK_MONOTONIC);

        while (atomic_load(&exercise->generation) == generation) {
                int64_t until = next + (int64_t)(load.busy * (double)load.period_nsec);
                struct timespec wake;

                while ((int64_t)clock_nsec(CLOCK_MONOTONIC) < until)
                        continue;
                next += load.period_nsec;
                wake = (struct timespec){ next / SEC_NSEC, next % SEC_NSEC };
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
        }
}

static void *worker_run(void *data)
{
        const Worker *worker = data;
        Exercise *exercise = worker->exercise;
        unsigned generation = 0;

        thread_pin(worker->cpu); /* else it works on another one, which is a load, too */
        setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
        for (;;) {
                bool works;
                Load load;

                pthread_mutex_lock(&exercise->lock);
                while (atomic_load(&exercise->generation) == generation)
                        pthread_cond_wait(&exercise->changed, &exercise->lock);
                generation = atomic_load(&exercise->generation);
                load = exercise->load;
                works = worker->works;
                pthread_mutex_unlock(&exercise->lock);
                if (generation & 1)
                        return NULL;
                if (works)
                        work(exercise, load, generation);
        }
}

Exercise *exercise_start(const CpuSet *cpus)
{
        Exercise *exercise = g_new0(Exercise, 1);

        exercise->workers = g_new0(Worker, (gsize)cpuset_count(cpus));
        exercise->random = g_rand_new_with_seed(1);
        pthread_mutex_init(&exercise->lock, NULL);
        pthread_cond_init(&exercise->changed, NULL);
        CPUSET_FOREACH(cpu, cpus) {
                Worker *worker = &exercise->workers[exercise->n];

                *worker = (Worker){ .exercise = exercise, .cpu = cpu };
                if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
                        break;
                exercise->n++;
        }
        if (exercise->n == 0)
                g_clear_pointer(&exercise, exercise_stop);
        return exercise;
}

static void load_change(Exercise *exercise, unsigned by)
{
        atomic_fetch_add(&exercise->generation, by);
        pthread_cond_broadcast(&exercise->changed);
}

void exercise_step(Exercise *exercise, unsigned step)
{
        static const double shares[] = { 0, 0.25, 0.5, 1 };
        static const double busy[] = { 0.02, 1, 0.3, 0.6, 0.1 };
        static const long periods[] = { 200000, 100 * NSEC_PER_MS, NSEC_PER_MS, 10 * NSEC_PER_MS };

        pthread_mutex_lock(&exercise->lock);
        /* 4, 5 and 4 with a turn: all 80 combinations before one comes again. */
        exercise->load = (Load){ shares[step % 4], busy[step % 5],
                                 periods[(step + step / 20) % 4] };
        g_rand_set_seed(exercise->random, step);
        for (int i = 0; i < exercise->n; i++)
                exercise->workers[i].works = g_rand_double(exercise->random) < exercise->load.cpus;
        load_change(exercise, 2);
        pthread_mutex_unlock(&exercise->lock);
}

void exercise_stop(Exercise *exercise)
{
        pthread_mutex_lock(&exercise->lock);
        load_change(exercise, 1);
        pthread_mutex_unlock(&exercise->lock);
        for (int i = 0; i < exercise->n; i++)
                pthread_join(exercise->workers[i].thread, NULL);
        pthread_cond_destroy(&exercise->changed);
        pthread_mutex_destroy(&exercise->lock);
        g_rand_free(exercise->random);
        g_free(exercise->workers);
        g_free(exercise);
}
