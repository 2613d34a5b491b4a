/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the tests of actuators for single CPUs share: a machine of four CPUs as a tree of files, a
 * plan, and an actuator with its knobs, once tuning_start() has opened it. The record of originals
 * lies in the tree.
 */
#ifndef IDLED_TESTS_TUNING_H
#define IDLED_TESTS_TUNING_H

#include <sys/syscall.h>

#include "act/tune/tuning.h"
#include "machine.h"

/* The result of the next writes to knobs: 0, an error number, -1: only a byte is taken, or
 * TUNING_LATE: they are taken, but the files do not show it. */
#define TUNING_LATE (-2)
static int tuning_refusal;

/* What the machine does by itself after the next write to a knob; NULL: nothing. */
static void (*tuning_moves)(void);

static inline bool step_is_record(int fd);

static inline ssize_t tuning_write(int fd, const void *data, size_t size)
{
        void (*moves)(void) = tuning_moves;

        if (tuning_refusal == 0 || step_is_record(fd)) {
                ssize_t n = syscall(SYS_write, fd, data, size);

                if (moves && !step_is_record(fd)) {
                        tuning_moves = NULL;
                        moves();
                }
                return n;
        }
        if (tuning_refusal == TUNING_LATE)
                return (ssize_t)size;
        if (tuning_refusal < 0)
                return syscall(SYS_write, fd, data, 1);
        errno = tuning_refusal;
        return -1;
}
#define STEPS_WRITE(fd, data, size)      tuning_write(fd, data, size)
#define STEPS_UNLINKAT(dir, name, flags) syscall(SYS_unlinkat, dir, name, flags)

#include "knobs.h"

#define N_CPUS 4
#define DIR    TUNE_DIR

static Topology *topology;
static CpuWish wishes[N_CPUS];
static Plan plan;
static IdleTable idle[N_CPUS];
static ActFacts facts;
static TuneOptions options;

static inline void put(const char *value, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static inline void put(const char *value, const char *format, ...)
{
        g_autofree char *name = NULL, *path = NULL, *line = g_strconcat(value, "\n", NULL);
        va_list args;

        va_start(args, format);
        name = g_strdup_vprintf(format, args);
        va_end(args);
        path = g_strconcat(DIR, name, NULL);
        scratch_file(path, line);
}

/* The file's text without its newline, as a new string. A value that is shorter than what was there
 * leaves the rest behind in a plain file: what counts ends at the newline. */
static inline char *value_of(const char *name)
{
        g_autofree char *path = g_strconcat(DIR, name, NULL);
        char *text = scratch_text(path);

        return text ? g_strchomp(text) : NULL;
}

static inline void expect_value(const char *where, const char *name, const char *value)
{
        g_autofree char *found = value_of(name);

        ck_case(where, g_strcmp0(found, value) == 0, "%s is %s, expected %s", name, found, value);
}

static inline void drop(const char *name)
{
        g_autofree char *path = g_build_filename(scratch, DIR, name, NULL);

        ck_assert_int_eq(unlink(path), 0);
}

static inline void tuning_setup(void)
{
        scratch_open();
        scratch_file("proc/sys/kernel/random/boot_id", "this-boot\n");
        put("0-3", "online");
        topology = machine_make(N_CPUS, 1, N_CPUS, "0-3", "");
        facts = (ActFacts){ .topology = topology, .idle = idle };
        options = (TuneOptions){ .manage = true };
        plan_init(&plan, wishes, N_CPUS);
}

static const Actuator *tuned;
static const void *tuned_options;
static void *state;

/* As after a change of its options. */
static inline void reopen(void)
{
        if (state)
                tuned->close(state);
        ck_assert_int_eq(tuned->open(&knobs_context, tuned_options, &state), 0);
}

static inline void tuning_start(const Actuator *actuator, const void *own_options)
{
        tuned = actuator;
        tuned_options = own_options;
        knobs_begin(scratch_fd, NULL);
        state = NULL;
        reopen();
}

static inline void tuning_teardown(void)
{
        if (knobs) {
                tuned->close(state);
                knobs_end();
        }
        topology_free(topology);
        scratch_close();
}

static inline int apply(void)
{
        return tuned->apply(state, knobs, &plan, &facts);
}

/* With the test's own expect(), and its arguments: what is requested has an effect. */
#define apply_sets(...)                                                                            \
        do {                                                                                       \
                ck_assert_int_eq(apply(), 0);                                                      \
                expect(__VA_ARGS__);                                                               \
        } while (0)

static const CpuSet no_cpus;

/* As the 60 s check does. */
static inline int apply_again(void)
{
        tuned->forget(state, knobs, &no_cpus);
        return apply();
}

static inline void no_wishes(void)
{
        plan_init(&plan, wishes, N_CPUS);
}

static inline void end_wishes(void)
{
        no_wishes();
        ck_assert_int_eq(apply(), 0);
}

static inline CpuWish effective_of(int cpu)
{
        CpuWish limits = tune_nothing;

        tuned->report(state, &facts, cpu, &limits);
        return limits;
}

#endif
