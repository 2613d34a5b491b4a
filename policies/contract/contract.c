/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * contract: the fewest cores and the deepest idle states that keep every contract; see
 * docs/contract.md.
 *
 *  1. Contracts. Those of units, and with WakeupP99= one more for all other units, as if they were
 *     one, and for late ones of these, while it can save something. It begins when the filtered
 *     load is WORK or more, and for SPARE_USEC, which add up, used the CPUs of one active core less
 *     to at most ROOM: ondemand would have parked that core, were it not for tasks that wait. It
 *     ends REST_USEC after the load was lower, or as many cores were active as in that time, and if
 *     it parked none within TRY_USEC. If it parked for less than half its time, SPARE_USEC doubles.
 *  2. Setting. The controller, whose steps controller.c has, finds the cheapest number of active
 *     cores and deepest idle state that keep them all, and whether frequencies may be low.
 *  3. Cores. While a unit's contract rules, the first cores of ondemand's order, of those that
 *     policies of higher rank offer, are active: no more, and no policy of lower rank parks any of
 *     them. So ondemand decides nothing. The contract of all other units alone is only in place of
 *     MaxWait=: ondemand decides, and keeps as many cores. With Park=no all cores are active.
 *  4. Idle states. On active CPUs that a contract's tasks may run on, the deepest one is that of
 *     the setting. If there are none, the tasks are pinned, and it applies to all of their CPUs.
 *  5. Frequency. If they may not be low, the highest one of these CPUs' hardware is their lowest:
 *     only for contracts of units. A profile says itself what cpufreq may do.
 *  6. Nothing is requested for contracts that are not measured or infeasible. Without any other
 *     one ondemand decides again, and begins with all cores.
 *  7. Saving. A setting that only parks cores may be ignored for some seconds, to measure what it
 *     saves: with all cores active no wake-up is later. What is counted then says nothing about it.
 *  8. Period. PERIOD_USEC while the controller waits for the effect of a change, some were late, or
 *     the pressure trigger called: tasks that compute may have come, which need more cores (5.).
 *     Else it takes EACH wake-ups to learn something, SPARSE_USEC at most, and without any the
 *     period stretches. SURE_USEC at least while the odds are good and none was late in this
 *     window. INFEASIBLE_USEC while nothing is requested.
 */
#include "contract/controller.h"

#include <math.h>

#include "idled-policy.h"
#include "model/pack.h"

#define PERIOD_USEC     500000
#define SURE_USEC       (CONTRACT_WINDOW_USEC / 4)
#define SPARSE_USEC     5000000
#define INFEASIBLE_USEC 5000000
#define EACH            25       /* wake-ups: an eighth of the smallest window */
#define WORK            0.1      /* CPUs */
#define WORK_USEC       10000000 /* time constant of its moving average */
#define REST_USEC       UINT64_C(60000000)
#define TRY_USEC        UINT64_C(180000000) /* ondemand takes its time to park */
#define SPARE_USEC      UINT64_C(30000000)  /* longer than ondemand takes to park */
#define SPARE_LEAK      0.25                /* of the time */
#define VAIN_MAX        6                   /* doublings: half an hour */
#define ROOM            0.75                /* of CPUs, busy: what UpThreshold= makes of threads */
#define FULL            0.9                 /* of a CPU, busy: UpThreshold= */

typedef struct ContractOptions {
        uint64_t p99_usec;
        bool park;
} ContractOptions;

static const Setting contract_settings[] = {
        { "Policy", "WakeupP99", SETTING_DURATION, offsetof(ContractOptions, p99_usec), "0",
          .max = CONTRACT_LIMIT_MAX_US,
          .help = "99 % of wake-ups of units without a contract run within this time; 0: any" },
        { "Policy", "Park", SETTING_BOOL, offsetof(ContractOptions, park), "yes",
          .help = "Whether contracts may park cores; if not, they only limit idle states" },
        { 0 },
};

