/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Battery or mains: what the supplies of a machine add up to. */
#include "sense.h"
#include "sense/power.h"
#include "table.h"

/* Supplies: "NAME FILE=VALUE...;" each. */
#define MAINS(online)    "AC type=Mains online=" #online ";"
#define BATTERY(n, text) "BAT" #n " type=Battery present=1 " text ";"
#define MOUSE            "hid0 type=Battery scope=Device status=Discharging capacity=20;"

static const struct {
        const char *name;
        double level;
        bool on_battery;
        int error;
        const char *supplies;
} cases[] = {
        { "no directory", 0, .error = -ENOENT, .supplies = "" },
        { "mouse only", 0, .error = -ENOENT, .supplies = MOUSE },
        { "mains only", -1, .supplies = MAINS(1) },
        { "mains only, said to be off", -1, .supplies = MAINS(0) },
        { "unplugged", 0.76, .on_battery = true,
          .supplies = MAINS(0) BATTERY(0, "status=Discharging capacity=76") MOUSE },
        { "plugged", 0.76, .supplies = MAINS(1) BATTERY(0, "status=Charging capacity=76") },
        { "plugged, yet discharging", 0.76,
          .supplies = MAINS(1) BATTERY(0, "status=Discharging capacity=76") },
        { "held below full", 0.8,
          .supplies = MAINS(1) BATTERY(0, "status=Not-charging capacity=80") },
        { "status unknown", 0.8, .supplies = MAINS(0) BATTERY(0, "status=Unknown capacity=80") },
        { "no mains in the list", 0.09, .on_battery = true,
          .supplies = BATTERY(0, "status=Discharging capacity=9") },
        { "USB-C, one of two ports", 0.5,
          .supplies = "ucsi0 type=USB online=0;"
                      "ucsi1 type=USB online=1;" BATTERY(0, "status=Discharging capacity=50") },
        { "USB-C, programmable supply", 0.5,
          .supplies = "ucsi0 type=USB online=2;" BATTERY(0, "status=Discharging capacity=50") },
        { "two batteries, by energy", 0.7, .on_battery = true,
          .supplies = BATTERY(0, "status=Unknown energy_now=10 energy_full=20 capacity=1")
                  BATTERY(1, "status=Discharging energy_now=60 energy_full=80 capacity=1") },
        { "two batteries, one reports percent only", 0.75, .on_battery = true,
          .supplies = BATTERY(0, "status=Full energy_now=20 energy_full=20")
                  BATTERY(1, "status=Discharging capacity=50") },
        { "by charge", 0.75, .supplies = BATTERY(0, "status=Full charge_now=30 charge_full=40") },
        { "second bay is empty", 0.9,
          .supplies = BATTERY(0, "status=Full capacity=90") "BAT1 type=Battery present=0;" },
        { "UPS", 0.4, .on_battery = true,
          .supplies = "ups type=UPS status=Discharging capacity=40;" },
        { "over full", 1, .supplies = BATTERY(0, "status=Full energy_now=52 energy_full=50") },
        { "over 100 %", 1, .supplies = BATTERY(0, "status=Full capacity=103") },
        { "full of nothing", 0.6,
          .supplies = BATTERY(0, "status=Full energy_now=5 energy_full=0 capacity=60") },
        { "garbage", -1, .on_battery = true,
          .supplies = "AC type=Mains online=yes;" BATTERY(
                  0, "status=Discharging capacity=-5 energy_now=x energy_full=y") },
        { "no type", -1, .supplies = "odd online=1;" MAINS(0) },
};

static void put_supplies(const Tree *tree, const char *text)
{
        g_auto(GStrv) supplies = g_strsplit(text, ";", -1);

        for (char **supply = supplies; *supply && **supply; supply++) {
                g_auto(GStrv) words = g_strsplit(*supply, " ", -1);

                for (char **file = words + 1; *file; file++) {
                        g_auto(GStrv) pair = g_strsplit(*file, "=", 2);
                        g_autofree char *path = g_strdup_printf("sys/class/power_supply/%s/%s",
                                                                words[0], pair[0]);
                        g_autofree char *value = g_strconcat(pair[1], "\n", NULL);

                        tree_put(tree, path, value);
                }
        }
}

TEST_EACH(supplies, cases)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Counters) counters = counters_new(1);
        void *state = NULL;
        int r;

        put_supplies(&tree, c->supplies);
        r = sensor_power.open(tree.root, NULL, &state);
        ck_case(c->name, r == c->error, "open returned %d, expected %d", r, c->error);
        if (r == 0) {
                ck_assert_int_eq(sensor_power.read(state, counters), 0);
                ck_assert_uint_eq(counters->have, SENSE_POWER);
                ck_case(c->name, counters->on_battery == c->on_battery, "on battery is %d",
                        counters->on_battery);
                ck_case(c->name, fabs(counters->battery_level - c->level) < 1e-9, "level %g",
                        counters->battery_level);
                sensor_power.close(state);
        }
}

