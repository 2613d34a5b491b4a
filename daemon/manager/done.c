/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acting: carries out the plan and handles the result.
 *
 * The parked CPUs are those that the plan leaves out and that a knob of ours keeps tasks off. A
 * knob that another program changed is taken over and stays so. With the last such knob the parking
 * is gone, whatever the plan says, and all clients get a signal. Where there is nothing to confine
 * there are no such knobs, and nothing is parked.
 *
 * If the machine does not have what was asked for, a word in the configuration is the cause.
 * Requests carry no names of options, so the option is found by a search for that word.
 *
 * Where the back end of parking writes to each cgroup, idled watches their directory by inotify
 * while a knob there is ours or was taken over: systemd reports its units, but other programs make
 * cgroups, too. A group is made before it is given CPUs, seldom alone, and useless until then, so
 * the plan is carried out again a second later. What was known about a group that had the name
 * before, or has it no longer, is forgotten at once: a program that took over the old group has no
 * claim on the new one.
 */
#include "manager/done.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>

#include "act/park/park.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sched-ext.h"
#include "base/setting-value.h"

/* Knobs are compared with what they should be at most this often, in ticks that come anyway. */
#define CHECK_USEC  (60 * G_USEC_PER_SEC)
#define SETTLE_USEC G_USEC_PER_SEC

struct Done {
        Ground *ground;
        Seen *seen;
        ActuatorSet *actuators;
        Knobs *knobs;
        Plan plan;             /* merged and safe */
        uint64_t checked_usec; /* when the knobs were last compared with what they should be */
        bool unconfined;       /* there was nothing to confine at the last parking */
        sd_event_source *groups, *groups_settle; /* cgroups that come and go */
};

/* The option of the section whose value is the word; NULL: none. */
static const Setting *option_with(const Section *section, const char *word)
{
        for (const Setting *row = section->rows; row->key; row++) {
                g_autofree char *value = NULL;

                if (row->type != SETTING_CHOICE && row->type != SETTING_STRING)
                        continue;
                value = setting_format(row, section->options);
                if (g_str_equal(value, word))
                        return row;
        }
        return NULL;
}

/* "FILE:LINE: IdleGovernor: ", or nothing if no option of an active policy has the word. */
static char *blame(const Done *done, const char *word)
{
        const Config *config = done->ground->config;

        for (guint i = 0; i < config->policies->len; i++) {
                const IdledPolicy *policy = g_ptr_array_index(config->policies, i);
                const Section *section = config_section(config, policy->name);
                const Setting *row = option_with(section, word);
                g_autofree char *where = NULL;
                Source source;

                if (!row)
                        continue;
                source = section_source(section, row->key);
                where = source_format(&source);
                return g_strdup_printf("%s: %s of %s: ", where, row->key, section->name);
        }
        return g_strdup("");
}

/* The error of the actuator's first knob that failed with it, with the knob's obstacle; else of the
 * file that it writes apart from knobs. */
static char *failed_by(const Done *done, const ActuatorState *a, int error)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(done->knobs, &knobs); i < n; i++)
                if (knobs[i]->error == error && knob_is_of(knobs[i], a->actuator->kinds))
                        return knob_failure(done->knobs, knobs[i]);
        return a->actuator->file ? g_strdup_printf("%s: %s", a->actuator->file, g_strerror(-error))
                                 : g_strdup(g_strerror(-error));
}

/* Why an actuator could not carry out the plan, as a new string; with the option to blame if it was
 * requested what this machine does not offer. */
static char *failure(const Done *done, const ActuatorState *a, int error)
{
        const ActFacts facts = machine_facts(seen_machine(done->seen), done->ground->unit_kinds);
        g_autofree char *offered = NULL, *option = NULL;
        const char *word;

        if (error == -EINVAL && a->actuator->refused)
                offered = a->actuator->refused(a->state, &done->plan, &facts, &word);
        if (!offered) {
                g_autofree char *why = failed_by(done, a, error);

                return g_strdup_printf("the plan could not be applied completely: %s", why);
        }
        option = blame(done, word);
        return g_strdup_printf("%sfound \"%s\", expected %s", option, word, offered);
}

