/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked by clients and rules: holds, pauses, the profile, trials.
 *
 * An option that a trial sets is a value set at run time, which the trial remembers how to undo. A
 * reload, and a client that sets the same option, end the trial first: otherwise the trial would
 * later undo the other client's value.
 *
 * When application rules change, the holds of the new ones are made before those of the old ones
 * go, so that nothing is restored in between. Processes are those of the running system; a
 * described machine has none.
 */
#include "manager/asked.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/nearest.h"
#include "config/app.h"
#include "manager/actuator-set.h"

struct Asked {
        Ground *ground;
        const Seen *seen;
        Holds *holds;
        Contracts *contracts;
        Pauses *pauses;
        ActiveProfile profile;
        Apps *apps;   /* NULL: there are no rules */
        Trial *trial; /* NULL: none */
};

/* Clients switch as often as they like. */
static LogLimit trial_log;

static void free_name(gpointer policy)
{
        g_free((char *)((TrialPolicy *)policy)->name);
}

Trial *trial_new(const char *owner, const char *sender, const char *reason, const GArray *policies,
                 const GArray *options)
{
        Trial *trial = g_new0(Trial, 1);

        trial->owner = log_clean(owner);
        trial->sender = g_strdup(sender);
        trial->reason = log_clean(reason);
        trial->changes = option_changes_new((const OptionValue *)options->data, options->len);
        trial->policies = g_array_copy((GArray *)policies);
        g_array_set_clear_func(trial->policies, free_name);
        for (guint i = 0; i < policies->len; i++) {
                TrialPolicy *policy = &g_array_index(trial->policies, TrialPolicy, i);

                policy->name = g_strdup(policy->name);
        }
        return trial;
}

void trial_free(Trial *trial)
{
        sd_event_source_disable_unref(trial->source);
        g_array_unref(trial->policies);
        option_changes_free(trial->changes);
        g_free(trial->owner);
        g_free(trial->sender);
        g_free(trial->reason);
        g_free(trial);
}

int trial_honours(const Trial *trial, const char *policy)
{
        for (guint i = 0; trial && i < trial->policies->len; i++) {
                const TrialPolicy *named = &g_array_index(trial->policies, TrialPolicy, i);

                if (g_str_equal(named->name, policy))
                        return named->honoured;
        }
        return -1;
}

bool trial_sets(const Trial *trial, const char *section, const char *key)
{
        for (size_t i = 0; trial && i < trial->changes->n; i++)
                if (g_str_equal(trial->changes->options[i].section, section) &&
                    g_str_equal(trial->changes->options[i].key, key))
                        return true;
        return false;
}

/* Options that were changed or set back; NULL: none stayed so. An actuator takes them only when it
 * is opened. */
void asked_use_options(Asked *asked, const OptionChanges *changes)
{
        unsigned due = DUE_DROP(DROP_CONFIG) | DUE_STALE;

        for (size_t i = 0; changes && i < changes->n; i++)
                if (actuator_is_section(changes->options[i].section))
                        due |= DUE_REOPEN;
        active_profile_retry(&asked->profile);
        ground_raise(asked->ground, due);
}

/* Takes back what the trial changed, and frees it. */
static void take_back(Asked *asked)
{
        Trial *trial = g_steal_pointer(&asked->trial);
        g_autofree char *text = NULL;

        if (option_changes_undo(trial->changes, asked->ground->config,
                                &seen_topology(asked->seen)->possible, &text) < 0)
                log_warning("An option of a trial could not be set back: %s", text);
        asked_use_options(asked, trial->changes);
        trial_free(trial);
}

void asked_end_trial(Asked *asked)
{
        if (!asked->trial)
                return;
        log_limited(&trial_log, "Trial by %s is over: %s", asked->trial->owner,
                    asked->trial->reason);
        take_back(asked);
        ground_raise(asked->ground, CHANGE_TRIAL | CHANGE_CONFIG | DUE_TICK_SOON);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        asked_end_trial(userdata);
        return 0;
}

