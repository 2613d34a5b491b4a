/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand where parking saves energy and where it does not: for hours of virtual time on loads
 * that stay, come and go, and on replays, with packages that draw by a simple model. What is drawn
 * is compared with what it would be without parking, and with parking whatever that saves.
 */
#include "machine.h"
#include "traces.h"

#define STEP_USEC   UINT64_C(10000)
#define PERIOD_USEC UINT64_C(250000)
#define STRETCHED   12 /* periods, while the policy is settled */

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid smt = { 1, 1, 4, 2, 0, 0, NULL };

/* A load that takes turns with another; the rates are CPUs of each of two streams. */
typedef struct Load {
        double rate, other;
        unsigned seconds, other_seconds;
} Load;

/* All cores draw 20 W, and 30 W for each CPU of the demand; while some are parked, `factor` of it.
 */
static const struct {
        const char *name;
        const Grid *grid;
        const char *options;
        const char *trace; /* again and again; NULL: the load */
        Load load;
        double factor;
        unsigned minutes;
        double least, most; /* drawn, of what all cores in use would have drawn */
        unsigned most_read; /* calls that asked for energy */
} cases[] = {
        { "saves 25 %", &eight, "", NULL, { 0.1, 0.1, 1, 1 }, 0.75, 60, 0.75, 0.757, 900 },
        { "saves 5 %", &smt, "", NULL, { 0.1, 0.1, 1, 1 }, 0.95, 60, 0.95, 0.952, 900 },
        { "saves, on and off", &eight, "", NULL, { 0.1, 0, 7, 3 }, 0.75, 60, 0.75, 0.765, 900 },
        { "saves, a level and another",
          &eight,
          "",
          NULL,
          { 0.1, 0.3, 40, 50 },
          0.75,
          60,
          0.75,
          0.77,
          900 },
        { "costs 12 %", &eight, "", NULL, { 0.1, 0.1, 1, 1 }, 1.12, 60, 1, 1.005, 900 },
        { "costs 50 %", &smt, "", NULL, { 0.1, 0.1, 1, 1 }, 1.5, 60, 1, 1.01, 900 },
        { "costs 12 %, on and off", &eight, "", NULL, { 0.1, 0, 7, 3 }, 1.12, 60, 1, 1.01, 900 },
        { "costs, and nobody wants to know",
          &eight,
          "BackOff=no",
          NULL,
          { 0.1, 0.1, 1, 1 },
          1.12,
          10,
          1.11,
          1.125,
          0 },
        { "costs, and shall be so",
          &eight,
          "MaxCores=2",
          NULL,
          { 0.1, 0.1, 1, 1 },
          1.12,
          10,
          1.11,
          1.125,
          0 },
        { "idle", &eight, "", NULL, { 0.001, 0, 1, 10 }, 1.12, 60, 1.11, 1.125, 0 },
        { "few changes allowed",
          &eight,
          "MaxTransitions=2",
          NULL,
          { 0.1, 0.1, 1, 1 },
          1.12,
          60,
          1,
          1.02,
          900 },
        { "a database, saves", &smt, "", "recorded-database", { 0 }, 0.75, 60, 0.75, 0.77, 900 },
        { "a database, costs", &smt, "", "recorded-database", { 0 }, 1.12, 60, 1, 1.01, 900 },
        { "files, save", &smt, "", "recorded-files", { 0 }, 0.75, 60, 0.75, 0.77, 900 },
        { "files, cost", &smt, "", "recorded-files", { 0 }, 1.12, 60, 1, 1.01, 900 },
};

typedef struct Meter {
        World *world;
        double factor;
        uint64_t due_usec;
        unsigned n_wanted; /* calls in a row that wished for energy */
        unsigned n_calls, n_read;
        double joules, all_joules; /* drawn, and if all cores had been in use */
        double interval_joules;    /* drawn, since the last call */
} Meter;

