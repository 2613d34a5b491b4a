/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand in virtual time on load series (traces/README.md).
 *
 * Each series is replayed twice as a daemon would run it: at the policy's period, and with periods
 * that stretch while it is settled and a pressure trigger that cuts them short. In every replay:
 * no minute has more changes than the cap, the same replay again decides the same, and the series'
 * own expectations hold: how many changes (a peer of this policy makes 22 in two minutes of light
 * load), how soon how many cores, and how many in the end.
 * IDLED_REPLAY=1 prints what happens.
 */
#include "machine.h"
#include "ondemand/ondemand.h"
#include "traces.h"

#define STEP_USEC   UINT64_C(10000)
#define PERIOD_USEC UINT64_C(250000)
#define MINUTE_USEC UINT64_C(60000000)
#define STRETCH_MAX 12
#define CHANGES     256

static const Grid eight = { 1, 1, 8, 1, 0, 0, NULL };
static const Grid two = { 1, 1, 2, 1, 0, 0, NULL };
static const Grid smt = { 1, 1, 4, 2, 0, 0, NULL };
static const Grid hybrid = { 1, 1, 4, 2, 2, 580, NULL };
static const Grid server = { 2, 4, 4, 2, 0, 0, NULL };

/* `within_ms` counts from `at_ms` until that many cores are active. A lone thread makes no other
 * wait, so no trigger fires: it takes one and a half periods, three if they are too short to
 * distinguish 90 % from less, and the longest period more while ticks stretch.
 * `least_changes` excludes a policy that never parks: on a load with pauses ondemand parks in some
 * of them, and unparks again. It is 0 if the load always needs all cores. */
static const struct {
        const char *trace;
        const Grid *grid;
        const char *options;
        unsigned least_changes, most_changes; /* in all; the first parking is one */
        unsigned at_ms, cores, within_ms[2];  /* 0 cores: no sudden load; [1] while stretching */
        int last_cores;                       /* 0: any */
} cases[] = {
        { "idle-desktop", &eight, "", 6, 12, 0, 0, { 0, 0 }, 0 },
        { "idle-desktop", &hybrid, "", 6, 12, 0, 0, { 0, 0 }, 0 },
        { "bursty", &eight, "", 2, 4, 0, 0, { 0, 0 }, 5 },
        { "bursty", &two, "", 2, 4, 0, 0, { 0, 0 }, 2 },
        { "rare-bursts", &eight, "", 8, 14, 24000, 8, { 250, 250 }, 8 },
        { "rare-bursts", &eight, "MaxTransitions=2", 6, 10, 24000, 8, { 250, 250 }, 8 },
        { "ramp", &eight, "", 6, 14, 0, 0, { 0, 0 }, 1 },
        { "ramp", &hybrid, "", 6, 14, 0, 0, { 0, 0 }, 1 },
        { "ramp", &server, "", 6, 16, 0, 0, { 0, 0 }, 1 },
        { "ramp", &server, "MaxTransitions=2", 3, 6, 0, 0, { 0, 0 }, 0 },
        { "single-thread", &eight, "", 3, 8, 20000, 2, { 250, 250 }, 1 },
        { "single-thread", &hybrid, "", 3, 8, 20000, 2, { 250, 250 }, 1 },
        { "lone-thread", &eight, "", 3, 4, 30100, 2, { 375, 3125 }, 1 },
        { "lone-thread", &two, "", 3, 4, 30100, 2, { 375, 3125 }, 1 },
        { "lone-thread", &smt, "", 3, 4, 30100, 2, { 375, 3125 }, 1 },
        { "lone-thread", &hybrid, "", 3, 4, 30100, 2, { 375, 3125 }, 1 },
        { "lone-thread", &hybrid, "MinCores=4", 3, 4, 30100, 5, { 375, 3125 }, 4 },
        { "lone-thread", &hybrid, "Period=100ms", 3, 4, 30100, 2, { 180, 1080 }, 1 },
        { "lone-thread", &hybrid, "Period=70ms", 3, 4, 30100, 2, { 210, 840 }, 1 },
        { "lone-thread", &hybrid, "Period=50ms", 3, 4, 30100, 2, { 150, 600 }, 1 },
        { "lone-thread", &hybrid, "Period=70ms MinCores=4", 3, 4, 30100, 5, { 210, 840 }, 4 },
        { "lone-thread", &hybrid, "Period=50ms MinCores=4", 3, 4, 30100, 5, { 150, 600 }, 4 },
        { "lone-thread", &eight, "Period=50ms", 3, 4, 30100, 2, { 150, 600 }, 1 },
        { "oscillation-fast", &eight, "", 1, 2, 0, 0, { 0, 0 }, 2 },
        { "oscillation-fast", &two, "", 0, 0, 0, 0, { 0, 0 }, 2 },
        { "oscillation-slow", &eight, "", 5, 10, 0, 0, { 0, 0 }, 4 },
        { "heavy-start", &eight, "", 3, 5, 30100, 8, { 250, 250 }, 1 },
        { "heavy-start", &two, "", 3, 4, 30100, 2, { 250, 250 }, 1 },
        { "heavy-start", &server, "", 3, 10, 30100, 16, { 250, 250 }, 1 },
        { "heavy-start", &hybrid, "", 3, 6, 30100, 12, { 250, 250 }, 1 },
        { "idle-desktop", &eight, "MaxWait=1s", 1, 1, 0, 0, { 0, 0 }, 1 },
        { "heavy-start", &eight, "MaxWait=1s", 3, 5, 30100, 8, { 1500, 1500 }, 1 },
        { "heavy-start", &two, "MaxWait=1s", 3, 4, 30100, 2, { 1500, 1500 }, 1 },
        { "lone-thread", &eight, "MaxWait=1s", 3, 4, 30100, 2, { 1375, 4125 }, 1 },
        { "recorded-idle", &two, "", 1, 2, 0, 0, { 0, 0 }, 1 },
        { "recorded-database", &two, "", 1, 2, 0, 0, { 0, 0 }, 1 },
        { "recorded-files", &two, "", 1, 2, 0, 0, { 0, 0 }, 1 },
};