/* -EOPNOTSUPP if one of the policies is not active. */
static int check_policies(const Config *config, const Trial *trial, char **ret_error)
{
        g_autofree const char **active = g_new0(const char *, config->policies->len + 1);

        for (guint i = 0; i < config->policies->len; i++)
                active[i] = ((const IdledPolicy *)g_ptr_array_index(config->policies, i))->name;
        for (guint i = 0; i < trial->policies->len; i++) {
                const char *name = g_array_index(trial->policies, TrialPolicy, i).name;
                g_autofree char *clean = log_clean(name), *hint = NULL;

                if (g_strv_contains(active, name))
                        continue;
                hint = text_suggest(word_nearest(name, active));
                *ret_error = g_strdup_printf("found policy \"%s\", expected one of Policies= in "
                                             "idled.conf%s",
                                             clean, hint);
                return -EOPNOTSUPP;
        }
        return 0;
}

/* Puts the trial into effect; an error leaves nothing of it. */
static int begin(Asked *asked, Trial *trial, int *ret_fd, char **ret_error)
{
        const CpuSet *possible = &seen_topology(asked->seen)->possible;
        Config *config = asked->ground->config;
        g_autofree char *never = NULL;
        int r = check_policies(config, trial, ret_error);

        if (r < 0)
                return r;
        r = option_changes_make(trial->changes, config, possible, ret_error);
        if (r < 0)
                return r;
        r = hangup_watch(asked->ground->event, &trial->source, on_hangup, asked, ret_fd);
        if (r < 0)
                option_changes_undo(trial->changes, config, possible, &never);
        return r;
}

int asked_start_trial(Asked *asked, Trial *trial, int *ret_fd, char **ret_error)
{
        const Trial *old = asked->trial;
        int r;

        if (old && !g_str_equal(old->sender, trial->sender)) {
                *ret_error = g_strdup_printf("a trial by %s runs already: %s", old->owner,
                                             old->reason);
                trial_free(trial);
                return -EBUSY;
        }
        if (old)
                take_back(asked);
        else
                log_limited(&trial_log, "Trial by %s: %s", trial->owner, trial->reason);
        r = begin(asked, trial, ret_fd, ret_error);
        asked_use_options(asked, r >= 0 ? trial->changes : NULL);
        if (r >= 0)
                asked->trial = trial;
        else
                trial_free(trial);
        ground_raise(asked->ground, CHANGE_TRIAL | CHANGE_CONFIG | DUE_TICK);
        return MIN(r, 0);
}

void asked_forget_senders(Asked *asked)
{
        holds_forget_senders(asked->holds);
        if (!asked->trial)
                return;
        g_free(asked->trial->sender);
        asked->trial->sender = g_strdup("");
}

static ProfileScene scene_of(const Asked *asked, Config *config)
{
        return (ProfileScene){ config, asked->holds, seen_snapshot(asked->seen)->on_battery };
}

/* Raises what the call changed. True if options did. */
static bool report(Asked *asked, unsigned changed)
{
        ground_raise(asked->ground, (changed & PROFILE_CHANGED_TEXT ? CHANGE_PROFILE : 0) |
                                            (changed & PROFILE_CHANGED_OPTIONS
                                                     ? CHANGE_CONFIG | DUE_DROP(DROP_CONFIG)
                                                     : 0));
        return changed & PROFILE_CHANGED_OPTIONS;
}

bool asked_follow_profile(Asked *asked)
{
        const ProfileScene scene = scene_of(asked, asked->ground->config);

        return report(asked, active_profile_follow(&asked->profile, &scene));
}

void asked_adopt_profile(Asked *asked, Config *config)
{
        const ProfileScene scene = scene_of(asked, config);

        active_profile_adopt(&asked->profile, &scene);
}

