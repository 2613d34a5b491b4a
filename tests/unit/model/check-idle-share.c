/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Residencies: how an interval is split among idle states, sleeps in progress included. */
#include "readings.h"
#include "table.h"

/* A CPU of three states. */
static Counters *idle_reading(uint64_t time_usec, uint64_t busy_usec, uint64_t idle_usec,
                              const uint64_t *state_usec, const uint64_t *usage)
{
        Counters *counters = reading(time_usec, busy_usec, idle_usec);

        counters->have |= SENSE_RESIDENCY;
        counters->idle = g_new0(IdleCounters, 1);
        counters->idle[0].n_states = 3;
        for (int s = 0; s < 3; s++) {
                counters->idle[0].time_usec[s] = state_usec[s];
                counters->idle[0].usage[s] = usage[s];
        }
        return counters;
}

static const struct {
        const char *name;
        uint64_t busy, idle; /* /proc/stat's, in ms of 100 */
        int before;          /* state that was guessed in the interval before; -1 none */
        int estimated;
        uint64_t state[3]; /* cpuidle's, in ms */
        uint64_t usage[3];
        double share[3];
} residency_cases[] = {
        { "all seen", 0, 100, -1, -1, .state = { 0, 20, 80 }, .usage = { 0, 5, 5 },
          .share = { 0, 0.2, 0.8 } },
        { "busy", 100, 0, -1, -1, .state = { 0, 0, 0 }, .usage = { 0, 0, 0 },
          .share = { 0, 0, 0 } },
        { "half busy", 50, 50, -1, -1, .state = { 0, 50, 0 }, .usage = { 0, 1, 0 },
          .share = { 0, 0.5, 0 } },
        { "nothing seen, nothing known", 0, 100, -1, 2, .state = { 0, 0, 0 }, .usage = { 0, 0, 0 },
          .share = { 0, 0, 1 } },
        { "nothing seen, guessed before", 0, 100, 1, 1, .state = { 0, 0, 0 }, .usage = { 0, 0, 0 },
          .share = { 0, 1, 0 } },
        { "the deepest entered sleeps on", 0, 100, 2, 1, .state = { 0, 30, 0 },
          .usage = { 1, 1, 0 }, .share = { 0, 1, 0 } },
        { "deepest entered though another longer", 0, 100, 1, 2, .state = { 0, 60, 10 },
          .usage = { 0, 9, 1 }, .share = { 0, 0.6, 0.4 } },
        { "slept before, guessed right", 0, 100, 2, -1, .state = { 0, 10, 500 },
          .usage = { 0, 1, 1 }, .share = { 0, 0.1, 0.9 } },
        { "slept before, guessed wrong", 0, 100, 1, -1, .state = { 0, 10, 500 },
          .usage = { 0, 1, 1 }, .share = { 0, 0.1, 0.9 } },
        { "slept before, no guess", 0, 100, -1, -1, .state = { 0, 500, 10 }, .usage = { 0, 1, 1 },
          .share = { 0, 0.9, 0.1 } },
        { "a little too much is scaled", 0, 100, 2, -1, .state = { 0, 54, 54 },
          .usage = { 0, 9, 9 }, .share = { 0, 0.5, 0.5 } },
        { "woke and stayed busy", 100, 0, 2, -1, .state = { 0, 0, 700 }, .usage = { 0, 0, 1 },
          .share = { 0, 0, 0 } },
};

TEST_EACH(residency, residency_cases)
{
        const uint64_t zero[3] = { 0 };
        uint64_t state[3];
        g_autoptr(Counters) previous = idle_reading(0, 0, 0, zero, zero);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);
        g_autoptr(Counters) current = NULL;
        double sum;

        for (int s = 0; s < 3; s++)
                state[s] = c->state[s] * MS;
        current = idle_reading(100 * MS, c->busy * MS, c->idle * MS, state, c->usage);
        snapshot->residency = g_new0(Residency, 1);
        snapshot->residency[0].n_states = c->before < 0 ? 0 : 3;
        snapshot->residency[0].estimated = (int8_t)c->before;
        snapshot_compute(previous, current, snapshot);

        sum = snapshot->residency[0].busy;
        for (int s = 0; s < 3; s++) {
                double share = snapshot->residency[0].share[s];

                sum += share;
                ck_case(c->name, near(share, c->share[s]), "state %d has %g, expected %g", s, share,
                        c->share[s]);
                ck_assert_uint_eq(snapshot->residency[0].entered[s], c->usage[s]);
        }
        ck_case(c->name, fabs(sum - 1) < 1e-6, "sums to %g", sum);
        ck_case(c->name, snapshot->residency[0].estimated == c->estimated, "estimated %d",
                snapshot->residency[0].estimated);
}

/* A sleep that ended in a state that is off now: the next one is in another. */
static const struct {
        const char *name;
        uint64_t state[3], usage[3];
        int n_barred, before, estimated;
} barred_cases[] = {
        { "the deepest is off", { 0, 0, 0 }, { 0, 0, 0 }, 1, -1, 1 },
        { "woke from it", { 0, 0, 50 }, { 0, 0, 1 }, 1, 2, 1 },
        { "was in it before", { 0, 0, 0 }, { 0, 0, 0 }, 1, 2, 1 },
        { "a shallower one ended", { 0, 20, 30 }, { 0, 1, 1 }, 1, 2, 1 },
        { "only the shallowest", { 0, 20, 30 }, { 0, 1, 1 }, 2, 2, 0 },
        { "shallower than needed", { 20, 0, 0 }, { 1, 0, 0 }, 1, -1, 0 },
        { "more than there are", { 0, 0, 0 }, { 0, 0, 0 }, 9, -1, 0 },
        { "none is off", { 0, 0, 50 }, { 0, 0, 1 }, 0, 1, 2 },
};

