/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * contract: the cheapest setting with which at most 1 % of a unit's wake-ups take longer than its
 * limit; see docs/contract.md.
 *
 *  1. Count. Each call adds the wake-ups since the last call to the window, and to the evidence of
 *     this setting if it was in effect. A clock that jumps and counts that begin again begin a new
 *     window.
 *  2. Windows. One ends after 10 s and 200 wake-ups. It is broken if more than 1 % were late.
 *  3. Start. All cores are active, with all idle states that wake up within the tightest limit.
 *     Where others may keep more cores active than the setting, it begins with those that are.
 *  4. Violation. The window has used half of the late wake-ups that it may have, and more than 1 %
 *     are late: up. A setting that has proved itself may use all.
 *  5. Up. If most late wake-ups left an idle state, the setting loses its deepest state, except one
 *     that is left within a fiftieth of the limit: such a state is not the reason. Otherwise the
 *     setting gets one core more, or as many as the queue model (queue.c) requires. With all cores
 *     active, CPUs stay at their highest frequency. Even without a violation, cores double if
 *     active CPUs are full for FULL_USEC: tasks that only compute hardly wake up.
 *  6. Failures. A setting that was violated is not tried again for a time that doubles, unless the
 *     load decreases. When a try fails, the setting before it keeps the evidence that it had.
 *  7. Down. After a dwell time without violation, the setting gets the fewest cores that keep all
 *     contracts with odds of HOLDS: Beta odds that the share of late wake-ups at this setting,
 *     times the factor by which the queue model expects more of them, is at most 1 %.
 *  8. Trying. The queue is only a model. If few wake-ups are late for TRY_USEC, one step down is
 *     tried without it: first lower frequencies, then a deeper idle state, then one core fewer.
 *  9. Infeasible. With everything active for 45 s and probably more than 1 % late: the contract
 *     requests nothing, until a window keeps it or the load decreases. After 3 s already if so many
 *     left the shallowest idle state, because then nothing helps, and polling costs most.
 * 10. Several contracts. Any of them raises the one setting, all must agree to lower it. A new one
 *     begins at step 3, but that of a unit which another one has counted goes on.
 */
#include "contract/controller.h"

#include <math.h>
#include <string.h>

#include "contract/queue.h"

#define SECOND UINT64_C(1000000)

#define FIRST_USEC  (3 * SECOND)  /* at the setting of step 3 */
#define DWELL_USEC  (10 * SECOND) /* at any other one */
#define SPARSE_USEC (60 * SECOND) /* instead, if there are less than 200 wake-ups */
#define TRY_USEC    (20 * SECOND)
#define LIMIT_USEC  (45 * SECOND) /* with everything active before a contract is infeasible */
#define RETRY_USEC  (180 * SECOND)
#define HELD_USEC   (200 * SECOND) /* a broken window in so many is one of 20 */
#define RETRY_MAX   4              /* doublings */
#define FULL_USEC   (SECOND / 4)
#define FULL        0.95 /* of the CPUs, busy */
#define HOLDS       0.9  /* odds that a step needs */
#define FAILS       0.99 /* odds that a contract is infeasible */
#define LATE_MIN    3    /* wake-ups, to be a violation */
#define SAME_LOAD   0.4
#define FILTER_SEC  10.0
#define SCALE_MAX   1000 /* of the longest wait, in limits */
#define GAP_USEC    (120 * SECOND)
#define EXIT_SHARE  50 /* a state that is left within this part of the limit is no reason */

static Tally tally_between(const Tally *later, const Tally *earlier)
{
        return (Tally){ .n = later->n - earlier->n,
                        .late = later->late - earlier->late,
                        .late_idle = later->late_idle - earlier->late_idle };
}

static void tally_add(Tally *tally, const Tally *more)
{
        tally->n += more->n;
        tally->late += more->late;
        tally->late_idle += more->late_idle;
}

static Tally tally_read(const Contract *contract)
{
        return (Tally){ .n = (double)wakeups_binned(contract->wakeups),
                        .late = contract->wakeups->late[contract->limit],
                        .late_idle = contract->idle->late[contract->limit] };
}

