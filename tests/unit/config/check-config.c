/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: the order of files and drop-ins, resets, sources, changes at run time and what
 * becomes of them in a reload.
 */
#include "base/setting-value.h"
#include "config-tree.h"

#define VENDOR "usr/lib/idled/policies/alpha.conf"

/* What alpha's options are after the files, as KEY=VALUE (SOURCE). */
static const struct {
        const char *name;
        const char *key, *value, *source;
        const char *files; /* for put_all() */
} good[] = {
        { "default", "Period", "250ms", "default", USE },
        { "vendor", "Period", "1s", "/usr/lib/idled/policies/alpha.conf:2",
          USE PUT(VENDOR, "[Policy]\nPeriod=1s") },
        { "administrator's file replaces the vendor's whole", "Period", "250ms", "default",
          USE PUT(VENDOR, "[Policy]\nPeriod=1s\n") PUT(ALPHA, "[Policy]\nMinCores=2\n") },
        { "empty file replaces too", "Period", "250ms", "default",
          USE PUT(VENDOR, "[Policy]\nPeriod=1s\n") PUT(ALPHA, "") },
        { "drop-in of the vendor over the administrator's file", "Period", "2s",
          "/usr/lib/idled/policies/alpha.conf.d/a.conf:2",
          POLICY("Period=1s\n") PUT(VENDOR ".d/a.conf", "[Policy]\nPeriod=2s\n") },
        { "drop-ins in the order of their names, whatever their directory", "Period", "2s",
          "/usr/lib/idled/policies/alpha.conf.d/20.conf:2",
          USE PUT(VENDOR ".d/20.conf", "[Policy]\nPeriod=2s\n")
                  PUT(ALPHA ".d/10.conf", "[Policy]\nPeriod=1s\n")
                          PUT(ALPHA ".d/100.conf", "[Policy]\nPeriod=3s\n") },
        { "drop-in hidden by one of the same name", "MinCores", "1", "default",
          USE PUT(VENDOR ".d/20.conf", "[Policy]\nMinCores=2\n")
                  PUT(ALPHA ".d/20.conf", "[Policy]\nPeriod=1s\n") },
        { "other names are no drop-ins", "Period", "250ms", "default",
          USE PUT(ALPHA ".d/README", "See idled.conf(5)")
                  PUT(ALPHA ".d/a.conf~", "[Policy]\nPeriod=1s\n")
                          PUT(ALPHA ".d/.a.conf", "[Policy]\nPeriod=1s\n") },
        { "reset by an empty value", "Period", "250ms", "default",
          POLICY("Period=1s\nMinCores=2\n") PUT(ALPHA ".d/a.conf", "[Policy]\nPeriod=\n") },
        { "what is not reset stays", "MinCores", "2", AT_ALPHA ":3",
          POLICY("Period=1s\nMinCores=2\n") PUT(ALPHA ".d/a.conf", "[Policy]\nPeriod = \t\n") },
        { "set after a reset", "Period", "3s", AT_ALPHA ".d/b.conf:3",
          POLICY("Period=1s\n") PUT(ALPHA ".d/a.conf", "[Policy]\nPeriod=\n")
                  PUT(ALPHA ".d/b.conf", "\n[Policy]\nPeriod=3s\n") },
        { "comments and white space", "Period", "1s", AT_ALPHA ":6",
          USE PUT(ALPHA, "# a\n; b\n\n  [Policy]  \r\n \t# c = d\n\tPeriod  =  1s  \r\n") },
        { "section twice", "Period", "1s", AT_ALPHA ":4",
          POLICY("MinCores=2\n[Policy]\nPeriod=1s\n") },
        { "text is taken as it is", "Text", "\\s a = [b] # \"c\" größer", AT_ALPHA ":2",
          POLICY("Text=\\s a = [b] # \"c\" größer\n") },
        { "bounds that fit together only in the end", "MinCores", "9", AT_ALPHA ":2",
          POLICY("MinCores=9\n") PUT(ALPHA ".d/a.conf", "[Policy]\nMaxCores=16\n") },
        { "files of inactive policies are not read", "Period", "250ms", "default",
          USE PUT("etc/idled/policies/beta.conf", "garbage") },
};