typedef struct ContractPolicy {
        Controller controller;
        Pack pack;
        bool effect;         /* what the last call requested took effect since then */
        int cores;           /* active ones requested; 0: no request */
        int32_t latency_us;  /* of the deepest idle state that is permitted; -1: any */
        double work;         /* the filtered load, in CPUs */
        uint64_t seen_usec;  /* the end of its last interval */
        uint64_t load_usec;  /* when it was WORK or more last */
        uint64_t until_usec; /* the contract of all other units lasts; 0: there is none */
        double spare_usec;   /* that the load left an active core to spare; else it decreases */
        double before;       /* cores that were active meanwhile, on average */
        uint64_t begun_usec; /* it lasts since then */
        double useful_usec;  /* of this it parked a core for */
        unsigned vain;       /* how often it did so for less than half of it, in a row */
        bool unit;           /* a unit's contract rules */
        double counted;      /* wake-ups of all contracts, at the last call */
        uint64_t counted_usec;
} ContractPolicy;

static const IdleTable *longest_table(const PolicyInput *input, const CpuSet *cpus)
{
        const IdleTable *longest = NULL;

        CPUSET_FOREACH(cpu, cpus)
                if (input->idle && input->idle[cpu].n_states > (longest ? longest->n_states : 0))
                        longest = &input->idle[cpu];
        return longest;
}

static double work_now(const ContractPolicy *self, const PolicyInput *input)
{
        double work = 0;

        CPUSET_FOREACH(cpu, &self->pack.cpus)
                work += input->snapshot->busy[cpu];
        return work;
}

/* Cores that may be parked, and are not. */
static int count_active(const ContractPolicy *self, const PolicyInput *input)
{
        int n = 0;

        for (int i = 0; i < self->pack.n_cores; i++) {
                CpuSet cpus = { 0 };

                topology_add_core(input->topology, self->pack.order[i], &cpus);
                cpuset_and(&cpus, &self->pack.cpus);
                n += cpuset_intersects(&cpus, input->allowed);
        }
        return n;
}

/* True if a unit has a contract of its own that rules, as far as the last call knew. */
static bool is_of_unit(const ContractPolicy *self, const Contract *contract)
{
        const Controller *c = &self->controller;

        for (int i = 0; i < c->n_contracts; i++)
                if (c->contracts[i].report.id == contract->id && c->contracts[i].report.infeasible)
                        return false;
        return !contract->rest && contract->wakeups;
}

/* True if policies of lower rank park, for lack of a unit's contract (step 3). */
static bool is_beside(const ContractPolicy *self, const PolicyInput *input)
{
        const ContractOptions *options = input->options;

        return options->park && !self->unit;
}

/* Steps 1 and 2. */
static void control(ContractPolicy *self, const PolicyInput *input)
{
        const ContractOptions *options = input->options;
        const IdleTable *idle = longest_table(input, &self->pack.cpus);
        int n_cores = options->park ? self->pack.n_cores : 1;
        ControlInput now = { .now_usec = input->snapshot->time_usec,
                             .effect = self->effect,
                             .n_cores = n_cores,
                             .active_cores = is_beside(self, input) ? count_active(self, input) : 0,
                             .cpus_per_core = (double)self->pack.n_cpus / n_cores,
                             .work = work_now(self, input),
                             .starts_per_sec = input->snapshot->switches_per_sec,
                             .can_speed = input->n_frequency > 0 && self->unit,
                             .idle = idle,
                             .contracts = input->contracts,
                             .n_contracts = input->n_contracts };
        int state;

        controller_step(&self->controller, &now);
        self->effect = input->effect;
        state = self->controller.state;
        if (self->controller.cores > 0 && idle && state >= 0 && state < idle->n_states - 1)
                self->latency_us = (int32_t)idle->states[state].exit_latency_us;
}

/* Why the setting is as it is, by the limit of the contract that decides. All users read reasons,
 * so these have no figures of a unit. */
