/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parking: whom to confine, to what, and by which way; and the rules of nested cpusets. */
#include <errno.h>
#include <string.h>

#include "act/park-common.h"
#include "act/park-nested.h"
#include "base/cpuset-text.h"
#include "base/setting-value.h"
#include "scratch.h"
#include "table.h"

static CpuSet make(const char *text)
{
        CpuSet set = { 0 };

        ck_assert_int_eq(cpuset_parse(text, &set), 0);
        return set;
}

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
        { "the wish of both", "e", "e", "", 8 },
};

START_TEST(selection)
{
        typeof(selections[0]) *c = &selections[_i];
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
END_TEST

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

START_TEST(wanted)
{
        typeof(wanted_cases[0]) *c = &wanted_cases[_i];
        CpuSet allowed = make(c->allowed), online = make(c->online);
        g_autofree char *text = park_wanted(c->original, &allowed, &online);

        ck_assert_str_eq(text, c->wanted);
}
END_TEST

START_TEST(settings_are_good)
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
END_TEST

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
        const char *kernel, *exclude;
        const char *described; /* NULL: not available */
} choices[] = {
        { "systemd", PARK_AUTO, &answering, true, true, "6.2.0", NULL, SLICE },
        { "kernel that forgets", PARK_AUTO, &answering, true, true, "6.1.0", NULL, SLICE },
        { "kernel without partitions", PARK_AUTO, &answering, true, true, "6.0.0", NULL, UNITS },
        { "exceptions", PARK_AUTO, &answering, true, true, "6.2.0", "a.slice", UNITS },
        { "systemd without bus", PARK_AUTO, NULL, true, true, "6.2.0", NULL, NULL },
        { "systemd that does not answer", PARK_AUTO, &silent, true, true, "6.2.0", NULL, NULL },
        { "v2 without systemd", PARK_AUTO, NULL, true, false, "6.2.0", NULL, GROUP },
        { "a bus but no systemd", PARK_AUTO, &silent, true, false, "6.2.0", NULL, GROUP },
        { "systemd on v1", PARK_AUTO, &answering, false, true, "6.2.0", NULL, NULL },
        { "nothing", PARK_AUTO, NULL, false, false, "6.2.0", NULL, NULL },
        { "units by name", PARK_SYSTEMD, &answering, true, true, "6.2.0", NULL, UNITS },
        { "partition by name", PARK_PARTITION, &answering, true, true, "6.2.0", NULL, SLICE },
        { "partition on v1", PARK_PARTITION, &answering, false, true, "6.2.0", NULL, NULL },
        { "old kernel", PARK_PARTITION, &answering, true, true, "6.0.0", NULL, NULL },
        { "partition but a unit", PARK_PARTITION, &answering, true, true, "6.2.0", "x", NULL },
        { "units without systemd", PARK_SYSTEMD, NULL, true, false, "6.2.0", NULL, NULL },
        { "none", PARK_NONE, &answering, true, true, "6.2.0", NULL, NULL },
};

START_TEST(choice)
{
        typeof(choices[0]) *c = &choices[_i];
        char *units[] = { (char *)"*", NULL }, *exclude[] = { (char *)c->exclude, NULL };
        const ParkOptions options = { (int)c->backend, units, exclude };
        const ActContext context = { .root = scratch_fd, .units = c->units };
        void *state = NULL;
        int r;

        scratch_file("proc/sys/kernel/osrelease", c->kernel);
        if (c->unified) {
                scratch_file(CONTROLLERS, "cpuset cpu\n");
                scratch_file("sys/fs/cgroup/cgroup.subtree_control", "\n");
        }
        if (c->systemd)
                scratch_file("run/systemd/system/x", "");
        r = actuator_park.open(&context, &options, &state);
        ck_case(c->name, r == (c->described ? 0 : -EOPNOTSUPP), "returned %d", r);
        if (r < 0)
                return;
        ck_assert_str_eq(actuator_park.describe(state), c->described);
        actuator_park.close(state);
}
END_TEST

/* Nested cpusets, with the kernel's rules. */
typedef struct Group {
        const char *path;
        char cpus[64];
} Group;

