/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the kubelet's CPU manager:
 *
 *      {"policyName":"static","defaultCpuSet":"0-1","entries":{"POD":{"CONTAINER":"2-3"}},...}
 *
 * In "entries" each string that is a value is a list of CPUs, however deep it lies: before
 * Kubernetes 1.18 there were no pods. json-c is for the tools, and this is all that is needed.
 */
#include "sense/kubelet.h"

#include <errno.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"

/* A state of some hundred pods has a tenth of this. */
#define SIZE_LIMIT (1u << 20)

/* A set for each CPU, so that all of them stay active. */
static void add_each(Affinities *affinities, const CpuSet *cpus, const char *owner)
{
        for (int cpu = cpuset_next(cpus, -1); cpu >= 0; cpu = cpuset_next(cpus, cpu)) {
                CpuSet one = { 0 };

                cpuset_add(&one, cpu);
                affinities_add(affinities, &one, g_strdup(owner));
        }
}

static int note_exclusive(const char *container, const char *list, const CpuSet *online,
                          Affinities *affinities)
{
        g_autofree char *name = log_clean(container), *owner = NULL;
        CpuSet cpus;

        if (cpuset_parse(list, &cpus) < 0)
                return -EBADMSG;
        cpuset_and(&cpus, online);
        owner = g_strdup_printf("the kubelet's container %s (exclusive CPUs %s)", name, list);
        add_each(affinities, &cpus, owner);
        return 0;
}

/* The end of the string that begins behind `at`, a quotation mark: the other one. NULL: it has
 * none. */
static char *end_of_string(char *at)
{
        for (at++; *at && *at != '"'; at++)
                if (*at == '\\' && at[1])
                        at++;
        return *at ? at : NULL;
}

static int read_entries(char *text, const CpuSet *online, Affinities *affinities)
{
        const char *key = "";
        bool in_entries = false;
        int depth = 0;

        for (char *at = text; *at; at++) {
                char *string = at + 1;

                depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
                if (*at != '"')
                        continue;
                at = end_of_string(at);
                if (!at)
                        return -EBADMSG;
                *at = '\0';
                if (at[1 + strspn(at + 1, " \t\n")] != ':') {
                        if (in_entries && depth > 1 &&
                            note_exclusive(key, string, online, affinities) < 0)
                                return -EBADMSG;
                        continue;
                }
                key = string;
                if (depth == 1)
                        in_entries = g_str_equal(key, "entries");
        }
        return text[strspn(text, " \t\n")] == '{' && depth == 0 ? 0 : -EBADMSG;
}

int kubelet_read(int root, const Topology *topology, Affinities *affinities)
{
        g_autofree char *text = NULL, *owner = NULL;
        int r = file_read_foreign(root, KUBELET_DIR "/" KUBELET_STATE, SIZE_LIMIT, &text);

        if (r == -ENOENT || r == -ENOTDIR)
                return 0;
        if (r >= 0)
                r = read_entries(text, &topology->online, affinities);
        if (r >= 0)
                return 0;
        owner = g_strdup_printf("the kubelet, perhaps: %s: %s", KUBELET_STATE, g_strerror(-r));
        add_each(affinities, &topology->online, owner);
        return r;
}
