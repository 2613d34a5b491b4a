/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A load of threads that sleep and compute for exponentially distributed times, and how late they
 * wake up: what a batchy server does, and what cyclictest does not.
 *
 * usage: bursts HISTOGRAM SEED THREADS:SLEEP_MS:COMPUTE_MS...
 *
 * Each group has so many threads, which sleep and compute for these times on average. Until
 * SIGTERM; then the wake-up delays of all threads go to the file HISTOGRAM (histogram.h). Equal
 * seeds sleep and compute for equal times.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "../histogram.h"
#include "../loads.h"

static atomic_bool ending;

typedef struct Thread {
        pthread_t id;
        uint64_t random;
        double sleep_ns, compute_ns;
} Thread;

static void *run(void *argument)
{
        Thread *thread = argument;

        prctl(PR_SET_TIMERSLACK, 1UL);
        while (!atomic_load(&ending)) {
                uint64_t wake = now_ns(CLOCK_MONOTONIC) +
                                (uint64_t)exponential(&thread->random, thread->sleep_ns);
                uint64_t used, end;

                sleep_until(wake);
                histogram_add((now_ns(CLOCK_MONOTONIC) - wake) / 1000);
                used = now_ns(CLOCK_THREAD_CPUTIME_ID);
                end = used + (uint64_t)exponential(&thread->random, thread->compute_ns);
                while (used < end && !atomic_load(&ending))
                        used = now_ns(CLOCK_THREAD_CPUTIME_ID);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        sigset_t end;
        int signal, r;

        if (argc < 4) {
                fprintf(stderr, "usage: bursts HISTOGRAM SEED THREADS:SLEEP_MS:COMPUTE_MS...\n");
                return 2;
        }
        sigemptyset(&end);
        sigaddset(&end, SIGTERM);
        sigaddset(&end, SIGINT);
        pthread_sigmask(SIG_BLOCK, &end, NULL);
        for (int i = 3, made = 0; i < argc; i++) {
                double sleep_ms, compute_ms;
                int threads;

                if (sscanf(argv[i], "%d:%lf:%lf", &threads, &sleep_ms, &compute_ms) != 3 ||
                    threads < 1 || sleep_ms <= 0 || compute_ms <= 0) {
                        fprintf(stderr,
                                "bursts: found \"%s\", expected THREADS:SLEEP_MS:COMPUTE_MS\n",
                                argv[i]);
                        return 2;
                }
                for (int n = 0; n < threads; n++, made++) {
                        Thread *thread = malloc(sizeof(*thread));

                        if (!thread)
                                return 1;
                        *thread = (Thread){ 0, strtoull(argv[2], NULL, 10) * 1000 + (uint64_t)made,
                                            sleep_ms * 1e6, compute_ms * 1e6 };
                        r = pthread_create(&thread->id, NULL, run, thread);
                        if (r != 0) {
                                errno = r;
                                perror("bursts: pthread_create");
                                return 1;
                        }
                }
        }
        sigwait(&end, &signal);
        atomic_store(&ending, true);
        r = histogram_write(argv[1]);
        if (r < 0) {
                errno = -r;
                perror(argv[1]);
                return 1;
        }
        return 0; /* threads that sleep need not be waited for */
}
