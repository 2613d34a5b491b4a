/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations: every part that may be missing, missing. The cases assert which parts a text has,
 * in which order, and what it must not mention; how it joins them is not asserted.
 */
#include "model/explain.h"
#include "table.h"

#define FILE_SOURCE "/etc/idled/policies/ondemand.conf:12"
#define FEWER       "the load needs fewer cores"

/* True if the text has all `parts`, which | separates, one after the other. */
static bool has_in_order(const char *text, const char *parts)
{
        g_auto(GStrv) all = g_strsplit(parts, "|", -1);

        for (int i = 0; all[i]; i++) {
                text = strstr(text, all[i]);
                if (!text)
                        return false;
                text += strlen(all[i]);
        }
        return true;
}

/* True if the text has none of `parts`; NULL: there are none. */
static bool has_none(const char *text, const char *parts)
{
        g_auto(GStrv) all = g_strsplit(parts ? parts : "", "|", -1);

        for (int i = 0; all[i]; i++)
                if (strstr(text, all[i]))
                        return false;
        return true;
}

static const struct {
        const char *name, *parts, *absent, *obstacle, *since;
        bool wanted, parked;
        Explanation why;
} cpu_cases[] = {
        { "no policy", "active|no policy", .absent = "(|;" },
        { "no reason", "parked|other", .absent = ":|(|;", .wanted = true, .parked = true,
          .why = { .policy = "other" } },
        { "reason alone", "parked|ondemand|" FEWER, .absent = "(|;", .wanted = true, .parked = true,
          .why = { .policy = "ondemand", .reason = { .because = FEWER } } },
        { "all of it",
          "parked|ondemand|" FEWER "|load 0.4 CPUs|tasks 3|DownThreshold|30 %|" FILE_SOURCE,
          .wanted = true, .parked = true,
          .why = { .policy = "ondemand",
                   .reason = { .because = FEWER,
                               .inputs = { { "load", "CPUs", 0.4 }, { "tasks", "", 3 } },
                               .option = "DownThreshold",
                               .threshold = 30,
                               .threshold_unit = "%" },
                   .source = FILE_SOURCE } },
        { "another value in effect than the configured one",
          "active|ondemand|" FEWER "|for 7 s|Dwell|5 s|default|20 s|after 2 reversals",
          .why = { .policy = "ondemand",
                   .reason = { .because = FEWER,
                               .inputs = { { "for", "s", 7 } },
                               .option = "Dwell",
                               .threshold = 5,
                               .threshold_unit = "s",
                               .effective = 20,
                               .effective_because = "after 2 reversals" },
                   .source = "default" } },
        { "default, without a threshold", "active|ondemand|" FEWER "|MaxCores",
          .absent = "MaxCores is",
          .why = { .policy = "ondemand", .reason = { .because = FEWER, .option = "MaxCores" } } },
        { "inputs that are no numbers", "parked|ondemand|" FEWER "|b 1|MaxCores",
          .absent = "nan|inf|MaxCores is", .wanted = true, .parked = true,
          .why = { .policy = "ondemand",
                   .reason = { .because = FEWER,
                               .inputs = { { "a", "x", NAN },
                                           { "b", NULL, 1 },
                                           { "c", "x", INFINITY } },
                               .option = "MaxCores",
                               .threshold = NAN,
                               .threshold_unit = "" } } },
        { "a threshold that no option sets", "active|ondemand|" FEWER "|runnable 3 tasks|no option",
          .absent = "2 tasks",
          .why = { .policy = "ondemand",
                   .reason = { .because = FEWER,
                               .inputs = { { "runnable", "tasks", 3 } },
                               .threshold = 2,
                               .threshold_unit = "tasks" } } },
        { "no input left", "parked|ondemand|" FEWER, .absent = "nan|(|;", .wanted = true,
          .parked = true,
          .why = { .policy = "ondemand",
                   .reason = { .because = FEWER, .inputs = { { "a", "x", NAN } } } } },
        { "one of each thing",
          "active|p|b|wanted 1 core|tried 1 time|mean 1.5 tasks|for 1 s|MinCores|1 core",
          .absent = "1 cores|1 times",
          .why = { .policy = "p",
                   .reason = { .because = "b",
                               .inputs = { { "wanted", "cores", 1 },
                                           { "tried", "times", 1 },
                                           { "mean", "tasks", 1.5 },
                                           { "for", "s", 1 } },
                               .option = "MinCores",
                               .threshold = 1,
                               .threshold_unit = "cores" } } },
        { "four inputs", "parked|p|b|a 1|b 2|c 3|d 4 s", .wanted = true, .parked = true,
          .why = { .policy = "p",
                   .reason = { .because = "b",
                               .inputs = { { "a", "", 1 },
                                           { "b", "", 2 },
                                           { "c", "", 3 },
                                           { "d", "s", 4 } } } } },
        { "wanted, not done", "should be parked|userspace|x", .absent = "another", .wanted = true,
          .why = { .policy = "userspace", .reason = { .because = "x" } } },
        { "wanted, taken over",
          "should be parked|userspace|x|IdleMask|set over D-Bus|another program set cgroup a",
          .obstacle = "another program set cgroup a", .wanted = true,
          .why = { .policy = "userspace",
                   .reason = { .because = "x", .option = "IdleMask" },
                   .source = "set over D-Bus" } },
        { "an obstacle to nothing", "active|userspace|x", .absent = "another|should",
          .obstacle = "another program set cgroup a",
          .why = { .policy = "userspace", .reason = { .because = "x" } } },
        { "for some time", "parked|3 min|ondemand", .since = "3 min", .wanted = true,
          .parked = true, .why = { .policy = "ondemand" } },
        { "active for some time", "active|3 min|safety|x", .since = "3 min",
          .why = { .cause = CAUSE_SAFETY, .reason = { .because = "x" } } },
        { "the time of a parking that failed", "should be parked|ondemand", .absent = "3 min",
          .since = "3 min", .wanted = true, .why = { .policy = "ondemand" } },
        { "paused", "active|paused", .why = { .cause = CAUSE_PAUSE } },
        { "a window", "active|window|a.service starts",
          .why = { .cause = CAUSE_WINDOW, .reason = { .because = "a.service starts" } } },
        { "empty texts", "active|no policy", .absent = "(|;|1",
          .why = { "", { .because = "", .option = "", .threshold = 1 }, "" } },
        { "no longer wanted, not done", "should be unparked|userspace|x", .parked = true,
          .why = { .policy = "userspace", .reason = { .because = "x" } } },
};

