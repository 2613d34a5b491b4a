/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where deep idle states are reached in spite of a load that is spread out, and left for nothing,
 * parking saves nothing, and may cost: what is in use sleeps in shorter pieces and less deeply. No
 * table of idle states tells beforehand, so it is measured.
 *
 *  1. Measure. The energy of all packages, and the work meanwhile, are summed up in each of two
 *     places: all CPUs in use, and some parked. Not counted are the first SETTLE_USEC after a
 *     change, for tasks take that long to find their places, and times in which there is next to
 *     nothing to do, where nothing is lost. A place begins anew if other CPUs are in use there than
 *     the last time, or that was FRESH_USEC ago. Only the newest samples, a window, count, for a
 *     load that begins is still finding its shape.
 *  2. When. Energy is read only while there is something to find out: in the last seconds before
 *     CPUs are parked, and after that; a window, WINDOW_USEC of each, will do. If CPUs were parked
 *     when the load came nothing is known of the other place, and once this one is known everything
 *     is unparked for as long as it takes.
 *  3. Judge. Two places that were measured within FRESH_USEC can be compared if their work, which
 *     is known as busy time, is alike: while some are parked from LEAST_RATIO, as fewer wake-ups
 *     cost less, to MOST_RATIO, as threads that share a core slow each other down. Parking must
 *     save SAVING, by more than twice the standard error of the difference of the means. If the
 *     difference is less than that either way both are measured on, until windows are twice as
 *     long; if the work is not alike, anew. After DOUBLINGS of that one standard error must do, and
 *     if it does not the difference is as good as none, and parking may stay, for ANEW_USEC at
 *     least, for it takes long to look; work that is not alike by then is left alone for
 *     RETRY_USEC, longer each time.
 *  4. Parking that saved is believed for CHECK_USEC, for it may have been chance, and twice as long
 *     each time it did again, up to LONGEST_USEC.
 *  5. Parking that did not is undone, and tried anew. After MISSES times in a row nothing is parked
 *     for PAUSE_USEC, then it is tried once more; each failure doubles the pause, up to
 *     LASTING_USEC. Where parking costs the share C, C * (WINDOW + SETTLE) / PAUSE is lost by that,
 *     0.1 % where C is 12 %; twice as much at first, and less in time.
 *  6. What was found of one load need not hold for another. One that is OTHER_FACTOR times as much,
 *     for OTHER_USEC, ends the pause; it takes still more to do that if it fails as well, so that a
 *     load that comes and goes does not do it each time. After a success one that differs as much
 *     either way is looked at when ANEW_USEC is over, not later.
 */
#include "ondemand/worth.h"

#include <math.h>

#define SETTLE_USEC  SECOND
#define WINDOW_USEC  (4 * SECOND)
#define FRESH_USEC   (2 * MINUTE)
#define COMPARE_USEC (15 * SECOND) /* and a window: so long may all be in use to compare */
#define RETRY_USEC   MINUTE
#define CHECK_USEC   MINUTE
#define ANEW_USEC    (10 * MINUTE)
#define PAUSE_USEC   (10 * MINUTE)
#define LONGEST_USEC (240 * MINUTE) /* between checks */
#define LASTING_USEC (60 * MINUTE)  /* the longest pause */
#define OTHER_USEC   (30 * SECOND)
#define OTHER_FACTOR 4 /* by short readings a load of short wake-ups looks half of what it is */
#define DOUBLINGS    3
#define MISSES       2
#define ASKED        4 /* readings without energy tell that there is none, for: */
#define ABSENT_USEC  (60 * MINUTE)
#define LEAST_RATIO  0.33 /* of the work while some are parked to that while none are */
#define MOST_RATIO   1.6
#define SAVING       0.01
#define LEAST_WORK   0.01 /* CPUs */

_Static_assert(WINDOW_USEC << DOUBLINGS <= WORTH_LONGEST_USEC, "samples of the longest window");

static void forget(Worth *worth)
{
        worth->sides[WORTH_ALL] = worth->sides[WORTH_PARKED] = (WorthSide){ 0 };
        worth->comparing = false;
}

void worth_init(Worth *worth)
{
        *worth = (Worth){
                .place = WORTH_UNSURE,
                .retry_usec = RETRY_USEC,
                .check_usec = CHECK_USEC,
                .pause_usec = PAUSE_USEC,
        };
}

