/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an isolated partition is to the kernel, and where the kernel needs help.
 *
 * Before Linux 6.1 the kernel refuses to write the type. A write that it accepts can still leave
 * the partition "isolated invalid (why)", at once or later, when a neighbour wants one of its CPUs:
 * lists of groups side by side with a partition must not overlap, and the later list wins. Then
 * nothing is parked (on Linux 6.1 still for groups without a list, until the partition is
 * dissolved). So lists of neighbours are read before, and the type is read back after every change.
 *
 * From Linux 7.0 on such lists do not matter: the neighbour has what is left of its own. But no
 * write is refused and no type is invalid then: CPUs of two partitions are silently taken from one
 * of them, and only cpuset.cpus.exclusive.effective shows that. idled tries once whether lists
 * matter.
 *
 * From Linux 6.8 on cpuset.cpus.exclusive names the CPUs of a partition whatever cpuset.cpus says.
 * On 6.12 it does not help against lists of neighbours: the next write to one makes it invalid.
 *
 * Linux 6.1 does not rebuild its scheduling domains when the list changes: unparked CPUs belong to
 * none and get no work until the partition's type is written again. `root` then `isolated` does it
 * without a gap, at up to 20 ms, and is done only if an unparked CPU has no domain.
 *
 * An empty list in an active partition, refused here, loses its CPUs for all groups (seen on 6.1).
 *
 * The knobs of this file:
 *
 *      partition  idled.parked                              absent -> present (mkdir, rmdir)
 *      partition  idled.parked/cpuset.cpus                  "" -> the parked CPUs
 *      partition  GROUP/cpuset.cpus.exclusive               "" -> the parked CPUs
 *      partition  GROUP/cpuset.cpus.partition               member -> isolated
 */
#include "act/park/park-isolate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"

static const char *const groups[] = { PARK_GROUP };
static const char *const lists[] = { PARK_CPUS_OF(PARK_GROUP), PARK_EXCLUSIVE_OF(PARK_GROUP),
                                     PARK_EXCLUSIVE_OF(PARK_SLICE) };
static const char *const types[] = { PARK_TYPE_OF(PARK_GROUP), PARK_TYPE_OF(PARK_SLICE) };

static bool is_among(const char *name, const char *const *names, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if (g_str_equal(name, names[i]))
                        return true;
        return false;
}
#define IS_AMONG(name, names) is_among(name, names, G_N_ELEMENTS(names))

static char *path_of(const char *group, const char *file)
{
        return g_strdup_printf(PARK_UNIFIED "/%s%s%s", group, file ? "/" : "", file ?: "");
}

static int read_group(int root, const char *name, char **ret_value)
{
        g_autofree char *path = path_of(name, NULL);
        bool present = faccessat(root, path, F_OK, 0) == 0;

        if (!present && errno != ENOENT)
                return -errno;
        *ret_value = g_strdup(present ? "present" : "absent");
        return 0;
}

static int write_group(int root, const char *name, const char *value)
{
        g_autofree char *path = path_of(name, NULL);
        int r = g_str_equal(value, "present") ? mkdirat(root, path, 0755)
                                              : unlinkat(root, path, AT_REMOVEDIR);

        return r < 0 ? -errno : 0;
}

/* The partition's type: "member", "root", "isolated", or one of these and "invalid (why)". */
static int read_type(int root, const char *group, char **ret_type)
{
        g_autofree char *path = path_of(group, "cpuset.cpus.partition");

        return file_read(root, path, ret_type);
}

static int write_cpus(int root, const char *name, const char *value)
{
        g_autofree char *path = path_of(name, NULL), *group = g_path_get_dirname(name);
        g_autofree char *type = NULL;

        if (*value)
                return file_write(root, path, value);
        if (read_type(root, group, &type) == 0 && !g_str_has_prefix(type, "member"))
                return -EBUSY;
        return file_write(root, path, "\n");
}

static int partition_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = path_of(name, NULL);

        if (IS_AMONG(name, groups))
                return read_group(context->root, name, ret_value);
        if (IS_AMONG(name, lists) || IS_AMONG(name, types))
                return file_read(context->root, path, ret_value);
        return -ENOENT;
}

static int partition_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = path_of(name, NULL);

        if (IS_AMONG(name, groups))
                return write_group(context->root, name, value);
        if (IS_AMONG(name, lists))
                return write_cpus(context->root, name, value);
        if (IS_AMONG(name, types))
                return file_write(context->root, path, value);
        return -ENOENT;
}

/* Lists of the same CPUs, or the same type. */
static bool partition_equal(const char *a, const char *b)
{
        return g_str_equal(a, b) || park_cpus_equal(a, b);
}

/* What the kernel, or the way to rebuilt domains, may have made of a type that was isolated. */
static bool partition_passes(const ActContext *context, const char *to, const char *now)
{
        return g_str_has_prefix(now, "isolated") || g_str_has_prefix(now, "root");
}

/* The type alone decides whether the CPUs of the list are taken from others. */
static CpuSet partition_kept_free(const ActContext *context, const Knob *knob)
{
        g_autofree char *group = g_path_get_dirname(knob->name);

        return IS_AMONG(knob->name, types) ? isolate_cpus(context->root, group) : (CpuSet){ 0 };
}

const KnobKind park_partition_kind = {
        .name = "partition",
        .read = partition_read,
        .write = partition_write,
        .equal = partition_equal,
        .passes = partition_passes,
        .kept_free = partition_kept_free,
};

