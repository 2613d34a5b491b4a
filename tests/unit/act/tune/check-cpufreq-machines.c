/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cpufreq on every machine there is a description of, by libcpupower, for which the machine's CPUs
 * cover those of the running one. What is written is as long as what was there (cover.h).
 */
#include "act/actuator.h"
#include "all-machines.h"
#include "cover.h"
#include "model/plan.h"
#include "sense/frequency-read.h"
#include "sense/topology-read.h"

/* The present and the requested value of a file; NULL: it is left alone. */
typedef struct Value {
        char *found, *wanted;
} Value;

static char *read_file(int root, int policy, const char *file)
{
        g_autofree char *path = g_strdup_printf(TUNE_DIR "cpufreq/policy%d/%s", policy, file);
        char text[256];

        return file_read_value(root, path, text, sizeof(text)) > 0 ? g_strdup(text) : NULL;
}

/* The next lower maximum that the policy can have. */
static uint32_t lower(const FreqPolicy *policy, uint32_t khz)
{
        const uint32_t *entry = policy->frequencies;

        if (!entry)
                return khz - 100000;
        while (entry[0] && entry[1] && entry[1] < khz)
                entry++;
        return entry[0];
}

static Value wish_maximum(int root, const FreqPolicy *policy, CpuWish *wish)
{
        Value value = { .found = read_file(root, policy->number, "scaling_max_freq") };
        uint32_t khz = value.found ? (uint32_t)strtoul(value.found, NULL, 10) : 0;
        g_autofree char *text = g_strdup_printf("%u", khz ? lower(policy, khz) : 0);

        if (khz == 0 || strlen(text) != strlen(value.found) || strcmp(text, value.found) >= 0 ||
            lower(policy, khz) < policy->min_khz)
                return value;
        wish->max_khz = lower(policy, khz);
        value.wanted = g_steal_pointer(&text);
        return value;
}

static Value wish_governor(int root, const FreqPolicy *policy, CpuWish *wish)
{
        Value value = { .found = read_file(root, policy->number, "scaling_governor") };

        for (int i = 0; value.found && policy->governors[i] && !value.wanted; i++)
                if (strlen(policy->governors[i]) == strlen(value.found) &&
                    !g_str_equal(policy->governors[i], value.found))
                        value.wanted = g_strdup(policy->governors[i]);
        wish->governor = value.wanted ? g_intern_string(value.wanted) : NULL;
        return value;
}

static void expect(const char *name, int policy, const char *file, const char *value)
{
        g_autofree char *now = NULL;
        _fd_ int root = root_open("/");

        now = read_file(root, policy, file);
        ck_case(name, g_strcmp0(now, value) == 0, "policy%d/%s is %s, expected %s", policy, file,
                now, value);
}

static void expect_all(const char *name, const FreqPolicy *policies, int n, Value (*values)[2],
                       bool wanted)
{
        for (int i = 0; i < n; i++) {
                const Value *maximum = &values[i][0], *governor = &values[i][1];

                expect(name, policies[i].number, "scaling_max_freq",
                       wanted && maximum->wanted ? maximum->wanted : maximum->found);
                expect(name, policies[i].number, "scaling_governor",
                       wanted && governor->wanted ? governor->wanted : governor->found);
        }
}

/* All possible values of each policy, as requests for its CPUs. Returns how many files that
 * changes. */
static unsigned make_wishes(int root, const FreqPolicy *policies, int n, CpuWish *wishes,
                            Value (*values)[2])
{
        unsigned writes = 0;

        for (int i = 0; i < n; i++) {
                CpuWish wish = wishes[cpuset_next(&policies[i].cpus, -1)];

                values[i][0] = wish_maximum(root, &policies[i], &wish);
                values[i][1] = wish_governor(root, &policies[i], &wish);
                writes += !!values[i][0].wanted + !!values[i][1].wanted;
                for (int cpu = -1; (cpu = cpuset_next(&policies[i].cpus, cpu)) >= 0;)
                        wishes[cpu] = wish;
        }
        return writes;
}

static void free_values(Value (*values)[2], int n)
{
        for (int i = 0; i < 2 * n; i++) {
                g_free(values[i / 2][i % 2].found);
                g_free(values[i / 2][i % 2].wanted);
        }
}

static void apply(const char *name, const ActContext *context, Knobs *knobs, const Plan *plan,
                  const ActFacts *facts)
{
        const TuneOptions options = { .manage = true };
        void *state;

        ck_case(name, actuator_cpufreq.open(context, &options, &state) == 0, "no cpufreq");
        ck_case(name, actuator_cpufreq.apply(state, knobs, plan, facts) == 0, "not applied");
        actuator_cpufreq.close(state);
}

START_TEST(by_the_library)
{
        const char *name = all_machines->pdata[_i];
        g_auto(Tree) tree = machine_tree(name);
        g_autoptr(Topology) topology = NULL;
        g_autofree CpuWish *wishes = NULL;
        g_autofree Value(*values)[2] = NULL;
        g_autoptr(Knobs) knobs = NULL;
        ActContext context = { .live = true };
        ActFacts facts = { 0 };
        FreqPolicy *policies = NULL;
        unsigned writes;
        Plan plan;
        bool have;
        int r;

        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        r = frequency_read(tree.root, topology, &policies, &facts.n_frequency);
        have = faccessat(tree.root, TUNE_DIR "cpufreq/policy0", F_OK, 0) == 0;
        ck_case(name, r == (have ? 0 : -ENOENT), "frequency_read(): %d", r);
        facts.frequency = policies;
        facts.topology = topology;
        wishes = g_new0(CpuWish, (gsize)topology->n_cpus);
        plan_init(&plan, wishes, topology->n_cpus);
        values = g_malloc0_n((gsize)facts.n_frequency + 1, sizeof(*values));
        writes = make_wishes(tree.root, policies, facts.n_frequency, wishes, values);
        context.root = facts.n_frequency > 0 ? cover_cpus(tree.path) : -1;
        if (facts.n_frequency > 0 && context.root < 0)
                case_skip(name, NOT_COVERED);
        if (context.root >= 0) {
                knobs = knobs_new(&context, tree.root, false);
                apply(name, &context, knobs, &plan, &facts);
                expect_all(name, policies, facts.n_frequency, values, true);
                ck_case(name, knobs_writes(knobs) == writes, "%u writes, expected %u",
                        knobs_writes(knobs), writes);
                ck_case(name, knobs_restore(knobs, NULL, NULL) == 0, "not restored");
                expect_all(name, policies, facts.n_frequency, values, false);
                close(context.root);
        }
        if (g_getenv("IDLED_PRINT"))
                printf("%s: %d policies, %u writes\n", name, facts.n_frequency, writes);
        free_values(values, facts.n_frequency);
        frequency_free(policies, facts.n_frequency);
}
END_TEST

int main(void)
{
        return all_machines_run("cpufreq-machines", by_the_library);
}
