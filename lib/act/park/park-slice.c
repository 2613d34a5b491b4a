/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cgroup of a partition where systemd owns the tree: that of a slice without units, started
 * when the first CPU is parked and stopped when none is.
 *
 *      slice  idledpark.slice      "" -> the parked CPUs
 *
 * A slice with AllowedCPUs= keeps the cpuset controller on for as long as it is there, over
 * daemon-reload and changes of other units, which take it away from a program that merely switched
 * it on. It leaves no file when it goes, and it goes by itself when the service that idled runs as
 * ends in whatever way (systemd/unit-control.c). Its name has no '-', which would put it below
 * another slice: the parent of a partition must be a partition itself, as the root is.
 *
 * The value is read from the kernel. systemd confirms a request before it carries it out, but
 * carries it out before it answers the next question, so one is asked.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "act/park/park-isolate.h"
#include "base/cpuset-text.h"
#include "base/file.h"

#define DIRECTORY PARK_UNIFIED "/" PARK_SLICE

static int slice_read(const ActContext *context, const char *name, char **ret_value)
{
        int r;

        if (!g_str_equal(name, PARK_SLICE))
                return -ENOENT;
        r = file_read(context->root, DIRECTORY "/cpuset.cpus", ret_value);
        if (r != -ENOENT)
                return r;
        *ret_value = g_strdup("");
        return 0;
}

static int give_cpus(const ActContext *context, const CpuSet *cpus)
{
        const UnitControl *units = context->units;
        CpuSet unused;
        int r = -ENOENT;

        if (faccessat(context->root, DIRECTORY, F_OK, 0) == 0)
                r = units->set_allowed(units->userdata, PARK_SLICE, cpus);
        if (r == -ENOENT)
                r = units->start_slice(units->userdata, PARK_SLICE, cpus);
        return r < 0 ? r : units->get_effective(units->userdata, PARK_SLICE, &unused);
}

static int slice_write(const ActContext *context, const char *name, const char *value)
{
        CpuSet cpus;
        int r;

        if (!context->units)
                return -ENOTCONN;
        r = cpuset_parse(value, &cpus);
        if (r < 0)
                return r;
        return cpuset_is_empty(&cpus) ? context->units->stop(context->units->userdata, PARK_SLICE)
                                      : give_cpus(context, &cpus);
}

const KnobKind park_slice_kind = {
        .name = "slice",
        .read = slice_read,
        .write = slice_write,
        .equal = park_cpus_equal,
};
