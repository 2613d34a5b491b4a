/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frequencies and idle states by libcpupower, with a tree that covers the running machine's CPUs.
 */
#include "cover.h"
#include "tuning.h"

#define GOVERNOR "cpufreq/policy2/scaling_governor"
#define MAX_FREQ "cpufreq/policy2/scaling_max_freq"
#define MIN_FREQ "cpufreq/policy2/scaling_min_freq"
#define DISABLE  "cpu2/cpuidle/state1/disable"

static FreqPolicy policy;
static const char *governors[] = { "powersave", "schedutil", "userspace", NULL };
static const char *nothing[] = { NULL };
static const CpuWish wish = { .latency_us = -1,
                              .bias = -1,
                              .boost = -1,
                              .disabled = 2,
                              .min_khz = 1200000,
                              .max_khz = 2400000,
                              .governor = "schedutil" };

static void make_tree(void)
{
        g_autofree char *link = g_build_filename(scratch, DIR "cpu2/cpufreq", NULL);

        put("2", "cpufreq/policy2/affected_cpus");
        put("powersave schedutil userspace", "cpufreq/policy2/scaling_available_governors");
        put("powersave", GOVERNOR);
        put("3000000", MAX_FREQ);
        put("1000000", MIN_FREQ);
        put("3000000", "cpufreq/policy2/cpuinfo_max_freq");
        put("acpi_idle", "cpuidle/current_driver");
        put("1", "cpu2/online");
        for (int i = 0; i < 2; i++) {
                put("0", "cpu2/cpuidle/state%d/disable", i);
                put("C", "cpu2/cpuidle/state%d/name", i);
        }
        ck_assert_int_eq(symlink("../cpufreq/policy2", link), 0);
        policy = (FreqPolicy){ .number = 2,
                               .cpus = set_of("2"),
                               .driver = "acpi-cpufreq",
                               .governors = (char **)governors,
                               .preferences = (char **)nothing,
                               .min_khz = 800000,
                               .max_khz = 3000000 };
        idle[2].n_states = 2;
        facts.frequency = &policy;
        facts.n_frequency = 1;
        wishes[2] = wish;
        wishes[2].governor = g_intern_string(wish.governor);
}

static void apply_all(const ActContext *context, Knobs *its_knobs)
{
        const Actuator *const both[] = { &actuator_cpufreq, &actuator_cpuidle };

        for (size_t i = 0; i < G_N_ELEMENTS(both); i++) {
                void *opened;

                ck_assert_int_eq(both[i]->open(context, &options, &opened), 0);
                ck_assert_int_eq(both[i]->apply(opened, its_knobs, &plan, &facts), 0);
                both[i]->close(opened);
        }
}

static void expect_wished(const char *where)
{
        expect_value(where, GOVERNOR, "schedutil");
        expect_value(where, MAX_FREQ, "2400000");
        expect_value(where, MIN_FREQ, "1200000");
        expect_value(where, DISABLE, "1");
}

static void expect_as_found(const char *where)
{
        expect_value(where, GOVERNOR, "powersave");
        expect_value(where, MAX_FREQ, "3000000");
        expect_value(where, MIN_FREQ, "1000000");
        expect_value(where, DISABLE, "0");
}

TEST(live)
{
        g_autoptr(Knobs) its_knobs = NULL;
        ActContext context = { .live = true };
        _fd_ int root = -1;

        make_tree();
        context.root = root = cover_cpus(scratch);
        if (root < 0) {
                case_skip("live", NOT_COVERED);
                return;
        }
        its_knobs = knobs_new(&context, scratch_fd, false);
        apply_all(&context, its_knobs);
        expect_wished("by the library");
        ck_assert_uint_eq(knobs_writes(its_knobs), 4);
        restore(its_knobs);
        expect_as_found("restored by the library");
}

/* With another root the library, which would write to the running system, is left alone. */
TEST(another_root)
{
        g_autofree char *machine = NULL;
        g_autoptr(Knobs) its_knobs = NULL;
        _fd_ int root = -1;
        ActContext context = { 0 };

        make_tree();
        root = cover_cpus(scratch);
        if (root < 0) {
                case_skip("another_root", NOT_COVERED);
                return;
        }
        machine = scratch;
        close(scratch_fd);
        scratch_open();
        scratch_file("proc/sys/kernel/random/boot_id", "this-boot\n");
        put("0-3", "online");
        make_tree();
        context.root = scratch_fd;
        its_knobs = knobs_new(&context, scratch_fd, false);
        apply_all(&context, its_knobs);
        expect_wished("the other root");
        knobs_restore(its_knobs, NULL, NULL);
        expect_as_found("the other root");
        temporary_remove(scratch);
        g_free(scratch);
        scratch = g_steal_pointer(&machine);
        expect_as_found("the running system");
}

/* What the kernel refuses through the library is an error with its number. */
TEST(refused)
{
        ActContext context = { .live = true };
        _fd_ int root = -1;
        const KnobKind *choice = actuator_cpufreq.kinds[0], *idle_kind = actuator_cpuidle.kinds[0];

        make_tree();
        context.root = root = cover_cpus(scratch);
        if (root < 0 || mount(NULL, COVERED, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0) {
                case_skip("refused", NOT_COVERED);
                return;
        }
        ck_assert_int_eq(choice->write(&context, GOVERNOR, "schedutil"), -EROFS);
        ck_assert_int_eq(idle_kind->write(&context, DISABLE, "1"), -EROFS);
        ck_assert_int_eq(idle_kind->write(&context, "cpu2/cpuidle/state7/disable", "1"), -ENOENT);
        ck_assert_int_eq(choice->write(&context, "cpufreq/policy9/scaling_governor", "x"), -EBUSY);
        ck_assert_int_eq(choice->write(&context, "cpu2/../../x", "1"), -ENOENT);
}

UNIT("tuning-library", .setup = tuning_setup, .teardown = tuning_teardown)
