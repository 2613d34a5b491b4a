/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Paths of cgroups in version 2, and the units that they belong to: pure.
 */
#ifndef IDLED_CGROUP_UNIT_H
#define IDLED_CGROUP_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "/a.slice/b.service" as a new string, from names that each end with a NUL, the innermost first
 * and the root's empty. If names do not reach the root: "?/a.slice/b.service". */
char *cgroup_path_of_names(const char *names, size_t size, bool whole);

/*
 * The part of the path that is one unit, as a new string: up to the first name that is not a
 * slice's, if it is a unit's of systemd. A user's service manager has units of its own. What a
 * container or a service makes below its unit belongs to it. Groups that no systemd made are units
 * themselves.
 */
char *cgroup_unit_path(const char *path);

/* The unit's name, as a new string: "b.service"; of groups that no systemd made the path. */
char *cgroup_unit_name(const char *path);

/* True if systemd made the cgroup for this user. */
bool cgroup_is_of_user(const char *path, uint32_t uid);

#endif
