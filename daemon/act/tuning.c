/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the actuators for frequencies, idle states and latencies share: their options, and the files
 * of CPUs as knobs.
 */
#include "act/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

/* No value of ours is longer. */
#define PLAIN_SIZE_MAX 256

#define SETTINGS(name_, what_, exclude_)                                                           \
        {                                                                                          \
                { .section = name_,                                                                \
                  .key = "Manage",                                                                 \
                  .type = SETTING_BOOL,                                                            \
                  .offset = offsetof(TuneOptions, manage),                                         \
                  .fallback = "yes",                                                               \
                  .help = "Whether " what_ " may be changed when a policy wishes it" },            \
                        { .section = name_,                                                        \
                          .key = "Exclude",                                                        \
                          .type = SETTING_CPUSET,                                                  \
                          .offset = offsetof(TuneOptions, exclude),                                \
                          .fallback = "",                                                          \
                          .help = "CPUs that are left alone" exclude_ },                           \
                {                                                                                  \
                        .key = NULL                                                                \
                }                                                                                  \
        }

const Setting frequency_settings[] = SETTINGS("Frequency",
                                              "governor, EPP, EPB, boost and frequencies",
                                              ", with those that share theirs, and so is boost");
const Setting idle_states_settings[] = SETTINGS("IdleStates", "idle states",
                                                ", and then so is the kernel's idle governor");
const Setting latency_settings[] = SETTINGS("Latency", "wake-up latencies", "");

const CpuWish tune_nothing = { .latency_us = -1, .bias = -1, .boost = -1 };

/* False for a name that leads anywhere else: the record of originals could have been damaged. */
static bool is_below(const char *name)
{
        return *name != '/' && !strstr(name, "..") && strlen(name) < TUNE_NAME;
}

static void path_of(const char *name, char path[sizeof(TUNE_DIR) + TUNE_NAME])
{
        snprintf(path, sizeof(TUNE_DIR) + TUNE_NAME, TUNE_DIR "%s", name);
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

        if (!is_below(name))
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

/* A plain file keeps what lies behind what is written, unlike a file of sysfs, whose size is that
 * of a page whatever is in it. So white space is put over it, which does not count. */
static void cover(int root, const char *path, GString *text)
{
        struct stat st;

        if (fstatat(root, path, &st, 0) < 0 || st.st_size > PLAIN_SIZE_MAX)
                return;
        while ((off_t)text->len < st.st_size)
                g_string_append_c(text, '\n');
}

int tune_write(const ActContext *context, const char *name, const char *value)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];
        g_autoptr(GString) text = NULL;

        if (!is_below(name))
                return -ENOENT;
        path_of(name, path);
        if (context->live)
                return file_write(context->root, path, value);
        text = g_string_new(value);
        cover(context->root, path, text);
        return file_write(context->root, path, text->str);
}

int tune_open(const ActContext *context, const char *name)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];
        int fd;

        if (!is_below(name))
                return -ENOENT;
        path_of(name, path);
        fd = openat(context->root, path, O_RDWR | O_CLOEXEC | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

bool tune_confines(const char *name)
{
        return false;
}

bool tune_exists(int root, const char *name)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];

        path_of(name, path);
        return faccessat(root, path, F_OK, 0) == 0;
}

int tune_original(const ActContext *context, const Knobs *knobs, const KnobKind *kind,
                  const char *name, char **ret_value)
{
        const Knob *knob = knob_find(knobs, kind, name);

        if (!knob || !knob->original)
                return kind->read(context, name, ret_value);
        *ret_value = g_strdup(knob->original);
        return 0;
}

int tune_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value,
             bool *in_force)
{
        int r = value ? knob_set(knobs, kind, name, value) : knob_release(knobs, kind, name);

        if (r < 0 || !value)
                *in_force = false;
        return r == -ESTALE || (r == -ENOENT && !value) ? 0 : MIN(r, 0);
}

bool tune_offers(int root, const char *name, const char *word)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME], text[512];
        g_auto(GStrv) words = NULL;

        path_of(name, path);
        if (file_read_value(root, path, text, sizeof(text)) < 0)
                return false;
        words = g_strsplit_set(text, " \n", -1);
        return g_strv_contains((const char *const *)words, word);
}
