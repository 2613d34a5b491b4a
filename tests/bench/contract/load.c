/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A load with open-loop arrivals that measures how late its threads wake up, or a server answers.
 *
 * usage: load SHAPE SEED RATE WORK_US|memcached:SOCKET|http:SOCKET [HISTOGRAM]
 *
 * RATE arrivals a second on average, each of which wakes a thread that then computes for an
 * exponentially distributed time of WORK_US on average. Arrivals do not wait for the threads: they
 * are drawn from SEED alone. A thread that is still busy then has no wake-up to measure, and goes
 * on at once. With the SOCKET of a server the thread asks in place of computing, memcached for
 * a value that does not exist, and a web server for a page that ends as memcached's answer does;
 * what is measured is from the arrival, also if the thread was busy then, to the answer. SHAPE is
 * poisson: arrivals at exponentially distributed distances; bursts: four at the same moment, the
 * moments as above; heavy: distances of a Lomax distribution, whose variance is infinite (a = 1.5);
 * day: poisson, from a fifth of the rate to 1.8 times of it and back in 4 minutes; step: poisson,
 * and after 60 s four times as often.
 *
 * Until SIGTERM it prints a line for each WINDOW_SECONDS: when it ended, wake-ups, the p50, the p99
 * and the longest delay in us, and how many took longer than each of the limits. Then, all delays
 * go to the file HISTOGRAM.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../histogram.h"
#include "../loads.h"

#define THREADS        32
#define BURST          4
#define WINDOW_SECONDS 10
#define DELAYS         65536 /* in a window */
#define DAY_SECONDS    240
#define STEP_SECONDS   60

static const uint32_t limits_us[] = { 1000, 2000, 5000, 10000, 20000, 50000 };

typedef struct Load {
        const char *shape;
        const char *question, *socket; /* of a server; NULL: it computes */
        uint64_t seed, began_ns;
        double distance_ns, work_ns; /* means */
} Load;

typedef struct Thread {
        pthread_t id;
        const Load *load;
        int number;
        uint64_t random;
} Thread;

static uint32_t delays_us[DELAYS];
static atomic_uint n_delays;

/* How many times its rate the load has at this time. */
static double rate_at(const Load *load, uint64_t at_ns)
{
        double seconds = (double)(at_ns - load->began_ns) / 1e9;

        if (strcmp(load->shape, "day") == 0)
                return 1 - 0.8 * cos(seconds * 2 * M_PI / DAY_SECONDS);
        if (strcmp(load->shape, "step") == 0)
                return seconds < STEP_SECONDS ? 1 : 4;
        return 1;
}

/* From an arrival of a thread to its next. A rate that changes applies to the whole distance. */
static uint64_t distance(Thread *thread, uint64_t at_ns)
{
        const Load *load = thread->load;
        double mean = load->distance_ns * THREADS / rate_at(load, at_ns);

        if (strcmp(load->shape, "heavy") == 0)
                return (uint64_t)(mean / 2 *
                                  (pow(1 - random_share(&thread->random), -1 / 1.5) - 1));
        return (uint64_t)exponential(&thread->random, mean);
}

/* The same for bursts: all threads draw the same ones, and each is in one of several. */
static uint64_t burst_distance(Thread *thread)
{
        double sum = 0;

        for (int i = 0; i < THREADS / BURST; i++)
                sum += exponential(&thread->random, thread->load->distance_ns * BURST);
        return (uint64_t)sum;
}

static void count_delay(uint64_t since_ns)
{
        uint64_t late = (now_ns(CLOCK_MONOTONIC) - since_ns) / 1000;
        unsigned i = atomic_fetch_add(&n_delays, 1);

        histogram_add(late);
        if (i < DELAYS)
                delays_us[i] = late < UINT32_MAX ? (uint32_t)late : UINT32_MAX;
}

/* False if it is over already. */
static bool wait_for(uint64_t ns)
{
        if (now_ns(CLOCK_MONOTONIC) >= ns)
                return false;
        sleep_until(ns);
        return true;
}

