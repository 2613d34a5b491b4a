/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether parking is worth it: what is found out about machines that draw this and that, by
 * somebody who follows the advice and parks after five seconds whenever it is allowed.
 */
#include "model/counters.h"
#include "table.h"

#include "ondemand/worth.h"

#define PERIOD_USEC 250000
#define DWELL_USEC  5000000

typedef enum Energy { GOOD, NONE, STUCK, INVALID, PARTS } Energy;

/* From a start with CPUs parked, or with all active, for so many minutes. */
static const struct {
        const char *name;
        bool parked;
        double all_watts, parked_watts, noise; /* share of the power that differs by chance */
        double all_work, parked_work;          /* CPUs */
        Energy energy;
        unsigned minutes;
        unsigned compared; /* times that everything was unparked only to compare */
        unsigned misses;
        double least_parked, most_parked; /* share of the time */
        double most_read;                 /* share of readings with energy */
} cases[] = {
        { "saves", true, 40, 30, 0, 0.2, 0.2, GOOD, 60, 6, 0, 0.99, 1, 0.02 },
        { "saves, from all", false, 40, 30, 0, 0.2, 0.2, GOOD, 60, 5, 0, 0.99, 1, 0.02 },
        { "saves little", true, 40, 38, 0.02, 0.2, 0.2, GOOD, 60, 6, 0, 0.98, 1, 0.02 },
        { "saves, shared cores are busier", true, 40, 30, 0, 0.2, 0.25, GOOD, 60, 6, 0, 0.99, 1,
          0.02 },
        { "costs", true, 24.5, 27.4, 0, 0.2, 0.2, GOOD, 5, 1, 2, 0, 0.05, 0.2 },
        { "costs, from all", false, 24.5, 27.4, 0, 0.2, 0.2, GOOD, 5, 0, 2, 0, 0.05, 0.2 },
        { "costs, in the long run", true, 24.5, 27.4, 0, 0.2, 0.2, GOOD, 600, 1, 13, 0, 0.002,
          0.02 },
        { "costs, with noise", true, 24.5, 27.4, 0.1, 0.2, 0.2, GOOD, 60, 1, 4, 0, 0.02, 0.05 },
        { "saves less than it takes", true, 40, 39.8, 0, 0.2, 0.2, GOOD, 5, 1, 2, 0, 0.05, 0.2 },
        { "makes no difference that could be seen", true, 40, 39.5, 0.3, 0.2, 0.2, GOOD, 60, 6, 0,
          0.9, 1, 0.15 },
        { "more work meanwhile", true, 40, 50, 0, 0.2, 0.4, GOOD, 60, 9, 0, 0.9, 1, 0.15 },
        { "nearly idle", true, 20, 40, 0, 0.008, 0.008, GOOD, 60, 0, 0, 1, 1, 0 },
        { "no energy", true, 24.5, 27.4, 0, 0.2, 0.2, NONE, 59, 0, 0, 1, 1, 0.02 },
        { "energy that does not move", true, 24.5, 27.4, 0, 0.2, 0.2, STUCK, 59, 0, 0, 1, 1, 0.02 },
        { "counters of no use", true, 24.5, 27.4, 0, 0.2, 0.2, INVALID, 59, 0, 0, 1, 1, 0.02 },
        { "no package's energy", true, 24.5, 27.4, 0, 0.2, 0.2, PARTS, 59, 0, 0, 1, 1, 0.02 },
};

typedef struct Follower {
        Worth worth;
        Snapshot *snapshot;
        CpuSet all, few;
        bool parked, wanted, had; /* energy at this interval's beginning */
        uint64_t unparked_usec;
        unsigned compared, n_parked, n_read, n;
        GRand *rand;
} Follower;

static void follower_init(Follower *f, bool parked)
{
        *f = (Follower){ .parked = parked, .rand = g_rand_new_with_seed(4711) };
        f->snapshot = snapshot_new(4);
        f->snapshot->time_usec = 3600000000;
        f->snapshot->interval_usec = PERIOD_USEC;
        f->snapshot->n_energy = 2;
        f->snapshot->energy = g_new0(EnergyUse, 2);
        f->unparked_usec = f->snapshot->time_usec;
        cpuset_add_range(&f->all, 0, 3);
        cpuset_add_range(&f->few, 0, 1);
        worth_init(&f->worth);
}

static void follower_done(Follower *f)
{
        snapshot_free(f->snapshot);
        g_rand_free(f->rand);
}

