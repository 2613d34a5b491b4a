/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of knobs share: fake knobs, and what restoring them reports.
 */
#ifndef IDLED_TESTS_KNOB_FIXTURE_H
#define IDLED_TESTS_KNOB_FIXTURE_H

#include "knob-mock.h"
#include "knobs.h"

#define BOOT_ID "proc/sys/kernel/random/boot_id"

static inline void setup(void)
{
        scratch_open();
        scratch_file(BOOT_ID, "this-boot\n");
        mock_new();
        knobs_begin(scratch_fd, NULL);
}

static inline void teardown(void)
{
        knobs_end();
        mock_done();
        scratch_close();
}

static inline int set(const char *name, const char *value)
{
        return knob_set(knobs, &mock_kind, name, value);
}

static inline const Knob *find(const char *name)
{
        return knob_find(knobs, &mock_kind, name);
}

/* Collects "NAME VALUE ERROR; " of a restore. */
static inline void collect(const Knob *knob, const char *value, int error, void *userdata)
{
        g_string_append_printf(userdata, "%s %s %s; ", knob->name, value ? value : "-",
                               error ? g_strerror(-error) : "ok");
}

/* A fresh instance takes up the record and restores everything; returns its report. */
static inline char *recover_and_restore(void)
{
        g_autoptr(Knobs) next = open_knobs();
        GString *report = g_string_new(NULL);
        int skipped;

        ck_assert_int_ge(knobs_recover(next, mock_kinds, &skipped), 0);
        knobs_restore(next, collect, report);
        return g_string_free(report, FALSE);
}

#endif
