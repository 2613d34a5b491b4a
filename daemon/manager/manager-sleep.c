/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The machine falls asleep and wakes up.
 *
 * Firmware and kernel may change our knobs meanwhile. idled must not take that for a change by
 * another program, which would then own the knobs. logind reports when the machine is back, but
 * possibly late, and idled hears it only when the loop is free, while the machine may have fallen
 * asleep in the middle of acting. So before knobs are touched two clocks are compared, one of which
 * goes on while the machine sleeps.
 */
#include <time.h>

#include "base/log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

/* Less is what the kernel makes of the clocks' rounding. */
#define SLEEP_LEAST_USEC 10000

/* Two readings of the one clock that are so near have that of the other in their midst. */
#define NEAR_USEC 1000

static uint64_t boot_time(void)
{
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * G_USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t slept_by_clocks(void)
{
        uint64_t before, boot, after;

        do {
                before = manager_now();
                boot = boot_time();
                after = manager_now();
        } while (after - before > NEAR_USEC);
        return boot - before;
}

/* All knobs count as set by firmware or kernel, and the plan must be carried out again. */
void manager_distrust_knobs(Manager *manager)
{
        cpuset_or(&manager->returned, &manager->machine.topology->online);
        manager->stale = true;
}

bool manager_note_sleep(Manager *manager)
{
        uint64_t slept = manager->setup.slept ? manager->setup.slept() : slept_by_clocks();

        if (slept < manager->slept_usec + SLEEP_LEAST_USEC)
                return false;
        log_debug("The machine was asleep");
        manager->slept_usec = slept;
        manager_interrupt_evaluation(manager, DROP_SLEEP);
        manager_distrust_knobs(manager);
        return true;
}