static void put_energy(Follower *f, Energy energy, double watts)
{
        bool there = energy != NONE && f->wanted && f->had;

        f->snapshot->n_energy = there ? 2 : 0;
        f->snapshot->energy[0] = (EnergyUse){
                .joules = energy == STUCK ? 0 : watts * PERIOD_USEC / 1e6,
                .valid = energy != INVALID,
                .package = energy != PARTS,
        };
        f->snapshot->energy[1] = (EnergyUse){ .joules = 1000, .valid = true };
        f->n_read += f->wanted;
        f->had = f->wanted;
}

/* One period, in which packages draw so much and CPUs do so much. */
static WorthAdvice follower_step(Follower *f, Energy energy, double watts, double work)
{
        uint64_t now = f->snapshot->time_usec += PERIOD_USEC, low = now - f->unparked_usec;
        WorthView view = {
                .snapshot = f->snapshot,
                .allowed = f->parked ? &f->few : &f->all,
                .place = f->parked ? WORTH_PARKED : WORTH_ALL,
                .work = work,
                .load = work,
                .parking_usec = f->parked          ? UINT64_MAX
                                : low < DWELL_USEC ? DWELL_USEC - low
                                                   : 0,
        };
        WorthAdvice advice;

        if (worth_backoff(&f->worth, now) > 0)
                f->unparked_usec = now; /* nobody waits for what is not to be */
        put_energy(f, energy, watts);
        f->n++;
        f->n_parked += f->parked;
        advice = worth_watch(&f->worth, &view);
        f->compared += advice == WORTH_COMPARE;
        if (advice != WORTH_GO_ON) {
                f->parked = false;
                f->unparked_usec = now;
        } else if (!f->parked && low >= DWELL_USEC && !worth_forbids(&f->worth, now)) {
                f->parked = true;
        }
        view.place = f->parked ? WORTH_PARKED : WORTH_ALL;
        f->wanted = worth_wants_energy(&f->worth, &view);
        return advice;
}

START_TEST(finds_out)
{
        typeof(cases[0]) *c = &cases[_i];
        Follower f;
        double parked, read;

        follower_init(&f, c->parked);
        for (unsigned i = 0; i < c->minutes * 240; i++) {
                double chance = 1 + c->noise * g_rand_double_range(f.rand, -1, 1);

                follower_step(&f, c->energy, chance * (f.parked ? c->parked_watts : c->all_watts),
                              f.parked ? c->parked_work : c->all_work);
        }
        parked = (double)f.n_parked / f.n;
        read = (double)f.n_read / f.n;
        follower_done(&f);
        ck_case(c->name, f.compared == c->compared, "compared %u times", f.compared);
        ck_case(c->name, f.worth.misses == c->misses, "%u misses", f.worth.misses);
        ck_case(c->name, parked >= c->least_parked && parked <= c->most_parked, "parked for %.4f",
                parked);
        ck_case(c->name, read <= c->most_read, "energy in %.4f of the readings", read);
}
END_TEST

START_TEST(pause_doubles_to_its_end)
{
        Follower f;
        uint64_t began = 0, longest = 0, before = 0;

        follower_init(&f, true);
        for (unsigned i = 0; i < 40 * 60 * 240; i++) {
                uint64_t left, now;

                follower_step(&f, GOOD, f.parked ? 30 : 20, 0.2);
                now = f.snapshot->time_usec;
                left = worth_backoff(&f.worth, now);
                if (left > 0 && before == 0) {
                        ck_assert_uint_eq(left, longest ? MIN(2 * longest, 3600000000) : 600000000);
                        longest = left;
                        began = now;
                }
                ck_assert(left == 0 || worth_forbids(&f.worth, now));
                before = left;
        }
        ck_assert_uint_eq(longest, 3600000000);
        ck_assert_uint_gt(began, 0);
        follower_done(&f);
}
END_TEST

START_TEST(success_resets)
{
        Follower f;

        follower_init(&f, true);
        for (unsigned i = 0; i < 60 * 240; i++)
                follower_step(&f, GOOD, f.parked ? 30 : 20, 0.2);
        ck_assert_uint_gt(f.worth.misses, 2);
        for (unsigned i = 0; i < 120 * 240; i++)
                follower_step(&f, GOOD, f.parked ? 20 : 30, 0.2);
        ck_assert_uint_eq(f.worth.misses, 0);
        ck_assert(f.parked);
        for (unsigned i = 0; worth_backoff(&f.worth, f.snapshot->time_usec) == 0; i++) {
                ck_assert_uint_lt(i, 300 * 240);
                follower_step(&f, GOOD, f.parked ? 30 : 20, 0.2);
        }
        ck_assert_uint_eq(f.worth.misses, 2);
        ck_assert_uint_eq(worth_backoff(&f.worth, f.snapshot->time_usec), 600000000);
        follower_done(&f);
}
END_TEST

