/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cstates: limits by exit latency and name, and what is left alone. */
#include "cstates-world.h"

static const struct {
        const char *name, *first, *second, *options;
        const char *first_off, *second_off, *because; /* of the first CPU, for says() */
} limits[] = {
        { "nothing", CLIENT, SERVER, "", "", "", NULL },
        { "50us", CLIENT, SERVER, "DeepestState=50us", "C6,C7s", "C6", "within the limit" },
        { "exactly", CLIENT, SERVER, "DeepestState=133us", "C7s", "", "within the limit" },
        { "just below", CLIENT, SERVER, "DeepestState=132.9us", "C6,C7s", "C6", "within" },
        { "milliseconds", CLIENT, PHONE, "DeepestState=0.5ms", "", "CLUSLEEP", "within" },
        { "more than all", CLIENT, PHONE, "DeepestState=1s", "", "", "within the limit" },
        { "nothing may sleep", CLIENT, PHONE, "DeepestState=0", "C1,C1E,C3,C6,C7s",
          "CPUSLEEP,CLUSLEEP", "within the limit" },
        { "no state is fast enough", PHONE, CLIENT, "DeepestState=0us", "CPUSLEEP,CLUSLEEP",
          "C1,C1E,C3,C6,C7s", "the shallowest remains" },
        { "a slow state between", "A:1:1 B:300:300 C:100:400 D:400:400", SERVER,
          "DeepestState=100us", "B,D", "C6", "within the limit" },
        { "a slow state first", "A:50:50 B:10:60", SERVER, "DeepestState=10us", "A", "C6",
          "within the limit" },
        { "a name", CLIENT, SERVER, "DeepestState=C1E", "C3,C6,C7s", "C6",
          "the deepest idle state allowed" },
        { "a name in small letters", CLIENT, SERVER, "DeepestState=c1e", "C3,C6,C7s", "C6",
          "the deepest idle state allowed" },
        { "a name that others have", SERVER, CLIENT, "DeepestState=C3", "C6", "C6,C7s",
          "this name on other CPUs" },
        { "a name that only others have", PHONE, CLIENT, "DeepestState=C6", "CPUSLEEP,CLUSLEEP",
          "C7s", "this name on other CPUs" },
        { "a lower number", CLIENT, CLIENT, "DeepestState=C5", "C6,C7s", "C6,C7s",
          "no CPU has|number is not higher" },
        { "a number above all", SERVER, CLIENT, "DeepestState=C10", "", "",
          "no CPU has|number is not higher" },
        { "no C and number", PHONE, PHONE, "DeepestState=C6", "", "", "there is no limit" },
        { "ACPI's numbers are others", ACPI, ACPI, "DeepestState=C6", "", "", "there is no limit" },
        { "ACPI's names", ACPI, CLIENT, "DeepestState=C2_ACPI", "C3_ACPI", "", "allowed" },
        { "one state", "C1:1:1", GUEST, "DeepestState=0", "", "haltpoll", "shallowest" },
        { "no states", "", CLIENT, "DeepestState=50us", "", "C6,C7s", NULL },
};

/* A latency is a time, and each CPU has the states that are as fast, whatever their numbers. */
TEST_EACH(peer_defect_9_limit, limits)
{
        g_auto(Machine) m = machine_start(c->first, c->second, c->options);
        Reason reasons[EXPLAIN_MAX];
        int n;

        decide(&m, 0);
        for (int cpu = 0; cpu < 4; cpu++) {
                expect_off(c->name, &m, cpu, cpu < 2 ? c->first_off : c->second_off);
                ck_case(c->name, m.world->cpus[cpu].latency_us == -1, "a latency is requested");
        }
        ck_case(c->name, m.world->wish.settled, "not settled");
        n = explain(&m, 0, reasons);
        ck_case(c->name, n == (c->because != NULL), "%d reasons", n);
        if (n)
                ck_case(c->name, says(reasons[0].because, c->because), "%s", reasons[0].because);
}

/* With all defaults nothing is requested, read, or waited for. */
TEST(nothing_by_default)
{
        g_auto(Machine) m = machine_start(CLIENT, SERVER, "");
        Reason reasons[EXPLAIN_MAX];
        Figure figures[FIGURES_MAX];

        for (int i = 0; i < 10; i++) {
                sleep_put(&m, 0, 0.9, 1, 5000);
                decide(&m, 1000000);
        }
        ck_assert_uint_eq(idled_policy.reads(m.world->options), 0);
        ck_assert_uint_eq(idled_policy.needs, 0);
        ck_assert_uint_eq(m.world->wish.period_usec, 0);
        ck_assert(m.world->wish.settled && !m.world->wish.on_pressure);
        ck_assert_ptr_null(m.world->wish.idle_governor);
        for (int cpu = 0; cpu < 4; cpu++) {
                const CpuWish *wish = &m.world->cpus[cpu];

                ck_assert(wish->latency_us == -1 && wish->disabled == 0 && !wish->governor);
                ck_assert_int_eq(explain(&m, cpu, reasons), 0);
                ck_assert_int_eq(idled_policy.figures(m.world->state, cpu, figures), 0);
        }
}