/* What a laptop drew between two readings, of 10 Wh or 1 Ah. */
static const struct {
        const char *name;
        const char *before, *after;
        double joules; /* NaN: not known */
} drains[] = {
#define ENERGY(n, status, uwh)  BATTERY(n, "status=" status " energy_now=" uwh)
#define CHARGE(status, uah, uv) BATTERY(0, "status=" status " charge_now=" uah " voltage_now=" uv)
        { "1 Wh", MAINS(0) ENERGY(0, "Discharging", "10000000"),
          MAINS(0) ENERGY(0, "Discharging", "9000000"), 3600 },
        { "100 mAh, the voltage falls", CHARGE("Discharging", "1000000", "12100000"),
          CHARGE("Discharging", "900000", "11900000"), 4320 },
        { "one battery after the other",
          ENERGY(0, "Discharging", "10000000") ENERGY(1, "Unknown", "10000000"),
          ENERGY(0, "Unknown", "9500000") ENERGY(1, "Discharging", "9500000"), 3600 },
        { "energy and charge",
          CHARGE("Discharging", "1000000", "10000000") ENERGY(1, "Unknown", "10000000"),
          CHARGE("Discharging", "900000", "10000000") ENERGY(1, "Unknown", "9000000"), 7200 },
        { "20 steps", ENERGY(0, "Discharging", "10000000"), ENERGY(0, "Discharging", "9800000"),
          720 },
        { "19 steps", ENERGY(0, "Discharging", "10000000"), ENERGY(0, "Discharging", "9810000"),
          NAN },
        { "no step", ENERGY(0, "Discharging", "10000000"), ENERGY(0, "Discharging", "10000000"),
          NAN },
        { "charged in between", ENERGY(0, "Discharging", "9000000"),
          ENERGY(0, "Discharging", "10000000"), NAN },
        { "plugged in", MAINS(0) ENERGY(0, "Discharging", "10000000"),
          MAINS(1) ENERGY(0, "Discharging", "9000000"), NAN },
        { "charges", ENERGY(0, "Discharging", "10000000"), ENERGY(0, "Charging", "9000000"), NAN },
        { "was unplugged", MAINS(1) ENERGY(0, "Full", "10000000"),
          MAINS(0) ENERGY(0, "Discharging", "9000000"), NAN },
        { "one of two is taken out",
          ENERGY(0, "Discharging", "10000000") ENERGY(1, "Unknown", "10000000"),
          ENERGY(0, "Discharging", "10000000"), NAN },
        { "vanishes", ENERGY(0, "Discharging", "10000000"), MAINS(0), NAN },
        { "percent only", BATTERY(0, "status=Discharging capacity=90"),
          BATTERY(0, "status=Discharging capacity=80"), NAN },
        { "charge without voltage", BATTERY(0, "status=Discharging charge_now=1000000"),
          BATTERY(0, "status=Discharging charge_now=900000"), NAN },
        { "garbage", ENERGY(0, "Discharging", "-1"), ENERGY(0, "Discharging", "x"), NAN },
        { "a mouse does not count", MOUSE, MOUSE, NAN },
};

static BatteryReading reading_of(const char *texts)
{
        BatteryReading reading = { 0 };
        g_auto(Tree) tree = tree_make();

        put_supplies(&tree, texts);
        if (battery_read(tree.root, &reading) < 0)
                reading = (BatteryReading){ 0 };
        return reading;
}

TEST_EACH(drained, drains)
{
        BatteryReading before = reading_of(c->before), after = reading_of(c->after);
        double joules = battery_joules(&before, &after), expected = c->joules;

        ck_case(c->name, isnan(expected) ? isnan(joules) : fabs(joules - expected) < 1e-6, "%f J",
                joules);
}

/* Too few steps for a mean count for the next one. */
TEST(mean_watts)
{
        static const struct {
                const char *supplies;
                uint64_t seconds;
                double watts;
        } rows[] = {
                { ENERGY(0, "Discharging", "10000000"), 100, NAN },
                { ENERGY(0, "Discharging", "9900000"), 130, NAN },  /* 10 of 20 steps */
                { ENERGY(0, "Discharging", "9600000"), 200, 14.4 }, /* 0.4 Wh in 100 s */
                { ENERGY(0, "Charging", "9000000"), 260, NAN },
                { ENERGY(0, "Discharging", "9500000"), 360, NAN },
                { ENERGY(0, "Discharging", "9000000"), 410, 36 },
        };
        BatteryMeter meter = { 0 };
        g_auto(Tree) tree = tree_make();

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                double watts;

                put_supplies(&tree, rows[i].supplies);
                watts = battery_watts(&meter, tree.root, rows[i].seconds * 1000000);
                ck_assert_msg(isnan(rows[i].watts) ? isnan(watts)
                                                   : fabs(watts - rows[i].watts) < 1e-6,
                              "row %zu: %f W", i, watts);
        }
}

TEST(plug_is_pulled)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Counters) counters = counters_new(1);
        void *state = NULL;

        put_supplies(&tree, MAINS(1) BATTERY(0, "status=Full capacity=100"));
        ck_assert_int_eq(sensor_power.open(tree.root, NULL, &state), 0);
        counters->time_usec = 1000000;
        ck_assert_int_eq(sensor_power.read(state, counters), 0);
        ck_assert(!counters->on_battery);

        tree_set(&tree, "sys/class/power_supply/AC/online", "0\n");
        tree_set(&tree, "sys/class/power_supply/BAT0/status", "Discharging\n");
        counters->time_usec += 1000000;
        ck_assert_int_eq(sensor_power.read(state, counters), 0);
        ck_assert_msg(!counters->on_battery, "the firmware was asked again within a second");
        counters->time_usec += 5000000;
        ck_assert_int_eq(sensor_power.read(state, counters), 0);
        ck_assert(counters->on_battery);
        sensor_power.close(state);
}

TEST(described_laptop)
{
        g_auto(Tree) tree = tree_make();
        g_autoptr(Counters) counters = counters_new(8);
        void *state = NULL;

        ck_assert(tree_build(&tree, "synthetic-laptop"));
        ck_assert_int_eq(sensor_power.open(tree.root, NULL, &state), 0);
        ck_assert_int_eq(sensor_power.read(state, counters), 0);
        ck_assert(counters->on_battery);
        ck_assert(fabs(counters->battery_level - 0.76) < 1e-9);
        sensor_power.close(state);
}

UNIT("power", .timeout = 30)
