/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs to test with, and what can happen to them, in verbs. Values live in memory that a child
 * shares with the test, so that they outlive it as the kernel's do.
 */
#ifndef IDLED_TESTS_KNOB_MOCK_H
#define IDLED_TESTS_KNOB_MOCK_H

#include "act/knob/knob.h"
#include "base/cpuset-text.h"
#include "table.h"

#define MOCKS 4

typedef struct Mock {
        char name[8], value[64];
        char shown[64]; /* by the next `n_shown` reads instead of the value */
        int n_shown;
        bool gone;
        unsigned generation; /* identifies the object that has the name */
} Mock;

/* How knobs behave that do not take a value as they should. */
typedef struct MockFault {
        int fail_write, fail_read, fail_read_back; /* negative errno, 0 none */
        bool short_write;                          /* takes one byte of the value */
        const char *stored;  /* is stored instead of the written value; NULL: as written */
        const char *foreign; /* another program writes this right after our next write */
        int late;            /* reads after a write that still show what was there before */
        unsigned busy_usec;  /* for so long other programs run meanwhile */
} MockFault;

/* What the knobs are like now, and how they will behave. */
typedef struct MockWorld {
        Mock knobs[MOCKS];
        char written[4096]; /* "NAME=VALUE " for every write that arrived */
        MockFault fault;
        bool under[MOCKS]; /* refuses a value that the knob before it does not contain */
} MockWorld;

static MockWorld *mock;
static bool mock_wrote; /* the next read is a read-back */

static void step(void);

static inline Mock *mock_find(const char *name)
{
        for (int i = 0; i < MOCKS; i++)
                if (g_str_equal(mock->knobs[i].name, name))
                        return &mock->knobs[i];
        ck_abort_msg("no mock %s", name);
}

static inline int mock_read(const ActContext *context, const char *name, char **ret_value)
{
        Mock *knob = mock_find(name);
        bool back = mock_wrote;

        step();
        mock_wrote = false;
        if (knob->gone)
                return -ENOENT;
        if (back ? mock->fault.fail_read_back : mock->fault.fail_read)
                return back ? mock->fault.fail_read_back : mock->fault.fail_read;
        if (knob->n_shown > 0)
                g_usleep(mock->fault.busy_usec);
        *ret_value = g_strdup(knob->n_shown > 0 ? knob->shown : knob->value);
        knob->n_shown -= knob->n_shown > 0;
        return 0;
}

static inline bool mock_refuses(const Mock *knob, const char *value)
{
        CpuSet set, parent;

        return mock->under[knob - mock->knobs] && cpuset_parse(value, &set) == 0 &&
               cpuset_parse(knob[-1].value, &parent) == 0 && !cpuset_is_subset(&set, &parent);
}

static inline int mock_write(const ActContext *context, const char *name, const char *value)
{
        Mock *knob = mock_find(name);

        mock_wrote = true;
        if (knob->gone)
                return -ENOENT;
        if (mock->fault.fail_write)
                return mock->fault.fail_write;
        if (mock_refuses(knob, value))
                return -EACCES;
        step();
        g_strlcpy(knob->shown, knob->value, sizeof(knob->shown));
        knob->n_shown = mock->fault.late;
        g_strlcpy(knob->value, mock->fault.stored ?: value, sizeof(knob->value));
        if (mock->fault.short_write)
                knob->value[1] = '\0';
        g_strlcat(mock->written, name, sizeof(mock->written));
        g_strlcat(mock->written, "=", sizeof(mock->written));
        g_strlcat(mock->written, value, sizeof(mock->written));
        g_strlcat(mock->written, " ", sizeof(mock->written));
        step();
        if (mock->fault.foreign)
                g_strlcpy(knob->value, mock->fault.foreign, sizeof(knob->value));
        mock->fault.foreign = NULL;
        return mock->fault.short_write ? -EIO : 0;
}

/* "0,1" is "0-1". */
static inline bool mock_equal(const char *a, const char *b)
{
        CpuSet x, y;

        return cpuset_parse(a, &x) == 0 && cpuset_parse(b, &y) == 0 && cpuset_equal(&x, &y);
}

static inline uint64_t mock_identity(const ActContext *context, const char *name)
{
        return mock_find(name)->generation + 1;
}

static const KnobKind mock_kind = { .name = "mock",
                                    .read = mock_read,
                                    .write = mock_write,
                                    .identity = mock_identity,
                                    .equal = mock_equal };
static const KnobKind *const mock_kinds[] = { &mock_kind, NULL };

/* Knobs a, b, c and d with the values 0-3, 0-7, 0-3 and 0-1. */
static inline void mock_new(void)
{
        static const char *const values[MOCKS] = { "0-3", "0-7", "0-3", "0-1" };

        mock = mmap(NULL, sizeof(*mock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ck_assert_ptr_ne(mock, MAP_FAILED);
        for (int i = 0; i < MOCKS; i++) {
                mock->knobs[i].name[0] = (char)('a' + i);
                g_strlcpy(mock->knobs[i].value, values[i], sizeof(mock->knobs[i].value));
        }
}

static inline void mock_done(void)
{
        munmap(mock, sizeof(*mock));
}

static inline const char *mock_value(const char *name)
{
        return mock_find(name)->value;
}

/* Another program writes to the knob. */
static inline void mock_foreign(const char *name, const char *value)
{
        g_strlcpy(mock_find(name)->value, value, sizeof(mock->knobs[0].value));
}

/* The next read shows this instead of the present value. */
static inline void mock_show(const char *name, const char *value)
{
        g_strlcpy(mock_find(name)->shown, value, sizeof(mock->knobs[0].shown));
        mock_find(name)->n_shown = 1;
}

static inline void mock_behave(void)
{
        mock->fault = (MockFault){ 0 };
}

#endif
