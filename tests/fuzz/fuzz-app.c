/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any application rule loads whole or not at all; one that loaded is matched against any process.
 * Lines "%%" divide the input: the rule, then the process's executable, and its files comm, cgroup
 * and status.
 */
#include <errno.h>

#include "config/app.h"
#include "fuzz-config.h"

enum { RULE, EXECUTABLE, COMM, CGROUP, STATUS, N_PARTS };

static void match(const App *app, GString *const *parts, GHashTable *users)
{
        static ProcessFacts facts; /* large */

        g_assert(app_needs(app) != 0);
        process_facts_init(&facts, 1);
        fuzz_put("1/comm", parts[COMM]->str, parts[COMM]->len);
        fuzz_put("1/cgroup", parts[CGROUP]->str, parts[CGROUP]->len);
        fuzz_put("1/status", parts[STATUS]->str, parts[STATUS]->len);
        facts.have = PROCESS_FACT_EXECUTABLE;
        g_strlcpy(facts.executable, parts[EXECUTABLE]->str, sizeof(facts.executable));
        for (unsigned fact = PROCESS_FACT_EXECUTABLE; fact <= PROCESS_FACT_STATUS; fact <<= 1)
                if (process_facts_read(fuzz_root(), (ProcessFact)fact, &facts) >= 0)
                        app_matches(app, (ProcessFact)fact, &facts, users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        ConfigPaths paths = { fuzz_root(), "/", "usr/lib/idled", "etc/idled", fuzz_modules() };
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(GHashTable) users = g_hash_table_new(NULL, NULL);
        g_autoptr(Config) config = NULL;
        GString *parts[N_PARTS];

        g_hash_table_insert(users, GUINT_TO_POINTER(0), (gpointer) "root");
        fuzz_split(data, size, parts, N_PARTS);
        fuzz_put("etc/idled/idled.conf", "[Daemon]\nPolicies=alpha\n", 24);
        fuzz_put("etc/idled/profiles/game.conf", "[Profile]\n", 10);
        fuzz_put("etc/idled/apps/one.conf", parts[RULE]->str, parts[RULE]->len);
        g_assert(config_load(&paths, errors, &config) == (errors->len > 0 ? -EINVAL : 0));
        fuzz_check_errors(errors);
        for (guint i = 0; config && i < config->apps->len; i++)
                match(config->apps->pdata[i], parts, users);
        for (int i = 0; i < N_PARTS; i++)
                g_string_free(parts[i], TRUE);
        return 0;
}
