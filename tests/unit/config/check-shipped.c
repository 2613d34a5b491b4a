/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration that is installed: it loads, and it has every option of every table, with the
 * table's default, commented, below its line of help.
 */
#include "base/file.h"
#include "base/setting-value.h"
#include "config/app.h"
#include "config/profile.h"
#include "table.h"
#include "temporary.h"
#include "stats/evaluator.h"

static GPtrArray *errors;

static void set_up(void)
{
        errors = config_errors_new();
}

static void tear_down(void)
{
        g_ptr_array_unref(errors);
}

static char *read_shipped(const char *name)
{
        g_autofree char *path = g_build_filename(g_getenv("CONF"), name, NULL);
        char *text;

        ck_assert_msg(g_file_get_contents(path, &text, NULL, NULL), "%s cannot be read", path);
        return text;
}

static void load_from(const char *vendor_dir)
{
        const ConfigPaths paths = { .root = root_open("/"),
                                    .vendor_dir = vendor_dir,
                                    .admin_dir = "nonexistent",
                                    .policy_dir = g_getenv("POLICIES") };
        g_autoptr(Config) config = NULL;
        int r = config_load(&paths, errors, &config);

        if (r < 0) {
                g_autofree char *error = config_error_format(g_ptr_array_index(errors, 0));

                ck_abort_msg("%s", error);
        }
        ck_assert_uint_eq(config->policies->len, 6);
        close(paths.root);
}

TEST(loads)
{
        load_from(g_getenv("CONF"));
}

static const char *const profiles[] = { "power-saver", "balanced", "performance", "latency" };

/* The shipped configuration and one file of the administrator. */
static Config *load_with(const char *name, const char *text)
{
        g_autofree char *dir = temporary_make(g_get_tmp_dir());
        g_autofree char *path = g_build_filename(dir, name, NULL);
        g_autofree char *parent = g_path_get_dirname(path);
        const ConfigPaths paths = { .root = root_open("/"),
                                    .vendor_dir = g_getenv("CONF"),
                                    .admin_dir = dir,
                                    .policy_dir = g_getenv("POLICIES") };
        Config *config = NULL;

        ck_assert_int_eq(g_mkdir_with_parents(parent, 0755), 0);
        ck_assert(g_file_set_contents(path, text, -1, NULL));
        if (config_load(&paths, errors, &config) < 0)
                ck_abort_msg("%s", ((const ConfigError *)errors->pdata[0])->message);
        close(paths.root);
        temporary_remove(dir);
        return config;
}

/* Extreme but valid options of a policy: the shipped profiles must load next to them. */
static const struct {
        const char *policy, *text;
} extremes[] = {
        { "ondemand", "MaxCores=2\n" },
        { "ondemand", "MinCores=8192\n" },
        { "ondemand", "MinCores=8\nMaxCores=8\n" },
        { "ondemand", "DownThreshold=5%\nTargetUtilization=5%\nUpThreshold=5%\n" },
        { "cpufreq", "MinFrequency=max\nMaxFrequency=max\nGovernor=powersave\nBoost=off\n" },
        { "cstates", "DeepestState=C6\nUtilizationAware=yes\n" },
        { "ondemand", "DownThreshold=100%\nTargetUtilization=100%\nUpThreshold=100%\n" },
};

TEST_EACH(profiles_fit, extremes)
{
        g_autofree char *name = g_strdup_printf("policies/%s.conf", c->policy);
        g_autofree char *text = g_strconcat("[Policy]\n", c->text, NULL), *error = NULL;
        g_autoptr(Config) config = load_with(name, text);

        for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++) {
                const Profile *profile = config_profile(config, profiles[i]);

                ck_assert_msg(profile && *profile->summary, "%s", profiles[i]);
                ck_assert_int_ge(config_use_profile(config, profile, &error), 0);
        }
}

/* The shipped profiles load and can be chosen with any active policies, although they have options
 * of others. */
static const char *const active[] = { "ondemand",        "cpufreq",
                                      "cstates",         "latency",
                                      "userspace",       "userspace cpufreq cstates latency",
                                      "ondemand latency" };

TEST_EACH(profiles_without_policies, active)
{
        g_autofree char *text = g_strdup_printf("[Daemon]\nPolicies=%s\n", active[_i]);
        g_autoptr(Config) config = load_with("idled.conf.d/a.conf", text);
        g_autofree char *error = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(profiles); i++)
                ck_case(profiles[i],
                        config_use_profile(config, config_profile(config, profiles[i]), &error) >=
                                0,
                        "%s", error);
}

/* balanced leaves everything but a contract to the policies' own files. */
TEST(balanced_has_a_contract)
{
        const ConfigPaths paths = { .root = root_open("/"),
                                    .vendor_dir = g_getenv("CONF"),
                                    .admin_dir = "nonexistent",
                                    .policy_dir = g_getenv("POLICIES") };
        g_autoptr(Config) config = NULL;
        GHashTable *values;

        ck_assert_int_eq(config_load(&paths, errors, &config), 0);
        values = config_profile(config, "balanced")->values;
        ck_assert_uint_eq(g_hash_table_size(values), 1);
        ck_assert(g_hash_table_contains(values, "contract\nWakeupP99"));
        ck_assert_str_eq(config_profile(config, "latency")->family, "performance");
        close(paths.root);
}

