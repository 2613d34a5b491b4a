/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the manager does with its actuators: restores and opens them again, and explains failures.
 *
 * If the machine does not have what was asked for, a word in the configuration is the cause.
 * Requests carry no names of options, so the option is found by a search for that word.
 */
#include <errno.h>

#include "base/log.h"
#include "base/setting-value.h"
#include "manager/manager-parts.h"

void manager_reopen_actuators(Manager *manager)
{
        actuator_set_close(manager->actuators);
        manager_restore(manager->knobs);
        actuator_set_open(manager->actuators, manager->config);
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
                log_error_errno(error, "Failed to restore %s %s: %m", knob->kind->name, knob->name);
}

int manager_restore(Knobs *knobs)
{
        int r = knobs_restore(knobs, report_restored, NULL);

        if (knobs_record_error(knobs) < 0)
                log_error_errno(knobs_record_error(knobs),
                                "Failed to write the record of changes: %m; it still lists knobs "
                                "that are restored");
        return r;
}

bool manager_can_park(const Manager *manager)
{
        const ActuatorState *a = actuator_set_find(manager->actuators, &actuator_park);

        return a && a->state && !manager->setup.dry_run;
}

bool manager_follows_starts(const Manager *manager)
{
        return manager->setup.units && manager_can_park(manager) && manager->policies->len > 0;
}

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
static char *blame(const Manager *manager, const char *word)
{
        for (guint i = 0; i < manager->policies->len; i++) {
                const Section *section = g_array_index(manager->policies, ActivePolicy, i).section;
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

/* The error of the actuator's first knob that failed with it, with the knob's obstacle. */
static char *failed_by(const Manager *manager, const ActuatorState *a, int error)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(manager->knobs, &knobs); i < n; i++)
                if (knobs[i]->error == error && knob_is_of(knobs[i], a->actuator->kinds))
                        return knob_failure(manager->knobs, knobs[i]);
        return g_strdup(g_strerror(-error));
}

char *manager_failure(const Manager *manager, const ActuatorState *a, int error)
{
        const ActFacts facts = machine_facts(&manager->machine);
        g_autofree char *offered = NULL, *option = NULL;
        const char *word;

        if (error == -EINVAL && a->actuator->refused)
                offered = a->actuator->refused(a->state, &manager->plan, &facts, &word);
        if (!offered) {
                g_autofree char *why = failed_by(manager, a, error);

                return g_strdup_printf("the plan could not be applied completely: %s", why);
        }
        option = blame(manager, word);
        return g_strdup_printf("%sfound \"%s\", expected %s", option, word, offered);
}
