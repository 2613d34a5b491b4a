/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* contract: settings of the controller become requests for CPUs, and without contracts nothing. */
#include "machine.h"
#include "table.h"
#include "world.h"

#define SECONDS 300

typedef enum Late {
        LATE_NEVER,
        LATE_PARKED, /* one in ten, while CPUs are parked */
        LATE_IDLE,   /* the same of those that left the deepest idle state, while it is permitted */
        LATE_PINNED, /* the same on CPU 3 */
        LATE_ALWAYS,
} Late;

static const struct {
        const char *name, *options;
        Late late;
        bool unmeasured, ignored;
        const char *offered; /* NULL: all */
        const char *cpus;    /* of the contract; NULL: 0-1,4-5 */
        const char *allowed; /* most of the last minutes */
        const char *limited; /* CPUs with fewer idle states */
        bool infeasible;
} cases[] = {
        { "a light load needs one core", "", LATE_NEVER, .allowed = "0,4", .limited = "" },
        { "of those that are offered", "", LATE_NEVER, .offered = "1-3,5-7", .allowed = "1,5",
          .limited = "" },
        { "late while cores are parked", "", LATE_PARKED, .allowed = "0-7", .limited = "" },
        { "late from an idle state", "Park=no", LATE_IDLE, .allowed = "0-7", .limited = "0-1,4-5" },
        { "Park=no parks nothing", "Park=no", LATE_NEVER, .allowed = "0-7", .limited = "" },
        { "infeasible", "", LATE_ALWAYS, .allowed = "0-7", .limited = "", .infeasible = true },
        /* Such tasks keep their CPU active, and wake up from its idle states. */
        { "pinned to a CPU of a parked core", "", LATE_PINNED, .cpus = "3", .allowed = "0,4",
          .limited = "3" },
        /* No number of cores helps, as with real-time tasks that fill all of its CPUs. */
        { "pinned to a busy CPU", "", LATE_ALWAYS, .cpus = "0", .allowed = "0-7", .limited = "",
          .infeasible = true },
        { "not measured", "", LATE_ALWAYS, .unmeasured = true, .allowed = "0-7", .limited = "" },
};

static Topology *topology;
static World *world;
static IdleTable idle[8];
static WakeupDelays all, left_idle; /* of the contract */
static Contract contract;
static ContractReport report;

static void setup(void)
{
        topology = grid_build(&(Grid){ 1, 1, 4, 2, 0, 0, NULL });
        ck_assert_int_eq(topology->n_cpus, 8);
        world = world_new(&idled_policy, topology);
        for (int cpu = 0; cpu < 8; cpu++)
                idle[cpu] = (IdleTable){ 2, { { "C1", 2, 2 }, { "C6", 190, 600 } } };
        world->idle = idle;
        contract = (Contract){ 7, 5000, &all, &left_idle, topology->online };
        world->contracts = &contract;
        world->n_contracts = 1;
}

static void teardown(void)
{
        world_free(world);
        topology_free(topology);
}

/* Core 0 has CPUs 0 and 1 there; the cases are written for 0 and 4. */
static CpuSet cpus_of(const char *text)
{
        CpuSet numbers = set_of(text), cpus = { 0 };

        CPUSET_FOREACH(cpu, &numbers)
                cpuset_add(&cpus, cpu % 4 * 2 + cpu / 4);
        return cpus;
}

/* As the kernel does. */
static void count_delay(WakeupDelays *delays, uint64_t ns)
{
        wakeups_add(delays, ns);
        delays->late[contract.limit] += ns > 5000000;
}

static void wake(Late late)
{
        bool parked = !cpuset_equal(&world->allowed, &world->topology->online);
        bool pinned = late == LATE_PINNED;
        bool deep = world->cpus[pinned ? 6 : 0].latency_us < 0;
        bool now = late == LATE_ALWAYS || (late == LATE_PARKED && parked) ||
                   ((late == LATE_IDLE || pinned) && deep);

        for (int i = 0; i < 50; i++) {
                uint64_t ns = now && i % 10 == 0 ? 20000000 : 20000;

                count_delay(&all, ns);
                if (late == LATE_IDLE || pinned)
                        count_delay(&left_idle, ns);
        }
}

