/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A platform profile: the firmware's choice between quiet and fast, which changes nothing here. As
 * with most drivers of real ones, it is below a platform device. From Linux 6.14 on there may be a
 * second one, which has other words.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/platform_profile.h>
#include <linux/version.h>

#include "pmlab.h"

#define HAS_SECOND (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0))

static bool second_platform;
module_param(second_platform, bool, 0444);
MODULE_PARM_DESC(second_platform, "another platform profile, with other words (Linux 6.14)");

static struct firmware {
        const char *name;
        enum platform_profile_option offered[3], profile;
        struct device *device;
} firmwares[] = {
        { .name = "pmlab",
          .offered = { PLATFORM_PROFILE_LOW_POWER, PLATFORM_PROFILE_BALANCED,
                       PLATFORM_PROFILE_PERFORMANCE },
          .profile = PLATFORM_PROFILE_BALANCED },
        { .name = "pmlab-second",
          .offered = { PLATFORM_PROFILE_QUIET, PLATFORM_PROFILE_BALANCED,
                       PLATFORM_PROFILE_BALANCED_PERFORMANCE },
          .profile = PLATFORM_PROFILE_BALANCED },
};

static void offer(const struct firmware *firmware, unsigned long *choices)
{
        for (size_t i = 0; i < ARRAY_SIZE(firmware->offered); i++)
                set_bit(firmware->offered[i], choices);
}

bool lab_platform_check(void)
{
        if (HAS_SECOND || !second_platform)
                return true;
        pr_err("pmlab: second_platform, which needs Linux 6.14\n");
        return false;
}

#if HAS_SECOND
static struct platform_device *parent;

static int probe(void *firmware, unsigned long *choices)
{
        offer(firmware, choices);
        return 0;
}

static int get_profile(struct device *device, enum platform_profile_option *ret_profile)
{
        *ret_profile = ((struct firmware *)dev_get_drvdata(device))->profile;
        return 0;
}

static int set_profile(struct device *device, enum platform_profile_option option)
{
        ((struct firmware *)dev_get_drvdata(device))->profile = option;
        return 0;
}

static const struct platform_profile_ops ops = {
        .probe = probe,
        .profile_get = get_profile,
        .profile_set = set_profile,
};

int lab_platform_register(void)
{
        parent = platform_device_register_simple("pmlab", PLATFORM_DEVID_NONE, NULL, 0);
        if (IS_ERR(parent))
                return PTR_ERR(parent);
        for (int i = 0; i < 1 + second_platform; i++) {
                struct firmware *firmware = &firmwares[i];
                struct device *device = platform_profile_register(&parent->dev, firmware->name,
                                                                  firmware, &ops);

                if (IS_ERR(device)) {
                        lab_platform_unregister();
                        return PTR_ERR(device);
                }
                firmware->device = device;
        }
        return 0;
}

void lab_platform_unregister(void)
{
        for (size_t i = 0; i < ARRAY_SIZE(firmwares); i++)
                if (firmwares[i].device)
                        platform_profile_remove(firmwares[i].device);
        platform_device_unregister(parent);
}
#else
static int get_profile(struct platform_profile_handler *unused,
                       enum platform_profile_option *ret_profile)
{
        *ret_profile = firmwares[0].profile;
        return 0;
}

static int set_profile(struct platform_profile_handler *unused, enum platform_profile_option option)
{
        firmwares[0].profile = option;
        return 0;
}

static struct platform_profile_handler handler = {
        .profile_get = get_profile,
        .profile_set = set_profile,
};

int lab_platform_register(void)
{
        offer(&firmwares[0], handler.choices);
        return platform_profile_register(&handler);
}

void lab_platform_unregister(void)
{
        platform_profile_remove();
}
#endif
