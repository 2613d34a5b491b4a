/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A policy with any options that pass its checks, on any machine, for any readings: its requests
 * are possible, and its explanations can be printed. Built once for every policy that is shipped.
 */
#include "base/setting-value.h"
#include "idle-tables.h"
#include "machine.h"
#include "table.h"
#include "world.h"

#define CPUS 6

static unsigned seed;

static unsigned roll(unsigned n)
{
        return (unsigned)rand_r(&seed) % n;
}

/* A word that may or may not be valid. */
static const char *random_word(void)
{
        static const char *const words[] = {
                "",
                "0",
                "50us",
                "C6",
                "c1e",
                "C999999999",
                "1.5ms",
                "99999h",
                "1.8GHz",
                "60%",
                "100%",
                "101%",
                "min",
                "base",
                "max",
                "15",
                "16",
                "-1",
                "powersave",
                "performance",
                "schedutil",
                "power",
                "\xc3\xbc\xe2\x82\xac",
                "\x1b[2J",
                "C",
                "%s%n",
                "C6_ACPI",
                "normal",
                "1e9",
                "0.000000001us",
                "9999999999999999999999GHz",
                "a-word-that-is-longer-than-any-name-could-ever-be-"
                "and-goes-on-and-on-and-on-and-on-and-on-and-on",
        };

        return words[roll(G_N_ELEMENTS(words))];
}

static char *random_value(const Setting *row)
{
        double share = roll(1001) / 1000.0;
        double bounded = row->min + share * (MIN(row->max, 1e9) - row->min);
        g_autofree char *list = NULL;
        int n = 0;

        switch (row->type) {
        case SETTING_BOOL:
                return g_strdup(roll(2) ? "yes" : "no");
        case SETTING_COUNT:
                return g_strdup_printf("%.0f", row->max ? bounded : roll(1000));
        case SETTING_PERCENT:
                return g_strdup_printf("%.3f%%", 100 * bounded);
        case SETTING_DURATION:
                return g_strdup_printf("%.0fus", row->max ? bounded : roll(1000));
        case SETTING_REAL:
                return g_strdup_printf("%.3f", bounded);
        case SETTING_CPUSET:
                return g_strdup_printf("%u-%u", roll(4), 4 + roll(9));
        case SETTING_CHOICE:
                while (row->choices[n])
                        n++;
                return g_strdup(row->choices[roll((unsigned)n)]);
        case SETTING_STRING:
                return g_strdup(random_word());
        case SETTING_LIST:
                return g_strjoin(" ", random_word(), random_word(), random_word(), NULL);
        }
        return NULL;
}

/* Sets options as files or clients would: what does not pass the checks is not taken. */
static void set_options(World *world)
{
        const IdledPolicy *policy = world->policy;

        for (const Setting *row = policy->settings; row->key; row++) {
                void *copy = settings_copy(policy->settings, policy->options_size, world->options);
                g_autofree char *value = random_value(row), *error = NULL;
                const char *key = NULL;

                if (roll(3) || setting_parse(row, value, copy, &error) < 0 ||
                    (policy->check && policy->check(copy, &key))) {
                        settings_free(policy->settings, copy);
                        continue;
                }
                settings_free(policy->settings, world->options);
                world->options = copy;
        }
}

static IdleTable random_table(void)
{
        IdleTable table = { .n_states = (int)roll(IDLE_STATES_MAX + 1) };

        for (int i = 0; i < table.n_states; i++) {
                g_snprintf(table.states[i].name, sizeof(table.states[i].name), "%s",
                           roll(4) ? "C6" : random_word());
                table.states[i].exit_latency_us = roll(3) ? roll(1000) : roll(2) * UINT32_MAX;
                table.states[i].target_residency_us = roll(3) ? roll(3000) : roll(2) * UINT32_MAX;
        }
        return table;
}

static FreqPolicy random_frequency(int number)
{
        static const char *const drivers[] = { "intel_pstate", "acpi-cpufreq", "" };
        FreqPolicy policy = { .number = number,
                              .min_khz = roll(2) ? 800000 : roll(2) * UINT32_MAX,
                              .max_khz = roll(2) ? 3000000 : roll(2) * UINT32_MAX,
                              .base_khz = roll(2) * 2000000,
                              .has_bias = roll(2),
                              .has_boost = roll(2) };

        for (int cpu = number; cpu < number + 3; cpu++)
                if (roll(4))
                        cpuset_add(&policy.cpus, cpu);
        g_strlcpy(policy.driver, drivers[roll(3)], sizeof(policy.driver));
        policy.governors = g_strsplit(roll(4) ? "performance powersave schedutil" : "", " ", -1);
        policy.preferences = g_strsplit(roll(2) ? "performance power" : "", " ", -1);
        return policy;
}

