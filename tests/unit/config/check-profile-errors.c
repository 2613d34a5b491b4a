/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors of profiles: every kind of mistake with its exact message. */
#include "config-tree.h"
#include "config/profile.h"

#define MINE    "etc/idled/profiles/mine.conf"
#define OTHER   "etc/idled/profiles/other.conf"
#define AT_MINE "/" MINE
#define PERIOD  "[alpha]\nPeriod="

#define ALL                                                                                        \
        "alpha, beta, wrong-abi, wrong-align, wrong-bounds, wrong-check, wrong-choices, "          \
        "wrong-decide, wrong-default, wrong-end, wrong-help, wrong-key, wrong-name, "              \
        "wrong-offset, wrong-section, wrong-size, wrong-symbol, wrong-twice, wrong-type"

static const struct {
        const char *name;
        File files[N_FILES];
        const char *errors;
} bad[] = {
        { "value",
          { USE, { MINE, PERIOD "fast\n" } },
          AT_MINE
          ":2: Period: found \"fast\", expected a duration from 10ms to 10s, such as 250ms" },
        { "value of an inactive policy",
          { USE, { MINE, "[beta]\nPeriod=1h\n" } },
          AT_MINE ":2: Period: found \"1h\", expected a duration from 10ms to 10s, such as 250ms" },
        { "value in a drop-in",
          { USE, { MINE, "" }, { MINE ".d/a.conf", "[alpha]\nEager=maybe\n" } },
          AT_MINE ".d/a.conf:2: Eager: found \"maybe\", expected yes or no" },
        { "key",
          { USE, { MINE, "[alpha]\nPeriot=1s\n" } },
          AT_MINE
          ":2: Periot: found an unknown key, expected one of [alpha] (did you mean Period?)" },
        { "key of [Profile]",
          { USE, { MINE, "[Profile]\nIncluse=a\nPeriod=1s\n" } },
          AT_MINE ":2: Incluse: found an unknown key, expected one of [Profile] (did you mean "
                  "Include?)\n" AT_MINE ":3: Period: found an unknown key, expected one of "
                  "[Profile]: Summary, Include" },
        { "section",
          { USE, { MINE, "[alpa]\nPeriod=1s\n" } },
          AT_MINE ":1: found section [alpa], expected [Profile] or a policy: " ALL
                  " (did you mean alpha?)" },
        { "section of a policy's own file",
          { USE, { MINE, "[Profil]\n" } },
          AT_MINE ":1: found section [Profil], expected [Profile] or a policy: " ALL
                  " (did you mean Profile?)" },
        { "section of the daemon",
          { USE, { MINE, "[Daemon]\nLogLevel=info\n" } },
          AT_MINE ":1: found section [Daemon], expected [Profile] or a policy: " ALL },
        { "section that is a path",
          { USE, { MINE, "[../alpha]\n" } },
          AT_MINE ":1: found section [../alpha], expected [Profile] or a policy: " ALL
                  " (did you mean alpha?)" },
        { "policy that cannot be loaded",
          { USE, { MINE, "[wrong-decide]\n" } },
          AT_MINE ":1: found section [wrong-decide], but MODULES/wrong-decide.so: found no "
                  "summary, settings or decide(), expected all three" },
        { "contradiction",
          { USE, { MINE, "[alpha]\n\nMinCores=9\n" } },
          AT_MINE ":3: MinCores: found \"9\", which is greater than MaxCores (in profile mine)" },
        { "contradiction with the policy's file",
          { USE, { ALPHA, "[Policy]\nMinCores=4\n" }, { MINE, PERIOD "1s\nMaxCores=3\n" } },
          AT_MINE ":2: MinCores: found \"4\", which is greater than MaxCores (in profile mine)" },
        { "contradiction by including",
          { USE,
            { OTHER, "[alpha]\nMinCores=4\n" },
            { MINE, "[Profile]\nInclude=other\n[alpha]\nMaxCores=3\n" } },
          "/" OTHER ":2: MinCores: found \"4\", which is greater than MaxCores (in profile mine)" },
        { "unknown profile included",
          { USE, { MINE, "[Profile]\nInclude=balanced othr\n" }, { OTHER, "" } },
          AT_MINE ":2: Include: found \"othr\", expected a profile: balanced, mine, other (did you "
                  "mean other?)" },
        { "includes itself",
          { USE, { MINE, "[Profile]\nInclude=mine\n" } },
          AT_MINE ":2: Include: found \"mine\", expected no circle: mine includes mine" },
        { "circle",
          { USE,
            { MINE, "[Profile]\nInclude=other\n" },
            { OTHER, "\n[Profile]\nInclude=third\n" },
            { "etc/idled/profiles/third.conf", "[Profile]\nInclude=mine\n" } },
          "/etc/idled/profiles/third.conf:2: Include: found \"mine\", expected no circle: mine "
          "includes other includes third includes mine" },
        { "circle that others lead to",
          { USE,
            { "etc/idled/profiles/a.conf", "[Profile]\nInclude=other\n" },
            { OTHER, "[Profile]\nInclude=third\n" },
            { "etc/idled/profiles/third.conf", "[Profile]\nInclude=other\n" } },
          "/etc/idled/profiles/third.conf:2: Include: found \"other\", expected no circle: other "
          "includes third includes other" },
        { "name of a file",
          { USE, { "etc/idled/profiles/my profile.conf", "" } },
          "/etc/idled/profiles/my profile.conf: found a name that no profile can have, expected "
          "letters, digits, - and _, at most 64, and not auto" },
        { "reserved name",
          { USE, { "usr/lib/idled/profiles/auto.conf", "" } },
          "/etc/idled/profiles/auto.conf: found a name that no profile can have, expected letters, "
          "digits, - and _, at most 64, and not auto" },
        { "default that does not exist",
          { USE,
            { IDLED ".d/a.conf", "[Daemon]\nProfileAC=balanced\nProfileBattery=mien\n" },
            { MINE, "" } },
          AT_IDLED
          ".d/a.conf:3: ProfileBattery: found \"mien\", expected a profile: balanced, mine "
          "(did you mean mine?)" },
        { "errors of all profiles",
          { USE, { OTHER, "[alpha]\nFoo=1\n" }, { MINE, PERIOD "x\n" } },
          AT_MINE
          ":2: Period: found \"x\", expected a duration from 10ms to 10s, such as 250ms\n/" OTHER
          ":2: Foo: found an unknown key, expected one of [alpha]: Period, MinCores, "
          "MaxCores, Share, Order, Cpus, Text, Words, Eager" },
};

START_TEST(refused)
{
        typeof(bad[0]) *c = &bad[_i];
        g_autofree char *errors = NULL;
        Config *config = NULL;

        put_all(c->files);
        errors = load(&config);
        config_free(config);
        ck_assert_pstr_eq(errors, c->errors);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("profile-errors");
        TCase *tcase = tcase_create("profile-errors");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_loop_test(tcase, refused, 0, G_N_ELEMENTS(bad));
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
