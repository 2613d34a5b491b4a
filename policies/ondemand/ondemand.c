/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand: as many cores as the load needs, the rest parked (coreidle); see docs/ondemand.md.
 *
 *  1. Order. The cores that may be parked have an order (pack.c); the active ones come first. All
 *     are active again when the order changes, or a policy of higher rank keeps all.
 *  2. Load. The work of these CPUs (demand.c), in a moving average with time constant FilterTime.
 *  3. Size. The fewest cores that the load uses to at most TargetUtilization; two at least while
 *     the busiest CPU is used to more. A CPU that is busy for UpThreshold is full. If full for
 *     SATURATION_USEC and MaxWait, it is saturated: it gets a core, the rest of the load another.
 *  4. Fast cores. As many as CPUs have work that a slow core has no room for: a saturated slow
 *     core, or more than TargetUtilization of one. None while the cores of Kinds suffice.
 *  5. Waiting. The time that tasks wait beyond WAITING_SHARE adds up, and is too long at MaxWait.
 *     More tasks than CPUs, or a call of the pressure trigger, is a short wait at least. While
 *     active CPUs are half idle, waiting counts only if a second reading after READING_USEC finds
 *     them busy. A call counts at once, except after waiting added cores or a second reading found
 *     no load, until the load needs more cores than then. If tasks stay runnable next to idle
 *     CPUs (bound, throttled), only as many count as CPUs are busy. Where contracts limit delays,
 *     only their number of cores counts, and UpThreshold is the target of step 3.
 *  6. Growing. After waiting too long, or if all active CPUs are saturated: twice the cores, or one
 *     for each runnable task if that is more. If one CPU is saturated, or the load uses the active
 *     cores to more than UpThreshold: the size of step 3.
 *  7. Parking. If for Dwell the load used the active cores to less than DownThreshold, and load and
 *     runnable tasks needed fewer: one step to the most that they needed in Dwell. While CPUs are
 *     half idle, new tasks count only at its end. At any load cores beyond MaxCores go after Dwell.
 *  8. Patience. If cores are needed again within twice the time that step 7 waited, it waits twice
 *     as long, up to PATIENCE_MAX times Dwell; after four times that time, for Dwell again.
 *  9. Budget. At most MaxTransitions changes a minute. Growing is never refused: parking leaves one
 *     change for growing, and if growing uses the last one, all cores are active.
 * 10. Period. Halved while a task may need more cores; longer while a lasting load changes nothing.
 */
#include <math.h>

#include "ondemand/ondemand.h"

#define PATIENCE_MAX  8
#define WAITING_SHARE 0.25 /* of the time: so much do tasks wait that come at random */

/* The shortest interval that distinguishes a CPU that is busy for 90 % of it from others. */
#define SATURATION_USEC UINT64_C(80000)
_Static_assert(SATURATION_USEC <= 2 * READING_USEC, "two intervals show saturation");

