/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RAPL zones: which are taken, in what order, by what names, and what their counters read. */
#include "sensors-fixture.h"

#define ZONES "sys/class/powercap/"

static const EnergyDomain *domains;
static char *text; /* as describe() */

static void setup(void)
{
        sensors_begin(1);
}

static void teardown(void)
{
        g_free(text);
        sensors_end();
}

/* Devices below sys/class, as "DEVICE FILE=TEXT FILE=TEXT, DEVICE FILE=TEXT". */
static void put_devices(const char *devices)
{
        g_auto(GStrv) all = g_strsplit(devices, ", ", -1);

        for (int i = 0; all[i]; i++) {
                g_auto(GStrv) words = g_strsplit(all[i], " ", -1);

                for (int file = 1; words[file]; file++) {
                        g_auto(GStrv) pair = g_strsplit(words[file], "=", 2);
                        g_autofree char *path = g_build_filename("sys/class", words[0], pair[0],
                                                                 NULL);
                        g_autofree char *line = g_strconcat(pair[1], "\n", NULL);

                        tree_put(&tree, path, line);
                }
        }
}

/* NULL: without this file. */
static void put_zone(const char *zone, const char *name, const char *range, const char *uj)
{
        g_autofree char *device = g_strconcat("powercap/", zone, name ? " name=" : "", name ?: "",
                                              " max_energy_range_uj=", range,
                                              uj ? " energy_uj=" : "", uj ?: "", NULL);

        put_devices(device);
}

#define RANGE "262143328850"

static const struct {
        const char *name;
        const char *zones;    /* and their names, as "ZONE=NAME ZONE=NAME" */
        const char *expected; /* names, in order; "<N" is the parent */
} cases[] = {
        { "laptop",
          "intel-rapl:1=psys intel-rapl:0:2=dram intel-rapl:0:0=core intel-rapl:0=package-0 "
          "intel-rapl:0:1=uncore intel-rapl-mmio:0=package-0",
          "package-0! package-0-core<0 package-0-uncore<0 package-0-dram<0 psys" },
        { "MMIO alone", "intel-rapl-mmio:0=package-0", "package-0!" },
        { "two sockets",
          "intel-rapl:0=package-1 intel-rapl:0:0=dram intel-rapl:1=package-0 intel-rapl:1:0=dram",
          "package-1! package-1-dram<0 package-0! package-0-dram<2" },
        { "psys of every socket",
          "intel-rapl:0=package-0 intel-rapl:1=psys intel-rapl:2=psys intel-rapl:10=psys",
          "package-0! psys psys-1 psys-2" },
        { "ten sort behind two", "intel-rapl:10=package-10 intel-rapl:2=package-2",
          "package-2! package-10!" },
        { "part without its package", "intel-rapl:3:0=core", "core" },
        { "dies", "intel-rapl:0=package-0-die-1", "package-0-die-1!" },
        { "others are not RAPL",
          "intel-rapl:0=package-0 dtpm:0=soc intel-rapl:x=core intel-rapl:0:0:0=deep "
          "intel-rapl:=none",
          "package-0!" },
};

/* "NAME", of a part of another "NAME<PARENT", of a package "NAME!". */
static char *describe(int n)
{
        GString *names = g_string_new(NULL);

        for (int i = 0; i < n; i++) {
                g_string_append_printf(names, "%s%s", i ? " " : "", domains[i].name);
                if (domains[i].parent >= 0)
                        g_string_append_printf(names, "<%d", domains[i].parent);
                g_string_append(names, domains[i].package ? "!" : "");
        }
        return g_string_free(names, FALSE);
}

static void open_domains(void)
{
        open_sensors();
        text = describe(sensors_energy_domains(sensors, &domains));
}

TEST_EACH(zones, cases)
{
        g_auto(GStrv) zones = g_strsplit(c->zones, " ", -1);

        for (int i = 0; zones[i]; i++) {
                g_auto(GStrv) pair = g_strsplit(zones[i], "=", 2);

                put_zone(pair[0], pair[1], RANGE, "5");
        }
        open_domains();
        ck_case(c->name, strcmp(text, c->expected) == 0, "%s, expected %s", text, c->expected);
        ck_assert_int_eq(file_read_u64(tree.root, domains[0].path, &(uint64_t){ 0 }), -EISDIR);
}

