/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ondemand: as many cores active as the load needs, the rest parked (coreidle).
 *
 *  1. Order. The cores that may be parked have a fixed order (pack.c); kept is its beginning. A
 *     new order, for CPUs that came or went, keeps all and starts again.
 *  2. Load. The work of all these CPUs (demand.c) is filtered by a moving average that knows the
 *     time: filtered += (1 - exp(-interval / FilterTime)) * (work - filtered). The busy share of
 *     each CPU is filtered by a twentieth of FilterTime (1 s at most), what tasks waited by half.
 *  3. Size. The load wants the fewest cores that it uses to at most TargetUtilization. A CPU busy
 *     for UpThreshold is saturated: it gets a core for itself, and the rest of the load one more
 *     at least.
 *  4. Fast cores. Where cores differ in speed, as many of the fastest are kept as CPUs have work
 *     that a slow core has no room for: a saturated slow core, or a fast one that does more than
 *     TargetUtilization of the slowest.
 *  5. Waiting. The time in which some task waited for a CPU (PSI; without it, a sample of runnable
 *     tasks) by the number of runs of tasks is the mean wait. What of it remains while all cores
 *     are kept and half idle is usual: more cores do not cure it.
 *  6. Growing. The mean wait exceeds the usual by MaxWait, or all active CPUs are saturated: twice
 *     the cores, or one for each runnable task if that is more. The filtered load uses the kept
 *     cores to more than UpThreshold, or a CPU is saturated: the size wanted.
 *     A task that is new, and would call for more if it saturated its CPU, is read again half a
 *     period later; where more tasks are runnable than CPUs active, READING_USEC later.
 *  7. Parking. For the time Dwell in every call the load uses the kept cores to less than
 *     DownThreshold and wants fewer: in one step, the largest size wanted meanwhile.
 *  8. Budget. Each change takes a token. Parking, and growing that leaves cores parked, needs two,
 *     so that one is left to unpark all. The bucket holds half of MaxTransitions, and fills so that
 *     no minute sees more, but only once fewer cores have sufficed for twice Dwell: parking is
 *     paid for by lasting.
 *  9. Saving. Where RAPL shows that parking saves nothing (worth.c), all cores stay active.
 */
#include <math.h>

#include "ondemand/ondemand.h"

#define RUNS_LEAST 50 /* a second: fewer say little about a wait */

/* How many times Dwell fewer cores have to suffice before that fills the bucket. */
#define UNPAID_DWELLS 2
#define REFILL        0.5 /* of MaxTransitions a minute */

/* How soon a usual wait is forgotten that is seen no longer. */
#define FORGET_USEC (60 * SECOND)

/* What a moving average with this time constant takes over of a value that lasted so long. */
static double weight(double usec, double constant_usec)
{
        return constant_usec > 0 ? -expm1(-usec / constant_usec) : 1;
}

static void filter(double *average, double value, double share)
{
        *average += share * (value - *average);
}

double waiting_usec(const Ondemand *self)
{
        return self->runs > 0 ? 1e6 * self->waited / self->runs : 0;
}

/* Step 5. What the trigger called for happened in the last of its windows, however long the
 * interval is that its share is of. */
static void filter_waiting(Call *call, bool first)
{
        Ondemand *self = call->self;
        const Snapshot *snapshot = call->input->snapshot;
        double half = 0.5 * (double)call->options->filter_usec;
        double interval = (double)snapshot->interval_usec, window = interval;
        double share = snapshot->pressure, runs = snapshot->switches_per_sec / 2, wait;

        if (!(snapshot->have & SENSE_PRESSURE))
                share = call->runnable > (unsigned)call->limit.active &&
                                        !demand_is_light(&call->limit)
                                ? 1
                                : 0;
        if (snapshot->pressed && window > PRESSURE_WINDOW_USEC) {
                window = PRESSURE_WINDOW_USEC;
                share = fmin(1, share * interval / window);
                filter(&self->waited, 0, weight(interval - window, half));
        }
        filter(&self->waited, share, weight(window, half));
        filter(&self->runs, fmax(runs, RUNS_LEAST), first ? 1 : weight(interval, half));
        wait = waiting_usec(self);
        if (call->n_kept >= size_max(call) && demand_is_light(&call->limit))
                filter(&self->usual_usec, wait,
                       weight(interval, (double)call->options->dwell_usec));
        else if (wait < self->usual_usec)
                filter(&self->usual_usec, wait, weight(interval, FORGET_USEC));
}