/* The load ends while everything is in use to compare: parked again soon, and not compared at once.
 */
START_TEST(load_ends_meanwhile)
{
        Follower f;
        unsigned i;

        follower_init(&f, true);
        for (i = 0; f.compared == 0 && i < 240; i++)
                follower_step(&f, GOOD, 30, 0.2);
        ck_assert_uint_eq(f.compared, 1);
        for (i = 0; !f.parked && i < 240; i++)
                follower_step(&f, GOOD, 20, 0.001);
        ck_assert_uint_lt(i, 100);
        for (i = 0; i < 160; i++)
                follower_step(&f, GOOD, 30, 0.2);
        ck_assert_uint_eq(f.compared, 1);
        follower_done(&f);
}
END_TEST

/* A load that begins draws little at first; that is over when it is compared. */
START_TEST(beginning_does_not_count)
{
        Follower f;

        follower_init(&f, false);
        for (unsigned i = 0; i < 16; i++) {
                follower_step(&f, GOOD, 20, 0.3);
                f.unparked_usec = f.snapshot->time_usec;
        }
        for (unsigned i = 0; i < 240; i++)
                follower_step(&f, GOOD, f.parked ? 58 : 69, 0.3);
        ck_assert(f.parked);
        ck_assert_uint_eq(f.compared, 0);
        ck_assert_uint_gt(f.worth.judged_usec, 0);
        ck_assert_double_eq_tol(f.worth.watts[WORTH_ALL], 69, 0.1);
        follower_done(&f);
}
END_TEST

/* What was found of one load, for two minutes or, after a success, forty, and then another for an
 * hour: minutes until that is parked or not, as it should be, and for how long it is not. */
static const struct {
        const char *name;
        double work, factor;             /* parking takes this factor of the power */
        double other_work, other_factor; /* and of the other load */
        unsigned on, off;                /* seconds that the other is on, and the first again */
        double least, most;              /* minutes until it is as it should be; 60 never */
        double most_wrong;               /* minutes in all */
} others[] = {
        { "costs, more saves", 0.05, 1.1, 0.3, 0.8, 3600, 0, 0.5, 2, 1.5 },
        { "costs, more costs as well", 0.05, 1.1, 0.3, 1.1, 3600, 0, 0, 0.1, 0.3 },
        { "costs, less saves", 0.3, 1.1, 0.05, 0.8, 3600, 0, 5, 12, 12 },
        { "costs, bursts save", 0.05, 1.1, 0.3, 0.8, 10, 10, 5, 12, 12 },
        { "saves, more costs", 0.05, 0.8, 0.3, 1.1, 3600, 0, 0.5, 3, 3 },
        { "saves, less costs", 0.3, 0.8, 0.05, 1.1, 3600, 0, 0.5, 3, 3 },
};

START_TEST(other_loads)
{
        typeof(others[0]) *c = &others[_i];
        double minutes = 60, wrong = 0;
        bool should;
        Follower f;

        follower_init(&f, true);
        for (unsigned i = 0; i < 240 * (c->factor < 1 ? 40 : 2); i++)
                follower_step(&f, GOOD, 20 * (f.parked ? c->factor : 1), c->work);
        ck_case(c->name, f.parked == (c->factor < 1), "parked: %d", f.parked);
        should = c->other_factor < 1;
        for (unsigned i = 0; i < 240 * 60; i++) {
                bool on = i / 4 % (c->on + c->off) < c->on;
                double factor = on ? c->other_factor : c->factor;

                if (minutes == 60 && f.parked == should && !f.worth.comparing)
                        minutes = i / 240.0;
                wrong += f.parked != should ? 1 / 240.0 : 0;
                follower_step(&f, GOOD, 20 * (f.parked ? factor : 1), on ? c->other_work : c->work);
        }
        follower_done(&f);
        ck_case(c->name, minutes >= c->least && minutes <= c->most, "after %.2f min", minutes);
        ck_case(c->name, wrong <= c->most_wrong, "wrong for %.2f min", wrong);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("worth");
        TCase *tcase = tcase_create("worth");

        tcase_add_loop_test(tcase, finds_out, 0, G_N_ELEMENTS(cases));
        tcase_add_loop_test(tcase, other_loads, 0, G_N_ELEMENTS(others));
        tcase_add_test(tcase, pause_doubles_to_its_end);
        tcase_add_test(tcase, success_resets);
        tcase_add_test(tcase, load_ends_meanwhile);
        tcase_add_test(tcase, beginning_does_not_count);
        tcase_set_timeout(tcase, 60);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
