/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One state shallower for CPUs that are used: step 3.
 */
#include "cstates/cstates.h"

/* Lets `dwell` have `wanted` if that is what was wanted for long enough. */
static int dwell_step(Dwell *dwell, int wanted, uint64_t now_usec, uint64_t dwell_usec)
{
        if (wanted == dwell->value) {
                dwell->waiting = false;
                return dwell->value;
        }
        if (!dwell->waiting || wanted != dwell->wanted) {
                dwell->waiting = true;
                dwell->wanted = (int8_t)wanted;
                dwell->since_usec = now_usec;
        }
        if (now_usec - dwell->since_usec >= dwell_usec) {
                dwell->value = (int8_t)wanted;
                dwell->waiting = false;
        }
        return dwell->value;
}

/* The deepest state of those allowed whose target residency is within the mean sleep. */
static int state_that_fits(const Cpu *cpu, const IdleTable *table, double sleep_us)
{
        for (int i = cpu->limit; i > cpu->floor; i--)
                if (table->states[i].target_residency_us <= sleep_us)
                        return i;
        return cpu->floor;
}

/* Brings `cpu->use` up to date with the interval. An interval without sleeps, or without the
 * counters of idle states, leaves the state that the CPU would choose as it was. */
static void note_use(const Call *call, Cpu *cpu, int number, const IdleTable *table)
{
        const Snapshot *snapshot = call->input->snapshot;
        Use *use = &cpu->use;
        const Residency *row;
        double sleeps = 0;

        use->busy = snapshot->busy[number];
        use->loaded = use->loaded ? use->busy >= call->options->release
                                  : use->busy > call->options->threshold;
        if (!(snapshot->have & SENSE_RESIDENCY))
                return;
        row = &snapshot->residency[number];
        for (int i = 0; i < row->n_states && i < table->n_states; i++)
                sleeps += row->entered[i];
        if (sleeps <= 0)
                return;
        use->sleep_us = (float)((1 - use->busy) * (double)snapshot->interval_usec / sleeps);
        use->fits = (int8_t)state_that_fits(cpu, table, use->sleep_us);
}

/* The state to hold the CPU at: one before the one that it would choose, but never a polling one,
 * and not deeper than the limit of now. */
static int state_to_hold(const Cpu *cpu)
{
        int fits = cpu->use.fits < cpu->limit ? cpu->use.fits : cpu->limit;

        return fits - 1 > cpu->floor ? fits - 1 : cpu->floor;
}

int use_decide(Call *call, int number, const IdleTable *table)
{
        const Snapshot *snapshot = call->input->snapshot;
        uint64_t now = snapshot->time_usec, dwell_usec = call->options->dwell_usec;
        Cpu *cpu = &call->self->cpus[number];
        Use *use = &cpu->use;
        bool was_held = use->held.value;

        if (snapshot->interval_usec > 0 && cpuset_has(&snapshot->cpus, number))
                note_use(call, cpu, number, table);
        else
                call->settled = false;
        if (!dwell_step(&use->held, use->loaded, now, dwell_usec)) {
                call->settled &= !use->held.waiting;
                return -1;
        }
        if (!was_held)
                use->cap = (Dwell){ .value = (int8_t)state_to_hold(cpu) };
        dwell_step(&use->cap, state_to_hold(cpu), now, dwell_usec);
        call->settled &= !use->held.waiting && !use->cap.waiting;
        return use->cap.value;
}
