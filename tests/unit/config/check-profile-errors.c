/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Errors of profiles: every kind of mistake, with its place, what was found and what
 * is valid. */
#include "config-tree.h"
#include "config/profile.h"

#define MINE          "etc/idled/profiles/mine.conf"
#define OTHER         "etc/idled/profiles/other.conf"
#define AT_MINE       "/" MINE
#define PERIOD        "[alpha]\nPeriod="
#define PROFILE(text) USE PUT(MINE, text)

static const struct {
        const char *name;
        const char *errors; /* for says_lines(); NULL: accepted */
        const char *files;  /* for put_all() */
        unsigned lines;
} bad[] = {
        { "value", AT_MINE ":2: Period:|\"fast\"|10ms|10s|250ms", PROFILE(PERIOD "fast\n") },
        { "value of an inactive policy", AT_MINE ":2: Period:|\"1h\"|10ms|10s|250ms",
          PROFILE("[beta]\nPeriod=1h\n") },
        { "value in a drop-in", AT_MINE ".d/a.conf:2: Eager:|\"maybe\"|yes|no",
          PROFILE("") PUT(MINE ".d/a.conf", "[alpha]\nEager=maybe\n") },
        { "key", AT_MINE ":2: Periot:|alpha|Period", PROFILE("[alpha]\nPeriot=1s\n") },
        { "key of [Profile]", AT_MINE ":2: Incluse:|Profile|Include|" AT_MINE ":3: Period:",
          PROFILE("[Profile]\nIncluse=a\nPeriod=1s\n"), 2 },
        { "section", AT_MINE ":1:|alpa|Profile|alpha|" ALL, PROFILE("[alpa]\nPeriod=1s\n") },
        { "section of a policy's own file", AT_MINE ":1:|Profil|Profile|" ALL,
          PROFILE("[Profil]\n") },
        { "section of the daemon", AT_MINE ":1:|Daemon|Profile|" ALL,
          PROFILE("[Daemon]\nLogLevel=info\n") },
        { "section that is a path", AT_MINE ":1:|../alpha|Profile|" ALL, PROFILE("[../alpha]\n") },
        { "policy that cannot be loaded", AT_MINE ":1:|wrong-decide|decide()",
          PROFILE("[wrong-decide]\n") },
        { "contradiction", AT_MINE ":3: MinCores:|\"9\"|MaxCores",
          PROFILE("[alpha]\n\nMinCores=9\n") },
        { "contradiction with the policy's file", AT_MINE ":3: MinCores:|\"4\"|MaxCores|\"3\"",
          POLICY("MinCores=4\n") PUT(MINE, PERIOD "1s\nMaxCores=3\n") },
        { "contradiction by including", "/" OTHER ":2: MinCores:|\"4\"|MaxCores",
          USE PUT(OTHER, "[alpha]\nMinCores=4\n")
                  PUT(MINE, "[Profile]\nInclude=other\n[alpha]\nMaxCores=3\n") },
        { "unknown profile included", AT_MINE ":2: Include:|\"othr\"|other",
          PROFILE("[Profile]\nInclude=balanced othr\n") PUT(OTHER, "") },
        { "includes itself", AT_MINE ":2: Include:|\"mine\"|circle|mine includes mine",
          PROFILE("[Profile]\nInclude=mine\n") },
        { "circle", "/etc/idled/profiles/third.conf:2: Include:|\"mine\"|circle",
          PROFILE("[Profile]\nInclude=other\n") PUT(OTHER, "\n[Profile]\nInclude=third\n")
                  PUT("etc/idled/profiles/third.conf", "[Profile]\nInclude=mine\n") },
        { "circle that others lead to",
          "/etc/idled/profiles/third.conf:2: Include:|\"other\"|circle",
          USE PUT("etc/idled/profiles/a.conf", "[Profile]\nInclude=other\n")
                  PUT(OTHER, "[Profile]\nInclude=third\n")
                          PUT("etc/idled/profiles/third.conf", "[Profile]\nInclude=other\n") },
        { "name of a file", "/etc/idled/profiles/my profile.conf:|name",
          USE PUT("etc/idled/profiles/my profile.conf", "") },
        { "reserved name", "/etc/idled/profiles/auto.conf:|name",
          USE PUT("usr/lib/idled/profiles/auto.conf", "") },
        { "default that does not exist", AT_IDLED ".d/a.conf:3: ProfileBattery:|\"mien\"|mine",
          USE PUT(IDLED ".d/a.conf", "[Daemon]\nProfileAC=balanced\nProfileBattery=mien\n")
                  PUT(MINE, "") },
        { "errors of all profiles",
          AT_MINE ":2: Period:|\"x\"|10ms|10s|250ms|/" OTHER ":2: Foo:|alpha|MaxCores",
          USE PUT(OTHER, "[alpha]\nFoo=1\n") PUT(MINE, PERIOD "x\n"), 2 },
        { "two contradictions in a profile",
          AT_MINE ":5: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager",
          PROFILE("[alpha]\nEager=no\nShare=100%\nMaxCores=2\nMinCores=3\n"), 2 },
        { "contradictions of two profiles",
          AT_MINE ":3: MinCores:|MaxCores|/" OTHER ":2: MinCores:|MaxCores",
          USE PUT(OTHER, "[alpha]\nMinCores=9\n") PUT(MINE, "[alpha]\n\nMinCores=9\n"), 2 },
        { "contradiction of a profile and of one that includes it",
          "/" OTHER ":2: MinCores:|MaxCores",
          USE PUT(OTHER, "[alpha]\nMinCores=9\n") PUT(MINE, "[Profile]\nInclude=other\n") },
        { "value and contradiction", AT_MINE ":2: Period:|\"x\"|" AT_MINE ":3: MinCores:|MaxCores",
          PROFILE("[alpha]\nPeriod=x\nMinCores=9\n"), 2 },
        { "value that may be why options contradict each other", AT_MINE ":3: MaxCores:|\"1O\"",
          PROFILE("[alpha]\nMinCores=9\nMaxCores=1O\n") },
        { "contradictions of a profile and of the policy's file",
          AT_ALPHA ":2: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager",
          POLICY("MinCores=9\n") PUT(MINE, "[alpha]\nEager=no\nShare=100%\n"), 2 },
};

TEST_EACH(refused, bad)
{
        g_autofree char *errors = NULL;

        put_all(c->files);
        errors = load();
        ck_case(c->name, c->errors ? errors && says_lines(errors, c->errors, c->lines) : !errors,
                "says\n%s\nexpected\n%s", errors ?: "nothing", c->errors ?: "nothing");
}

UNIT("profile-errors", .setup = set_up, .teardown = tear_down)
