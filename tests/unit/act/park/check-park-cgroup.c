/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parking by cgroups, on the cpusets of the machine that runs the test: confined to a group that
 * the test makes, with tasks of its own in it, and removed with it. Needs cgroup v1 cpusets that
 * may be written and two CPUs, and is skipped elsewhere.
 */
#include "cpuset-groups.h"
#include "ways-of-parking.h"

/*
 *      idled-test-PID          both
 *              wide            both    (a task)
 *                      inner   both
 *              narrow          the second CPU
 *              empty           no CPUs
 */
static void setup(void)
{
        scratch_open();
        root = root_open("/");
        ck_assert_int_ge(root, 0);
        top = g_strdup_printf("idled-test-%d", getpid());
        group_make("", both);
        group_make("wide", both);
        group_make("wide/inner", both);
        group_make("narrow", other);
        group_make("empty", "");
        start_sleeper("wide/inner");
        knobs_begin(root, NULL);
}

static void teardown(void)
{
        knobs_end();
        stop_sleeper();
        group_remove(top);
        g_clear_pointer(&top, g_free);
        close(root);
        scratch_close();
}

/* With these exclusions below our group. */
static int apply_excluding(const char *allowed, const char *exclude)
{
        return park_by(&park_cgroup, allowed, &online, top, exclude, NULL);
}

static int apply(const char *allowed)
{
        return apply_excluding(allowed, "");
}

static void expect_tree(const char *at_top, const char *wide, const char *inner, const char *narrow)
{
        group_expect_cpus("", at_top);
        group_expect_cpus("wide", wide);
        group_expect_cpus("wide/inner", inner);
        group_expect_cpus("narrow", narrow);
        group_expect_cpus("empty", "");
}