static void check_value(const char *section_name, const char *key, const char *value,
                        const char *source)
{
        const Section *section = config_section(config, section_name);
        const Setting *row;
        g_autofree char *text = NULL, *from = NULL;
        Source s;

        ck_assert_msg(section, "there is no section %s", section_name);
        row = setting_find(section->rows, section->rows[0].section, key);
        text = setting_format(row, section->options);
        s = section_source(section, key);
        from = source_format(&s);
        ck_assert_str_eq(text, value);
        ck_assert_str_eq(from, source);
}

TEST_EACH(accepted, good)
{
        put_all(c->files);
        load_good();
        check_value("alpha", c->key, c->value, c->source);
}

TEST(link_to_null)
{
        g_autofree char *full = scratch_path(ALPHA ".d/a.conf");

        put_all(USE);
        put(VENDOR ".d/a.conf", "[Policy]\nPeriod=1s\n");
        ck_assert_int_eq(symlink("/dev/null", full), 0);
        load_good();
        check_value("alpha", "Period", "250ms", "default");
}

TEST(rank)
{
        const IdledPolicy *first, *second;

        put(IDLED,
            "[Daemon]\nPolicies=beta alpha\nLogDecisions=yes\n[Park]\nExclude=a.slice b.slice");
        load_good();
        ck_assert_uint_eq(config->policies->len, 2);
        first = g_ptr_array_index(config->policies, 0);
        second = g_ptr_array_index(config->policies, 1);
        ck_assert_str_eq(first->name, "beta");
        ck_assert_str_eq(second->name, "alpha");
        ck_assert_ptr_eq(config_section(config, "beta")->policy, first);
        ck_assert_ptr_null(config_section(config, "gamma"));
        check_value("Daemon", "LogLevel", "info", "default");
        check_value("Daemon", "LogDecisions", "yes", AT_IDLED ":3");
        check_value("Park", "Exclude", "a.slice b.slice", AT_IDLED ":5");
        ck_assert_int_eq(((DaemonOptions *)config_section(config, "Daemon")->options)->log_level,
                         6);
}

TEST(root_in_paths)
{
        paths.root_path = "/srv/tree";
        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        load_good();
        check_value("Daemon", "Policies", "alpha", "/srv/tree" AT_IDLED ":2");
}

TEST(absolute_directory)
{
        g_autofree char *dir = scratch_path("elsewhere"), *expected = NULL;

        paths.root_path = "/srv/tree";
        paths.admin_dir = dir;
        put("elsewhere/idled.conf", "[Daemon]\nPolicies=alpha\n");
        load_good();
        expected = g_strdup_printf("%s/idled.conf:2", dir);
        check_value("Daemon", "Policies", "alpha", expected);
}

/* Set in this order, on alpha with MaxCores=4 and Period=1s in its file. */
static const struct {
        const char *section, *key, *text;
        int error;
        const char *value, *message; /* the value after it; NULL: not looked at */
} sets[] = {
        { "alpha", "Period", "2s", 0, "2s", NULL },
        { "alpha", "Period", "1o0ms", -EINVAL, "2s",
          "Period: found \"1o0ms\", expected a duration from 10ms to 10s, such as 250ms" },
        { "alpha", "Period", "1h", -ERANGE, "2s",
          "Period: found \"1h\", expected a duration from 10ms to 10s, such as 250ms" },
        { "alpha", "Period", " ", 0, "1s", NULL },
        { "alpha", "MinCores", "5", -EINVAL, "1",
          "MinCores: found \"5\", which is greater than MaxCores (found \"4\")" },
        { "alpha", "MaxCores", "6", 0, "6", NULL },
        { "alpha", "MinCores", "5", 0, "5", NULL },
        { "alpha", "MaxCores", "", -EINVAL, "6",
          "MinCores: found \"5\", which is greater than MaxCores (found \"4\")" },
        { "alpha", "Share", "50%", 0, "50%", NULL },
        { "alpha", "Share", "", 0, "80%", NULL },
        { "alpha", "Words", "x y z", 0, "x y z", NULL },
        { "Daemon", "LogLevel", "debug", 0, "debug", NULL },
        { "Daemon", "Policies", "beta", -EOPNOTSUPP, "alpha",
          "Policies: can only be changed in idled.conf" },
        { "Evaluate", "PowerTable", "/etc/passwd", -EOPNOTSUPP, "",
          "PowerTable: can only be changed in idled.conf" },
        { "alpha", "Perod", "1s", -ENOENT, NULL,
          "Perod: found an unknown key, expected one of [alpha] (did you mean Period?)" },
        { "beta", "Period", "1s", -ENOENT, NULL,
          "found section \"beta\", expected a section of idled.conf or an "
          "active policy" },
        { "Alpha", "Period", "1s", -ENOENT, NULL,
          "found section \"Alpha\", expected a section of idled.conf or an active policy "
          "(did you mean alpha?)" },
        { "Policy", "Period", "1s", -ENOENT, NULL,
          "found section \"Policy\", expected a section of idled.conf or an "
          "active policy" },
};

