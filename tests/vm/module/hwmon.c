/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sensor of hwmon for all that the machine draws, memory included, in place of RAPL: power, and
 * on request a counter of energy. It has the name of one that boards have.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/hwmon.h>

#include "pmlab.h"

static bool has_counter;
static struct device *parent, *device;

static umode_t is_visible(const void *unused, enum hwmon_sensor_types type, u32 attribute,
                          int channel)
{
        return type == hwmon_power || has_counter ? 0444 : 0;
}

static int read(struct device *unused, enum hwmon_sensor_types type, u32 attribute, int channel,
                long *ret_value)
{
        u64 sum = 0;

        if (lab_fail_energy)
                return -lab_fail_energy;
        for (int i = 0; i < lab_n_packages; i++)
                for (int k = 0; k < LAB_DOMAINS; k++)
                        sum += type == hwmon_power ? lab_power_uw(&lab_packages[i], k)
                                                   : lab_energy_uj(&lab_packages[i], k);
        *ret_value = sum;
        return 0;
}

static const struct hwmon_ops ops = { .is_visible = is_visible, .read = read };
static const struct hwmon_channel_info *channels[] = {
        HWMON_CHANNEL_INFO(power, HWMON_P_INPUT),
        HWMON_CHANNEL_INFO(energy, HWMON_E_INPUT),
        NULL,
};
static const struct hwmon_chip_info chip = { .ops = &ops, .info = channels };

int lab_hwmon_register(bool counts)
{
        has_counter = counts;
        parent = root_device_register("pmlab-hwmon");
        if (IS_ERR(parent))
                return PTR_ERR(parent);
        device = hwmon_device_register_with_info(parent, "ina228", NULL, &chip, NULL);
        if (IS_ERR(device))
                root_device_unregister(parent);
        return PTR_ERR_OR_ZERO(device);
}

void lab_hwmon_unregister(void)
{
        hwmon_device_unregister(device);
        root_device_unregister(parent);
}