static void expect_originals(void)
{
        expect_tree(both, both, both, other);
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

TEST(confines_its_group_only)
{
        g_autofree char *before = NULL, *after = NULL;

        ck_assert_int_eq(file_read(root, "sys/fs/cgroup/cpuset/cpuset.cpus", &before), 0);
        ck_assert_int_eq(apply(other), 0);
        expect_tree(other, other, other, other);
        expect_sleeper("wide/inner", other);
        expect_kept(both, one);
        ck_assert_int_eq(apply(both), 0);
        expect_kept(both, "");
        expect_originals();
        expect_sleeper("wide/inner", both);
        ck_assert_int_eq(file_read(root, "sys/fs/cgroup/cpuset/cpuset.cpus", &after), 0);
        ck_assert_str_eq(before, after);
}

/* The second CPU is parked, but it is all that `narrow` has, so its parent keeps it as well. */
TEST(last_cpu_of_a_group_stays)
{
        ck_assert_int_eq(apply(one), 0);
        expect_tree(both, one, one, other);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_originals();
}

TEST(excluded_group_is_left_alone)
{
        ck_assert_int_eq(apply_excluding(other, "inner"), 0);
        expect_tree(both, both, both, other);
        expect_kept(both, "");
        ck_assert_int_eq(apply_excluding(other, "*/narrow"), 0);
        expect_tree(both, other, other, other);
        expect_kept(both, one);
        ck_assert_int_eq(apply_excluding(other, "idled-test-*"), 0);
        expect_kept(both, "");
        expect_originals();
}

TEST(nothing_to_do_writes_nothing)
{
        ck_assert_int_eq(apply(other), 0);
        unsigned writes = knobs_writes(knobs);
        ck_assert_uint_eq(writes, 3);
        ck_assert_int_eq(apply(other), 0);
        ck_assert_uint_eq(knobs_writes(knobs), writes);
        knobs_restore(knobs, NULL, NULL);
}

/* A group made inside a confined one has only what was left, which is its original. */
TEST(new_group_inside_a_confined_one)
{
        ck_assert_int_eq(apply(other), 0);
        group_make("wide/later", other);
        ck_assert_int_eq(apply(other), 0);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_originals();
        group_expect_cpus("wide/later", other);
}

TEST(removed_group_is_forgotten)
{
        g_autofree char *dir = group_path("narrow");

        group_put("narrow", "cpuset.cpus", both);
        ck_assert_int_eq(apply(one), 0);
        ck_assert_int_eq(rmdir(dir), 0);
        ck_assert_int_eq(apply(other), 0);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        group_expect_cpus("", both);
        ck_assert_int_lt(faccessat(scratch_fd, "undo", F_OK, 0), 0);
}

TEST(foreign_change_stays)
{
        g_autofree char *inner = NULL;

        group_put("narrow", "cpuset.cpus", both);
        ck_assert_int_eq(apply(one), 0);
        group_put("", "cpuset.cpus", both);
        group_put("narrow", "cpuset.cpus", other);
        ck_assert_int_ne(apply(one), 0);
        inner = g_strdup_printf("%s/narrow", top);
        ck_assert_int_eq(knob_find(knobs, &park_cgroup_kind, inner)->state, KNOB_FOREIGN);
        ck_assert_int_eq(apply(one), 0);
        expect_tree(both, one, one, other);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_originals();
}

/* Another program restores the original of a group, which takes it over; or the group goes and
 * another one comes with just that value. */
TEST_RANGE(original_by_another_program, 0, 2)
{
        g_autofree char *dir = group_path("narrow"), *narrow = g_strdup_printf("%s/narrow", top);

        group_put("narrow", "cpuset.cpus", both);
        ck_assert_int_eq(apply(one), 0);
        group_put("", "cpuset.cpus", both);
        if (_i) {
                ck_assert_int_eq(rmdir(dir), 0);
                group_make("narrow", both);
        } else {
                group_put("narrow", "cpuset.cpus", both);
        }
        ck_assert_int_ne(apply(one), 0); /* for that at the top */
        ck_assert_int_eq(knob_find(knobs, &park_cgroup_kind, top)->state, KNOB_FOREIGN);
        ck_assert_int_eq(knob_find(knobs, &park_cgroup_kind, narrow)->state,
                         _i ? KNOB_OURS : KNOB_FOREIGN);
        expect_tree(both, one, one, _i ? one : both);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_tree(both, both, both, both);
}

/* The kernel's refusal arrives, whatever the library has in between. */
TEST(errors_arrive)
{
        g_autofree char *nowhere = g_strdup_printf("%s/nowhere", top),
                        *much = g_strnfill(5000, '0');
        g_autofree char *inner = g_strdup_printf("%s/wide/inner", top), *value = NULL;
        const KnobKind *kind = &park_cgroup_kind;

        ck_assert_int_eq(kind->write(&knobs_context, inner, "8191"), -ERANGE);
        ck_assert_int_eq(kind->write(&knobs_context, inner, "rubbish"), -EINVAL);
        ck_assert_int_eq(kind->write(&knobs_context, inner, much), -E2BIG);
        ck_assert_int_eq(kind->write(&knobs_context, inner, ""),
                         -ENOSPC); /* there is a task in it */
        ck_assert_int_eq(kind->write(&knobs_context, top, other), -EBUSY);
        ck_assert_int_eq(kind->write(&knobs_context, nowhere, one), -ENOENT);
        ck_assert_int_eq(kind->read(&knobs_context, nowhere, &value), -ENOENT);
        expect_originals();
        group_put("wide/inner", "cpuset.cpus", one);
        group_put("wide", "cpuset.cpus", one);
        ck_assert_int_eq(kind->write(&knobs_context, inner, both), -EACCES);
}

/* An empty list is really written, though the library thinks otherwise. */
TEST(empty_list_is_written)
{
        g_autofree char *narrow = g_strdup_printf("%s/narrow", top), *value = NULL;

        ck_assert_int_eq(park_cgroup_kind.write(&knobs_context, narrow, ""), 0);
        ck_assert_int_eq(park_cgroup_kind.read(&knobs_context, narrow, &value), 0);
        ck_assert_str_eq(value, "");
}

/* Below another root than the running system's the library must not be let loose. */
TEST(other_root_is_refused)
{
        const ActContext context = { .root = scratch_fd };
        g_autofree char *name = g_strdup_printf("%s/wide", top), *value = NULL;
        void *state;

        ck_assert_int_eq(park_cgroup.open(&context, NULL, &state), -EOPNOTSUPP);
        ck_assert_int_eq(park_cgroup_kind.write(&context, name, one), -EOPNOTSUPP);
        ck_assert_int_eq(park_cgroup_kind.read(&context, name, &value), -EOPNOTSUPP);
        expect_originals();
}

static void run_all(void)
{
        apply(one);
        apply(other);
        apply(both);
        apply(other);
        knobs_restore(knobs, NULL, NULL);
}

static void expect_all_as_found(void)
{
        expect_originals();
        expect_sleeper("wide/inner", both);
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_all_as_found), 60);
}

int main(void)
{
        const char *reason = groups_missing();
        int failed;

        if (reason) {
                printf("skipped: %s\n", reason);
                return EXIT_SKIPPED;
        }
        group_remove_leftovers();
        failed = unit_run(&(const Unit){ "park-cgroup", setup, teardown, .timeout = 60 });
        for (int i = 0; failed && i < 100 && group_remove_leftovers() > 0; i++)
                g_usleep(10000); /* the tasks of tests that failed are about to end */
        return failed;
}