static double bucket_size(const Call *call)
{
        double half = (double)call->options->max_transitions / 2;

        return half > 2 ? half : 2;
}

/* Tokens that so long a time brings. */
static double refill(const Call *call, uint64_t usec)
{
        return (double)call->options->max_transitions * REFILL * (double)usec / MINUTE;
}

double budget_wait(const Call *call)
{
        const Ondemand *self = call->self;
        double missing = 2 - self->tokens, calm = (double)(call->now_usec - self->calm_since_usec);
        double unpaid = UNPAID_DWELLS * (double)call->options->dwell_usec - calm;

        if (missing <= 0)
                return 0;
        return missing / refill(call, SECOND) + fmax(unpaid, 0) / SECOND;
}

/* Step 8. A load that wants now fewer cores, now more, brings nothing. */
static void fill_bucket(Call *call)
{
        Ondemand *self = call->self;
        uint64_t calm = call->now_usec - self->calm_since_usec;

        bool fewer_suffice = self->low_since_usec > 0 || !cpuset_is_empty(&self->parked);

        if (fewer_suffice && calm > UNPAID_DWELLS * call->options->dwell_usec)
                self->tokens = fmin(self->tokens +
                                            refill(call, call->input->snapshot->interval_usec),
                                    bucket_size(call));
}

/* Takes the interval in, once: decide() may be called again with the same. */
static void filter_load(Call *call)
{
        Ondemand *self = call->self;
        const Snapshot *snapshot = call->input->snapshot;
        double interval = (double)snapshot->interval_usec;
        double constant = (double)call->options->filter_usec;
        bool first = self->seen_usec == 0;
        double recent = first ? 1 : weight(interval, fmin(constant / 20, SECOND));

        if (self->seen_usec == call->now_usec)
                return;
        self->seen_usec = call->now_usec;
        CPUSET_FOREACH(cpu, &self->pack.cpus)
                self->recent[cpu] += (float)recent * (snapshot->busy[cpu] - self->recent[cpu]);
        filter(&self->load, call->limit.work, first ? 1 : weight(interval, constant));
        filter_waiting(call, first);
        fill_bucket(call);
}

/* Keeps `size`, whatever it is; if that parks or unparks a CPU it is a change. */
static void keep(Call *call, PackSize size, const Reason *reason)
{
        Ondemand *self = call->self;
        CpuSet parked;

        pack_parked(&self->pack, call->input->topology, size, &parked);
        self->kept = size;
        call->n_kept = size_count(call, size);
        call->capacity = size_capacity(call, size);
        self->low_since_usec = 0;
        if (cpuset_equal(&parked, &self->parked))
                return;
        call->changed = true;
        self->parked = parked;
        self->reason = *reason;
        self->tokens = fmax(self->tokens - 1, 0);
}

static Sign sign_read(const Call *call)
{
        const Ondemand *self = call->self;
        const Demand *demand = &call->demand;

        if (waiting_usec(self) - self->usual_usec > (double)call->options->max_wait_usec)
                return SIGN_WAITING;
        if (demand->saturated > 0)
                return demand->saturated == demand->active ? SIGN_FULL : SIGN_SATURATED;
        if (load_is_high(call, self->load))
                return SIGN_LOAD;
        return call->n_kept < size_min(call) ? SIGN_LEAST : SIGN_NONE;
}

/* Keeps what is kept and `size`, or all if the budget has no room for another change after that. */
static void grow(Call *call, PackSize size)
{
        Ondemand *self = call->self;
        Reason reason = explain_sign(call, call->sign, size);

        size.cores = size.cores > self->kept.cores ? size.cores : self->kept.cores;
        size.fast = size.fast > self->kept.fast ? size.fast : self->kept.fast;
        if (self->tokens < 2) {
                size = size_all(call);
                reason.because = "more cores are needed, and recent changes have used up the "
                                 "budget but for one: so all";
                reason_threshold(&reason, "MaxTransitions", (double)call->options->max_transitions,
                                 "per minute");
        }
        self->waited = 0; /* with fewer cores */
        keep(call, size_resize(call, size, size_min(call)), &reason);
}