static CpuSet limited(void)
{
        CpuSet cpus = { 0 };

        for (int cpu = 0; cpu < world->topology->n_cpus; cpu++)
                if (world->cpus[cpu].latency_us >= 0)
                        cpuset_add(&cpus, cpu);
        return cpus;
}

TEST_EACH(requests, cases)
{
        CpuSet offered = cpus_of(c->offered ?: "0-7"), expected = cpus_of(c->allowed);
        CpuSet expected_limited = cpus_of(c->limited), found, active;
        unsigned as_expected = 0, limited_so = 0;

        contract.cpus = cpus_of(c->cpus ?: "0-1,4-5");
        if (c->unmeasured)
                contract.wakeups = NULL;
        world->offered = &offered;
        world_set_all(world, c->options);
        world_put(world, "0=0.2");
        for (int tick = 0; tick < 2 * SECONDS; tick++) {
                wake(c->late);
                world_decide(world, 500000);
                active = world->allowed;
                cpuset_and(&active, &offered);
                as_expected += cpuset_equal(&active, &expected);
                ck_case(c->name, !c->infeasible || cpuset_equal(&active, &offered),
                        "parks in tick %d", tick);
                found = limited();
                limited_so += cpuset_equal(&found, &expected_limited);
                ck_case(c->name,
                        world->wish.for_saving ==
                                (!cpuset_equal(&active, &offered) && cpuset_is_empty(&found)),
                        "may be ignored: %d", world->wish.for_saving);
                ck_case(c->name,
                        cpuset_is_empty(&world->wish.kept) ||
                                cpuset_equal(&world->wish.kept, &active),
                        "keeps others than it allows");
        }
        ck_case(c->name, as_expected > SECONDS, "as expected in %u ticks", as_expected);
        ck_case(c->name, limited_so > SECONDS * 3 / 2, "limits its CPUs in %u ticks", limited_so);
        ck_case(c->name, (world->wish.period_usec > 0) == !c->unmeasured, "period");
        ck_assert_int_eq(idled_policy.contracts(world->state, &report), 1);
        ck_case(c->name, report.measured == !c->unmeasured, "measured");
        ck_case(c->name,
                report.infeasible == c->infeasible && (report.best_us > 5000) == c->infeasible,
                "infeasible: %d, %g us", report.infeasible, report.best_us);
        ck_case(c->name, strcmp(c->options, "Park=no") != 0 || report.cores == 4,
                "reports %u cores", report.cores);
        ck_case(c->name, c->unmeasured || report.kept + report.broken > SECONDS / 12, "%u windows",
                (unsigned)(report.kept + report.broken));
}

/* Where tasks wait although all cores are active, the contract's CPUs get their hardware's highest
 * frequency, until that was not enough. */
TEST(frequencies)
{
        FreqPolicy policies[] = { { .cpus = cpus_of("0,4"), .max_khz = 3000000 },
                                  { .cpus = cpus_of("1-3,5-7"), .max_khz = 4000000 } };
        Reason reasons[EXPLAIN_MAX] = { 0 };
        PolicyInput input = { .options = world->options, .contracts = &contract, .n_contracts = 1 };

        contract.cpus = cpus_of("0-1,4-5");
        world->frequency = policies;
        world->n_frequency = 2;
        world_put(world, "0=0.2");
        for (int tick = 0; tick < 400; tick++) {
                wake(LATE_ALWAYS);
                world_decide(world, 500000);
                if (tick != 60)
                        continue;
                ck_assert_uint_eq(world->cpus[0].min_khz, 3000000);
                ck_assert_uint_eq(world->cpus[2].min_khz, 4000000);
                ck_assert_uint_eq(world->cpus[4].min_khz, 0);
                ck_assert_int_eq(idled_policy.contracts(world->state, &report), 1);
                ck_assert(report.fast && report.cores == 4);
                ck_assert_int_eq(idled_policy.explain(world->state, &input, 0, reasons), 1);
                ck_assert_ptr_nonnull(strstr(reasons[0].because, "frequencies may not be low"));
        }
        ck_assert_uint_eq(world->cpus[0].min_khz, 0);
        idled_policy.contracts(world->state, &report);
        ck_assert(report.infeasible && !report.fast);
}