/* The p99, in us, of the delays since the controller counted `begin`. */
static double p99_since(const WakeupDelays *wakeups, const WakeupDelays *begin)
{
        WakeupDelays since = *wakeups;

        for (unsigned i = 0; i < WAKEUPS_BINS; i++)
                since.bins[i] -= begin->bins[i] <= since.bins[i] ? begin->bins[i] : 0;
        return wakeups_quantile_us(&since, 1 - CONTRACT_SHARE);
}

/* The odds that at most `share` are late, if all goes on like this. */
static double tally_odds(const Tally *tally, double share)
{
        return odds_at_most(tally->late, tally->n, share);
}

static void window_begin(ContractState *c, const WakeupDelays *wakeups, uint64_t now_usec)
{
        c->begin = *wakeups;
        c->begin_usec = now_usec;
        c->window = c->recent = (Tally){ 0 };
}

/* Step 2. */
static void window_end(Controller *self, ContractState *c, const ControlInput *input,
                       const WakeupDelays *wakeups)
{
        bool kept = c->window.late <= CONTRACT_SHARE * c->window.n;

        if (input->now_usec - c->begin_usec < CONTRACT_WINDOW_USEC ||
            c->window.n < CONTRACT_WINDOW_WAKEUPS)
                return;
        c->report.p99_us = p99_since(wakeups, &c->begin);
        c->report.wakeups = c->window.n;
        c->report.kept += kept;
        c->report.broken += !kept;
        if (kept || self->work < c->failed_work - SAME_LOAD * fmax(c->failed_work, 0.1)) {
                c->report.infeasible = false;
                c->report.best_us = 0;
        }
        window_begin(c, wakeups, input->now_usec);
}

/* Step 1 for one contract. */
static void count(Controller *self, ContractState *c, const ControlInput *input,
                  const Contract *contract)
{
        const WakeupDelays *wakeups = contract->wakeups;
        Tally read, more;

        if (!wakeups) {
                c->report.measured = false;
                return;
        }
        read = tally_read(contract);
        more = tally_between(&read, &c->read);
        c->read = read;
        if (!c->report.measured || more.n < 0 || more.late < 0 ||
            input->now_usec - self->seen_usec > GAP_USEC) {
                c->report.measured = true;
                c->here = (Tally){ 0 };
                c->arrived = *wakeups;
                window_begin(c, wakeups, input->now_usec);
                return;
        }
        tally_add(&c->window, &more);
        if (self->raised && self->seen_usec == self->changed_usec)
                return; /* they waited with fewer cores */
        if (input->effect) {
                tally_add(&c->recent, &more);
                tally_add(&c->here, &more);
        }
        window_end(self, c, input, wakeups);
}

/* What one window may have, if the rest of it is as what has passed. */
static double allowance(const ContractState *c, uint64_t now_usec)
{
        double passed = (double)(now_usec - c->begin_usec);
        double n = passed > 0 ? c->window.n * CONTRACT_WINDOW_USEC / passed : 0;

        return CONTRACT_SHARE * fmax(n, CONTRACT_WINDOW_WAKEUPS);
}

/* Step 4. A setting that has proved itself may use up a window. */
static bool is_violated(const ContractState *c, uint64_t now_usec)
{
        bool proven = c->here.n >= 4 * c->window.n && tally_odds(&c->here, CONTRACT_SHARE) >= HOLDS;
        double most = allowance(c, now_usec) / (proven ? 1 : 2);

        return contract_votes(c) && c->recent.late >= fmax(most, LATE_MIN) &&
               c->recent.late > CONTRACT_SHARE * c->recent.n;
}

static int cpus_of(const ControlInput *input, int cores)
{
        return (int)lround(cores * input->cpus_per_core);
}

/* The share that is late with so many cores, by the queue. Waits last as long per spare CPU as a
 * task runs. */
