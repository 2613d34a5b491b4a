/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which scheduler of sched_ext is loaded, by the files of the kernel.
 */
#include "base/sched-ext.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>

#include "base/file.h"

#define DIRECTORY "sys/kernel/sched_ext/"

bool sched_ext_is_known(int root)
{
        struct stat status;

        return fstatat(root, DIRECTORY "state", &status, 0) == 0;
}

char *sched_ext_loaded(int root)
{
        char state[32], name[64];

        if (file_read_value(root, DIRECTORY "state", state, sizeof(state)) < 0 ||
            g_str_has_prefix(state, "disabled"))
                return NULL;
        if (file_read_value(root, DIRECTORY "root/ops", name, sizeof(name)) < 0)
                return g_strdup("of sched_ext");
        return g_strdup(g_strchomp(name));
}