/* The contract of all other units alone leaves it to policies of lower rank which cores they park:
 * those keep as many active as it requests, and here `others` at least. */
static const struct {
        const char *name, *options;
        Late late;
        bool unmeasured;
        bool unit, rules;        /* a unit has a contract, too; other policies decide nothing */
        int others, least, most; /* cores that are requested in the last minute; 0: nothing is */
} beside[] = {
        { "none is late", "", LATE_NEVER, .others = 1, .least = 1, .most = 1 },
        { "others need more", "", LATE_NEVER, .others = 3, .least = 1, .most = 1 },
        { "late while cores are parked", "", LATE_PARKED, .others = 1, .least = 3, .most = 4 },
        { "late while others park", "", LATE_PARKED, .others = 3, .least = 3, .most = 4 },
        { "late from an idle state", "", LATE_IDLE, .others = 1, .least = 1, .most = 1 },
        { "Park=no keeps all", "Park=no", LATE_NEVER, .rules = true, .others = 4 },
        { "infeasible", "", LATE_ALWAYS, .others = 1 },
        { "not measured", "", LATE_NEVER, .unmeasured = true, .others = 1 },
        { "a unit's contract rules", "", LATE_NEVER, .unit = true, .rules = true, .others = 1 },
};

static void park_others(int cores)
{
        world->allowed = topology->online;
        for (int core = cores; core < topology->n_cores; core++) {
                CpuSet cpus = { 0 };

                topology_add_core(topology, core, &cpus);
                cpuset_subtract(&world->allowed, &cpus);
        }
}

TEST_EACH(leaves_cores_to_others, beside)
{
        FreqPolicy policy = { .cpus = topology->online, .max_khz = 3000000 };
        Contract contracts[2] = { contract, contract };
        int most = 0;

        contracts[0].rest = true;
        contracts[1].id = 8;
        if (c->unmeasured)
                contracts[0].wakeups = NULL;
        world->contracts = contracts;
        world->n_contracts = c->unit ? 2 : 1;
        world->frequency = &policy;
        world->n_frequency = 1;
        world_set_all(world, c->options);
        world_put(world, "0=0.2");
        for (int tick = 0; tick < 2 * SECONDS; tick++) {
                int cores = MAX(c->others, (int)world->wish.contract_cores);

                if (!c->rules)
                        park_others(cores);
                wake(c->late);
                world_decide(world, 500000);
                ck_case(c->name, c->rules == !cpuset_is_empty(&world->wish.kept), "keeps CPUs");
                ck_case(c->name, c->rules || cpuset_count(&world->wish.allowed) == CPUSET_MAX,
                        "parks CPUs");
                ck_case(c->name, c->rules || (!world->wish.for_saving && !world->wish.on_pressure),
                        "is called for cores");
                ck_case(c->name, world->cpus[0].min_khz == 0, "raises frequencies");
                cores = (int)world->wish.contract_cores;
                most = MAX(most, cores);
                ck_case(c->name,
                        tick < 2 * SECONDS - 120 || (cores >= c->least && cores <= c->most),
                        "%d cores in tick %d", cores, tick);
        }
        ck_case(c->name, c->others > 1 || most <= c->most || c->late == LATE_ALWAYS,
                "%d cores at first", most);
        ck_case(c->name, (c->late == LATE_IDLE) == (world->cpus[0].latency_us >= 0), "limits CPUs");
        ck_case(c->name, world->cpus[6].latency_us < 0, "limits parked CPUs");
}

/* One contract of all other units for an hour, in which a task keeps core 3 active, too. */
static Contract rest_alone(const FreqPolicy *policy)
{
        Contract rest = contract;

        rest.rest = true;
        world->n_contracts = 1;
        world->frequency = policy;
        world->n_frequency = policy ? 1 : 0;
        world_put(world, "0=0.2");
        return rest;
}

#define HOUR 7200 /* ticks */

static int call_with(int others, Late late)
{
        park_others(MAX(others, (int)world->wish.contract_cores));
        topology_add_core(topology, 3, &world->allowed);
        wake(late);
        world_decide(world, 500000);
        return (int)world->wish.contract_cores;
}

