/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cstates on every described machine, and on recorded ones if they are available: a limit of 50 us
 * selects the state that follows from each CPU's table. The states below were taken manually from
 * these tables.
 */
#include "all-machines.h"
#include "idle-tables.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"
#include "world.h"

static const struct {
        const char *name, *limit;
        const char *deepest; /* allowed; NULL: the machine has no idle states */
        const char *cpus;    /* that this is about; NULL: all that are online */
} expected[] = {
        { "adl0", "50us", "C1E", NULL },
        { "adl0", "200us", "C8", NULL },
        { "bdwep0", "50us", "C3", NULL },
        { "cfl-u", "50us", "C1E", NULL },
        { "cfl-u", "C8", "C8", NULL },
        { "cwf0", "50us", NULL, NULL },
        { "dell-9360-kbl", "50us", "C1E", NULL },
        { "dnv0", "50us", "C6", NULL },
        { "dnv0", "49us", "C1E", NULL },
        { "genoa0", "50us", "C1", NULL },
        { "gnr3", "50us", "C1E", NULL },
        { "hswep0", "50us", "C3", NULL },
        { "icx2s0", "50us", "C1E", NULL },
        { "ivbep1", "50us", "C1E", NULL },
        { "knl0", "50us", "C1", NULL },
        { "lnl0", "50us", "C1_ACPI", NULL },
        { "lnl0", "C6", "C3_ACPI", NULL },
        { "milan0", "50us", "C2", NULL },
        { "mtl-m-2", "50us", "C1E", NULL },
        { "mtl-m-2", "C8", "C6", NULL },
        { "skld0", "50us", "C1E", NULL },
        { "snr0", "50us", "C1E", NULL },
        { "spr-nomwait", "50us", "C1E", NULL },
        { "spr1", "50us", "C1E", NULL },
        { "srf8", "50us", "C1E", NULL },
        { "srf8", "C6", "C6SP", NULL },
        { "synthetic-1cpu", "50us", NULL, NULL },
        { "synthetic-2x4-numa", "50us", "C2", NULL },
        { "synthetic-amd-epp", "50us", "C2", NULL },
        { "synthetic-arrow", "50us", "C1E", NULL },
        { "synthetic-bare", "50us", NULL, NULL },
        { "synthetic-biglittle", "50us", "WFI", NULL },
        { "synthetic-biglittle", "300us", "WFI", "0-3" },
        { "synthetic-biglittle", "300us", "big-cpu-sleep-0", "4-7" },
        { "synthetic-graviton", "50us", "WFI", NULL },
        { "synthetic-isolated", "50us", "C1E", NULL },
        { "synthetic-laptop", "50us", "C1E", NULL },
        { "synthetic-laptop", "200us", "C6", "0-3" },
        { "synthetic-laptop", "200us", "C1E", "4-7" },
        { "synthetic-laptop", "C6", "C6", "0-3" },
        { "synthetic-laptop", "C6", "C1E", "4-7" },
        { "synthetic-laptop", "C6S", "C10", "0-3" },
        { "synthetic-offline", "50us", "C1", NULL },
        { "synthetic-raptor", "50us", "C1E", NULL },
        { "synthetic-raptor", "300us", "C6", NULL },
        { "synthetic-sparse", "50us", NULL, NULL },
        { "synthetic-x3d", "50us", "C2", NULL },
};

static bool is_about(const char *machine, const char *name)
{
        size_t length = strlen(name);

        machine += *machine == '/';
        return strncmp(machine, name, length) == 0 &&
               (machine[length] == '\0' || strcmp(machine + length, ".machine") == 0);
}

/* The deepest state that is on. */
static const char *deepest_on(const IdleTable *table, const CpuWish *wish)
{
        for (int i = table->n_states; i-- > 0;)
                if (!(wish->disabled >> i & 1))
                        return table->states[i].name;
        return NULL;
}

static void check(const char *machine, int row, const Topology *topology, const IdleTable *tables)
{
        g_autoptr(World) world = world_new(&idled_policy, topology);
        CpuSet cpus = expected[row].cpus ? set_of(expected[row].cpus) : topology->online;

        world->idle = tables;
        world_set(world, "DeepestState", expected[row].limit);
        world_decide(world, 0);
        for (int cpu = 0; cpu < topology->n_cpus; cpu++) {
                const CpuWish *wish = &world->cpus[cpu];
                const char *deepest = deepest_on(&tables[cpu], wish);

                if (!cpuset_has(&topology->online, cpu))
                        ck_case(machine, wish->disabled == 0, "CPU %d is offline", cpu);
                else if (cpuset_has(&cpus, cpu))
                        ck_case(machine, g_strcmp0(deepest, expected[row].deepest) == 0,
                                "%s on CPU %d: %s, expected %s", expected[row].limit, cpu, deepest,
                                expected[row].deepest);
        }
}

START_TEST(machine)
{
        const char *name = all_machines->pdata[_i];
        g_auto(Tree) tree = machine_tree(name);
        g_autofree IdleTable *tables = NULL;
        g_autoptr(Topology) topology = NULL;
        int n = 0;

        ck_assert_int_eq(topology_read(tree.root, &topology), 0);
        tables = g_new0(IdleTable, topology->n_cpus);
        CPUSET_FOREACH(cpu, &topology->online)
                tables[cpu].n_states = idle_states_read(tree.root, cpu, tables[cpu].states);
        for (size_t row = 0; row < G_N_ELEMENTS(expected); row++)
                if (is_about(name, expected[row].name)) {
                        check(name, (int)row, topology, tables);
                        n++;
                }
        ck_case(name, n > 0, "nothing is expected of it");
}
END_TEST

int main(void)
{
        return all_machines_run("cstates-machines", machine);
}
