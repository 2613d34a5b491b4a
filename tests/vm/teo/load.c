/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a module of the idle governor teo, which Debian does not build.
 *
 * The kernel's own teo.c, which `take` gets when this is built, is compiled as a part of this file.
 * Functions that the kernel does not export are called through pointers, which are found by name
 * when the module is loaded: with kallsyms_lookup_name(), which is not exported either, but whose
 * address a kprobe on it has.
 *
 * A governor cannot be taken back from the kernel, so there is no way to unload this. Its rating is
 * below menu's: it is there to be chosen, and nothing changes by its coming.
 */
#include <linux/cpuidle.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>

static struct {
        typeof(cpuidle_register_governor) *cpuidle_register_governor;
        typeof(cpuidle_governor_latency_req) *cpuidle_governor_latency_req;
        typeof(tick_nohz_get_sleep_length) *tick_nohz_get_sleep_length;
        typeof(tick_nohz_idle_got_tick) *tick_nohz_idle_got_tick;
        typeof(tick_nohz_tick_stopped) *tick_nohz_tick_stopped;
} hidden;

static const struct {
        const char *name;
        void *pointer; /* in `hidden` */
} wanted[] = {
        { "cpuidle_register_governor", &hidden.cpuidle_register_governor },
        { "cpuidle_governor_latency_req", &hidden.cpuidle_governor_latency_req },
        { "tick_nohz_get_sleep_length", &hidden.tick_nohz_get_sleep_length },
        { "tick_nohz_idle_got_tick", &hidden.tick_nohz_idle_got_tick },
        { "tick_nohz_tick_stopped", &hidden.tick_nohz_tick_stopped },
};

static int __init hidden_find(void)
{
        struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
        unsigned long (*lookup)(const char *name);
        int r = register_kprobe(&probe);

        if (r < 0)
                return r;
        lookup = (void *)probe.addr;
        unregister_kprobe(&probe);
        for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
                unsigned long address = lookup(wanted[i].name);

                if (!address) {
                        pr_err("teo: this kernel has no %s\n", wanted[i].name);
                        return -ENOENT;
                }
                *(unsigned long *)wanted[i].pointer = address;
        }
        return 0;
}

#define cpuidle_register_governor    (*hidden.cpuidle_register_governor)
#define cpuidle_governor_latency_req (*hidden.cpuidle_governor_latency_req)
#define tick_nohz_get_sleep_length   (*hidden.tick_nohz_get_sleep_length)
#define tick_nohz_idle_got_tick      (*hidden.tick_nohz_idle_got_tick)
#define tick_nohz_tick_stopped       (*hidden.tick_nohz_tick_stopped)

/* Not by itself, but after the search. */
#undef postcore_initcall
#define postcore_initcall(function)

#include "teo.c"

static int __init load(void)
{
        int r = hidden_find();

        return r < 0 ? r : teo_governor_init();
}

module_init(load);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The kernel's idle governor teo");
