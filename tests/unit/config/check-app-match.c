/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which processes rules of applications mean, and which they do not whatever these call themselves.
 */
#include <string.h>

#include "base/setting-value.h"
#include "config/app.h"
#include "table.h"

/* Process facts as texts; blanks between cgroups, the first of which is the unit's. */
typedef struct Process {
        const char *executable, *comm, *cgroups;
        unsigned uid;
} Process;

static const Process game = { "/usr/games/quake", "quake",
                              "/user.slice/user-1000.slice/user@1000.service/app.slice/q.scope "
                              "/fast/group",
                              1000 };
static const Process server = { "/usr/sbin/httpd", "httpd", "/system.slice/httpd.service/worker",
                                33 };

static const struct {
        const char *name;
        const Process *process;
        Process own; /* if there is none of these */
        const char *key, *value;
        bool meant;
} cases[] = {
        { "path", &game, {}, "Executable", "/usr/games/quake", true },
        { "another path", &game, {}, "Executable", "/usr/games/quake2", false },
        { "one of several", &game, {}, "Executable", "/bin/x /usr/games/q*", true },
        { "a wildcard is no slash", &game, {}, "Executable", "/usr/*", false },
        { "nor more than one", &game, {}, "Executable", "/usr/*/quake", true },
        { "case counts", &game, {}, "Executable", "/usr/games/Quake", false },
        { "the end of a path is no path",
          NULL,
          { .executable = "/tmp/usr/games/quake" },
          "Executable",
          "/usr/games/quake",
          false },
        { "line feed at the end",
          NULL,
          { .executable = "/usr/games/quake\n" },
          "Executable",
          "/usr/games/quake",
          false },
        { "line feed in front of a path",
          NULL,
          { .executable = "/tmp/\n/usr/games/quake" },
          "Executable",
          "/usr/games/quake",
          false },
        { "replaced, or called so",
          NULL,
          { .executable = "/usr/games/quake (deleted)" },
          "Executable",
          "/usr/games/quake",
          false },
        { "meant as it is called",
          NULL,
          { .executable = "/usr/games/quake (deleted)" },
          "Executable",
          "/usr/games/quake?(deleted)",
          true },
        { "nothing but the suffix",
          NULL,
          { .executable = " (deleted)" },
          "Executable",
          "/*",
          false },
        { "no UTF-8 by a wildcard",
          NULL,
          { .executable = "/opt/\xff\xfe" },
          "Executable",
          "/opt/??",
          true },
        { "brackets are of the glob",
          NULL,
          { .executable = "/opt/a" },
          "Executable",
          "/opt/[a]",
          true },
        { "brackets of the path are not",
          NULL,
          { .executable = "/opt/[a]" },
          "Executable",
          "/opt/[a]",
          false },
        { "name", &game, {}, "Comm", "quake", true },
        { "name by a wildcard", &game, {}, "Comm", "qua*", true },
        { "name with parentheses", NULL, { .comm = "(quake)" }, "Comm", "quake", false },
        { "name with a line feed", NULL, { .comm = "x\nquake" }, "Comm", "quake", false },
        { "cut name", NULL, { .comm = "a-long-program-" }, "Comm", "a-long-program-name", false },
        { "number of a user", &game, {}, "User", "1000", true },
        { "name of a user", &game, {}, "User", "ada", true },
        { "another user", &server, {}, "User", "ada 0", false },
        { "a user without name", &server, {}, "User", "*data", false },
        { "users by a wildcard", &game, {}, "User", "a*", true },
        { "unit", &server, {}, "Unit", "httpd.service", true },
        { "slice around it", &server, {}, "Unit", "system.slice", true },
        { "units by a wildcard", &server, {}, "Unit", "http*.service", true },
        { "what is in a unit is no unit", &server, {}, "Unit", "worker", false },
        { "the user manager is one", &game, {}, "Unit", "user@1000.service", true },
        { "its units are not", &game, {}, "Unit", "q.scope", false },
        { "nor its slices", &game, {}, "Unit", "app.slice", false },
        { "a user's group that pretends",
          NULL,
          { .cgroups = "/user.slice/user-7.slice/user@7.service/system.slice/httpd.service" },
          "Unit",
          "httpd.service",
          false },
        { "cgroup", &game, {}, "Cgroup", "/fast/group", true },
        { "cgroup around it", &game, {}, "Cgroup", "/fast", true },
        { "all are in the root", &game, {}, "Cgroup", "/", true },
        { "half a name of a cgroup", &game, {}, "Cgroup", "/fast/gr", false },
        { "cgroup by wildcards",
          &game,
          {},
          "Cgroup",
          "/user.slice/user-*.slice/user@*.service/app.slice/q*.scope",
          true },
        { "no cgroups", NULL, {}, "Cgroup", "/fast", false },
};