/* Ten milliseconds' draught. */
static void draw(Meter *meter, const double *streams, int n_streams)
{
        bool parked = !cpuset_equal(&meter->world->allowed, &meter->world->topology->online);
        double watts = 20, joules;

        for (int i = 0; i < n_streams; i++)
                watts += 30 * streams[i];
        joules = watts * STEP_USEC / 1e6;
        meter->all_joules += joules;
        meter->joules += parked ? meter->factor * joules : joules;
        meter->interval_joules += parked ? meter->factor * joules : joules;
}

static void call(Meter *meter)
{
        World *world = meter->world;
        bool read = meter->n_wanted >= 2;

        world->snapshot->have = SENSE_LOAD | SENSE_PRESSURE | (read ? SENSE_ENERGY : 0);
        world->snapshot->n_energy = read;
        world->snapshot->energy[0] = (EnergyUse){ .joules = meter->interval_joules,
                                                  .valid = true,
                                                  .package = true };
        world_decide(world, 0);
        meter->n_calls++;
        meter->n_read += world->wish.reads == SENSE_ENERGY;
        meter->n_wanted = world->wish.reads == SENSE_ENERGY ? meter->n_wanted + 1 : 0;
        meter->interval_joules = 0;
        meter->due_usec = world->wish.period_usec * (world->wish.settled ? STRETCHED : 1);
}

/* Lets the time pass until `usec` more are over. */
static void pass(Meter *meter, const double *streams, int n_streams, uint64_t usec)
{
        for (uint64_t done = 0; done < usec; done += STEP_USEC) {
                world_run(meter->world, streams, n_streams, STEP_USEC);
                draw(meter, streams, n_streams);
                meter->due_usec -= MIN(meter->due_usec, STEP_USEC);
                if (meter->due_usec == 0)
                        call(meter);
        }
}

static void pass_load(Meter *meter, const Load *load, unsigned minutes)
{
        double streams[2] = { load->rate, load->rate }, others[2] = { load->other, load->other };

        for (unsigned s = 0; s < 60 * minutes; s += load->seconds + load->other_seconds) {
                pass(meter, streams, 2, load->seconds * UINT64_C(1000000));
                pass(meter, others, 2, load->other_seconds * UINT64_C(1000000));
        }
}

static void pass_trace(Meter *meter, const char *name, unsigned minutes)
{
        Trace trace = trace_load(name);
        uint64_t left = minutes * UINT64_C(60000000);

        while (left > 0) {
                uint64_t length = MIN(trace_usec(&trace), left);
                guint line = 0;

                for (uint64_t t = 0; t < length; t += STEP_USEC)
                        pass(meter, trace_demand(&trace, t, &line), trace.n_streams, STEP_USEC);
                left -= length;
        }
        trace_done(&trace);
}

static Meter meter_new(World *world, const char *options, double factor)
{
        world_set_all(world, options);
        world->snapshot->energy = g_new0(EnergyUse, 1);
        world_rest(world);
        return (Meter){ .world = world, .factor = factor, .due_usec = PERIOD_USEC };
}

/* What is told of it: the verdict, and of a load that stays watts of which one is `factor` of the
 * other. */
static void assert_benefit(const char *name, const World *world, double factor, const Load *load,
                           bool measured)
{
        Benefit benefit = idled_policy.benefit(world->state);
        BenefitVerdict verdict = !measured    ? BENEFIT_UNKNOWN
                                 : factor < 1 ? BENEFIT_SAVES
                                              : BENEFIT_NOTHING;

        ck_case(name, benefit.verdict == verdict, "verdict %d", benefit.verdict);
        if (!measured)
                return;
        ck_case(name,
                load->rate != load->other ||
                        fabs(benefit.parked_watts / benefit.active_watts - factor) < 0.05,
                "%.1f W active, %.1f W parked", benefit.active_watts, benefit.parked_watts);
        ck_case(name,
                benefit.measured_usec > 0 && benefit.measured_usec <= world->snapshot->time_usec,
                "at %" G_GUINT64_FORMAT, benefit.measured_usec);
}

