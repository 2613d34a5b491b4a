/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Profiles: where they stand between files and run time, what they include, and going from one to
 * another.
 */
#include "base/setting-value.h"
#include "config-tree.h"
#include "config/profile.h"

#define MINE    "etc/idled/profiles/mine.conf"
#define OTHER   "etc/idled/profiles/other.conf"
#define VENDOR  "usr/lib/idled/profiles/mine.conf"
#define AT_MINE "/" MINE
#define PERIOD  "[alpha]\nPeriod="

/* What an option of alpha is with profile "mine", as KEY=VALUE (SOURCE). */
static const struct {
        const char *name;
        const char *key, *value, *source;
        const char *files; /* for put_all() */
} layers[] = {
        { "over the default", "Period", "2s", AT_MINE ":2", USE PUT(MINE, PERIOD "2s") },
        { "over the policy's file", "Period", "2s", AT_MINE ":2",
          POLICY("Period=1s\n") PUT(MINE, PERIOD "2s") },
        { "other options are the file's", "MinCores", "2", AT_ALPHA ":2",
          POLICY("MinCores=2\n") PUT(MINE, PERIOD "2s") },
        { "says nothing", "Period", "1s", AT_ALPHA ":2", POLICY("Period=1s\n") PUT(MINE, "") },
        { "empty value says nothing", "Period", "1s", AT_ALPHA ":2",
          POLICY("Period=1s\n") PUT(MINE, PERIOD "\n") },
        { "vendor's", "Period", "2s", "/" VENDOR ":2", USE PUT(VENDOR, PERIOD "2s") },
        { "administrator's in place of the vendor's", "MinCores", "1", "default",
          USE PUT(VENDOR, PERIOD "2s\nMinCores=3\n") PUT(MINE, PERIOD "3s") },
        { "drop-in over the file", "Period", "3s", AT_MINE ".d/a.conf:2",
          USE PUT(VENDOR, PERIOD "2s\n") PUT(MINE ".d/a.conf", PERIOD "3s") },
        { "drop-in takes a value back", "Period", "250ms", "default",
          USE PUT(VENDOR, PERIOD "2s\n") PUT(MINE ".d/a.conf", PERIOD "\n") },
        { "included", "Period", "4s", "/" OTHER ":2",
          USE PUT(OTHER, PERIOD "4s") PUT(MINE, "[Profile]\nInclude=other\n") },
        { "over what is included, wherever Include= stands", "Period", "2s", AT_MINE ":2",
          USE PUT(OTHER, PERIOD "4s\nMinCores=3\n")
                  PUT(MINE, PERIOD "2s\n[Profile]\nInclude=other\n") },
        { "rest of the included profile", "MinCores", "3", "/" OTHER ":3",
          USE PUT(OTHER, PERIOD "4s\nMinCores=3\n")
                  PUT(MINE, PERIOD "2s\n[Profile]\nInclude=other\n") },
        { "empty value over what is included", "Period", "1s", AT_ALPHA ":2",
          POLICY("Period=1s\n") PUT(OTHER, PERIOD "4s")
                  PUT(MINE, PERIOD "\n[Profile]\nInclude=other\n") },
        { "later of two included", "Period", "5s", "/etc/idled/profiles/third.conf:2",
          USE PUT(OTHER, PERIOD "4s") PUT("etc/idled/profiles/third.conf", PERIOD "5s")
                  PUT(MINE, "[Profile]\nInclude=other third\n") },
        { "included by what is included", "Period", "5s", "/etc/idled/profiles/third.conf:2",
          USE PUT(OTHER, "[Profile]\nInclude=third\n")
                  PUT("etc/idled/profiles/third.conf", PERIOD "5s")
                          PUT(MINE, "[Profile]\nInclude=other\n") },
        { "one that is included twice is no circle", "Period", "5s",
          "/etc/idled/profiles/third.conf:2",
          USE PUT(OTHER, "[Profile]\nInclude=third\n")
                  PUT("etc/idled/profiles/third.conf", PERIOD "5s")
                          PUT(MINE, "[Profile]\nInclude=other third\n") },
        { "drop-in changes what is included", "Period", "250ms", "default",
          USE PUT(OTHER, PERIOD "4s") PUT(MINE, "[Profile]\nInclude=other\n")
                  PUT(MINE ".d/a.conf", "[Profile]\nInclude=\n") },
        { "options of an inactive policy", "Period", "250ms", "default",
          USE PUT(MINE, "[beta]\nPeriod=9s\nMinCores=9\n") },
        { "fits only with the policy's file", "MinCores", "9", AT_MINE ":2",
          POLICY("MaxCores=16\n") PUT(MINE, "[alpha]\nMinCores=9\n") },
};

