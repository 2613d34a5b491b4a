/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors of profiles: every kind of mistake, with its place, what was found and what
 * is valid. */
#include "config-tree.h"
#include "config/profile.h"

#define MINE    "etc/idled/profiles/mine.conf"
#define OTHER   "etc/idled/profiles/other.conf"
#define AT_MINE "/" MINE
#define PERIOD  "[alpha]\nPeriod="

static const struct {
        const char *name;
        File files[N_FILES];
        const char *errors; /* for says_lines(); NULL: accepted */
        unsigned lines;
} bad[] = {
        { "value",
          { USE, { MINE, PERIOD "fast\n" } },
          AT_MINE ":2: Period:|\"fast\"|10ms|10s|250ms" },
        { "value of an inactive policy",
          { USE, { MINE, "[beta]\nPeriod=1h\n" } },
          AT_MINE ":2: Period:|\"1h\"|10ms|10s|250ms" },
        { "value in a drop-in",
          { USE, { MINE, "" }, { MINE ".d/a.conf", "[alpha]\nEager=maybe\n" } },
          AT_MINE ".d/a.conf:2: Eager:|\"maybe\"|yes|no" },
        { "key", { USE, { MINE, "[alpha]\nPeriot=1s\n" } }, AT_MINE ":2: Periot:|alpha|Period" },
        { "key of [Profile]",
          { USE, { MINE, "[Profile]\nIncluse=a\nPeriod=1s\n" } },
          AT_MINE ":2: Incluse:|Profile|Include|" AT_MINE ":3: Period:",
          2 },
        { "section",
          { USE, { MINE, "[alpa]\nPeriod=1s\n" } },
          AT_MINE ":1:|alpa|Profile|alpha|" ALL },
        { "section of a policy's own file",
          { USE, { MINE, "[Profil]\n" } },
          AT_MINE ":1:|Profil|Profile|" ALL },
        { "section of the daemon",
          { USE, { MINE, "[Daemon]\nLogLevel=info\n" } },
          AT_MINE ":1:|Daemon|Profile|" ALL },
        { "section that is a path",
          { USE, { MINE, "[../alpha]\n" } },
          AT_MINE ":1:|../alpha|Profile|" ALL },
        { "policy that cannot be loaded",
          { USE, { MINE, "[wrong-decide]\n" } },
          AT_MINE ":1:|wrong-decide|decide()" },
        { "contradiction",
          { USE, { MINE, "[alpha]\n\nMinCores=9\n" } },
          AT_MINE ":3: MinCores:|\"9\"|MaxCores" },
        { "contradiction with the policy's file",
          { USE, { ALPHA, "[Policy]\nMinCores=4\n" }, { MINE, PERIOD "1s\nMaxCores=3\n" } },
          AT_MINE ":2: MinCores:|\"4\"|MaxCores" },
        { "contradiction by including",
          { USE,
            { OTHER, "[alpha]\nMinCores=4\n" },
            { MINE, "[Profile]\nInclude=other\n[alpha]\nMaxCores=3\n" } },
          "/" OTHER ":2: MinCores:|\"4\"|MaxCores" },
        { "unknown profile included",
          { USE, { MINE, "[Profile]\nInclude=balanced othr\n" }, { OTHER, "" } },
          AT_MINE ":2: Include:|\"othr\"|other" },
        { "includes itself",
          { USE, { MINE, "[Profile]\nInclude=mine\n" } },
          AT_MINE ":2: Include:|\"mine\"|circle|mine includes mine" },
        { "circle",
          { USE,
            { MINE, "[Profile]\nInclude=other\n" },
            { OTHER, "\n[Profile]\nInclude=third\n" },
            { "etc/idled/profiles/third.conf", "[Profile]\nInclude=mine\n" } },
          "/etc/idled/profiles/third.conf:2: Include:|\"mine\"|circle" },
        { "circle that others lead to",
          { USE,
            { "etc/idled/profiles/a.conf", "[Profile]\nInclude=other\n" },
            { OTHER, "[Profile]\nInclude=third\n" },
            { "etc/idled/profiles/third.conf", "[Profile]\nInclude=other\n" } },
          "/etc/idled/profiles/third.conf:2: Include:|\"other\"|circle" },
        { "name of a file",
          { USE, { "etc/idled/profiles/my profile.conf", "" } },
          "/etc/idled/profiles/my profile.conf:|name" },
        { "reserved name",
          { USE, { "usr/lib/idled/profiles/auto.conf", "" } },
          "/etc/idled/profiles/auto.conf:|name" },
        { "default that does not exist",
          { USE,
            { IDLED ".d/a.conf", "[Daemon]\nProfileAC=balanced\nProfileBattery=mien\n" },
            { MINE, "" } },
          AT_IDLED ".d/a.conf:3: ProfileBattery:|\"mien\"|mine" },
        { "errors of all profiles",
          { USE, { OTHER, "[alpha]\nFoo=1\n" }, { MINE, PERIOD "x\n" } },
          AT_MINE ":2: Period:|\"x\"|10ms|10s|250ms|/" OTHER ":2: Foo:|alpha|MaxCores",
          2 },
        { "two contradictions in a profile",
          { USE, { MINE, "[alpha]\nEager=no\nShare=100%\nMaxCores=2\nMinCores=3\n" } },
          AT_MINE ":5: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager",
          2 },
        { "contradictions of two profiles",
          { USE, { OTHER, "[alpha]\nMinCores=9\n" }, { MINE, "[alpha]\n\nMinCores=9\n" } },
          AT_MINE ":3: MinCores:|MaxCores|/" OTHER ":2: MinCores:|MaxCores",
          2 },
        { "contradiction of a profile and of one that includes it",
          { USE, { OTHER, "[alpha]\nMinCores=9\n" }, { MINE, "[Profile]\nInclude=other\n" } },
          "/" OTHER ":2: MinCores:|MaxCores" },
        { "value and contradiction",
          { USE, { MINE, "[alpha]\nPeriod=x\nMinCores=9\n" } },
          AT_MINE ":2: Period:|\"x\"|" AT_MINE ":3: MinCores:|MaxCores",
          2 },
        { "value that may be why options contradict each other",
          { USE, { MINE, "[alpha]\nMinCores=9\nMaxCores=1O\n" } },
          AT_MINE ":3: MaxCores:|\"1O\"" },
        { "contradictions of a profile and of the policy's file",
          { USE, { ALPHA, "[Policy]\nMinCores=9\n" }, { MINE, "[alpha]\nEager=no\nShare=100%\n" } },
          AT_ALPHA ":2: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager",
          2 },
};

TEST_EACH(refused, bad)
{
        typeof(bad[0]) *c = &bad[_i];
        g_autofree char *errors = NULL;
        Config *config = NULL;

        put_all(c->files);
        errors = load(&config);
        config_free(config);
        ck_case(c->name, c->errors ? errors && says_lines(errors, c->errors, c->lines) : !errors,
                "says\n%s\nexpected\n%s", errors ?: "nothing", c->errors ?: "nothing");
}

UNIT("profile-errors", .setup = set_up, .teardown = tear_down)
