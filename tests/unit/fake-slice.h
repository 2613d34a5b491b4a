/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A systemd that owns the tree of fake-partition.h: it makes the group as a slice, which holds the
 * controller for as long as it is there, and remembers limits of user.slice and system.slice. Every
 * call that changes something is logged as "start=MASK", "cpus=MASK", "stop" or "UNIT=MASK".
 */
#ifndef IDLED_TESTS_FAKE_SLICE_H
#define IDLED_TESTS_FAKE_SLICE_H

#include "act/park/park-common.h"

#include "fake-partition.h"

static char (*fake_limits)[64]; /* of user.slice and system.slice */
static int fake_bus_error;      /* of every call to systemd */

static void fake_take_list(const char *text)
{
        ck_assert_msg(*text || *fake->type == 'm', "a valid partition was emptied");
        g_strlcpy(fake->cpus, text, sizeof(fake->cpus));
        fake_show(false);
}

static int fake_start_slice(void *userdata, const char *slice, const CpuSet *cpus)
{
        g_autofree char *text = cpuset_format(cpus);

        if (fake_bus_error)
                return fake_bus_error;
        ck_assert_str_eq(slice, "idledpark.slice");
        ck_assert(!fake->group);
        step();
        ck_assert_int_eq(syscall(SYS_mkdirat, scratch_fd, FAKE_SLICE, 0755), 0);
        fake->group = fake->controller = true;
        fake_log("start", text);
        fake_take_list(text);
        step();
        return 0;
}

static int fake_stop(void *userdata, const char *unit)
{
        if (fake_bus_error)
                return fake_bus_error;
        ck_assert_str_eq(unit, "idledpark.slice");
        if (!fake->group)
                return 0;
        step();
        fake_empty_group();
        ck_assert_int_eq(syscall(SYS_unlinkat, scratch_fd, FAKE_SLICE, AT_REMOVEDIR), 0);
        fake->group = fake->controller = false;
        fake_log("stop", unit);
        fake_show(true);
        step();
        return 0;
}

static int fake_unit(const char *unit)
{
        static const char *const units[] = { "user.slice", "system.slice" };

        for (int i = 0; i < 2; i++)
                if (g_str_equal(unit, units[i]))
                        return i;
        return -ENOENT;
}

/* systemd keeps a file for every limit that it was given. */
static void fake_limit(const char *unit, char limit[static 64], const char *text)
{
        g_autofree char *file = g_strdup_printf(
                "run/systemd/system.control/%s.d/50-AllowedCPUs.conf", unit);

        scratch_file(file, text);
        g_strlcpy(limit, text, sizeof(*fake_limits));
}

static int fake_set_allowed(void *userdata, const char *unit, const CpuSet *cpus)
{
        g_autofree char *text = cpuset_format(cpus);
        int i = fake_unit(unit);

        if (fake_bus_error)
                return fake_bus_error;
        if (i < 0 && !fake->group)
                return -ENOENT;
        step();
        fake_log(i < 0 ? "cpus" : unit, text);
        if (i < 0)
                fake_take_list(text);
        else
                fake_limit(unit, fake_limits[i], text);
        step();
        return 0;
}

static int fake_get_allowed(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        int i = fake_unit(unit);

        if (fake_bus_error)
                return fake_bus_error;
        *ret_cpus = set_of(i < 0 ? "" : fake_limits[i]);
        return 0;
}

static int fake_list_children(void *userdata, const char *slice, char ***ret_units)
{
        if (fake_bus_error)
                return fake_bus_error;
        *ret_units = g_strsplit("user.slice system.slice", " ", 0);
        return 0;
}

static const UnitControl fake_units = {
        .list_children = fake_list_children,
        .get_allowed = fake_get_allowed,
        .set_allowed = fake_set_allowed,
        .get_effective = fake_get_allowed,
        .start_slice = fake_start_slice,
        .stop = fake_stop,
};

static void fake_slice_new(void)
{
        fake_new();
        fake->slice = true;
        fake_bus_error = 0;
        scratch_file("run/systemd/system/some.service", "");
        fake_limits = mmap(NULL, 2 * sizeof(*fake_limits), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(fake_limits, MAP_FAILED);
}

static void fake_slice_done(void)
{
        munmap(fake_limits, 2 * sizeof(*fake_limits));
        fake_done();
}

#endif
