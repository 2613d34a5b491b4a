/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether parking saves anything: step 9. worth.c measures and judges.
 */
#include "ondemand/ondemand.h"

/* A limit that is set is kept whatever that saves. */
static bool is_watched(const Call *call)
{
        return call->options->back_off && call->options->park &&
               size_max(call) == call->self->pack.n_cores;
}

static WorthPlace place_of(const Call *call)
{
        CpuSet kept_off = call->self->parked;

        if (cpuset_is_empty(&kept_off))
                return WORTH_ALL;
        cpuset_subtract(&kept_off, call->input->allowed);
        return cpuset_is_empty(&kept_off) || !call->input->in_force ? WORTH_UNSURE : WORTH_PARKED;
}

/* How long until cores may be parked. */
static uint64_t time_to_park(const Call *call)
{
        const Ondemand *self = call->self;
        uint64_t dwell = self->compared ? 0 : call->options->dwell_usec;
        uint64_t low = call->now_usec - self->low_since_usec;

        if (self->low_since_usec == 0)
                return UINT64_MAX;
        return low < dwell ? dwell - low : 0;
}

static WorthView view(const Call *call)
{
        return (WorthView){
                .snapshot = call->input->snapshot,
                .allowed = call->input->allowed,
                .place = place_of(call),
                .work = call->limit.work,
                .load = call->self->load,
                .parking_usec = time_to_park(call),
        };
}

WorthAdvice saving_watch(const Call *call)
{
        Worth *worth = &call->self->worth;
        WorthView seen = view(call);

        if (is_watched(call))
                return worth_watch(worth, &seen);
        worth_init(worth);
        return WORTH_GO_ON;
}

bool saving_wants_energy(const Call *call)
{
        WorthView seen = view(call);

        return is_watched(call) && worth_wants_energy(&call->self->worth, &seen);
}

Reason saving_reason(const Call *call, WorthAdvice advice)
{
        const Worth *worth = &call->self->worth;
        Reason reason = reason_new(call,
                                   "idled measures for some seconds what all cores draw, to see "
                                   "what parking saves",
                                   size_all(call));

        reason_threshold(&reason, "BackOff", 0, NULL);
        if (advice != WORTH_UNPARK)
                return reason;
        return (Reason){
                .because = "parking saved nothing",
                .inputs = { { "all active", "W", worth->watts[WORTH_ALL] },
                            { "parked", "W", worth->watts[WORTH_PARKED] },
                            { "tried", "times", worth->misses } },
                .option = "BackOff",
        };
}

bool saving_explain(const Call *call, Reason *ret_reason)
{
        const Worth *worth = &call->self->worth;
        uint64_t left = worth_backoff(worth, call->now_usec);

        if (!is_watched(call) || !worth_forbids(worth, call->now_usec))
                return false;
        *ret_reason = saving_reason(call, left > 0 ? WORTH_UNPARK : WORTH_COMPARE);
        if (left > 0)
                reason_input(ret_reason, "again in", (double)left / MINUTE, "min");
        return true;
}
