/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A whole manager that measures what a policy saves, on a described machine with RAPL whose
 * counters advance with the real time: trials, what disturbs them, and what survives a restart. The
 * policy is the tests' own, tune, whose requests for single CPUs can be ignored as those for
 * parking.
 */
#include <sys/timerfd.h>

#include "act/knob/undo.h"
#include "all-machines.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"
#include "sense.h"

#define ZONE      "sys/class/powercap/intel-rapl:0/"
#define LATENCY   "sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us"
#define BATTERY   "sys/class/power_supply/BAT0/"
#define STATE     "sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s"
#define CPUS      8
#define TIMEOUT   (150 * G_USEC_PER_SEC)
#define RANGE_UJ  262143328850
#define OFF_WATTS 20

static Tree tree;
static sd_event *event;
static Manager *manager;
static char *state;
static uint64_t slept_usec, began_usec, before_usec;
static double joules, on_watts, off_watts;
static bool frozen, gone;
static EnergySource source;     /* that advances with the time */
static uint64_t asleep_usec[3]; /* of a CPU, by idle state */

static uint64_t slept(void)
{
        return slept_usec;
}

static bool is_on(void)
{
        g_autofree char *text = NULL;

        ck_assert_int_eq(file_read(tree.root, LATENCY, &text), 0);
        return g_str_equal(text, "100");
}

/* CPUs without work sleep deeper with the policy than without it. */
static void set_residencies(uint64_t usec)
{
        static uint64_t usage;

        asleep_usec[is_on() ? 2 : 1] += usec;
        usage++;
        for (int cpu = 0; cpu < CPUS; cpu++)
                for (int s = 1; s <= 2; s++) {
                        g_autofree char *path = g_strdup_printf(STATE, cpu, s, "time");
                        g_autofree char *count = g_strdup_printf(STATE, cpu, s, "usage");
                        g_autofree char *time = g_strdup_printf(
                                "%" G_GUINT64_FORMAT "\n", asleep_usec[s] / (cpu == 0 ? 2 : 1));
                        g_autofree char *times = g_strdup_printf("%" G_GUINT64_FORMAT "\n", usage);

                        tree_set(&tree, path, time);
                        tree_set(&tree, count, times);
                }
}

static void set_energy(void)
{
        g_autofree char *energy = g_strdup_printf("%" G_GUINT64_FORMAT "\n",
                                                  (uint64_t)(joules * 1e6) % RANGE_UJ);

        if (!frozen)
                tree_set(&tree, ZONE "energy_uj", gone ? "" : energy);
}

/* In steps of 10 mWh. */
static void set_battery(void)
{
        g_autofree char *energy = g_strdup_printf("%d0000\n", 5000 - (int)(joules / 36));

        tree_set(&tree, BATTERY "energy_now", energy);
}

/* What the kernel's files say now: half a CPU is busy, and so much is drawn. */
static void follow_time(void)
{
        uint64_t now = (uint64_t)g_get_monotonic_time();
        uint64_t ticks = (now - began_usec) / 10000;
        g_autoptr(GString) stat = g_string_new("cpu  0 0 0 0 0 0 0 0 0 0\n");

        if (source == ENERGY_SOURCE_ESTIMATE)
                set_residencies(now - before_usec);
        joules += (is_on() ? on_watts : off_watts) * (double)(now - before_usec) / 1e6;
        before_usec = now;
        for (int cpu = 0; cpu < CPUS; cpu++)
                g_string_append_printf(stat, "cpu%d %u 0 0 %u 0 0 0 0 0 0\n", cpu,
                                       (unsigned)(cpu == 0 ? ticks / 2 : 0),
                                       (unsigned)(cpu == 0 ? ticks - ticks / 2 : ticks));
        g_string_append(stat, "ctxt 1\nprocesses 1\nprocs_running 1\n");
        tree_set(&tree, "proc/stat", stat->str);
        if (source == ENERGY_SOURCE_RAPL)
                set_energy();
        else if (source == ENERGY_SOURCE_BATTERY)
                set_battery();
}

static TrialPace pace;

