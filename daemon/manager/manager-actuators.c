/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The open actuators, and what they failed at.
 *
 * Most failures are those of single knobs, which are reported with the knob. The others are
 * reported with the actuator. If the machine does not have what was asked for, a word in the
 * configuration is the cause. Requests carry no names of options, so the option is found by a
 * search for that word.
 */
#include <errno.h>

#include "base/log.h"
#include "base/setting-value.h"
#include "manager/manager-parts.h"
#include "model/measured.h"

void manager_close_actuators(Manager *manager)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (a->state)
                        a->actuator->close(a->state);
        }
        g_array_set_size(manager->actuators, 0);
}

static void open_actuator(const Manager *manager, ActuatorState *a)
{
        ActContext context = { manager->setup.root, manager->setup.units, manager->setup.live };
        Section *section = config_section(manager->config, a->actuator->section);

        a->error = a->actuator->open(&context, section->options, &a->state);
        if (a->error < 0)
                a->state = NULL;
        else
                log_info("%s: %s", a->actuator->name, a->actuator->describe(a->state));
}

/* NULL: it does not say. */
static char *lack_of(const Manager *manager, const ActuatorState *a)
{
        ActContext context = { manager->setup.root, manager->setup.units, manager->setup.live };
        Section *section = config_section(manager->config, a->actuator->section);

        return a->actuator->lacks ? a->actuator->lacks(&context, section->options) : NULL;
}

char *manager_absence(const Manager *manager, const ActuatorState *a)
{
        char *lack = lack_of(manager, a);

        return lack ? lack : g_strdup(missing_reason(a->error));
}

void manager_open_actuators(Manager *manager)
{
        for (int i = 0; actuators[i]; i++) {
                ActuatorState a = { .actuator = actuators[i] };

                open_actuator(manager, &a);
                if (!a.state && a.error == ACTUATOR_OFF)
                        log_info("%s: Backend=none switches it off", a.actuator->name);
                else if (!a.state) {
                        g_autofree char *lack = lack_of(manager, &a);

                        log_info("%s: not available here: %s", a.actuator->name,
                                 lack ?: missing_reason(a.error));
                }
                g_array_append_val(manager->actuators, a);
        }
}

void manager_open_absent(Manager *manager)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (!a->state)
                        open_actuator(manager, a);
        }
}

/* Restores everything and opens the actuators with their current options. */
void manager_reopen_actuators(Manager *manager)
{
        manager_close_actuators(manager);
        knobs_restore(manager->knobs, manager_report_restored, NULL);
        manager_open_actuators(manager);
}

bool manager_is_actuator_section(const char *section)
{
        for (int i = 0; actuators[i]; i++)
                if (g_str_equal(actuators[i]->section, section))
                        return true;
        return false;
}

void manager_report_restored(const Knob *knob, const char *value, int error, void *userdata)
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

const ActuatorState *manager_actuator(const Manager *manager, const Actuator *actuator)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                const ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (a->actuator == actuator)
                        return a;
        }
        return NULL;
}

bool manager_can_park(const Manager *manager)
{
        const ActuatorState *a = manager_actuator(manager, &actuator_park);

        return a && a->state && !manager->setup.dry_run;
}

bool manager_follows_starts(const Manager *manager)
{
        return manager->setup.units && manager_can_park(manager) && manager->policies->len > 0;
}

int manager_apply_error(const Manager *manager)
{
        for (guint i = 0; i < manager->actuators->len; i++) {
                const ActuatorState *a = &g_array_index(manager->actuators, ActuatorState, i);

                if (a->state && a->error < 0)
                        return a->error;
        }
        return 0;
}

int manager_unreported_error(const Manager *manager, const ActuatorState *actuator)
{
        const Knob *const *knobs;
        int n = knobs_list(manager->knobs, &knobs);

        for (int i = 0; i < n && actuator->state; i++)
                if (knob_is_of(knobs[i], actuator->actuator->kinds) &&
                    (knobs[i]->error == actuator->error ||
                     (knobs[i]->state == KNOB_FOREIGN && actuator->error == -ESTALE)))
                        return 0;
        return actuator->state ? actuator->error : 0;
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

char *manager_failure(const Manager *manager, const ActuatorState *actuator)
{
        const ActFacts facts = machine_facts(&manager->machine);
        g_autofree char *offered = NULL, *option = NULL;
        const char *word;

        if (actuator->error == -EINVAL && actuator->actuator->refused)
                offered = actuator->actuator->refused(actuator->state, &manager->plan, &facts,
                                                      &word);
        if (!offered)
                return g_strdup_printf("the plan could not be applied completely: %s",
                                       g_strerror(-actuator->error));
        option = blame(manager, word);
        return g_strdup_printf("%sfound \"%s\", expected %s", option, word, offered);
}