TEST_RANGE(nothing_to_read, 0, 4)
{
        if (_i == 1)
                put_zone("intel-rapl:0", "package-0", RANGE, NULL);
        if (_i == 2)
                put_zone("intel-rapl:0", NULL, RANGE, "5");
        if (_i == 3)
                put_zone("intel-rapl:0", "package-0", "garbage", "5");
        open_sensors();
        ck_assert_int_eq(sensors_energy_domains(sensors, &domains), 0);
        ck_assert_uint_eq(sensors_have(sensors) & SENSE_ENERGY, 0);
        ck_assert_int_eq(sensors_error(sensors, SENSE_ENERGY), _i == 3 ? -EINVAL : -ENOENT);
        ck_assert_uint_eq(sensors_energy_deadline(sensors), UINT64_MAX);
}

TEST(root_only)
{
        put_zone("intel-rapl:0", "package-0", RANGE, "5");
        put_devices("hwmon/hwmon0 name=ina226 power1_input=5");
        ck_assert_int_eq(fchmodat(tree.root, ZONES "intel-rapl:0/energy_uj", 0, 0), 0);
        sensors = sensors_new_unprivileged(&tree, &topology);
        ck_assert_int_eq(sensors_error(sensors, SENSE_ENERGY), -EACCES);
}

TEST(deadline)
{
        put_zone("intel-rapl:0", "package-0", "262143000000", "5");
        put_zone("intel-rapl:0:0", "dram", "65500000000", "5");
        open_sensors();
        /* 65.5 kJ at 500 W are 131 s */
        ck_assert_uint_eq(sensors_energy_deadline(sensors), 65500000);
}

static const struct {
        const char *name, *text;
        bool valid;
        uint64_t uj;
} values[] = {
        { "plain", "18000000000\n", true, 18000000000 },
        { "zero", "0\n", true, 0 },
        { "empty", "", false, 0 },
        { "garbage", "garbage\n", false, 0 },
        { "negative", "-5\n", false, 0 },
        { "cut", "123", false, 0 },
        { "unit", "123 uJ\n", false, 0 },
        { "too long", "99999999999999999999999999999999999999\n", false, 0 },
};

TEST_EACH(counters_of_zones, values)
{
        tree_put(&tree, "proc/stat", "cpu0 1 2 3 4\n");
        put_zone("intel-rapl:0", "package-0", RANGE, "5");
        put_zone("intel-rapl:1", "package-1", RANGE, "6");
        open_sensors();
        tree_set(&tree, ZONES "intel-rapl:0/energy_uj", c->text);
        ck_assert_int_eq(counters_read(sensors, SENSE_ENERGY, counters), 0);
        ck_assert_uint_eq(counters->have, SENSE_LOAD | SENSE_ENERGY);
        ck_assert_int_eq(counters->n_energy, 2);
        ck_case(c->name, counters->energy[0].valid == c->valid, "valid is %d",
                counters->energy[0].valid);
        ck_assert_uint_eq(counters->energy[0].uj, c->uj);
        ck_assert_uint_eq(counters->energy[0].range_uj, 262143328850);
        ck_assert(counters->energy[1].valid && counters->energy[1].uj == 6);
        ck_assert(counters->energy[0].package && counters->energy[1].package);
}

