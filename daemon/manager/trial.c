/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A trial as data; manager-trial.c carries it out.
 */
#include "manager/trial.h"

#include <glib.h>

#include "base/log.h"

void trial_free(Trial *trial)
{
        for (size_t i = 0; i < trial->request.n_options; i++) {
                g_free((char *)trial->options[i].section);
                g_free((char *)trial->options[i].key);
                g_free((char *)trial->options[i].value);
                g_free(trial->former[i]);
        }
        for (size_t i = 0; i < trial->request.n_policies; i++)
                g_free((char *)trial->policies[i].name);
        g_free((char *)trial->request.owner);
        g_free((char *)trial->request.sender);
        g_free((char *)trial->request.reason);
        g_free(trial->policies);
        g_free(trial->options);
        g_free(trial->former);
        g_free(trial->done);
        g_free(trial);
}

Trial *trial_new(const TrialRequest *request)
{
        Trial *trial = g_new0(Trial, 1);
        size_t n = request->n_options;

        trial->policies = g_new0(TrialPolicy, request->n_policies);
        for (size_t i = 0; i < request->n_policies; i++)
                trial->policies[i] = (TrialPolicy){ g_strdup(request->policies[i].name),
                                                    request->policies[i].honoured };
        trial->options = g_new0(TrialOption, n);
        trial->former = g_new0(char *, n);
        trial->done = g_new0(bool, n);
        for (size_t i = 0; i < n; i++)
                trial->options[i] = (TrialOption){ g_strdup(request->options[i].section),
                                                   g_strdup(request->options[i].key),
                                                   g_strdup(request->options[i].value) };
        trial->request = (TrialRequest){
                .owner = log_clean(request->owner),
                .sender = g_strdup(request->sender),
                .reason = log_clean(request->reason),
                .policies = trial->policies,
                .n_policies = request->n_policies,
                .options = trial->options,
                .n_options = n,
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
                if (g_str_equal(trial->options[i].section, section) &&
                    g_str_equal(trial->options[i].key, key))
                        return true;
        return false;
}