static void reopen(Done *done)
{
        actuator_set_close(done->actuators);
        done_restore(done->knobs);
        actuator_set_open(done->actuators, done->ground->config);
}

static void log_failure(const Knobs *knobs, const Knob *knob)
{
        g_autofree char *why = knob_failure(knobs, knob);

        log_error("Failed to restore %s %s: %s", knob->kind->name, knob->name, why);
}

static void report_restored(const Knob *knob, const char *value, int error, void *userdata)
{
        if (error == -ESTALE)
                log_warning("%s %s is now \"%s\": another program has taken it over; idled leaves "
                            "it unchanged",
                            knob->kind->name, knob->name, value);
        else if (error == -ENOENT)
                log_debug("%s %s is gone", knob->kind->name, knob->name);
        else if (error < 0)
                log_failure(userdata, knob);
}

int done_restore(Knobs *knobs)
{
        int r = knobs_restore(knobs, report_restored, knobs);

        if (knobs_record_error(knobs) < 0)
                log_error_errno(knobs_record_error(knobs),
                                "Failed to write the record of changes: %m; it still lists knobs "
                                "that are restored");
        return r;
}

/* True if CPUs can be parked, whether or not that succeeds. */
static bool can_park(const Done *done)
{
        const ActuatorState *a = actuator_set_find(done->actuators, &actuator_park);

        return a && a->state && !done->ground->setup.dry_run;
}

bool done_follows_starts(const Done *done)
{
        return done->ground->setup.units && can_park(done) &&
               done->ground->config->policies->len > 0;
}

/* True if a knob of the actuator is ours, or was taken over. */
static bool has_knobs(const Done *done, const Actuator *actuator)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(done->knobs, &knobs); i < n; i++)
                if (knob_is_of(knobs[i], actuator->kinds) &&
                    !park_is_of_kinds(done->knobs, knobs[i]))
                        return true;
        return false;
}

/* The actuator that knows where, NULL if none does. */
static const ActuatorState *keeper(const Done *done)
{
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                if (a->state && a->actuator->groups && a->actuator->groups(a->state))
                        return a;
        return NULL;
}

static int on_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        Done *done = userdata;

        log_debug("Cgroups have changed: applying the plan again");
        ground_raise(done->ground, DUE_STALE | DUE_TICK_SOON);
        return 0;
}

static int on_group(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
        Done *done = userdata;
        const ActuatorState *a = keeper(done);

        if (!(event->mask & (IN_ISDIR | IN_Q_OVERFLOW)))
                return 0;
        if (a && event->len > 0)
                a->actuator->group_moved(a->state, done->knobs, event->name);
        if (sd_event_source_get_enabled(done->groups_settle, NULL) == 0)
                timer_set_in(done->groups_settle, SETTLE_USEC);
        return 0;
}

static void unwatch_groups(Done *done)
{
        done->groups = sd_event_source_disable_unref(done->groups);
        done->groups_settle = sd_event_source_disable_unref(done->groups_settle);
}