static void compute(double ns)
{
        uint64_t used = now_ns(CLOCK_THREAD_CPUTIME_ID), end = used + (uint64_t)ns;

        while (used < end)
                used = now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int connect_to(const char *path)
{
        struct sockaddr_un name = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0)
                return fd;
        fprintf(stderr, "load: failed to connect to %s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
}

/* Until the answer ends. */
static void ask(int fd, const char *question)
{
        static const char end[] = "END\r\n";
        const size_t length = sizeof(end) - 1;
        ssize_t r = write(fd, question, strlen(question));
        char answer[4096];
        size_t n = 0;

        while (r > 0 && (n < length || memcmp(answer + n - length, end, length) != 0)) {
                r = n < sizeof(answer) ? read(fd, answer + n, sizeof(answer) - n) : 0;
                n += r > 0 ? (size_t)r : 0;
        }
        if (r > 0)
                return;
        fprintf(stderr, "load: the server does not answer, or not as expected: %s\n",
                strerror(errno));
        exit(EXIT_FAILURE);
}

static void *run(void *argument)
{
        Thread *thread = argument;
        const Load *load = thread->load;
        bool bursts = strcmp(load->shape, "bursts") == 0;
        int member = thread->number / BURST;
        uint64_t work = load->seed + 1000 + (uint64_t)thread->number, at = load->began_ns;
        int fd = load->socket ? connect_to(load->socket) : -1;

        prctl(PR_SET_TIMERSLACK, 1UL);
        thread->random = load->seed + (bursts ? 0 : (uint64_t)thread->number * 7919);
        /* The first burst of this thread is the member-th of the round. */
        for (int i = 0; bursts && i <= member; i++)
                at += (uint64_t)exponential(&thread->random, load->distance_ns * BURST);
        for (;;) {
                bool waited;

                if (!bursts)
                        at += distance(thread, at);
                waited = wait_for(at);
                if (fd >= 0)
                        ask(fd, load->question);
                if (waited || fd >= 0)
                        count_delay(at);
                if (fd < 0)
                        compute(exponential(&work, load->work_ns));
                if (bursts)
                        at += burst_distance(thread);
        }
        return NULL;
}

static int by_value(const void *a, const void *b)
{
        const uint32_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Arrivals that came meanwhile may be in this window or the next. */
static void print_window(int seconds)
{
        unsigned n = atomic_exchange(&n_delays, 0);
        static uint32_t sorted[DELAYS];

        n = n < DELAYS ? n : DELAYS;
        memcpy(sorted, delays_us, n * sizeof(sorted[0]));
        qsort(sorted, n, sizeof(sorted[0]), by_value);
        printf("%d %u", seconds, n);
        if (n)
                printf(" %u %u %u", sorted[n / 2], sorted[n * 99 / 100], sorted[n - 1]);
        else
                printf(" 0 0 0");
        for (size_t i = 0; i < sizeof(limits_us) / sizeof(limits_us[0]); i++) {
                unsigned late = 0;

                while (late < n && sorted[n - late - 1] > limits_us[i])
                        late++;
                printf(" %u", late);
        }
        puts("");
        fflush(stdout);
}

static double positive(const char *text)
{
        char *end;
        double value = strtod(text, &end);

        if (*end || !(value > 0)) {
                fprintf(stderr, "load: found %s, expected a number above 0\n", text);
                exit(EXIT_FAILURE);
        }
        return value;
}

/* WORK_US, or a server's protocol and socket. */
static void read_work(Load *load, const char *text)
{
        static const char *const questions[][2] = {
                { "memcached:", "get value\r\n" },
                { "http:", "GET / HTTP/1.1\r\nHost: server\r\n\r\n" },
        };

        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
                size_t length = strlen(questions[i][0]);

                if (strncmp(text, questions[i][0], length) != 0)
                        continue;
                load->socket = text + length;
                load->question = questions[i][1];
                return;
        }
        load->work_ns = positive(text) * 1e3;
}

/* False if SIGTERM came before. */
static bool wait_for_window(const sigset_t *end, uint64_t until)
{
        for (;;) {
                uint64_t now = now_ns(CLOCK_MONOTONIC), left = until > now ? until - now : 0;
                struct timespec rest = { (time_t)(left / 1000000000), (long)(left % 1000000000) };

                if (sigtimedwait(end, NULL, &rest) == SIGTERM)
                        return false;
                if (left == 0)
                        return true;
        }
}

int main(int argc, char **argv)
{
        static const char *const shapes[] = { "poisson", "bursts", "heavy", "day", "step" };
        static Thread threads[THREADS];
        Load load = { 0 };
        bool known = false;
        sigset_t end;

        for (size_t i = 0; argc >= 5 && argc <= 6 && i < sizeof(shapes) / sizeof(shapes[0]); i++)
                known |= strcmp(argv[1], shapes[i]) == 0;
        if (!known) {
                fputs("usage: load poisson|bursts|heavy|day|step SEED RATE "
                      "WORK_US|memcached:SOCKET|http:SOCKET [HISTOGRAM]\n",
                      stderr);
                return EXIT_FAILURE;
        }
        load.shape = argv[1];
        load.seed = (uint64_t)positive(argv[2]);
        load.distance_ns = 1e9 / positive(argv[3]);
        read_work(&load, argv[4]);
        load.began_ns = now_ns(CLOCK_MONOTONIC);
        sigemptyset(&end);
        sigaddset(&end, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &end, NULL);
        for (int i = 0; i < THREADS; i++) {
                threads[i].load = &load;
                threads[i].number = i;
                if (pthread_create(&threads[i].id, NULL, run, &threads[i]) != 0)
                        return EXIT_FAILURE;
        }
        for (int seconds = WINDOW_SECONDS;; seconds += WINDOW_SECONDS) {
                if (!wait_for_window(&end, load.began_ns + (uint64_t)seconds * 1000000000))
                        return argc < 6 || histogram_write(argv[5]) == 0 ? EXIT_SUCCESS
                                                                         : EXIT_FAILURE;
                print_window(seconds);
        }
}
