/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a scan of all tasks' affinities costs on this machine, per thread. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "affinity-scan.h"
#include "base/file.h"
#include "sense/topology-read.h"

#define ROUNDS 20

static double cpu_seconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* All threads that the kernel has, from "running/threads" of /proc/loadavg. */
static int count_threads(int root)
{
        g_autofree char *text = NULL;
        const char *slash;

        if (file_read(root, "proc/loadavg", &text) < 0 || !(slash = strchr(text, '/')))
                return 0;
        return atoi(slash + 1);
}

int main(void)
{
        _fd_ int root = root_open("/");
        g_autoptr(Topology) topology = NULL;
        int threads = count_threads(root);
        double best = 1e9;

        if (topology_read(root, &topology) < 0 || threads == 0)
                return EXIT_FAILURE;
        for (int i = 0; i < ROUNDS; i++) {
                g_autoptr(Affinities) affinities = NULL;
                double start = cpu_seconds();

                if (affinities_read(root, topology, NULL, &affinities) < 0)
                        return EXIT_FAILURE;
                best = MIN(best, cpu_seconds() - start);
        }
        printf("affinities_read: %d threads, %.0f us, %.2f us per thread (best of %d)\n", threads,
               best * 1e6, best * 1e6 / threads, ROUNDS);
        return EXIT_SUCCESS;
}
