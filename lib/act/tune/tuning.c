/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the actuators for frequencies, idle states and latencies share: their options, and the files
 * of CPUs as knobs.
 */
#include "act/tune/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

const char tune_dir[] = TUNE_DIR;

const CpuWish tune_nothing = { .latency_us = -1, .bias = -1, .boost = -1 };

Tuned *tune_new(int n)
{
        Tuned *tuned = g_new0(Tuned, (gsize)n);

        for (int i = 0; i < n; i++)
                tuned[i].wished = tuned[i].effective = tune_nothing;
        return tuned;
}

bool tune_is_of(const char *name, const CpuSet *numbers)
{
        int number;

        return (sscanf(name, "cpufreq/policy%d/", &number) == 1 ||
                sscanf(name, "cpu%d/", &number) == 1) &&
               cpuset_has(numbers, number);
}

void tune_forget(Tuned *tuned, int n, Knobs *knobs, const KnobKind *const *kinds,
                 const CpuSet *returned)
{
        const Knob *const *list;

        for (int i = 0; tuned && i < n; i++)
                tuned[i].known = false;
        if (cpuset_is_empty(returned))
                return;
        for (int i = knobs_list(knobs, &list); i-- > 0;)
                if (knob_is_of(list[i], kinds) && tune_is_of(list[i]->name, returned))
                        knob_adopt(knobs, list[i]->kind, list[i]->name);
}

char *tune_put(char *to, const char *end, const char *text)
{
        size_t n = MIN(strlen(text), (size_t)(end - to) - 1);

        memcpy(to, text, n);
        to[n] = '\0';
        return to + n;
}

/* With snprintf() this would be a third of the cost of checking an unchanged knob. */
char *tune_name(char name[TUNE_NAME], const char *before, int number, const char *after)
{
        char digits[16], *first = digits + sizeof(digits) - 1;
        const char *end = name + TUNE_NAME;

        *first = '\0';
        do
                *--first = (char)('0' + number % 10);
        while ((number /= 10));
        return tune_put(tune_put(tune_put(name, end, before), end, first), end, after);
}

/* False for what can be no knob's name: the record of originals could have been damaged. */
static bool is_name(const char *name)
{
        return path_is_below(name) && strlen(name) < TUNE_NAME;
}

static void path_of(const char *name, char path[sizeof(TUNE_DIR) + TUNE_NAME])
{
        const char *end = path + sizeof(TUNE_DIR) + TUNE_NAME;

        tune_put(tune_put(path, end, TUNE_DIR), end, name);
}

/* True if the name is that of a file of one CPU and this CPU is offline. */
static bool is_asleep(int root, const char *name)
{
        char path[64], text[8];
        int cpu, behind = 0;

        if (sscanf(name, "cpu%d/%n", &cpu, &behind) < 1 || behind == 0)
                return false;
        snprintf(path, sizeof(path), TUNE_DIR "cpu%d/online", cpu);
        return file_read_value(root, path, text, sizeof(text)) > 0 && g_str_equal(text, "0");
}

int tune_read(const ActContext *context, const char *name, char **ret_value)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME], text[256];
        int r;

        if (!is_name(name))
                return -ENOENT;
        path_of(name, path);
        r = file_read_value(context->root, path, text, sizeof(text));
        if ((r == -ENOENT || r == -ENODEV) && is_asleep(context->root, name))
                return -EBUSY;
        if (r < 0)
                return r == -ENODEV ? -ENOENT : r;
        *ret_value = g_strdup(text);
        return 0;
}

int tune_write(const ActContext *context, const char *name, const char *value)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];

        if (!is_name(name))
                return -ENOENT;
        path_of(name, path);
        return file_write(context->root, path, value);
}

bool tune_exists(int root, const char *name)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];

        path_of(name, path);
        return faccessat(root, path, F_OK, 0) == 0;
}

/* A knob that was taken over is no error, and neither is one that is gone and needs no
 * restoring. */
static int soften(const char *value, int r)
{
        return r == -ESTALE || (r == -ENOENT && !value) ? 0 : MIN(r, 0);
}

void tune_batch_init(TuneBatch *batch, Knobs *knobs,
                     void (*done)(void *userdata, int tag, bool effective, int r), void *userdata)
{
        batch->knobs = knobs;
        batch->done = done;
        batch->userdata = userdata;
        batch->first = 0;
        batch->n = 0;
}

static void report(TuneBatch *batch, int tag, bool effective, int r)
{
        batch->done(batch->userdata, tag, effective, r);
        batch->first = batch->first ?: r;
}

char *tune_batch_name(TuneBatch *batch)
{
        if (batch->n == KNOBS_AT_ONCE)
                tune_batch_end(batch);
        return batch->names[batch->n];
}

void tune_batch_add(TuneBatch *batch, const KnobKind *kind, const char *value, int tag)
{
        tune_batch_add_found(batch, kind, value, NULL, tag);
}

void tune_batch_add_found(TuneBatch *batch, const KnobKind *kind, const char *value,
                          const char *found, int tag)
{
        unsigned i = batch->n;
        char *copy = batch->values[i];

        if (value && strlen(value) >= TUNE_VALUE) {
                report(batch, tag, false, -EINVAL);
                return;
        }
        if (value)
                tune_put(copy, copy + TUNE_VALUE, value);
        batch->changes[i] = (KnobChange){ kind, batch->names[i], value ? copy : NULL, 0, found };
        batch->tags[i] = tag;
        batch->n++;
}

void tune_batch_end(TuneBatch *batch)
{
        unsigned n = batch->n;

        knobs_set(batch->knobs, batch->changes, n);
        batch->n = 0;
        for (unsigned i = 0; i < n; i++) {
                const KnobChange *change = &batch->changes[i];

                report(batch, batch->tags[i], change->value && change->result >= 0,
                       soften(change->value, change->result));
        }
}

int tune_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value,
             bool *effective)
{
        int r = value ? knob_set(knobs, kind, name, value) : knob_release(knobs, kind, name);

        if (r < 0 || !value)
                *effective = false;
        return soften(value, r);
}