/* Step 6; true if there is a sign that forbids to park, even if there was nothing to grow. */
static bool consider_growing(Call *call)
{
        PackSize size = size_wanted(call, &call->demand, call->self->load, size_max(call));
        int n = 2 * call->n_kept;
        bool urgent;

        call->sign = sign_read(call);
        urgent = call->sign == SIGN_WAITING || call->sign == SIGN_FULL;
        if (urgent)
                size = size_resize(call, size, (int)call->runnable > n ? (int)call->runnable : n);
        if (call->sign == SIGN_NONE || !size_is_larger(call, size))
                return urgent;
        grow(call, size);
        return true;
}

/* What keeps Dwell from beginning, or from going on. */
static Obstacle find_obstacle(const Call *call)
{
        const Ondemand *self = call->self;

        if (worth_backoff(&self->worth, call->now_usec) > 0)
                return OBSTACLE_SAVING;
        if (!load_is_low(call, self->load))
                return OBSTACLE_LOAD;
        if (!size_is_smaller(call, size_wanted(call, &call->demand, self->load, size_max(call))))
                return OBSTACLE_SIZE;
        return OBSTACLE_NONE;
}

/* Step 7: parks, or finds what is in the way. */
static Obstacle consider_parking(Call *call)
{
        Ondemand *self = call->self;
        PackSize wanted = size_wanted(call, &call->demand, self->load, self->pack.n_cores);
        Obstacle obstacle = find_obstacle(call);
        Reason reason;

        if (obstacle != OBSTACLE_NONE) {
                if (self->low_since_usec > 0)
                        self->calm_since_usec = call->now_usec;
                self->low_since_usec = 0;
                self->compared &= obstacle != OBSTACLE_LOAD;
                return obstacle;
        }
        if (self->low_since_usec == 0) {
                self->low_since_usec = self->calm_since_usec = call->now_usec;
                self->peak = wanted;
        }
        self->peak.cores = wanted.cores > self->peak.cores ? wanted.cores : self->peak.cores;
        self->peak.fast = wanted.fast > self->peak.fast ? wanted.fast : self->peak.fast;
        if (!self->compared && call->now_usec - self->low_since_usec < call->options->dwell_usec)
                return OBSTACLE_DWELL;
        if (self->tokens < 2)
                return OBSTACLE_BUDGET;
        if (worth_forbids(&self->worth, call->now_usec))
                return OBSTACLE_SAVING;
        wanted = size_resize(call, self->peak, size_min(call));
        reason = explain_parking(call, wanted);
        self->compared = false;
        keep(call, wanted, &reason);
        return OBSTACLE_NONE;
}

/* Step 9: unparks all to compare, or because parking saved nothing. A comparison takes two changes.
 */
static void consider_saving(Call *call)
{
        Ondemand *self = call->self;
        WorthAdvice advice = saving_watch(call);
        Reason reason = saving_reason(call, advice);

        if (advice == WORTH_GO_ON ||
            (advice == WORTH_COMPARE && self->tokens < fmin(3, bucket_size(call))))
                return;
        self->compared = advice == WORTH_COMPARE;
        keep(call, size_all(call), &reason);
}

/* True if a task is runnable that was not a call ago, and more cores are needed if it turns out to
 * saturate its CPU. */
static bool is_filling(const Call *call)
{
        Demand one_more = call->demand;

        one_more.saturated++;
        one_more.fast += call->self->pack.slowest != call->self->pack.fast;
        return call->runnable > call->self->runnable_before &&
               call->runnable > (unsigned)call->demand.saturated &&
               size_is_larger(call, size_wanted(call, &one_more, call->self->load, size_max(call)));
}

/* True if tasks have come that wait at this moment, which may be a load that has just come: a long
 * interval says little about that, so the next call comes soon. */
static bool may_wait(const Call *call)
{
        return call->sign == SIGN_NONE && call->n_kept < size_max(call) &&
               call->runnable > call->self->runnable_before &&
               call->runnable > (unsigned)call->limit.active;
}

