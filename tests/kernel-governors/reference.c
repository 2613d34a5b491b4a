/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A governor of the kernel's, built in user space: the decisions for a trace on standard input, as
 * `idlelab replay --decisions` prints them. compare builds it, with SOURCE as the kernel's file.
 *
 *      reference TABLE <TRACE >DECISIONS
 *
 * The trace has all ten columns and no header; the table is as for idlectl. Both are trusted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim.h"
#include SOURCE

static struct cpuidle_driver driver;
static struct cpuidle_device *devices[CPUS];
static bool off[CPUIDLE_STATE_MAX];

static void read_table(const char *path)
{
        FILE *file = fopen(path, "re");
        char line[4096], name[64], flags[64];

        while (file && fgets(line, sizeof(line), file)) {
                struct cpuidle_state *state = &driver.states[driver.state_count];
                long long latency, residency;
                double power;
                int n;

                line[strcspn(line, "#")] = '\0';
                *flags = '\0';
                n = sscanf(line, "%63s %lld %lld %lf %63s", name, &latency, &residency, &power,
                           flags);
                if (n < 4)
                        continue;
                state->exit_latency_ns = latency * 1000;
                state->target_residency_ns = residency * 1000;
                state->flags = strstr(flags, "poll") ? CPUIDLE_FLAG_POLLING : 0;
                off[driver.state_count++] = strstr(flags, "off") != NULL;
        }
        if (!file || driver.state_count == 0)
                exit(2);
        fclose(file);
}

static struct cpuidle_device *get_device(int cpu)
{
        struct cpuidle_device *dev = devices[cpu];

        if (dev)
                return dev;
        dev = devices[cpu] = calloc(1, sizeof(*dev));
        dev->cpu = (unsigned)cpu;
        for (int i = 0; i < driver.state_count; i++)
                dev->states_usage[i].disable = off[i];
        if (shim_governor->enable)
                shim_governor->enable(&driver, dev);
        return dev;
}

static int one_period(int cpu, u64 enter, s64 idle)
{
        struct cpuidle_device *dev = get_device(cpu);
        bool stop_tick = true, got_tick = shim_got_tick;
        s64 tick = TICK_NSEC - (s64)(enter % TICK_NSEC);
        int state;

        shim_cpu = cpu;
        shim_clock = enter;
        shim_tick = shim_sleep < tick ? shim_sleep : tick;
        shim_got_tick = false;
        state = shim_governor->select(&driver, dev, &stop_tick);
        shim_got_tick = got_tick;
        dev->last_residency_ns = (u64)(idle + driver.states[state].exit_latency_ns);
        shim_clock = enter + dev->last_residency_ns;
        shim_governor->reflect(dev, state);
        return state;
}

int main(int argc, char **argv)
{
        unsigned long long enter;
        long long sleep, idle, limit;
        int cpu, timer, resched, got_tick;

        read_table(argv[1]);
        if (shim_start() != 0 || !shim_governor)
                return 2;
        for (long record = 0;
             scanf("%d,%llu,%lld,%lld,%d,%lu,%lld,%u,%d,%d", &cpu, &enter, &sleep, &idle, &timer,
                   &shim_util, &limit, &shim_waiting, &resched, &got_tick) == 10;
             record++) {
                shim_sleep = sleep;
                shim_limit = limit < 0 ? 2000000000000 : limit * 1000;
                shim_got_tick = got_tick;
                printf("%ld %d %d\n", record, cpu, one_period(cpu, enter, idle));
        }
        return 0;
}
