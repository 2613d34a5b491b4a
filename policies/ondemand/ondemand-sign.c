/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signs that more cores are needed: steps 4 and 5.
 */
#include <math.h>

#include "ondemand/ondemand.h"

/* True if the trigger fired, and tasks waited in this interval for the time that it stands for, or
 * where the interval is shorter than its window, for that share. The call before this one judged
 * what came earlier. */
static bool is_called(const Call *call)
{
        const Snapshot *snapshot = call->input->snapshot;
        double window = fmin((double)snapshot->interval_usec, PRESSURE_WINDOW_USEC);

        return snapshot->pressed && snapshot->pressure * (double)snapshot->interval_usec >=
                                            window * PRESSURE_USEC / PRESSURE_WINDOW_USEC;
}

/* A sign that is usual for this load is no sign of more. */
static bool is_believed(const Call *call)
{
        return is_called(call) && !call->self->wary;
}

static bool tasks_waited(const Call *call)
{
        const Demand *demand = &call->demand;

        if (is_called(call) && demand->runnable >= (unsigned)demand->active)
                return true;
        return call->input->snapshot->pressure >= call->options->pressure;
}

static Sign sign_of_waiting(const Call *call)
{
        if (call->demand.tasks > (unsigned)call->demand.active)
                return SIGN_WAITING;
        return tasks_waited(call) ? SIGN_PRESSURE : SIGN_NONE;
}

/* The policy may be called again with the interval that it knows: that is not another one. */
static void note_full(const Call *call)
{
        Ondemand *self = call->self;

        if (self->seen_usec != call->now_usec) {
                self->full_before = self->full;
                self->full_before_usec = self->full_usec;
        }
        self->full = call->demand.full;
        self->full_usec = call->input->snapshot->interval_usec;
        self->seen_usec = call->now_usec;
}

int sign_count_saturated(const Call *call)
{
        const Ondemand *self = call->self;
        CpuSet both = call->demand.full;

        note_full(call);
        if (self->full_usec >= SATURATION_USEC)
                return call->demand.saturated;
        if (self->full_usec + self->full_before_usec < SATURATION_USEC)
                return 0;
        cpuset_and(&both, &self->full_before);
        return cpuset_count(&both);
}

Sign sign_read(const Call *call)
{
        const Demand *demand = &call->demand;
        Sign waiting = sign_of_waiting(call);

        if (waiting != SIGN_NONE && (is_believed(call) || !demand_is_light(demand)))
                return waiting;
        if (call->saturated > 0)
                return call->saturated == demand->active ? SIGN_FULL : SIGN_SATURATED;
        if (load_is_high(call, call->self->load))
                return SIGN_LOAD;
        return call->self->n_kept < size_min(call) ? SIGN_LEAST : SIGN_NONE;
}

bool sign_is_doubtful(const Call *call)
{
        return !call->self->looking && !is_believed(call) && sign_of_waiting(call) != SIGN_NONE &&
               demand_is_light(&call->demand);
}

/* That tasks waited is known by the share of this interval, or by the trigger, which is about
 * another time and counts only if every CPU in use is taken. */
static void explain_pressure(const Call *call, Reason *reason)
{
        double pressure = call->input->snapshot->pressure;

        reason->because = "tasks waited for a CPU";
        if (pressure >= call->options->pressure) {
                reason_input(reason, "pressure", 100 * pressure, "%");
                reason_threshold(reason, "PressureThreshold", 100 * call->options->pressure, "%");
                return;
        }
        reason->because = "the kernel reported waiting tasks, and all active CPUs are busy";
        reason_input(reason, "active CPUs", call->demand.active, "CPUs");
        reason_threshold(reason, NULL, call->demand.active, "tasks");
}

Reason sign_reason(const Call *call, Sign sign, PackSize size)
{
        static const char *const because[] = {
                [SIGN_LEAST] = "fewer cores were active than MinCores requires",
                [SIGN_LOAD] = "the filtered load uses the active cores too much",
                [SIGN_SATURATED] = "a CPU is saturated",
                [SIGN_FULL] = "all active CPUs are saturated",
                [SIGN_WAITING] = "more tasks are runnable than CPUs are active",
                [SIGN_PRESSURE] = NULL, /* explain_pressure() */
        };
        const Ondemand *self = call->self;
        Reason reason = reason_new(call, because[sign], size);

        switch (sign) {
        case SIGN_NONE:
        case SIGN_LEAST:
                reason_threshold(&reason, "MinCores", (double)call->options->min_cores, "cores");
                break;
        case SIGN_LOAD:
                reason_input(&reason, "utilisation", 100 * self->load / self->capacity, "%");
                reason_threshold(&reason, "UpThreshold", 100 * call->options->up, "%");
                break;
        case SIGN_SATURATED:
        case SIGN_FULL:
                reason_input(&reason, "busiest CPU", 100 * call->demand.busiest, "%");
                reason_threshold(&reason, "UpThreshold", 100 * call->options->up, "%");
                break;
        case SIGN_WAITING:
                reason_input(&reason, "active CPUs", call->demand.active, "CPUs");
                reason_threshold(&reason, NULL, call->demand.active, "tasks");
                break;
        case SIGN_PRESSURE:
                explain_pressure(call, &reason);
                break;
        }
        return reason;
}