static Reason reason_of(const ContractPolicy *self, const PolicyInput *input, const char *because)
{
        const Controller *c = &self->controller;
        const ContractOptions *options = input->options;
        const ContractState *state = &c->contracts[0];
        Reason reason = { .because = because, .inputs = { { "filtered load", "CPUs", c->work } } };

        for (int i = 0; i < c->n_contracts; i++)
                if (c->contracts[i].report.id == c->decides)
                        state = &c->contracts[i];
        reason.inputs[1].name = "limit";
        reason.inputs[1].unit = "ms";
        reason.inputs[1].value = state->limit_us / 1e3;
        if (state->limit_us == (double)options->p99_usec) { /* else a hold requested it */
                reason.option = "WakeupP99";
                reason.threshold = state->limit_us / 1e3;
                reason.threshold_unit = "ms";
        }
        return reason;
}

/* Why so many cores. */
static const char *because_of(const Controller *c)
{
        return c->full      ? "the active CPUs were full"
               : c->raised  ? "wake-ups were later than a contract permits"
               : c->lowered ? "fewer cores keep all contracts"
                            : "a contract or the CPUs are new";
}

/* Step 3. */
static void request_cores(const ContractPolicy *self, const PolicyInput *input, Wish *wish)
{
        const Controller *c = &self->controller;
        PackSize size = { .cores = self->cores };
        CpuSet parked;

        if (is_beside(self, input)) {
                /* Else nothing was tried: ondemand shows what it would do by itself. */
                wish->contract_cores = input->effect ? (unsigned)self->cores : 0;
                return;
        }
        pack_parked(&self->pack, input->topology, size, &parked);
        cpuset_subtract(&wish->allowed, &parked);
        wish->kept = self->pack.cpus;
        cpuset_subtract(&wish->kept, &parked);
        wish->allowed_reason = reason_of(self, input, because_of(c));
}

/* Step 5 for the CPUs of one contract. */
static void limit_frequency(const PolicyInput *input, const CpuSet *cpus, Wish *wish)
{
        for (int i = 0; i < input->n_frequency; i++)
                CPUSET_FOREACH(cpu, &input->frequency[i].cpus)
                        if (cpuset_has(cpus, cpu) && cpu < wish->n_cpus)
                                wish->cpus[cpu].min_khz = input->frequency[i].max_khz;
}

/* Step 4, and step 5. */
static void limit_contracts(const ContractPolicy *self, const PolicyInput *input, Wish *wish)
{
        const Controller *c = &self->controller;
        const CpuSet *active = is_beside(self, input) ? input->allowed : &wish->kept;

        for (int i = 0; i < c->n_contracts; i++) {
                CpuSet cpus = input->contracts[i].cpus;

                if (!contract_votes(&c->contracts[i]))
                        continue;
                if (cpuset_intersects(&cpus, active))
                        cpuset_and(&cpus, active); /* else its tasks are pinned to others */
                CPUSET_FOREACH(cpu, &cpus)
                        if (cpu < wish->n_cpus)
                                wish->cpus[cpu].latency_us = self->latency_us;
                if (c->fast && !input->contracts[i].rest)
                        limit_frequency(input, &cpus, wish);
        }
}

/* Step 8. */
static uint64_t period_of(double counted, uint64_t passed_usec, bool sure)
{
        double usec = counted > 0 ? (double)passed_usec * EACH / counted : SPARSE_USEC;

        return (uint64_t)fmin(fmax(usec, sure ? SURE_USEC : PERIOD_USEC), SPARSE_USEC);
}

static void request_period(ContractPolicy *self, const PolicyInput *input, Wish *wish)
{
        uint64_t now = input->snapshot->time_usec;
        bool rules = self->controller.cores > 0, any = false;
        bool busy = controller_is_busy(&self->controller, now) ||
                    (input->snapshot->pressed && !is_beside(self, input));
        double counted = 0;

        for (int i = 0; i < input->n_contracts; i++)
                if (input->contracts[i].wakeups && (i == 0 || !input->contracts[i].rest)) {
                        counted += (double)wakeups_binned(input->contracts[i].wakeups);
                        any = true;
                }
        wish->on_pressure = rules && !is_beside(self, input);
        wish->settled = counted == self->counted && !busy;
        if (any)
                wish->period_usec = !rules ? INFEASIBLE_USEC
                                    : busy ? PERIOD_USEC
                                           : period_of(counted - self->counted,
                                                       now - self->counted_usec,
                                                       controller_is_sure(&self->controller, now));
        self->counted = counted;
        self->counted_usec = now;
}

