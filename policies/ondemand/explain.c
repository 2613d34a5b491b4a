/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Explanations: what was decided, its inputs, and the option whose value was the threshold.
 */
#include "ondemand/ondemand.h"

static Reason reason_new(const Call *call, const char *because, PackSize size)
{
        return (Reason){
                .because = because,
                .inputs = {
                        { "filtered load", "CPUs", call->self->load.work },
                        { "needed cores", "cores", size_count(call, size) },
                        { "running tasks", "tasks", call->input->snapshot->running },
                },
        };
}

/* A reason that is only a number of cores compared with an option; NULL: with no option. */
static Reason reason_limit(const Call *call, const char *because, PackSize size, const char *option,
                           double threshold, const char *unit)
{
        Reason reason = reason_new(call, because, size);

        reason.option = option;
        reason.threshold = threshold;
        reason.threshold_unit = unit;
        return reason;
}

/* A reason that is the least number of cores, which MinCores or a contract requests. */
static Reason reason_least(const Call *call, PackSize size, const char *by_option,
                           const char *by_contract)
{
        const unsigned contract = call->input->contract_cores;

        if (contract > (unsigned)size_max(call) && size_max(call) < call->self->pack.n_cores)
                return reason_limit(call, "a contract needs more cores than MaxCores permits", size,
                                    "MaxCores", (double)call->options->max_cores, "cores");
        if (contract > call->options->min_cores)
                return reason_limit(call, by_contract, size, NULL, contract, "cores");
        return reason_limit(call, by_option, size, "MinCores", (double)call->options->min_cores,
                            "cores");
}

/* A reason with an input of its own, which was compared with an option in the same unit. */
static Reason reason_compared(const Call *call, const char *because, PackSize size,
                              const char *input, double value, const char *option, double threshold,
                              const char *unit)
{
        Reason reason = reason_limit(call, because, size, option, threshold, unit);

        reason.inputs[REASON_INPUTS - 1].name = input;
        reason.inputs[REASON_INPUTS - 1].unit = unit;
        reason.inputs[REASON_INPUTS - 1].value = value;
        return reason;
}

/* Active cores may be fewer than online ones, whose use idlectl status shows. */
static double use(const Call *call)
{
        return 100 * call->self->load.work / call->capacity;
}

Reason explain_start(const Call *call)
{
        return reason_limit(call, "the CPUs or their order have changed, so no core is parked yet",
                            size_all(call), "Dwell", (double)call->options->dwell_usec / SECOND,
                            "s");
}

Reason explain_sign(const Call *call, Sign sign, PackSize size)
{
        const OndemandOptions *options = call->options;
        const Demand *demand = &call->demand;

        switch (sign) {
        case SIGN_NONE:
        case SIGN_LEAST:
                break;
        case SIGN_LOAD:
                return reason_compared(call, "the filtered load uses the active cores too much",
                                       size, "use of active cores", use(call), "UpThreshold",
                                       100 * options->up, "%");
        case SIGN_SATURATED:
        case SIGN_FULL:
                return reason_compared(call,
                                       sign == SIGN_FULL ? "all active CPUs are saturated"
                                                         : "a CPU is saturated",
                                       size, "busiest CPU", 100 * demand->load.busiest,
                                       "UpThreshold", 100 * options->up, "%");
        case SIGN_WAITING:
                return reason_compared(call,
                                       demand->tasks > (unsigned)demand->active
                                               ? "more tasks are runnable than CPUs are active"
                                               : "tasks waited for a CPU",
                                       size, "waited", call->waited_usec / 1e3, "MaxWait",
                                       (double)options->max_wait_usec / 1e3, "ms");
        }
        return reason_least(call, size, "fewer cores were active than MinCores requires",
                            "fewer cores were active than a contract needs");
}

Reason explain_last_change(const Call *call, PackSize size)
{
        return reason_limit(call,
                            "more cores are needed, and only one change is left in this minute: "
                            "all cores",
                            size, "MaxTransitions", (double)call->options->max_transitions,
                            "per minute");
}

static bool is_island(const Call *call, PackSize size)
{
        return pack_is_of(&call->self->pack, call->input->topology, size, KIND_ISLAND);
}

/* What keeping to Kinds costs: the fastest of these cores decides. */
static Reason kept_to_kinds(const Call *call, PackSize size)
{
        const Topology *topology = call->input->topology;
        int fastest = 0;
        Reason reason = reason_limit(call,
                                     "the cores of Kinds suffice, but a task that fills one is "
                                     "slower there than on the fastest core",
                                     size, "Kinds", 0, NULL);

        for (int i = 0; i < size.cores; i++) {
                int capacity = topology->cores[call->self->pack.order[i]].capacity;

                fastest = capacity > fastest ? capacity : fastest;
        }
        reason.inputs[REASON_INPUTS - 1].name = "speed there";
        reason.inputs[REASON_INPUTS - 1].unit = "%";
        reason.inputs[REASON_INPUTS - 1].value = 100.0 * fastest / CAPACITY_SCALE;
        return reason;
}

Reason explain_parking(const Call *call, PackSize size)
{
        if (size_is_capped(call, call->self->peak))
                return reason_limit(call, "more cores were active than MaxCores permits",
                                    call->self->peak, "MaxCores", (double)call->options->max_cores,
                                    "cores");
        if (size_is_kept(call, size))
                return kept_to_kinds(call, size);
        return reason_compared(call,
                               is_island(call, size)
                                       ? "the load has fitted into the island for long enough: "
                                         "the die of all other cores may sleep"
                                       : "the load has fitted into fewer cores for long enough",
                               size, "use of active cores", use(call), "DownThreshold",
                               100 * call->options->down, "%");
}