static void check_value(const char *key, const char *value, const char *source)
{
        const Section *section = config_section(config, "alpha");
        g_autofree char *text = setting_format(setting_find(section->rows, "Policy", key),
                                               section->options);
        Source s = section_source(section, key);
        g_autofree char *from = source_format(&s);

        ck_assert_str_eq(text, value);
        ck_assert_str_eq(from, source);
}

/* Returns what config_use_profile() does, 1 if options changed; its error must be `error`. */
static int use(const char *name, const char *error)
{
        const Profile *profile = config_profile(config, name);
        g_autofree char *found = NULL;
        int r;

        ck_assert_msg(profile, "there is no profile %s", name);
        r = config_use_profile(config, profile, &found);
        ck_assert_pstr_eq(found, error);
        ck_assert((r == -EINVAL) == (found != NULL));
        return r;
}

TEST_EACH(layered, layers)
{
        put_all(c->files);
        load_good();
        use("mine", NULL);
        check_value(c->key, c->value, c->source);
}

TEST(list)
{
        g_autofree char *names = NULL;
        const Profile *profile;

        put_all(USE);
        put("usr/lib/idled/profiles/performance.conf", "[Profile]\nSummary=Fast, not frugal\n");
        put("etc/idled/profiles/power-saver.conf", "");
        put("etc/idled/profiles/1st.conf", "");
        put("etc/idled/profiles/.hidden.conf", "[nonsense]");
        put("etc/idled/profiles/README", "nonsense");
        put(MINE, "[Profile]\nInclude=1st performance\n");
        load_good();
        names = config_profile_names(config);
        ck_assert_str_eq(names, "power-saver, balanced, performance, 1st, mine");
        profile = config_profile(config, "performance");
        ck_assert_str_eq(profile->summary, "Fast, not frugal");
        ck_assert_str_eq(profile->file, "/usr/lib/idled/profiles/performance.conf");
        ck_assert_str_eq(profile->family, "performance");
        ck_assert_ptr_null(config_profile(config, "balanced")->file);
        ck_assert_str_eq(config_profile(config, "1st")->family, "balanced");
        ck_assert_str_eq(config_profile(config, "mine")->family, "performance");
        ck_assert_ptr_null(config_profile(config, "auto"));
}

static void set(const char *key, const char *text)
{
        g_autofree char *error = NULL;

        ck_assert_msg(config_set(config, "alpha", key, text, &error) == 0, "%s", error);
}

TEST(switching)
{
        const void *options;

        put(IDLED, "[Daemon]\nPolicies=alpha beta\n");
        put(ALPHA, "[Policy]\nPeriod=1s\n");
        put(MINE, PERIOD "2s\nWords=a b c\n[beta]\nText=from mine\n");
        put(OTHER, "[beta]\nText=none\n");
        load_good();
        options = config_section(config, "alpha")->options;
        ck_assert_int_eq(use("mine", NULL), 1);
        ck_assert_int_eq(use("mine", NULL), 0);
        check_value("Words", "a b c", AT_MINE ":3");
        ck_assert_int_eq(use("balanced", NULL), 1);
        check_value("Words", "one two", "default");
        check_value("Period", "1s", AT_ALPHA ":2");
        ck_assert_int_eq(use("other", NULL), 0);
        ck_assert_ptr_eq(config->profile, config_profile(config, "other"));
        ck_assert_ptr_eq(options, config_section(config, "alpha")->options);
}