static int watch(Done *done, const char *path)
{
        _fd_ int fd = openat(done->ground->setup.root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int r;

        if (fd < 0)
                return -errno;
        r = timer_add(done->ground->event, &done->groups_settle, SETTLE_USEC / 2, on_settled, done);
        if (r >= 0)
                r = sd_event_add_inotify_fd(done->ground->event, &done->groups, fd,
                                            IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR, on_group,
                                            done);
        if (r < 0)
                unwatch_groups(done);
        return r;
}

void done_watch_groups(Done *done)
{
        const ActuatorState *a = keeper(done);
        bool wanted = a && has_knobs(done, a->actuator);
        int r;

        if (!wanted || !done->ground->attend)
                unwatch_groups(done);
        else if (!done->groups) {
                r = watch(done, a->actuator->groups(a->state));
                if (r < 0)
                        log_info("Failed to watch cgroups (%s): new ones are confined at the next "
                                 "check",
                                 g_strerror(-r));
        }
}

/* The error of parking; 0: none, or it is not available. */
static int park_error(const Done *done)
{
        return can_park(done) ? actuator_set_find(done->actuators, &actuator_park)->error : 0;
}

/* True if CPUs can be parked, and that did not fail. */
static bool is_parking(const Done *done)
{
        return can_park(done) && park_error(done) >= 0;
}

/* True if it will be tried. */
static bool will_park(const Done *done)
{
        g_autofree char *scheduler = park_error(done) == ACTUATOR_YIELDS
                                             ? sched_ext_loaded(done->ground->setup.root)
                                             : NULL;

        return can_park(done) && !scheduler;
}

/* True if what the actuator did for the plan `before` is what it would do now. */
static bool is_done(const Done *done, const ActuatorState *a, const Plan *before)
{
        return before && a->error >= 0 && a->actuator->same &&
               !(a->actuator->follows_park && park_error(done) < 0) &&
               a->actuator->same(before, &done->plan);
}

/* Forgets what was carried out, so that every knob is checked. */
static void forget(Done *done)
{
        CpuSet returned = seen_take_returned(done->seen);
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                if (a->state && a->actuator->forget)
                        a->actuator->forget(a->state, done->knobs, &returned);
}

/* Lets the actuator carry out the plan (`parks` as in ActFacts); a new error is logged, the
 * same one again is not. Returns CHANGE_CONFIG if it does it in another way now, else 0. */
static unsigned act_by(Done *done, const ActuatorState *a, bool parks)
{
        const Actuator *actuator = a->actuator;
        ActFacts facts = machine_facts(seen_machine(done->seen), done->ground->unit_kinds);
        g_autofree char *before = g_strdup(actuator->describe(a->state));
        const char *now;
        int r, known = a->error;

        facts.parks = parks;
        r = actuator->apply(a->state, done->knobs, &done->plan, &facts);
        now = actuator->describe(a->state);
        actuator_set_note(done->actuators, actuator, MIN(r, 0),
                          r < 0 && r != ACTUATOR_YIELDS ? failure(done, a, r) : NULL);
        if (r < 0 && r != known && r != ACTUATOR_YIELDS)
                log_error_errno(r, "%s: %s: %s", actuator->name, now, a->why);
        else if (r >= 0 && known < 0)
                log_info("%s: %s: in effect now", actuator->name, now);
        else if (!g_str_equal(now, before))
                log_info("%s: %s", actuator->name, now);
        return g_str_equal(now, before) ? 0 : CHANGE_CONFIG;
}

/* Those before parking that depend on what is parked. */
static unsigned follow_park(Done *done)
{
        unsigned changes = 0;
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++) {
                if (a->actuator == &actuator_park)
                        break;
                if (a->state && a->actuator->follows_park)
                        changes |= act_by(done, a, is_parking(done));
        }
        return changes;
}

/* Lets every actuator do that. What was done for the plan `before` is not done again unless the
 * plan is stale; NULL: all is. If the machine falls asleep meanwhile all is done once more, at the
 * next tick. Returns what of Change that makes. */
static unsigned act(Done *done, const Plan *before)
{
        unsigned changes = 0, writes = knobs_writes(done->knobs);
        bool park_wrote = false, tries;
        const ActuatorState *a;

        seen_note_sleep(done->seen);
        if (ground_take(done->ground, DUE_STALE))
                before = NULL;
        if (!before)
                forget(done);
        tries = will_park(done);
        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++) {
                if (!a->state ||
                    (is_done(done, a, before) && !(park_wrote && a->actuator->follows_park)))
                        continue;
                if (seen_note_sleep(done->seen)) {
                        before = NULL;
                        forget(done);
                        ground_raise(done->ground, DUE_TICK_SOON);
                }
                changes |= act_by(done, a, tries);
                if (a->actuator == &actuator_park)
                        park_wrote = knobs_writes(done->knobs) != writes || a->error < 0;
        }
        if (park_wrote)
                changes |= follow_park(done);
        done->checked_usec = manager_now();
        return changes;
}

/* The first knob of parking that is not in our hands; NULL: none. */
static const Knob *lost_knob(const Done *done)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(done->knobs, &knobs); i < n; i++)
                if (knobs[i]->state != KNOB_OURS && knob_is_of(knobs[i], actuator_park.kinds) &&
                    !park_is_of_kinds(done->knobs, knobs[i]))
                        return knobs[i];
        return NULL;
}

