/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Signs that more cores are needed: steps 4 and 5.
 */
#include <math.h>

#include "ondemand/ondemand.h"

/* The policy may be called again with the interval that it knows: that is not another one. */
static bool is_known(const Call *call)
{
        return call->self->seen_usec == call->now_usec;
}

void sign_note_saturated(const Call *call)
{
        const Snapshot *snapshot = call->input->snapshot;
        uint64_t *full = call->self->full_usec;

        if (is_known(call))
                return;
        CPUSET_FOREACH(cpu, &call->self->pack.cpus)
                full[cpu] = snapshot->busy[cpu] >= call->options->up
                                    ? full[cpu] + snapshot->interval_usec
                                    : 0;
}

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

/* Microseconds that tasks waited in this interval beyond WAITING_SHARE of it. Waiting that has only
 * begun counts as what shows it: a call of the trigger, or the tasks at the end. */
static double read_waiting(const Call *call)
{
        const Snapshot *snapshot = call->input->snapshot;
        const Demand *demand = &call->demand;
        double waited = (snapshot->pressure - WAITING_SHARE) * (double)snapshot->interval_usec;

        if (demand->tasks > (unsigned)demand->active)
                return fmax(waited, READING_USEC);
        if (is_called(call) && demand->runnable >= (unsigned)demand->active)
                return fmax(waited, PRESSURE_USEC);
        return waited;
}

/* Step 5c. Waiting is doubted while it needs no more cores than it did when it proved false. */
void sign_note_waiting(Call *call)
{
        Ondemand *self = call->self;
        double waited = read_waiting(call), most = (double)call->options->max_wait_usec;

        call->waited_usec = fmax(self->waited_usec + waited, 0);
        call->waiting = waited > 0 && call->waited_usec >= most;
        if (!is_known(call))
                self->waited_usec = fmin(call->waited_usec, most);
        self->seen_usec = call->now_usec;
        if (size_count(call, size_wanted(call, self->load)) > self->doubted_cores)
                self->doubted_cores = 0;
        if (call->waiting && self->looking && demand_is_light(&call->demand))
                self->doubted_cores = size_count(call, size_wanted(call, self->load));
}

/* The trigger calls as a load begins: that is believed at once, unless waiting proved false, or
 * there is nothing to unpark. */
static bool is_believed(const Call *call)
{
        return is_called(call) && call->self->doubted_cores == 0 &&
               !cpuset_is_empty(&call->self->parked);
}

Sign sign_read(const Call *call)
{
        const Demand *demand = &call->demand;

        if (call->waiting && (is_believed(call) || !demand_is_light(demand)))
                return SIGN_WAITING;
        if (demand->saturated > 0)
                return demand->saturated == demand->active ? SIGN_FULL : SIGN_SATURATED;
        if (load_is_high(call, call->self->load))
                return SIGN_LOAD;
        return call->self->n_kept < size_min(call) ? SIGN_LEAST : SIGN_NONE;
}

bool sign_is_doubtful(const Call *call)
{
        return call->waiting && !call->self->looking && !is_believed(call) &&
               demand_is_light(&call->demand);
}

Reason sign_reason(const Call *call, Sign sign, PackSize size)
{
        static const char *const because[] = {
                [SIGN_LEAST] = "fewer cores were active than MinCores requires",
                [SIGN_LOAD] = "the filtered load uses the active cores too much",
                [SIGN_SATURATED] = "a CPU is saturated",
                [SIGN_FULL] = "all active CPUs are saturated",
                [SIGN_WAITING] = "tasks waited for a CPU",
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
                if (call->demand.tasks > (unsigned)call->demand.active)
                        reason.because = "more tasks are runnable than CPUs are active";
                reason_input(&reason, "waited", call->waited_usec / 1e3, "ms");
                reason_threshold(&reason, "MaxWait", (double)call->options->max_wait_usec / 1e3,
                                 "ms");
                break;
        }
        return reason;
}
