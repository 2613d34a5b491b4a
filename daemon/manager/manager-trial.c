/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trials.
 *
 * An option that a trial sets is a value set at run time, which the trial remembers how to undo. A
 * reload, and a client that sets the same option, end the trial first: otherwise the trial would
 * later undo the other client's value.
 */
#include "manager/manager-trial.h"

#include <errno.h>
#include <fcntl.h>

#include "base/log.h"
#include "base/nearest.h"
#include "manager/manager-parts.h"

/* Clients switch as often as they like. */
static LogLimit trial_log;

/* What a trial's data is. */
typedef struct Running {
        Manager *manager;
        sd_event_source *source; /* the client's descriptor */
} Running;

static Manager *manager_of(const Trial *trial)
{
        return ((const Running *)trial->data)->manager;
}

/* Closes this end of the descriptor. */
static void drop(Trial *trial)
{
        Running *running = trial->data;

        sd_event_source_disable_unref(running->source);
        g_free(running);
        trial_free(trial);
}

/* Takes back what the trial changed, and frees it. */
static void take_back(Trial *trial)
{
        Manager *manager = manager_of(trial);
        g_autofree char *text = NULL;

        manager->trial = NULL;
        if (option_changes_undo(trial->changes, manager->config,
                                &manager->machine.topology->possible, &text) < 0)
                log_warning("An option of a trial could not be set back: %s", text);
        manager_use_options(manager, trial->changes);
        drop(trial);
}

/* The manager ticks soon. */
static void end(Trial *trial, bool restore)
{
        Manager *manager = manager_of(trial);

        if (!restore) {
                manager->trial = NULL;
                drop(trial);
                return;
        }
        log_limited(&trial_log, "Trial by %s is over: %s", trial->request.owner,
                    trial->request.reason);
        take_back(trial);
        manager_wake(manager);
        manager_changed(manager, CHANGE_TRIAL | CHANGE_CONFIG);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        end(userdata, true);
        return 0;
}

/* -EOPNOTSUPP if one of the policies is not active. */
static int check_policies(const Manager *manager, const TrialRequest *request, char **ret_error)
{
        g_autofree const char **active = g_new0(const char *, manager->policies->len + 1);

        for (guint i = 0; i < manager->policies->len; i++)
                active[i] = g_array_index(manager->policies, ActivePolicy, i).policy->name;
        for (size_t i = 0; i < request->n_policies; i++) {
                const char *name = request->policies[i].name;
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

/* Makes the pipe whose reading end the trial watches. */
static int open_descriptor(Trial *trial, int *ret_fd)
{
        Running *running = trial->data;
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(running->manager->event, &running->source, ends[0], 0, on_hangup,
                            trial);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                return r;
        }
        sd_event_source_set_io_fd_own(running->source, true);
        *ret_fd = ends[1];
        return 0;
}

/* Puts the trial into effect; an error leaves nothing of it. */
static int begin(Trial *trial, int *ret_fd, char **ret_error)
{
        Manager *manager = manager_of(trial);
        const CpuSet *possible = &manager->machine.topology->possible;
        g_autofree char *never = NULL;
        int r = check_policies(manager, &trial->request, ret_error);

        if (r < 0)
                return r;
        r = option_changes_make(trial->changes, manager->config, possible, ret_error);
        if (r < 0)
                return r;
        r = open_descriptor(trial, ret_fd);
        if (r < 0)
                option_changes_undo(trial->changes, manager->config, possible, &never);
        return r;
}

int manager_trial_start(Manager *manager, const TrialRequest *request, int *ret_fd,
                        char **ret_error)
{
        Trial *trial;
        int r;

        if (manager->trial && !g_str_equal(manager->trial->request.sender, request->sender)) {
                *ret_error = g_strdup_printf("a trial by %s runs already: %s",
                                             manager->trial->request.owner,
                                             manager->trial->request.reason);
                return -EBUSY;
        }
        if (!manager->trial)
                log_limited(&trial_log, "Trial by %s: %s", request->owner, request->reason);
        else
                take_back(manager->trial);
        trial = trial_new(request);
        trial->data = g_new0(Running, 1);
        *(Running *)trial->data = (Running){ .manager = manager };
        trial->end = end;
        r = begin(trial, ret_fd, ret_error);
        if (r >= 0)
                manager->trial = trial;
        manager_use_options(manager, r >= 0 ? trial->changes : NULL);
        manager_changed(manager, CHANGE_TRIAL | CHANGE_CONFIG);
        manager_tick(manager);
        if (r < 0)
                drop(trial);
        return MIN(r, 0);
}

void manager_trial_forget_sender(Manager *manager)
{
        if (!manager->trial)
                return;
        g_free((char *)manager->trial->request.sender);
        manager->trial->request.sender = g_strdup("");
}