static Group groups[8];
static GString *written;

static Group *find_group(const char *path)
{
        for (size_t i = 0; i < G_N_ELEMENTS(groups) && groups[i].path; i++)
                if (g_str_equal(groups[i].path, path))
                        return &groups[i];
        return NULL;
}

static int nested_read(const ActContext *context, const char *name, char **ret_value)
{
        const Group *group = find_group(name);

        if (!group)
                return -ENOENT;
        *ret_value = g_strdup(group->cpus);
        return 0;
}

static bool is_child(const char *parent, const char *child)
{
        size_t length = strlen(parent);

        return strncmp(parent, child, length) == 0 && child[length] == '/' &&
               !strchr(child + length + 1, '/');
}

static int nested_write(const ActContext *context, const char *name, const char *value)
{
        CpuSet cpus = make(value);

        for (size_t i = 0; i < G_N_ELEMENTS(groups) && groups[i].path; i++) {
                CpuSet other = make(groups[i].cpus);

                if (is_child(groups[i].path, name) && !cpuset_is_subset(&cpus, &other))
                        return -EACCES;
                if (is_child(name, groups[i].path) && !cpuset_is_subset(&other, &cpus))
                        return -EBUSY;
        }
        g_strlcpy(find_group(name)->cpus, value, sizeof(groups[0].cpus));
        g_string_append_printf(written, "%s=%s ", name, value);
        return 0;
}

static const KnobKind nested_kind = {
        .name = "nested", .read = nested_read, .write = nested_write, .equal = park_cpus_equal
};

/* "a=0-3 a/b=0-1" */
static void set_groups(const char *text)
{
        g_auto(GStrv) all = g_strsplit(text, " ", 0);

        memset(groups, 0, sizeof(groups));
        for (int i = 0; all[i]; i++) {
                g_auto(GStrv) parts = g_strsplit(all[i], "=", 2);

                groups[i].path = g_intern_string(parts[0]);
                g_strlcpy(groups[i].cpus, parts[1], sizeof(groups[i].cpus));
        }
}

static void expect_groups(const char *name, const char *expected)
{
        g_autoptr(GString) text = g_string_new(NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(groups) && groups[i].path; i++)
                g_string_append_printf(text, "%s%s=%s", i ? " " : "", groups[i].path,
                                       groups[i].cpus);
        ck_case(name, g_str_equal(text->str, expected), "is \"%s\", expected \"%s\"", text->str,
                expected);
}

static int apply_nested(Knobs *knobs, const char *allowed, const char *online)
{
        const ActContext context = { .root = -1 };
        const char *paths[G_N_ELEMENTS(groups) + 1] = { NULL };
        CpuSet cpus = make(allowed), all = make(online);

        for (size_t i = 0; i < G_N_ELEMENTS(groups) && groups[i].path; i++)
                paths[i] = groups[i].path;
        return park_nested_apply(&context, knobs, &nested_kind, paths, &cpus, &all);
}

static Knobs *new_knobs(void)
{
        const ActContext context = { .root = -1 };

        written = g_string_new(NULL);
        return knobs_new(&context, -1, false);
}

static const struct {
        const char *name, *before, *allowed, *after, *then, *last, *written;
} nested_cases[] = {
        { "shrinks from below, grows from above", "a=0-3 a/b=0-3", "0-1", "a=0-1 a/b=0-1", "0-3",
          "a=0-3 a/b=0-3", "a/b=0-1 a=0-1 a=0-3 a/b=0-3 " },
        { "moves over", "a=0-3 a/b=0-3", "0-1", "a=0-1 a/b=0-1", "1-2", "a=1-2 a/b=1-2",
          "a/b=0-1 a=0-1 a=0-2 a/b=0-2 a/b=1-2 a=1-2 " },
        { "never wider than the original", "a=0-1 a/b=1", "1-3", "a=1 a/b=1", "0-3", "a=0-1 a/b=1",
          "a=1 a=0-1 " },
        { "the last CPU stays, up to the top", "a=0-3 a/b=2-3 a/b/c=3", "0",
          "a=0,2-3 a/b=2-3 a/b/c=3", "3", "a=3 a/b=3 a/b/c=3", "a=0,2-3 a/b=3 a=3 " },
        { "empty is left alone", "a=0-3 a/b= c=", "0", "a=0 a/b= c=", "0-3",
          "a=0-3 a/b= c=", "a=0 a=0-3 " },
        { "names that begin alike", "a=0-3 ab=0-3 a/b=0-1", "1", "a=1 ab=1 a/b=1", "0-3",
          "a=0-3 ab=0-3 a/b=0-1", "a/b=1 ab=1 a=1 a=0-3 ab=0-3 a/b=0-1 " },
};

