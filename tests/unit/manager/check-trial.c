/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trial as data: its policies and options.
 */
#include "manager/trial.h"
#include "table.h"

static Trial *make(void)
{
        char name[] = "ondemand", value[] = "2";
        const TrialPolicy both[] = { { name, false }, { "cpufreq", true } };
        const OptionValue values[] = { { name, "MinCores", value }, { "Park", "Backend", "" } };
        g_autoptr(GArray) policies = g_array_new(FALSE, FALSE, sizeof(TrialPolicy));
        g_autoptr(GArray) options = g_array_new(FALSE, FALSE, sizeof(OptionValue));
        Trial *trial;

        g_array_append_vals(policies, both, 2);
        g_array_append_vals(options, values, 2);
        trial = trial_new("user 0\n", ":1.5", "a\ttest", policies, options);
        memset(name, 'x', sizeof(name) - 1); /* it has copies */
        memset(value, 'x', sizeof(value) - 1);
        return trial;
}

static const struct {
        const char *name, *policy;
        int honoured;
} policies[] = {
        { "ignored", "ondemand", 0 },   { "honoured", "cpufreq", 1 },
        { "not named", "cstates", -1 }, { "the beginning of a name", "cpu", -1 },
        { "no name", "", -1 },
};

TEST_EACH(honours, policies)
{
        Trial *trial = make();
        int honoured = trial_honours(trial, c->policy);

        ck_case(c->name, honoured == c->honoured, "found %d, expected %d", honoured, c->honoured);
        ck_case(c->name, trial_honours(NULL, c->policy) == -1, "without a trial");
        trial_free(trial);
}

static const struct {
        const char *name, *section, *key;
        bool sets;
} options[] = {
        { "set", "ondemand", "MinCores", true },
        { "set to the value of the files", "Park", "Backend", true },
        { "another key", "ondemand", "MaxCores", false },
        { "another section", "Park", "MinCores", false },
};

TEST_EACH(sets, options)
{
        Trial *trial = make();

        ck_case(c->name, trial_sets(trial, c->section, c->key) == c->sets, "expected %d", c->sets);
        ck_case(c->name, !trial_sets(NULL, c->section, c->key), "without a trial");
        trial_free(trial);
}

TEST(is_a_clean_copy)
{
        Trial *trial = make();

        ck_assert_str_eq(trial->changes->options[0].value, "2");
        ck_assert_str_eq(trial->sender, ":1.5");
        ck_assert(!strpbrk(trial->owner, "\n") && !strpbrk(trial->reason, "\t"));
        ck_assert(!trial->changes->done[0] && !trial->changes->done[1]);
        trial_free(trial);
}

UNIT("trial")