TEST_EACH(cpu, cpu_cases)
{
        CpuState state = { c->wanted, c->parked, c->since, c->obstacle };
        g_autofree char *text = explain_cpu(&state, &c->why);

        ck_case(c->name, strncmp(text, c->parts, strcspn(c->parts, "|")) == 0, "\"%s\"", text);
        ck_case(c->name, has_in_order(text, c->parts), "\"%s\", expected %s", text, c->parts);
        ck_case(c->name, has_none(text, c->absent), "\"%s\" has one of %s", text, c->absent);
}

static const struct {
        const char *parked;
        Cause cause;
        const char *policy, *parts;
} change_cases[] = {
        { "2-3", CAUSE_POLICY, "ondemand", "2-3 parked|by ondemand|" FEWER },
        { "2-3", CAUSE_POLICY, "window", "2-3 parked|by window|" FEWER },
        { "", CAUSE_PAUSE, NULL, "nothing parked|paused|" FEWER },
        { NULL, CAUSE_SAFETY, NULL, "nothing parked|safety|" FEWER },
        { NULL, CAUSE_WINDOW, NULL, "nothing parked|during a window|" FEWER },
        { "", CAUSE_POLICY, NULL, "nothing parked|" FEWER },
        { "", CAUSE_POLICY, "", "nothing parked|" FEWER },
};

TEST(causes)
{
        ck_assert_str_eq(cause_text(CAUSE_POLICY, "window"), "policy");
        ck_assert_str_eq(cause_text(CAUSE_POLICY, NULL), "");
        ck_assert_str_eq(cause_name(CAUSE_POLICY, "window"), "window");
        ck_assert_str_eq(cause_name(CAUSE_POLICY, NULL), "");
        for (Cause cause = CAUSE_POLICY; cause <= CAUSE_SAFETY; cause++)
                ck_assert_int_eq(cause_parse(cause_text(cause, "x")), cause);
        ck_assert_int_eq(cause_parse("new"), CAUSE_POLICY);
        ck_assert_int_eq(cause_parse(""), CAUSE_POLICY);
}

TEST_EACH(change, change_cases)
{
        Explanation why = { .cause = c->cause,
                            .policy = c->policy,
                            .reason = { .because = FEWER } };
        g_autofree char *text = explain_change(c->parked, &why);

        ck_assert_msg(has_in_order(text, c->parts), "\"%s\", expected %s", text, c->parts);
}

static const struct {
        int first, last;
        const char *parts;
} wish_cases[] = {
        { 0, 7, "all CPUs|x" },
        { 0, 100, "all CPUs|x" },
        { 0, 3, "CPUs 0-3|x" },
        { 8, 9, "no CPUs|x" },
};

TEST_EACH(wish, wish_cases)
{
        CpuSet online = { 0 }, allowed = { 0 };
        g_autofree char *text = NULL;

        cpuset_add_range(&online, 0, 7);
        cpuset_add_range(&allowed, c->first, c->last);
        text = explain_wish(&allowed, &online, &(Explanation){ .reason = { .because = "x" } });
        ck_assert_msg(has_in_order(text, c->parts), "\"%s\", expected %s", text, c->parts);
}

TEST(reason_alone)
{
        Explanation why = { .policy = "cstates",
                            .source = "default",
                            .reason = { .because = "it is used more than a little",
                                        .inputs = { { "utilization", "%", 7 } },
                                        .option = "UtilizationThreshold",
                                        .threshold = 1.5625,
                                        .threshold_unit = "%" } };
        g_autofree char *text = explain_reason(&why);

        ck_assert_msg(has_in_order(text, "cstates|it is used more than a little|utilization 7 %|"
                                         "UtilizationThreshold|1.562 %|default"),
                      "\"%s\"", text);
}

UNIT("explain")