TEST_EACH(states_that_are_off, barred_cases)
{
        const uint64_t zero[3] = { 0 };
        uint64_t state[3];
        g_autoptr(Counters) previous = idle_reading(0, 0, 0, zero, zero);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);
        g_autoptr(Counters) current = NULL;

        for (int s = 0; s < 3; s++)
                state[s] = c->state[s] * MS;
        current = idle_reading(100 * MS, 0, 100 * MS, state, c->usage);
        current->idle[0].n_barred = c->n_barred;
        snapshot->residency = g_new0(Residency, 1);
        snapshot->residency[0].n_states = c->before < 0 ? 0 : 3;
        snapshot->residency[0].estimated = (int8_t)c->before;
        snapshot_compute(previous, current, snapshot);
        ck_case(c->name, snapshot->residency[0].estimated == c->estimated, "estimated %d",
                snapshot->residency[0].estimated);
}

TEST(statistics)
{
        const uint64_t zero[3] = { 0 }, state[3] = { 0, 100 * MS, 0 }, usage[3] = { 0, 9, 0 };
        g_autoptr(Counters) previous = idle_reading(0, 0, 0, zero, zero);
        g_autoptr(Counters) current = idle_reading(100 * MS, 0, 100 * MS, state, usage);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);
        const Residency *row;

        current->idle[0].above[1] = 3;
        current->idle[0].below[1] = 4;
        current->idle[0].rejected[2] = 5;
        current->have |= SENSE_IDLE_STATISTICS;
        snapshot_compute(previous, current, snapshot);
        row = &snapshot->residency[0];
        ck_assert_uint_eq(snapshot->have, SENSE_LOAD | SENSE_RESIDENCY);
        ck_assert_msg(row->above[1] + row->below[1] + row->rejected[2] == 0,
                      "counts since the beginning of time");
        previous->have |= SENSE_IDLE_STATISTICS;
        snapshot_compute(previous, current, snapshot);
        row = &snapshot->residency[0];
        ck_assert_uint_eq(snapshot->have, SENSE_LOAD | SENSE_RESIDENCY | SENSE_IDLE_STATISTICS);
        ck_assert_uint_eq(row->above[1], 3);
        ck_assert_uint_eq(row->below[1], 4);
        ck_assert_uint_eq(row->rejected[2], 5);
        ck_assert_uint_eq(row->entered[1], 9);
}

/* cpuidle's own figures for a CPU that slept all the time, sampled every 0.1 s. */
TEST(naive_percentages_become_sane)
{
        static const uint64_t percent[] = { 21, 138, 139, 0, 0, 0, 362 };
        uint64_t state[3] = { 0 }, usage[3] = { 0 };
        g_autoptr(Counters) previous = idle_reading(0, 0, 0, state, usage);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);
        double deepest = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(percent); i++) {
                uint64_t now = (i + 1) * 100200;
                g_autoptr(Counters) current = NULL;
                const Residency *row;

                state[2] += percent[i] * 1002;
                usage[2] += percent[i] > 0;
                current = idle_reading(now, 0, now / 10000 * 10000, state, usage);
                snapshot_compute(previous, current, snapshot);
                row = &snapshot->residency[0];
                ck_assert_msg(row->busy < 0.01, "%zu: busy %g", i, row->busy);
                ck_assert_msg(row->share[2] > 0.99 && row->share[2] <= 1, "%zu: %g", i,
                              row->share[2]);
                deepest += row->share[2];
                counters_free(previous);
                previous = g_steal_pointer(&current);
        }
        /* the guess and the truth that came after it are one sleep */
        ck_assert_double_le(deepest, G_N_ELEMENTS(percent));
}

TEST_RANGE(states_change, 0, 4)
{
        const uint64_t state[3] = { 0, 90 * MS, 10 * MS }, usage[3] = { 0, 1, 1 };
        const uint64_t zero[3] = { 0 };
        g_autoptr(Counters) previous = idle_reading(0, 0, 0, zero, zero);
        g_autoptr(Counters) current = idle_reading(100 * MS, 0, 100 * MS, state, usage);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);
        static const int counts[] = { 0, 2, -5, 1000000 };

        previous->idle[0].n_states = counts[_i];
        snapshot_compute(previous, current, snapshot);
        ck_assert_msg(near(snapshot->residency[0].share[2], 1), "counters of other states used");
        ck_assert_int_eq(snapshot->residency[0].estimated, 2);

        current->idle[0].n_states = counts[_i];
        snapshot_compute(previous, current, snapshot);
        ck_assert_int_le(snapshot->residency[0].n_states, IDLE_STATES_MAX);
        ck_assert_int_ge(snapshot->residency[0].n_states, 0);
        ck_assert(near(snapshot->residency[0].busy, 0));
}

UNIT("idle-share")
