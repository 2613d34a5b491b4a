/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Several options changed at run time, for a client's SetOptions and for trials.
 */
#include "config/option-changes.h"

OptionChanges *option_changes_new(const OptionValue *options, size_t n)
{
        OptionChanges *changes = g_new0(OptionChanges, 1);

        changes->n = n;
        changes->options = g_new0(OptionValue, n);
        changes->former = g_new0(char *, n);
        changes->done = g_new0(bool, n);
        for (size_t i = 0; i < n; i++)
                changes->options[i] = (OptionValue){ g_strdup(options[i].section),
                                                     g_strdup(options[i].key),
                                                     g_strdup(options[i].value) };
        return changes;
}

void option_changes_free(OptionChanges *changes)
{
        for (size_t i = 0; i < changes->n; i++) {
                g_free((char *)changes->options[i].section);
                g_free((char *)changes->options[i].key);
                g_free((char *)changes->options[i].value);
                g_free(changes->former[i]);
        }
        g_free(changes->options);
        g_free(changes->former);
        g_free(changes->done);
        g_free(changes);
}

/* Notes what the options are at run time now. */
static void note_former(OptionChanges *changes, const Config *config)
{
        for (size_t i = 0; i < changes->n; i++) {
                const OptionValue *option = &changes->options[i];
                const Section *section = config_section(config, option->section);
                const char *text = section ? g_hash_table_lookup(section->runtime, option->key)
                                           : NULL;

                g_free(changes->former[i]);
                changes->former[i] = g_strdup(text ? text : "");
        }
}

static int set_one(Config *config, const OptionValue *option, const char *value,
                   const CpuSet *possible, char **ret_error)
{
        int r = config_check_cpus(config, option->section, option->key, value, possible, ret_error);

        return r < 0 ? r : config_set(config, option->section, option->key, value, ret_error);
}

/* Sets what is not set yet, or with `back` sets back what is, until nothing more fits. Returns 0,
 * or the error of the first option that is left. */
static int change_all(OptionChanges *changes, bool back, Config *config, const CpuSet *possible,
                      char **ret_error)
{
        size_t left, before = SIZE_MAX;

        for (;;) {
                g_autofree char *first = NULL;
                int error = 0;

                left = 0;
                for (size_t i = 0; i < changes->n; i++) {
                        const OptionValue *option = &changes->options[i];
                        g_autofree char *text = NULL;
                        int r;

                        if (changes->done[i] != back)
                                continue;
                        r = set_one(config, option, back ? changes->former[i] : option->value,
                                    possible, &text);
                        if (r >= 0)
                                changes->done[i] = !back;
                        else if (left++ == 0) {
                                error = r;
                                first = g_steal_pointer(&text);
                        }
                }
                if (left == 0)
                        return 0;
                if (left == before) {
                        *ret_error = g_steal_pointer(&first);
                        return error;
                }
                before = left;
        }
}

int option_changes_make(OptionChanges *changes, Config *config, const CpuSet *possible,
                        char **ret_error)
{
        g_autofree char *never = NULL;
        int r;

        note_former(changes, config);
        r = change_all(changes, false, config, possible, ret_error);
        if (r < 0)
                change_all(changes, true, config, possible, &never);
        return r;
}

int option_changes_undo(OptionChanges *changes, Config *config, const CpuSet *possible,
                        char **ret_error)
{
        return change_all(changes, true, config, possible, ret_error);
}