/* True for "#Key=value", which is an option that has its default. */
static bool is_default(const char *line)
{
        return line[0] == '#' && g_ascii_isupper(line[1]) && strchr(line, '=');
}

/* The commented defaults, taken at their word, are a configuration too. */
TEST(loads_uncommented)
{
        static const char *const files[] = { "idled.conf",
                                             "policies/cpufreq.conf",
                                             "policies/cstates.conf",
                                             "policies/latency.conf",
                                             "policies/ondemand.conf",
                                             "policies/userspace.conf",
                                             "apps/example.conf" };
        g_autofree char *dir = temporary_make(g_get_tmp_dir());
        g_autofree char *policies = g_build_filename(dir, "policies", NULL);

        g_autofree char *apps = g_build_filename(dir, "apps", NULL);

        ck_assert_int_eq(g_mkdir_with_parents(policies, 0755), 0);
        ck_assert_int_eq(g_mkdir_with_parents(apps, 0755), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *text = read_shipped(files[i]), *bare = NULL;
                g_autofree char *path = g_build_filename(dir, files[i], NULL);
                g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

                for (char **line = lines; *line; line++)
                        if (is_default(*line))
                                memmove(*line, *line + 1, strlen(*line));
                bare = g_strjoinv("\n", lines);
                ck_assert(g_file_set_contents(path, bare, -1, NULL));
        }
        load_from(dir);
        temporary_remove(dir);
}

/* The part of the text that belongs to "[section]". */
static char *section_text(const char *text, const char *section)
{
        g_autofree char *heading = g_strdup_printf("\n[%s]\n", section);
        const char *start = strstr(text, heading), *end;

        ck_assert_msg(start, "there is no section [%s]", section);
        start += strlen(heading);
        end = strstr(start, "\n[");
        return end ? g_strndup(start, (gsize)(end - start)) : g_strdup(start);
}

/* "# HELP", perhaps more lines of comment, "#KEY=DEFAULT". */
static void check_row(const char *text, const Setting *row)
{
        g_autofree char *help = g_strdup_printf("# %s\n", row->help);
        g_autofree char *line = g_strdup_printf("#%s=%s", row->key, row->fallback);
        const char *at = strstr(text, help);

        ck_assert_msg(at, "%s: its help is missing: %s", row->key, row->help);
        while (g_str_has_prefix(at, "# "))
                at = strchr(at, '\n') + 1;
        ck_assert_msg(g_str_has_prefix(at, line) && strchr("\n", at[strlen(line)]),
                      "%s: below its help is not \"%s\"", row->key, line);
}

static void check_table(const char *file, const Setting *rows, const char *section)
{
        g_autofree char *all = read_shipped(file), *text = section_text(all, section);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        int n_rows = 0, n_lines = 0;

        for (const Setting *row = rows; row->key; row++) {
                if (g_str_equal(row->section, "State"))
                        continue;
                check_row(text, row);
                n_rows++;
        }
        for (char **line = lines; *line; line++)
                n_lines += is_default(*line);
        ck_assert_msg(n_rows == n_lines, "%s [%s]: %d options, expected %d", file, section, n_lines,
                      n_rows);
}

TEST(daemon_options)
{
        check_table("idled.conf", daemon_settings, "Daemon");
        check_table("idled.conf", park_settings, "Park");
        check_table("idled.conf", evaluate_settings, "Evaluate");
        check_table("idled.conf", frequency_settings, "Frequency");
        check_table("idled.conf", idle_states_settings, "IdleStates");
        check_table("idled.conf", latency_settings, "Latency");
        check_table("idled.conf", interrupt_settings, "Interrupts");
        check_table("idled.conf", housekeeping_settings, "Housekeeping");
}

/* The example has every key with its help; values are examples, which load when uncommented. */
TEST(app_options)
{
        g_autofree char *text = read_shipped("apps/example.conf");

        for (const Setting *row = app_settings; row->key; row++) {
                g_autofree char *lines = g_strdup_printf("# %s\n#%s=", row->help, row->key);

                ck_assert_msg(strstr(text, lines), "%s: not there with its help", row->key);
        }
}

TEST(policy_options)
{
        g_auto(GStrv) names = policy_list(g_getenv("POLICIES"));

        ck_assert_uint_ge(g_strv_length(names), 2);
        for (char **name = names; *name; name++) {
                g_autofree char *file = g_strdup_printf("policies/%s.conf", *name), *error = NULL;
                const IdledPolicy *policy;

                ck_assert_msg(policy_load(g_getenv("POLICIES"), *name, &policy, &error) == 0, "%s",
                              error);
                check_table(file, policy->settings, "Policy");
        }
}

UNIT("shipped", .setup = set_up, .teardown = tear_down)
