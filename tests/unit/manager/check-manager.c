/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole manager on a described machine: its frequency driver is loaded after idled starts, and it
 * suspends while idled writes knobs. The policy is the tests' own, tune. */
#include "all-machines.h"
#include "manager/manager-parts.h"
#include "virtual-clock.h"

static Tree tree;
static sd_event *event;
static Manager *manager;
static unsigned changes;

/* How long the machine has slept; it falls asleep when that is asked for the n-th time. */
static uint64_t slept_usec;
static int asked, falls_asleep;

static void wake_up(void);

static uint64_t slept(void)
{
        if (++asked == falls_asleep)
                wake_up();
        return slept_usec;
}

static void on_change(Manager *from, unsigned what, void *userdata)
{
        changes |= what;
}

static void move(const char *from, const char *to)
{
        ck_assert_int_eq(renameat(tree.root, from, tree.root, to), 0);
}

static void start(const char *wishes)
{
        g_autofree char *options = g_strdup_printf("[Policy]\nCpus=0-3\n%s", wishes);
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        ManagerSetup setup = { .keep_log_level = true, .root = tree.root, .slept = slept };

        tree_put(&tree, "etc/idled/idled.conf", "[Daemon]\nPolicies=tune\n[Park]\nBackend=none\n");
        tree_put(&tree, "etc/idled/policies/tune.conf", options);
        tree_put(&tree, "run/idled/.empty", "");
        setup.paths = (ConfigPaths){ .root = tree.root,
                                     .root_path = tree.path,
                                     .vendor_dir = "nowhere",
                                     .admin_dir = "etc/idled",
                                     .policy_dir = g_getenv("TUNE") };
        setup.run = openat(tree.root, "run/idled", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(manager_new(&setup, event, errors, &manager), 0);
        manager->on_change = on_change;
        ck_assert_int_eq(manager_start(manager), 0);
}

static void stop(void)
{
        g_clear_pointer(&manager, manager_free);
}

static void setup(void)
{
        tree = machine_tree("synthetic-laptop.machine");
}

static void teardown(void)
{
        stop();
        sd_event_unref(event);
        tree_done(&tree);
        skipped_usec = 0;
}

#define MINUTE     (60 * G_USEC_PER_SEC)
#define GOVERNOR   "cpufreq/policy3/scaling_governor"
#define PREFERENCE "cpufreq/policy3/energy_performance_preference"
#define LATENCY    "cpu3/power/pm_qos_resume_latency_us"

static void expect(const char *file, const char *expected)
{
        g_autofree char *path = g_strconcat("sys/devices/system/cpu/", file, NULL), *text = NULL;

        ck_assert_int_eq(file_read(tree.root, path, &text), 0);
        ck_case(file, g_str_equal(g_strstrip(text), expected), "found %s, expected %s", text,
                expected);
}

/* A minute later. */
static void tick(void)
{
        skipped_usec += MINUTE;
        manager_tick(manager);
}

static void resume(void)
{
        manager_resumed(manager);
}

/* Has the manager look, and do what follows from that at once. */
static void look(void (*by)(void))
{
        by();
        while (sd_event_run(event, 0) > 0)
                continue;
}

static const struct {
        const char *name;
        bool empty; /* the directory is there before the driver is, as on machines that have cpufreq
                     */
        void (*look)(void);
} looks[] = {
        { "a tick", true, tick },
        { "a tick, without cpufreq", false, tick },
        { "a resume", true, resume },
        { "a resume, without cpufreq", false, resume },
};

TEST_EACH(comes_late, looks)
{
        move("sys/devices/system/cpu/cpufreq", "sys/later");
        if (c->empty)
                ck_assert_int_eq(mkdirat(tree.root, "sys/devices/system/cpu/cpufreq", 0755), 0);
        start("Governor=performance\n");
        look(c->look);
        ck_case(c->name, seen_machine(manager->seen)->n_frequency == 0, "found some");
        ck_case(c->name, actuator_set_error(manager_actuators(manager)) == 0, "an error");
        changes = 0;
        move("sys/later", "sys/devices/system/cpu/cpufreq");
        look(c->look);
        ck_case(c->name, seen_machine(manager->seen)->n_frequency == 8, "not found");
        ck_case(c->name, changes & CHANGE_MISSING, "not reported");
        ck_case(c->name, actuator_set_error(manager_actuators(manager)) == 0, "an error");
        expect(GOVERNOR, "performance");
        stop();
        expect(GOVERNOR, "powersave");
}

/* After five seconds, and firmware has made its own of some knobs. */
static void wake_up(void)
{
        slept_usec += 5000000;
        tree_put(&tree, "sys/devices/system/cpu/" PREFERENCE, "balance_performance");
        tree_put(&tree, "sys/devices/system/cpu/" LATENCY, "7");
}

static void set_option(const char *key, const char *value)
{
        g_autofree char *error = NULL;

        ck_assert_int_eq(
                manager_set_options(manager, &(OptionValue){ "tune", key, value }, 1, &error), 0);
}

static void nothing(void)
{
}

/* The machine suspends at any step: values that idled finds on waking are not another program's. */
TEST_RANGE(falls_asleep_when_active, 1, 9)
{
        const Knob *const *knobs;

        start("Latency=100\nPreference=performance\n");
        expect(PREFERENCE, "performance");
        asked = 0;
        falls_asleep = _i;
        set_option("Latency", "90");
        look(nothing);
        ck_assert_int_ge(asked, 4);
        set_option("Preference", "power");
        look(nothing);
        ck_assert_int_ge(asked, _i);
        expect(PREFERENCE, "power");
        expect(LATENCY, "90");
        ck_assert_int_eq(actuator_set_error(manager_actuators(manager)), 0);
        for (int i = 0, n = knobs_list(done_knobs(manager->done), &knobs); i < n; i++)
                ck_assert_int_eq(knobs[i]->state, KNOB_OURS);
        stop();
        expect(PREFERENCE, "balance_power");
        expect(LATENCY, "0");
}

/* Does what is set to happen within a minute, a tick at least. */
static void pass_a_minute(void)
{
        ck_assert(tick_timer_is_set(manager->timer));
        skipped_usec += MINUTE;
        look(nothing);
}

/* This policy has no period. idled still notices that another program changed its knobs, and does
 * not wake up when it has set none. */
TEST(drift)
{
        const Knob *const *knobs;

        start("");
        ck_assert_uint_eq(tick_timer_interval(manager_timer(manager)), 0);
        set_option("Latency", "90");
        look(nothing);
        ck_assert_uint_eq(tick_timer_interval(manager_timer(manager)), 60000000);
        pass_a_minute();
        ck_assert_uint_eq(tick_timer_interval(manager_timer(manager)), 60000000);
        knobs_restore(done_knobs(manager->done), NULL, NULL); /* as when the last hold ends */
        manager_arm_sooner(manager);
        ck_assert(!tick_timer_is_set(manager->timer));
        ground_raise(&manager->ground, DUE_STALE);
        manager_tick(manager);
        ck_assert_uint_eq(tick_timer_interval(manager_timer(manager)), 60000000);
        changes = 0;
        for (int cpu = 0; cpu < 4; cpu++) {
                g_autofree char *file = g_strdup_printf(
                        "sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us", cpu);

                tree_put(&tree, file, "7");
        }
        pass_a_minute();
        ck_assert(changes & CHANGE_DEGRADED);
        ck_assert_int_eq(knobs_list(done_knobs(manager->done), &knobs), 4);
        for (int i = 0; i < 4; i++)
                ck_assert_int_eq(knobs[i]->state, KNOB_FOREIGN);
        ck_assert_uint_eq(tick_timer_interval(manager_timer(manager)), 0);
        stop();
        expect(LATENCY, "7");
}

static const char *group_directory(void *state)
{
        return "etc";
}

static int apply_nothing(void *state, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        return 0;
}

static const char *describe_nothing(void *state)
{
        return "nothing";
}

static void close_nothing(void *state)
{
}

static bool noticed;

static void note_group(void *state, Knobs *knobs, const char *name)
{
        noticed = true;
}

/* True if idled notices that there is a new group. */
static bool notices(const char *name)
{
        g_autofree char *path = g_build_filename(group_directory(NULL), name, NULL);

        noticed = false;
        ck_assert_int_eq(mkdirat(tree.root, path, 0755), 0);
        look(nothing);
        return noticed;
}

/* idled watches for new cgroups only while an actuator that writes to cgroups has knobs. */
TEST(watches_groups)
{
        const KnobKind *kinds[] = { NULL, NULL };
        const Actuator keeper = { .name = "keeper",
                                  .section = "Park",
                                  .kinds = kinds,
                                  .apply = apply_nothing,
                                  .describe = describe_nothing,
                                  .groups = group_directory,
                                  .group_moved = note_group,
                                  .close = close_nothing };
        const Knob *const *knobs;

        start("");
        set_option("Latency", "100");
        look(nothing);
        ck_assert_int_eq(knobs_list(done_knobs(manager->done), &knobs), 4);
        actuator_set_add((ActuatorSet *)manager_actuators(manager), &keeper, &tree);
        done_watch_groups(manager->done);
        ck_assert(!notices("early"));
        kinds[0] = knobs[0]->kind;
        done_watch_groups(manager->done);
        ck_assert(notices("new"));
        set_option("Latency", "");
        look(nothing);
        ck_assert(!notices("late"));
        stop(); /* which closes the actuator of this test */
}

#define STAT_OF_CPU(n) "cpu" #n " 10 0 10 100 0 0 0 0 0 0\n"
#define STAT_OF(cpus)  "cpu  20 0 20 200 0 0 0 0 0 0\n" cpus "ctxt 1\nprocesses 1\nprocs_running 1\n"

/* Writes in place because the sensor keeps the file open; a minute after the last reading. */
static void count(const char *text)
{
        int fd = openat(tree.root, "proc/stat", O_WRONLY | O_TRUNC | O_CLOEXEC);

        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
        tick();
}

/* As lxcfs shows it: times of two CPUs, eight online. That is looked into less and less often, and
 * at once when it changes. */
TEST(fewer_counted)
{
        CpuSet eight = set_of("0-7"), seven = set_of("0-6"), two = set_of("0-1");

        tree_put(&tree, "proc/stat", STAT_OF(STAT_OF_CPU(0) STAT_OF_CPU(1)));
        start("Latency=100\n");
        ck_assert(cpuset_equal(&manager_snapshot(manager)->cpus, &two));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &eight));

        count(STAT_OF(STAT_OF_CPU(0) STAT_OF_CPU(1)));
        tree_put(&tree, "sys/devices/system/cpu/online", "0-6");
        count(STAT_OF(STAT_OF_CPU(0) STAT_OF_CPU(1)));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &eight));
        count(STAT_OF(STAT_OF_CPU(0)));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &seven));
}

