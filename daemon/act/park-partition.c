/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by an isolated partition of cgroup v2: a cgroup without tasks that takes the parked CPUs
 * away from everybody else in one write, and leaves everybody else's settings alone.
 *
 * It is made when the first CPU is parked and dissolved when none is. Each of its parts is a knob:
 *
 *      controller cpuset                                 off -> on, unless it is on
 *      partition  idled.parked                           absent -> present (mkdir, rmdir)
 *      partition  idled.parked/cpuset.cpus               "" -> the parked CPUs
 *      partition  idled.parked/cpuset.cpus.partition     member -> isolated
 *
 * so that whoever finds the record takes them back in the right order. Another mask is written
 * straight into cpuset.cpus: a detour through `member` would give all CPUs back for a moment. An
 * empty list in a partition that is at work loses its CPUs for everybody (seen on 6.1), and is
 * refused here.
 *
 * A write that the kernel accepts can still leave the partition "isolated invalid (why)", at once
 * or later, when a neighbour wants one of its CPUs; then nothing is parked. So it is read back
 * after every change, and dissolved if it is not just "isolated".
 *
 * Linux 6.1 does not rebuild its scheduling domains when the mask changes: CPUs given back belong
 * to none and get no work until the partition's type is written anew. `root` then `isolated` does
 * it without a gap, at up to 20 ms, and is done only if a CPU given back has no domain.
 */
#include "act/park-common.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"

#define GROUP "idled.parked"
#define CPUS  GROUP "/cpuset.cpus"
#define TYPE  GROUP "/cpuset.cpus.partition"

#define BELOW(name) PARK_UNIFIED "/" name

typedef struct State {
        ActContext context;
} State;

static int read_group(int root, char **ret_value)
{
        if (faccessat(root, BELOW(GROUP), F_OK, 0) < 0 && errno != ENOENT)
                return -errno;
        *ret_value = g_strdup(faccessat(root, BELOW(GROUP), F_OK, 0) == 0 ? "present" : "absent");
        return 0;
}