/* One source, the first that there is. */
static const struct {
        const char *name;
        const char *domains; /* as describe() */
        EnergySource source;
        bool sampled;
        const char *devices; /* for put_devices() */
} sources[] = {
        { "SCMI", "soc soc-big<0", ENERGY_SOURCE_SCMI, true,
          "powercap/arm-scmi:0 name=soc max_power_range_uw=900 power_uw=5, powercap/arm-scmi:0:1 "
          "name=big power_uw=5" },
        { "a counter before SCMI", "ina226!", ENERGY_SOURCE_HWMON, false,
          "powercap/arm-scmi:0 name=soc power_uw=5, hwmon/hwmon0 name=ina226 energy1_input=7" },
        { "SCMI before power", "soc", ENERGY_SOURCE_SCMI, true,
          "powercap/arm-scmi:0 name=soc power_uw=5, hwmon/hwmon0 name=ina226 power1_input=7" },
        { "no supplies, and two batteries", "battery battery-1", ENERGY_SOURCE_BATTERY, true,
          "hwmon/hwmon0 name=ina226 power1_input=5 device/type=Mains, hwmon/hwmon1 name=bq27542 "
          "power1_input=5, power_supply/BAT0 type=Battery, power_supply/BAT1 type=Battery" },
        { "a counter before power", "xgene!", ENERGY_SOURCE_HWMON, false,
          "hwmon/hwmon0 name=ina226 power1_input=5, hwmon/hwmon10 name=xgene energy1_input=5" },
        { "power of several, in order", "ina226 ina226-1", ENERGY_SOURCE_HWMON, true,
          "hwmon/hwmon10 name=ina226 power1_input=5, hwmon/hwmon2 name=ina226 power1_input=5" },
        { "no counter of one core; a battery", "battery", ENERGY_SOURCE_BATTERY, true,
          "hwmon/hwmon0 name=amd_energy energy1_input=5 energy1_label=Ecore000, power_supply/BAT0 "
          "type=Battery" },
        { "an average", "power_meter", ENERGY_SOURCE_HWMON, true,
          "hwmon/hwmon0 name=power_meter power1_average=5" },
        { "no graphics; a battery", "battery", ENERGY_SOURCE_BATTERY, true,
          "hwmon/hwmon0 name=amdgpu power1_input=5, power_supply/BAT0 type=Battery status=Full" },
};

TEST_EACH(other_sources, sources)
{
        put_devices(c->devices);
        open_domains();
        ck_case(c->name, strcmp(text, c->domains) == 0, "%s, expected %s", text, c->domains);
        ck_case(c->name, domains[0].source == c->source && domains[0].sampled == c->sampled, "%s",
                energy_source_text(domains[0].source));
        if (c->sampled)
                ck_assert_uint_eq(sensors_energy_deadline(sensors), UINT64_MAX);
}

#define SUPPLY "sys/class/power_supply/BAT0/"

/* 10 W, then 20 W; a battery is asked every five seconds, and only while it discharges. */
TEST(power_over_time)
{
        void *state;

        put_devices("power_supply/BAT0 type=Battery status=Discharging "
                    "current_now=1000000 voltage_now=10000000");
        ck_assert_int_eq(sensor_energy.open(tree.root, NULL, &state), 0);
        counters->time_usec = 1000000;
        sensor_energy.read(state, counters);
        ck_assert(counters->energy[0].valid && counters->energy[0].uj == 0);
        tree_put(&tree, SUPPLY "power_now", "20000000\n");
        counters->time_usec += 1000000;
        sensor_energy.read(state, counters);
        ck_assert_uint_eq(counters->energy[0].uj, 10000000);
        counters->time_usec += 4000000;
        sensor_energy.read(state, counters);
        ck_assert_uint_eq(counters->energy[0].uj, 70000000); /* 4 s of 15 W */
        tree_set(&tree, SUPPLY "status", "Charging\n");
        counters->time_usec += 5000000;
        sensor_energy.read(state, counters);
        ck_assert(!counters->energy[0].valid);
        sensor_energy.close(state);
}

TEST(list_survives_rescan)
{
        const EnergyDomain *before, *after;

        put_zone("intel-rapl:0", "package-0", RANGE, "5");
        open_sensors();
        ck_assert_int_eq(sensors_energy_domains(sensors, &before), 1);
        put_zone("intel-rapl:1", "package-1", RANGE, "6");
        sensors_rescan(sensors, &topology);
        ck_assert_int_eq(sensors_energy_domains(sensors, &after), 1);
        ck_assert_ptr_eq(before, after);
}

