/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The unit that a process has for itself.
 */
#ifndef IDLED_OWN_UNIT_H
#define IDLED_OWN_UNIT_H

#include <sys/types.h>

/* The cgroup of the service or scope that only this process and what descends from it are in, as a
 * new string such as "/system.slice/a.service"; NULL: there is none, or it is not known. It is a
 * unit of the system's manager: one of a user's service manager is in the unit of that. -EMFILE and
 * -ENFILE: there were no descriptors to find out. */
int own_unit_read(int root, pid_t pid, char **ret_unit);

#endif
