/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flags that are due, and the event source that has the manager attend to them.
 */
#include "manager/ground.h"

#include "base/log.h"

static void enable(sd_event_source *source, int enabled)
{
        int r = source ? sd_event_source_set_enabled(source, enabled) : 0;

        if (r < 0)
                log_error_errno(r, "Failed to set an event source: %m");
}

void ground_raise(Ground *ground, unsigned due)
{
        ground->due |= due;
        if (due & ~DUE_LATER)
                enable(ground->attend, SD_EVENT_ONESHOT);
}

unsigned ground_take(Ground *ground, unsigned flags)
{
        unsigned due = ground->due & flags;

        ground->due &= ~flags;
        if (due && !(ground->due & ~DUE_LATER))
                enable(ground->attend, SD_EVENT_OFF);
        return due;
}
