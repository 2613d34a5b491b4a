/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The real switches of idle states and wake-up latencies of this machine's last CPU: changed,
 * killed in between, and restored. Skipped without root, or where a file is missing. A lock
 * prevents two runs at once.
 */
#include <sys/file.h>

#include "tuning.h"

#define LATENCY  "/power/pm_qos_resume_latency_us"
#define NOT_HERE "needs root, PM QoS and a second idle state"

static int root = -1;
static int lock = -1;
static int cpu;
static char *latency_name, *state_name;

static char *read_here(const char *name)
{
        char *text = NULL;
        g_autofree char *path = g_strconcat(TUNE_DIR, name, NULL);

        file_read(root, path, &text);
        return text;
}

static bool make_topology(void)
{
        g_autofree char *online = read_here("online");
        CpuSet cpus;

        if (!online || cpuset_parse(online, &cpus) < 0)
                return false;
        cpu = 0;
        CPUSET_FOREACH(each, &cpus)
                cpu = each;
        topology = machine_make(cpu + 1, 1, cpu + 1, online, "");
        return true;
}

/* True if the machine has what the test needs, and lets it be written. */
static bool here(void)
{
        root = root_open("/");
        lock = open("/" TUNE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (lock < 0 || flock(lock, LOCK_EX) < 0 || !make_topology())
                return false;
        g_free(latency_name);
        g_free(state_name);
        latency_name = g_strdup_printf("cpu%d" LATENCY, cpu);
        state_name = g_strdup_printf("cpu%d/cpuidle/state1/disable", cpu);
        return geteuid() == 0 && faccessat(lock, latency_name, W_OK, 0) == 0 &&
               faccessat(lock, state_name, W_OK, 0) == 0;
}

static Knobs *knobs_here(void)
{
        const ActContext context = { .root = root, .live = true };

        return knobs_new(&context, scratch_fd, false);
}

static void setup(void)
{
        scratch_open();
        options = (TuneOptions){ .manage = true };
}

static void teardown(void)
{
        topology_free(topology);
        fd_close(&lock);
        fd_close(&root);
        g_clear_pointer(&latency_name, g_free);
        g_clear_pointer(&state_name, g_free);
        scratch_close();
}

static void apply_here(const Actuator *actuator, Knobs *knobs, int32_t latency_us, uint16_t off)
{
        const ActContext context = { .root = root, .live = true };
        g_autofree IdleTable *tables = g_new0(IdleTable, (gsize)cpu + 1);
        g_autofree CpuWish *room = g_new(CpuWish, (gsize)cpu + 1);
        void *state;

        tables[cpu].n_states = 2;
        plan_init(&plan, room, cpu + 1);
        room[cpu].latency_us = latency_us;
        room[cpu].disabled = off;
        facts = (ActFacts){ .topology = topology, .idle = tables };
        ck_assert_int_eq(actuator->open(&context, &options, &state), 0);
        ck_assert_int_eq(actuator->apply(state, knobs, &plan, &facts), 0);
        actuator->close(state);
}

static void expect_here(const char *name, const char *value)
{
        g_autofree char *found = read_here(name);

        ck_assert_str_eq(found, value);
}

START_TEST(changes)
{
        g_autoptr(Knobs) knobs = NULL;
        g_autofree char *latency = NULL, *off = NULL;

        if (!here()) {
                case_skip("changes", NOT_HERE);
                return;
        }
        latency = read_here(latency_name);
        off = read_here(state_name);
        knobs = knobs_here();
        if (g_str_equal(latency, "0") && g_str_equal(off, "0")) {
                apply_here(&actuator_pmqos, knobs, 77, 0);
                expect_here(latency_name, "77");
                apply_here(&actuator_pmqos, knobs, 0, 0);
                expect_here(latency_name, "n/a");
                apply_here(&actuator_cpuidle, knobs, -1, 2);
                expect_here(state_name, "1");
                ck_assert_int_eq(knobs_verify(knobs), 0);
                apply_here(&actuator_cpuidle, knobs, -1, 0);
                expect_here(state_name, "0");
                apply_here(&actuator_pmqos, knobs, -1, 0);
                expect_here(latency_name, "0");
                ck_assert(!record_exists());
        }
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_here(latency_name, latency);
        expect_here(state_name, off);
}
END_TEST

static void live_and_die(void)
{
        g_autoptr(Knobs) knobs = knobs_here();

        apply_here(&actuator_pmqos, knobs, 55, 0);
        apply_here(&actuator_cpuidle, knobs, -1, 2);
        apply_here(&actuator_pmqos, knobs, 0, 0);
}

START_TEST(killed)
{
        g_autofree char *latency = NULL, *off = NULL;
        bool was_killed = true;

        if (!here()) {
                case_skip("killed", NOT_HERE);
                return;
        }
        latency = read_here(latency_name);
        off = read_here(state_name);
        for (int n = 0; was_killed; n++) {
                g_autoptr(Knobs) knobs = NULL;
                int skipped;

                was_killed = killed_at(n, live_and_die);
                knobs = knobs_here();
                ck_assert_int_ge(knobs_recover(knobs, actuator_pmqos.kinds, &skipped), 0);
                ck_assert_int_ge(knobs_recover(knobs, actuator_cpuidle.kinds, &skipped), 0);
                ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
                expect_here(latency_name, latency);
                expect_here(state_name, off);
        }
}
END_TEST

/* In the process that outlives failed tests: the values found, which are restored whatever
 * happened. */
static char *found_latency, *found_off;

static void remember(void)
{
        if (here()) {
                found_latency = read_here(latency_name);
                found_off = read_here(state_name);
        }
        g_clear_pointer(&topology, topology_free);
        fd_close(&lock);
}

static void restored(void)
{
        const ActContext context = { .root = root, .live = true };

        if (!found_latency || !found_off)
                return;
        tune_write(&context, latency_name, found_latency);
        tune_write(&context, state_name, found_off);
        g_free(found_latency);
        g_free(found_off);
        g_free(latency_name);
        g_free(state_name);
        fd_close(&root);
}

int main(void)
{
        Suite *suite = suite_create("tuning-here");
        TCase *tcase = tcase_create("tuning-here");

        tcase_set_timeout(tcase, 30);
        tcase_add_unchecked_fixture(tcase, remember, restored);
        tcase_add_checked_fixture(tcase, setup, teardown);
        tcase_add_test(tcase, changes);
        tcase_add_test(tcase, killed);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
