/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Snapshots: what is made of two readings, sane and insane ones. */
#include "readings.h"
#include "table.h"

static const struct {
        const char *name;
        uint64_t interval_usec;
        uint64_t busy[2], idle[2]; /* in ms: /proc/stat counts 10 ms */
        double expected;
} load_cases[] = {
        { "idle", 100 * MS, { 0, 0 }, { 0, 100 }, 0 },
        { "saturated", 100 * MS, { 0, 100 }, { 0, 0 }, 1 },
        { "half", 100 * MS, { 0, 50 }, { 0, 50 }, 0.5 },
        { "idle, 10 ms cut off", 100 * MS, { 0, 0 }, { 7, 97 }, 0 },
        { "idle, 10 ms too many", 100 * MS, { 0, 0 }, { 0, 110 }, 0 },
        { "idle, odd interval", 100200, { 5, 5 }, { 0, 100 }, 0 },
        { "saturated, 10 ms cut off", 100 * MS, { 0, 90 }, { 0, 0 }, 1 },
        { "saturated, 10 ms too many", 100 * MS, { 0, 110 }, { 0, 0 }, 1 },
        { "a task that hides from the tick", 100 * MS, { 0, 0 }, { 0, 60 }, 0.3 },
        { "the same over a second", 1000 * MS, { 0, 0 }, { 0, 600 }, 0.39 },
        { "the tick hits a short task", 100 * MS, { 0, 10 }, { 0, 100 }, 1 - 100 / 110.0 },
        { "nothing moved", 100 * MS, { 500, 500 }, { 500, 500 }, 0 },
        { "interval below the resolution", 5 * MS, { 500, 500 }, { 500, 500 }, 0 },
        { "busy went backwards", 100 * MS, { 500, 0 }, { 0, 100 }, 0 },
        { "idle stepped back by 10 ms, busy", 100 * MS, { 0, 100 }, { 510, 500 }, 1 },
        { "CPU was offline, idle restarts", 100 * MS, { 0, 50 }, { 100000, 0 }, 0 },
        { "CPU was offline, both restart", 100 * MS, { 900, 0 }, { 100000, 0 }, 0 },
        { "far more than the interval", 100 * MS, { 0, 100000 }, { 0, 100000 }, 0 },
};

TEST_EACH(load, load_cases)
{
        g_autoptr(Counters) previous = reading(1, c->busy[0] * MS, c->idle[0] * MS);
        g_autoptr(Counters)
                current = reading(1 + c->interval_usec, c->busy[1] * MS, c->idle[1] * MS);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        snapshot_compute(previous, current, snapshot);
        ck_case(c->name, near(snapshot->busy[0], c->expected), "busy is %g, expected %g",
                snapshot->busy[0], c->expected);
        ck_assert_double_eq_tol(snapshot->load, snapshot->busy[0], 1e-6);
        ck_assert_uint_eq(snapshot->interval_usec, c->interval_usec);
}

TEST(wrapping_time)
{
        g_autoptr(Counters) previous = reading(100, UINT64_MAX - 10, UINT64_MAX - 5);
        g_autoptr(Counters) current = reading(100 + 100 * MS, 50 * MS, 50 * MS);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        snapshot_compute(previous, current, snapshot);
        ck_assert(near(snapshot->busy[0], 0));
}

TEST(first_has_only_the_moment)
{
        g_autoptr(Counters) current = reading(1000 * MS, 500 * MS, 500 * MS);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        current->have = SENSE_LOAD | SENSE_LOADAVG | SENSE_PRESSURE | SENSE_POWER |
                        SENSE_RESIDENCY | SENSE_ENERGY;
        current->running = 3;
        current->loadavg[0] = 1.5;
        current->threads = 80;
        current->pressure_usec = 12345;
        current->battery_level = 0.5;
        current->on_battery = true;
        current->idle = g_new0(IdleCounters, 1);
        snapshot_compute(NULL, current, snapshot);
        ck_assert_uint_eq(snapshot->have, SENSE_LOAD | SENSE_LOADAVG | SENSE_POWER);
        ck_assert_uint_eq(snapshot->time_usec, 1000 * MS);
        ck_assert_uint_eq(snapshot->interval_usec, 0);
        ck_assert(snapshot->busy[0] == 0 && snapshot->load == 0 && snapshot->pressure == 0);
        ck_assert_uint_eq(snapshot->running, 3);
        ck_assert_uint_eq(snapshot->threads, 80);
        ck_assert(near(snapshot->loadavg[0], 1.5));
        ck_assert(snapshot->on_battery && near(snapshot->battery_level, 0.5));
        ck_assert(cpuset_has(&snapshot->cpus, 0));
        ck_assert(!snapshot->residency && snapshot->n_energy == 0);
}

TEST_RANGE(clock_stands_or_goes_back, 0, 2)
{
        g_autoptr(Counters) previous = reading(1000 * MS, 0, 0);
        g_autoptr(Counters) current = reading((_i ? 1000 : 999) * MS, 500 * MS, 500 * MS);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        snapshot_compute(previous, current, snapshot);
        ck_assert_uint_eq(snapshot->interval_usec, 0);
        ck_assert(snapshot->busy[0] == 0);
}

