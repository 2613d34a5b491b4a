/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations: what was decided, its inputs, and the option whose value was the threshold.
 */
#include "ondemand/ondemand.h"

Reason reason_new(const Call *call, const char *because, PackSize size)
{
        return (Reason){
                .because = because,
                .inputs = {
                        { "filtered load", "CPUs", call->self->load },
                        { "wanted cores", "cores", size_count(call, size) },
                        { "running tasks", "tasks", call->input->snapshot->running },
                },
        };
}

void reason_threshold(Reason *reason, const char *option, double threshold, const char *unit)
{
        reason->option = option;
        reason->threshold = threshold;
        reason->threshold_unit = unit;
}

void reason_input(Reason *reason, const char *name, double value, const char *unit)
{
        reason->inputs[REASON_INPUTS - 1].name = name;
        reason->inputs[REASON_INPUTS - 1].unit = unit;
        reason->inputs[REASON_INPUTS - 1].value = value;
}

/* A reason with the last input and the threshold that it was compared with. */
static Reason compared(const Call *call, const char *because, PackSize size, const char *input,
                       double value, const char *option, double threshold, const char *unit)
{
        Reason reason = reason_new(call, because, size);

        if (input)
                reason_input(&reason, input, value, unit);
        reason_threshold(&reason, option, threshold, unit);
        return reason;
}

static double utilisation(const Call *call)
{
        return 100 * call->self->load / call->capacity;
}

Reason explain_sign(const Call *call, Sign sign, PackSize size)
{
        const OndemandOptions *options = call->options;

        switch (sign) {
        case SIGN_NONE:
        case SIGN_LEAST:
                break;
        case SIGN_LOAD:
                return compared(call, "the filtered load uses the active cores too much", size,
                                "utilisation", utilisation(call), "UpThreshold", 100 * options->up,
                                "%");
        case SIGN_SATURATED:
        case SIGN_FULL:
                return compared(call,
                                sign == SIGN_FULL ? "all active CPUs are saturated"
                                                  : "a CPU is saturated",
                                size, "busiest CPU", 100 * call->demand.busiest, "UpThreshold",
                                100 * options->up, "%");
        case SIGN_WAITING:
                return compared(call, "tasks waited for a CPU", size, "mean wait",
                                waiting_usec(call->self) / 1e3, "MaxWait",
                                (double)options->max_wait_usec / 1e3, "ms");
        }
        return compared(call, "fewer cores were active than MinCores", size, NULL, 0, "MinCores",
                        (double)options->min_cores, "cores");
}

Reason explain_parking(const Call *call, PackSize size)
{
        if (size_is_capped(call, call->self->peak))
                return compared(call, "more cores were active than MaxCores", call->self->peak,
                                NULL, 0, "MaxCores", (double)call->options->max_cores, "cores");
        return compared(call, "the load has fitted in fewer cores for long enough", size,
                        "utilisation", utilisation(call), "DownThreshold",
                        100 * call->options->down, "%");
}

static Reason all_needed(const Call *call)
{
        if (!call->options->park)
                return compared(call, "parking is switched off", size_all(call), NULL, 0, "Park", 0,
                                NULL);
        if (call->self->pack.n_cores == 1)
                return reason_new(call, "there is no other core to park", size_all(call));
        return compared(call, "MinCores keeps all cores active", size_all(call), NULL, 0,
                        "MinCores", (double)call->options->min_cores, "cores");
}

/* The load is low, but wants every core all the same. */
static Reason all_wanted(const Call *call)
{
        const Ondemand *self = call->self;
        PackSize fitting = size_fitting(call, self->load, call->demand.fast);
        PackSize fewer = { self->pack.n_cores - 1, call->demand.fast };

        if (size_is_smaller(call, size_resize(call, fitting, size_min(call))))
                return explain_sign(call, SIGN_SATURATED, size_all(call));
        while (fewer.cores > 1 && size_count(call, fewer) == self->pack.n_cores)
                fewer.cores--;
        return compared(call, "the load would use one core fewer too much", size_all(call),
                        "with one fewer", 100 * self->load / size_capacity(call, fewer),
                        "TargetUtilization", 100 * call->options->target, "%");
}

Reason explain_all_active(const Call *call)
{
        const Ondemand *self = call->self;
        bool capped = size_is_capped(call, self->peak);
        Reason reason;

        switch (call->obstacle) {
        case OBSTACLE_NONE:
                break;
        case OBSTACLE_LEAST:
                return all_needed(call);
        case OBSTACLE_SIGN:
                return explain_sign(call, call->sign, size_all(call));
        case OBSTACLE_SAVING:
                if (saving_explain(call, &reason))
                        return reason;
                break;
        case OBSTACLE_LOAD:
                return compared(call, "the load uses all cores", size_all(call), "utilisation",
                                utilisation(call), "DownThreshold", 100 * call->options->down, "%");
        case OBSTACLE_SIZE:
                return all_wanted(call);
        case OBSTACLE_DWELL:
                return compared(call,
                                capped ? "more cores are active than MaxCores, but not for long "
                                         "enough yet"
                                       : "fewer cores suffice, but not for long enough yet",
                                self->peak, "for",
                                (double)(call->now_usec - self->low_since_usec) / SECOND, "Dwell",
                                (double)call->options->dwell_usec / SECOND, "s");
        case OBSTACLE_BUDGET:
                reason = compared(call,
                                  capped ? "more cores are active than MaxCores, but recent "
                                           "changes have used up the budget"
                                         : "fewer cores suffice, but recent changes have used up "
                                           "the budget",
                                  self->peak, NULL, 0, "MaxTransitions",
                                  (double)call->options->max_transitions, "per minute");
                reason_input(&reason, "refilled in", budget_wait(call), "s");
                return reason;
        }
        return self->reason;
}