static double share_late(const Controller *self, const ContractState *c, const ControlInput *input,
                         int cores)
{
        double most = SCALE_MAX * c->limit_us, passed = (double)(input->now_usec - c->begin_usec);
        double starts = fmax(input->starts_per_sec, passed > 0 ? c->window.n * 1e6 / passed : 0);
        double run = starts > 0 ? fmin(1e6 * self->work / starts, most) : most;

        return queue_share_late(self->work, cpus_of(input, cores), c->limit_us, run);
}

/* Active cores, of which others may keep more than the setting. */
static int cores_active(const Controller *self, const ControlInput *input)
{
        return input->active_cores > self->cores ? input->active_cores : self->cores;
}

/* Step 7 for one contract. */
static int cores_that_hold(const Controller *self, const ContractState *c,
                           const ControlInput *input)
{
        double here = share_late(self, c, input, cores_active(self, input));

        for (int cores = 1; cores < self->cores; cores++) {
                double there = share_late(self, c, input, cores);

                if (there > CONTRACT_SHARE)
                        continue;
                if (tally_odds(&c->here, CONTRACT_SHARE * fmin(here / there, 1)) >= HOLDS ||
                    c->here.late < 1)
                        return cores;
        }
        return self->cores;
}

/* Step 5 for cores. */
static int cores_that_cure(const Controller *self, const ContractState *c,
                           const ControlInput *input)
{
        int cores = self->cores + 1;

        while (cores < input->n_cores && share_late(self, c, input, cores) > CONTRACT_SHARE / 2)
                cores++;
        return cores;
}

/* Where the failure of so many cores is noted: that before, or the one that may be tried first. */
static Failure *failure_of(Controller *self, int cores)
{
        Failure *found = &self->failed_cores[0];

        for (int i = 0; i < CONTRACT_FAILURES; i++) {
                Failure *failure = &self->failed_cores[i];

                if (failure->at == cores)
                        return failure;
                if (failure->until_usec < found->until_usec)
                        found = failure;
        }
        *found = (Failure){ .at = cores };
        return found;
}

/* Step 6. */
static void note_failure(const Controller *self, Failure *failure, int at, uint64_t now_usec)
{
        bool held = self->held_usec + now_usec - self->changed_usec >= HELD_USEC;

        if (held)
                failure->patience = 0;
        else if (failure->until_usec > 0 && failure->at == at && failure->patience < RETRY_MAX)
                failure->patience++;
        failure->at = at;
        failure->work = self->work;
        failure->until_usec = now_usec + (held ? DWELL_USEC : RETRY_USEC << failure->patience);
}

/* True if `at`, which is below `now_at`, must not be tried. */
static bool has_failed(const Controller *self, const Failure *failure, int at, int now_at,
                       uint64_t now_usec)
{
        return at <= failure->at && now_at > failure->at && now_usec < failure->until_usec &&
               self->work >= (1 - SAME_LOAD) * failure->work;
}

static bool have_failed(const Controller *self, int cores, uint64_t now_usec)
{
        for (int i = 0; i < CONTRACT_FAILURES; i++)
                if (has_failed(self, &self->failed_cores[i], cores, self->cores, now_usec))
                        return true;
        return false;
}

/* What is known about a setting that is lowered is known again where less was tried in vain. */
static void change(Controller *self, const ControlInput *input, int cores, int state, bool fast,
                   bool up)
{
        const LeftSetting *left = &self->left;
        bool back = up && cores == left->cores && state == left->state && fast == left->fast;

        if (!up)
                self->left = (LeftSetting){ self->cores, self->state, self->fast,
                                            self->held_usec + input->now_usec -
                                                    self->changed_usec };
        for (int i = 0; i < self->n_contracts; i++) {
                ContractState *c = &self->contracts[i];

                if (!up)
                        c->left = c->here;
                c->here = back ? c->left : (Tally){ 0 };
                c->recent = (Tally){ 0 };
                if (input->contracts[i].wakeups)
                        c->arrived = *input->contracts[i].wakeups;
        }
        self->held_usec = back ? left->usec : 0;
        self->changed_usec = input->now_usec;
        self->changed_work = self->work;
        self->cores = cores;
        self->state = state;
        self->fast = fast;
        self->raised = up;
        self->lowered = !up;
        self->full = false;
}

