/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cyclic wake-ups.
 *
 * The next time to wake is the last one plus the interval, whenever the thread really ran, so that
 * one late wake-up does not move those behind it. Where the interval is over already the time to
 * wake is the next in the future: the ones left out are counted, not measured.
 */
#include "cyclic.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "pin.h"

#define SEC_NSEC    1000000000ull
#define WARM_UPS    3 /* the first wake-ups find cold caches: they are not counted */
#define STACK_BYTES (256 * 1024)

typedef struct Sleeper {
        Cyclic *cyclic;
        CyclicCpu *result;
        pthread_t thread;
} Sleeper;

struct Cyclic {
        CyclicOptions options;
        atomic_bool stop;
        int n;
        Sleeper *sleepers;
        GArray *results;
};

static uint64_t now_nsec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * SEC_NSEC + (uint64_t)now.tv_nsec;
}

/* Makes the thread what was asked for. */
static int prepare(const Sleeper *sleeper)
{
        const CyclicOptions *options = &sleeper->cyclic->options;
        const struct sched_param param = { .sched_priority = options->priority };
        int r = options->anywhere ? 0 : thread_pin(sleeper->result->cpu);

        if (r < 0)
                return r;
        if (sched_setscheduler(0, options->policy, &param) < 0)
                return -errno;
        return prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static void sleep_until(uint64_t nsec)
{
        const struct timespec until = { (time_t)(nsec / SEC_NSEC), (long)(nsec % SEC_NSEC) };

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
                continue;
}

static void *sleeper_run(void *data)
{
        const Sleeper *sleeper = data;
        CyclicCpu *result = sleeper->result;
        uint64_t interval = sleeper->cyclic->options.interval_nsec, next, now;

        result->error = prepare(sleeper);
        if (result->error < 0)
                return NULL;
        next = now_nsec() + interval;
        for (unsigned i = 0; !atomic_load_explicit(&sleeper->cyclic->stop, memory_order_relaxed);
             i++) {
                sleep_until(next);
                now = now_nsec();
                if (i >= WARM_UPS)
                        histogram_add(result->histogram, now - next);
                next += interval;
                if (next <= now) {
                        uint64_t missed = (now - next) / interval + 1;

                        next += missed * interval;
                        if (i >= WARM_UPS)
                                result->overruns += missed;
                }
        }
        return NULL;
}

static void result_clear(gpointer data)
{
        histogram_free(((CyclicCpu *)data)->histogram);
}

Cyclic *cyclic_start(const CpuSet *cpus, const CyclicOptions *options)
{
        guint n = (guint)cpuset_count(cpus), i = 0;
        Cyclic *cyclic = g_new0(Cyclic, 1);
        pthread_attr_t attributes;

        cyclic->options = *options;
        cyclic->sleepers = g_new0(Sleeper, n);
        cyclic->results = g_array_sized_new(FALSE, TRUE, sizeof(CyclicCpu), n);
        g_array_set_clear_func(cyclic->results, result_clear);
        g_array_set_size(cyclic->results, n);
        CPUSET_FOREACH(cpu, cpus)
                g_array_index(cyclic->results, CyclicCpu,
                              i++) = (CyclicCpu){ .cpu = cpu, .histogram = histogram_new() };
        mlockall(MCL_CURRENT); /* where it is not permitted, the maximum has page faults in it */
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        for (i = 0; i < n; i++) {
                Sleeper *sleeper = &cyclic->sleepers[i];

                *sleeper = (Sleeper){ cyclic, &g_array_index(cyclic->results, CyclicCpu, i) };
                if (pthread_create(&sleeper->thread, &attributes, sleeper_run, sleeper) != 0)
                        break;
                cyclic->n++;
        }
        pthread_attr_destroy(&attributes);
        for (; i < n; i++)
                g_array_index(cyclic->results, CyclicCpu, i).error = -EAGAIN;
        return cyclic;
}

GArray *cyclic_stop(Cyclic *cyclic)
{
        GArray *results = cyclic->results;

        atomic_store(&cyclic->stop, true);
        for (int i = 0; i < cyclic->n; i++)
                pthread_join(cyclic->sleepers[i].thread, NULL);
        munlockall();
        g_free(cyclic->sleepers);
        g_free(cyclic);
        return results;
}
