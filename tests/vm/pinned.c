/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * On SIGUSR1 pins itself, a thread and a child, and makes the file that its argument names. On the
 * next one prints the affinities of the three: its own, set twice, the thread's, and the child's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int thread_id;

static void pin(unsigned long mask)
{
        if (sched_setaffinity(0, sizeof(mask), (const cpu_set_t *)&mask) < 0)
                perror("sched_setaffinity");
}

static void print(pid_t id)
{
        unsigned long mask = 0;

        if (sched_getaffinity(id, sizeof(mask), (cpu_set_t *)&mask) < 0)
                perror("sched_getaffinity");
        printf("%lx\n", mask);
}

static void *thread(void *data)
{
        pin(1 << 1);
        thread_id = gettid();
        while (true)
                pause();
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t unused;
        sigset_t asked;
        pid_t child;
        int signal;

        sigemptyset(&asked);
        sigaddset(&asked, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &asked, NULL);
        sigwait(&asked, &signal);
        pthread_create(&unused, NULL, thread, NULL);
        while (!thread_id)
                usleep(1000);
        pin(1 << 0);
        child = fork();
        if (child == 0)
                while (true)
                        pause();
        pin(1 << 0 | 1 << 1);
        pin(1 << 1);
        close(open(argv[argc - 1], O_WRONLY | O_CREAT, 0644));
        sigwait(&asked, &signal);
        print(0);
        print(thread_id);
        print(child);
        kill(child, SIGKILL);
        return 0;
}