static Reason all_needed(const Call *call)
{
        if (call->self->pack.n_cores == 1)
                return reason_new(call, "there is no other core to park", size_all(call));
        if (!call->options->park)
                return reason_limit(call, "parking is switched off", size_all(call), "Park", 0,
                                    NULL);
        return reason_least(call, size_all(call), "MinCores requires all cores",
                            "a contract needs all cores");
}

/* There is a CPU for each of so many tasks, and no more. */
static Reason all_taken(const Call *call, const char *because, PackSize size)
{
        return reason_limit(call, because, size, NULL, call->self->pack.n_cpus, "tasks");
}

/* The load is low, but wants every core all the same. */
static Reason all_wanted(const Call *call)
{
        const Ondemand *self = call->self;
        PackSize fitting = size_fitting(call, self->load.work, call->demand.fast);
        PackSize fewer = { self->pack.n_cores - 1, call->demand.fast };

        if (size_is_smaller(call, size_resize(call, fitting, size_min(call))))
                return size_is_smaller(call, size_wanted(call, self->load))
                               ? all_taken(call, "as many tasks are runnable as there are CPUs",
                                           size_all(call))
                               : explain_sign(call, SIGN_SATURATED, size_all(call));
        while (fewer.cores > 1 && size_count(call, fewer) == self->pack.n_cores)
                fewer.cores--;
        return reason_compared(call, "one core fewer would be used too much", size_all(call),
                               "with one fewer", 100 * self->load.work / size_capacity(call, fewer),
                               call->input->contract_cores > 0 ? "UpThreshold"
                                                               : "TargetUtilization",
                               100 * size_target(call), "%");
}

static Reason not_yet(const Call *call)
{
        const Ondemand *self = call->self;
        double low = (double)(call->now_usec - self->low_since_usec) / SECOND;
        Reason reason = reason_compared(
                call,
                size_is_capped(call, self->peak)
                        ? "more cores are active than MaxCores permits, but not for long enough yet"
                        : "fewer cores would suffice, but not for long enough yet",
                self->peak, "for", low, "Dwell", (double)call->options->dwell_usec / SECOND, "s");

        reason.effective = (double)dwell_time(call) / SECOND;
        reason.effective_because = self->patience <= 1   ? NULL
                                   : self->patience == 2 ? "after 1 reversal"
                                   : self->patience == 4 ? "after 2 reversals"
                                                         : "after 3 reversals or more";
        return reason;
}

static Reason no_change_left(const Call *call)
{
        return reason_limit(call,
                            size_is_capped(call, call->self->peak)
                                    ? "more cores are active than MaxCores permits, but no change "
                                      "is left in this minute"
                                    : "fewer cores would suffice, but no change is left in this "
                                      "minute",
                            call->self->peak, "MaxTransitions",
                            (double)call->options->max_transitions, "per minute");
}

static Reason in_doubt(const Call *call)
{
        const Ondemand *self = call->self;

        if (self->low_since_usec == 0)
                return all_taken(call,
                                 "tasks wait although CPUs have little to do; ondemand checks "
                                 "again at once",
                                 size_all(call));
        if (call->now_usec - self->low_since_usec < dwell_time(call))
                return not_yet(call);
        return all_taken(call,
                         "fewer cores would suffice, but tasks wait at this moment; ondemand "
                         "checks again at once",
                         self->peak);
}

Reason explain_all_active(const Call *call)
{
        switch (call->obstacle) {
        case OBSTACLE_LEAST:
                return all_needed(call);
        case OBSTACLE_SIGN:
                return explain_sign(call, call->sign, size_all(call));
        case OBSTACLE_DOUBT:
                return in_doubt(call);
        case OBSTACLE_LOAD:
                return reason_compared(call, "the load uses all cores", size_all(call),
                                       "use of active cores", use(call), "DownThreshold",
                                       100 * call->options->down, "%");
        case OBSTACLE_SIZE:
                return all_wanted(call);
        case OBSTACLE_DWELL:
                return not_yet(call);
        case OBSTACLE_BUDGET:
                return no_change_left(call);
        case OBSTACLE_NONE: /* then not all are active */
        case OBSTACLE_TASKS:
                break;
        }
        return all_taken(call,
                         "fewer cores would suffice, but at this moment as many tasks are "
                         "runnable as there are CPUs",
                         call->self->peak);
}

Reason explain_some_active(const Call *call)
{
        const Ondemand *self = call->self;

        if (call->n_active <= size_min(call))
                return reason_least(call, self->active,
                                    "the load needs no more cores than MinCores requires",
                                    "the load needs no more cores than a contract");
        if (call->obstacle == OBSTACLE_DWELL)
                return not_yet(call);
        if (call->obstacle == OBSTACLE_BUDGET)
                return no_change_left(call);
        if (size_is_kept(call, self->active))
                return kept_to_kinds(call, self->active);
        return reason_new(call,
                          is_island(call, self->active)
                                  ? "the load needs these cores; they are an island, so the die of "
                                    "all others may sleep"
                                  : "the load needs these cores",
                          self->active);
}
