/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The zones of intel-rapl: per package its cores, what is not cores, and memory. As with the real
 * ones the package contains the first two and not the third, counters advance in steps and wrap,
 * and limits can be set; here these limit nothing. With energy_source=scmi they are zones of
 * arm-scmi, which show power and have no counters.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/powercap.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "pmlab.h"

#define ENERGY_UNIT_UJ 61 /* the steps that counters advance in */

static unsigned long long max_energy_uj = 262143328850ULL;
module_param(max_energy_uj, ullong, 0444);
MODULE_PARM_DESC(max_energy_uj, "counters wrap past this value");

static unsigned long long start_energy_uj;
module_param(start_energy_uj, ullong, 0444);
MODULE_PARM_DESC(start_energy_uj, "where counters start");

static char *energy_source = "rapl";
module_param(energy_source, charp, 0444);
MODULE_PARM_DESC(energy_source, "what measures energy: rapl, scmi, hwmon, or hwmon-power");

int lab_fail_energy;
static int fail_limit;
module_param_named(fail_energy, lab_fail_energy, int, 0644);
MODULE_PARM_DESC(fail_energy, "errno of reading energy or power");
module_param(fail_limit, int, 0644);
MODULE_PARM_DESC(fail_limit, "errno of writing a limit, a window or `enabled`");

static const char *const source_names[] = { "rapl", "scmi", "hwmon", "hwmon-power" };
static enum { RAPL, SCMI, HWMON, HWMON_POWER } source;

enum { PACKAGE = LAB_DOMAINS, ZONES };
static const char *const part_names[] = { "core", "uncore", "dram" };

struct lab_zone {
        struct powercap_zone zone;
        struct lab_package *package;
        int kind;
        bool enabled;
        u64 limit_uw[2], window_us[2];
};

static struct powercap_control_type *control;
static struct lab_zone *zones; /* of each package its own, then those of its parts */

static struct lab_zone *to_zone(struct powercap_zone *zone)
{
        return container_of(zone, struct lab_zone, zone);
}

static int get_energy(struct powercap_zone *base, u64 *ret_energy)
{
        struct lab_zone *zone = to_zone(base);
        u64 energy, step, wrapped;

        if (lab_fail_energy)
                return -lab_fail_energy;
        energy = start_energy_uj;
        if (zone->kind == PACKAGE)
                energy += lab_energy_uj(zone->package, LAB_CORES) +
                          lab_energy_uj(zone->package, LAB_UNCORE);
        else
                energy += lab_energy_uj(zone->package, zone->kind);
        div64_u64_rem(energy, max_energy_uj + 1, &wrapped);
        div64_u64_rem(wrapped, ENERGY_UNIT_UJ, &step);
        *ret_energy = wrapped - step;
        return 0;
}

static int get_max_energy(struct powercap_zone *zone, u64 *ret_energy)
{
        *ret_energy = max_energy_uj;
        return 0;
}

static int get_power(struct powercap_zone *base, u64 *ret_power)
{
        struct lab_zone *zone = to_zone(base);

        if (lab_fail_energy)
                return -lab_fail_energy;
        if (zone->kind == PACKAGE)
                *ret_power = lab_power_uw(zone->package, LAB_CORES) +
                             lab_power_uw(zone->package, LAB_UNCORE);
        else
                *ret_power = lab_power_uw(zone->package, zone->kind);
        return 0;
}

static int get_power_range(struct powercap_zone *zone, u64 *ret_power)
{
        *ret_power = U32_MAX;
        return 0;
}

static int release(struct powercap_zone *zone)
{
        return 0;
}

static int set_enable(struct powercap_zone *zone, bool enabled)
{
        if (fail_limit)
                return -fail_limit;
        to_zone(zone)->enabled = enabled;
        return 0;
}

static int get_enable(struct powercap_zone *zone, bool *ret_enabled)
{
        *ret_enabled = to_zone(zone)->enabled;
        return 0;
}

static const struct powercap_zone_ops zone_ops = {
        .get_energy_uj = get_energy,
        .get_max_energy_range_uj = get_max_energy,
        .release = release,
        .set_enable = set_enable,
        .get_enable = get_enable,
};