/* One replay. */
typedef struct Replay {
        World *world;
        const Trace *trace;
        bool stretch, print;
        uint64_t now_usec, due_usec, periods;
        unsigned n_changes;
        uint64_t changes_usec[CHANGES];
        CpuSet allowed[CHANGES];
        int cores[CHANGES]; /* that are kept since then */
} Replay;

static void say_change(const Replay *replay)
{
        const Reason *reason = &replay->world->wish.allowed_reason;
        g_autofree char *cpus = cpuset_format(&replay->world->allowed);

        printf("%9.2f s  %-12s %s (", (double)replay->now_usec / 1e6, cpus, reason->because);
        for (int i = 0; i < REASON_INPUTS && reason->inputs[i].name; i++)
                printf("%s%s %.2f %s", i ? ", " : "", reason->inputs[i].name,
                       reason->inputs[i].value, reason->inputs[i].unit);
        printf("; %s %g %s)\n", reason->option ? reason->option : "than", reason->threshold,
               reason->threshold_unit);
}

static void say_second(const Replay *replay, const double *demand)
{
        char bar[41] = { 0 };
        double sum = 0;
        int cores = world_cores(replay->world);

        for (int i = 0; i < replay->trace->n_streams; i++)
                sum += demand[i];
        for (int i = 0; i < 40; i++)
                bar[i] = i < (int)(2 * sum + 0.5) ? '#' : i < 2 * cores ? '-' : ' ';
        printf("%9.2f s  |%s| load %5.2f cores %3d\n", (double)replay->now_usec / 1e6, bar, sum,
               cores);
}

static void tick(Replay *replay)
{
        World *world = replay->world;
        unsigned before = world->n_changes;

        world_decide(world, 0);
        world->snapshot->pressed = false;
        replay->periods = replay->stretch && world->wish.settled && world->n_changes == before
                                  ? MIN(2 * replay->periods, STRETCH_MAX)
                                  : 1;
        replay->due_usec = replay->now_usec + replay->periods * world->wish.period_usec;
        if (world->n_changes == before)
                return;
        ck_assert_uint_lt(replay->n_changes, CHANGES);
        replay->changes_usec[replay->n_changes] = replay->now_usec;
        replay->allowed[replay->n_changes] = world->allowed;
        replay->cores[replay->n_changes++] = world_cores(world);
        if (replay->print)
                say_change(replay);
}

/* What the kernel's trigger sees: 40 ms of waiting since the policy was last asked. */
static bool is_pressed(const Replay *replay)
{
        return replay->stretch &&
               !cpuset_equal(&replay->world->allowed, &replay->world->topology->online) &&
               replay->world->waited_sec * 1e6 >= PRESSURE_USEC;
}

