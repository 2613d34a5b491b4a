/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand: as many cores awake as the load needs, the rest parked (coreidle).
 *
 *  1. Which. The cores that may be parked stand in a fixed order (pack.c); what is kept is its
 *     beginning. Isolated and nohz_full CPUs, and those that a policy of higher rank takes
 *     away, are none of ours.
 *  2. Load. The work of all these CPUs (demand.c) is filtered by a moving average that knows
 *     the time: filtered += (1 - exp(-interval / FilterTime)) * (work - filtered), so that
 *     calls that come early or late weigh what they should.
 *  3. Size. The load needs the fewest cores that it uses to at most TargetUtilization. A core
 *     counts with its capacity, and SMT_GAIN of it if it has more threads than one, so with 70 %
 *     two are busy for 55 % of the time each; what more than two add is a reserve. But while the
 *     busiest CPU, filtered as the load, is busier than TargetUtilization, a core counts as one
 *     thread, because a task that fills one CPU gains nothing from the others.
 *  4. Growing by load. When the filtered load uses the kept cores to more than UpThreshold, the
 *     size that it needs is kept at once.
 *  5. Growing by sign. Two signs do not wait for the filter.
 *     a) A CPU in use is saturated (busy for UpThreshold, through intervals that together last for
 *        SATURATION_USEC: a shorter one cannot distinguish 90 % from less). Each saturated CPU is
 *        given a core for itself, and the rest of the load, with the next task to come, at least
 *        one more: wanted is saturated + max(1, rest at TargetUtilization). So one busy thread
 *        never holds more than two cores, however long it runs: another would not make it faster.
 *        But if all CPUs in use are saturated, nothing shows how much more is waiting; then as
 *        below.
 *     b) Tasks waited for CPUs. What counts is the time beyond WAITING_SHARE; at the end of an
 *        interval in which more tasks are runnable than CPUs in use, or when the pressure trigger
 *        calls, tasks have waited for READING_USEC or PRESSURE_USEC at least. Waiting adds up, and
 *        what is not waited of WAITING_SHARE drains it.
 *     Both count when they have gone on for MaxWait. After b, and if all CPUs are saturated, the
 *     kept cores are doubled, or a core is kept for each runnable task, whichever is more. A task
 *     that has come since the last call, where one saturated CPU more would call for more cores, is
 *     checked again half a period later.
 *     Waiting where the CPUs in use had nothing to do for half of the time may be a load that has
 *     just come, or tasks that no more cores would help: timers that wake many at once, or that are
 *     bound or throttled. A second reading decides, READING_USEC later. The trigger's call is
 *     believed at once, unless waiting was false before: after a growth by b, or a second reading
 *     that found no load, until more cores are wanted than then. Tasks that were runnable at both
 *     ends of an interval in which half a CPU in use had nothing to do count only as many as CPUs
 *     were busy.
 *  6. Fast cores. Where cores differ in speed, as many of the fastest are kept, wherever they
 *     stand in the order, as CPUs have work that a slow core has no room for: a saturated slow
 *     core, or a fast one that does more than TargetUtilization of the slowest. One busy thread
 *     is not stuck on a slow core.
 *  7. Parking. In every call for the time Dwell, the load must use the kept cores to less than
 *     DownThreshold, and it and the runnable tasks must want fewer; then, in one step, the
 *     largest size wanted meanwhile is kept. One step, because every change costs the same
 *     however many cores it moves; the largest, because what was wanted a moment ago will be
 *     wanted again. As the new size is used to at most TargetUtilization, it takes a load higher
 *     by UpThreshold / TargetUtilization to grow again. Tasks count as in 5, those of the moment
 *     only at the end.
 *     Cores beyond MaxCores go after Dwell whatever the load.
 *  8. Patience. If cores are needed again within twice the time it took to park them, that time
 *     is doubled, up to 8 times Dwell; once they stayed parked for four times as long it is
 *     Dwell again. So a load that comes and goes settles to what its peaks want.
 *  9. The cap. No 60 s see more than MaxTransitions changes, and yet growing is never refused.
 *     Cores are parked only if the budget has room for two changes, this one and the one that
 *     takes it back; and a growth that is the last in the budget keeps everything, after which
 *     there is nothing to grow. So while anything is parked, one change is left.
 * 10. Whatever makes the order invalid (CPUs that come or go, another PackOrder) keeps everything
 *     and starts again.
 * 11. Parking serves to save energy alone, unless MaxCores asks for it: idled measures what it
 *     saves, and ignores it where it costs (docs/evaluate.md).
 */
