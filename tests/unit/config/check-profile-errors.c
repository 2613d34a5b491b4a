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
        const char *errors; /* for says_lines(); NULL: accepted */
        unsigned lines;
        const char *files; /* for put_all() */
} bad[] = {
        { "value", AT_MINE ":2: Period:|\"fast\"|10ms|10s|250ms",
          .files = USE PUT(MINE, PERIOD "fast\n") },
        { "value of an inactive policy", AT_MINE ":2: Period:|\"1h\"|10ms|10s|250ms",
          .files = USE PUT(MINE, "[beta]\nPeriod=1h\n") },
        { "value in a drop-in", AT_MINE ".d/a.conf:2: Eager:|\"maybe\"|yes|no",
          .files = USE PUT(MINE, "") PUT(MINE ".d/a.conf", "[alpha]\nEager=maybe\n") },
        { "key", AT_MINE ":2: Periot:|alpha|Period",
          .files = USE PUT(MINE, "[alpha]\nPeriot=1s\n") },
        { "key of [Profile]", AT_MINE ":2: Incluse:|Profile|Include|" AT_MINE ":3: Period:",
          .lines = 2, .files = USE PUT(MINE, "[Profile]\nIncluse=a\nPeriod=1s\n") },
        { "section", AT_MINE ":1:|alpa|Profile|alpha|" ALL,
          .files = USE PUT(MINE, "[alpa]\nPeriod=1s\n") },
        { "section of a policy's own file", AT_MINE ":1:|Profil|Profile|" ALL,
          .files = USE PUT(MINE, "[Profil]\n") },
        { "section of the daemon", AT_MINE ":1:|Daemon|Profile|" ALL,
          .files = USE PUT(MINE, "[Daemon]\nLogLevel=info\n") },
        { "section that is a path", AT_MINE ":1:|../alpha|Profile|" ALL,
          .files = USE PUT(MINE, "[../alpha]\n") },
        { "policy that cannot be loaded", AT_MINE ":1:|wrong-decide|decide()",
          .files = USE PUT(MINE, "[wrong-decide]\n") },
        { "contradiction", AT_MINE ":3: MinCores:|\"9\"|MaxCores",
          .files = USE PUT(MINE, "[alpha]\n\nMinCores=9\n") },
        { "contradiction with the policy's file", AT_MINE ":3: MinCores:|\"4\"|MaxCores|\"3\"",
          .files = USE PUT(ALPHA, "[Policy]\nMinCores=4\n") PUT(MINE, PERIOD "1s\nMaxCores=3\n") },
        { "contradiction by including", "/" OTHER ":2: MinCores:|\"4\"|MaxCores",
          .files = USE PUT(OTHER, "[alpha]\nMinCores=4\n")
                  PUT(MINE, "[Profile]\nInclude=other\n[alpha]\nMaxCores=3\n") },
        { "unknown profile included", AT_MINE ":2: Include:|\"othr\"|other",
          .files = USE PUT(MINE, "[Profile]\nInclude=balanced othr\n") PUT(OTHER, "") },
        { "includes itself", AT_MINE ":2: Include:|\"mine\"|circle|mine includes mine",
          .files = USE PUT(MINE, "[Profile]\nInclude=mine\n") },
        { "circle", "/etc/idled/profiles/third.conf:2: Include:|\"mine\"|circle",
          .files = USE PUT(MINE, "[Profile]\nInclude=other\n")
                  PUT(OTHER, "\n[Profile]\nInclude=third\n")
                          PUT("etc/idled/profiles/third.conf", "[Profile]\nInclude=mine\n") },
        { "circle that others lead to",
          "/etc/idled/profiles/third.conf:2: Include:|\"other\"|circle",
          .files = USE PUT("etc/idled/profiles/a.conf", "[Profile]\nInclude=other\n")
                  PUT(OTHER, "[Profile]\nInclude=third\n")
                          PUT("etc/idled/profiles/third.conf", "[Profile]\nInclude=other\n") },
        { "name of a file", "/etc/idled/profiles/my profile.conf:|name",
          .files = USE PUT("etc/idled/profiles/my profile.conf", "") },
        { "reserved name", "/etc/idled/profiles/auto.conf:|name",
          .files = USE PUT("usr/lib/idled/profiles/auto.conf", "") },
        { "default that does not exist", AT_IDLED ".d/a.conf:3: ProfileBattery:|\"mien\"|mine",
          .files = USE PUT(IDLED ".d/a.conf", "[Daemon]\nProfileAC=balanced\nProfileBattery=mien\n")
                  PUT(MINE, "") },
        { "errors of all profiles",
          AT_MINE ":2: Period:|\"x\"|10ms|10s|250ms|/" OTHER ":2: Foo:|alpha|MaxCores", .lines = 2,
          .files = USE PUT(OTHER, "[alpha]\nFoo=1\n") PUT(MINE, PERIOD "x\n") },
        { "two contradictions in a profile",
          AT_MINE ":5: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager", .lines = 2,
          .files = USE PUT(MINE, "[alpha]\nEager=no\nShare=100%\nMaxCores=2\nMinCores=3\n") },
        { "contradictions of two profiles",
          AT_MINE ":3: MinCores:|MaxCores|/" OTHER ":2: MinCores:|MaxCores", .lines = 2,
          .files = USE PUT(OTHER, "[alpha]\nMinCores=9\n") PUT(MINE, "[alpha]\n\nMinCores=9\n") },
        { "contradiction of a profile and of one that includes it",
          "/" OTHER ":2: MinCores:|MaxCores",
          .files = USE PUT(OTHER, "[alpha]\nMinCores=9\n")
                  PUT(MINE, "[Profile]\nInclude=other\n") },
        { "value and contradiction", AT_MINE ":2: Period:|\"x\"|" AT_MINE ":3: MinCores:|MaxCores",
          .lines = 2, .files = USE PUT(MINE, "[alpha]\nPeriod=x\nMinCores=9\n") },
        { "value that may be why options contradict each other", AT_MINE ":3: MaxCores:|\"1O\"",
          .files = USE PUT(MINE, "[alpha]\nMinCores=9\nMaxCores=1O\n") },
        { "contradictions of a profile and of the policy's file",
          AT_ALPHA ":2: MinCores:|MaxCores|" AT_MINE ":3: Share:|Eager", .lines = 2,
          .files = USE PUT(ALPHA, "[Policy]\nMinCores=9\n")
                  PUT(MINE, "[alpha]\nEager=no\nShare=100%\n") },
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
