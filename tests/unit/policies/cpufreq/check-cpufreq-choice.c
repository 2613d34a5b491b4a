/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpufreq: what each driver is asked for, by load, and what is said where nothing fits.
 */
#include "cpufreq-machine.h"

static const struct {
        const char *name;
        const Driver *driver;
        const char *options, *wish, *why; /* for says() */
} choices[] = {
        { "nothing", &intel_active, "", "", "" },
        { "first governor", &acpi, "Governor=schedutil+ondemand", "governor=schedutil",
          "governor schedutil|first configured|acpi-cpufreq offers [Governor]" },
        { "a later one", &intel_active, "Governor=schedutil+ondemand+powersave",
          "governor=powersave", "governor powersave|first" },
        { "none", &intel_active, "Governor=schedutil+ondemand", "",
          "no governor|schedutil, ondemand|intel_pstate [Governor]" },
        { "one, not offered", &intel_active, "Governor=schedutil", "",
          "no governor|schedutil|not offered|intel_pstate" },
        { "one, offered", &intel_passive, "Governor=schedutil", "governor=schedutil",
          "governor schedutil|intel_cpufreq offers" },
        { "a module that is not loaded", &module_less, "Governor=ondemand+performance",
          "governor=performance", "governor performance" },
        { "preference", &intel_active, "EnergyPreference=balance_power", "epp=balance_power",
          "energy preference balance_power|intel_pstate offers [EnergyPreference]" },
        { "dynamic", &amd_7_3, "EnergyPreference=dynamic+balance_power", "epp=dynamic",
          "energy preference dynamic|amd-pstate-epp offers [EnergyPreference]" },
        { "dynamic, of an older kernel", &amd_active, "EnergyPreference=dynamic+balance_power",
          "epp=balance_power", "energy preference balance_power" },
        { "preference of a driver without", &acpi, "EnergyPreference=power", "",
          "no energy preference|acpi-cpufreq has none" },
        { "preference next to performance", &intel_active,
          "Governor=performance EnergyPreference=power", "governor=performance",
          "governor performance|intel_pstate chooses" },
        { "amd the same", &amd_active, "Governor=performance EnergyPreference=power",
          "governor=performance", "governor performance|amd-pstate-epp chooses" },
        { "passive does not care", &intel_passive, "Governor=performance EnergyPreference=power",
          "governor=performance epp=power", "energy preference power" },
        { "performance was set before", &amd_performance, "EnergyPreference=power+balance_power",
          "", "none of power, balance_power|amd-pstate-epp" },
        { "and is what is wanted", &amd_performance, "EnergyPreference=performance",
          "epp=performance", "energy preference performance" },
        { "bias", &intel_active, "EnergyBias=6", "epb=6", "energy bias [EnergyBias]" },
        { "bias by name", &intel_active, "EnergyBias=Balance-Power", "epb=8", "energy bias" },
        { "bias of zero", &intel_active, "EnergyBias=performance", "epb=0", "energy bias" },
        { "no bias", &acpi, "EnergyBias=6", "", "no energy bias|have none" },
        { "frequencies", &intel_active, "MinFrequency=1.2GHz MaxFrequency=2400MHz",
          "min=1200000 max=2400000", "lowest frequency [MinFrequency]|highest frequency [Max" },
        { "shares", &intel_active, "MinFrequency=10% MaxFrequency=50%", "min=470000 max=2350000",
          "lowest" },
        { "words", &intel_active, "MinFrequency=min MaxFrequency=base", "min=400000 max=2100000",
          "highest" },
        { "the fastest", &acpi, "MinFrequency=max MaxFrequency=max", "min=2450000 max=2450000",
          "lowest" },
        { "beyond the hardware", &acpi, "MinFrequency=100kHz MaxFrequency=9GHz",
          "min=1500000 max=2450000",
          "lowest frequency [MinFrequency 0.1, now 1500 MHz]|"
          "highest frequency [MaxFrequency 9000, now 2450 MHz]" },
        { "nothing of the highest", &acpi, "MaxFrequency=0%", "max=1500000", "highest" },
        { "no base", &acpi, "MaxFrequency=base", "",
          "no highest frequency|hardware does not report" },
        { "lowest above highest", &acpi, "MinFrequency=2GHz MaxFrequency=70%",
          "min=2000000 max=2000000", "lowest" },
        { "boost off", &acpi, "Boost=off", "boost=0", "boost off [Boost]" },
        { "boost on", &acpi, "Boost=on", "boost=1", "boost on [Boost]" },
        { "no boost", &cppc, "Boost=off", "", "boost is left unchanged|cannot switch|[Boost]" },
        { "everything", &intel_passive,
          "Governor=schedutil EnergyPreference=power EnergyBias=15 MinFrequency=min "
          "MaxFrequency=50% Boost=off",
          "governor=schedutil epp=power epb=15 min=400000 max=2350000 boost=0",
          "boost off [Boost]" },
        { "names that do not exist", &acpi, "Governor=\033[2J+\303\274ber", "",
          "none of ?[2J, ??ber is offered" },
};

