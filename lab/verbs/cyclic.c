/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cyclic wake-ups.
 *
 * The next time to wake is the last one plus the interval, whenever the thread really ran, so that
 * one late wake-up does not move those behind it. Where the interval is over already the time to
 * wake is the next in the future: the ones left out are counted, not measured. A thread whose first
 * wake-ups are late measures for as much longer.
 *
 * A real-time thread that runs nearly all the time lets no other task run, and after 950 ms of a
 * second the kernel stops it for 50 ms, which looks like a latency. Such a thread rests before.
 */
#include "cyclic.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "pin.h"

#define STACK_BYTES (256 * 1024)

/* A thread that has run for more than this share of a stretch rests behind it: it never has more
 * than 90 % of a second, for any share of it. */
#define STRETCH_NSEC (90 * 1000 * 1000ull)
#define REST_NSEC    (10 * 1000 * 1000ull)
#define SHARE_MOST   0.5

struct Cyclic {
        CyclicOptions options;
        atomic_bool stop;
        sem_t ready;          /* posted by each thread that is prepared */
        pthread_mutex_t gate; /* locked until all threads are */
        uint64_t start_nsec;
        guint n; /* threads that were started */
        GArray *results;
};

/* Makes the thread what was asked for. */
static int prepare(const CyclicCpu *result)
{
        const CyclicOptions *options = &result->cyclic->options;
        const struct sched_param param = { .sched_priority = options->priority };
        int r = options->anywhere ? 0 : thread_pin(result->cpu);

        if (r < 0)
                return r;
        if (sched_setscheduler(0, options->policy, &param) < 0)
                return -errno;
        return prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static void sleep_until(uint64_t nsec)
{
        const struct timespec until = timespec_of(nsec);

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
                continue;
}

/* Where a stretch began. */
typedef struct Stretch {
        uint64_t begin_nsec, cpu_nsec;
} Stretch;

/* Rests if a stretch is over that the thread ran through. Returns the time. */
static uint64_t rest(Stretch *stretch, uint64_t now)
{
        uint64_t cpu;

        if (now - stretch->begin_nsec < STRETCH_NSEC)
                return now;
        cpu = clock_nsec(CLOCK_THREAD_CPUTIME_ID);
        if ((double)(cpu - stretch->cpu_nsec) > SHARE_MOST * (double)(now - stretch->begin_nsec)) {
                sleep_until(now + REST_NSEC);
                now = clock_nsec(CLOCK_MONOTONIC);
        }
        *stretch = (Stretch){ now, cpu };
        return now;
}

static void count_wakeups(CyclicCpu *result)
{
        const CyclicOptions *options = &result->cyclic->options;
        uint64_t start = result->cyclic->start_nsec, next = start + options->interval_nsec, now;
        uint64_t last = options->for_nsec ? start + options->for_nsec : UINT64_MAX;
        Stretch stretch = { start, clock_nsec(CLOCK_THREAD_CPUTIME_ID) };

        for (unsigned i = 0;
             next <= last && !atomic_load_explicit(&result->cyclic->stop, memory_order_relaxed);
             i++) {
                bool counts = i >= CYCLIC_WARM_UPS;

                sleep_until(next);
                now = clock_nsec(CLOCK_MONOTONIC);
                if (counts)
                        histogram_add(result->histogram, now - next);
                if (options->policy != SCHED_OTHER)
                        now = rest(&stretch, now);
                next += options->interval_nsec;
                now = counts ? MIN(now, last) : now;
                if (next <= now) {
                        uint64_t missed = (now - next) / options->interval_nsec + 1;

                        next += missed * options->interval_nsec;
                        result->overruns += counts ? missed : 0;
                        if (!counts && options->for_nsec)
                                last += missed * options->interval_nsec;
                }
        }
}

static void *sleeper_run(void *data)
{
        CyclicCpu *result = data;
        Cyclic *cyclic = result->cyclic;

        result->error = prepare(result);
        sem_post(&cyclic->ready);
        pthread_mutex_lock(&cyclic->gate);
        pthread_mutex_unlock(&cyclic->gate);
        if (result->error == 0)
                count_wakeups(result);
        return NULL;
}

static void result_clear(gpointer data)
{
        g_free(((CyclicCpu *)data)->histogram);
}

Cyclic *cyclic_start(const CpuSet *cpus, const CyclicOptions *options)
{
        guint n = (guint)cpuset_count(cpus);
        Cyclic *cyclic = g_new0(Cyclic, 1);
        pthread_attr_t attributes;

        cyclic->options = *options;
        cyclic->results = g_array_sized_new(FALSE, TRUE, sizeof(CyclicCpu), n);
        g_array_set_clear_func(cyclic->results, result_clear);
        CPUSET_FOREACH(cpu, cpus) {
                CyclicCpu result = { cpu, .histogram = histogram_new(), .cyclic = cyclic };

                g_array_append_val(cyclic->results, result);
        }
        sem_init(&cyclic->ready, 0, 0);
        pthread_mutex_init(&cyclic->gate, NULL);
        pthread_mutex_lock(&cyclic->gate);
        mlockall(MCL_CURRENT); /* where it is not permitted, the maximum has page faults in it */
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        for (; cyclic->n < n; cyclic->n++) {
                CyclicCpu *result = &g_array_index(cyclic->results, CyclicCpu, cyclic->n);

                if (pthread_create(&result->thread, &attributes, sleeper_run, result) != 0)
                        break;
        }
        pthread_attr_destroy(&attributes);
        for (guint i = cyclic->n; i < n; i++)
                g_array_index(cyclic->results, CyclicCpu, i).error = -EAGAIN;
        for (guint ready = 0; ready < cyclic->n;)
                ready += sem_wait(&cyclic->ready) == 0;
        cyclic->start_nsec = clock_nsec(CLOCK_MONOTONIC);
        pthread_mutex_unlock(&cyclic->gate);
        return cyclic;
}

GArray *cyclic_finish(Cyclic *cyclic)
{
        GArray *results = cyclic->results;

        for (guint i = 0; i < cyclic->n; i++)
                pthread_join(g_array_index(results, CyclicCpu, i).thread, NULL);
        munlockall();
        pthread_mutex_destroy(&cyclic->gate);
        sem_destroy(&cyclic->ready);
        g_free(cyclic);
        return results;
}

GArray *cyclic_stop(Cyclic *cyclic)
{
        atomic_store(&cyclic->stop, true);
        return cyclic_finish(cyclic);
}
