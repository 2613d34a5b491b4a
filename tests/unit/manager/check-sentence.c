/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Decisions as sentences: every part that may be missing, missing. */
#include <math.h>

#include "manager/sentence.h"
#include "table.h"

#define FILE_SOURCE                                                                                \
        {                                                                                          \
                .file = "/etc/idled/policies/ondemand.conf", .line = 12                            \
        }
#define FEWER "the load needs fewer cores"

static const struct {
        const char *name;
        bool wanted, parked;
        CpuCause why;
        const char *text, *obstacle;
} cpu_cases[] = {
        { "no policy", false, false, { 0 }, "CPU 3 is in use: no policy wishes otherwise." },
        { "no reason", true, true, { .policy = "other" }, "CPU 3 is parked by other." },
        { "reason alone",
          true,
          true,
          { .policy = "ondemand", .reason = { .because = FEWER } },
          "CPU 3 is parked by ondemand: " FEWER "." },
        { "all of it",
          true,
          true,
          { .policy = "ondemand",
            .reason = { .because = FEWER,
                        .inputs = { { "load", "CPUs", 0.4 }, { "tasks", "", 3 } },
                        .option = "DownThreshold",
                        .threshold = 30,
                        .threshold_unit = "%" },
            .option_source = FILE_SOURCE },
          "CPU 3 is parked by ondemand: " FEWER " (load 0.4 CPUs, tasks 3); DownThreshold is 30 % "
          "(/etc/idled/policies/ondemand.conf:12)." },
        { "default, without a threshold",
          false,
          false,
          { .policy = "ondemand", .reason = { .because = FEWER, .option = "MaxCores" } },
          "CPU 3 is in use by ondemand: " FEWER "; see MaxCores (default)." },
        { "inputs that are no numbers",
          true,
          true,
          { .policy = "ondemand",
            .reason = { .because = FEWER,
                        .inputs = { { "a", "x", NAN }, { "b", NULL, 1 }, { "c", "x", INFINITY } },
                        .option = "MaxCores",
                        .threshold = NAN,
                        .threshold_unit = "" } },
          "CPU 3 is parked by ondemand: " FEWER " (b 1); see MaxCores (default)." },
        { "a threshold that no option sets",
          false,
          false,
          { .policy = "ondemand",
            .reason = { .because = "more tasks are runnable than CPUs are in use",
                        .inputs = { { "runnable", "tasks", 3 } },
                        .threshold = 2,
                        .threshold_unit = "tasks" } },
          "CPU 3 is in use by ondemand: more tasks are runnable than CPUs are in use (runnable 3 "
          "tasks); no option decides this." },
        { "no input left",
          true,
          true,
          { .policy = "ondemand", .reason = { .because = FEWER, .inputs = { { "a", "x", NAN } } } },
          "CPU 3 is parked by ondemand: " FEWER "." },
        { "one of each thing",
          false,
          false,
          { .policy = "p",
            .reason = { .because = "b",
                        .inputs = { { "wanted", "cores", 1 },
                                    { "tried", "times", 1 },
                                    { "mean", "tasks", 1.5 },
                                    { "for", "s", 1 } },
                        .option = "MinCores",
                        .threshold = 1,
                        .threshold_unit = "cores" } },
          "CPU 3 is in use by p: b (wanted 1 core, tried 1 time, mean 1.5 tasks, for 1 s); "
          "MinCores is 1 core (default)." },
        { "four inputs",
          true,
          true,
          { .policy = "p",
            .reason = { .because = "b",
                        .inputs = { { "a", "", 1 },
                                    { "b", "", 2 },
                                    { "c", "", 3 },
                                    { "d", "s", 4 } } } },
          "CPU 3 is parked by p: b (a 1, b 2, c 3, d 4 s)." },
        { "wanted, not done",
          true,
          false,
          { .policy = "userspace", .reason = { .because = "x" } },
          "CPU 3 should be parked by userspace: x." },
        { "wanted, taken over",
          true,
          false,
          { .policy = "userspace",
            .reason = { .because = "x", .option = "IdleMask" },
            .option_source = { .file = "D-Bus" } },
          "CPU 3 should be parked by userspace: x; see IdleMask (set over D-Bus), but nobody is "
          "kept off it: cgroup a is somebody else's.",
          "cgroup a is somebody else's" },
        { "an obstacle to nothing",
          false,
          false,
          { .policy = "userspace", .reason = { .because = "x" } },
          "CPU 3 is in use by userspace: x.",
          "cgroup a is somebody else's" },
        { "no longer wanted, not done",
          false,
          true,
          { .policy = "userspace", .reason = { .because = "x" } },
          "CPU 3 should be in use by userspace: x." },
};

START_TEST(cpu)
{
        typeof(cpu_cases[0]) *c = &cpu_cases[_i];
        g_autofree char *text = cpu_sentence(3, c->wanted, c->parked, &c->why, c->obstacle);

        ck_case(c->name, g_str_equal(text, c->text), "\"%s\", expected \"%s\"", text, c->text);
}
END_TEST

static const struct {
        const char *parked, *policy, *text;
} transition_cases[] = {
        { "2-3", "ondemand", "2-3 are parked by ondemand: " FEWER "." },
        { "2", "ondemand", "2 is parked by ondemand: " FEWER "." },
        { "", "pause", "Nothing is parked by pause: " FEWER "." },
        { "", NULL, "Nothing is parked: " FEWER "." },
};

START_TEST(transition)
{
        typeof(transition_cases[0]) *c = &transition_cases[_i];
        Transition t = { .parked = c->parked, .policy = c->policy, .reason = { .because = FEWER } };
        g_autofree char *text = transition_sentence(&t);

        ck_assert_str_eq(text, c->text);
}
END_TEST

static const struct {
        int first, last;
        const char *text;
} wish_cases[] = {
        { 0, 7, "Wishes all CPUs in use: x." },
        { 0, 100, "Wishes all CPUs in use: x." },
        { 0, 3, "Wishes 0-3 in use: x." },
        { 8, 9, "Wishes none in use: x." },
};

START_TEST(wish)
{
        typeof(wish_cases[0]) *c = &wish_cases[_i];
        Wish w = { .allowed_reason = { .because = "x" } };
        CpuSet online = { 0 };
        g_autofree char *text = NULL;

        cpuset_add_range(&online, 0, 7);
        cpuset_add_range(&w.allowed, c->first, c->last);
        text = wish_sentence(&w, &online, &(Source){ 0 });
        ck_assert_str_eq(text, c->text);
}
END_TEST

START_TEST(reason_alone)
{
        Reason reason = { .because = "it is used more than a little",
                          .inputs = { { "utilisation", "%", 7 } },
                          .option = "UtilizationThreshold",
                          .threshold = 1.5625,
                          .threshold_unit = "%" };
        g_autofree char *text = reason_sentence("cstates", &reason, &(Source){ 0 });

        ck_assert_str_eq(text, "cstates: it is used more than a little (utilisation 7 %); "
                               "UtilizationThreshold is 1.562 % (default).");
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("sentence");
        TCase *tcase = tcase_create("sentence");

        tcase_add_loop_test(tcase, cpu, 0, G_N_ELEMENTS(cpu_cases));
        tcase_add_loop_test(tcase, transition, 0, G_N_ELEMENTS(transition_cases));
        tcase_add_loop_test(tcase, wish, 0, G_N_ELEMENTS(wish_cases));
        tcase_add_test(tcase, reason_alone);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
