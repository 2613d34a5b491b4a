/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening actuators, and what became of them.
 *
 * Most failures are those of single knobs, which are reported with the knob. The others are
 * reported with the actuator.
 */
#include "manager/actuator-set.h"

#include "base/log.h"
#include "model/measured.h"

struct ActuatorSet {
        ActContext context;
        GArray *states; /* of ActuatorState */
};

static void state_clear(gpointer data)
{
        ActuatorState *a = data;

        if (a->state)
                a->actuator->close(a->state);
        g_free(a->why);
}

ActuatorSet *actuator_set_new(const ActContext *context)
{
        ActuatorSet *set = g_new0(ActuatorSet, 1);

        set->context = *context;
        set->states = g_array_new(FALSE, TRUE, sizeof(ActuatorState));
        g_array_set_clear_func(set->states, state_clear);
        return set;
}

void actuator_set_free(ActuatorSet *set)
{
        if (!set)
                return;
        g_array_unref(set->states);
        g_free(set);
}

void actuator_set_close(ActuatorSet *set)
{
        g_array_set_size(set->states, 0);
}

static void open_actuator(const ActuatorSet *set, const Config *config, ActuatorState *a)
{
        Section *section = config_section(config, a->actuator->section);

        g_clear_pointer(&a->why, g_free);
        a->error = a->actuator->open(&set->context, section->options, &a->state);
        if (a->error >= 0) {
                log_info("%s: %s", a->actuator->name, a->actuator->describe(a->state));
                return;
        }
        a->state = NULL;
        if (a->actuator->lacks)
                a->why = a->actuator->lacks(&set->context, section->options);
        if (!a->why)
                a->why = g_strdup(missing_reason(a->error));
}

void actuator_set_open(ActuatorSet *set, const Config *config)
{
        for (int i = 0; actuators[i]; i++) {
                ActuatorState a = { .actuator = actuators[i] };

                open_actuator(set, config, &a);
                if (a.error == ACTUATOR_OFF)
                        log_info("%s: Backend=none switches it off", a.actuator->name);
                else if (!a.state)
                        log_info("%s: not available here: %s", a.actuator->name, a.why);
                g_array_append_val(set->states, a);
        }
}

bool actuator_set_open_absent(ActuatorSet *set, const Config *config)
{
        bool any = false;

        for (guint i = 0; i < set->states->len; i++) {
                ActuatorState *a = &g_array_index(set->states, ActuatorState, i);

                if (a->state)
                        continue;
                open_actuator(set, config, a);
                any |= a->error >= 0;
        }
        return any;
}

void actuator_set_add(ActuatorSet *set, const Actuator *actuator, void *state)
{
        ActuatorState added = { .actuator = actuator, .state = state };

        g_array_append_val(set->states, added);
}

void actuator_set_note(ActuatorSet *set, const Actuator *actuator, int error, char *why)
{
        for (guint i = 0; i < set->states->len; i++) {
                ActuatorState *a = &g_array_index(set->states, ActuatorState, i);

                if (a->actuator != actuator)
                        continue;
                a->error = error;
                g_free(a->why);
                a->why = why;
        }
}

const ActuatorState *actuator_set_nth(const ActuatorSet *set, unsigned i)
{
        return i < set->states->len ? &g_array_index(set->states, ActuatorState, i) : NULL;
}

const ActuatorState *actuator_set_find(const ActuatorSet *set, const Actuator *actuator)
{
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(set, i)); i++)
                if (a->actuator == actuator)
                        return a;
        return NULL;
}

int actuator_set_error(const ActuatorSet *set)
{
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(set, i)); i++)
                if (a->state && a->error < 0)
                        return a->error;
        return 0;
}

int actuator_unreported_error(const ActuatorState *actuator, const Knobs *all)
{
        const Knob *const *knobs;
        int n = knobs_list(all, &knobs);

        for (int i = 0; i < n && actuator->state; i++)
                if (knob_is_of(knobs[i], actuator->actuator->kinds) &&
                    (knobs[i]->error == actuator->error ||
                     (knobs[i]->state == KNOB_FOREIGN && actuator->error == -ESTALE)))
                        return 0;
        return actuator->state && actuator->error != ACTUATOR_YIELDS ? actuator->error : 0;
}

CpuWish actuator_set_limits(const ActuatorSet *set, const ActFacts *facts, int cpu)
{
        CpuWish limits = { .latency_us = -1, .bias = -1, .boost = -1 };
        const ActuatorState *a;

        for (unsigned i = 0; (a = actuator_set_nth(set, i)); i++)
                if (a->state && a->actuator->report)
                        a->actuator->report(a->state, facts, cpu, &limits);
        return limits;
}

bool actuator_is_section(const char *section)
{
        for (int i = 0; actuators[i]; i++)
                if (g_str_equal(actuators[i]->section, section))
                        return true;
        return false;
}
