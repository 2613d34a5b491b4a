/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Several options changed at run time: all of them, or none.
 *
 * Only the configuration changes. As long as no policy decides in between, no value of a change
 * that fails has any effect.
 */
#ifndef IDLED_OPTION_CHANGES_H
#define IDLED_OPTION_CHANGES_H

#include "config/config.h"

/* An option and its value at run time; "": that of profile or files. */
typedef struct OptionValue {
        const char *section, *key, *value;
} OptionValue;

typedef struct OptionChanges {
        OptionValue *options; /* n of them, copies */
        size_t n;
        char **former; /* by option: the value set at run time before; "": none */
        bool *done;    /* by option: it is set */
} OptionChanges;

/* Copies of the options, of which none is set. */
OptionChanges *option_changes_new(const OptionValue *options, size_t n);
void option_changes_free(OptionChanges *changes);

/* Sets all options, in whatever order they fit in, because one may contradict another. Otherwise
 * none: the error is that of the first option that fits in no order, as of config_check_cpus() and
 * config_set(). */
int option_changes_make(OptionChanges *changes, Config *config, const CpuSet *possible,
                        char **ret_error);

/* Sets back what is set, as far as it fits. An error and its text as option_changes_make(). */
int option_changes_undo(OptionChanges *changes, Config *config, const CpuSet *possible,
                        char **ret_error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(OptionChanges, option_changes_free)

#endif