static const struct powercap_zone_ops scmi_ops = {
        .get_power_uw = get_power,
        .get_max_power_range_uw = get_power_range,
        .release = release,
        .set_enable = set_enable,
        .get_enable = get_enable,
};

static int get_limit(struct powercap_zone *zone, int id, u64 *ret_limit)
{
        *ret_limit = to_zone(zone)->limit_uw[id];
        return 0;
}

static int set_limit(struct powercap_zone *zone, int id, u64 limit)
{
        if (fail_limit)
                return -fail_limit;
        to_zone(zone)->limit_uw[id] = limit;
        return 0;
}

static int get_window(struct powercap_zone *zone, int id, u64 *ret_window)
{
        *ret_window = to_zone(zone)->window_us[id];
        return 0;
}

static int set_window(struct powercap_zone *zone, int id, u64 window)
{
        if (fail_limit)
                return -fail_limit;
        to_zone(zone)->window_us[id] = window;
        return 0;
}

static int get_max_power(struct powercap_zone *zone, int id, u64 *ret_power)
{
        if (id != 0)
                return -ENODATA;
        *ret_power = 95000000;
        return 0;
}

static const char *get_name(struct powercap_zone *zone, int id)
{
        return id == 0 ? "long_term" : "short_term";
}

static const struct powercap_zone_constraint_ops constraint_ops = {
        .get_power_limit_uw = get_limit,
        .set_power_limit_uw = set_limit,
        .get_time_window_us = get_window,
        .set_time_window_us = set_window,
        .get_max_power_uw = get_max_power,
        .get_name = get_name,
};

static int register_zone(int i)
{
        struct lab_zone *zone = &zones[i], *package = &zones[i - i % ZONES];
        int kind = i % ZONES == 0 ? PACKAGE : i % ZONES - 1;
        struct powercap_zone *result;
        char name[24];

        *zone = (struct lab_zone){
                .package = &lab_packages[i / ZONES],
                .kind = kind,
                .enabled = true,
                .limit_uw = { 95000000, 118750000 },
                .window_us = { 27983872, 2440 },
        };
        if (kind == PACKAGE)
                snprintf(name, sizeof(name), "package-%d", i / ZONES);
        else
                strscpy(name, part_names[kind], sizeof(name));
        result = powercap_register_zone(
                &zone->zone, control, name, kind == PACKAGE ? NULL : &package->zone,
                source == SCMI ? &scmi_ops : &zone_ops, kind == PACKAGE ? 2 : 1, &constraint_ops);
        return PTR_ERR_OR_ZERO(result);
}

static void unregister(int n_zones)
{
        while (n_zones-- > 0)
                powercap_unregister_zone(control, &zones[n_zones].zone);
        powercap_unregister_control_type(control);
        kfree(zones);
}

bool lab_energy_check(void)
{
        int i = match_string(source_names, ARRAY_SIZE(source_names), energy_source);

        if (i < 0) {
                pr_err("pmlab: energy_source is '%s', expected rapl, scmi, hwmon or hwmon-power\n",
                       energy_source);
                return false;
        }
        source = i;
        if (max_energy_uj > 0 && max_energy_uj < U64_MAX)
                return true;
        pr_err("pmlab: max_energy_uj is %llu, expected 1 to %llu\n", max_energy_uj, U64_MAX - 1);
        return false;
}

int lab_energy_register(void)
{
        int n_zones = lab_n_packages * ZONES;

        if (source == HWMON || source == HWMON_POWER)
                return lab_hwmon_register(source == HWMON);
        zones = kcalloc(n_zones, sizeof(*zones), GFP_KERNEL);
        if (!zones)
                return -ENOMEM;
        control = powercap_register_control_type(NULL, source == SCMI ? "arm-scmi" : "intel-rapl",
                                                 NULL);
        if (IS_ERR(control)) {
                kfree(zones);
                return PTR_ERR(control);
        }
        for (int i = 0; i < n_zones; i++) {
                int r = register_zone(i);

                if (r < 0) {
                        unregister(i);
                        return r;
                }
        }
        return 0;
}

void lab_energy_unregister(void)
{
        if (source == HWMON || source == HWMON_POWER)
                lab_hwmon_unregister();
        else
                unregister(lab_n_packages * ZONES);
}
