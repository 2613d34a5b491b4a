/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which CPUs units need, by what they say. */
#include "machine.h"
#include "model/unit-cpus.h"
#include "table.h"

static const struct {
        const char *name;
        const char *affinity, *allowed, *nodes;
        bool numa_affinity, numa_bound;
        const char *needs; /* "CPUS KEY" for each set */
} cases[] = {
        { "nothing", "", "", "", false, false, "" },
        { "CPUAffinity=", "3", "", "", false, false, "3 (CPUAffinity=3)" },
        { "AllowedCPUs=", "", "2-3", "", false, false, "2-3 (AllowedCPUs=2-3)" },
        { "both, in part the same", "1-2", "2-3", "", false, false, "2 (CPUAffinity=1-2)" },
        { "both, apart", "1", "3", "", false, false, "3 (AllowedCPUs=3) 1 (CPUAffinity=1)" },
        { "CPUAffinity=numa", "", "", "1", true, false, "4-7 (NUMAMask=1)" },
        { "CPUAffinity=numa and AllowedCPUs=", "", "3-5", "1", true, false, "4-5 (NUMAMask=1)" },
        { "memory on a node", "", "", "1", false, true, "4-7 (NUMAMask=1)" },
        { "memory on a node that is not there", "", "", "9", false, true, "" },
        { "a mask without a policy", "", "", "1", false, false, "" },
        { "CPUs and a node", "0", "", "1", false, true, "0 (CPUAffinity=0) 4-7 (NUMAMask=1)" },
};

static UnitCpus cpus_of_case(int i)
{
        return (UnitCpus){
                .affinity = set_of(cases[i].affinity),
                .allowed = set_of(cases[i].allowed),
                .nodes = set_of(cases[i].nodes),
                .numa_affinity = cases[i].numa_affinity,
                .numa_bound = cases[i].numa_bound,
        };
}

static char *needs_of(const UnitTable *table, const Topology *topology)
{
        g_autoptr(Affinities) affinities = unit_table_affinities(table, topology);
        GString *text = g_string_new(NULL);

        for (int i = 0; i < affinities->n_sets; i++) {
                g_autofree char *cpus = cpuset_format(&affinities->sets[i]);

                ck_assert(g_str_has_prefix(affinities->owners[i], "a.service "));
                g_string_append_printf(text, "%s%s %s", i ? " " : "", cpus,
                                       affinities->owners[i] + strlen("a.service "));
        }
        return g_string_free(text, FALSE);
}

TEST_EACH(needs, cases)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(UnitTable) table = unit_table_new();
        UnitCpus cpus = cpus_of_case(_i);
        g_autofree char *found = NULL;

        ck_assert(unit_table_set(table, "a.service", &cpus));
        ck_assert(!unit_table_set(table, "a.service", &cpus));
        found = needs_of(table, topology);
        ck_case(c->name, g_str_equal(found, c->needs), "%s", found);
}

TEST(units_come_and_go)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(UnitTable) table = unit_table_new();
        UnitCpus first = { .affinity = set_of("3") }, second = { .allowed = set_of("3") };
        g_autoptr(Affinities) affinities = NULL;

        ck_assert(!unit_table_set(table, "a.service", NULL));
        ck_assert(unit_table_set(table, "b.service", &first));
        ck_assert(unit_table_set(table, "a.service", &second));
        affinities = unit_table_affinities(table, topology);
        ck_assert_int_eq(affinities->n_sets, 1); /* one CPU is enough for both */
        ck_assert_str_eq(affinities->owners[0], "a.service (AllowedCPUs=3)");
        ck_assert(unit_table_set(table, "a.service", &first));
        ck_assert(unit_table_set(table, "a.service", NULL));
        ck_assert_ptr_null(unit_table_find(table, "a.service"));
        ck_assert_ptr_nonnull(unit_table_find(table, "b.service"));
        unit_table_clear(table);
        ck_assert_ptr_null(unit_table_find(table, "b.service"));
}

/* What is safe names the unit. */
TEST(plan_keeps_one)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(UnitTable) table = unit_table_new();
        UnitCpus cpus = { .affinity = set_of("6-7") };
        g_autoptr(Affinities) affinities = NULL;
        const char *owners[8];
        uint8_t safety[8];
        Plan plan;

        unit_table_set(table, "a.service", &cpus);
        affinities = unit_table_affinities(table, topology);
        plan_init(&plan, NULL, 0);
        plan.allowed = set_of("0-1");
        plan_sanitize(&plan, topology, &(Dependents){ .units = affinities },
                      &(SafetyNotes){ safety, owners });
        ck_assert(cpuset_has(&plan.allowed, 6));
        ck_assert_int_eq(cpuset_count(&plan.allowed), 3);
        ck_assert_int_eq(safety[6], SAFETY_UNIT);
        ck_assert_str_eq(owners[6], "a.service (CPUAffinity=6-7)");
        ck_assert_ptr_null(owners[0]);
}

/* A window makes all CPUs active but those that the administrator named to be parked, and what a
 * unit needs is active nonetheless. */
static const struct {
        const char *name, *widest, *unit, *allowed;
} windows[] = {
        { "all", "0-7", "", "0-7" },
        { "CPUs that were named stay parked", "0-3", "", "0-3" },
        { "but for a unit", "0-3", "7", "0-3,7" },
};

TEST_EACH(plan_in_a_window, windows)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autofree char *text = NULL;
        CpuSet set = set_of(c->unit);
        Affinities affinities = { .n_sets = *c->unit != '\0', .sets = &set };
        Plan plan;

        plan_init(&plan, NULL, 0);
        plan.allowed = set_of("0-1");
        plan.widest = set_of(c->widest);
        plan_sanitize(&plan, topology, &(Dependents){ .units = &affinities, .window = "a starts" },
                      NULL);
        text = cpuset_format(&plan.allowed);
        ck_case(c->name, g_str_equal(text, c->allowed), "%s", text);
}

static const struct {
        const char *name;
        size_t offset;
} fields[] = {
        { "affinity", offsetof(UnitCpus, affinity) },
        { "allowed", offsetof(UnitCpus, allowed) },
        { "nodes", offsetof(UnitCpus, nodes) },
        { "numa_affinity", offsetof(UnitCpus, numa_affinity) },
        { "numa_bound", offsetof(UnitCpus, numa_bound) },
        { "oneshot", offsetof(UnitCpus, oneshot) },
};

TEST_EACH(one_field_changes, fields)
{
        g_autoptr(UnitTable) table = unit_table_new();
        UnitCpus cpus = { .affinity = set_of("3") };

        ck_assert(unit_table_set(table, "a.service", &cpus));
        ((char *)&cpus)[c->offset] ^= 1;
        ck_case(c->name, unit_table_set(table, "a.service", &cpus), "no change");
}

UNIT("unit-cpus")