/* Twice `usec`, at most `most`. */
static uint64_t longer(uint64_t usec, uint64_t most)
{
        return 2 * usec < most ? 2 * usec : most;
}

static uint64_t window(const Worth *worth)
{
        return WINDOW_USEC << worth->doublings;
}

static bool is_long_enough(const Worth *worth, const WorthSide *side)
{
        return worth_side_mean(side, window(worth)).usec >= (double)window(worth);
}

static bool is_pending(const Worth *worth, uint64_t now)
{
        return now >= worth->again_usec && now >= worth->backoff_usec;
}

/* Joules of all packages in the interval; negative if they are not known. */
static double packages_joules(const Snapshot *snapshot)
{
        double joules = 0;
        int n = 0;

        for (int i = 0; i < snapshot->n_energy; i++) {
                if (!snapshot->energy[i].package)
                        continue;
                if (!snapshot->energy[i].valid)
                        return -1;
                joules += snapshot->energy[i].joules;
                n++;
        }
        return n > 0 ? joules : -1;
}

/* Counters that are asked for and do not come, or do not move, are none. */
static void note_absence(Worth *worth, double joules, uint64_t now)
{
        worth->n_without = worth->wanted && joules <= 0 ? worth->n_without + 1 : 0;
        if (worth->n_without < ASKED)
                return;
        forget(worth);
        worth->again_usec = now + ABSENT_USEC;
        worth->n_without = 0;
}

/* What is compared could not be, or not be told apart. */
static void retry_later(Worth *worth, uint64_t now)
{
        forget(worth);
        worth->again_usec = now + worth->retry_usec;
        worth->retry_usec = longer(worth->retry_usec, 60 * MINUTE);
}

static bool is_fresh(const WorthSide *side, uint64_t now)
{
        return side->n > 0 && now <= side->last_usec + FRESH_USEC;
}

/* Notes where we are since `began`. */
static void enter(Worth *worth, const WorthView *view, uint64_t began)
{
        WorthPlace place = view->place;
        WorthSide *side = &worth->sides[place == WORTH_PARKED];
        bool others = place != WORTH_UNSURE && !cpuset_equal(&worth->in_use[place], view->allowed);

        if (worth->place == place && !others)
                return;
        worth->place = place;
        worth->settled_usec = began + SETTLE_USEC;
        worth_side_interrupt(&worth->sides[WORTH_ALL]);
        worth_side_interrupt(&worth->sides[WORTH_PARKED]);
        if (place == WORTH_UNSURE)
                return;
        worth->in_use[place] = *view->allowed;
        if (others || !is_fresh(side, began))
                *side = (WorthSide){ 0 };
}

/* Step 1. */
static void measure(Worth *worth, const WorthView *view)
{
        const Snapshot *snapshot = view->snapshot;
        uint64_t began = snapshot->time_usec - snapshot->interval_usec;
        double joules = packages_joules(snapshot), usec = (double)snapshot->interval_usec;
        WorthSide *side = &worth->sides[view->place == WORTH_PARKED];

        note_absence(worth, joules, snapshot->time_usec);
        enter(worth, view, began);
        if (joules <= 0 || began < worth->settled_usec || view->load < LEAST_WORK ||
            view->place == WORTH_UNSURE)
                worth_side_interrupt(side);
        else
                worth_side_add(side, &(WorthSample){ joules, usec, view->work * usec },
                               snapshot->time_usec);
}

/* Step 4. */
static void succeed(Worth *worth, uint64_t least_usec, uint64_t now)
{
        if (worth->check_usec < least_usec)
                worth->check_usec = least_usec;
        worth->misses = 0;
        worth->pause_usec = PAUSE_USEC;
        worth->again_usec = now + worth->check_usec;
        worth->check_usec = longer(worth->check_usec, LONGEST_USEC);
}

/* Step 5. */
static void fail(Worth *worth, uint64_t now)
{
        worth->misses++;
        worth->check_usec = CHECK_USEC;
        if (worth->misses < MISSES)
                return;
        worth->backoff_usec = now + worth->pause_usec;
        worth->pause_usec = longer(worth->pause_usec, LASTING_USEC);
}

