/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cpusets of cgroup v1: each group has a list of CPUs. The kernel refuses to give a child CPUs that
 * its parent lacks (EACCES), and to take CPUs from a parent that a child has (EBUSY).
 *
 * Each group gets the allowed CPUs of its original list. If a group would have none of them, it
 * keeps its original list, because its tasks have nowhere else to go, and its parents must have
 * these CPUs, too. A group without CPUs cannot hold tasks and is left alone. A group that was taken
 * over stays as it is, and its parents have at least its CPUs.
 *
 * Then groups grow, parents first, and shrink, children first. A group that does both has its old
 * and its new CPUs in between, and never others.
 */
#include "act/park/park-nested.h"

#include <string.h>

#include "base/cpuset-text.h"

typedef struct Group {
        const char *path;
        int parent; /* index, -1 none */
        CpuSet now, wanted;
        char *original; /* as text, to be restored exactly; NULL: left alone */
        CpuSet original_set;
        bool known; /* a knob that was changed before */
} Group;

typedef struct Scene {
        const ActContext *context;
        Knobs *knobs;
        const KnobKind *kind;
        const CpuSet *allowed, *online;
} Scene;

static void group_clear(void *data)
{
        Group *group = data;

        g_free(group->original);
}

/* The nearest group above `path` among those listed before it. */
static int find_parent(const GArray *groups, const char *path)
{
        for (int i = (int)groups->len; i-- > 0;) {
                const char *above = g_array_index(groups, Group, i).path;
                size_t length = strlen(above);

                if (strncmp(above, path, length) == 0 && path[length] == '/')
                        return i;
        }
        return -1;
}

/* True if the CPUs that the group lost since we set it are those that went offline: the kernel
 * takes them out of every cpuset, for good. */
static bool lost_offline(const Knob *knob, const CpuSet *now, const CpuSet *online)
{
        CpuSet ours;

        if (cpuset_parse(knob->ours, &ours) < 0 || cpuset_equal(&ours, now))
                return false;
        cpuset_and(&ours, online);
        return cpuset_equal(&ours, now);
}

/* What is known of one group and what it should have, its relatives aside. */
static int group_look(const Scene *scene, Group *group)
{
        const Knob *knob = knob_find(scene->knobs, scene->kind, group->path);
        g_autofree char *now = NULL;
        int r;

        r = scene->kind->read(scene->context, group->path, &now);
        if (r < 0)
                return r;
        r = cpuset_parse(now, &group->now);
        if (r < 0)
                return r;
        group->known = knob != NULL;
        if (knob && knob->state == KNOB_OURS && lost_offline(knob, &group->now, scene->online))
                knob_adopt(scene->knobs, scene->kind, group->path);
        group->wanted = group->now;
        if ((knob && knob->state == KNOB_FOREIGN) || cpuset_is_empty(&group->now))
                return 0;
        group->original = g_strdup(knob && knob->original ? knob->original : now);
        r = cpuset_parse(group->original, &group->original_set);
        if (r < 0)
                return r;
        group->wanted = group->original_set;
        cpuset_and(&group->wanted, scene->allowed);
        if (cpuset_is_empty(&group->wanted))
                group->wanted = group->original_set;
        return 0;
}

static int collect(const Scene *scene, const char *const *paths, GArray *groups)
{
        int first = 0;

        for (; *paths; paths++) {
                Group group = { .path = *paths, .parent = find_parent(groups, *paths) };
                int r = group_look(scene, &group);

                if (r == 0)
                        g_array_append_val(groups, group);
                else
                        group_clear(&group);
                first = park_first_error(first, r);
        }
        for (unsigned i = groups->len; i-- > 0;) {
                const Group *group = &g_array_index(groups, Group, i);

                if (group->parent >= 0)
                        cpuset_or(&g_array_index(groups, Group, group->parent).wanted,
                                  &group->wanted);
        }
        return first;
}

static int group_set(const Scene *scene, Group *group, const CpuSet *cpus)
{
        g_autofree char *text = NULL;
        int r;

        text = cpuset_equal(cpus, &group->original_set) ? g_strdup(group->original)
                                                        : cpuset_format(cpus);
        r = knob_set(scene->knobs, scene->kind, group->path, text);
        if (r >= 0)
                group->now = *cpus;
        return r;
}

int park_nested_apply(const ActContext *context, Knobs *knobs, const KnobKind *kind,
                      const char *const *paths, const CpuSet *allowed, const CpuSet *online)
{
        const Scene scene = { context, knobs, kind, allowed, online };
        g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(Group));
        int first;

        g_array_set_clear_func(groups, group_clear);
        first = collect(&scene, paths, groups);
        for (unsigned i = 0; i < groups->len; i++) {
                Group *group = &g_array_index(groups, Group, i);
                CpuSet both = group->now;

                cpuset_or(&both, &group->wanted);
                if (group->original && !cpuset_equal(&both, &group->now))
                        first = park_first_error(first, group_set(&scene, group, &both));
        }
        for (unsigned i = groups->len; i-- > 0;) {
                Group *group = &g_array_index(groups, Group, i);

                if (group->original && (group->known || !cpuset_equal(&group->now, &group->wanted)))
                        first = park_first_error(first, group_set(&scene, group, &group->wanted));
        }
        return first;
}