/* An idle state is permitted again, although other policies keep more cores active than the
 * contract needs. */
TEST_RANGE(gives_states_back, 1, 4)
{
        const Contract rest = rest_alone(NULL);
        int limited = 0;

        world->contracts = &rest;
        for (int tick = 0; tick < HOUR; tick++) {
                call_with(_i, tick >= 240 && tick < 300 ? LATE_IDLE : LATE_NEVER);
                limited += world->cpus[0].latency_us >= 0;
        }
        ck_assert_int_ge(limited, 100);
        ck_assert_int_le(limited, 600);
}

/* One core is always too few, and is tried seldom. */
TEST(learns_that_cores_fail)
{
        const Contract rest = rest_alone(NULL);
        int changes = 0, cores = 1, last = 0;

        world->contracts = &rest;
        for (int tick = 0; tick < HOUR; tick++, last = cores) {
                cores = call_with(1, cores < 2 ? LATE_ALWAYS : LATE_NEVER);
                changes += cores != last;
        }
        ck_assert_int_le(changes, 20);
}

/* A unit's contract ends: what it needed does not go on for the others. */
TEST(others_inherit_nothing)
{
        const FreqPolicy policy = { .cpus = topology->online, .max_khz = 3000000 };
        Contract contracts[2] = { rest_alone(&policy), contract };

        contracts[1].id = 8;
        world->contracts = contracts;
        for (int tick = 0; tick < 1000; tick++) {
                world->n_contracts = tick < 60 ? 2 : 1;
                if (tick == 59)
                        world_put(world, "0=1,1=1"); /* full */
                call_with(1, tick < 60 ? LATE_ALWAYS : LATE_NEVER);
                world_put(world, "0=0.2");
                ck_assert_msg(tick < 62 || world->cpus[0].min_khz == 0, "tick %d", tick);
        }
        ck_assert_uint_gt(world->wish.period_usec, 500000);
}

/* CPUs go offline while a contract is active, those that it keeps among them, and come back. */
TEST(offline)
{
        const CpuSet online = topology->online;

        world_put(world, "0=0.2");
        for (int tick = 0; tick < 400; tick++) {
                CpuSet usable;

                if (tick == 100)
                        topology->online = cpus_of("1-3,5-7"); /* CPUs 0 and 4 were active */
                if (tick == 200)
                        topology->online = cpus_of("7"); /* one, and no second core to park */
                if (tick == 300)
                        topology->online = online;
                contract.cpus = topology->online;
                wake(LATE_NEVER);
                world_decide(world, 500000); /* fails without a usable CPU */
                usable = world->wish.allowed;
                cpuset_and(&usable, &topology->online);
                if (tick % 100 == 99)
                        ck_assert_int_eq(cpuset_count(&usable), tick == 299 ? 1 : 2);
        }
}

/* How soon the next call comes, after five minutes of so many wake-ups a second. */
static const struct {
        const char *name;
        unsigned each_call;   /* wake-ups */
        uint64_t passed_usec; /* from call to call */
        bool late;            /* one in 150 */
        uint64_t period_usec;
} periods[] = {
        { "many", 50, 500000, false, 2500000 },
        { "as many as one call needs", 25, 500000, false, 2500000 },
        { "some", 10, 500000, false, 2500000 },
        { "by calls that come later", 50, 2500000, false, 2500000 },
        { "by those, too few to be sure", 6, 2500000, false, 5000000 },
        { "few", 1, 500000, false, 5000000 },
        { "none, and the period stretches", 0, 500000, false, 5000000 },
        { "some are late", 10, 500000, true, 500000 },
        { "some of many are late", 50, 500000, true, 500000 },
};

TEST_EACH(calls_again, periods)
{
        unsigned n = 0;

        world_put(world, "0=0.2");
        for (uint64_t usec = 0; usec < SECONDS * UINT64_C(1000000); usec += c->passed_usec) {
                for (unsigned i = 0; i < c->each_call; i++)
                        count_delay(&all, c->late && n++ % 150 == 0 ? 20000000 : 20000);
                world_decide(world, c->passed_usec);
        }
        ck_case(c->name, world->wish.period_usec == c->period_usec, "%u us",
                (unsigned)world->wish.period_usec);
        ck_case(c->name, world->wish.settled == (c->each_call == 0), "settled: %d",
                world->wish.settled);
}