static bool is_full(Controller *self, const ControlInput *input)
{
        if (input->work < FULL * cpus_of(input, self->cores) || self->cores == input->n_cores)
                self->full_since_usec = 0;
        else if (self->full_since_usec == 0)
                self->full_since_usec = self->seen_usec;
        return self->full_since_usec > 0 && input->now_usec - self->full_since_usec >= FULL_USEC;
}

/* Step 5 for CPUs that are full. */
static void give_room(Controller *self, const ControlInput *input)
{
        int cores = 2 * self->cores;

        note_failure(self, failure_of(self, self->cores), self->cores, input->now_usec);
        change(self, input, cores < input->n_cores ? cores : input->n_cores, self->state,
               self->fast, true);
        self->full = true;
        self->full_since_usec = 0;
}

/* Whether the deepest state can be the reason that wake-ups are late. Real exits take some times as
 * long as tables say, in virtual machines more. */
static bool state_is_slow(const Controller *self, const ControlInput *input, const ContractState *c)
{
        return self->state > 0 &&
               input->idle->states[self->state].exit_latency_us > c->limit_us / EXIT_SHARE;
}

/* Step 5 for a violation; false if there is nothing that would help. */
static bool raise_setting(Controller *self, const ControlInput *input, const ContractState *c)
{
        bool left_idle = c->recent.late_idle > c->recent.late / 2, fast = self->fast;
        int cores = self->cores, state = self->state;

        self->decides = c->report.id;
        if (left_idle && state_is_slow(self, input, c)) {
                note_failure(self, &self->failed_state, input->idle->n_states - state,
                             input->now_usec);
                state--;
        } else if (cores < input->n_cores) {
                note_failure(self, failure_of(self, cores), cores, input->now_usec);
                cores = cores < input->active_cores /* with fewer they are later still */
                                ? input->active_cores
                                : cores_that_cure(self, c, input);
        } else if (!left_idle && !fast && input->can_speed) {
                note_failure(self, &self->failed_slow, 0, input->now_usec);
                fast = true;
        } else {
                return false;
        }
        change(self, input, cores, state, fast, true);
        return true;
}

/* More than the contract permits left the shallowest state: each CPU may once leave another one,
 * which it had entered before. */
static bool is_hopeless(const Controller *self, const ContractState *c, const ControlInput *input)
{
        Tally shallow = c->here;

        shallow.late = c->here.late_idle - cpus_of(input, input->n_cores);
        return self->state <= 0 && shallow.late > 0 &&
               1 - tally_odds(&shallow, CONTRACT_SHARE) >= FAILS;
}

/* Step 9. */
static void give_up(Controller *self, ContractState *c, const ControlInput *input,
                    const WakeupDelays *wakeups)
{
        uint64_t since = self->changed_usec > c->since_usec ? self->changed_usec : c->since_usec;
        uint64_t here = input->now_usec - since;
        bool late = 1 - tally_odds(&c->here, CONTRACT_SHARE) >= FAILS;

        if (self->cores < input->n_cores ||
            !((here >= LIMIT_USEC && late) || (here >= FIRST_USEC && is_hopeless(self, c, input))))
                return;
        c->report.infeasible = true;
        c->report.best_us = p99_since(wakeups, &c->arrived);
        c->failed_work = self->work;
}

/* True if enough was seen at this setting. */
static bool has_dwelt(const Controller *self, const ContractState *c, uint64_t now_usec)
{
        uint64_t here = now_usec - self->changed_usec;
        bool start = !self->raised && !self->lowered;

        return here >= (c->here.n < CONTRACT_WINDOW_WAKEUPS ? SPARSE_USEC
                        : start                             ? FIRST_USEC
                                                            : DWELL_USEC);
}