TEST(peer_defect_1_every_cpu_counts)
{
        g_autoptr(Counters) previous = counters_new(4), current = counters_new(4);
        g_autoptr(Snapshot) snapshot = snapshot_new(4);

        previous->have = current->have = SENSE_LOAD;
        current->time_usec = 100 * MS;
        for (int cpu = 0; cpu < 4; cpu++) {
                current->times[cpu] = (CpuTimes){ cpu == 0 ? 100 * MS : 0,
                                                  cpu == 0 ? 0 : 100 * MS };
                if (cpu != 2)
                        cpuset_add(&previous->cpus, cpu);
                if (cpu != 3)
                        cpuset_add(&current->cpus, cpu);
        }
        current->times[2].busy_usec = 100 * MS;
        current->times[3].busy_usec = 100 * MS;
        snapshot_compute(previous, current, snapshot);
        ck_assert(near(snapshot->busy[0], 1));
        ck_assert(near(snapshot->load, 1));
        ck_assert_msg(snapshot->busy[2] == 0, "came in between");
        ck_assert_msg(snapshot->busy[3] == 0, "went in between");
        ck_assert_int_eq(cpuset_count(&snapshot->cpus), 2);
}

TEST(rates)
{
        g_autoptr(Counters) previous = reading(0, 0, 0), current = reading(500 * MS, 0, 0);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        previous->switches = 1000;
        current->switches = 1500;
        previous->have |= SENSE_PRESSURE;
        current->have |= SENSE_PRESSURE;
        previous->pressure_usec = 1000;
        current->pressure_usec = 51000;
        snapshot_compute(previous, current, snapshot);
        ck_assert(near(snapshot->switches_per_sec, 1000));
        ck_assert(near(snapshot->pressure, 0.1));
        current->pressure_usec = 10;
        current->switches = 10;
        snapshot_compute(previous, current, snapshot);
        ck_assert(snapshot->pressure == 0 && snapshot->switches_per_sec == 0);
        current->pressure_usec = UINT64_MAX;
        snapshot_compute(previous, current, snapshot);
        ck_assert(snapshot->pressure == 1);
        previous->have = SENSE_LOAD;
        snapshot_compute(previous, current, snapshot);
        ck_assert(!(snapshot->have & SENSE_PRESSURE) && snapshot->pressure == 0);
        ck_assert(snapshot->battery_level < 0);
}

#define RANGE UINT64_C(262143328850)

static const struct {
        const char *name;
        uint64_t from, to, range;
        bool valid;
        double joules;
        uint64_t usec; /* 0: a second */
} energy_cases[] = {
        { "plain", 1000000, 6000000, RANGE, true, 5 },
        { "none", 1000000, 1000000, RANGE, true, 0 },
        { "wraps", RANGE - 1000000, 2000000, RANGE, true, 3 },
        { "backwards, no wrap", 6000000, 1000000, RANGE, false, 0 },
        { "more than half the range", 0, 360000000, 700000000, false, 0 },
        { "half the range", 0, 350000000, 700000000, true, 350 },
        { "could have wrapped twice", 0, 1000000, 700000000, false, 0, 1500000 },
        { "could not", 0, 1000000, 700000000, true, 1, 1300000 },
        { "wraps in the time of two readings", 0, 1000000, 20000000, false, 0 },
        { "impossible power", 0, 20000 * UINT64_C(1000000), RANGE, false, 0 },
        { "beyond its range", 0, RANGE + 1, RANGE, false, 0 },
        { "was beyond its range", RANGE + 1, 5, RANGE, false, 0 },
        { "no range", 0, 5, 0, false, 0 },
        { "largest range", UINT64_MAX - 999999, 1000000, UINT64_MAX, true, 1.999999 },
};

static Counters *energy_reading(uint64_t time_usec, uint64_t uj, uint64_t range_uj)
{
        Counters *counters = reading(time_usec, 0, 0);

        counters->have |= SENSE_ENERGY;
        counters->n_energy = 1;
        counters->energy = g_new(EnergyCounter, 1);
        counters->energy[0] = (EnergyCounter){ uj, range_uj, true, true };
        return counters;
}

TEST_EACH(peer_defect_11_energy_wraps, energy_cases)
{
        g_autoptr(Counters) previous = energy_reading(0, c->from, c->range);
        uint64_t usec = c->usec ? c->usec : 1000 * MS;
        g_autoptr(Counters) current = energy_reading(usec, c->to, c->range);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        snapshot_compute(previous, current, snapshot);
        ck_assert_int_eq(snapshot->n_energy, 1);
        ck_assert(snapshot->energy[0].package);
        ck_case(c->name, snapshot->energy[0].valid == c->valid, "valid is %d",
                snapshot->energy[0].valid);
        ck_case(c->name, near(snapshot->energy[0].joules, c->joules), "%g J, expected %g",
                snapshot->energy[0].joules, c->joules);
        ck_assert(near(snapshot->energy[0].watts, c->joules / ((double)usec / 1e6)));

        current->energy[0].valid = false;
        snapshot_compute(previous, current, snapshot);
        ck_assert(!snapshot->energy[0].valid && snapshot->energy[0].joules == 0);

        current->n_energy = 0;
        snapshot_compute(previous, current, snapshot);
        ck_assert_int_eq(snapshot->n_energy, 0);
}