int asked_choose_profile(Asked *asked, const char *name, char **ret_error)
{
        const ProfileScene scene = scene_of(asked, asked->ground->config);
        int r = active_profile_choose(&asked->profile, &scene, name, ret_error);

        if (r >= 0)
                report(asked, (unsigned)r);
        return MIN(r, 0);
}

void asked_use_apps(Asked *asked)
{
        Apps *old = asked->apps;
        int error = apps_error(old);

        if (!asked->ground->setup.live)
                return;
        asked->apps = apps_new(asked->ground->event, asked->ground->setup.root, asked->holds,
                               asked->ground->config->apps);
        apps_free(old);
        /* The listener may need unit events from now on. */
        ground_raise(asked->ground,
                     CHANGE_CONFIG | (apps_error(asked->apps) != error ? CHANGE_MISSING : 0));
}

bool asked_apps_need_units(const Asked *asked)
{
        const GPtrArray *rules = asked->ground->config->apps;

        for (guint i = 0; asked->apps && i < rules->len; i++)
                if (app_needs(g_ptr_array_index(rules, i)) & PROCESS_FACT_CGROUPS)
                        return true;
        return false;
}

/* Holds follow their processes when CPUs are parked, which is no reason to drop a block. */
static void on_holds(bool moved, void *userdata)
{
        Asked *asked = userdata;

        ground_raise(asked->ground,
                     DUE_HOLDS | (moved ? CHANGE_HOLD_CPUS : CHANGE_HOLDS | DUE_DROP(DROP_HOLD)));
}

bool asked_follow_holds(Asked *asked)
{
        if (!holds_follow(asked->holds, &seen_topology(asked->seen)->online, manager_now()))
                return false;
        ground_raise(asked->ground, CHANGE_HOLD_CPUS);
        return true;
}

void asked_follow_kinds(Asked *asked)
{
        g_autoptr(GPtrArray) now = unit_kinds_new();

        if (!pauses_any(asked->pauses))
                holds_list_kinds(asked->holds, now);
        if (unit_kinds_equal(now, asked->ground->unit_kinds))
                return;
        g_ptr_array_unref(asked->ground->unit_kinds);
        asked->ground->unit_kinds = g_steal_pointer(&now);
        ground_raise(asked->ground, DUE_STALE);
}

bool asked_for_frequency(const Asked *asked)
{
        const Hold *holds;
        unsigned n = holds_list(asked->holds, &holds);

        for (unsigned i = 0; i < n; i++)
                if (holds[i].min_khz > 0)
                        return true;
        return false;
}

Holds *asked_holds(const Asked *asked)
{
        return asked->holds;
}

Contracts *asked_contracts(const Asked *asked)
{
        return asked->contracts;
}

Pauses *asked_pauses(const Asked *asked)
{
        return asked->pauses;
}

Apps *asked_apps(const Asked *asked)
{
        return asked->apps;
}

const ActiveProfile *asked_profile(const Asked *asked)
{
        return &asked->profile;
}

const Trial *asked_trial(const Asked *asked)
{
        return asked->trial;
}

Asked *asked_new(Ground *ground, const Seen *seen)
{
        const ManagerSetup *setup = &ground->setup;
        Asked *asked = g_new0(Asked, 1);

        asked->ground = ground;
        asked->seen = seen;
        asked->pauses = pauses_new(ground);
        asked->holds = holds_new(ground->event, setup->root, &seen_topology(seen)->online,
                                 HOLDS_FOLLOW_USEC, on_holds, asked);
        asked->contracts = contracts_new(
                openat(setup->root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
                seen_topology(seen)->n_cpus);
        active_profile_init(&asked->profile, setup->state, !setup->dry_run);
        return asked;
}

void asked_free(Asked *asked)
{
        if (!asked)
                return;
        if (asked->trial)
                trial_free(asked->trial);
        apps_free(asked->apps);
        holds_free(asked->holds);
        contracts_free(asked->contracts);
        active_profile_done(&asked->profile);
        pauses_free(asked->pauses);
        g_free(asked);
}
