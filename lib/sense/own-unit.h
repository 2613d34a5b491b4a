/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The unit that a process has for itself, and the processes of a unit.
 */
#ifndef IDLED_OWN_UNIT_H
#define IDLED_OWN_UNIT_H

#include <glib.h>
#include <sys/types.h>

/* The cgroup of the service or scope that only this process and what descends from it are in, as a
 * new string such as "/system.slice/a.service"; NULL: there is none, or it is not known. It is a
 * unit of the system's manager: one of a user's service manager is in the unit of that. -EMFILE and
 * -ENFILE: there were no descriptors to find out. */
int own_unit_read(int root, pid_t pid, char **ret_unit);

/* Opens the hierarchy of units: of version 2, alone or next to version 1, else of version 1; -1:
 * there is none. */
int unit_cgroups_open(int root);

/* Appends to `pids` (of pid_t) the processes of a unit with a path as above, and of the groups in
 * it, as the kernel lists them: those that are longest in a group first, of the unit's group first.
 * `cgroups` is of unit_cgroups_open(). -E2BIG: there are more; or why a group could not be
 * read. Then some are missing. */
int unit_processes_read(int cgroups, const char *unit, GArray *pids);

#endif
