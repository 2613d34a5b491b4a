/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether the kernel keeps affinities: when that is not tried, and what a trial leaves that fails.
 * Guests test what real kernels do (tests/vm/tests/test_affinities.py). */
#include "act/park/park-affinities.h"
#include "scratch.h"
#include "table.h"

#define ROOT  "sys/fs/cgroup/"
#define GROUP ROOT "idled.probe"

static void put_kernel(const char *release)
{
        if (release)
                scratch_file("proc/sys/kernel/osrelease", release);
}

static const struct {
        const char *release; /* NULL: not readable */
        bool kept;
} kernels[] = {
        { "6.1.0-56-amd64", false }, { "5.10.1", false },  { "6.2.0", true }, { "6.12.117", true },
        { "7.0.1-x", true },         { "garbage", false }, { "", false },     { NULL, false },
};

TEST_EACH(by_version, kernels)
{
        g_autofree char *about = NULL;

        put_kernel(c->release);
        ck_case(c->release, affinities_kept(scratch_fd, -1, &about) == c->kept, "%s", about);
        ck_case(c->release, strstr(about, "not tried: a dry run") != NULL, "%s", about);
}

static const struct {
        const char *name, *controllers, *enabled, *effective; /* NULL: no such file */
        const char *why;
} untried[] = {
        { "v1", NULL, NULL, NULL, "cgroup v2 is not mounted" },
        { "no cpusets", "cpu io", "cpu", "0-3", "no cgroup has a cpuset yet" },
        { "not switched on", "cpuset cpu", "cpu", "0-3", "no cgroup has a cpuset yet" },
        { "one CPU", "cpuset cpu", "cpuset cpu", "0", "it needs two CPUs" },
        { "garbage", "cpuset cpu", "cpuset cpu", "x", "it needs two CPUs" },
        { "CPUs are not known", "cpuset cpu", "cpuset cpu", NULL, "it needs two CPUs" },
        { "a tree of files", "cpuset cpu", "cpuset cpu", "0-3", "No such file or directory" },
};

/* Nothing is enabled, and no cgroup is left. */
TEST_EACH(is_not_tried, untried)
{
        g_autofree char *about = NULL, *enabled = NULL;
        const char *why = NULL;

        put_kernel("6.1.0");
        if (c->controllers)
                scratch_file(ROOT "cgroup.controllers", c->controllers);
        if (c->enabled)
                scratch_file(ROOT "cgroup.subtree_control", c->enabled);
        if (c->effective)
                scratch_file(ROOT "cpuset.cpus.effective", c->effective);
        ck_case(c->name, affinities_try(scratch_fd, &why) < 0, "tried");
        ck_case(c->name, g_str_equal(why, c->why), "%s", why);
        ck_assert(!affinities_kept(scratch_fd, scratch_fd, &about));
        ck_case(c->name, g_str_has_suffix(about, c->why), "%s", about);
        enabled = scratch_text(ROOT "cgroup.subtree_control");
        ck_assert(g_strcmp0(enabled, c->enabled) == 0);
        ck_assert_int_lt(faccessat(scratch_fd, GROUP, F_OK, 0), 0);
}

/* Takes precedence over the version, and counts once. */
TEST_RANGE(noted, 0, 2)
{
        bool kept = _i;
        g_autofree char *about = NULL, *later = NULL;

        put_kernel(kept ? "6.1.0" : "6.12.0");
        ck_assert_int_eq(affinities_note(scratch_fd, !kept), 0);
        ck_assert_int_eq(affinities_note(scratch_fd, kept), 0);
        ck_assert(affinities_kept(scratch_fd, scratch_fd, &about) == kept);
        ck_assert_ptr_nonnull(strstr(about, ", tried"));
        ck_assert(affinities_kept(scratch_fd, scratch_fd, &later) != kept);
        ck_assert_ptr_nonnull(strstr(later, "not tried"));
}

TEST(note_is_garbage)
{
        g_autofree char *about = NULL;

        put_kernel("6.12.0");
        scratch_file("affinities", "yes\n");
        ck_assert(affinities_kept(scratch_fd, scratch_fd, &about));
        ck_assert_ptr_nonnull(strstr(about, "not tried"));
        ck_assert_int_lt(faccessat(scratch_fd, "affinities", F_OK, 0), 0);
}

static const struct {
        const char *isolated, *line; /* NULL: no such file */
        const char *about;           /* NULL: as without them */
} options[] = {
        { "3\n", "quiet isolcpus=3 nohz_full=3\n", "isolcpus=3" },
        { "2-3\n", "isolcpus=nohz,domain,2-3", "isolcpus=nohz,domain,2-3" },
        { "\n", "isolcpus=managed_irq,3\n", NULL },
        { NULL, "isolcpus=3\n", NULL },
        { "3\n", "quiet nohz_full=3 x.isolcpus=3\n", NULL }, /* a partition's */
        { "3\n", NULL, NULL },
};

/* Takes precedence over all else. */
TEST_EACH(isolated_at_boot, options)
{
        g_autofree char *about = NULL;

        put_kernel("6.12.0");
        ck_assert_int_eq(affinities_note(scratch_fd, true), 0);
        if (c->isolated)
                scratch_file("sys/devices/system/cpu/isolated", c->isolated);
        if (c->line)
                scratch_file("proc/cmdline", c->line);
        ck_case(c->line, affinities_kept(scratch_fd, scratch_fd, &about) == !c->about, "%s", about);
        ck_case(c->line, g_str_equal(about, c->about ?: "Linux 6.12.0, tried"), "%s", about);
        ck_assert_int_lt(faccessat(scratch_fd, "affinities", F_OK, 0), 0);
}

TEST(cleaned)
{
        ck_assert_int_eq(affinities_clean(scratch_fd), 0);
        scratch_file(ROOT "cgroup.controllers", "cpuset");
        ck_assert_int_eq(affinities_clean(scratch_fd), 0);
        ck_assert_int_eq(mkdirat(scratch_fd, GROUP, 0755), 0);
        ck_assert_int_eq(affinities_clean(scratch_fd), 0);
        ck_assert_int_lt(faccessat(scratch_fd, GROUP, F_OK, 0), 0);
}

UNIT("park-affinities", .setup = scratch_open, .teardown = scratch_close)
