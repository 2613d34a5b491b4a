/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A platform profile: the firmware's choice between quiet and fast, which changes nothing here. As
 * with most drivers of real ones, it is below a platform device.
 */
#include <linux/err.h>
#include <linux/platform_device.h>
#include <linux/platform_profile.h>
#include <linux/version.h>

#include "pmlab.h"

static enum platform_profile_option profile = PLATFORM_PROFILE_BALANCED;

static const enum platform_profile_option offered[] = { PLATFORM_PROFILE_LOW_POWER,
                                                        PLATFORM_PROFILE_BALANCED,
                                                        PLATFORM_PROFILE_PERFORMANCE };

static void offer(unsigned long *choices)
{
        for (size_t i = 0; i < ARRAY_SIZE(offered); i++)
                set_bit(offered[i], choices);
}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
static struct platform_device *parent;
static struct device *device;

static int probe(void *unused, unsigned long *choices)
{
        offer(choices);
        return 0;
}

static int get_profile(struct device *unused, enum platform_profile_option *ret_profile)
{
        *ret_profile = profile;
        return 0;
}

static int set_profile(struct device *unused, enum platform_profile_option option)
{
        profile = option;
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
        device = platform_profile_register(&parent->dev, "pmlab", NULL, &ops);
        if (IS_ERR(device))
                platform_device_unregister(parent);
        return PTR_ERR_OR_ZERO(device);
}

void lab_platform_unregister(void)
{
        platform_profile_remove(device);
        platform_device_unregister(parent);
}
#else
static int get_profile(struct platform_profile_handler *unused,
                       enum platform_profile_option *ret_profile)
{
        *ret_profile = profile;
        return 0;
}

static int set_profile(struct platform_profile_handler *unused, enum platform_profile_option option)
{
        profile = option;
        return 0;
}

static struct platform_profile_handler handler = {
        .profile_get = get_profile,
        .profile_set = set_profile,
};

int lab_platform_register(void)
{
        offer(handler.choices);
        return platform_profile_register(&handler);
}

void lab_platform_unregister(void)
{
        platform_profile_remove();
}
#endif
