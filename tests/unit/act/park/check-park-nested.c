/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parking in cgroup v1: the rules of nested cpusets, kept at every step. */
#include "act/park/park-common.h"
#include "act/park/park-nested.h"
#include "set-of.h"
#include "table.h"

/* Groups, with the kernel's rules. */
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
        CpuSet cpus = set_of(value);

        for (size_t i = 0; i < G_N_ELEMENTS(groups) && groups[i].path; i++) {
                CpuSet other = set_of(groups[i].cpus);

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
        CpuSet cpus = set_of(allowed), all = set_of(online);

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

TEST_EACH(nested, nested_cases)
{
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

/* What others do to the groups between two plans. */
static const struct {
        const char *name;
        struct {
                const char *found; /* the groups after changes by another program; NULL: none */
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

TEST_EACH(nested_and_others, scripts)
{
        g_autoptr(Knobs) knobs = new_knobs();

        for (size_t i = 0; i < G_N_ELEMENTS(c->steps) && c->steps[i].allowed; i++) {
                int r;

                if (c->steps[i].found)
                        set_groups(c->steps[i].found);
                r = apply_nested(knobs, c->steps[i].allowed, c->steps[i].online);
                ck_case(c->name, r == c->steps[i].result, "step %zu returned %d", i, r);
                if (c->steps[i].after)
                        expect_groups(c->name, c->steps[i].after);
        }
        ck_assert_int_eq(knobs_restore(knobs, NULL, NULL), 0);
        expect_groups(c->name, c->restored);
        g_string_free(written, TRUE);
}

UNIT("park-nested")