static void random_readings(World *world)
{
        Snapshot *s = world->snapshot;

        s->have = SENSE_LOAD | (roll(2) ? SENSE_RESIDENCY | SENSE_IDLE_STATISTICS : 0) |
                  (roll(2) ? SENSE_POWER : 0);
        s->on_battery = roll(2);
        s->running = roll(20);
        s->pressure = roll(101) / 100.0;
        for (int cpu = 0; cpu < CPUS; cpu++) {
                Residency *row = &s->residency[cpu];

                s->busy[cpu] = (float)roll(1001) / 1000;
                *row = (Residency){ .n_states = (int)roll(IDLE_STATES_MAX + 1) };
                if (roll(4))
                        row->n_states = world->idle[cpu].n_states;
                for (int i = 0; i < row->n_states; i++) {
                        row->entered[i] = roll(3) ? roll(5000) : roll(2) * UINT32_MAX;
                        row->above[i] = roll(3) ? roll(5000) : roll(2) * UINT32_MAX;
                        row->below[i] = roll(3) ? roll(5000) : roll(2) * UINT32_MAX;
                }
        }
}

/* The request for a CPU is possible. */
static bool is_possible(const World *world, int cpu)
{
        const CpuWish *wish = &world->cpus[cpu];
        bool possible = wish->bias <= 15 && wish->boost <= 1 &&
                        (!wish->max_khz || wish->min_khz <= wish->max_khz);
        uint16_t all = (uint16_t)((1u << world->idle[cpu].n_states) - 1);
        bool offered = !wish->governor && !wish->preference;

        for (int i = 0; i < world->n_frequency; i++) {
                const FreqPolicy *p = &world->frequency[i];
                const char *const *governors = (const char *const *)p->governors;
                const char *const *preferences = (const char *const *)p->preferences;

                if (cpuset_has(&p->cpus, cpu))
                        offered |= (!wish->governor ||
                                    g_strv_contains(governors, wish->governor)) &&
                                   (!wish->preference ||
                                    g_strv_contains(preferences, wish->preference));
        }
        return possible && offered && !(wish->disabled & ~all) &&
               (!wish->disabled || wish->disabled != all) && wish->latency_us != 0;
}

static void check_reason(const Reason *reason, const IdledPolicy *policy)
{
        ck_assert_ptr_nonnull(reason->because);
        ck_assert(*reason->because && g_utf8_validate(reason->because, -1, NULL));
        ck_assert(!strpbrk(reason->because, "\n\x1b"));
        if (reason->option)
                ck_assert_ptr_nonnull(setting_find(policy->settings, "Policy", reason->option));
}

static void check_words(const World *world, const PolicyInput *input, int cpu)
{
        Reason reasons[EXPLAIN_MAX];
        Figure figures[FIGURES_MAX];
        int n = world->policy->explain ? world->policy->explain(world->state, input, cpu, reasons)
                                       : 0;

        ck_assert_int_le(n, EXPLAIN_MAX);
        for (int i = 0; i < n; i++)
                check_reason(&reasons[i], world->policy);
        n = world->policy->figures ? world->policy->figures(world->state, cpu, figures) : 0;
        ck_assert_int_le(n, FIGURES_MAX);
        for (int i = 0; i < n; i++)
                ck_assert(figures[i].name && figures[i].unit && figures[i].value >= 0);
}

static void check_wish(const World *world)
{
        PolicyInput input = { .topology = world->topology,
                              .snapshot = world->snapshot,
                              .allowed = &world->allowed,
                              .idle = world->idle,
                              .frequency = world->frequency,
                              .n_frequency = world->n_frequency,
                              .holds = world->holds,
                              .n_holds = world->n_holds,
                              .options = world->options };

        CPUSET_FOREACH(cpu, &world->topology->online) {
                if (world->cpus)
                        ck_assert_msg(is_possible(world, cpu), "CPU %d, seed %u", cpu, seed);
                check_words(world, &input, cpu);
        }
}

TEST_RANGE(any, 0, 100)
{
        g_autoptr(Topology) topology = machine_make(CPUS, 2, 3, _i % 2 ? "0-5" : "0,2-4", "");
        IdleTable tables[CPUS];
        FreqPolicy frequency[2];
        Hold hold = { .id = 1, .reason = "x", .latency_us = 30 };
        g_autoptr(World) world = NULL;

        seed = (unsigned)_i;
        for (int i = 0; i < CPUS; i++)
                tables[i] = random_table();
        for (int i = 0; i < 2; i++)
                frequency[i] = random_frequency(3 * i);
        cpuset_add(&hold.cpus, (int)roll(CPUS));
        world = world_new(&idled_policy, topology);
        world->idle = tables;
        world->frequency = frequency;
        world->n_frequency = 2;
        world->holds = &hold;
        world_add_residency(world);
        for (int i = 0; i < 180; i++) {
                if (i % 12 == 0)
                        set_options(world);
                if (roll(20) == 0)
                        tables[roll(CPUS)] = random_table();
                world->n_holds = (int)roll(2);
                random_readings(world);
                world_decide(world, roll(3) ? 250000 : 1 + roll(20000000));
                check_wish(world);
        }
        for (int i = 0; i < 2; i++) {
                g_strfreev(frequency[i].governors);
                g_strfreev(frequency[i].preferences);
        }
}

UNIT("policy-random")