#include <math.h>

#include "ondemand/ondemand.h"

/* Steps 4 to 6; true if there is a sign that forbids to park, whether or not there was anything to
 * grow. */
static bool consider_growing(Call *call)
{
        Ondemand *self = call->self;
        Sign sign = sign_read(call);
        bool urgent = sign > SIGN_SATURATED;
        PackSize size = size_wanted(call, self->load);
        int n = 2 * self->n_kept;
        Reason reason;

        call->sign = sign;
        if (urgent) {
                n = (int)call->demand.tasks > n ? (int)call->demand.tasks : n;
                size = size_resize(call, size, n);
        }
        if (sign == SIGN_NONE || !size_is_larger(call, size))
                return urgent;
        reason = sign_reason(call, sign, size);
        if (sign == SIGN_WAITING)
                self->doubted_cores = self->n_kept;
        self->waited_usec = 0; /* with fewer cores */
        change_grow(call, size, &reason);
        return true;
}

uint64_t dwell_time(const Call *call)
{
        return call->options->dwell_usec * call->self->patience;
}

/* The largest that is wanted in the dwell time. */
static void note_peak(Call *call, PackSize size)
{
        Ondemand *self = call->self;

        if (!self->dwelling) {
                self->dwelling = true;
                self->dwell_since_usec = call->now_usec;
                self->peak = size;
        }
        self->peak.cores = size.cores > self->peak.cores ? size.cores : self->peak.cores;
        self->peak.fast = size.fast > self->peak.fast ? size.fast : self->peak.fast;
}

/* What keeps the dwell time from beginning, or from going on. */
static Obstacle find_obstacle(const Call *call, unsigned tasks)
{
        const Ondemand *self = call->self;

        if (!load_is_low(call, self->load))
                return OBSTACLE_LOAD;
        if (!size_is_smaller(call, size_to_park(call, self->load, tasks)))
                return OBSTACLE_SIZE;
        return OBSTACLE_NONE;
}

/* Step 7: parks, or says what is in the way. */
static Obstacle consider_parking(Call *call)
{
        Ondemand *self = call->self;
        const Demand *demand = &call->demand;
        bool light = demand_is_light(demand);
        unsigned tasks = light ? demand_tasks(demand, demand->runnable) : demand->tasks;
        Obstacle obstacle = find_obstacle(call, tasks);

        if (obstacle != OBSTACLE_NONE) {
                self->dwelling = false;
                return obstacle;
        }
        note_peak(call, size_uncapped(call, self->load, tasks));
        if (call->now_usec - self->dwell_since_usec < dwell_time(call))
                return OBSTACLE_DWELL;
        if (!change_has_reserve(call))
                return OBSTACLE_BUDGET;
        if (!size_is_smaller(call, size_to_park(call, self->load, demand->tasks)))
                return OBSTACLE_TASKS;
        change_park(call);
        return OBSTACLE_NONE;
}

/* True if later calls will keep the same as long as the load is what it was in this interval: the
 * filtered load only moves towards it, and neither end of its way calls for a change. What this
 * call changed shows only in the next; and so does a task that began to fill its CPU late in this
 * interval while no other task waits. */