START_TEST(nested)
{
        typeof(nested_cases[0]) *c = &nested_cases[_i];
        g_autoptr(Knobs) knobs = new_knobs();

        set_groups(c->before);
        ck_assert_int_eq(apply_nested(knobs, c->allowed, "0-3"), 0);
        expect_groups(c->name, c->after);
        ck_assert_int_eq(apply_nested(knobs, c->then, "0-3"), 0);
        expect_groups(c->name, c->last);
        ck_case(c->name, g_str_equal(written->str, c->written), "wrote %s", written->str);
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_groups(c->name, c->before);
        g_string_free(written, TRUE);
}
END_TEST

/* What others do to the groups between two plans. */
static const struct {
        const char *name;
        struct {
                const char *found; /* what somebody else has made of the groups; NULL: nothing */
                const char *allowed, *online;
                int result;
                const char *after; /* NULL: not looked at */
        } steps[4];
        const char *restored;
} scripts[] = {
        { "the kernel takes an offline CPU out of every list for good: no stranger's doing",
          { { "a=0-3 a/b=0-3", "0-2", "0-3", 0, "a=0-2 a/b=0-2" },
            { "a=0-1 a/b=0-1", "0-1", "0-1,3", 0, NULL },
            { NULL, "0", "0-1,3", 0, "a=0 a/b=0" },
            { NULL, "0-3", "0-3", 0, "a=0-3 a/b=0-3" } },
          "a=0-3 a/b=0-3" },
        { "a child is taken over",
          { { "a=0-3 a/b=0-3", "0-1", "0-3", 0, "a=0-1 a/b=0-1" },
            { "a=0-1 a/b=1", "0", "0-3", -ESTALE, NULL },
            { NULL, "0", "0-3", 0, "a=0-1 a/b=1" } },
          "a=0-3 a/b=1" },
        { "a parent is taken over: those in its child stay confined",
          { { "a=0-3 a/b=0-2", "0-1", "0-3", 0, "a=0-1 a/b=0-1" },
            { "a=0-2 a/b=0-1", "0", "0-3", -ESTALE, NULL },
            { NULL, "0", "0-3", 0, "a=0-2 a/b=0" } },
          "a=0-2 a/b=0-2" },
};

START_TEST(nested_and_others)
{
        typeof(scripts[0]) *s = &scripts[_i];
        g_autoptr(Knobs) knobs = new_knobs();

        for (size_t i = 0; i < G_N_ELEMENTS(s->steps) && s->steps[i].allowed; i++) {
                int r;

                if (s->steps[i].found)
                        set_groups(s->steps[i].found);
                r = apply_nested(knobs, s->steps[i].allowed, s->steps[i].online);
                ck_case(s->name, r == s->steps[i].result, "step %zu returned %d", i, r);
                if (s->steps[i].after)
                        expect_groups(s->name, s->steps[i].after);
        }
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_groups(s->name, s->restored);
        g_string_free(written, TRUE);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("park");
        TCase *tcase = tcase_create("park");

        tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
        tcase_add_loop_test(tcase, selection, 0, G_N_ELEMENTS(selections));
        tcase_add_loop_test(tcase, wanted, 0, G_N_ELEMENTS(wanted_cases));
        tcase_add_test(tcase, settings_are_good);
        tcase_add_loop_test(tcase, choice, 0, G_N_ELEMENTS(choices));
        tcase_add_loop_test(tcase, nested, 0, G_N_ELEMENTS(nested_cases));
        tcase_add_loop_test(tcase, nested_and_others, 0, G_N_ELEMENTS(scripts));
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