static void start(void)
{
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        ManagerSetup setup = {
                .keep_log_level = true,
                .root = tree.root,
                .pace = &pace,
                .slept = slept,
                .state = state,
        };

        setup.paths = (ConfigPaths){ .root = tree.root,
                                     .root_path = tree.path,
                                     .vendor_dir = "nowhere",
                                     .admin_dir = "etc/idled",
                                     .policy_dir = g_getenv("TUNE") };
        setup.run = openat(tree.root, "run/idled", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(manager_new(&setup, event, errors, &manager), 0);
        ck_assert_int_eq(manager_start(manager), 0);
}

static void stop(void)
{
        manager_free(manager);
        sd_event_unref(event);
}

static void setup(void)
{
        pace = (TrialPace){ G_USEC_PER_SEC, 0, 0.5 };
        tree = machine_tree("synthetic-laptop.machine");
        tree_put(&tree, "etc/idled/idled.conf", "[Daemon]\nPolicies=tune\n[Park]\nBackend=none\n");
        tree_put(&tree, "etc/idled/policies/tune.conf",
                 "[Policy]\nCpus=0-3\nLatency=100\nForSaving=yes\n");
        tree_put(&tree, "etc/idled/profiles/other.conf",
                 "[Profile]\nSummary=another\n[tune]\nBias=7\n");
        tree_put(&tree, "run/idled/.empty", "");
        tree_put(&tree, ZONE "name", "package-0\n");
        tree_put(&tree, ZONE "max_energy_range_uj", G_STRINGIFY(RANGE_UJ) "\n");
        tree_put(&tree, ZONE "energy_uj", "0\n");
        state = g_strconcat(tree.path, "/var/lib/idled", NULL);
        began_usec = before_usec = (uint64_t)g_get_monotonic_time();
        off_watts = OFF_WATTS;
        on_watts = OFF_WATTS * 0.8;
        joules = 0;
        source = ENERGY_SOURCE_RAPL;
        frozen = gone = false;
        follow_time();
}

static void teardown(void)
{
        stop();
        g_free(state);
        tree_done(&tree);
}

static Evaluator *evaluator(void)
{
        return manager_policy(manager, 0)->evaluator;
}

/* Counters advance just before what reads them, so that a busy machine does not count the energy of
 * one block for the next. */
static void run_event(void)
{
        int r = sd_event_prepare(event);

        if (r == 0)
                r = sd_event_wait(event, 5000);
        follow_time();
        if (r > 0)
                sd_event_dispatch(event);
}

/* Lets time pass until the condition holds. */
#define wait_for(condition)                                                                        \
        do {                                                                                       \
                uint64_t end_ = (uint64_t)g_get_monotonic_time() + TIMEOUT;                        \
                while (!(condition)) {                                                             \
                        ck_assert_msg((uint64_t)g_get_monotonic_time() < end_, #condition);        \
                        follow_time();                                                             \
                        manager_tick(manager);                                                     \
                        run_event();                                                               \
                }                                                                                  \
        } while (0)

/* The requests are honoured and ignored, and what that saves is found out; a counter that wraps in
 * between is read right. After a restart it is known. */
TEST(measures)
{
        bool was_on = false, was_off = false;
        uint64_t pairs;
        double saved;

        joules = RANGE_UJ / 1e6 - 30;
        follow_time();
        start();
        manager_tick(manager);
        wait_for((was_on |= is_on(), was_off |= !is_on(),
                  evaluator() && evaluator()->found.verdict == VERDICT_SAVES));
        ck_assert(was_on && was_off);
        ck_assert_double_gt(joules, RANGE_UJ / 1e6);
        ck_assert_double_eq_tol(evaluator()->found.watts.value, OFF_WATTS - on_watts, 1);
        ck_assert_double_gt(evaluator_effective_share(evaluator()), 0.3);
        pairs = evaluator()->estimator.n_pairs;
        saved = evaluator_saved_joules(evaluator()).value;
        ck_assert_double_gt(saved, 0);
        stop();
        start();
        ck_assert_uint_eq(evaluator()->estimator.n_pairs, pairs);
        ck_assert_double_ge(evaluator_saved_joules(evaluator()).value, saved);
}

/* A policy that keeps others from parking does so while its requests are ignored, too: else what it
 * saves would be compared with what they save. */
TEST(keeps_others_from_parking)
{
        bool was_on = false, was_off = false;
        const CpuSet *online, *kept;

        tree_put(&tree, "etc/idled/policies/tune.conf",
                 "[Policy]\nCpus=0-3\nKeep=0-3\nLatency=100\nForSaving=yes\n");
        start();
        online = &manager_topology(manager)->online;
        kept = &manager_plan(manager)->kept;
        manager_tick(manager);
        wait_for((was_on |= is_on() && cpuset_count(kept) == 4,
                  was_off |= !is_on() && cpuset_equal(kept, online), was_on && was_off));
}

/* Requests that cost energy are ignored, and that is not taken for a trial. */
TEST(backs_off)
{
        const ActivePolicy *active;

        on_watts = OFF_WATTS * 1.2;
        start();
        active = manager_policy(manager, 0);
        manager_tick(manager);
        wait_for(evaluator() && evaluator_is_trying(evaluator()));
        ck_assert(!evaluation_backs_off(manager->decided, active));
        wait_for(evaluator()->found.verdict == VERDICT_COSTS && !evaluator_is_trying(evaluator()));
        manager_tick(manager);
        ck_assert(!is_on());
        ck_assert(evaluation_backs_off(manager->decided, active));
}

/* Where nothing comes of the requests nothing is saved, whatever was measured before. */
TEST(saves_nothing_without_effect)
{
        static const char found[] =
                "idled-evaluator 2\nmachine rapl 8 by busy seconds\ntotals 1000 900 1100 0 50 100 "
                "0\n"
                "idled-estimator 2\npairs 0 0\ndropped 0 0 0 0 0 0 0 0 0 0 0\nend\n";

        tree_put(&tree, "etc/idled/policies/tune.conf", "[Policy]\nPark=6-7\nForSaving=yes\n");
        tree_put(&tree, "var/lib/idled/evaluate-tune", found);
        start();
        manager_tick(manager);
        wait_for(evaluator() && evaluator()->total_sec > 101);
        ck_assert(cpuset_is_empty(manager_parked(manager)));
        ck_assert_double_eq(evaluator()->effective_sec, 50);
        ck_assert_double_eq(evaluator()->saved_joules.value, 1000);
        ck_assert(evaluator_due(evaluator()) == UINT64_MAX);
}

/* A restart does not refill the budget of trials, except for the time in between. */
TEST(keeps_its_budget)
{
        double before;

        pace = (TrialPace){ 2 * G_USEC_PER_SEC, 0, 0.01 };
        start();
        manager_tick(manager);
        wait_for(evaluator() && evaluator()->estimator.n_pairs > 0);
        before = evaluator()->budget.usec;
        ck_assert_double_lt(before, 26e6);
        stop();
        start();
        manager_tick(manager);
        ck_assert_double_le(evaluator()->budget.usec, before + 1e6);
}

/* Clocks are a part of work; without them context switches are counted, and known as such. */
TEST(counts_work)
{
        start();
        wait_for(evaluator());
        ck_assert_int_eq(evaluator()->unit, WORK_BUSY);
        stop();
        for (int cpu = 0; cpu < CPUS; cpu++) {
                g_autofree char *path = g_strdup_printf(
                        "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpu);

                unlinkat(tree.root, path, 0);
        }
        start();
        wait_for(evaluator());
        ck_assert_int_eq(evaluator()->unit, WORK_SWITCHES);
}

static void reload(void)
{
        g_autoptr(GPtrArray) errors = g_ptr_array_new();

        ck_assert_int_eq(manager_reload(manager, errors), 0);
}

static void remove_rapl(void)
{
        g_autofree char *path = g_strconcat(tree.path, "/sys/class/powercap", NULL);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        ck_assert_ptr_nonnull(dir);
        while ((name = g_dir_read_name(dir))) {
                g_autofree char *zone = g_build_filename(path, name, NULL);

                ck_assert_int_eq(unlink(zone), 0);
        }
}

/* A machine without RAPL that draws `watts` without the policy. */
static void begin_battery(double watts)
{
        remove_rapl();
        source = ENERGY_SOURCE_BATTERY;
        off_watts = watts;
        on_watts = watts * 0.8;
        tree_put(&tree, "etc/idled/idled.conf", "[Daemon]\nPolicies=tune\n[Park]\nBackend=none\n");
        follow_time();
        start();
        ck_assert_int_eq(manager_energy_source(manager), ENERGY_SOURCE_BATTERY);
}

/* So much is drawn that a second is precise enough. */
TEST(drains_battery)
{
        begin_battery(2000);
        wait_for(evaluator() && evaluator()->found.verdict == VERDICT_SAVES);
        ck_assert_double_eq_tol(evaluator()->found.watts.value, 400, 80);
}

TEST(battery_is_coarse)
{
        begin_battery(20);
        wait_for(evaluator() && evaluator()->estimator.dropped[DROP_ENERGY] > 0);
        ck_assert_uint_eq(evaluator()->estimator.n_pairs, 0);
}

/* Plugging in ends the trial, and none begins before the plug is pulled. The state of the plug is
 * read at most each five seconds, without an event from the kernel. */
TEST(plugged_in)
{
        begin_battery(2000);
        wait_for(evaluator() && evaluator_due(evaluator()) != UINT64_MAX);
        tree_set(&tree, "sys/class/power_supply/AC/online", "1\n");
        wait_for(!manager_snapshot(manager)->on_battery);
        follow_time();
        manager_tick(manager);
        ck_assert(evaluator_due(evaluator()) == UINT64_MAX);
        ck_assert_uint_ge(evaluator()->estimator.dropped[DROP_EFFECT] +
                                  evaluator()->estimator.dropped[DROP_ENERGY],
                          1);
        evaluator()->budget.next_usec = 0;
        for (int i = 0; i < 20; i++) {
                follow_time();
                manager_tick(manager);
                ck_assert(evaluator_due(evaluator()) == UINT64_MAX);
        }
        tree_set(&tree, "sys/class/power_supply/AC/online", "0\n");
        wait_for(evaluator_due(evaluator()) != UINT64_MAX);
}

#define ESTIMATE                                                                                   \
        "[Daemon]\nPolicies=tune\n[Park]\nBackend=none\n"                                          \
        "[Evaluate]\nPowerTable=mine\n"

/* Without RAPL, what idle states save is what the administrator's table makes of them: 10 W less
 * in the 7.5 of 8 CPUs that are idle. RAPL that is there is used rather than a table. */
TEST(estimates)
{
        tree_put(&tree, "etc/idled/idled.conf", ESTIMATE);
        tree_put(&tree, "etc/idled/power/mine.conf", "[States]\nC0=40\nC1E=20\nC6=10\nC6S=10\n");
        start();
        ck_assert_int_eq(manager_energy_source(manager), ENERGY_SOURCE_RAPL);
        stop();
        remove_rapl();
        source = ENERGY_SOURCE_ESTIMATE;
        start();
        ck_assert_int_eq(manager_energy_source(manager), ENERGY_SOURCE_ESTIMATE);
        wait_for(evaluator() && evaluator()->found.verdict == VERDICT_SAVES);
        ck_assert_double_eq_tol(evaluator()->found.watts.value, 9.375, 1.5);
}

/* Without a table there is nothing to measure by; a reload that names one begins with it, and
 * forgets nothing that another source measured. */
TEST(changes_source)
{
        static const char found[] = "idled-evaluator 2\nmachine rapl 8 by busy seconds\n"
                                    "totals 1 0 2 3 4 5 0\n"
                                    "idled-estimator 2\npairs 0 0\n"
                                    "dropped 0 0 0 0 0 0 0 0 0 0 0\nend\n";

        tree_put(&tree, "var/lib/idled/evaluate-tune", found);
        remove_rapl();
        tree_set(&tree, BATTERY "present", "0\n");
        source = ENERGY_SOURCE_ESTIMATE;
        start();
        ck_assert_int_eq(manager_energy_source(manager), ENERGY_SOURCE_NONE);
        ck_assert_int_eq(faccessat(tree.root, "var/lib/idled/evaluate-tune.aside", F_OK, 0), 0);
        manager_tick(manager);
        ck_assert(evaluator_due(evaluator()) == UINT64_MAX);
        tree_put(&tree, "etc/idled/power/mine.conf", "[States]\nC0=40\nC1E=20\n");
        tree_put(&tree, "etc/idled/idled.conf", ESTIMATE);
        reload();
        ck_assert_int_eq(manager_energy_source(manager), ENERGY_SOURCE_ESTIMATE);
        wait_for(evaluator() && evaluator_due(evaluator()) != UINT64_MAX);
}

static void set_option(void)
{
        g_autofree char *error = NULL;

        ck_assert_int_eq(
                manager_set_options(manager, &(OptionValue){ "tune", "Bias", "7" }, 1, &error), 0);
}

static void hold(void)
{
        ground_raise(&manager->ground, CHANGE_HOLDS | DUE_HOLDS | DUE_DROP(DROP_HOLD));
}

static void pause_it(void)
{
        pauses_add_lasting(manager_pauses(manager), "a test", "check", 0,
                           (uint64_t)g_get_monotonic_time() + TIMEOUT);
}

static void sleep_now(void)
{
        slept_usec += 5000000;
        manager_resumed(manager);
}

static void unplug(void)
{
        tree_put(&tree, "sys/devices/system/cpu/online", "0-6");
        ck_assert(seen_rescan(manager->seen));
}

static void choose_profile(void)
{
        g_autofree char *error = NULL;

        ck_assert_int_eq(manager_set_profile(manager, "other", &error), 0);
}

/* The timer that ends when the clock is set ends now: no test may set the machine's clock. */
static void set_clock(void)
{
        const struct itimerspec now = { .it_value.tv_nsec = 1 };
        int found = 0;

        for (int fd = 3; fd < 1024; fd++) {
                g_autofree char *path = g_strdup_printf("/proc/self/fdinfo/%d", fd), *info = NULL;

                if (!g_file_get_contents(path, &info, NULL, NULL) || !strstr(info, "clockid: 0\n"))
                        continue;
                found++;
                ck_assert_int_eq(timerfd_settime(fd, 0, &now, NULL), 0);
        }
        ck_assert_int_eq(found, 1);
}

static void freeze(void)
{
        frozen = true;
}

static void lose(void)
{
        gone = true;
}

static const struct {
        const char *name;
        void (*happen)(void);
        BlockDrop why;
} events[] = {
        { "an option", set_option, DROP_CONFIG },
        { "a reload", reload, DROP_CONFIG },
        { "a hold", hold, DROP_HOLD },
        { "a pause", pause_it, DROP_HOLD },
        { "sleep", sleep_now, DROP_SLEEP },
        { "hotplug", unplug, DROP_HOTPLUG },
        { "another profile", choose_profile, DROP_CONFIG },
        { "a clock step", set_clock, DROP_CLOCK },
        { "RAPL freezes", freeze, DROP_FROZEN },
        { "RAPL disappears", lose, DROP_ENERGY },
};

TEST_EACH(drops, events)
{
        start();
        manager_tick(manager);
        wait_for(evaluator() && evaluator_due(evaluator()) != UINT64_MAX);
        if (c->why == DROP_FROZEN || c->why == DROP_ENERGY)
                wait_for(evaluator()->trial.slot.half == 1);
        c->happen();
        wait_for(evaluator()->estimator.dropped[c->why] > 0);
        ck_case(c->name, evaluator()->estimator.dropped[c->why] == 1, "counted more than once");
        ck_case(c->name, evaluator()->estimator.n_pairs == 0, "counted all the same");
}

static const struct {
        const char *name, *text;
} files[] = {
        { "empty", "" },
        { "garbage", "\x01\x02 no state\n" },
        { "of a later version", "idled-evaluator 3\n" },
        { "of the version before",
          "idled-evaluator 1\nmachine rapl 8\ntotals 0 0 0 0 0 0\nidled-estimator 2\n"
          "pairs 0 0\ndropped 0 0 0 0 0 0 0 0 0 0 0\nend\n" },
        { "of another machine",
          "idled-evaluator 2\nmachine rapl 999 by busy seconds\ntotals 0 0 0 0 0 0 0\n"
          "idled-estimator 2\npairs 0 0\ndropped 0 0 0 0 0 0 0 0 0 0 0\nend\n" },
        { "by another unit of work",
          "idled-evaluator 2\nmachine rapl 8 by 10^4 context switches\ntotals 0 0 0 0 0 0 0\n"
          "idled-estimator 2\npairs 0 0\ndropped 0 0 0 0 0 0 0 0 0 0 0\nend\n" },
};

TEST_EACH(sets_aside, files)
{
        tree_put(&tree, "var/lib/idled/evaluate-tune", c->text);
        start();
        ck_case(c->name, evaluator() == NULL || evaluator()->estimator.n_pairs == 0, "was taken");
        ck_case(c->name, faccessat(tree.root, "var/lib/idled/evaluate-tune.aside", F_OK, 0) == 0,
                "is lost");
}

/* Requests that serve something else are never ignored. */
TEST(honours)
{
        tree_put(&tree, "etc/idled/policies/tune.conf", "[Policy]\nCpus=0-3\nLatency=100\n");
        start();
        for (int i = 0; i < 20; i++) {
                follow_time();
                manager_tick(manager);
                ck_assert(is_on());
        }
        ck_assert_ptr_null(evaluator());
}

UNIT("manager-evaluate", .setup = setup, .teardown = teardown, .timeout = 300)
