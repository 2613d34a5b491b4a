/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A stand-in for systemd, on a machine with CPUs 0-3, that behaves as versions 252 and 257 do: a
 * set replaces the list; the answer is "done" even if the kernel refuses; a unit's effective CPUs
 * are those that its slice has too, and unknown (empty) while nothing is limited. It lives in
 * memory that a child shares with the test, so that it outlives the child.
 */
#ifndef IDLED_TESTS_FAKE_SYSTEMD_H
#define IDLED_TESTS_FAKE_SYSTEMD_H

#include "act/park/park-common.h"
#include "knobs.h"
#include "set-of.h"

typedef struct FakeUnit {
        const char *name, *slice;
        CpuSet allowed;
        bool gone, refused; /* the kernel does not take its limit */
} FakeUnit;

typedef struct FakeSystemd {
        FakeUnit units[16];
        int n;
        char log[4096];                      /* "UNIT=CPUS " for each call that sets */
        int listed;                          /* how many slices were listed */
        int error;                           /* of every call, 0 none */
        void (*after_set)(const char *name); /* what else systemd does after a call that sets */
} FakeSystemd;

static FakeSystemd *systemd;

static inline FakeUnit *systemd_find(const char *name)
{
        for (int i = 0; i < systemd->n; i++)
                if (g_str_equal(systemd->units[i].name, name))
                        return &systemd->units[i];
        return NULL;
}

static inline int list_children(void *userdata, const char *slice, char ***ret_units)
{
        GPtrArray *names = g_ptr_array_new();

        systemd->listed++;
        if (systemd->error) {
                g_ptr_array_unref(names);
                return systemd->error;
        }
        for (int i = 0; i < systemd->n; i++)
                if (!systemd->units[i].gone && g_str_equal(systemd->units[i].slice, slice))
                        g_ptr_array_add(names, g_strdup(systemd->units[i].name));
        g_ptr_array_add(names, NULL);
        *ret_units = (char **)g_ptr_array_free(names, FALSE);
        return 0;
}

static inline int get_allowed(void *userdata, const char *name, CpuSet *ret_cpus)
{
        const FakeUnit *unit = systemd_find(name);

        step();
        if (systemd->error)
                return systemd->error;
        if (!unit || unit->gone)
                return -ENOENT;
        *ret_cpus = unit->allowed;
        return 0;
}

static inline int set_allowed(void *userdata, const char *name, const CpuSet *cpus)
{
        FakeUnit *unit = systemd_find(name);
        g_autofree char *text = cpuset_format(cpus);

        if (systemd->error)
                return systemd->error;
        if (!unit || unit->gone)
                return -ENOENT;
        step();
        unit->allowed = *cpus;
        g_strlcat(systemd->log, name, sizeof(systemd->log));
        g_strlcat(systemd->log, "=", sizeof(systemd->log));
        g_strlcat(systemd->log, text, sizeof(systemd->log));
        g_strlcat(systemd->log, " ", sizeof(systemd->log));
        if (systemd->after_set)
                systemd->after_set(name);
        step();
        return 0;
}

static inline int get_effective(void *userdata, const char *name, CpuSet *ret_cpus)
{
        const FakeUnit *unit = systemd_find(name);
        CpuSet effective = { 0 };

        if (!unit || unit->gone)
                return -ENOENT;
        cpuset_add_range(&effective, 0, 3);
        for (; unit; unit = systemd_find(unit->slice))
                if (!cpuset_is_empty(&unit->allowed) && !unit->refused)
                        cpuset_and(&effective, &unit->allowed);
        *ret_cpus = effective;
        return 0;
}

static const UnitControl systemd_control = {
        .list_children = list_children,
        .get_allowed = get_allowed,
        .set_allowed = set_allowed,
        .get_effective = get_effective,
};

/* With an empty record of originals. */
static inline void systemd_new(const UnitControl *control)
{
        scratch_open();
        scratch_file("sys/devices/system/cpu/possible", "0-3\n");
        systemd = mmap(NULL, sizeof(*systemd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);
        ck_assert_ptr_ne(systemd, MAP_FAILED);
        knobs_begin(scratch_fd, control);
}

static inline void systemd_done(void)
{
        knobs_end();
        munmap(systemd, sizeof(*systemd));
        scratch_close();
}

static inline void systemd_unit(const char *name, const char *slice, const char *allowed)
{
        systemd->units[systemd->n++] = (FakeUnit){ name, slice, set_of(allowed), false, false };
}

static inline void systemd_gone(const char *name)
{
        systemd_find(name)->gone = true;
}

static inline void systemd_foreign(const char *name, const char *allowed)
{
        systemd_find(name)->allowed = set_of(allowed);
}

#endif
