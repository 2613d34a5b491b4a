/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The knobs of cpufreq, and what the kernel makes of them.
 *
 * Governors and limits are written by libcpupower if the root is the running system, the only one
 * that it knows; it takes the number of a CPU, not of a policy. EPP, EPB and boost, which it does
 * not have, and every other root, go through plain files.
 *
 * Limits are shared with the kernel: what their files show is the narrowest of all requests. A
 * passive cooling device, the firmware (bios_limit) or a boost that is off lower the value without
 * a write to the file, and a minimum is never shown above the maximum. Such a value does not mean
 * that the knob was taken over; it goes away by itself. A limit is shown once a kworker has applied
 * it, mostly within a millisecond, under load in some ten.
 */
#include "act/tune/cpufreq-knobs.h"

#include <cpufreq.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

#define COOLING "sys/class/thermal"

void cpufreq_name(char name[TUNE_NAME], int number, const char *file)
{
        tune_put(tune_name(name, "cpufreq/policy", number, "/"), name + TUNE_NAME, file);
}

void cpufreq_bias_name(char name[TUNE_NAME], int cpu)
{
        tune_name(name, "cpu", cpu, "/power/energy_perf_bias");
}

/* The policy's number and its file; false if it is none of a policy. */
static bool parse_name(const char *name, int *ret_policy, const char **ret_file)
{
        int end = 0;

        if (sscanf(name, "cpufreq/policy%d/%n", ret_policy, &end) < 1 || end == 0)
                return false;
        *ret_file = name + end;
        return true;
}

static uint64_t read_khz(int root, int policy, const char *file)
{
        char path[sizeof(TUNE_DIR) + TUNE_NAME];
        uint64_t khz;

        snprintf(path, sizeof(path), TUNE_DIR "cpufreq/policy%d/%s", policy, file);
        return file_read_u64(root, path, &khz) < 0 ? 0 : khz;
}

uint32_t cpufreq_read_limit(const ActContext *context, int policy, const char *file)
{
        uint64_t khz = read_khz(context->root, policy, file);

        return khz <= UINT32_MAX ? (uint32_t)khz : 0;
}

/* A CPU that is online and belongs to the policy; -1 if there is none. */
static int policy_cpu(const ActContext *context, int policy)
{
        g_autofree char *text = NULL;
        char name[TUNE_NAME];
        CpuSet cpus;

        cpufreq_name(name, policy, "affected_cpus");
        if (tune_read(context, name, &text) < 0 ||
            cpuset_parse(g_strdelimit(text, " ", ','), &cpus) < 0)
                return -1;
        return cpuset_next(&cpus, -1);
}

/* What a setter of libcpupower returned, as an error. */
static int library_result(int r)
{
        if (r == 0)
                return 0;
        return errno > 0 ? -errno : r == -EINVAL ? -EINVAL : -EIO;
}

/* Governors and limits, by libcpupower. */
static int policy_write(const ActContext *context, const char *name, const char *value)
{
        const char *file;
        uint64_t khz = 0;
        int policy, cpu;
        bool chooses;

        if (!context->live || !parse_name(name, &policy, &file))
                return tune_write(context, name, value);
        chooses = g_str_equal(file, "scaling_governor");
        if (!chooses && u64_parse(value, &khz) < 0)
                return tune_write(context, name, value);
        cpu = policy_cpu(context, policy);
        if (cpu < 0)
                return -EBUSY;
        errno = 0;
        if (chooses)
                return library_result(cpufreq_modify_policy_governor((unsigned)cpu, (char *)value));
        if (g_str_equal(file, CPUFREQ_MIN))
                return library_result(cpufreq_modify_policy_min((unsigned)cpu, khz));
        return library_result(cpufreq_modify_policy_max((unsigned)cpu, khz));
}

/* True if the cooling device is one that slows CPUs down and does so now. */
static bool is_cooling(int root, const char *device)
{
        char path[sizeof(COOLING) + 280], type[64];
        uint64_t state;

        snprintf(path, sizeof(path), COOLING "/%s/type", device);
        if (file_read_value(root, path, type, sizeof(type)) < 0 ||
            (!g_str_has_prefix(type, "Processor") && !strstr(type, "cpufreq")))
                return false;
        snprintf(path, sizeof(path), COOLING "/%s/cur_state", device);
        return file_read_u64(root, path, &state) == 0 && state > 0;
}

static bool is_hot(int root)
{
        _dir_ DIR *dir = dir_open(root, COOLING);
        struct dirent *entry;
        bool hot = false;

        while (dir && !hot && (entry = readdir(dir)))
                hot = g_str_has_prefix(entry->d_name, "cooling_device") &&
                      is_cooling(root, entry->d_name);
        return hot;
}