TEST_RANGE(reads_what_is_on, 0, 3)
{
        static const struct {
                const char *options;
                unsigned senses;
                uint64_t period_usec;
        } cases[] = {
                { "UtilizationAware=yes Period=2s", SENSE_RESIDENCY, 2000000 },
                { "History=yes", SENSE_IDLE_STATISTICS, 1000000 },
                { "DeepestState=50us", 0, 0 },
        };
        g_auto(Machine) m = machine_start(CLIENT, SERVER, cases[_i].options);

        decide(&m, 1000000);
        ck_assert_uint_eq(idled_policy.reads(m.world->options), cases[_i].senses);
        ck_assert_uint_eq(m.world->wish.period_usec, cases[_i].period_usec);
}

/* What use and history would guess gives way to a hold. The limit does not, however long the
 * latency held. */
TEST(holds)
{
        g_auto(Machine) m = machine_start(CLIENT, SERVER, "DeepestState=50us UtilizationAware=yes");
        const Hold held[] = { { .id = 1, .reason = "x", .cpus = set_of("1-2"), .latency_us = 500 },
                              { .id = 2, .reason = "y", .cpus = set_of("1"), .latency_us = 20 },
                              { .id = 3, .reason = "z", .cpus = set_of("3"), .latency_us = -1 } };
        Reason reasons[EXPLAIN_MAX];

        m.world->holds = held;
        m.world->n_holds = 3;
        for (int i = 0; i < 5; i++) {
                for (int cpu = 0; cpu < 4; cpu++)
                        sleep_put(&m, cpu, 0.5, 0, 100);
                decide(&m, 1000000);
        }
        expect_off("not held", &m, 0, "C3,C6,C7s");
        expect_off("held", &m, 1, "C6,C7s");
        expect_off("held, too", &m, 2, "C6");
        expect_off("held without a latency", &m, 3, "C1E,C6");
        ck_assert_int_eq(explain(&m, 1, reasons), 2);
        ck_assert_str_eq(reasons[0].option, "DeepestState");
        ck_assert(reasons[1].inputs[0].value == 20);
        m.world->n_holds = 0;
        decide(&m, 1000000);
        expect_off("let go", &m, 1, "C3,C6,C7s");
}

/* CPUs that go offline and come back with other states, and a machine that has none. */
TEST(tables_change)
{
        g_auto(Machine) m = machine_start(CLIENT, CLIENT, "DeepestState=50us UtilizationAware=yes");
        g_autoptr(Topology) less = machine_make(4, 1, 4, "0,2-3", "");
        Reason reasons[EXPLAIN_MAX];

        for (int i = 0; i < 5; i++) {
                sleep_put(&m, 1, 0.5, 0, 100);
                decide(&m, 1000000);
        }
        expect_off("held", &m, 1, "C3,C6,C7s");
        m.world->topology = less;
        m.world->allowed = less->online;
        m.tables[1] = (IdleTable){ 0 };
        decide(&m, 1000000);
        ck_assert_int_eq(m.world->cpus[1].disabled, 0);
        m.world->topology = m.topology;
        m.tables[1] = idle_table_of(PHONE);
        m.world->snapshot->residency[1].n_states = 3;
        decide(&m, 1000000);
        expect_off("others", &m, 1, "CPUSLEEP,CLUSLEEP");
        m.world->idle = NULL;
        world_decide(m.world, 1000000);
        ck_assert_int_eq(m.world->cpus[0].disabled, 0);
        ck_assert_int_eq(explain(&m, 0, reasons), 0);
}

static const struct {
        const char *options, *governor; /* NULL: none is asked for */
        const char *because;            /* for says(); NULL: nothing is said */
} governors[] = {
        { "IdleGovernor=menu", "menu", "idle governor menu|requested" },
        { "IdleGovernor=teo", "teo", "idle governor teo|requested" },
        { "IdleGovernor=ladder", "ladder", "idle governor ladder|requested" },
        { "IdleGovernor=haltpoll", "haltpoll", "idle governor haltpoll|requested" },
        { "IdleGovernor=shallow", "shallow", "idle governor shallow|requested" },
        { "IdleGovernor=shallow_nopoll", "shallow_nopoll",
          "idle governor shallow_nopoll|requested" },
        { "IdleGovernor=auto", NULL, "idlelab advise|until" },
        { "IdleGovernor=auto IdleGovernorAdvised=teo:by+it", "teo", "by it" },
        { "IdleGovernorAdvised=teo:it", NULL, NULL },
        { "IdleGovernor=menu IdleGovernorAdvised=teo:it", "menu", "idle governor menu|requested" },
};

/* Policies are not informed whether the kernel has that one. auto asks for nothing, and says how to
 * get advice, until there is one: that is followed, and its reason is repeated. */