CpuSet done_planned(const Done *done)
{
        CpuSet planned = seen_topology(done->seen)->online;

        cpuset_subtract(&planned, &done->plan.allowed);
        return planned;
}

/* Those of them that are parked after acting. */
static CpuSet parked_now(const Done *done)
{
        CpuSet parked = done_planned(done), kept = knobs_kept_free(done->knobs);

        cpuset_and(&parked, &kept);
        return parked;
}

static bool lacks_parked(const Done *done)
{
        CpuSet planned = done_planned(done);

        return !cpuset_is_subset(&planned, seen_parked(done->seen));
}

/* True if nothing failed, and there is nothing to confine, as there always is for a partition. */
static bool is_unconfined(const Done *done)
{
        const ActuatorState *a = actuator_set_find(done->actuators, &actuator_park);

        return can_park(done) && a->actuator->follows_units(a->state) && a->error >= 0 &&
               lacks_parked(done) && !lost_knob(done);
}

/* True if CPUs should be parked and there is no way of parking, though it is not switched off, nor
 * left out by `auto` because it would harm. */
static bool lacks_way(const Done *done)
{
        const ManagerSetup *setup = &done->ground->setup;
        const ActContext context = { .resets_affinities = setup->resets_affinities };
        const ActuatorState *a = actuator_set_find(done->actuators, &actuator_park);

        return a && !a->state && a->error != ACTUATOR_OFF && !setup->dry_run &&
               !park_would_harm(&context, config_section(done->ground->config, "Park")->options) &&
               lacks_parked(done);
}

const char *done_unconfined(const Done *done)
{
        const ParkOptions *options = config_section(done->ground->config, "Park")->options;

        if (lacks_way(done))
                return actuator_set_find(done->actuators, &actuator_park)->why;
        if (!is_unconfined(done))
                return NULL;
        return park_restricts_units(options)
                       ? "no unit or cgroup that Units= and Exclude= of section [Park] "
                         "select can be confined"
                       : "no unit or cgroup can be confined";
}

/* Reads again what is in effect, and logs if there is nothing to confine. Returns CHANGE_PARKED if
 * it is not what it was, else 0. */
static unsigned note_parked(Done *done)
{
        const CpuSet parked = parked_now(done);
        bool changed = seen_set_parked(done->seen, &parked);
        const char *why = is_unconfined(done) ? done_unconfined(done) : NULL;

        if (why && !done->unconfined)
                log_warning("%s: %s", actuator_park.name, why);
        if (why || !cpuset_is_empty(&parked))
                done->unconfined = why;
        return changed ? CHANGE_PARKED : 0;
}

/* That parking is not there, or failed, or has nothing to confine. */
static char *actuator_obstacle(const Done *done)
{
        const ActuatorState *a = actuator_set_find(done->actuators, &actuator_park);

        if (is_unconfined(done))
                return g_strdup(done_unconfined(done));
        if (!a)
                return NULL;
        if (a->error == ACTUATOR_YIELDS)
                return g_strdup(a->actuator->describe(a->state));
        if (a->error >= 0)
                return g_strdup_printf("%s is not in effect", a->actuator->describe(a->state));
        if (a->error == ACTUATOR_OFF)
                return g_strdup("Backend=none of section [Park] switches parking off");
        if (!a->state)
                return g_strdup_printf("parking is not available here (%s)", a->why);
        return g_strdup_printf("%s: %s: %s", a->actuator->name, a->actuator->describe(a->state),
                               g_strerror(-a->error));
}

char *done_obstacle(const Done *done)
{
        const Knob *knob = lost_knob(done);
        g_autofree char *why = NULL;

        if (done->ground->setup.dry_run)
                return g_strdup("this is a dry run");
        if (!lacks_parked(done))
                return NULL;
        if (!knob)
                return actuator_obstacle(done);
        if (knob->state == KNOB_FOREIGN)
                return g_strdup_printf("another program has taken over %s %s", knob->kind->name,
                                       knob->name);
        why = knob_failure(done->knobs, knob);
        return g_strdup_printf("%s %s could not be changed: %s", knob->kind->name, knob->name, why);
}