/* The contract of all other units, after so many seconds of that load, and of rest. */
static const struct {
        const char *name, *options, *load;
        int before, after; /* active cores, of four, while nothing is counted and while it is */
        unsigned seconds, rest;
        bool counts;
        const char *why; /* else */
} rests[] = {
        { "no such contract", "", "0=1", 4, 4, 100, 0, false },
        { "an idle machine", "WakeupP99=5ms", "0=0.02", 4, 4, 600, 0, false, "too low" },
        { "a moment of load", "WakeupP99=5ms", "0=0.5", 4, 4, 20, 0, false, "no more" },
        { "load, and cores stay active", "WakeupP99=5ms", "0=0.5", 4, 4, 40, 0, true },
        { "load on many CPUs", "WakeupP99=5ms", "0=0.05,1=0.05,2=0.05", 4, 4, 60, 0, true },
        { "where nothing is parked, soon", "WakeupP99=5ms Park=no", "0=0.5", 4, 4, 5, 0, true },
        { "without a contract one core is active", "WakeupP99=5ms", "0=0.5", 1, 1, 600, 0, false,
          "no more" },
        { "the load fills the active cores", "WakeupP99=5ms", "0=0.8,1=0.8", 2, 2, 600, 0, false,
          "no more" },
        { "one task fills a CPU of two cores", "WakeupP99=5ms", "0=1,1=0.1", 2, 2, 600, 0, false,
          "no more" },
        { "the load leaves one of two", "WakeupP99=5ms", "0=0.7,1=0.7", 2, 2, 40, 0, true },
        { "it parks", "WakeupP99=5ms", "0=0.5", 4, 1, 600, 0, true },
        { "it parks nothing", "WakeupP99=5ms", "0=0.5", 2, 2, 220, 0, false, "no more" },
        { "again, after twice the time", "WakeupP99=5ms", "0=0.5", 2, 2, 280, 0, true },
        { "load that ended a while ago", "WakeupP99=5ms", "0=0.5", 4, 1, 60, 50, true },
        { "load that ended before it parked", "WakeupP99=5ms", "0=0.5", 4, 4, 45, 100, false,
          "too low" },
        { "load that ended long ago", "WakeupP99=5ms", "0=0.5", 4, 1, 60, 100, false, "too low" },
};

static void rest_for(unsigned seconds, int before, int after)
{
        for (unsigned i = 0; i < seconds; i++) {
                park_others(world->wish.p99_us > 0 ? after : before);
                world_decide(world, 1000000);
                ck_assert(cpuset_is_empty(&world->wish.kept) && world->wish.settled);
                ck_assert(!world->wish.on_pressure);
        }
}

TEST_EACH(counts_all_others, rests)
{
        Reason reasons[EXPLAIN_MAX] = { 0 };
        PolicyInput input = { .options = world->options };
        int n;

        world->n_contracts = 0;
        world_set_all(world, c->options);
        world_put(world, c->load);
        rest_for(c->seconds, c->before, c->after);
        world_put(world, "");
        rest_for(c->rest, c->before, c->after);
        ck_case(c->name, world->wish.p99_us == (c->counts ? 5000u : 0u), "p99 of %u us",
                world->wish.p99_us);
        ck_case(c->name, (world->wish.period_usec > 0) == (c->options[0] != '\0'), "period");
        n = idled_policy.explain(world->state, &input, 0, reasons);
        ck_case(c->name, n == (c->why != NULL), "%d reasons", n);
        ck_case(c->name, n == 0 || strstr(reasons[0].because, c->why), "%s", reasons[0].because);
}

/* Each time that it parks nothing it waits for longer, but after a time with an effect it does not.
 */
