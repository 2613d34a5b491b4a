/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts about one process: executable, name, cgroups, user, parent. Each is read on request.
 */
#ifndef IDLED_PROCESS_FACTS_H
#define IDLED_PROCESS_FACTS_H

#include <glib.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum ProcessFact {
        PROCESS_FACT_EXECUTABLE = 1 << 0,
        PROCESS_FACT_COMM = 1 << 1,
        PROCESS_FACT_CGROUPS = 1 << 2,
        PROCESS_FACT_STATUS = 1 << 3, /* user and parent */
} ProcessFact;

#define PROCESS_CGROUPS_SIZE 8192

/* Which file: device and inode; and by which mount it was come by, 0 before Linux 5.8. */
typedef struct FileId {
        uint64_t device, inode, mount;
} FileId;

typedef struct ProcessFacts {
        pid_t pid;
        unsigned have, absent; /* facts that are below, and facts that are not available */
        /* Whatever bytes the process chose, in a mount namespace of its own or not; of a file that
         * is gone it ends in " (deleted)". */
        char executable[PATH_MAX + 1];
        FileId program; /* the file itself */
        char comm[64];
        char cgroups[PROCESS_CGROUPS_SIZE]; /* a path for each hierarchy, each ended by a NUL; an
                                               empty one ends them */
        const char *unit_cgroup;            /* that by which systemd knows units; "" if none */
        uid_t uid;                          /* the real user, whatever the owner of the file */
        pid_t parent;
} ProcessFacts;

/* Nothing is known of process `pid` yet. */
void process_facts_init(ProcessFacts *facts, pid_t pid);

/* Reads one fact below `proc`, a descriptor of /proc, if it is not known yet. 0, or a negative
 * errno if it is not available: -ENOENT or -ESRCH if the process is gone or a kernel thread,
 * -EACCES for the executable of others without CAP_SYS_PTRACE, -ENAMETOOLONG. */
int process_facts_read(int proc, ProcessFact fact, ProcessFacts *facts);

/* The file that the absolute path leads to below the directory `root`; a link as last component is
 * not followed. File systems on a network, or served by a user, are only asked for the path.
 * Negative errno: there is no such file, or it is not known. */
int file_id_read(int root, const char *path, FileId *ret_id);

static inline bool file_id_equal(FileId a, FileId b)
{
        return a.device == b.device && a.inode == b.inode;
}

/* True if `mount` is in the mount namespace of process `pid`; false if that is not known. */
bool process_has_mount(int proc, pid_t pid, uint64_t mount);

/* Appends the processes that any thread of `pid` started and that are still there to `children` (of
 * pid_t). Nothing is found on a kernel without CONFIG_PROC_CHILDREN. */
void process_children_read(int proc, pid_t pid, GArray *children);

#endif
