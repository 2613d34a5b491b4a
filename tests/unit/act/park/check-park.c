/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parking: whom to confine, to what, and by which way. */
#include "act/park/park-common.h"
#include "base/setting-value.h"
#include "scratch.h"
#include "set-of.h"
#include "table.h"

/* A tree of groups as "a a/b a/b/c d". */
static int listed;

static int list_tree(void *userdata, const char *group, char ***ret_children)
{
        g_auto(GStrv) all = g_strsplit(userdata, " ", 0);
        GPtrArray *children = g_ptr_array_new();

        listed++;
        for (char **path = all; *path; path++) {
                char *slash = strrchr(*path, '/');
                size_t length = slash ? (size_t)(slash - *path) : 0;

                if (strlen(group) == length && strncmp(*path, group, length) == 0)
                        g_ptr_array_add(children, g_strdup(*path));
        }
        g_ptr_array_add(children, NULL);
        *ret_children = (char **)g_ptr_array_free(children, FALSE);
        return 0;
}

#define TREE "a a/b a/b/c a/d e f.slice f.slice/g.service f.slice/h.service"

static const struct {
        const char *name, *units, *exclude, *chosen;
        int listed;
} selections[] = {
        { "all", "*", "", "a e f.slice", 1 },
        { "none", "", "", "", 9 },
        { "one", "e", "", "e", 8 },
        { "one inside, by its path", "a/b", "", "a/b", 7 },
        { "one inside, by its name", "g.service", "", "f.slice/g.service", 8 },
        { "a glob", "*.service", "", "f.slice/g.service f.slice/h.service", 7 },
        { "two", "a f.*", "", "a f.slice", 2 },
        { "one excluded", "*", "e", "a f.slice", 8 },
        { "one inside excluded", "*", "c", "a/d e f.slice", 8 },
        { "excluded with what is below", "*", "a", "e f.slice", 5 },
        { "excluded inside what is chosen", "a", "a/d", "a/b", 8 },
        { "all excluded", "*", "*", "", 1 },
        { "the request of both", "e", "e", "", 8 },
};

TEST_EACH(selection, selections)
{
        g_auto(GStrv) units = g_strsplit(c->units, " ", 0),
                      exclude = g_strsplit(c->exclude, " ", 0), chosen = NULL;
        const ParkOptions options = { .units = units, .exclude = exclude };
        g_autofree char *text = NULL;

        listed = 0;
        ck_assert_int_eq(park_select(&options, list_tree, (void *)TREE, &chosen), 0);
        text = g_strjoinv(" ", chosen);
        ck_case(c->name, g_str_equal(text, c->chosen), "chose \"%s\"", text);
        ck_case(c->name, listed == c->listed, "listed %d groups", listed);
}

static const struct {
        const char *original, *allowed, *online, *wanted;
} wanted_cases[] = {
        { "", "0-3", "0-3", "" },
        { "", "0-1", "0-3", "0-1" },
        { "", "0-1,7", "0-3", "0-1" },
        { "", "", "0-3", "" },
        { "2-3", "0-2", "0-3", "2" },
        { "2-3", "0-1", "0-3", "2-3" },
        { "2-3", "2-3", "0-3", "2-3" },
        { "2-3", "0-3", "0-3", "2-3" },
        { "2-7", "0-3", "0-3", "2-7" },
        { "2-7", "0-2", "0-3", "2" },
        { "rubbish", "0", "0-3", "rubbish" },
};

TEST_EACH(wanted, wanted_cases)
{
        CpuSet allowed = set_of(c->allowed), online = set_of(c->online);
        g_autofree char *text = park_wanted(c->original, &allowed, &online);

        ck_assert_str_eq(text, c->wanted);
}

TEST(settings_are_good)
{
        g_autofree char *error = NULL;
        void *data = NULL;

        ck_assert_int_eq(settings_new(park_settings, sizeof(ParkOptions), &data, &error), 0);
        ParkOptions *options = data;

        ck_assert_int_eq(options->backend, PARK_AUTO);
        ck_assert_str_eq(options->units[0], "*");
        ck_assert_ptr_null(options->exclude[0]);
        for (int i = PARK_AUTO; i <= PARK_NONE; i++) {
                static const char *const names[] = { "auto", "systemd", "partition", "cgroup",
                                                     "none" };

                ck_assert_int_eq(setting_parse(&park_settings[0], names[i], options, &error), 0);
                ck_assert_int_eq(options->backend, i);
        }
        settings_free(park_settings, options);
}

static int no_units(void *userdata, const char *slice, char ***ret_units)
{
        *ret_units = g_new0(char *, 1);
        return 0;
}

static int no_limit(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        *ret_cpus = (CpuSet){ 0 };
        return 0;
}