TEST(waits_after_failures)
{
        unsigned counted = 0;

        world->n_contracts = 0;
        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "0=0.5");
        for (unsigned i = 0; i < 60; i++) {
                rest_for(60, 4, 4);
                counted += world->wish.p99_us > 0;
        }
        ck_assert_uint_ge(counted, 10); /* of 60 minutes */
        ck_assert_uint_le(counted, 20);
        rest_for(1920, 4, 1);
        ck_assert_uint_gt(world->wish.p99_us, 0);
        world_put(world, "");
        rest_for(120, 4, 4);
        ck_assert_uint_eq(world->wish.p99_us, 0);
        world_put(world, "0=0.5");
        rest_for(40, 4, 4);
        ck_assert_uint_gt(world->wish.p99_us, 0);
}

/* If what it parks breaks it each time, it is tried ever more seldom, too. */
TEST(waits_after_parking_in_vain)
{
        unsigned begun = 0, parked = 0;

        world->n_contracts = 0;
        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "0=0.5");
        for (unsigned i = 0; i < 7200; i++) {
                bool before = world->wish.p99_us > 0;

                rest_for(1, 4, parked < 20 ? 1 : 4);
                parked = before ? parked + 1 : 0;
                begun += !before && world->wish.p99_us > 0;
        }
        ck_assert_uint_ge(begun, 5); /* 30 s, 1, 2, 4 ... 32 minutes */
        ck_assert_uint_le(begun, 9);
}

/* Parking that does not last, or lasts but for trials, in each two minutes; what ten of these show.
 */
static const struct {
        const char *name;
        unsigned active, parked; /* seconds */
        bool counts;
} flaps[] = {
        { "parked for most of the time", 10, 20, true },
        { "but for trials", 15, 105, false },
};

TEST_EACH(counts_in_spite_of_parking, flaps)
{
        bool counted = false;

        world->n_contracts = 0;
        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "0=0.5");
        for (unsigned i = 0; i < 1200 && !counted; i++) {
                rest_for(1, i % (c->active + c->parked) < c->active ? 4 : 1, 4);
                counted = world->wish.p99_us > 0;
        }
        ck_case(c->name, counted == c->counts, "counts: %d", counted);
}

/* Seconds of `seconds` in which it counts, while 4 cores and `low` are active by turns, and with it
 * `after`, or the same if that is 0. */
static unsigned count_flapping(unsigned seconds, unsigned phase, int low, int after)
{
        unsigned counted = 0;

        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "0=0.5");
        for (unsigned i = 0; i < seconds; i++) {
                int active = (i + phase) % 30 < 10 ? 4 : low;

                if (world->contracts != &contract)
                        world->n_contracts = world->wish.p99_us > 0;
                rest_for(1, active, after ?: active);
                counted += world->wish.p99_us > 0;
        }
        return counted;
}

/* Cores are active or parked by turns, at whatever moment the contract begins. */
TEST_RANGE(remembers_the_mean, 0, 6)
{
        world->n_contracts = 0;
        ck_assert_uint_gt(count_flapping(3600, 5 * (unsigned)_i, 2, 2), 3300);
}

/* Where wake-ups cannot be measured cores come and go without it, and it is tried seldom. */
TEST(gives_up_unmeasured)
{
        Contract unmeasured = { .id = 7, .limit_us = 5000, .rest = true };

        world->contracts = &unmeasured;
        ck_assert_uint_lt(count_flapping(7200, 0, 1, 0), 1500);
}

/* A short load says nothing about parking: the next contract begins as soon as the first. */
TEST(learns_nothing_from_short_loads)
{
        world->n_contracts = 0;
        world_set_all(world, "WakeupP99=5ms");
        for (unsigned i = 0; i < 5; i++) {
                world_put(world, "0=0.5");
                rest_for(45, 4, 4);
                ck_assert_uint_gt(world->wish.p99_us, 0);
                world_put(world, "");
                rest_for(200, 4, 4);
                ck_assert_uint_eq(world->wish.p99_us, 0);
        }
}

/* A load of CPUs that cannot be parked is none. */
TEST(does_not_count_what_it_cannot_park)
{
        CpuSet offered = set_of("0-5");

        world->n_contracts = 0;
        world->offered = &offered;
        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "6=1,7=1");
        rest_for(100, 4, 4);
        ck_assert_uint_eq(world->wish.p99_us, 0);
        world_put(world, "0=0.3,6=1,7=1");
        rest_for(60, 4, 4);
        ck_assert_uint_gt(world->wish.p99_us, 0);
}