/* True if the kernel, the hardware or its firmware keeps the limit at `now`. */
static bool limit_held(const ActContext *context, const char *name, const char *wanted,
                       const char *now)
{
        uint64_t wanted_khz, now_khz, firmware;
        const char *file;
        int policy;

        if (!parse_name(name, &policy, &file) || u64_parse(wanted, &wanted_khz) < 0 ||
            u64_parse(now, &now_khz) < 0 || now_khz >= wanted_khz)
                return false;
        if (now_khz == read_khz(context->root, policy, "cpuinfo_max_freq"))
                return true;
        if (g_str_equal(file, CPUFREQ_MIN) &&
            now_khz == read_khz(context->root, policy, CPUFREQ_MAX))
                return true;
        firmware = read_khz(context->root, policy, "bios_limit");
        return (firmware && firmware <= now_khz) || is_hot(context->root);
}

/* amd-pstate refuses EPP while it chooses that itself. */
static const char *choice_obstacle(const ActContext *context, const char *name, int error)
{
        char text[16];

        if (error != -EBUSY || !g_str_has_suffix(name, CPUFREQ_EPP) ||
            file_read_value(context->root, TUNE_DIR "amd_pstate/dynamic_epp", text, sizeof(text)) <
                    0 ||
            g_str_equal(text, "disabled") || g_str_equal(text, "0"))
                return NULL;
        return "amd-pstate chooses EPP itself while amd_pstate/dynamic_epp is on; write disabled "
               "to that file, or request no EPP";
}

const KnobKind cpufreq_choice_kind = {
        .name = "cpufreq",
        .read = tune_read,
        .write = tune_write,
        .obstacle = choice_obstacle,
        .dir = tune_dir,
};

const KnobKind cpufreq_governor_kind = {
        .name = "governor",
        .read = tune_read,
        .write = policy_write,
        .dir = tune_dir,
        .write_apart = true,
};

const KnobKind cpufreq_limit_kind = {
        .name = "frequency",
        .read = tune_read,
        .write = policy_write,
        .dir = tune_dir,
        .write_apart = true,
        .held = limit_held,
        .late = true,
};

/* A policy's own boost is about its limits, the machine's about all. */
static bool boost_reaches(const char *name, const char *other)
{
        const char *file;
        int policy;

        return !parse_name(name, &policy, &file) ||
               strncmp(name, other, (size_t)(file - name)) == 0;
}

/* Other frequencies become possible or impossible, and drivers move the limits then. */
const KnobKind cpufreq_boost_kind = {
        .name = "boost",
        .read = tune_read,
        .write = tune_write,
        .dir = tune_dir,
        .disturbs = &cpufreq_limit_kind,
        .reaches = boost_reaches,
};

bool cpufreq_is_top(int root, int policy, uint64_t khz)
{
        static const char *const tables[] = { "scaling_available_frequencies",
                                              "scaling_boost_frequencies" };
        uint64_t top, listed;

        if (khz == read_khz(root, policy, "cpuinfo_max_freq"))
                return true;
        for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
                char path[sizeof(TUNE_DIR) + TUNE_NAME];
                g_auto(GStrv) words = NULL;

                snprintf(path, sizeof(path), TUNE_DIR "cpufreq/policy%d/%s", policy, tables[i]);
                if (file_read_words(root, path, &words) < 0)
                        continue;
                top = 0;
                for (char **word = words; *word; word++)
                        if (u64_parse(*word, &listed) == 0)
                                top = MAX(top, listed);
                if (khz == top)
                        return true;
        }
        return false;
}

/* Restores a maximum that the kernel moved. One that stands elsewhere is another program's. */
static int moved_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *now = NULL;
        const char *file;
        uint64_t khz;
        int policy, r;

        if (g_str_equal(value, CPUFREQ_MOVED))
                return 0;
        if (!parse_name(name, &policy, &file))
                return -ENOENT;
        r = tune_read(context, name, &now);
        if (r < 0 || g_str_equal(now, value))
                return r;
        if (u64_parse(now, &khz) == 0 &&
            (cpufreq_is_top(context->root, policy, khz) || limit_held(context, name, value, now)))
                return policy_write(context, name, value);
        return 0;
}

/* What the file shows later on is not ours, and so nothing that could be wrong. */
static bool moved_held(const ActContext *context, const char *name, const char *wanted,
                       const char *now)
{
        return true;
}

const KnobKind cpufreq_moved_kind = {
        .name = "maximum",
        .read = tune_read,
        .write = moved_write,
        .held = moved_held,
        .blind = true,
};