bool isolate_has_exclusive(int root)
{
        return faccessat(root, PARK_UNIFIED "/cpuset.cpus.isolated", F_OK, 0) == 0;
}

/* The CPUs of a list of the group; empty if it has none or is not there. */
static CpuSet list_of(int root, const char *group, const char *file)
{
        g_autofree char *path = path_of(group, file), *text = NULL;
        CpuSet cpus = { 0 };

        if (file_read(root, path, &text) == 0)
                cpuset_parse(text, &cpus);
        return cpus;
}

static bool is_member(int root, const char *group)
{
        g_autofree char *type = NULL;

        return read_type(root, group, &type) < 0 || g_str_equal(type, "member");
}

CpuSet isolate_cpus(int root, const char *group)
{
        g_autofree char *type = NULL;

        if (read_type(root, group, &type) < 0 || !g_str_equal(type, "isolated"))
                return (CpuSet){ 0 };
        return list_of(root, group,
                       isolate_has_exclusive(root) ? "cpuset.cpus.exclusive.effective"
                                                   : "cpuset.cpus");
}

/* The CPUs that the sibling does not share with a partition of `cpus`. */
static CpuSet claimed_by(int root, const char *sibling, const CpuSet *cpus, bool lists_matter)
{
        CpuSet own = list_of(root, sibling, "cpuset.cpus.exclusive");
        CpuSet listed = list_of(root, sibling, "cpuset.cpus");

        if (lists_matter || !is_member(root, sibling) || cpuset_is_subset(&listed, cpus))
                cpuset_or(&own, &listed);
        return own;
}

char *isolate_rival(int root, const char *group, const CpuSet *cpus, bool lists_matter)
{
        _dir_ DIR *dir = dir_open(root, PARK_UNIFIED);
        struct dirent *entry;
        char *rival = NULL;

        while (dir && !rival && (entry = readdir(dir))) {
                CpuSet own = { 0 };

                if (entry->d_type == DT_DIR && *entry->d_name != '.' &&
                    !g_str_equal(entry->d_name, group))
                        own = claimed_by(root, entry->d_name, cpus, lists_matter);
                if (cpuset_intersects(&own, cpus)) {
                        g_autofree char *list = cpuset_format(&own);

                        rival = g_strdup_printf("%s has CPUs %s of its own", entry->d_name, list);
                }
        }
        return rival;
}

/* Adds the CPUs of a list of the group, if it has one. */
static void add_list(int root, const char *group, const char *file, CpuSet *cpus)
{
        g_autofree char *path = path_of(group, file), *text = NULL;
        CpuSet more;

        if (file_read(root, path, &text) == 0 && cpuset_parse(text, &more) == 0)
                cpuset_or(cpus, &more);
}

CpuSet isolate_lost(int root, const CpuSet *online)
{
        _dir_ DIR *dir = dir_open(root, PARK_UNIFIED);
        CpuSet had = { 0 }, lost = *online;
        struct dirent *entry;

        add_list(root, ".", "cpuset.cpus.effective", &had);
        if (cpuset_is_empty(&had) ||
            faccessat(root, PARK_UNIFIED "/cpuset.cpus.isolated", F_OK, 0) < 0)
                return (CpuSet){ 0 };
        while (dir && (entry = readdir(dir)))
                add_list(root, entry->d_name, "cpuset.cpus.exclusive.effective", &had);
        cpuset_subtract(&lost, &had);
        return lost;
}

/* True if a CPU of `cpus` has no scheduling domain, or if that is not known. In /proc/schedstat the
 * lines of a CPU's domains follow its own. */
static bool lacks_domain(int root, const CpuSet *cpus)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        CpuSet without = *cpus;
        int cpu = -1;

        if (file_read(root, "proc/schedstat", &text) < 0)
                return true;
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                if (g_str_has_prefix(*line, "cpu"))
                        cpu = (int)g_ascii_strtoll(*line + 3, NULL, 10);
                else if (g_str_has_prefix(*line, "domain"))
                        cpuset_remove(&without, cpu);
        }
        return !cpuset_is_empty(&without);
}

int isolate_rebuild(int root, const char *group, const CpuSet *before, const CpuSet *parked,
                    const CpuSet *allowed)
{
        g_autofree char *path = path_of(group, "cpuset.cpus.partition");
        CpuSet back = *before;
        int r;

        cpuset_subtract(&back, parked);
        cpuset_and(&back, allowed);
        if (cpuset_is_empty(&back) || cpuset_count(allowed) < 2 || !lacks_domain(root, &back))
                return 0;
        r = file_write(root, path, "root");
        return r < 0 ? r : file_write(root, path, "isolated");
}

int isolate_check(int root, const char *group, const CpuSet *parked, char **ret_why)
{
        g_autofree char *type = NULL, *wanted = NULL, *list = NULL;
        CpuSet taken;
        int r = read_type(root, group, &type);

        if (r < 0)
                return r;
        taken = isolate_cpus(root, group);
        if (g_str_equal(type, "isolated") && cpuset_is_subset(parked, &taken))
                return 0;
        list = cpuset_format(&taken);
        wanted = cpuset_format(parked);
        *ret_why = g_str_equal(type, "isolated")
                           ? g_strdup_printf("another partition has CPUs of %s: %s got only \"%s\"",
                                             wanted, group, list)
                           : g_strdup_printf("%s is \"%s\"", group, type);
        return -EBUSY;
}