/* Steps 7, 8 and 10: the fewest cores that all agree to. */
static int cores_to_keep(Controller *self, const ControlInput *input)
{
        int keep = (int)ceil((self->work + 1e-9) / input->cpus_per_core / FULL), most = 0;
        double limit = INFINITY;
        bool try = input->now_usec - self->changed_usec >= TRY_USEC;

        for (int i = 0; i < self->n_contracts; i++) {
                const ContractState *c = &self->contracts[i];
                int cores;

                if (!contract_votes(c))
                        continue;
                if (!has_dwelt(self, c, input->now_usec))
                        return self->cores;
                cores = cores_that_hold(self, c, input);
                if (cores == self->cores && try &&
                    tally_odds(&c->here, CONTRACT_SHARE / 2) >= HOLDS)
                        cores--;
                if (cores < most || (cores == most && c->limit_us > limit))
                        continue;
                self->decides = c->report.id;
                limit = c->limit_us;
                most = cores;
        }
        return most > keep ? most : keep;
}

/* Steps 8 and 10: few are late, for long enough to try what the queue says nothing about. */
static bool may_try(const Controller *self, uint64_t now_usec)
{
        for (int i = 0; i < self->n_contracts; i++) {
                const ContractState *c = &self->contracts[i];

                if (contract_votes(c) && (!has_dwelt(self, c, now_usec) ||
                                          tally_odds(&c->here, CONTRACT_SHARE / 2) < HOLDS))
                        return false;
        }
        return now_usec - self->changed_usec >= TRY_USEC;
}

/* Step 7. */
static void lower_setting(Controller *self, const ControlInput *input, int deepest)
{
        int cores = cores_to_keep(self, input), state = self->state, deeper;
        bool try = may_try(self, input->now_usec);

        if (self->fast) {
                if (try && !has_failed(self, &self->failed_slow, 0, 1, input->now_usec))
                        change(self, input, self->cores, state, false, false);
                return;
        }
        deeper = state < deepest ? input->idle->n_states - state - 1 : 0;
        if (deeper > 0 && try &&
            !has_failed(self, &self->failed_state, deeper, deeper + 1, input->now_usec)) {
                state++;
                cores = self->cores;
        }
        while (cores < self->cores && have_failed(self, cores, input->now_usec))
                cores++;
        if (cores < self->cores || state > self->state)
                change(self, input, cores, state, false, false);
}

/* Puts what is known about each contract where the input has it; true if one is new. One of a unit
 * that was counted for all others already changes nothing but by what it shows from now on. */
static bool arrange(Controller *self, const ControlInput *input)
{
        ContractState old[CONTRACTS_MAX];
        bool added = false, decides = false, rest;

        memcpy(old, self->contracts, sizeof(old));
        rest = self->n_contracts > 0 && input->n_contracts > 0 && input->contracts[0].rest &&
               old[0].report.id == input->contracts[0].id && old[0].report.measured;
        for (int i = 0; i < input->n_contracts; i++) {
                const Contract *contract = &input->contracts[i];
                bool apart = i > 0 && contract->rest;
                int at = 0;

                while (at < self->n_contracts && old[at].report.id != contract->id)
                        at++;
                added |= at == self->n_contracts && !(rest && apart);
                decides |= self->decides == contract->id;
                self->contracts[i] = at < self->n_contracts
                                             ? old[at]
                                             : (ContractState){ .report.id = contract->id,
                                                                .report.measured = rest && apart,
                                                                .limit_us = contract->limit_us,
                                                                .begin_usec = input->now_usec,
                                                                .since_usec = input->now_usec };
                self->contracts[i].apart = apart;
        }
        self->n_contracts = input->n_contracts;
        if (!decides)
                self->decides = 0;
        return added;
}

/* Step 3: the deepest state that the tightest contract permits; -1 without states. */
static int deepest_state(const Controller *self, const ControlInput *input)
{
        double limit = INFINITY;

        for (int i = 0; i < self->n_contracts; i++)
                if (contract_votes(&self->contracts[i]))
                        limit = fmin(limit, self->contracts[i].limit_us);
        return input->idle ? idle_table_deepest(input->idle, (uint32_t)fmin(limit, 1e9)) : -1;
}

