/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether parking saves anything: step 11. What is measured, and how it is judged, is in worth.c.
 */
#include "ondemand/ondemand.h"

/* A cap that is set is kept whatever that saves. */
static bool is_watched(const Call *call)
{
        return call->options->back_off && size_max(call) == call->self->pack.n_cores;
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
        uint64_t dwell = dwell_time(call);
        uint64_t low = call->now_usec - self->dwell_since_usec;

        if (!self->dwelling)
                return UINT64_MAX;
        return low < dwell ? dwell - low : 0;
}

static WorthView view(const Call *call)
{
        return (WorthView){
                .snapshot = call->input->snapshot,
                .allowed = call->input->allowed,
                .place = place_of(call),
                .work = call->demand.work,
                .load = call->self->load,
                .parking_usec = time_to_park(call),
        };
}

static void add_watts(const Call *call, Reason *reason)
{
        const double *watts = call->self->worth.watts;

        reason->inputs[0] = (typeof(reason->inputs[0])){ "all active", "W", watts[WORTH_ALL] };
        reason->inputs[1] = (typeof(reason->inputs[0])){ "parked", "W", watts[WORTH_PARKED] };
        reason->inputs[2] = (typeof(reason->inputs[0])){ "tried", "times",
                                                         call->self->worth.misses };
        reason->inputs[3] = (typeof(reason->inputs[0])){ 0 };
        reason_threshold(reason, "BackOff", 0, NULL);
}

static Reason reason_to_compare(const Call *call)
{
        Reason reason = reason_new(
                call, "all cores are active for some seconds, to measure what parking saves",
                (PackSize){ call->self->pack.n_cores, call->self->pack.n_fast });

        reason_threshold(&reason, "BackOff", 0, NULL);
        return reason;
}

/* Unparks everything. */
static void undo(Call *call, WorthAdvice advice)
{
        Ondemand *self = call->self;
        PackSize all = { self->pack.n_cores, self->pack.n_fast };
        Reason reason = reason_to_compare(call);

        if (advice == WORTH_UNPARK) {
                reason.because = "parking saved nothing";
                add_watts(call, &reason);
        }
        self->compared = advice == WORTH_COMPARE;
        self->dwelling = self->parked_last = false;
        change_keep(call, all, &reason);
}

void saving_watch(Call *call)
{
        Worth *worth = &call->self->worth;
        WorthView seen = view(call);
        WorthAdvice advice;

        if (!is_watched(call)) {
                worth_init(worth);
                return;
        }
        advice = worth_watch(worth, &seen);
        if (advice == WORTH_UNPARK || (advice == WORTH_COMPARE && change_has_trial(call)))
                undo(call, advice);
}

bool saving_wants_energy(Call *call)
{
        WorthView seen = view(call);

        return is_watched(call) && worth_wants_energy(&call->self->worth, &seen);
}

bool saving_explain(const Call *call, Reason *ret_reason)
{
        const Worth *worth = &call->self->worth;
        uint64_t left = worth_backoff(worth, call->now_usec);
        Reason reason = { .because = "parking saved nothing" };

        if (!is_watched(call) || !worth_forbids(worth, call->now_usec))
                return false;
        if (left == 0) {
                *ret_reason = reason_to_compare(call);
                return true;
        }
        add_watts(call, &reason);
        reason_input(&reason, "again in", (double)left / MINUTE, "min");
        *ret_reason = reason;
        return true;
}
