/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by cpuset.cpus of cgroups, through libcgroup: cgroup v1, or v2 without systemd.
 *
 * In v1 every group of the tree is given what park-nested.c says. In v2 a group inherits what its
 * parent may, so only the highest groups that may be confined are written; an empty cpuset.cpus
 * means no limit there. Cpusets are switched on below the root only: the neighbours of an excluded
 * group further down can be confined if their parent hands out cpusets already, else that is an
 * error. The root is never touched in either, nor are kernel threads, which live in
 * it.
 *
 * A v2 group with tasks takes no empty list (ENOSPC), so the way back to "no limit" is first a list
 * of all CPUs, which has the same effect, and then the empty one where the kernel allows it; and a
 * list of all CPUs is read as no limit. The switch that gives groups a cpuset at all is a knob as
 * well, and restored last, when no group is confined any more: some kernels leave tasks where they
 * were.
 *
 * What libcgroup 2.0 does, found by trying: errors of write(2) arrive, as ECGOTHER and the last
 * errno; writing an empty value, or a newline, is no write at all and reported as success; a value
 * of 4096 characters or more is refused before it is tried; values are read with their newline;
 * mounts are searched once, by absolute path; a walk over groups reads every file of each (47 ms
 * for 100 groups). So empty lists go past it, groups are listed without it, and it is used only if
 * the root that we are given is the one it sees. cgroup_init() clears a table of 800 kB, which
 * stays in memory; on hosts where systemd parks it is not called.
 */
#include "act/park/park-common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/park/park-nested.h"
#include "base/cpuset-text.h"
#include "base/file.h"

#define FILE_NAME "cpuset.cpus"

/* No list of CPUs that libcgroup can write is longer. */
#define VALUE_SIZE 4096

typedef struct State {
        ActContext context;
        const ParkOptions *options;
        char *mount;  /* where the root of cpusets is, relative to the root */
        bool unified; /* cgroup v2 */
        char *about;
} State;

static int errno_of(int error)
{
        switch (error) {
        case 0:
                return 0;
        case ECGOTHER:
                return cgroup_get_last_errno() > 0 ? -cgroup_get_last_errno() : -EIO;
        case ECGROUPNOTEXIST:
        case ECGROUPVALUENOTEXIST:
                return -ENOENT;
        case ECGROUPNOTOWNER:
        case ECGROUPNOTALLOWED:
                return -EACCES;
        case ECGROUPNOTMOUNTED:
        case ECGROUPSUBSYSNOTMOUNTED:
        case ECGROUPNOTCOMPILED:
                return -EOPNOTSUPP;
        case ECGINVAL:
                return -EINVAL;
        default:
                return -EIO;
        }
}

static void say_nothing(void *userdata, int level, const char *format, va_list arguments)
{
}

/* Where the cpusets are, relative to the root. -EOPNOTSUPP: nowhere, or libcgroup sees another
 * machine than the one below the root. */
static int find_mount(int root, char **ret_path)
{
        static bool ready;
        char *mount = NULL; /* libcgroup's, from malloc() */
        struct stat seen, given;
        bool found;
        int r;

        if (!ready) {
                cgroup_set_logger(say_nothing, CGROUP_LOG_ERROR, NULL);
                r = cgroup_init();
                if (r)
                        return errno_of(r) == -EIO ? -EOPNOTSUPP : errno_of(r);
                ready = true;
        }
        if (cgroup_get_subsys_mount_point(PARK_CONTROLLER, &mount))
                return -EOPNOTSUPP;
        found = mount[0] == '/' && stat(mount, &seen) == 0 &&
                fstatat(root, mount + 1, &given, 0) == 0 && seen.st_dev == given.st_dev &&
                seen.st_ino == given.st_ino;
        if (found)
                *ret_path = g_strdup(mount + 1);
        free(mount);
        return found ? 0 : -EOPNOTSUPP;
}

static bool is_unified(int root, const char *mount)
{
        g_autofree char *path = g_strdup_printf("%s/cgroup.controllers", mount);

        return faccessat(root, path, F_OK, 0) == 0;
}