/* What failed for the other contracts fails with one more, too. */
static void start(Controller *self, const ControlInput *input)
{
        if (self->n_cores != input->n_cores) {
                self->failed_state = self->failed_slow = (Failure){ 0 };
                memset(self->failed_cores, 0, sizeof(self->failed_cores));
        }
        self->n_cores = input->n_cores;
        self->work = input->work;
        change(self, input, input->active_cores ?: input->n_cores, deepest_state(self, input),
               false, false);
        self->lowered = false;
}

static void filter_load(Controller *self, const ControlInput *input)
{
        double passed = (double)(input->now_usec - self->seen_usec);

        self->work += (input->work - self->work) * -expm1(-passed / (FILTER_SEC * SECOND));
}

/* Evidence of another load is none, and that of more cores none for those that are left. */
static void follow(Controller *self, const ControlInput *input)
{
        int active = cores_active(self, input);
        bool fewer = input->active_cores > 0 && active < self->active;

        filter_load(self, input);
        self->active = active;
        if (!fewer &&
            fabs(self->work - self->changed_work) <= SAME_LOAD * fmax(self->changed_work, 0.1))
                return;
        for (int i = 0; i < self->n_contracts; i++)
                self->contracts[i].here = self->contracts[i].left = (Tally){ 0 };
        self->held_usec = self->left.usec = 0;
        self->changed_work = self->work;
}

/* Steps 4 to 9 with what was counted. */
static void steer(Controller *self, const ControlInput *input)
{
        int deepest = deepest_state(self, input);
        bool any = false;

        if (self->state > deepest)
                self->state = deepest;
        if (input->active_cores > 0) {
                self->full_since_usec = 0; /* others give room */
        } else if (is_full(self, input)) {
                give_room(self, input);
                return;
        }
        if (self->fast && !input->can_speed) {
                change(self, input, self->cores, self->state, false, false);
                return;
        }
        for (int i = 0; i < self->n_contracts; i++) {
                ContractState *c = &self->contracts[i];

                if (is_violated(c, input->now_usec)) {
                        if (raise_setting(self, input, c))
                                return;
                        give_up(self, c, input, input->contracts[i].wakeups);
                }
                any |= contract_votes(c);
        }
        if (any)
                lower_setting(self, input, deepest);
        else
                self->cores = 0;
}

void controller_step(Controller *self, const ControlInput *input)
{
        bool added = arrange(self, input), any = false;

        if (input->now_usec < self->seen_usec) {
                self->seen_usec = self->changed_usec = input->now_usec;
                self->full_since_usec = 0;
        }
        for (int i = 0; i < self->n_contracts; i++) {
                ContractState *c = &self->contracts[i];
                bool silent = !contract_votes(c);

                if (input->now_usec < c->begin_usec) {
                        c->report.measured = false;
                        c->since_usec = input->now_usec;
                }
                count(self, c, input, &input->contracts[i]);
                added |= silent && contract_votes(c) && !c->apart;
                any |= contract_votes(c);
        }
        if (!any) {
                self->cores = 0;
                filter_load(self, input);
        } else if (added || self->cores == 0 || self->n_cores != input->n_cores) {
                start(self, input);
        } else {
                follow(self, input);
                if (input->effect)
                        steer(self, input);
        }
        self->seen_usec = input->now_usec;
}

bool controller_is_busy(const Controller *self, uint64_t now_usec)
{
        for (int i = 0; i < self->n_contracts; i++)
                if (contract_votes(&self->contracts[i]) && self->contracts[i].recent.late >= 1)
                        return true;
        return self->full_since_usec > 0 || now_usec - self->changed_usec < DWELL_USEC;
}

bool controller_is_sure(const Controller *self, uint64_t now_usec)
{
        return self->cores > 0 && may_try(self, now_usec) && !controller_is_busy(self, now_usec);
}
