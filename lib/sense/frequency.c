/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What cpufreq offers: facts, read once and again when CPUs or drivers change.
 *
 * The policies are directories policyN; affected_cpus names those of a policy's CPUs that are
 * online. A policy whose CPUs all went offline stays behind as a directory that answers EBUSY, and
 * is none here. Most policies of a machine offer the same words, so that neighbours share one
 * vector: hundreds of copies would be the daemon's largest data.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"
#include "sense/frequency-read.h"

#define CPU     "sys/devices/system/cpu/"
#define CPUFREQ CPU "cpufreq"

/* Words of a policy, as the kernel lists them in a page at most. */
#define WORDS_SIZE 4096

static int read_text(int root, int number, const char *file, char *buffer, size_t size)
{
        char path[128];

        snprintf(path, sizeof(path), CPUFREQ "/policy%d/%s", number, file);
        return file_read_value(root, path, buffer, size);
}

static uint32_t read_khz(int root, int number, const char *file)
{
        char text[32];
        uint64_t khz;

        if (read_text(root, number, file, text, sizeof(text)) < 0 || u64_parse(text, &khz) < 0 ||
            khz > UINT32_MAX)
                return 0;
        return (uint32_t)khz;
}

/* A file's words; none if it cannot be read. */
static char **read_words(int root, int number, const char *file)
{
        char text[WORDS_SIZE], **words;
        int n = 0;

        if (read_text(root, number, file, text, sizeof(text)) < 0)
                text[0] = '\0';
        words = g_strsplit_set(text, " \t\n", -1);
        for (char **word = words; *word; word++)
                if (**word)
                        words[n++] = *word;
                else
                        g_free(*word);
        words[n] = NULL;
        return words;
}

/* `words`, or in their place the vector of the policy before if that has the same ones. */
static char **share_words(char **words, char **before)
{
        if (!before || !g_strv_equal((const char *const *)before, (const char *const *)words))
                return words;
        g_strfreev(words);
        return before;
}

static int compare_khz(const void *a, const void *b)
{
        uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

        return (left > right) - (left < right);
}

/* Appends the file's numbers, if there is such a file. */
static void append_khz(int root, int number, const char *file, GArray *khz)
{
        g_auto(GStrv) words = read_words(root, number, file);
        uint64_t value;

        for (char **word = words; *word; word++)
                if (u64_parse(*word, &value) == 0 && value > 0 && value <= UINT32_MAX)
                        g_array_append_val(khz, *(uint32_t[]){ (uint32_t)value });
}

static bool same_khz(const uint32_t *a, const uint32_t *b)
{
        while (*a && *a == *b)
                a++, b++;
        return *a == *b;
}

/* What the driver's table has, with boost or without, because the kernel rounds limits to it;
 * shared with the policy before if that has the same. */
static uint32_t *read_frequencies(int root, int number, uint32_t *before)
{
        g_autoptr(GArray) khz = g_array_new(TRUE, FALSE, sizeof(uint32_t));

        append_khz(root, number, "scaling_available_frequencies", khz);
        if (khz->len == 0)
                return NULL;
        append_khz(root, number, "scaling_boost_frequencies", khz);
        g_array_sort(khz, compare_khz);
        if (before && same_khz(before, (const uint32_t *)(void *)khz->data))
                return before;
        return (uint32_t *)(void *)g_array_free(g_steal_pointer(&khz), FALSE);
}

static bool exists(int root, const char *path)
{
        return faccessat(root, path, F_OK, 0) == 0;
}

static bool cpu_has(int root, int cpu, const char *file)
{
        char path[96];

        snprintf(path, sizeof(path), CPU "cpu%d/%s", cpu, file);
        return exists(root, path);
}

/* The frequency without boost in MHz, from the driver or else from the firmware. */
static uint32_t read_base(int root, const FreqPolicy *policy)
{
        uint32_t khz = read_khz(root, policy->number, "base_frequency");
        char path[96];
        uint64_t mhz;

        if (khz)
                return khz;
        snprintf(path, sizeof(path), CPU "cpu%d/acpi_cppc/nominal_freq",
                 cpuset_next(&policy->cpus, -1));
        if (file_read_u64(root, path, &mhz) < 0 || mhz > UINT32_MAX / 1000)
                return 0;
        return (uint32_t)mhz * 1000;
}

static bool has_boost(int root, int number)
{
        char path[96];

        snprintf(path, sizeof(path), CPUFREQ "/policy%d/boost", number);
        return exists(root, path) || exists(root, CPUFREQ "/boost") ||
               exists(root, CPU "intel_pstate/no_turbo");
}