TEST_EACH(governor, governors)
{
        g_auto(Machine) m = machine_start(CLIENT, SERVER, c->options);
        Reason reasons[EXPLAIN_MAX];
        int n;

        decide(&m, 0);
        ck_case(c->options, g_strcmp0(m.world->wish.idle_governor, c->governor) == 0, "asks for %s",
                m.world->wish.idle_governor);
        ck_assert_uint_eq(m.world->wish.period_usec, 0);
        n = explain(&m, 0, reasons);
        ck_case(c->options, n == (c->because != NULL), "%d reasons", n);
        if (n == 0)
                return;
        ck_assert_str_eq(reasons[0].option, "IdleGovernor");
        ck_case(c->options, says(reasons[0].because, c->because), "says %s", reasons[0].because);
        if (!strchr(c->because, '|'))
                ck_assert_str_eq(reasons[0].because, c->because);
}

static const struct {
        const char *options, *key; /* NULL: they fit */
} checks[] = {
        { "DeepestState=50us", NULL },
        { "DeepestState=C6", NULL },
        { "DeepestState=c1e_ACPI", NULL },
        { "DeepestState=1.5ms", NULL },
        { "DeepestState=1o0us", "DeepestState" },
        { "DeepestState=50", "DeepestState" },
        { "IdleGovernorAdvised=haltpoll:", NULL },
        { "IdleGovernorAdvised=shallow_nopoll:it", NULL },
        { "IdleGovernorAdvised=menu", NULL },
        { "IdleGovernorAdvised=auto:it", "IdleGovernorAdvised" },
        { "IdleGovernorAdvised=men:it", "IdleGovernorAdvised" },
        { "IdleGovernorAdvised=menus:it", "IdleGovernorAdvised" },
        { "IdleGovernorAdvised=:it", "IdleGovernorAdvised" },
        { "DeepestState=-5us", "DeepestState" },
        { "DeepestState=5+us", "DeepestState" },
        { "DeepestState=5.us", "DeepestState" },
        { "DeepestState=.5us", "DeepestState" },
        { "DeepestState=5..5us", "DeepestState" },
        { "DeepestState=1e3us", "DeepestState" },
        { "DeepestState=99999999999999999999us", "DeepestState" },
        { "DeepestState=%n", "DeepestState" },
        { "DeepestState=haltpoll+idle", NULL },
        { "DeepestState=C\303\274", "DeepestState" },
        { "UtilizationRelease=2%", "UtilizationRelease" },
        { "UtilizationThreshold=1% UtilizationRelease=1%", NULL },
};

TEST_EACH(contradictions, checks)
{
        g_auto(Machine) m = machine_start(CLIENT, SERVER, c->options);
        const char *key = NULL, *wrong = idled_policy.check(m.world->options, &key);

        ck_case(c->options, (wrong != NULL) == (c->key != NULL), "%s", wrong ? wrong : "passes");
        if (wrong)
                ck_case(c->options, g_strcmp0(key, c->key) == 0, "key %s", key);
}

static const struct {
        const char *name, *first, *second, *options;
        const char *keys,
                *because; /* each key that is reported, and the first's text, for says() */
} unmets[] = {
        { "nothing asked for", CLIENT, SERVER, "", "", NULL },
        { "a time", CLIENT, PHONE, "DeepestState=50us", "", NULL },
        { "a name of some CPUs", CLIENT, PHONE, "DeepestState=C7s", "", NULL },
        { "a name of the others", CLIENT, PHONE, "DeepestState=clusleep", "", NULL },
        { "a number between", PHONE, CLIENT, "DeepestState=C5", "", NULL },
        { "a name of none", CLIENT, PHONE, "DeepestState=FOO", "DeepestState", "no limit" },
        { "no idle states", "", "", "DeepestState=10us", "DeepestState", "no idle states" },
        { "no states of some", "", CLIENT, "DeepestState=10us", "", NULL },
};

/* What no CPU has is reported, and what one CPU has is not. */
TEST_EACH(unmet, unmets)
{
        g_auto(Machine) m = machine_start(c->first, c->second, c->options);
        PolicyInput machine = { .topology = m.topology, .idle = m.tables };
        g_autoptr(GString) keys = g_string_new(NULL);
        Unmet found[8];
        int n = idled_policy.unmet(m.world->options, &machine, found, 8);

        for (int i = 0; i < n; i++)
                g_string_append_printf(keys, "%s%s", i > 0 ? " " : "", found[i].key);
        ck_case(c->name, strcmp(keys->str, c->keys) == 0, "\"%s\"", keys->str);
        if (n)
                ck_case(c->name, says(found[0].text, c->because), "%s", found[0].text);
        ck_case(c->name, idled_policy.unmet(m.world->options, &machine, found, 1) == MIN(n, 1),
                "more than there is room for");
        machine.idle = NULL;
        n = idled_policy.unmet(m.world->options, &machine, found, 8);
        ck_case(c->name, (n > 0) == (*c->options != 0), "without idle states: %d", n);
}

UNIT("cstates")
