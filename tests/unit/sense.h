/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of sensors share: a small tree, changed under the sensors' kept descriptors.
 */
#ifndef IDLED_TESTS_SENSE_H
#define IDLED_TESTS_SENSE_H

#include <string.h>

#include "machine.h"
#include "sense/sensor.h"

/* Changes a file as the kernel changes its own: in place. */
static inline void tree_rewrite(const Tree *tree, const char *path, const char *data, size_t size)
{
        _fd_ int fd = openat(tree->root, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

        ck_assert_msg(fd >= 0, "%s: %s", path, g_strerror(errno));
        while (size > 0) {
                ssize_t n = write(fd, data, size);

                ck_assert_int_gt(n, 0);
                data += n;
                size -= (size_t)n;
        }
}

static inline void tree_set(const Tree *tree, const char *path, const char *text)
{
        tree_rewrite(tree, path, text, strlen(text));
}

/* A topology of which sensors need no more than the numbers. */
static inline Topology plain_topology(int n_cpus)
{
        Topology topology = { .n_cpus = n_cpus };

        cpuset_add_range(&topology.possible, 0, n_cpus - 1);
        topology.online = topology.possible;
        return topology;
}

/* Opens the tree's sensors as a user other than root. */
static inline Sensors *sensors_new_unprivileged(const Tree *tree, const Topology *topology)
{
        uid_t user = geteuid();
        Sensors *sensors;

        ck_assert_int_eq(chmod(tree->path, 0755), 0);
        ck_assert_int_eq(seteuid(user == 0 ? 65534 : user), 0);
        sensors = sensors_new(tree->root, topology);
        ck_assert_int_eq(seteuid(user), 0);
        return sensors;
}

/* Builds the described machine of this name; false if that is not possible here. */
static inline bool tree_build(const Tree *tree, const char *machine)
{
        g_autofree char *description = g_strdup_printf("%s/machines/%s.machine", TESTS_DIR,
                                                       machine);
        char *argv[] = { (char *)TESTS_DIR "/machines/build", description, tree->path, NULL };
        int status;

        return g_spawn_sync(NULL, argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, NULL, NULL, &status,
                            NULL) &&
               status == 0;
}

#endif