static unsigned count_degraded(const Done *done)
{
        const Knob *const *knobs;
        int n = knobs_list(done->knobs, &knobs);
        const ActuatorState *a;
        unsigned degraded = 0;

        for (int i = 0; i < n; i++)
                degraded += knobs[i]->state != KNOB_OURS || knobs[i]->error < 0;
        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                degraded += actuator_unreported_error(a, done->knobs) < 0;
        return degraded + (done_unconfined(done) != NULL);
}

CpuWish done_limits(const Done *done, int cpu)
{
        const ActFacts facts = machine_facts(seen_machine(done->seen), done->ground->unit_kinds);

        if (done->ground->setup.dry_run || !cpuset_has(&seen_topology(done->seen)->online, cpu))
                return (CpuWish){ .latency_us = -1, .bias = -1, .boost = -1 };
        return actuator_set_limits(done->actuators, &facts, cpu);
}

/* After a failure that other drivers explain, what they offer is decided by at once. */
static void check_drivers(Done *done)
{
        bool odd = false;
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                odd |= a->state && a->actuator != &actuator_park &&
                       (a->error == -ENOENT || a->error == -EINVAL);
        if (odd)
                seen_recheck_facts(done->seen);
}

void done_carry_out(Done *done, const Plan *plan)
{
        unsigned degraded = count_degraded(done), changes = 0;
        Plan before = done->plan;

        if (!cpuset_equal(&plan->allowed, &before.allowed))
                changes |= CHANGE_PARKED;
        if (done->ground->due & DUE_STALE || !plan_equal_cpus(plan, &before))
                changes |= CHANGE_LIMITS;
        done->plan = *plan;
        changes |= act(done, &before);
        changes |= note_parked(done);
        if (degraded || count_degraded(done))
                changes |= CHANGE_DEGRADED;
        if (done->ground->unit_kinds->len > 0)
                changes |= CHANGE_OBSTACLES;
        check_drivers(done);
        done_watch_groups(done);
        watching_follow(seen_watching(done->seen), &done->plan.widest);
        ground_raise(done->ground, changes);
}

/* The values in effect for single CPUs, from knobs that another program changed. */
static unsigned apply_forgotten(Done *done)
{
        unsigned changes = 0;
        const ActuatorState *a;

        forget(done);
        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                if (a->state && a->actuator->forget)
                        changes |= act_by(done, a, is_parking(done));
        return changes;
}

void done_verify(Done *done)
{
        const Knob *const *knobs;
        unsigned degraded = count_degraded(done), changes = 0;

        if (seen_note_sleep(done->seen)) {
                ground_raise(done->ground, DUE_TICK_SOON); /* carries everything out again */
                return;
        }
        knobs_verify(done->knobs);
        if (count_degraded(done) != degraded)
                changes |= CHANGE_DEGRADED;
        for (int i = 0, n = knobs_list(done->knobs, &knobs); i < n && changes; i++)
                if (knobs[i]->state == KNOB_FOREIGN)
                        log_warning("Another program has taken over %s %s; idled leaves it alone",
                                    knobs[i]->kind->name, knobs[i]->name);
        if (changes)
                changes |= apply_forgotten(done);
        ground_raise(done->ground, changes | note_parked(done));
}

/* True if the plan leaves CPUs out and may be carried out, whether or not that succeeds. */
static bool wants_parking(const Done *done)
{
        CpuSet planned = done_planned(done);

        return can_park(done) && !cpuset_is_empty(&planned);
}

bool done_follows_units(const Done *done)
{
        const ActuatorState *a;

        if (!wants_parking(done))
                return false;
        for (unsigned i = 0; (a = actuator_set_nth(done->actuators, i)); i++)
                if (a->state && a->actuator->follows_units && a->actuator->follows_units(a->state))
                        return true;
        return false;
}

