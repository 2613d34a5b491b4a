/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of knobs share: fake knobs, a record of originals in a directory of the test's
 * own, and the next instance, which restores what it finds on record.
 */
#ifndef IDLED_TESTS_KNOB_FIXTURE_H
#define IDLED_TESTS_KNOB_FIXTURE_H

#include "scratch.h"
#include "table.h"

#include "knob-mock.h"
#include "steps.h"

#define BOOT_ID "proc/sys/kernel/random/boot_id"

static inline void setup(void)
{
        scratch_open();
        scratch_file(BOOT_ID, "this-boot\n");
        mock_new();
}

static inline void teardown(void)
{
        mock_done();
        scratch_close();
}

static inline Knobs *open_knobs(void)
{
        const ActContext context = { .root = scratch_fd };

        return knobs_new(&context, scratch_fd, false);
}

static inline int set(Knobs *knobs, const char *name, const char *value)
{
        return knob_set(knobs, &mock_kind, name, value);
}

static inline const Knob *find(Knobs *knobs, const char *name)
{
        return knob_find(knobs, &mock_kind, name);
}

static inline bool record_exists(void)
{
        return faccessat(scratch_fd, "undo", F_OK, 0) == 0;
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
        g_autoptr(Knobs) knobs = open_knobs();
        GString *report = g_string_new(NULL);
        int skipped;

        ck_assert_int_ge(knobs_recover(knobs, mock_kinds, &skipped), 0);
        knobs_restore(knobs, collect, report);
        return g_string_free(report, FALSE);
}

#endif