static void set_facts(const Process *process, ProcessFacts *facts)
{
        const char *cgroups = process->cgroups ? process->cgroups : "";
        size_t length = strlen(cgroups);

        process_facts_init(facts, 12);
        g_strlcpy(facts->executable, process->executable ? process->executable : "",
                  sizeof(facts->executable));
        g_strlcpy(facts->comm, process->comm ? process->comm : "", sizeof(facts->comm));
        for (size_t i = 0; i <= length; i++)
                facts->cgroups[i] = cgroups[i] == ' ' ? '\0' : cgroups[i];
        facts->cgroups[length + 1] = '\0';
        facts->unit_cgroup = facts->cgroups;
        facts->uid = process->uid;
}

static bool is_meant(const App *app, const Process *process)
{
        g_autoptr(GHashTable) users = g_hash_table_new(g_direct_hash, g_direct_equal);
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        bool meant = true;

        g_hash_table_insert(users, GUINT_TO_POINTER(1000), (gpointer) "ada");
        set_facts(process, facts);
        for (unsigned fact = PROCESS_FACT_EXECUTABLE; fact <= PROCESS_FACT_STATUS; fact <<= 1)
                meant &= app_matches(app, (ProcessFact)fact, facts, users);
        return meant;
}

static void set(App *app, const char *key, const char *value)
{
        g_autofree char *error = NULL;

        ck_assert_int_eq(setting_parse(setting_find(app_settings, "Match", key), value,
                                       app->options, &error),
                         0);
}

static App *app_make(void)
{
        App *app = g_new0(App, 1);
        void *options;
        char *error = NULL;

        ck_assert_int_eq(settings_new(app_settings, sizeof(AppOptions), &options, &error), 0);
        app->name = g_strdup("test");
        app->options = options;
        return app;
}

TEST_EACH(meant, cases)
{
        typeof(cases[0]) *c = &cases[_i];
        App *app = app_make();

        set(app, c->key, c->value);
        ck_case(c->name, is_meant(app, c->process ? c->process : &c->own) == c->meant, "wrong");
        app_free(app);
}

TEST(all_keys_have_to_match)
{
        App *app = app_make();

        ck_assert_uint_eq(app_needs(app), 0);
        set(app, "Executable", "/usr/games/quake");
        ck_assert_uint_eq(app_needs(app), PROCESS_FACT_EXECUTABLE);
        set(app, "User", "ada");
        set(app, "Cgroup", "/fast");
        set(app, "Unit", "user.slice");
        set(app, "Comm", "quake");
        ck_assert_uint_eq(app_needs(app), PROCESS_FACT_EXECUTABLE | PROCESS_FACT_COMM |
                                                  PROCESS_FACT_STATUS | PROCESS_FACT_CGROUPS);
        ck_assert(is_meant(app, &game));
        set(app, "Unit", "system.slice");
        ck_assert(!is_meant(app, &game));
        set(app, "Unit", "user.slice");
        set(app, "Comm", "quake2");
        ck_assert(!is_meant(app, &game));
        app_free(app);
}

static const struct {
        const char *name, *unit, *comm; /* NULL: the key is not set */
        const char *limited;            /* NULL: no unit that the rule names */
} units[] = {
        { "the slice", "user.slice", NULL, "/user.slice" },
        { "the highest of several", "user*", NULL, "/user.slice" },
        { "one below", "user-1000.slice", NULL, "/user.slice/user-1000.slice" },
        { "the unit", "user@*.service", NULL, "/user.slice/user-1000.slice/user@1000.service" },
        { "not a user's", "q.scope", NULL, NULL },
        { "only some processes of it", "user.slice", "quake", NULL },
        { "no unit", NULL, "quake", NULL },
};

/* A limit of a unit is for all processes in it, so the rule must be, too. */
TEST_EACH(limited_unit, units)
{
        typeof(units[0]) *c = &units[_i];
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *found = NULL;
        App *app = app_make();

        set(app, "Unit", c->unit ? c->unit : "");
        set(app, "Comm", c->comm ? c->comm : "");
        set_facts(&game, facts);
        found = app_unit(app, facts);
        ck_case(c->name, g_strcmp0(found, c->limited) == 0, "%s", found ? found : "none");
        app_free(app);
}

/* 4096 bytes in any place are a name like others. */
TEST(long_names)
{
        g_autofree char *name = g_strnfill(4096, 'a'), *group = g_strdup_printf("/%s", name);
        Process process = { .executable = name, .cgroups = group };
        App *app = app_make();

        name[0] = '/';
        set(app, "Executable", "/a*");
        ck_assert(is_meant(app, &process));
        set(app, "Executable", "/*b");
        ck_assert(!is_meant(app, &process));
        set(app, "Executable", "");
        set(app, "Cgroup", "/aa");
        ck_assert(!is_meant(app, &process));
        app_free(app);
}

UNIT("app-match")
