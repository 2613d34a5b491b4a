/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the ways of parking share: whom to confine, to what, and the switch of cgroup v2 that gives
 * cgroups a cpuset at all.
 */
#include "act/park/park-common.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"

bool park_cpus_equal(const char *a, const char *b)
{
        CpuSet x, y;

        return cpuset_parse(a, &x) == 0 && cpuset_parse(b, &y) == 0 && cpuset_equal(&x, &y);
}

int park_possible(int root, CpuSet *ret_cpus)
{
        g_autofree char *text = NULL;

        if (file_read(root, "sys/devices/system/cpu/possible", &text) < 0)
                return -EOPNOTSUPP;
        return cpuset_parse(text, ret_cpus) < 0 ? -EOPNOTSUPP : 0;
}

bool park_kernel_is(int root, int major, int minor)
{
        char text[128];
        int x, y;

        if (file_read_value(root, "proc/sys/kernel/osrelease", text, sizeof(text)) < 0 ||
            sscanf(text, "%d.%d", &x, &y) != 2)
                return false;
        return x > major || (x == major && y >= minor);
}

bool park_has_systemd(int root)
{
        return faccessat(root, "run/systemd/system", F_OK, 0) == 0;
}

static bool matches(char *const *globs, const char *path)
{
        const char *slash = strrchr(path, '/');

        for (; *globs; globs++)
                if (fnmatch(*globs, path, 0) == 0 || (slash && fnmatch(*globs, slash + 1, 0) == 0))
                        return true;
        return false;
}

typedef struct Selection {
        const ParkOptions *options;
        ParkList list;
        void *userdata;
        GPtrArray *groups;
} Selection;

/* Adds the groups of `path` and below that may be confined. `*ret_excluded`: one there never is. */
static int select_below(Selection *s, const char *path, bool matched, bool *ret_excluded)
{
        g_auto(GStrv) children = NULL;
        unsigned mark = s->groups->len;
        bool excluded = false;
        int r;

        if (*path && matches(s->options->exclude, path)) {
                *ret_excluded = true;
                return 0;
        }
        matched = matched || (*path && matches(s->options->units, path));
        if (!*path || !matched || *s->options->exclude) {
                r = s->list(s->userdata, path, &children);
                if (r < 0 && (r != -ENOENT || !*path))
                        return r;
        }
        for (char **child = children; child && *child; child++) {
                r = select_below(s, *child, matched, &excluded);
                if (r < 0)
                        return r;
        }
        if (*path && matched && !excluded) {
                g_ptr_array_set_size(s->groups, (int)mark);
                g_ptr_array_add(s->groups, g_strdup(path));
        }
        *ret_excluded = *ret_excluded || excluded;
        return 0;
}

int park_select(const ParkOptions *options, ParkList list, void *userdata, char ***ret_groups)
{
        g_autoptr(GPtrArray) groups = g_ptr_array_new_with_free_func(g_free);
        Selection selection = { options, list, userdata, groups };
        bool excluded = false;
        int r;

        r = select_below(&selection, "", false, &excluded);
        if (r < 0)
                return r;
        *ret_groups = g_new0(char *, groups->len + 1);
        for (unsigned i = 0; i < groups->len; i++)
                (*ret_groups)[i] = g_strdup(groups->pdata[i]);
        return 0;
}

char *park_wanted(const char *original, const CpuSet *allowed, const CpuSet *online)
{
        CpuSet all, some;

        if (cpuset_parse(original, &all) < 0)
                return g_strdup(original);
        if (cpuset_is_empty(&all))
                all = *online;
        else
                cpuset_and(&all, online);
        some = all;
        cpuset_and(&some, allowed);
        if (cpuset_is_empty(&some) || cpuset_equal(&some, &all))
                return g_strdup(original);
        return cpuset_format(&some);
}

int park_release(Knobs *knobs, const KnobKind *kind, const char *const *keep)
{
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const Knob *const *list;
        int n = knobs_list(knobs, &list), first = 0;

        for (int i = n; i-- > 0;)
                if (list[i]->kind == kind && list[i]->original && list[i]->state != KNOB_FOREIGN &&
                    !g_strv_contains(keep, list[i]->name))
                        g_ptr_array_add(names, g_strdup(list[i]->name));
        for (unsigned i = 0; i < names->len; i++)
                first = park_first_error(first, knob_release(knobs, kind, names->pdata[i]));
        return first;
}

int park_first_error(int first, int error)
{
        return first < 0 || error >= 0 || error == -ENOENT ? first : error;
}

uint64_t park_group_number(int root, const char *path)
{
        struct stat st;

        return fstatat(root, path, &st, 0) < 0 ? 0 : st.st_ino;
}

CpuSet park_kept_free(const ActContext *context, const Knob *knob)
{
        CpuSet kept = { 0 }, left;

        if (cpuset_parse(knob->ours, &left) < 0 || cpuset_is_empty(&left) || !knob->original ||
            cpuset_parse(knob->original, &kept) < 0)
                return (CpuSet){ 0 };
        if (cpuset_is_empty(&kept)) /* no limit */
                memset(&kept, 0xff, sizeof(kept));
        cpuset_subtract(&kept, &left);
        return kept;
}

static int controller_read(const ActContext *context, const char *name, char **ret_value)
{
        int r = file_has_word(context->root, PARK_UNIFIED "/cgroup.subtree_control", name);

        if (r < 0)
                return r;
        *ret_value = g_strdup(r ? "on" : "off");
        return 0;
}

static int controller_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *text = g_strdup_printf("%c%s", g_str_equal(value, "on") ? '+' : '-', name);

        return file_write(context->root, PARK_UNIFIED "/cgroup.subtree_control", text);
}

const KnobKind park_controller_kind = {
        .name = "controller",
        .read = controller_read,
        .write = controller_write,
};

bool park_offers_cpusets(int root)
{
        return file_has_word(root, PARK_UNIFIED "/cgroup.controllers", PARK_CONTROLLER) > 0;
}

char *park_controller_lacks(int root)
{
        if (faccessat(root, PARK_UNIFIED "/cgroup.controllers", F_OK, 0) < 0)
                return g_strdup("cgroup v2 is not mounted at /" PARK_UNIFIED);
        if (!park_offers_cpusets(root))
                return g_strdup("/" PARK_UNIFIED "/cgroup.controllers has no cpuset controller");
        return NULL;
}
