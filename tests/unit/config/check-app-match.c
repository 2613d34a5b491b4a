/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which processes rules of applications mean, and which they do not whatever these call themselves.
 */
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
        const char *name, *key, *value;
        bool meant;
        const Process *process;
        Process own; /* if there is none of these */
} cases[] = {
        { "path", "Executable", "/usr/games/quake", true, .process = &game },
        { "another path", "Executable", "/usr/games/quake2", false, .process = &game },
        { "one of several", "Executable", "/bin/x /usr/games/q*", true, .process = &game },
        { "a wildcard is no slash", "Executable", "/usr/*", false, .process = &game },
        { "nor more than one", "Executable", "/usr/*/quake", true, .process = &game },
        { "case counts", "Executable", "/usr/games/Quake", false, .process = &game },
        { "the end of a path is no path", "Executable", "/usr/games/quake", false,
          .own = { .executable = "/tmp/usr/games/quake" } },
        { "line feed at the end", "Executable", "/usr/games/quake", false,
          .own = { .executable = "/usr/games/quake\n" } },
        { "line feed in front of a path", "Executable", "/usr/games/quake", false,
          .own = { .executable = "/tmp/\n/usr/games/quake" } },
        { "replaced, or called so", "Executable", "/usr/games/quake", false,
          .own = { .executable = "/usr/games/quake (deleted)" } },
        { "meant as it is called", "Executable", "/usr/games/quake?(deleted)", true,
          .own = { .executable = "/usr/games/quake (deleted)" } },
        { "nothing but the suffix", "Executable", "/*", false,
          .own = { .executable = " (deleted)" } },
        { "no UTF-8 by a wildcard", "Executable", "/opt/??", true,
          .own = { .executable = "/opt/\xff\xfe" } },
        { "brackets are of the glob", "Executable", "/opt/[a]", true,
          .own = { .executable = "/opt/a" } },
        { "brackets of the path are not", "Executable", "/opt/[a]", false,
          .own = { .executable = "/opt/[a]" } },
        { "name", "Comm", "quake", true, .process = &game },
        { "name by a wildcard", "Comm", "qua*", true, .process = &game },
        { "name with parentheses", "Comm", "quake", false, .own = { .comm = "(quake)" } },
        { "name with a line feed", "Comm", "quake", false, .own = { .comm = "x\nquake" } },
        { "cut name", "Comm", "a-long-program-name", false, .own = { .comm = "a-long-program-" } },
        { "number of a user", "User", "1000", true, .process = &game },
        { "name of a user", "User", "ada", true, .process = &game },
        { "another user", "User", "ada 0", false, .process = &server },
        { "a user without name", "User", "*data", false, .process = &server },
        { "users by a wildcard", "User", "a*", true, .process = &game },
        { "unit", "Unit", "httpd.service", true, .process = &server },
        { "slice around it", "Unit", "system.slice", true, .process = &server },
        { "units by a wildcard", "Unit", "http*.service", true, .process = &server },
        { "what is in a unit is no unit", "Unit", "worker", false, .process = &server },
        { "the user manager is one", "Unit", "user@1000.service", true, .process = &game },
        { "its units are not", "Unit", "q.scope", false, .process = &game },
        { "nor its slices", "Unit", "app.slice", false, .process = &game },
        { "a user's group that pretends", "Unit", "httpd.service", false,
          .own = { .cgroups =
                           "/user.slice/user-7.slice/user@7.service/system.slice/httpd.service" } },
        { "cgroup", "Cgroup", "/fast/group", true, .process = &game },
        { "cgroup around it", "Cgroup", "/fast", true, .process = &game },
        { "all are in the root", "Cgroup", "/", true, .process = &game },
        { "half a name of a cgroup", "Cgroup", "/fast/gr", false, .process = &game },
        { "cgroup by wildcards", "Cgroup",
          "/user.slice/user-*.slice/user@*.service/app.slice/q*.scope", true, .process = &game },
        { "no cgroups", "Cgroup", "/fast", false },
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

static void set_in(App *app, const char *section, const char *key, const char *value)
{
        g_autofree char *error = NULL;

        ck_assert_int_eq(setting_parse(setting_find(app_settings, section, key), value,
                                       app->options, &error),
                         0);
}

static void set(App *app, const char *key, const char *value)
{
        set_in(app, "Match", key, value);
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
        App *app = app_make();

        set(app, c->key, c->value);
        ck_case(c->name, is_meant(app, c->process ? c->process : &c->own) == c->meant, "wrong");
        app_free(app);
}

static const struct {
        const char *name, *match, *ask; /* "Key=value ..." */
        bool of_units;
} rules[] = {
        { "a contract", "Unit=a.service", "WakeupP99=5ms", true },
        { "cores and a profile", "Unit=a.service", "Cores=2 Profile=balanced", true },
        { "a kind of cores", "Unit=a.service", "Kind=fast", true },
        { "with users", "Unit=a.service User=ada", "WakeupP99=5ms", true },
        { "the own unit of a process", "Unit=a.service User=ada", "Kind=fast", false },
        { "where the process may run", "Unit=a.service", "WakeupP99=5ms Latency=50us", false },
        { "what a process starts", "Unit=a.service Children=yes", "WakeupP99=5ms", false },
        { "a program", "Unit=a.service Executable=/bin/a", "WakeupP99=5ms", false },
        { "a name", "Unit=a.service Comm=a", "WakeupP99=5ms", false },
        { "a cgroup", "Unit=a.service Cgroup=/a", "WakeupP99=5ms", false },
        { "only a cgroup", "Cgroup=/a", "WakeupP99=5ms", false },
        { "only a user", "User=ada", "WakeupP99=5ms", false },
};

static void set_all(App *app, const char *section, const char *values)
{
        g_auto(GStrv) words = g_strsplit(values, " ", -1);

        for (char **word = words; *word; word++) {
                g_auto(GStrv) pair = g_strsplit(*word, "=", 2);

                set_in(app, section, pair[0], pair[1]);
        }
}

/* One hold for a unit serves all its processes. */
TEST_EACH(of_units, rules)
{
        App *app = app_make();

        set_all(app, "Match", c->match);
        set_all(app, "Ask", c->ask);
        ck_case(c->name, app_is_of_units(app) == c->of_units, "wrong");
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
