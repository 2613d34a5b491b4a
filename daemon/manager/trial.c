/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trial as data; asked.c carries it out.
 */
#include "manager/trial.h"

#include <glib.h>

#include "base/log.h"

void trial_free(Trial *trial)
{
        sd_event_source_disable_unref(trial->source);
        for (size_t i = 0; i < trial->request.n_policies; i++)
                g_free((char *)trial->policies[i].name);
        g_free((char *)trial->request.owner);
        g_free((char *)trial->request.sender);
        g_free((char *)trial->request.reason);
        g_free(trial->policies);
        option_changes_free(trial->changes);
        g_free(trial);
}

Trial *trial_new(const TrialRequest *request)
{
        Trial *trial = g_new0(Trial, 1);

        trial->policies = g_new0(TrialPolicy, request->n_policies);
        for (size_t i = 0; i < request->n_policies; i++)
                trial->policies[i] = (TrialPolicy){ g_strdup(request->policies[i].name),
                                                    request->policies[i].honoured };
        trial->changes = option_changes_new(request->options, request->n_options);
        trial->request = (TrialRequest){
                .owner = log_clean(request->owner),
                .sender = g_strdup(request->sender),
                .reason = log_clean(request->reason),
                .policies = trial->policies,
                .n_policies = request->n_policies,
                .options = trial->changes->options,
                .n_options = request->n_options,
        };
        return trial;
}

int trial_honours(const Trial *trial, const char *policy)
{
        for (size_t i = 0; trial && i < trial->request.n_policies; i++)
                if (g_str_equal(trial->policies[i].name, policy))
                        return trial->policies[i].honoured;
        return -1;
}

bool trial_sets(const Trial *trial, const char *section, const char *key)
{
        for (size_t i = 0; trial && i < trial->request.n_options; i++)
                if (g_str_equal(trial->request.options[i].section, section) &&
                    g_str_equal(trial->request.options[i].key, key))
                        return true;
        return false;
}