static int write_group(int root, const char *value)
{
        if (g_str_equal(value, "present"))
                return mkdirat(root, BELOW(GROUP), 0755) < 0 ? -errno : 0;
        return unlinkat(root, BELOW(GROUP), AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* The partition's type: "member", "root", "isolated", or one of these and "invalid (why)". */
static int read_type(int root, char **ret_type)
{
        return file_read(root, BELOW(TYPE), ret_type);
}

static int write_cpus(int root, const char *value)
{
        g_autofree char *type = NULL;

        if (*value)
                return file_write(root, BELOW(CPUS), value);
        if (read_type(root, &type) == 0 && !g_str_has_prefix(type, "member"))
                return -EBUSY;
        return file_write(root, BELOW(CPUS), "\n");
}

static int partition_read(const ActContext *context, const char *name, char **ret_value)
{
        if (g_str_equal(name, GROUP))
                return read_group(context->root, ret_value);
        if (g_str_equal(name, CPUS))
                return file_read(context->root, BELOW(CPUS), ret_value);
        if (g_str_equal(name, TYPE))
                return read_type(context->root, ret_value);
        return -ENOENT;
}

static int partition_write(const ActContext *context, const char *name, const char *value)
{
        if (g_str_equal(name, GROUP))
                return write_group(context->root, value);
        if (g_str_equal(name, CPUS))
                return write_cpus(context->root, value);
        if (g_str_equal(name, TYPE))
                return file_write(context->root, BELOW(TYPE), value);
        return -ENOENT;
}

static bool takes_cpus_away(const char *type)
{
        return g_str_has_prefix(type, "isolated") || g_str_has_prefix(type, "root");
}

/* Lists of the same CPUs, or types that differ only in what the kernel, or the way to a rebuilt
 * domain, has made of them. */
static bool partition_equal(const char *a, const char *b)
{
        return park_cpus_equal(a, b) || (takes_cpus_away(a) && takes_cpus_away(b));
}

static bool partition_confines(const char *name)
{
        return g_str_equal(name, TYPE);
}

const KnobKind park_partition_kind = {
        .name = "partition",
        .read = partition_read,
        .write = partition_write,
        .equal = partition_equal,
        .confines = partition_confines,
};

static bool restricts_units(const ParkOptions *options)
{
        return *options->exclude || !g_strv_contains((const char *const *)options->units, "*");
}

static int open_partition(const ActContext *context, const ParkOptions *options, void **ret_state)
{
        State *state;
        int r;

        if (restricts_units(options)) /* it cannot tell one from another */
                return -EOPNOTSUPP;
        r = park_controller_check(context->root);
        if (r < 0)
                return r;
        state = g_new0(State, 1);
        state->context = *context;
        *ret_state = state;
        return 0;
}

/* Type, CPUs, directory, controller: the reverse of how they were set. */
static int dissolve(Knobs *knobs)
{
        static const char *const nothing[] = { NULL };
        int first = park_release(knobs, &park_partition_kind, nothing);

        return park_first_error(first, park_release(knobs, &park_controller_kind, nothing));
}

/* True if a CPU of `cpus` has no scheduling domain, or nobody can tell. In /proc/schedstat the
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

/* After CPUs were given back: makes the kernel rebuild its domains if it has not. */
static int rebuild_domains(int root, const CpuSet *before, const CpuSet *parked,
                           const CpuSet *allowed)
{
        CpuSet back = *before;
        int r;

        cpuset_subtract(&back, parked);
        cpuset_and(&back, allowed);
        if (cpuset_is_empty(&back) || cpuset_count(allowed) < 2 || !lacks_domain(root, &back))
                return 0;
        r = file_write(root, BELOW(TYPE), "root");
        return r < 0 ? r : file_write(root, BELOW(TYPE), "isolated");
}

static CpuSet read_cpus(int root)
{
        g_autofree char *text = NULL;
        CpuSet cpus = { 0 };

        if (file_read(root, BELOW(CPUS), &text) == 0)
                cpuset_parse(text, &cpus);
        return cpus;
}

static int set_parts(Knobs *knobs, const char *mask)
{
        const struct {
                const KnobKind *kind;
                const char *name, *value;
        } parts[] = {
                { &park_controller_kind, PARK_CONTROLLER, "on" },
                { &park_partition_kind, GROUP, "present" },
                { &park_partition_kind, CPUS, mask },
                { &park_partition_kind, TYPE, "isolated" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
                int r = knob_set(knobs, parts[i].kind, parts[i].name, parts[i].value);

                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_type(int root)
{
        g_autofree char *type = NULL;
        int r = read_type(root, &type);

        if (r < 0)
                return r;
        return g_str_equal(type, "isolated") ? 0 : -EPERM;
}

static int park(State *state, Knobs *knobs, const CpuSet *parked, const CpuSet *allowed)
{
        int root = state->context.root, r;
        g_autofree char *mask = cpuset_format(parked);
        CpuSet before = read_cpus(root);
        unsigned writes = knobs_writes(knobs);

        r = set_parts(knobs, mask);
        if (!knob_find(knobs, &park_partition_kind, GROUP)) /* a dry run makes none */
                return r == -ENOENT ? 0 : r;
        if (r < 0)
                return r;
        if (knobs_writes(knobs) != writes)
                r = rebuild_domains(root, &before, parked, allowed);
        return r < 0 ? r : check_type(root);
}

static int apply_partition(void *data, Knobs *knobs, const CpuSet *allowed,
                           const Topology *topology)
{
        CpuSet parked = topology->online, left = topology->online;
        int r;

        cpuset_subtract(&parked, allowed);
        cpuset_subtract(&left, &parked);
        if (cpuset_is_empty(&parked))
                return dissolve(knobs);
        if (cpuset_is_empty(&left))
                return -EINVAL;
        r = park(data, knobs, &parked, &left);
        if (r < 0)
                dissolve(knobs);
        return r;
}

static const char *describe_partition(void *data)
{
        return "isolated partition /" BELOW(GROUP);
}

const ParkBackendOps park_partition = {
        .name = "partition",
        .open = open_partition,
        .apply = apply_partition,
        .describe = describe_partition,
        .close = g_free,
};