/* True if later calls will keep the same as long as the load is what it was in this interval: the
 * filtered values only move towards it, and neither end of their way calls for a change. */
static bool is_settled(const Call *call, bool filling)
{
        const Ondemand *self = call->self;
        const Demand *limit = &call->limit;
        PackSize wanted = size_wanted(call, limit, limit->work, size_max(call));
        bool grows = load_is_high(call, limit->work) || limit->saturated > 0 ||
                     call->demand.saturated > 0;

        if (self->low_since_usec || call->changed || filling)
                return false;
        if (call->n_kept < size_max(call) &&
            waiting_usec(self) - self->usual_usec > 0.5 * (double)call->options->max_wait_usec)
                return false;
        if (grows &&
            (size_is_larger(call, wanted) ||
             size_is_larger(call, size_wanted(call, &call->demand, self->load, size_max(call)))))
                return false;
        if (worth_backoff(&self->worth, call->now_usec) > 0)
                return true;
        return !load_is_low(call, limit->work) || !size_is_smaller(call, wanted);
}

/* Step 1: keeps everything. The first time that is no change. */
static void start(Call *call)
{
        Ondemand *self = call->self;
        Reason reason = reason_new(
                call, "the CPUs or their order are new, so nothing is parked yet", size_all(call));
        bool again = self->seen_usec > 0;

        reason_threshold(&reason, "Dwell", (double)call->options->dwell_usec / SECOND, "s");
        self->reason = reason;
        self->seen_usec = 0;
        self->compared = false;
        self->waited = self->usual_usec = 0;
        worth_init(&self->worth);
        keep(call, size_all(call), &reason);
        if (!again)
                self->tokens = bucket_size(call);
}

static void watch(Call *call)
{
        Ondemand *self = call->self;
        const OndemandOptions *options = call->options;

        call->limit = demand_read(call->input, &self->pack, call->input->snapshot->busy,
                                  options->up, options->target);
        call->runnable = demand_runnable(call->input, &self->pack);
        filter_load(call);
        call->demand = demand_read(call->input, &self->pack, self->recent, options->up,
                                   options->target);
        consider_saving(call);
        if (consider_growing(call) && call->n_kept <= size_max(call)) {
                self->low_since_usec = 0;
                self->calm_since_usec = call->now_usec;
                self->compared = false;
                call->obstacle = OBSTACLE_SIGN;
        } else {
                call->obstacle = consider_parking(call);
        }
}

static void ondemand_decide(void *state, const PolicyInput *input, Wish *wish)
{
        Ondemand *self = state;
        const OndemandOptions *options = input->options;
        Call call = { .self = self,
                      .input = input,
                      .options = options,
                      .now_usec = input->snapshot->time_usec };
        bool has_interval = input->snapshot->interval_usec > 0, filling = false, waiting = false;
        bool all_kept;

        if (pack_update(&self->pack, input->topology, input->offered, options->pack_order))
                start(&call);
        call.n_kept = size_count(&call, self->kept);
        call.capacity = size_capacity(&call, self->kept);
        if (has_interval) {
                watch(&call);
                waiting = may_wait(&call);
                filling = waiting || is_filling(&call);
                self->runnable_before = call.runnable;
        }
        all_kept = size_min(&call) >= self->pack.n_cores && call.n_kept == self->pack.n_cores;
        if (all_kept)
                call.obstacle = OBSTACLE_LEAST;
        if (all_kept || (has_interval && !call.changed && cpuset_is_empty(&self->parked)))
                self->reason = explain_all_active(&call);
        cpuset_subtract(&wish->allowed, &self->parked);
        wish->allowed_reason = self->reason;
        if (all_kept)
                return;
        wish->period_usec = filling && options->period_usec / 2 > READING_USEC
                                    ? options->period_usec / 2
                                    : options->period_usec;
        if (waiting)
                wish->period_usec = READING_USEC;
        wish->on_pressure = true;
        if (saving_wants_energy(&call))
                wish->reads = SENSE_ENERGY;
        wish->settled = has_interval && !wish->reads && is_settled(&call, filling);
}

static Benefit ondemand_benefit(const void *state)
{
        return ((const Ondemand *)state)->worth.benefit;
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
        .benefit = ondemand_benefit,
};