TEST(set_at_run_time)
{
        const void *options;

        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        put(ALPHA, "[Policy]\nMaxCores=4\nPeriod=1s\n");
        load_good();
        options = config_section(config, "alpha")->options;
        for (size_t i = 0; i < G_N_ELEMENTS(sets); i++) {
                typeof(sets[0]) *c = &sets[i];
                g_autofree char *error = NULL, *text = NULL;
                const Section *section = config_section(config, c->section);
                int r = config_set(config, c->section, c->key, c->text, &error);

                ck_case(c->key, r == c->error, "[%zu] returned %d (%s), expected %d", i, r,
                        error ? error : "", c->error);
                if (c->message)
                        ck_assert_str_eq(error, c->message);
                if (!c->value)
                        continue;
                text = setting_format(setting_find(section->rows, section->rows[0].section, c->key),
                                      section->options);
                ck_assert_str_eq(text, c->value);
        }
        ck_assert_ptr_eq(options, config_section(config, "alpha")->options);
        check_value("alpha", "Period", "1s", AT_ALPHA ":3");
        check_value("alpha", "MaxCores", "6", "set over D-Bus");
        check_value("alpha", "Share", "80%", "default");
}

static void set(const char *section, const char *key, const char *text)
{
        g_autofree char *error = NULL;

        ck_assert_msg(config_set(config, section, key, text, &error) == 0, "%s", error);
}

static void reload_files(void)
{
        g_autoptr(Config) old = g_steal_pointer(&config);

        load_good();
        config_adopt_runtime(config, old);
}

TEST(reload)
{
        put(IDLED, "[Daemon]\nPolicies=alpha beta\n");
        put(ALPHA, "[Policy]\nMaxCores=4\n");
        load_good();
        set("alpha", "MaxCores", "20");
        set("alpha", "MinCores", "10");
        set("alpha", "Period", "2s");
        set("beta", "Period", "3s");
        set("Daemon", "LogLevel", "debug");

        put(IDLED, "[Daemon]\nPolicies=alpha\nLogLevel=err\n");
        put(ALPHA, "[Policy]\nMaxCores=5\nPeriod=5s\n");
        reload_files();
        check_value("alpha", "MaxCores", "20", "set over D-Bus");
        check_value("alpha", "MinCores", "10", "set over D-Bus");
        check_value("alpha", "Period", "2s", "set over D-Bus");
        check_value("Daemon", "LogLevel", "debug", "set over D-Bus");
        ck_assert_ptr_null(config_section(config, "beta"));
        set("alpha", "Period", "");
        check_value("alpha", "Period", "5s", AT_ALPHA ":3");
}

/* What was set at run time and contradicts the new files is given up. */
TEST(reload_conflict)
{
        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        load_good();
        set("alpha", "MinCores", "8");
        put(ALPHA, "[Policy]\nMaxCores=5\n");
        reload_files();
        check_value("alpha", "MinCores", "1", "default");
        check_value("alpha", "MaxCores", "5", AT_ALPHA ":2");
}

/* A source is good for as long as the program runs, not only as the configuration. */
TEST(source_outlives)
{
        Source source;
        g_autofree char *text = NULL;

        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        load_good();
        source = section_source(config_section(config, "Daemon"), "Policies");
        g_clear_pointer(&config, config_free);
        text = source_format(&source);
        ck_assert_str_eq(text, AT_IDLED ":2");
}

UNIT("config", .setup = set_up, .teardown = tear_down)