TEST(run_time_is_stronger)
{
        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        put(MINE, PERIOD "2s\n");
        load_good();
        set("Period", "3s");
        ck_assert_int_eq(use("mine", NULL), 0);
        check_value("Period", "3s", "set over D-Bus");
        set("Period", "");
        check_value("Period", "2s", AT_MINE ":2");
        use("balanced", NULL);
        check_value("Period", "250ms", "default");
}

TEST(impossible_with_run_time)
{
        put(IDLED, "[Daemon]\nPolicies=beta alpha\n");
        put(MINE, "[alpha]\nMaxCores=3\n[beta]\nPeriod=9s\n");
        put(OTHER, PERIOD "4s\n");
        load_good();
        use("other", NULL);
        set("MinCores", "5");
        ck_assert_int_eq(
                use("mine", "MinCores: found \"5\", which is greater than MaxCores (found \"3\")"),
                -EINVAL);
        ck_assert_ptr_eq(config->profile, config_profile(config, "other"));
        ck_assert_ptr_eq(config_section(config, "beta")->profile, config->profile);
        check_value("MaxCores", "8", "default");
        check_value("Period", "4s", "/" OTHER ":2");
        set("MinCores", "");
        ck_assert_int_eq(use("mine", NULL), 1);
        check_value("MaxCores", "3", AT_MINE ":2");
}

/* Names of profiles can be set at run time only if there are such. */
TEST(defaults_at_run_time)
{
        g_autofree char *error = NULL;
        const DaemonOptions *options;

        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        put(MINE, "");
        load_good();
        options = config_section(config, "Daemon")->options;
        ck_assert_int_eq(config_set(config, "Daemon", "ProfileAC", " mine ", &error), 0);
        ck_assert_str_eq(options->profile_ac, "mine");
        ck_assert_int_eq(config_set(config, "Daemon", "ProfileAC", "mime\n", &error), -EINVAL);
        ck_assert_str_eq(error,
                         "ProfileAC: found \"mime\", expected a profile: balanced, mine (did "
                         "you mean mine?)");
        ck_assert_str_eq(options->profile_ac, "mine");
        ck_assert_int_eq(config_set(config, "Daemon", "ProfileAC", "", &error), 0);
        ck_assert_str_eq(options->profile_ac, "");
}

TEST(absent_cpus)
{
        g_autoptr(GPtrArray) warnings = config_errors_new();
        g_autofree char *text = NULL;
        CpuSet possible = { 0 };

        cpuset_add(&possible, 0);
        put(IDLED, "[Daemon]\nPolicies=alpha\n");
        put(MINE, "[alpha]\nCpus=0,4\n");
        put(OTHER, "[Profile]\nInclude=mine\n");
        load_good();
        config_find_absent(config, &possible, warnings);
        ck_assert_uint_eq(warnings->len, 1);
        text = config_error_format(warnings->pdata[0]);
        ck_assert_str_eq(text, AT_MINE
                         ":2: Cpus: found CPU 4, which this machine does not have, expected "
                         "some of 0");
}

TEST(unread)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autofree char *first = NULL, *second = NULL;

        put(MINE, "");
        put("etc/idled/profiles/balanced.conf.d/a.conf", "");
        put("etc/idled/profiles/mien.conf.d/a.conf", "");
        put("etc/idled/profiles/notes", "");
        config_find_unread(&paths, errors);
        ck_assert_uint_eq(errors->len, 2);
        first = config_error_format(errors->pdata[0]);
        second = config_error_format(errors->pdata[1]);
        ck_assert_str_eq(first, "/etc/idled/profiles/mien.conf.d: is never read, expected the name "
                                "of a profile (did you mean mine.conf.d?)");
        ck_assert_str_eq(second, "/etc/idled/profiles/notes: is never read, expected a name that "
                                 "ends in .conf");
}

UNIT("profile", .setup = set_up, .teardown = tear_down)