#define PREFERENCES "default performance balance_performance balance_power power"

/* The preferences that a policy can have. While the governor is performance, amd-pstate lists that
 * word alone, and idled may set another governor: then these are the words of all such drivers. */
static char **read_preferences(int root, int number)
{
        g_auto(GStrv) words = read_words(root, number, "energy_performance_available_preferences");
        char governor[32];

        if (g_strv_length(words) != 1 || !g_str_equal(words[0], "performance") ||
            read_text(root, number, "scaling_governor", governor, sizeof(governor)) < 0 ||
            !g_str_equal(governor, "performance"))
                return g_steal_pointer(&words);
        /* Linux 7.3 has the last one, and this file. */
        return g_strsplit(exists(root, CPU "amd_pstate/dynamic_epp") ? PREFERENCES " dynamic"
                                                                     : PREFERENCES,
                          " ", 0);
}

/* The CPUs of a policy that are online; false if there are none. */
static bool read_cpus(int root, int number, const Topology *topology, CpuSet *ret_cpus)
{
        g_autofree char *text = g_malloc(FILE_SIZE_MAX / 256);

        if (read_text(root, number, "affected_cpus", text, FILE_SIZE_MAX / 256) < 0)
                return false;
        if (cpuset_parse(g_strdelimit(text, " ", ','), ret_cpus) < 0)
                return false;
        cpuset_and(ret_cpus, &topology->online);
        return !cpuset_is_empty(ret_cpus);
}

/* False if the policy has no CPUs, or is gone. `before` (or NULL) is the policy read before. */
static bool read_policy(int root, const Topology *topology, const FreqPolicy *before,
                        FreqPolicy *policy)
{
        int number = policy->number, cpu;

        if (!read_cpus(root, number, topology, &policy->cpus))
                return false;
        if (read_text(root, number, "scaling_driver", policy->driver, sizeof(policy->driver)) < 0)
                policy->driver[0] = '\0';
        cpu = cpuset_next(&policy->cpus, -1);
        policy->governors = share_words(read_words(root, number, "scaling_available_governors"),
                                        before ? before->governors : NULL);
        policy->preferences = share_words(read_preferences(root, number),
                                          before ? before->preferences : NULL);
        policy->min_khz = read_khz(root, number, "cpuinfo_min_freq");
        policy->max_khz = read_khz(root, number, "cpuinfo_max_freq");
        policy->frequencies = read_frequencies(root, number, before ? before->frequencies : NULL);
        policy->base_khz = read_base(root, policy);
        policy->has_bias = cpu_has(root, cpu, "power/energy_perf_bias");
        policy->has_boost = has_boost(root, number);
        return true;
}

int frequency_read(int root, const Topology *topology, FreqPolicy **ret_policies, int *ret_n)
{
        g_auto(GStrv) names = dir_list(root, CPUFREQ, "policy");
        FreqPolicy *policies = g_new0(FreqPolicy, g_strv_length(names));
        int n = 0;

        for (char **name = names; *name; name++) {
                policies[n] = (FreqPolicy){ 0 };
                if (int_parse(*name + strlen("policy"), &policies[n].number) == 0 &&
                    read_policy(root, topology, n > 0 ? &policies[n - 1] : NULL, &policies[n]))
                        n++;
        }
        if (n == 0) {
                g_free(policies);
                return -ENOENT;
        }
        *ret_policies = g_renew(FreqPolicy, policies, n);
        *ret_n = n;
        return 0;
}

void frequency_free(FreqPolicy *policies, int n)
{
        for (int i = 0; i < n; i++) {
                if (i == 0 || policies[i].governors != policies[i - 1].governors)
                        g_strfreev(policies[i].governors);
                if (i == 0 || policies[i].preferences != policies[i - 1].preferences)
                        g_strfreev(policies[i].preferences);
                if (i == 0 || policies[i].frequencies != policies[i - 1].frequencies)
                        g_free(policies[i].frequencies);
        }
        g_free(policies);
}

void frequency_read_driver(int root, const Topology *topology, char driver[32])
{
        char path[96];
        int cpu = cpuset_next(&topology->online, -1);

        snprintf(path, sizeof(path), CPU "cpu%d/cpufreq/scaling_driver", cpu);
        if (file_read_value(root, path, driver, 32) < 0)
                driver[0] = '\0';
}
