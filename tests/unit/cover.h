/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For libcpupower, which supports only the running machine: in a mount namespace of the case's own
 * a tree of plain files covers the directory of the CPUs. A plain file keeps the rest of a longer
 * text, so all values must have one length.
 */
#ifndef IDLED_TESTS_COVER_H
#define IDLED_TESTS_COVER_H

#include <sched.h>
#include <sys/mount.h>

#include "act/tune/tuning.h"
#include "base/file.h"
#include "table.h"

#define COVERED     "/" TUNE_DIR
#define MARKER      "IDLED_FAKE_TREE" /* in the tree: without it nothing is written */
#define NOT_COVERED "the running system's CPUs cannot be covered: mounting is not allowed"

/* Puts the CPUs below the path in the place of the running system's and opens that; -1 if that is
 * not allowed here. */
static inline int cover_cpus(const char *path)
{
        g_autofree char *dir = g_build_filename(path, TUNE_DIR, NULL);
        g_autofree char *marker = g_build_filename(dir, MARKER, NULL);

        ck_assert(g_file_set_contents(marker, "", 0, NULL));
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount(dir, COVERED, NULL, MS_BIND, NULL) < 0)
                return -1;
        ck_assert_msg(access(COVERED MARKER, F_OK) == 0, "the running system is not covered");
        return root_open("/");
}

#endif