static void filter_load(Call *call)
{
        Ondemand *self = call->self;
        double interval = (double)call->input->snapshot->interval_usec, weight = 1;

        if (self->seen_usec > 0 && call->options->filter_usec > 0)
                weight = -expm1(-interval / (double)call->options->filter_usec);
        self->load.work += weight * (call->demand.load.work - self->load.work);
        self->load.busiest += weight * (call->demand.load.busiest - self->load.busiest);
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
 * begun counts as what shows it: more tasks at the end than CPUs, or a call of the trigger. */
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

/* The trigger calls as a load begins: that is believed at once, unless waiting proved false, or
 * there is nothing to unpark. */
static bool is_believed(const Call *call)
{
        return is_called(call) && call->self->doubted_cores == 0 &&
               call->n_active < call->self->pack.n_cores;
}

/* Step 5. The policy may be called again with the interval that it knows: nothing adds up then. */
static void note_waiting(Call *call, bool again)
{
        Ondemand *self = call->self;
        double waited = read_waiting(call), most = (double)call->options->max_wait_usec;
        bool light = demand_is_light(&call->demand), useless;
        int wanted = 0;

        if (call->input->contract_cores > 0) {
                self->waited_usec = 0;
                self->doubted_cores = 0;
                call->filling |= is_called(call) && !light; /* by tasks that compute, perhaps */
                return;
        }
        call->waited_usec = again ? self->waited_usec : fmax(self->waited_usec + waited, 0);
        call->waiting = waited > 0 && call->waited_usec >= most;
        self->waited_usec = fmin(call->waited_usec, most);
        useless = call->waiting && light && self->checking;
        if (useless || self->doubted_cores > 0)
                wanted = size_count(call, size_wanted(call, self->load));
        if (useless || wanted > self->doubted_cores)
                self->doubted_cores = useless ? wanted : 0;
        call->doubt = call->waiting && light && !self->checking && !is_believed(call);
}

static Sign sign_read(const Call *call)
{
        const Demand *demand = &call->demand;

        if (call->waiting && (is_believed(call) || !demand_is_light(demand)))
                return SIGN_WAITING;
        if (demand->saturated > 0)
                return demand->saturated == demand->active ? SIGN_FULL : SIGN_SATURATED;
        if (load_is_high(call, call->self->load))
                return SIGN_LOAD;
        return call->n_active < size_min(call) ? SIGN_LEAST : SIGN_NONE;
}

/* True if the budget has room for a change and another one after it. */
static bool has_reserve(const Call *call)
{
        uint64_t change_usec = call->self->changes_usec[call->options->max_transitions - 2];

        return change_usec == 0 || call->now_usec - change_usec >= MINUTE;
}

/* Notes that CPUs are parked or unparked. */
static void note_change(Call *call)
{
        Ondemand *self = call->self;

        call->changed = true;
        memmove(self->changes_usec + 1, self->changes_usec,
                sizeof(self->changes_usec) - sizeof(self->changes_usec[0]));
        self->changes_usec[0] = call->now_usec;
}

/* Makes `size`, which size_resize() gave, the active cores, whether or not that changes them. */
static void set_active(Call *call, PackSize size, const Reason *reason)
{
        Ondemand *self = call->self;

        self->low_since_usec = 0;
        if (size.cores == self->active.cores && size.fast == self->active.fast)
                return;
        self->active = size;
        call->n_active = size_count(call, size);
        call->capacity = size_capacity(call, size);
        self->reason = *reason;
        note_change(call);
}

uint64_t dwell_time(const Call *call)
{
        return call->options->dwell_usec * call->self->patience;
}

/* Step 8: parking was wrong if it did not last. */
static void learn_patience(Call *call)
{
        Ondemand *self = call->self;
        uint64_t took = dwell_time(call), lasted = call->now_usec - self->parked_usec;

        if (self->parked_usec == 0)
                return;
        if (lasted < 2 * took && self->patience < PATIENCE_MAX)
                self->patience *= 2;
        else if (lasted >= 4 * took)
                self->patience = 1;
        self->parked_usec = 0;
}

/* Adds `size` to the active cores, or all cores if that takes the last change of the budget. */
static void grow(Call *call, PackSize size)
{
        Ondemand *self = call->self;
        Reason reason = explain_sign(call, call->sign, size);

        size.cores = size.cores > self->active.cores ? size.cores : self->active.cores;
        size.fast = size.fast > self->active.fast ? size.fast : self->active.fast;
        if (!has_reserve(call)) {
                size = size_all(call);
                reason = explain_last_change(call, size);
        }
        if (call->sign == SIGN_WAITING)
                self->doubted_cores = call->n_active;
        self->waited_usec = 0; /* with fewer cores */
        learn_patience(call);
        set_active(call, size_resize(call, size, size_min(call)), &reason);
}

/* Step 6; true if there is a sign that forbids to park, whether or not there was anything to grow.
 */
static bool consider_growing(Call *call)
{
        PackSize size = size_wanted(call, call->self->load);
        int n = 2 * call->n_active, tasks = (int)call->demand.tasks;
        bool urgent;

        call->sign = sign_read(call);
        urgent = call->sign > SIGN_SATURATED;
        if (urgent)
                size = size_resize(call, size, tasks > n ? tasks : n);
        if (call->sign == SIGN_NONE || !size_is_larger(call, size))
                return urgent;
        grow(call, size);
        return true;
}

/* Keeps the largest size that was wanted during Dwell, within MaxCores. */
static void park(Call *call)
{
        Ondemand *self = call->self;
        PackSize size = size_resize(call, self->peak, size_min(call));
        Reason reason = explain_parking(call, size);

        set_active(call, size, &reason);
        self->parked_usec = call->now_usec;
}

/* What keeps Dwell from beginning, or from going on. */
static Obstacle find_obstacle(const Call *call, unsigned tasks)
{
        Load load = call->self->load;

        if (!load_is_low(call, load))
                return OBSTACLE_LOAD;
        if (!size_is_smaller(call, size_to_park(call, load, tasks, size_max(call))))
                return OBSTACLE_SIZE;
        return OBSTACLE_NONE;
}

/* Step 7: parks, or says what is in the way. Tasks of the moment count only at the end. */
static Obstacle consider_parking(Call *call)
{
        Ondemand *self = call->self;
        const Demand *demand = &call->demand;
        bool light = demand_is_light(demand);
        unsigned tasks = light ? demand_tasks(demand, demand->runnable) : demand->tasks;
        Obstacle obstacle = find_obstacle(call, tasks);
        PackSize size;

        if (obstacle != OBSTACLE_NONE) {
                self->low_since_usec = 0;
                return obstacle;
        }
        size = size_to_park(call, self->load, tasks, self->pack.n_cores);
        if (self->low_since_usec == 0) {
                self->low_since_usec = call->now_usec;
                self->peak = size;
        }
        self->peak.cores = size.cores > self->peak.cores ? size.cores : self->peak.cores;
        self->peak.fast = size.fast > self->peak.fast ? size.fast : self->peak.fast;
        if (call->now_usec - self->low_since_usec < dwell_time(call))
                return OBSTACLE_DWELL;
        if (!has_reserve(call))
                return OBSTACLE_BUDGET;
        if (find_obstacle(call, demand->tasks) != OBSTACLE_NONE)
                return OBSTACLE_TASKS;
        park(call);
        return OBSTACLE_NONE;
}

/* True if later calls will keep the same as long as the load is what it was in this interval: the
 * filtered load only moves towards it, and neither end of its way calls for a change. What this
 * call changed shows only in the next; and so does a task that began to fill its CPU late in this
 * interval while no other task waits. */
static bool is_settled(const Call *call)
{
        const Demand *demand = &call->demand;
        Load load = demand->load;
        unsigned tasks = demand_tasks(demand, demand->runnable);

        if (call->self->low_since_usec > 0 || call->changed || call->filling || call->doubt)
                return false;
        if ((load_is_high(call, load) || demand->full > 0) &&
            size_is_larger(call, size_if_full(call, load, 0)))
                return false;
        return !load_is_low(call, load) ||
               !size_is_smaller(call, size_to_park(call, load, tasks, size_max(call)));
}

/* True if a task is runnable that was not a call ago, and more cores are needed if it turns out to
 * fill its CPU. */
static bool is_filling(const Call *call)
{
        const Demand *demand = &call->demand;

        return demand->runnable > call->self->runnable_before &&
               demand->runnable > (unsigned)demand->full &&
               size_is_larger(call, size_if_full(call, call->self->load, 1));
}

/* How soon the next call is wanted. */
static uint64_t choose_period(const Call *call)
{
        uint64_t period = call->options->period_usec;

        if (call->filling && period / 2 > SATURATION_USEC)
                period = period / 2;
        if (call->doubt && period > READING_USEC)
                period = READING_USEC;
        return period;
}

/* Step 1: keeps everything, which is a change if cores were `parked`. */
static void start(Call *call, bool parked)
{
        Ondemand *self = call->self;

        self->active = size_all(call);
        self->seen_usec = 0;
        self->waited_usec = 0;
        self->doubted_cores = 0;
        self->low_since_usec = 0;
        self->patience = 1;
        self->reason = explain_start(call);
        if (parked)
                note_change(call);
}

static void watch(Call *call)
{
        Ondemand *self = call->self;
        const OndemandOptions *options = call->options;
        DemandLimits limits = { options->up, options->target, options->max_wait_usec };
        bool again = self->seen_usec == call->now_usec;

        if (limits.full_usec < SATURATION_USEC)
                limits.full_usec = SATURATION_USEC;
        call->demand = demand_read(call->input, &self->pack, limits, self->full_since_usec,
                                   self->runnable_before);
        if (!again)
                filter_load(call);
        call->filling = is_filling(call);
        note_waiting(call, again);
        if (consider_growing(call) && call->n_active <= size_max(call)) {
                self->low_since_usec = 0;
                call->obstacle = OBSTACLE_SIGN;
        } else {
                call->obstacle = call->doubt ? OBSTACLE_DOUBT : consider_parking(call);
        }
        self->seen_usec = call->now_usec;
        self->runnable_before = call->demand.runnable;
        self->checking = call->doubt;
}

/* True if a policy of higher rank decides about all these CPUs: nothing is left to be parked. */
static bool is_decided(const Ondemand *self, const PolicyInput *input)
{
        CpuSet rest = self->pack.cpus;

        if (!input->kept)
                return false;
        cpuset_subtract(&rest, input->kept);
        return cpuset_is_empty(&rest);
}

static void ondemand_decide(void *state, const PolicyInput *input, Wish *wish)
{
        Ondemand *self = state;
        const OndemandOptions *options = input->options;
        Call call = { .self = self,
                      .input = input,
                      .options = options,
                      .now_usec = input->snapshot->time_usec };
        bool known = input->snapshot->interval_usec > 0;
        bool parked = self->active.cores < self->pack.n_cores, all_needed;
        bool other = pack_update(&self->pack, input->topology, input->offered, options->pack_order,
                                 ondemand_kinds(options));
        CpuSet others;

        if (other || is_decided(self, input))
                start(&call, parked);
        if (is_decided(self, input))
                return;
        call.n_active = size_count(&call, self->active);
        call.capacity = size_capacity(&call, self->active);
        if (known)
                watch(&call);
        parked = call.n_active < self->pack.n_cores;
        all_needed = !parked && size_min(&call) >= self->pack.n_cores;
        if (all_needed)
                call.obstacle = OBSTACLE_LEAST;
        if (all_needed || (known && !call.changed && !parked))
                self->reason = explain_all_active(&call);
        pack_parked(&self->pack, input->topology, self->active, &others);
        cpuset_subtract(&wish->allowed, &others);
        wish->allowed_reason = self->reason;
        if (parked && (self->parked_usec > 0 || size_is_kept(&call, self->active)))
                wish->active_reason = explain_some_active(&call);
        wish->for_saving = parked && size_max(&call) == self->pack.n_cores;
        if (all_needed)
                return;
        wish->period_usec = choose_period(&call);
        wish->on_pressure = true;
        wish->settled = known && is_settled(&call);
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "ondemand",
        .summary = "parks the cores that the load does not need",
        .settings = ondemand_settings,
        .options_size = sizeof(OndemandOptions),
        .state_size = sizeof(Ondemand),
        .needs = SENSE_PRESSURE,
        .check = ondemand_check,
        .unmet = ondemand_unmet,
        .decide = ondemand_decide,
};