/* Step 6. */
static void notice_other_load(Worth *worth, double load, uint64_t now)
{
        bool more = load > OTHER_FACTOR * worth->work, less = load < worth->work / OTHER_FACTOR;
        bool failed = worth->misses >= MISSES;

        if (worth->judged_usec == 0 || !(more || (less && !failed))) {
                worth->other_usec = 0;
                return;
        }
        if (worth->other_usec == 0)
                worth->other_usec = now;
        if (now - worth->other_usec < OTHER_USEC)
                return;
        if (failed) {
                worth->backoff_usec = 0;
        } else if (load >= LEAST_WORK) {
                if (worth->again_usec > worth->judged_usec + ANEW_USEC)
                        worth->again_usec = worth->judged_usec + ANEW_USEC;
        }
}

/* Of failures in a row that with the most work says most. */
static void note_work(Worth *worth, double work, uint64_t now)
{
        worth->work = worth->misses > 1 ? fmax(work, worth->work) : work;
        worth->judged_usec = now;
        worth->other_usec = 0;
}

/* Step 3, of two sides that are long enough. True if parking saved nothing. */
static bool judge(Worth *worth, uint64_t now)
{
        WorthMean all = worth_side_mean(&worth->sides[WORTH_ALL], window(worth));
        WorthMean parked = worth_side_mean(&worth->sides[WORTH_PARKED], window(worth));
        double ratio = parked.work / all.work, saved;
        double noise = 2 * sqrt(all.variance + parked.variance);
        bool failed;

        worth->comparing = false;
        if (ratio < LEAST_RATIO || ratio > MOST_RATIO) {
                forget(worth);
                if (worth->doublings == DOUBLINGS)
                        retry_later(worth, now);
                else
                        worth->doublings++;
                return false;
        }
        worth->watts[WORTH_ALL] = all.watts;
        worth->watts[WORTH_PARKED] = parked.watts;
        saved = (1 - SAVING) * worth->watts[WORTH_ALL] - worth->watts[WORTH_PARKED];
        if (worth->doublings == DOUBLINGS) {
                noise /= 2;
        } else if (fabs(saved) <= noise) {
                worth->doublings++;
                return false;
        }
        forget(worth);
        failed = saved <= -noise;
        worth->retry_usec = RETRY_USEC;
        if (fabs(saved) > 2 * noise && worth->doublings > 0)
                worth->doublings--;
        if (failed)
                fail(worth, now);
        else
                succeed(worth, fabs(saved) > noise ? CHECK_USEC : ANEW_USEC, now);
        note_work(worth, all.work, now);
        worth->benefit = (Benefit){
                .verdict = failed                ? BENEFIT_NOTHING
                           : fabs(saved) > noise ? BENEFIT_SAVES
                                                 : BENEFIT_UNCLEAR,
                .active_watts = all.watts,
                .parked_watts = parked.watts,
                .measured_usec = now,
        };
        return failed;
}

WorthAdvice worth_watch(Worth *worth, const WorthView *view)
{
        uint64_t now = view->snapshot->time_usec;
        const WorthSide *here = &worth->sides[view->place == WORTH_PARKED];
        const WorthSide *there = &worth->sides[view->place != WORTH_PARKED];

        if (now == worth->seen_usec || view->snapshot->interval_usec == 0)
                return WORTH_GO_ON;
        worth->seen_usec = now;
        measure(worth, view);
        notice_other_load(worth, view->load, now);
        if (worth->comparing && now - worth->compared_usec > COMPARE_USEC + window(worth))
                retry_later(worth, now);
        if (!is_pending(worth, now) || view->place == WORTH_UNSURE || !is_long_enough(worth, here))
                return WORTH_GO_ON;
        if (is_fresh(there, now) && is_long_enough(worth, there))
                return judge(worth, now) ? WORTH_UNPARK : WORTH_GO_ON;
        if (view->place == WORTH_PARKED) {
                worth->comparing = true;
                worth->compared_usec = now;
                return WORTH_COMPARE;
        }
        return WORTH_GO_ON;
}

bool worth_wants_energy(Worth *worth, const WorthView *view)
{
        uint64_t now = view->snapshot->time_usec;
        bool soon = view->parking_usec <= window(worth) + SETTLE_USEC;

        worth->wanted = is_pending(worth, now) && view->load >= LEAST_WORK &&
                        (view->place == WORTH_PARKED ||
                         (view->place == WORTH_ALL && (worth->comparing || soon)));
        return worth->wanted;
}

bool worth_forbids(const Worth *worth, uint64_t now_usec)
{
        return worth->comparing || now_usec < worth->backoff_usec;
}

uint64_t worth_backoff(const Worth *worth, uint64_t now_usec)
{
        return now_usec < worth->backoff_usec ? worth->backoff_usec - now_usec : 0;
}