bool done_check_knobs(Done *done)
{
        unsigned degraded, changes;
        const Knob *const *knobs;

        if (manager_now() - done->checked_usec < CHECK_USEC)
                return false;
        done->checked_usec = manager_now();
        if (seen_recheck_facts(done->seen) ||
            (!wants_parking(done) && knobs_list(done->knobs, &knobs) == 0 &&
             actuator_set_error(done->actuators) >= 0))
                return false;
        done_verify(done);
        degraded = count_degraded(done);
        changes = act(done, NULL) | note_parked(done);
        if (count_degraded(done) != degraded)
                changes |= CHANGE_DEGRADED;
        ground_raise(done->ground, changes);
        return true;
}

uint64_t done_check_after(const Done *done)
{
        const Knob *const *knobs;
        int n = knobs_list(done->knobs, &knobs);
        bool changed = wants_parking(done); /* new cgroups must be confined */

        for (int i = 0; i < n && !changed; i++)
                changed = knobs[i]->state == KNOB_OURS;
        /* What stood in the way, such as a full /run, may be gone by then. */
        changed |= actuator_set_error(done->actuators) < 0;
        return changed && !done->ground->setup.dry_run ? CHECK_USEC : 0;
}

/* True if every option of the section is the same in both. */
static bool section_equal(const Section *a, const Section *b)
{
        return a->rows == b->rows && settings_equal(a->rows, a->options, b->options);
}

static bool actuators_differ(const Config *old, const Config *config)
{
        for (int i = 0; actuators[i]; i++)
                if (!section_equal(config_section(old, actuators[i]->section),
                                   config_section(config, actuators[i]->section)))
                        return true;
        return false;
}

void done_use_config(Done *done, const Config *old)
{
        if (!old)
                actuator_set_open(done->actuators, done->ground->config);
        else if (actuators_differ(old, done->ground->config))
                reopen(done);
}

void done_reopen(Done *done)
{
        if (ground_take(done->ground, DUE_REOPEN))
                reopen(done);
        if (ground_take(done->ground, DUE_OPEN) &&
            actuator_set_open_absent(done->actuators, done->ground->config))
                ground_raise(done->ground, CHANGE_MISSING | CHANGE_DEGRADED);
}

void done_forget_foreign(Done *done)
{
        if (!seen_note_sleep(done->seen))
                knobs_verify(done->knobs);
        if (knobs_forget_foreign(done->knobs) > 0)
                ground_raise(done->ground, CHANGE_DEGRADED);
}

void done_keep(Done *done, const Plan *plan)
{
        Plan kept = *plan;

        kept.allowed = done->plan.allowed;
        kept.resting = done->plan.resting;
        kept.quiet = done->plan.quiet;
        done->plan = kept;
}

const Plan *done_plan(const Done *done)
{
        return &done->plan;
}

const ActuatorSet *done_actuators(const Done *done)
{
        return done->actuators;
}

GArray *done_unit_limits(const Done *done)
{
        GArray *limits = g_array_new(FALSE, FALSE, sizeof(CpuSet));
        const Knob *const *knobs;
        CpuSet limit;

        for (int i = 0, n = knobs_list(done->knobs, &knobs); i < n; i++)
                if (knobs[i]->kind == &park_kinds_kind && knobs[i]->state == KNOB_OURS &&
                    cpuset_parse(knobs[i]->ours, &limit) >= 0)
                        g_array_append_val(limits, limit);
        return limits;
}

Knobs *done_knobs(const Done *done)
{
        return done->knobs;
}

Done *done_new(Ground *ground, Seen *seen, Knobs *knobs)
{
        const ManagerSetup *setup = &ground->setup;
        const ActContext context = { setup->root, setup->units, setup->live,
                                     setup->resets_affinities, setup->affinities };
        Done *done = g_new0(Done, 1);

        done->ground = ground;
        done->seen = seen;
        done->knobs = knobs;
        done->actuators = actuator_set_new(&context);
        plan_init(&done->plan, NULL, 0);
        done->plan.allowed = seen_topology(seen)->online;
        return done;
}

int done_free(Done *done)
{
        int r;

        if (!done)
                return 0;
        unwatch_groups(done);
        r = done_restore(done->knobs);
        actuator_set_free(done->actuators);
        knobs_free(done->knobs);
        g_free(done);
        return r;
}
