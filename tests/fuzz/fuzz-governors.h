/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Every governor decides sanely about records, whatever they and the table of idle states are. */
#ifndef IDLED_TESTS_FUZZ_GOVERNORS_H
#define IDLED_TESTS_FUZZ_GOVERNORS_H

#include "base/setting-value.h"
#include "fuzz.h"
#include "governors/governors.h"
#include "governors/replay.h"

#define RECORDS 64 /* at most */

static inline void fuzz_replay(const StateTable *table, const Record *records, int n, int rounds)
{
        int8_t states[RECORDS];

        for (int i = 0; governors[i]; i++) {
                const Governor *governor = governors[i];
                void *options = NULL;
                Replay *replay;

                if (governor->settings)
                        g_assert(settings_new(governor->settings, governor->options_size, &options,
                                              NULL) == 0);
                replay = replay_new(governor, options, table);
                for (int round = 0; round < rounds; round++) {
                        replay_run(replay, records, n, states);
                        for (int k = 0; k < n; k++)
                                g_assert(states[k] >= 0 && states[k] < table->n);
                }
                g_assert(replay_score(replay)->periods == (uint64_t)(n * rounds));
                replay_free(replay);
                if (governor->settings)
                        settings_free(governor->settings, options);
        }
}

#endif