/* True if there is load, and it leaves one of the active cores to spare. Tasks that fill CPUs get a
 * core each, whatever waits. */
static bool is_spare(const ContractPolicy *self, const PolicyInput *input, int active)
{
        CpuSet cpus = self->pack.cpus;
        int full = 0;

        cpuset_and(&cpus, input->allowed);
        CPUSET_FOREACH(cpu, &cpus)
                full += input->snapshot->busy[cpu] >= FULL;
        if (self->work < WORK || active < 2 || (full > 0 && active <= full + 1))
                return false;
        return self->work <= ROOM * cpuset_count(&cpus) * (active - 1) / active;
}

/* True if the kernel counts for it. */
static bool is_counted(const PolicyInput *input)
{
        return input->n_contracts == 0 || !input->contracts[0].rest || input->contracts[0].wakeups;
}

/* True if the contract of all other units has, or may soon have, an effect: fewer cores are active
 * than when it began. Where it does not park, or a unit's contract does, it always has. */
static bool is_useful(const ContractPolicy *self, const PolicyInput *input)
{
        const ContractOptions *options = input->options;

        if (self->work < WORK || !options->park || self->unit)
                return self->work >= WORK;
        if (self->until_usec > 0)
                return is_counted(input) && count_active(self, input) <= self->before - 0.5;
        return self->spare_usec >= (double)(SPARE_USEC << self->vain);
}

/* Step 1 for the contract of all other units. */
static void request_rest(ContractPolicy *self, const PolicyInput *input, Wish *wish)
{
        const ContractOptions *options = input->options;
        const Snapshot *snapshot = input->snapshot;
        double passed = (double)snapshot->interval_usec;
        bool spare, fresh;
        int active;

        if (options->p99_usec == 0) {
                self->until_usec = self->vain = 0;
                self->work = self->spare_usec = 0;
                return;
        }
        active = count_active(self, input);
        fresh = snapshot->time_usec != self->seen_usec && passed > 0;
        if (fresh) {
                self->work += (work_now(self, input) - self->work) * -expm1(-passed / WORK_USEC);
                spare = is_spare(self, input, active);
                self->spare_usec = fmax(self->spare_usec + (spare ? passed : -passed * SPARE_LEAK),
                                        0);
                if (spare && self->until_usec == 0)
                        self->before += (active - self->before) * passed / self->spare_usec;
        }
        self->seen_usec = snapshot->time_usec;
        if (self->work >= WORK)
                self->load_usec = snapshot->time_usec;
        if (is_useful(self, input)) {
                bool begins = self->until_usec == 0;

                if (begins)
                        self->begun_usec = snapshot->time_usec;
                self->useful_usec = begins ? 0 : self->useful_usec + (fresh ? passed : 0);
                self->until_usec = snapshot->time_usec + (begins ? TRY_USEC : REST_USEC);
        } else if (self->until_usec > 0 && (snapshot->time_usec >= self->until_usec ||
                                            snapshot->time_usec >= self->load_usec + REST_USEC)) {
                if (2 * self->useful_usec >= (double)(snapshot->time_usec - self->begun_usec))
                        self->vain = 0;
                else if (self->work >= WORK) /* else nothing was learned */
                        self->vain += self->vain < VAIN_MAX;
                self->until_usec = 0;
                self->spare_usec = 0;
        }
        wish->p99_us = self->until_usec > 0 ? (uint32_t)options->p99_usec : 0;
        wish->period_usec = SPARSE_USEC;
}

