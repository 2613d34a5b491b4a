/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why all cores are in use: what keeps the policy from parking any. What is parked has the reason
 * that parked it (ondemand-change.c).
 */
#include "ondemand/ondemand.h"

static PackSize all_cores(const Call *call)
{
        return (PackSize){ call->self->pack.n_cores, call->self->pack.n_fast };
}

static Reason why_at_least(const Call *call)
{
        bool alone = call->self->pack.n_cores == 1;
        Reason reason = reason_new(
                call, alone ? "there is no other core to park" : "MinCores requires all cores",
                all_cores(call));

        if (!alone && !call->options->park) {
                reason.because = "parking is switched off";
                reason_threshold(&reason, "Park", 0, NULL);
        } else if (!alone) {
                reason_threshold(&reason, "MinCores", (double)call->options->min_cores, "cores");
        }
        return reason;
}

static Reason why_used(const Call *call)
{
        const Ondemand *self = call->self;
        Reason reason = reason_new(call, "the load uses all cores", all_cores(call));

        reason_input(&reason, "utilisation", 100 * self->load / self->capacity, "%");
        reason_threshold(&reason, "DownThreshold", 100 * call->options->down, "%");
        return reason;
}

/* The capacity that one core fewer would have. */
static double capacity_of_fewer(const Call *call)
{
        const Pack *pack = &call->self->pack;
        PackSize size = { pack->n_cores - 1, call->demand.fast };

        while (size.cores > 1 && size_count(call, size) == pack->n_cores)
                size.cores--;
        return size_capacity(call, size);
}

static Reason why_target(const Call *call)
{
        Reason reason = reason_new(call, "one core fewer would be used too much", all_cores(call));

        reason_input(&reason, "with one fewer", 100 * call->self->load / capacity_of_fewer(call),
                     "%");
        reason_threshold(&reason, "TargetUtilization", 100 * call->options->target, "%");
        return reason;
}

static Reason why_tasks(const Call *call, const char *because, PackSize size)
{
        Reason reason = reason_new(call, because, size);

        reason_threshold(&reason, NULL, call->self->pack.n_cpus, "tasks");
        return reason;
}

/* The load is low, but wants every core all the same. */
static Reason why_wanted(const Call *call)
{
        const Ondemand *self = call->self;
        PackSize fitting = size_fitting(call, self->load, call->demand.fast);

        if (size_min(call) >= self->pack.n_cores)
                return why_at_least(call);
        if (!size_is_smaller(call, size_resize(call, fitting, size_min(call))))
                return why_target(call);
        if (!size_is_smaller(call, size_wanted(call, self->load)))
                return sign_reason(call, SIGN_SATURATED, all_cores(call));
        return why_tasks(call, "as many tasks are runnable as there are CPUs", all_cores(call));
}

/* What makes the dwell time another than Dwell=; NULL if nothing does. */
static const char *why_other_dwell(const Call *call)
{
        unsigned patience = call->self->patience;

        if (patience <= 1)
                return NULL;
        return patience == 2   ? "after 1 reversal"
               : patience == 4 ? "after 2 reversals"
                               : "after 3 reversals or more";
}

static Reason why_not_yet(const Call *call)
{
        double low = (double)(call->now_usec - call->self->dwell_since_usec);
        Reason reason = reason_new(
                call,
                size_is_capped(call, call->self->peak)
                        ? "more cores are active than MaxCores permits, but not for long enough yet"
                        : "fewer cores would suffice, but not for long enough yet",
                call->self->peak);

        reason_input(&reason, "for", low / SECOND, "s");
        reason_threshold(&reason, "Dwell", (double)call->options->dwell_usec / SECOND, "s");
        reason.effective = (double)dwell_time(call) / SECOND;
        reason.effective_because = why_other_dwell(call);
        return reason;
}

static Reason why_no_change(const Call *call)
{
        Reason reason = reason_new(
                call,
                size_is_capped(call, call->self->peak)
                        ? "more cores are active than MaxCores permits, but no change is left in "
                          "this minute"
                        : "fewer cores would suffice, but no change is left in this minute",
                call->self->peak);

        reason_threshold(&reason, "MaxTransitions", (double)call->options->max_transitions,
                         "per minute");
        return reason;
}

static Reason why_doubt(const Call *call)
{
        const Ondemand *self = call->self;

        if (!self->dwelling)
                return why_tasks(
                        call,
                        "tasks wait although CPUs have little to do; ondemand checks again at once",
                        all_cores(call));
        if (call->now_usec - self->dwell_since_usec < dwell_time(call))
                return why_not_yet(call);
        return why_tasks(call,
                         "fewer cores would suffice, but tasks wait at this moment; ondemand "
                         "checks again at once",
                         self->peak);
}

void why_all_in_use(Call *call)
{
        Ondemand *self = call->self;

        switch (call->obstacle) {
        case OBSTACLE_NONE:
                break; /* has reported already */
        case OBSTACLE_LEAST:
                self->reason = why_at_least(call);
                break;
        case OBSTACLE_SIGN:
                self->reason = sign_reason(call, call->sign, all_cores(call));
                break;
        case OBSTACLE_DOUBT:
                self->reason = why_doubt(call);
                break;
        case OBSTACLE_LOAD:
                self->reason = why_used(call);
                break;
        case OBSTACLE_SIZE:
                self->reason = why_wanted(call);
                break;
        case OBSTACLE_DWELL:
                self->reason = why_not_yet(call);
                break;
        case OBSTACLE_BUDGET:
                self->reason = why_no_change(call);
                break;
        case OBSTACLE_TASKS:
                self->reason = why_tasks(call,
                                         "fewer cores would suffice, but at this moment as many "
                                         "tasks are runnable as there are CPUs",
                                         self->peak);
                break;
        }
}