static void replay_run(Replay *replay)
{
        const Trace *trace = replay->trace;
        uint64_t end = trace_usec(trace);
        guint line = 0;

        replay->periods = 1;
        world_decide(replay->world, 0);
        replay->due_usec = PERIOD_USEC;
        while (replay->now_usec < end) {
                const double *demand = trace_demand(trace, replay->now_usec, &line);

                if (replay->print && replay->now_usec % 1000000 == 0)
                        say_second(replay, demand);
                world_run(replay->world, demand, trace->n_streams, STEP_USEC);
                replay->now_usec += STEP_USEC;
                replay->world->snapshot->pressed = is_pressed(replay);
                if (replay->now_usec >= replay->due_usec || replay->world->snapshot->pressed)
                        tick(replay);
        }
}

/* The most changes within any minute. */
static unsigned worst_minute(const Replay *replay)
{
        unsigned worst = 0;

        for (unsigned from = 0, to = 0; to < replay->n_changes; to++) {
                while (replay->changes_usec[to] - replay->changes_usec[from] >= MINUTE_USEC)
                        from++;
                worst = MAX(worst, to - from + 1);
        }
        return worst;
}

/* Milliseconds from `at_ms` until `cores` cores were kept; -1 never. */
static int reaction_ms(const Replay *replay, unsigned at_ms, int cores, int all)
{
        int kept = all;

        for (unsigned i = 0; i < replay->n_changes; i++) {
                if (replay->changes_usec[i] > at_ms * 1000) {
                        if (kept >= cores)
                                return 0;
                        if (replay->cores[i] >= cores)
                                return (int)(replay->changes_usec[i] / 1000 - at_ms);
                }
                kept = replay->cores[i];
        }
        return kept >= cores ? 0 : -1;
}

static void assert_same(const char *name, const Replay *a, const Replay *b)
{
        ck_case(name, a->n_changes == b->n_changes, "%u and %u changes", a->n_changes,
                b->n_changes);
        for (unsigned i = 0; i < a->n_changes; i++)
                ck_case(name,
                        a->changes_usec[i] == b->changes_usec[i] &&
                                cpuset_equal(&a->allowed[i], &b->allowed[i]),
                        "change %u differs", i);
}

static void replay_case(int i, bool stretch, bool print, Replay *replay)
{
        typeof(cases[0]) *c = &cases[i];
        Trace trace = trace_load(c->trace);
        g_autoptr(Topology) topology = grid_build(c->grid);
        g_autoptr(World) world = world_new(&idled_policy, topology);
        const OndemandOptions *options = world->options;
        int reaction, last;

        world_set_all(world, c->options);
        *replay = (Replay){ .world = world, .trace = &trace, .stretch = stretch, .print = print };
        if (print)
                printf("\n%s on %d cores, %s%s\n", c->trace, topology->n_cores, c->options,
                       stretch ? ", stretching, with pressure trigger" : "");
        replay_run(replay);
        last = world_cores(world);
        reaction = reaction_ms(replay, c->at_ms, (int)c->cores, topology->n_cores);
        if (print)
                printf("%u changes, %u in the worst minute, reaction %d ms, %d cores last\n",
                       replay->n_changes, worst_minute(replay), reaction, last);
        fflush(stdout);
        ck_case(c->trace, worst_minute(replay) <= options->max_transitions,
                "%u changes within a minute", worst_minute(replay));
        ck_case(c->trace,
                replay->n_changes >= c->least_changes && replay->n_changes <= c->most_changes,
                "%u changes", replay->n_changes);
        ck_case(c->trace, c->last_cores == 0 || last == c->last_cores, "%d cores last", last);
        ck_case(c->trace, reaction >= 0 && reaction <= (int)c->within_ms[stretch], "reaction %d ms",
                reaction);
        trace_done(&trace);
}

TEST_RANGE(replay, 0, 2 * (int)G_N_ELEMENTS(cases))
{
        int i = _i / 2;
        bool stretch = _i % 2;
        g_autofree Replay *first = g_new0(Replay, 1), *second = g_new0(Replay, 1);

        replay_case(i, stretch, g_getenv("IDLED_REPLAY") != NULL, first);
        replay_case(i, stretch, false, second);
        assert_same(cases[i].trace, first, second);
}

UNIT("replay", .timeout = 60)