/* Called again with the interval that it knows, as after a change of options: nothing adds up. */
TEST(knows_an_interval)
{
        PolicyInput input = { .topology = topology,
                              .snapshot = world->snapshot,
                              .allowed = &world->allowed,
                              .effect = true,
                              .options = world->options };

        world->n_contracts = 0;
        world_set_all(world, "WakeupP99=5ms");
        world_put(world, "0=0.5");
        world_decide(world, 1000000);
        for (int i = 0; i < 200; i++) {
                wish_init(&world->wish);
                idled_policy.decide(world->state, &input, &world->wish);
                ck_assert_uint_eq(world->wish.p99_us, 0);
        }
}

/* The daemon ignores it for some seconds and measures. Windows have the wake-ups of that time,
 * which say nothing about the setting: also those until the call with which it takes effect again.
 */
TEST(trial)
{
        bool before = false;

        for (int tick = 0; tick < 200; tick++) {
                wake(before ? LATE_ALWAYS : LATE_NEVER);
                before = world->ignored = tick % 50 >= 40;
                world_decide(world, 500000);
                if (tick >= 40)
                        ck_assert_int_eq(cpuset_count(&world->wish.kept), 2);
        }
        idled_policy.contracts(world->state, &report);
        ck_assert_uint_ge(report.broken, 3);
        ck_assert_uint_ge(report.kept + report.broken, 8);
}

/* Reasons are for all users: how late a unit's wake-ups are is not in them. */
static const struct {
        const char *name, *options;
        Late late;
        bool unmeasured;
        const char *because, *input, *option;
        double value; /* of the last input */
} explained[] = {
        { "infeasible", "", LATE_ALWAYS, false, "infeasible", "limit", NULL, 5 },
        { "not measured", "", LATE_NEVER, true, "not measured", "limit", NULL, 5 },
        { "idle states", "Park=no", LATE_IDLE, false, "deeper idle states", "filtered load", NULL,
          2 },
        { "idle states, by the option", "Park=no WakeupP99=5ms", LATE_IDLE, false,
          "deeper idle states", "filtered load", "WakeupP99", 2 },
        { "nothing to explain", "", LATE_NEVER, .because = NULL },
};

TEST_EACH(explains, explained)
{
        PolicyInput input = { .options = world->options, .contracts = &contract, .n_contracts = 1 };
        Reason reasons[EXPLAIN_MAX] = { 0 };
        int n;

        if (c->unmeasured)
                contract.wakeups = NULL;
        world_set_all(world, c->options);
        world_put(world, "0=0.5");
        for (int tick = 0; tick < 200; tick++) {
                wake(c->late);
                world_decide(world, 500000);
        }
        n = idled_policy.explain(world->state, &input, 0, reasons);
        ck_case(c->name, n == (c->because != NULL), "%d reasons", n);
        if (!c->because)
                return;
        for (n = 0; reasons[0].inputs[n + 1].name; n++)
                continue;
        ck_case(c->name, n == (c->late == LATE_IDLE ? 2 : 0), "%d inputs", n + 1);
        ck_case(c->name, strstr(reasons[0].because, c->because), "because %s", reasons[0].because);
        ck_case(c->name, g_str_equal(reasons[0].inputs[0].name, c->input), "%s",
                reasons[0].inputs[0].name);
        ck_case(c->name, reasons[0].inputs[n].value == c->value, "%g", reasons[0].inputs[n].value);
        ck_case(c->name, g_strcmp0(reasons[0].option, c->option) == 0, "%s", reasons[0].option);
}

/* A contract that ends leaves nothing behind: a later one of the same number begins as a new one.
 */
TEST(ends)
{
        for (int tick = 0; tick < 90; tick++) {
                world->n_contracts = tick < 80 || tick > 85;
                wake(LATE_NEVER);
                world_decide(world, 500000);
                ck_assert_int_eq(idled_policy.contracts(world->state, &report), world->n_contracts);
                if (tick == 79)
                        ck_assert_uint_gt(report.kept, 0);
        }
        ck_assert_uint_eq(report.kept, 0);
        ck_assert(cpuset_equal(&world->allowed, &topology->online));
}

UNIT("contract-policy", .setup = setup, .teardown = teardown)