static bool is_settled(const Call *call)
{
        double load = call->demand.work;
        unsigned tasks = demand_tasks(&call->demand, call->demand.runnable);
        bool may_grow = load_is_high(call, load) || call->demand.full > 0;

        if (call->self->dwelling || call->changed || call->filling)
                return false;
        if (may_grow && size_is_larger(call, size_if_lasting(call, load, 0)))
                return false;
        return !load_is_low(call, load) || !size_is_smaller(call, size_to_park(call, load, tasks));
}

static void filter_load(Call *call)
{
        Ondemand *self = call->self;
        double interval = (double)call->input->snapshot->interval_usec, weight = 1;

        if (self->loaded && call->options->filter_usec > 0)
                weight = -expm1(-interval / (double)call->options->filter_usec);
        self->load += weight * (call->demand.work - self->load);
        self->busiest += weight * (call->demand.busiest - self->busiest);
        self->loaded = true;
}

/* Step 10: keeps everything. The first time that is no change. */
static void start(Call *call)
{
        Ondemand *self = call->self;
        PackSize all = { self->pack.n_cores, self->pack.n_fast };
        Reason reason = reason_new(
                call, "the CPUs or their order have changed, so no core is parked yet", all);

        reason_threshold(&reason, "Dwell", (double)call->options->dwell_usec / SECOND, "s");
        self->reason = reason;
        self->patience = 1;
        self->loaded = false;
        self->waited_usec = 0;
        self->doubted_cores = 0;
        change_keep(call, all, &reason);
}

/* True if a task is runnable that was not a call ago, and more cores are needed if it turns out to
 * saturate its CPU. */
static bool is_filling(const Call *call)
{
        const Demand *demand = &call->demand;

        return demand->runnable > call->self->runnable_before &&
               demand->runnable > (unsigned)demand->full &&
               size_is_larger(call, size_if_lasting(call, call->self->load, 1));
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

static void watch(Call *call)
{
        Ondemand *self = call->self;
        unsigned changes = self->n_changes;
        uint64_t max_wait = call->options->max_wait_usec;
        DemandLimits limits = { call->options->up, call->options->target,
                                max_wait > SATURATION_USEC ? max_wait : SATURATION_USEC };

        sign_note_saturated(call);
        demand_read(call->input, &self->pack, limits, self->full_usec, self->runnable_before,
                    &call->demand);
        filter_load(call);
        sign_note_waiting(call);
        call->filling = is_filling(call);
        call->doubt = sign_is_doubtful(call);
        if (consider_growing(call) && self->n_kept <= size_max(call)) {
                self->dwelling = false;
                call->obstacle = OBSTACLE_SIGN;
        } else {
                call->obstacle = call->doubt ? OBSTACLE_DOUBT : consider_parking(call);
        }
        self->runnable_before = call->demand.runnable;
        self->looking = call->doubt;
        if (self->n_changes == changes && cpuset_is_empty(&self->parked))
                why_all_in_use(call);
}

static void ondemand_decide(void *state, const PolicyInput *input, Wish *wish)
{
        Ondemand *self = state;
        const OndemandOptions *options = input->options;
        Call call = { .self = self,
                      .input = input,
                      .options = options,
                      .now_usec = input->snapshot->time_usec };
        bool all_kept;

        if (pack_update(&self->pack, input->topology, input->offered, options->pack_order))
                start(&call);
        if (input->snapshot->interval_usec > 0)
                watch(&call);
        all_kept = size_min(&call) >= self->pack.n_cores && self->n_kept == self->pack.n_cores;
        if (all_kept) {
                call.obstacle = OBSTACLE_LEAST;
                why_all_in_use(&call);
        }
        cpuset_subtract(&wish->allowed, &self->parked);
        wish->allowed_reason = self->reason;
        wish->for_saving = !cpuset_is_empty(&self->parked) && size_max(&call) == self->pack.n_cores;
        if (all_kept)
                return;
        wish->period_usec = choose_period(&call);
        wish->on_pressure = true;
        wish->settled = input->snapshot->interval_usec > 0 && !call.doubt && is_settled(&call);
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
        .decide = ondemand_decide,
};
