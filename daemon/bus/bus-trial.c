/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Trials, on /org/idled1: what clients change while they compare two ways of running the machine.
 */
#include <errno.h>

#include "base/file.h"
#include "base/log.h"
#include "bus/bus-parts.h"

#define REASON_MAX  256
#define OPTIONS_MAX 64

/* Reads a{sb} into an array of TrialPolicy, whose strings belong to the message. */
static int read_policies(sd_bus_message *message, GArray *policies, sd_bus_error *error)
{
        const char *name;
        int honoured, r = sd_bus_message_enter_container(message, 'a', "{sb}");

        while (r >= 0 && (r = sd_bus_message_read(message, "{sb}", &name, &honoured)) > 0) {
                TrialPolicy policy = { name, honoured };

                g_array_append_val(policies, policy);
        }
        if (r >= 0 && policies->len > OPTIONS_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "policies: found %u, expected at most %d", policies->len,
                                         OPTIONS_MAX);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* 0, or the error for an option that is there twice: which value is meant is not known. */
static int check_once(const GArray *options, sd_bus_error *error)
{
        for (guint i = 0; i < options->len; i++)
                for (guint k = 0; k < i; k++) {
                        const OptionValue *a = &g_array_index(options, OptionValue, i);
                        const OptionValue *b = &g_array_index(options, OptionValue, k);
                        g_autofree char *section = NULL, *key = NULL;

                        if (!g_str_equal(a->section, b->section) || !g_str_equal(a->key, b->key))
                                continue;
                        section = log_clean(a->section);
                        key = log_clean(a->key);
                        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                                 "%s: found twice in section \"%s\", expected each "
                                                 "option once",
                                                 key, section);
                }
        return 0;
}

int bus_read_options(sd_bus_message *message, GArray *options, sd_bus_error *error)
{
        OptionValue option;
        int r = sd_bus_message_enter_container(message, 'a', "(sss)");

        while (r >= 0 && (r = sd_bus_message_read(message, "(sss)", &option.section, &option.key,
                                                  &option.value)) > 0)
                g_array_append_val(options, option);
        if (r >= 0 && options->len > OPTIONS_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "options: found %u, expected at most %d", options->len,
                                         OPTIONS_MAX);
        if (r >= 0)
                r = check_once(options, error);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int refuse(int r, const char *text, sd_bus_error *error)
{
        g_autofree char *clean = log_clean(text ? text : g_strerror(-r));

        return sd_bus_error_set(error,
                                r == -EBUSY        ? BUS_ERROR_TRIAL_RUNS
                                : r == -EOPNOTSUPP ? BUS_ERROR_NO_SUCH_POLICY
                                : r == -ENOENT     ? BUS_ERROR_NO_SUCH_OPTION
                                                   : BUS_ERROR_INVALID_VALUE,
                                clean);
}

static int do_start_trial(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        g_autoptr(GArray) options = g_array_new(FALSE, FALSE, sizeof(OptionValue));
        g_autoptr(GArray) policies = g_array_new(FALSE, FALSE, sizeof(TrialPolicy));
        const char *name = sd_bus_message_get_sender(message), *reason = "";
        g_autofree char *owner = NULL, *text = NULL;
        _fd_ int fd = -1;
        Sender sender;
        int r = read_policies(message, policies, error);

        if (r >= 0)
                r = bus_read_options(message, options, error);
        if (r >= 0)
                r = sd_bus_message_read(message, "s", &reason);
        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r < 0)
                return r;
        if (strlen(reason) > REASON_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "reason: found %zu bytes, expected at most %d",
                                         strlen(reason), REASON_MAX);
        owner = g_strdup_printf("user %u (%s)", (unsigned)sender.uid, name);
        r = manager_start_trial(bus->manager, trial_new(owner, name, reason, policies, options),
                                &fd, &text);
        return r < 0 ? refuse(r, text, error) : sd_bus_reply_method_return(message, "h", fd);
}

BUS_AUTHORIZED(bus_method_start_trial, "org.idled1.set-option", do_start_trial);

static int append_policies(sd_bus_message *reply, const Trial *trial)
{
        int r = bus_open_key(reply, "policies", "a{sb}");

        for (guint i = 0; r >= 0 && i < trial->policies->len; i++) {
                const TrialPolicy *policy = &g_array_index(trial->policies, TrialPolicy, i);

                r = sd_bus_message_append(reply, "{sb}", policy->name, policy->honoured);
        }
        return bus_close_key(reply, r);
}

static int append_options(sd_bus_message *reply, const OptionChanges *changes)
{
        int r = bus_open_key(reply, "options", "a(sss)");

        for (size_t i = 0; r >= 0 && i < changes->n; i++)
                r = sd_bus_message_append(reply, "(sss)", changes->options[i].section,
                                          changes->options[i].key, changes->options[i].value);
        return bus_close_key(reply, r);
}

int bus_append_trial(sd_bus_message *message, const Manager *manager)
{
        const Trial *trial = manager_trial(manager);
        int r = sd_bus_message_open_container(message, 'a', "{sv}");

        if (r >= 0 && trial)
                r = sd_bus_message_append(message, "{sv}{sv}", "owner", "s", trial->owner, "reason",
                                          "s", trial->reason);
        if (r >= 0 && trial)
                r = append_policies(message, trial);
        if (r >= 0 && trial)
                r = append_options(message, trial->changes);
        return r < 0 ? r : sd_bus_message_close_container(message);
}