static int cpus_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *mount = NULL;
        char text[VALUE_SIZE] = "";
        void *handle = NULL;
        CpuSet cpus, possible;
        int r;

        r = find_mount(context->root, &mount);
        if (r < 0)
                return r;
        r = cgroup_read_value_begin(PARK_CONTROLLER, name, (char *)FILE_NAME, &handle, text,
                                    sizeof(text));
        if (r == 0 || r == ECGEOF)
                cgroup_read_value_end(&handle);
        if (r && r != ECGEOF)
                return errno_of(r);
        g_strchomp(text);
        if (is_unified(context->root, mount) && cpuset_parse(text, &cpus) == 0 &&
            park_possible(context->root, &possible) == 0 && cpuset_is_subset(&possible, &cpus))
                text[0] = '\0';
        *ret_value = g_strdup(text);
        return 0;
}

static int write_value(const char *name, const char *value)
{
        struct cgroup *group = cgroup_new_cgroup(name);
        struct cgroup_controller *controller;
        int r = -ENOMEM;

        if (strlen(value) >= VALUE_SIZE)
                r = -E2BIG;
        else if (group && (controller = cgroup_add_controller(group, PARK_CONTROLLER))) {
                r = errno_of(cgroup_add_value_string(controller, FILE_NAME, value));
                if (r == 0)
                        r = errno_of(cgroup_modify_cgroup(group));
        }
        cgroup_free(&group);
        return r;
}

/* Takes the limit away. */
static int write_no_limit(int root, const char *mount, const char *name)
{
        g_autofree char *path = g_strdup_printf("%s/%s/%s", mount, name, FILE_NAME);
        g_autofree char *all = NULL;
        CpuSet possible;
        int r;

        if (!is_unified(root, mount))
                return file_write(root, path, "\n");
        r = park_possible(root, &possible);
        if (r < 0)
                return r;
        all = cpuset_format(&possible);
        r = write_value(name, all);
        if (r < 0)
                return r;
        r = file_write(root, path, "\n");
        return r == -ENOSPC ? 0 : r;
}

static int cpus_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *mount = NULL;
        int r;

        r = find_mount(context->root, &mount);
        if (r < 0)
                return r;
        return *value ? write_value(name, value) : write_no_limit(context->root, mount, name);
}

static uint64_t group_identity(const ActContext *context, const char *name)
{
        g_autofree char *mount = NULL, *path = NULL;

        if (find_mount(context->root, &mount) < 0)
                return 0;
        path = g_build_filename(mount, name, NULL);
        return park_group_number(context->root, path);
}

const KnobKind park_cgroup_kind = {
        .name = "cgroup",
        .read = cpus_read,
        .write = cpus_write,
        .identity = group_identity,
        .equal = park_cpus_equal,
        .kept_free = park_kept_free,
};

/* The directory of a group; -ENOENT: it has been removed. `*ret_leaf`: nothing is below it; its
 * number of links shows that without reading it. */