/* Numbers as counters have them, and as only a broken machine has them. */
static uint64_t any_number(GRand *rand)
{
        uint64_t wide = ((uint64_t)g_rand_int(rand) << 32) | g_rand_int(rand);

        switch (g_rand_int_range(rand, 0, 6)) {
        case 0:
                return 0;
        case 1:
                return UINT64_MAX - g_rand_int_range(rand, 0, 3);
        case 2:
                return wide;
        case 3:
                return wide >> g_rand_int_range(rand, 0, 64);
        default:
                return (uint64_t)g_rand_int_range(rand, 0, 1000000);
        }
}

static void make_any(GRand *rand, Counters *counters, int n_cpus)
{
        counters->time_usec = any_number(rand);
        counters->have = SENSE_LOAD | (g_rand_int(rand) & 0x7f);
        counters->switches = any_number(rand);
        counters->pressure_usec = any_number(rand);
        memset(&counters->cpus, 0, sizeof(counters->cpus));
        for (int cpu = 0; cpu < n_cpus; cpu++) {
                IdleCounters *idle = &counters->idle[cpu];

                if (g_rand_int_range(rand, 0, 8))
                        cpuset_add(&counters->cpus, cpu);
                counters->times[cpu] = (CpuTimes){ any_number(rand), any_number(rand) };
                idle->n_states = g_rand_int_range(rand, 0, 4)
                                         ? 4
                                         : g_rand_int_range(rand, INT32_MIN, INT32_MAX);
                for (int s = 0; s < IDLE_STATES_MAX; s++) {
                        idle->time_usec[s] = any_number(rand);
                        idle->usage[s] = any_number(rand);
                        idle->above[s] = any_number(rand);
                        idle->rejected[s] = any_number(rand);
                }
        }
        for (int i = 0; i < counters->n_energy; i++)
                counters->energy[i] = (EnergyCounter){ any_number(rand), any_number(rand),
                                                       g_rand_boolean(rand) };
}

static void check_row(const Residency *row, unsigned seed)
{
        double sum = row->busy;

        if (row->n_states == 0)
                return;
        for (int s = 0; s < row->n_states; s++) {
                ck_assert_msg(row->share[s] >= 0 && row->share[s] <= 1, "pair %u", seed);
                sum += row->share[s];
        }
        ck_assert_msg(fabs(sum - 1) <= 1e-6, "pair %u: sums to %.9g", seed, sum);
        ck_assert_int_lt(row->estimated, row->n_states);
        ck_assert_int_ge(row->estimated, -1);
}

static void check_sane(const Snapshot *snapshot, unsigned seed)
{
        for (int cpu = 0; cpu < snapshot->n_cpus; cpu++) {
                ck_assert_msg(snapshot->busy[cpu] >= 0 && snapshot->busy[cpu] <= 1, "pair %u",
                              seed);
                if (snapshot->have & SENSE_RESIDENCY)
                        check_row(&snapshot->residency[cpu], seed);
        }
        ck_assert_double_ge(snapshot->load, 0);
        ck_assert_double_le(snapshot->load, snapshot->n_cpus);
        ck_assert_double_ge(snapshot->pressure, 0);
        ck_assert_double_le(snapshot->pressure, 1);
        ck_assert(isfinite(snapshot->switches_per_sec) && snapshot->switches_per_sec >= 0);
        for (int i = 0; i < snapshot->n_energy; i++)
                ck_assert_msg(snapshot->energy[i].watts >= 0 &&
                                      snapshot->energy[i].watts <= ENERGY_WATTS_MAX,
                              "pair %u", seed);
}

TEST(any_two_readings_are_sane)
{
        enum { N_CPUS = 3, N_PAIRS = 10000 };
        g_autoptr(Counters) previous = counters_new(N_CPUS), current = counters_new(N_CPUS);
        g_autoptr(Snapshot) snapshot = snapshot_new(N_CPUS);
        Counters *both[] = { previous, current };

        for (int i = 0; i < 2; i++) {
                both[i]->idle = g_new0(IdleCounters, N_CPUS);
                both[i]->energy = g_new0(EnergyCounter, 3);
        }
        for (unsigned seed = 0; seed < N_PAIRS; seed++) {
                GRand *rand = g_rand_new_with_seed(seed);

                for (int i = 0; i < 2; i++) {
                        both[i]->n_energy = g_rand_int_range(rand, 0, 4);
                        make_any(rand, both[i], N_CPUS);
                }
                if (g_rand_int_range(rand, 0, 4))
                        current->time_usec = previous->time_usec + 1 +
                                             (uint64_t)g_rand_int_range(rand, 0, 1000000);
                snapshot_compute(seed % 100 ? previous : NULL, current, snapshot);
                check_sane(snapshot, seed);
                g_rand_free(rand);
        }
}

UNIT("snapshot")