static int no_list(void *userdata, const char *slice, char ***ret_units)
{
        return -ENOTCONN;
}

static int no_answer(void *userdata, const char *unit, CpuSet *ret_cpus)
{
        return -ENOTCONN;
}

static const UnitControl answering = { .list_children = no_units, .get_allowed = no_limit },
                         silent = { .list_children = no_list, .get_allowed = no_answer };

#define CONTROLLERS "sys/fs/cgroup/cgroup.controllers"
#define UNITS       "AllowedCPUs of systemd's units"
#define SLICE       "isolated partition idledpark.slice"
#define GROUP       "isolated partition /sys/fs/cgroup/idled.parked"

/* The cgroup back end does not open below a tree of files, and is not reached here. */
static const struct {
        const char *name;
        ParkBackend backend;
        const UnitControl *units;
        bool unified, systemd;
        const char *controllers, *exclude;
        const char *described; /* NULL: not available */
        bool resets;           /* the kernel resets affinities */
} choices[] = {
        { "systemd", PARK_AUTO, &answering, true, true, "cpuset cpu", NULL, SLICE },
        { "resets", PARK_AUTO, &answering, true, true, "cpuset cpu", NULL, NULL, true },
        { "resets on v1", PARK_AUTO, NULL, false, false, "cpuset cpu", NULL, NULL, true },
        { "resets, partition", PARK_PARTITION, &answering, true, true, "cpuset cpu", NULL, SLICE,
          true },
        { "resets, units", PARK_SYSTEMD, &answering, true, true, "cpuset cpu", NULL, UNITS, true },
        { "resets, group", PARK_PARTITION, NULL, true, false, "cpuset cpu", NULL, GROUP, true },
        { "resets, none", PARK_NONE, &answering, true, true, "cpuset cpu", NULL, NULL, true },
        { "kernel without cpusets", PARK_AUTO, &answering, true, true, "cpu io", NULL, NULL },
        { "exceptions", PARK_AUTO, &answering, true, true, "cpuset cpu", "a.slice", UNITS },
        { "systemd without bus", PARK_AUTO, NULL, true, true, "cpuset cpu", NULL, NULL },
        { "systemd that does not answer", PARK_AUTO, &silent, true, true, "cpuset cpu", NULL,
          NULL },
        { "v2 without systemd", PARK_AUTO, NULL, true, false, "cpuset cpu", NULL, GROUP },
        { "a bus but no systemd", PARK_AUTO, &silent, true, false, "cpuset cpu", NULL, GROUP },
        { "systemd on v1", PARK_AUTO, &answering, false, true, "cpuset cpu", NULL, NULL },
        { "nothing", PARK_AUTO, NULL, false, false, "cpuset cpu", NULL, NULL },
        { "units by name", PARK_SYSTEMD, &answering, true, true, "cpuset cpu", NULL, UNITS },
        { "partition by name", PARK_PARTITION, &answering, true, true, "cpuset cpu", NULL, SLICE },
        { "partition on v1", PARK_PARTITION, &answering, false, true, "cpuset cpu", NULL, NULL },
        { "partition but a unit", PARK_PARTITION, &answering, true, true, "cpuset cpu", "x", NULL },
        { "units without systemd", PARK_SYSTEMD, NULL, true, false, "cpuset cpu", NULL, NULL },
        { "none", PARK_NONE, &answering, true, true, "cpuset cpu", NULL, NULL },
};

TEST_EACH(choice, choices)
{
        char *units[] = { (char *)"*", NULL }, *exclude[] = { (char *)c->exclude, NULL };
        const ParkOptions options = { (int)c->backend, units, exclude };
        const ActContext context = { .root = scratch_fd,
                                     .units = c->units,
                                     .resets_affinities = c->resets,
                                     .affinities = "Linux of a test" };
        g_autofree char *lacks = NULL;
        void *state = NULL;
        int r;

        if (c->unified) {
                scratch_file(CONTROLLERS, c->controllers);
                scratch_file("sys/fs/cgroup/cgroup.subtree_control", "\n");
        }
        if (c->systemd)
                scratch_file("run/systemd/system/x", "");
        r = actuator_park.open(&context, &options, &state);
        ck_case(c->name,
                r == (c->described              ? 0
                      : c->backend == PARK_NONE ? ACTUATOR_OFF
                                                : -EOPNOTSUPP),
                "returned %d", r);
        if (r < 0) {
                lacks = actuator_park.lacks(&context, &options);
                if (c->resets && c->backend == PARK_AUTO)
                        ck_assert_ptr_nonnull(strstr(lacks, "(Linux of a test)"));
                return;
        }
        ck_assert_str_eq(actuator_park.describe(state), c->described);
        actuator_park.close(state);
}

UNIT("park", .setup = scratch_open, .teardown = scratch_close)