/* Drivers that are loaded later. */
TEST(better_source)
{
        g_autoptr(Counters) before = counters_new(1), after = counters_new(1);
        g_autoptr(Snapshot) snapshot = snapshot_new(1);

        tree_put(&tree, "proc/stat", "cpu0 1 2 3 4\n");
        put_devices("power_supply/BAT0 type=Battery status=Discharging power_now=20000000");
        open_domains();
        ck_assert_int_eq(domains[0].source, ENERGY_SOURCE_BATTERY);
        ck_assert(!sensors_improve_energy(sensors, &topology));
        ck_assert(sensors_may_improve_energy(sensors));
        ck_assert_int_eq(counters_read(sensors, SENSE_ENERGY, before), 0);

        put_zone("intel-rapl:0", "package-0", RANGE, NULL); /* and cannot be read */
        ck_assert(!sensors_improve_energy(sensors, &topology));
        put_zone("intel-rapl:1", "package-1", RANGE, "5");
        ck_assert(sensors_improve_energy(sensors, &topology));
        ck_assert_int_eq(sensors_energy_domains(sensors, &domains), 1);
        ck_assert_int_eq(domains[0].source, ENERGY_SOURCE_RAPL);
        ck_assert(!sensors_may_improve_energy(sensors));
        ck_assert(!sensors_improve_energy(sensors, &topology));

        ck_assert_int_eq(counters_read(sensors, SENSE_ENERGY, after), 0);
        ck_assert(before->energy[0].valid && after->energy[0].valid);
        snapshot_compute(before, after, snapshot);
        ck_assert(!snapshot->energy[0].valid);
}

/* A counter of hwmon after its power: the same kind of source, and no energy between them. */
TEST(counter_after_power)
{
        put_devices("hwmon/hwmon0 name=ina226 power1_input=5");
        open_sensors();
        put_devices("hwmon/hwmon1 name=xgene energy1_input=7");
        ck_assert(sensors_improve_energy(sensors, &topology));
        sensors_energy_domains(sensors, &domains);
        ck_assert_str_eq(domains[0].name, "xgene");
        ck_assert(!domains[0].sampled && sensors_may_improve_energy(sensors));
}

TEST(described_laptop)
{
        topology = plain_topology(8);
        ck_assert(tree_build(&tree, "synthetic-laptop"));
        open_domains();
        ck_assert_str_eq(text, cases[0].expected);
}

/* Packages count from 0, whatever their numbers are, and their dies are one sum. */
TEST(sums_of_packages)
{
        static char names[][24] = { "package-3-die-0",      "package-3-die-1",
                                    "package-3-die-0-dram", "package-1",
                                    "package-3-die-1-dram", "psys" };
        const EnergyDomain named[] = { { .name = names[0], .parent = -1, .package = true },
                                       { .name = names[1], .parent = -1, .package = true },
                                       { .name = names[2], .parent = 0 },
                                       { .name = names[3], .parent = -1, .package = true },
                                       { .name = names[4], .parent = 1 },
                                       { .name = names[5], .parent = -1 } };
        EnergyUse uses[] = { { 10, 1, .valid = true },   { 20, 2, .valid = true },
                             { 40, 4, .valid = true },   { 80, 8, .valid = true },
                             { 160, 16, .valid = true }, { 320, 32, .valid = true } };
        const struct {
                int package;
                const char *part;
                double joules; /* 0: nothing is known */
        } rows[] = {
                { 0, "", 80 }, { 1, "", 30 }, { 1, "-dram", 200 }, { 0, "-dram", 0 }, { 2, "", 0 }
        };

        for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
                EnergyUse sum = energy_of_package(named, G_N_ELEMENTS(named), uses, rows[i].package,
                                                  rows[i].part);

                ck_case(rows[i].part, sum.valid == (rows[i].joules > 0), "row %u", i);
                ck_case(rows[i].part, sum.joules == rows[i].joules, "%g J", sum.joules);
                ck_case(rows[i].part, sum.watts == rows[i].joules / 10, "%g W", sum.watts);
        }
        uses[0].valid = false;
        ck_assert_double_eq(energy_of_package(named, 6, uses, 1, "").joules, 20);
}

/* One counter without a number is that of the machine. */
TEST(sum_of_one_sensor)
{
        static char name[] = "ina226";
        const EnergyDomain domain = { .name = name, .parent = -1, .package = true };
        const EnergyUse use = { 10, 1, .valid = true };

        ck_assert_double_eq(energy_of_package(&domain, 1, &use, 0, "").joules, 10);
        ck_assert(!energy_of_package(&domain, 1, &use, 1, "").valid);
}

UNIT("energy", .setup = setup, .teardown = teardown, .timeout = 30)