START_TEST(draws)
{
        typeof(cases[0]) *c = &cases[_i];
        g_autoptr(Topology) topology = grid_build(c->grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        Meter meter = meter_new(world, c->options, c->factor);
        double drawn;

        if (c->trace)
                pass_trace(&meter, c->trace, c->minutes);
        else
                pass_load(&meter, &c->load, c->minutes);
        drawn = meter.joules / meter.all_joules;
        if (g_getenv("IDLED_REPLAY"))
                printf("%s: %.4f, %u changes, energy wanted by %u of %u calls\n", c->name, drawn,
                       world->n_changes, meter.n_read, meter.n_calls);
        fflush(stdout);
        ck_case(c->name, drawn >= c->least && drawn <= c->most, "drew %.4f", drawn);
        ck_case(c->name, meter.n_read <= c->most_read, "wanted energy %u times", meter.n_read);
        if (!c->trace)
                assert_benefit(c->name, world, c->factor, &c->load,
                               c->load.rate >= 0.1 && !strstr(c->options, "BackOff=no") &&
                                       !strstr(c->options, "MaxCores"));
}
END_TEST

static void assert_reason(const World *world, const char *because, const char *input, double value)
{
        const Reason *reason = &world->wish.allowed_reason;

        ck_assert_msg(says(reason->because, because), "\"%s\"", reason->because);
        ck_assert_str_eq(reason->option, "BackOff");
        for (int i = 0; input && i < REASON_INPUTS && reason->inputs[i].name; i++) {
                if (strcmp(reason->inputs[i].name, input) != 0)
                        continue;
                ck_assert_double_eq_tol(reason->inputs[i].value, value, 0.01 * value);
                return;
        }
        ck_assert_msg(!input, "no input \"%s\"", input);
}

START_TEST(says_why)
{
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        Meter meter = meter_new(world, "", 1.12);
        const double load[2] = { 0.1, 0.1 };

        ck_assert_uint_eq(world->wish.reads, 0);
        pass(&meter, load, 2, STRETCHED * PERIOD_USEC + 1000000);
        ck_assert_uint_eq(world->wish.reads, SENSE_ENERGY);
        ck_assert(!world->wish.settled);
        while (!cpuset_equal(&world->allowed, &topology->online))
                pass(&meter, load, 2, STEP_USEC);
        assert_reason(world, "all cores|measure|parking saves", NULL, 0);
        while (cpuset_equal(&world->allowed, &topology->online))
                pass(&meter, load, 2, STEP_USEC);
        while (!cpuset_equal(&world->allowed, &topology->online))
                pass(&meter, load, 2, STEP_USEC);
        assert_reason(world, "saved nothing", "parked", 1.12 * 26);
        pass(&meter, load, 2, 120000000);
        assert_reason(world, "saved nothing", "all active", 26);
        assert_reason(world, "saved nothing", "again in", 8);
        assert_reason(world, "saved nothing", "tried", 2);
        ck_assert(world->wish.settled);
        ck_assert_uint_eq(world->wish.reads, 0);
}
END_TEST

/* In a dry run both places are one. */
START_TEST(compares_no_pretence)
{
        g_autoptr(Topology) topology = grid_build(&eight);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        Meter meter;

        world->pretended = true;
        meter = meter_new(world, "", 1);
        pass_load(&meter, &(Load){ 0.1, 0.1, 1, 1 }, 10);
        ck_assert_uint_eq(world->n_changes, 1);
        ck_assert_uint_eq(meter.n_read, 0);
        ck_assert(world->wish.settled);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("ondemand-saving");
        TCase *tcase = tcase_create("ondemand-saving");

        tcase_add_loop_test(tcase, draws, 0, G_N_ELEMENTS(cases));
        tcase_add_test(tcase, says_why);
        tcase_add_test(tcase, compares_no_pretence);
        tcase_set_timeout(tcase, 120);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