TEST_EACH(choice, choices)
{
        g_auto(Machine) m = machine_start(c->driver, c->driver, c->options);
        g_autofree char *why = NULL;

        decide(&m, 0);
        for (int cpu = 0; cpu < 4; cpu++)
                expect(c->name, &m, cpu, c->wish);
        why = explain(&m, 1);
        ck_case(c->name, *c->why ? says(why, c->why) : *why == '\0', "\"%s\"", why);
        ck_case(c->name, m.world->wish.settled && m.world->wish.period_usec == 0,
                "requests a call");
}

/* Each frequency policy goes by its own driver and its own load. */
TEST(policies_differ)
{
        g_auto(Machine)
                m = machine_start(&intel_active, &acpi,
                                  "Governor=schedutil+powersave MaxFrequency=50% BoostHigh=off");

        run(&m, 0.99, 1);
        expect("the first", &m, 1, "governor=powersave max=2350000 boost=0");
        expect("the second", &m, 2, "governor=schedutil max=1500000");
}

static const struct {
        const char *name, *options, *reason;
} platforms[] = {
        { "low-power", "PlatformProfile=low-power", "platform profile low-power|requested" },
        { "cool", "PlatformProfile=cool", "platform profile cool|requested" },
        { "quiet", "PlatformProfile=quiet", "platform profile quiet|requested" },
        { "balanced", "PlatformProfile=balanced", "platform profile balanced|requested" },
        { "performance", "PlatformProfile=performance", "platform profile performance|requested" },
        { "custom", "PlatformProfile=custom", "platform profile custom|requested" },
};

TEST_EACH(platform, platforms)
{
        g_auto(Machine) m = machine_start(&acpi, &acpi, c->options);
        g_autofree char *why = NULL;

        decide(&m, 1000000);
        ck_assert_str_eq(m.world->wish.platform, c->name);
        why = explain(&m, 0);
        ck_case(c->name, says(why, c->reason), "\"%s\"", why);
}

TEST(no_cpufreq)
{
        g_auto(Machine) m = machine_start(&acpi, &acpi, "Governor=schedutil BoostHigh=on");
        g_autofree char *why = NULL;

        world_decide(m.world, 1000000);
        expect("none", &m, 0, "");
        ck_assert_uint_eq(m.world->wish.period_usec, 0);
        why = explain(&m, 0);
        ck_case("none",
                says(why, "this machine has no cpufreq [Governor]|"
                          "this machine has no cpufreq [BoostHigh]"),
                "\"%s\"", why);
        m.policies[1].cpus = (CpuSet){ 0 };
        decide(&m, 1000000);
        expect("offline", &m, 2, "");
        expect("online", &m, 0, "governor=schedutil");
}

static const struct {
        const char *options, *key; /* NULL: they fit */
} checks[] = {
        { "Governor=any+word", NULL },
        { "MinFrequency=800MHz MaxFrequency=1.8GHz", NULL },
        { "MinFrequency=max MaxFrequency=100%", NULL },
        { "MinFrequency=1.8 ", "MinFrequency" },
        { "MinFrequency=1.8Ghz", "MinFrequency" },
        { "MinFrequency=1,8GHz", "MinFrequency" },
        { "MinFrequency=-1GHz", "MinFrequency" },
        { "MinFrequency=0GHz", "MinFrequency" },
        { "MaxFrequency=101%", "MaxFrequency" },
        { "MaxFrequency=most", "MaxFrequency" },
        { "MaxFrequencyLow=1e9Hz", "MaxFrequencyLow" },
        { "MinFrequency=2GHz MaxFrequency=1GHz", "MinFrequency" },
        { "MinFrequencyLow=60% MaxFrequencyLow=50%", "MinFrequencyLow" },
        { "MinFrequency=max MaxFrequency=base", "MinFrequency" },
        { "MinFrequency=60% MaxFrequencyLow=50%", NULL },
        { "EnergyBias=15", NULL },
        { "EnergyBias=16", "EnergyBias" },
        { "EnergyBias=6.5", "EnergyBias" },
        { "EnergyBias=balanced", "EnergyBias" },
        { "EnergyBiasHigh=-1", "EnergyBiasHigh" },
        { "LowLoad=90%", "LowLoad" },
        { "LowLoad=80% HighLoad=80%", NULL },
};

TEST_EACH(contradictions, checks)
{
        g_autofree char *options = g_strstrip(g_strdup(c->options));
        g_auto(Machine) m = machine_start(&acpi, &acpi, options);
        const char *key = NULL, *wrong = idled_policy.check(m.world->options, &key);

        ck_case(options, (wrong != NULL) == (c->key != NULL), "%s", wrong ? wrong : "passes");
        if (wrong)
                ck_case(options, g_strcmp0(key, c->key) == 0, "key %s", key);
}

UNIT("cpufreq-choice")