static int open_group(const State *state, const char *group, bool *ret_leaf)
{
        g_autofree char *path = g_build_filename(state->mount, group, NULL);
        struct stat st;
        int fd = openat(state->context.root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        *ret_leaf = fstat(fd, &st) == 0 && st.st_nlink == 2;
        return fd;
}

static int list_children(void *userdata, const char *group, char ***ret_children)
{
        GPtrArray *children;
        struct dirent *entry;
        bool leaf = false;
        int fd = open_group(userdata, group, &leaf);
        DIR *dir;

        if (fd < 0)
                return fd;
        dir = leaf ? NULL : fdopendir(fd);
        children = g_ptr_array_new();
        while (dir && (entry = readdir(dir)))
                if (entry->d_type == DT_DIR && !g_str_equal(entry->d_name, ".") &&
                    !g_str_equal(entry->d_name, ".."))
                        g_ptr_array_add(
                                children,
                                g_strdup_printf("%s%s%s", group, *group ? "/" : "", entry->d_name));
        g_ptr_array_add(children, NULL);
        *ret_children = (char **)g_ptr_array_free(children, FALSE);
        if (dir)
                closedir(dir);
        else
                close(fd);
        return 0;
}

/* Adds the group and all that is below it, parents before their children. */
static int list_all(State *state, const char *group, GPtrArray *groups)
{
        g_auto(GStrv) children = NULL;
        int first = 0, r;

        g_ptr_array_add(groups, g_strdup(group));
        r = list_children(state, group, &children);
        if (r < 0)
                return r;
        for (char **child = children; *child; child++)
                first = park_first_error(first, list_all(state, *child, groups));
        return first;
}

static int open_cgroup(const ActContext *context, const ParkOptions *options, void **ret_state)
{
        g_autofree char *mount = NULL;
        State *state;
        bool unified;
        int r;

        r = find_mount(context->root, &mount);
        if (r < 0)
                return r;
        unified = is_unified(context->root, mount);
        if (unified && !park_offers_cpusets(context->root))
                return -EOPNOTSUPP;
        state = g_new0(State, 1);
        state->context = *context;
        state->options = options;
        state->unified = unified;
        state->about = g_strdup_printf("cgroup %s cpuset at /%s", unified ? "v2" : "v1", mount);
        state->mount = g_steal_pointer(&mount);
        *ret_state = state;
        return 0;
}

static char *cgroup_lacks(const ActContext *context, const ParkOptions *options)
{
        g_autofree char *mount = NULL;

        if (find_mount(context->root, &mount) < 0)
                return g_strdup("no cgroup hierarchy with the cpuset controller is mounted");
        return is_unified(context->root, mount) ? park_controller_lacks(context->root) : NULL;
}

/* v1: the chosen groups with all that is below them. */
static int apply_nested(State *state, Knobs *knobs, char **chosen, const CpuSet *allowed,
                        const CpuSet *online)
{
        g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(g_free);
        int first = 0, r;

        for (; *chosen; chosen++)
                first = park_first_error(first, list_all(state, *chosen, groups));
        g_ptr_array_add(groups, NULL);
        r = park_nested_apply(&state->context, knobs, &park_cgroup_kind,
                              (const char *const *)groups->pdata, allowed, online);
        first = park_first_error(first, r);
        r = park_release(knobs, &park_cgroup_kind, (const char *const *)groups->pdata);
        return park_first_error(first, r);
}

/* v2: the chosen groups, for what is below them follows. */
static int apply_unified(State *state, Knobs *knobs, char **chosen, const CpuSet *allowed,
                         const CpuSet *online)
{
        int first = 0;

        if (cpuset_is_subset(online, allowed)) {
                first = park_release(knobs, &park_cgroup_kind, (const char *const[]){ NULL });
                return park_first_error(first, park_release(knobs, &park_controller_kind,
                                                            (const char *const[]){ NULL }));
        }
        if (*chosen) {
                int r = knob_set(knobs, &park_controller_kind, PARK_CONTROLLER, "on");

                if (r < 0)
                        return r;
        }
        for (char **group = chosen; *group; group++) {
                g_autofree char *original = NULL, *wanted = NULL;
                int r = knob_original(knobs, &park_cgroup_kind, *group, &original);

                if (r == 0) {
                        wanted = park_wanted(original, allowed, online);
                        r = knob_set(knobs, &park_cgroup_kind, *group, wanted);
                }
                if (r == -ENOENT && strchr(*group, '/')) /* its parent hands out no cpusets */
                        r = -EOPNOTSUPP;
                first = park_first_error(first, r);
        }
        return park_first_error(
                first, park_release(knobs, &park_cgroup_kind, (const char *const *)chosen));
}

static int apply_cgroup(void *data, Knobs *knobs, const CpuSet *allowed, const Topology *topology)
{
        State *state = data;
        g_auto(GStrv) chosen = NULL;
        int r;

        r = park_select(state->options, list_children, state, &chosen);
        if (r < 0)
                return r;
        return state->unified ? apply_unified(state, knobs, chosen, allowed, &topology->online)
                              : apply_nested(state, knobs, chosen, allowed, &topology->online);
}

static const char *describe_cgroup(void *data)
{
        return ((State *)data)->about;
}

static const char *groups_of(void *data)
{
        return ((State *)data)->mount;
}

static void close_cgroup(void *data)
{
        State *state = data;

        g_free(state->mount);
        g_free(state->about);
        g_free(state);
}

const ParkBackendOps park_cgroup = {
        .name = "cgroup",
        .open = open_cgroup,
        .lacks = cgroup_lacks,
        .apply = apply_cgroup,
        .describe = describe_cgroup,
        .groups = groups_of,
        .close = close_cgroup,
};
