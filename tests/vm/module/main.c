/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pmlab: gives a virtual machine what it lacks: frequencies, idle states, and energy.
 *
 * Nothing here touches hardware, and nothing here belongs on a machine that is not for tests. It is
 * loaded while all CPUs are online, with "idle=halt intel_idle.max_cstate=0" on the kernel's
 * command line, so that no other idle driver is there.
 *
 * With different capacities every CPU has a file cpu_capacity, as on machines with big and little
 * cores.
 */
#include <linux/cpu.h>
#include <linux/device.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "pmlab.h"

static bool shows_capacity;

static ssize_t cpu_capacity_show(struct device *device, struct device_attribute *attribute,
                                 char *buffer)
{
        return sysfs_emit(buffer, "%u\n", lab_cpus[device->id].core->capacity);
}
static DEVICE_ATTR_RO(cpu_capacity);

static void capacities_remove(void)
{
        int cpu;

        if (!shows_capacity)
                return;
        for_each_present_cpu(cpu) device_remove_file(get_cpu_device(cpu), &dev_attr_cpu_capacity);
}

static int capacities_add(void)
{
        int cpu, r;

        for (int i = 0; i < lab_n_cores; i++)
                shows_capacity |= lab_cores[i].capacity != LAB_CAPACITY_MAX;
        if (!shows_capacity)
                return 0;
        for_each_present_cpu(cpu)
        {
                /* Linux 7.3 has files of its own, which say that all CPUs are alike. */
                device_remove_file(get_cpu_device(cpu), &dev_attr_cpu_capacity);
                r = device_create_file(get_cpu_device(cpu), &dev_attr_cpu_capacity);
                if (r < 0) {
                        capacities_remove();
                        return r;
                }
        }
        return 0;
}

static const struct {
        const char *name;
        int (*add)(void);
        void (*remove)(void);
} parts[] = {
        { "the probe of interrupts", lab_interrupt_register, lab_interrupt_unregister },
        { "idle states", lab_idle_register, lab_idle_unregister },
        { "energy preferences", lab_preference_register, lab_preference_unregister },
        { "frequencies", lab_frequency_register, lab_frequency_unregister },
        { "time that work takes", lab_slow_register, lab_slow_unregister },
        { "energy", lab_energy_register, lab_energy_unregister },
        { "platform profiles", lab_platform_register, lab_platform_unregister },
        { "wake-ups", lab_wake_register, lab_wake_unregister },
        { "capacities", capacities_add, capacities_remove },
};

static void remove_parts(size_t n)
{
        while (n-- > 0)
                parts[n].remove();
}

static int __init pmlab_init(void)
{
        int r;

        if (!lab_idle_check() || !lab_model_check() || !lab_frequency_check() ||
            !lab_energy_check() || !lab_platform_check())
                return -EINVAL;
        r = lab_model_init();
        if (r < 0)
                return r;
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                r = parts[i].add();
                if (r < 0) {
                        pr_err("pmlab: no %s: error %d\n", parts[i].name, r);
                        remove_parts(i);
                        return r;
                }
        }
        return 0;
}

static void __exit pmlab_exit(void)
{
        remove_parts(ARRAY_SIZE(parts));
}

module_init(pmlab_init);
module_exit(pmlab_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Modelled frequencies, idle states and energy for virtual machines");
