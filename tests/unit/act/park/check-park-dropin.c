/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that limits at run time leave: which of them idled removes, and when it has systemd
 * reload. The stand-in writes them where systemd does: init.scope's below transient, all others'
 * below system.control.
 */
#include "fake-systemd.h"
#include "ways-of-parking.h"

static int reloads;

static char *file_of(const char *unit)
{
        return g_strdup_printf("run/systemd/%s/%s.d/50-AllowedCPUs.conf",
                               g_str_equal(unit, "init.scope") ? "transient" : "system.control",
                               unit);
}

static int set_with_file(void *userdata, const char *unit, const CpuSet *cpus)
{
        g_autofree char *file = file_of(unit), *list = cpuset_format(cpus), *text = NULL;
        int r = set_allowed(userdata, unit, cpus);

        if (r < 0)
                return r;
        text = g_strdup_printf("[Slice]\nAllowedCPUs=%s\n", list);
        scratch_file(file, text);
        return 0;
}

static void reload_later(void *userdata)
{
        reloads++;
}

static const UnitControl control = {
        .list_children = list_children,
        .get_allowed = get_allowed,
        .set_allowed = set_with_file,
        .get_effective = get_effective,
        .reload_later = reload_later,
};

static void setup(void)
{
        systemd_new(&control);
        scratch_file("run/systemd/system/some.service", "");
        systemd_unit("init.scope", "-.slice", "");
        systemd_unit("user.slice", "-.slice", "");
        reloads = 0;
}

static int apply(const char *allowed)
{
        return park_by(&park_systemd, allowed, &four_cpus, "*", "", NULL);
}

static bool has(const char *path)
{
        return faccessat(scratch_fd, path, F_OK, 0) == 0;
}

static void expect_file(const char *unit, bool there)
{
        g_autofree char *file = file_of(unit);

        ck_assert_msg(has(file) == there, "%s is %s", file, there ? "not there" : "there");
}

TEST(removed_at_the_end)
{
        ck_assert_int_eq(apply("0-1"), 0);
        expect_file("init.scope", true);
        expect_file("user.slice", true);
        ck_assert_int_eq(apply("0-3"), 0);
        expect_file("user.slice", true);
        ck_assert_int_eq(reloads, 0);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        ck_assert(!has("run/systemd/system.control/user.slice.d"));
        ck_assert(!has("run/systemd/transient/init.scope.d"));
        ck_assert(has("run/systemd/system/some.service"));
        ck_assert_int_eq(reloads, 2);
}

/* It would limit the next unit of that name, and look like the administrator's. */
TEST_RANGE(removed_with_its_unit, 0, 2)
{
        CpuSet limit = set_of("");

        ck_assert_int_eq(apply("0-1"), 0);
        systemd_gone("user.slice");
        ck_assert_int_eq(apply(_i ? "0" : "0-3"), 0);
        expect_file("init.scope", true);
        expect_file("user.slice", false);
        systemd_find("user.slice")->gone = false;
        systemd_find("user.slice")->allowed = limit;
        ck_assert_int_eq(apply("0"), 0);
        expect_file("user.slice", true);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_file("user.slice", false);
}

TEST(those_of_others_stay)
{
        g_autofree char *text = NULL;

        systemd_unit("batch.slice", "-.slice", "1-3"); /* it is not touched at all */
        scratch_file("run/systemd/system.control/batch.slice.d/50-AllowedCPUs.conf", "1-3");
        scratch_file("run/systemd/transient/init.scope.d/50-CPUWeight.conf", "50");
        ck_assert_int_eq(apply("0-1"), 0);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_file("init.scope", false);
        ck_assert(has("run/systemd/transient/init.scope.d/50-CPUWeight.conf"));
        text = scratch_text("run/systemd/system.control/batch.slice.d/50-AllowedCPUs.conf");
        ck_assert_str_eq(text, "1-3");
}

/* The file has the administrator's limit now. */
TEST(limit_set_by_the_administrator_stays)
{
        const CpuSet theirs = set_of("2");

        ck_assert_int_eq(apply("0-1"), 0);
        ck_assert_int_eq(set_with_file(NULL, "user.slice", &theirs), 0);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_file("user.slice", true);
        expect_file("init.scope", false);
}

/* Also if its unit goes before idled ends. */
TEST(limit_of_another_outlasts_its_unit)
{
        const CpuSet theirs = set_of("2");

        ck_assert_int_eq(apply("0-1"), 0);
        ck_assert_int_eq(set_with_file(NULL, "user.slice", &theirs), 0);
        ck_assert_int_eq(apply("0"), -ESTALE);
        systemd_gone("user.slice");
        knobs_verify(knobs);
        ck_assert_int_eq(apply("0-1"), 0);
        expect_file("user.slice", true);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_file("user.slice", true);
}

TEST(unit_is_gone)
{
        ck_assert_int_eq(apply("0-1"), 0);
        systemd_gone("user.slice");
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_file("user.slice", false);
}

static void run_all(void)
{
        apply("0-1");
        apply("0-3");
        knobs_restore(knobs, NULL, NULL);
}

static void expect_as_found(void)
{
        expect_file("init.scope", false);
        expect_file("user.slice", false);
        ck_assert(cpuset_is_empty(&systemd_find("user.slice")->allowed));
}

TEST(killed_anywhere)
{
        ck_assert_int_gt(park_killed_everywhere(run_all, expect_as_found), 20);
}

/* A record that was damaged, or forged, names no unit. */
TEST(no_name_of_a_unit)
{
        static const char *const names[] = { "../../../etc/systemd/system/some.slice",
                                             "../transient/some.slice", "some/other.slice", "..",
                                             "" };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *file = g_strdup_printf(
                        "run/systemd/system.control/%s.d/50-AllowedCPUs.conf", names[i]);
                g_autofree char *value = NULL;

                scratch_file("run/systemd/system.control/placeholder", "");
                scratch_file(file, "[Slice]\nAllowedCPUs=1\n");
                ck_assert_int_eq(park_dropin_kind.read(&knobs_context, names[i], &value), -ENOENT);
                ck_assert_int_eq(park_dropin_kind.write(&knobs_context, names[i], "absent 0-3"),
                                 -ENOENT);
                ck_assert_int_eq(faccessat(scratch_fd, file, F_OK, 0), 0);
        }
}

UNIT("park-dropin", .setup = setup, .teardown = systemd_done, .timeout = 60)