#define STAT_OF_SEVEN                                                                              \
        STAT_OF_CPU(0)                                                                             \
        STAT_OF_CPU(1)                                                                             \
        STAT_OF_CPU(2) STAT_OF_CPU(3) STAT_OF_CPU(4) STAT_OF_CPU(5) STAT_OF_CPU(6)

/* A CPU goes after its time was read and before it is looked which ones are online. Whether that is
 * seen before it is back or not, it is seen that it is back. */
TEST_RANGE(counted_before_it_went, 0, 2)
{
        CpuSet eight = set_of("0-7"), seven = set_of("0-6");

        tree_put(&tree, "proc/stat", STAT_OF(STAT_OF_SEVEN));
        start("Latency=100\n");
        tree_put(&tree, "sys/devices/system/cpu/online", "0-6");
        count(STAT_OF(STAT_OF_CPU(0)));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &seven));
        count(STAT_OF(STAT_OF_SEVEN STAT_OF_CPU(7)));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &seven));
        if (_i > 0)
                count(STAT_OF(STAT_OF_SEVEN));
        tree_put(&tree, "sys/devices/system/cpu/online", "0-7");
        count(STAT_OF(STAT_OF_SEVEN STAT_OF_CPU(7)));
        ck_assert(cpuset_equal(&manager_topology(manager)->online, &eight));
}

/* A record that cannot be written, as in a full /run, forbids every change. Once it can, idled
 * makes the change by itself. */
TEST(record_that_can_be_written_again)
{
        start("");
        ck_assert_int_eq(mkdirat(tree.root, "run/idled/undo", 0755), 0);
        set_option("Governor", "performance");
        ck_assert_int_lt(actuator_set_error(manager_actuators(manager)), 0);
        expect(GOVERNOR, "powersave");
        ck_assert_msg(tick_timer_interval(manager_timer(manager)) > 0,
                      "nothing makes it try again");
        tick();
        expect(GOVERNOR, "powersave");
        ck_assert_int_eq(unlinkat(tree.root, "run/idled/undo", AT_REMOVEDIR), 0);
        changes = 0;
        tick();
        expect(GOVERNOR, "performance");
        ck_assert_int_eq(actuator_set_error(manager_actuators(manager)), 0);
        ck_assert(changes & CHANGE_DEGRADED);
        stop();
        expect(GOVERNOR, "powersave");
}

UNIT("manager", .setup = setup, .teardown = teardown, .timeout = 60)
