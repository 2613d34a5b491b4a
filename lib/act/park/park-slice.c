/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cgroup of a partition where systemd owns the tree: the cgroup of a slice without units. idled
 * starts the slice when the first CPU is parked, and stops it when no CPU is parked any more.
 *
 *      slice  idledpark.slice      "" -> the parked CPUs
 *
 * While a slice with AllowedCPUs= exists, systemd keeps the cpuset controller on. If a program
 * switches the controller on by itself, systemd switches it off at daemon-reload or when other
 * units change. No file of the slice remains when it stops, and it stops by itself when the service
 * of idled ends in whatever way (systemd/unit-control.c). Its name has no '-', which would put it
 * below another slice: the parent of a partition must be a partition itself, as the root is.
 *
 * The value is read from the kernel. systemd confirms a request before it has written the value,
 * but writes it before it answers the next call: so a query follows each request that gives CPUs.
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