static void contract_decide(void *state, const PolicyInput *input, Wish *wish)
{
        ContractPolicy *self = state;
        const ContractOptions *options = input->options;

        self->cores = 0;
        self->latency_us = -1;
        self->unit = false;
        if (options->p99_usec > 0 || input->n_contracts > 0)
                pack_update(&self->pack, input->topology, input->offered, PACK_EFFICIENCY,
                            (PackKinds){ 0 });
        for (int i = 0; i < input->n_contracts; i++)
                self->unit |= is_of_unit(self, &input->contracts[i]);
        request_rest(self, input, wish);
        if (input->n_contracts == 0) {
                if (self->controller.n_contracts > 0)
                        self->controller = (Controller){ 0 };
                return;
        }
        control(self, input);
        request_period(self, input, wish);
        if (self->controller.cores == 0)
                return;
        self->cores = options->park ? self->controller.cores : self->pack.n_cores;
        request_cores(self, input, wish);
        limit_contracts(self, input, wish);
        wish->for_saving = !is_beside(self, input) && self->cores < self->pack.n_cores &&
                           self->latency_us < 0 && !self->controller.fast;
}

static int contract_explain(const void *state, const PolicyInput *input, int cpu,
                            Reason *ret_reasons)
{
        const ContractPolicy *self = state;
        const ContractOptions *options = input->options;
        int n = 0;

        if (options->p99_usec > 0 && self->until_usec == 0)
                ret_reasons[n++] = (Reason){
                        .because = self->work < WORK
                                           ? "the load is too low for the contract of all other "
                                             "units to save anything, so their wake-ups are not "
                                             "counted"
                                           : "the contract of all other units would park no more "
                                             "cores now, so their wake-ups are not counted",
                        .inputs = { { "filtered load", "CPUs", self->work },
                                    { "least load", "CPUs", WORK } },
                        .option = "WakeupP99",
                        .threshold = (double)options->p99_usec / 1e3,
                        .threshold_unit = "ms",
                };
        for (int i = 0; i < self->controller.n_contracts && n < EXPLAIN_MAX - 1; i++) {
                const ContractState *c = &self->controller.contracts[i];

                if (contract_votes(c) || c->apart) /* which is not shown */
                        continue;
                ret_reasons[n++] = (Reason){
                        .because = c->report.measured
                                           ? "a contract is infeasible with everything active, "
                                             "so nothing is requested for it"
                                           : "the wake-ups of a contract are not measured, so "
                                             "nothing is requested for it",
                        .inputs = { { "limit", "ms", c->limit_us / 1e3 } },
                };
        }
        if (self->controller.cores > 0 && self->controller.fast)
                ret_reasons[n++] = reason_of(self, input,
                                             "wake-ups wait although all cores are active, so "
                                             "frequencies may not be low");
        if (is_beside(self, input) && self->cores > 1 && n < EXPLAIN_MAX - 1)
                ret_reasons[n++] = reason_of(self, input, because_of(&self->controller));
        if (self->latency_us < 0 || n >= EXPLAIN_MAX)
                return n;
        ret_reasons[n] = reason_of(self, input, "wake-ups from deeper idle states would be late");
        ret_reasons[n].inputs[2].name = "wake-up latency";
        ret_reasons[n].inputs[2].unit = "us";
        ret_reasons[n].inputs[2].value = self->latency_us;
        return n + 1;
}

static int contract_contracts(const void *state, ContractReport *ret_reports)
{
        const ContractPolicy *self = state;
        const Controller *controller = &self->controller;

        for (int i = 0; i < controller->n_contracts; i++) {
                bool rules = contract_votes(&controller->contracts[i]);

                ret_reports[i] = controller->contracts[i].report;
                ret_reports[i].cores = rules ? (unsigned)self->cores : 0;
                ret_reports[i].latency_us = rules ? self->latency_us : -1;
                ret_reports[i].fast = rules && controller->fast;
        }
        return controller->n_contracts;
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "contract",
        .summary = "keeps limits for the delays of wake-ups with the fewest active cores",
        .settings = contract_settings,
        .options_size = sizeof(ContractOptions),
        .state_size = sizeof(ContractPolicy),
        .wishes = WISHES_CPUS | WISHES_BY_CONTRACTS,
        .decide = contract_decide,
        .explain = contract_explain,
        .contracts = contract_contracts,
};
