/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changing what is kept, within the budget of changes: steps 7 to 9.
 */
#include "ondemand/ondemand.h"

/* Changes in the minute that ends now. */
static unsigned recent_changes(const Call *call)
{
        const Ondemand *self = call->self;
        unsigned n = self->n_changes < CHANGES_MAX ? self->n_changes : CHANGES_MAX, recent = 0;

        for (unsigned i = 0; i < n; i++)
                recent += call->now_usec - self->changes_usec[i] < MINUTE;
        return recent;
}

bool change_has_reserve(const Call *call)
{
        return recent_changes(call) + 2 <= call->options->max_transitions;
}

void change_keep(Call *call, PackSize size, const Reason *reason)
{
        Ondemand *self = call->self;
        const Topology *topology = call->input->topology;
        CpuSet parked;

        pack_parked(&self->pack, topology, size, &parked);
        self->kept = size;
        self->n_kept = size_count(call, size);
        self->capacity = pack_capacity(&self->pack, topology, SMT_GAIN, size);
        self->dwelling = false;
        if (cpuset_equal(&parked, &self->parked))
                return;
        call->changed = true;
        self->parked = parked;
        self->reason = *reason;
        self->changes_usec[self->n_changes++ % CHANGES_MAX] = call->now_usec;
        if (self->n_changes == 2 * CHANGES_MAX)
                self->n_changes = CHANGES_MAX;
}

/* Parking was wrong if it did not last: be slower next time. */
static void learn_patience(Call *call)
{
        Ondemand *self = call->self;
        uint64_t took = call->options->dwell_usec * self->patience;
        uint64_t lasted = call->now_usec - self->parked_usec;

        if (!self->parked_last)
                return;
        if (lasted < 2 * took && self->patience < PATIENCE)
                self->patience *= 2;
        else if (lasted >= 4 * took)
                self->patience = 1;
        self->parked_last = false;
}

Reason reason_new(const Call *call, const char *because, PackSize size)
{
        return (Reason){
                .because = because,
                .inputs = {
                        { "filtered load", "CPUs", call->self->load },
                        { "wanted cores", "cores", size_count(call, size) },
                        { "running tasks", "tasks", call->input->snapshot->running },
                },
        };
}

void reason_threshold(Reason *reason, const char *option, double threshold, const char *unit)
{
        reason->option = option;
        reason->threshold = threshold;
        reason->threshold_unit = unit;
}

void reason_input(Reason *reason, const char *name, double value, const char *unit)
{
        reason->inputs[REASON_INPUTS - 1].name = name;
        reason->inputs[REASON_INPUTS - 1].unit = unit;
        reason->inputs[REASON_INPUTS - 1].value = value;
}

void change_grow(Call *call, PackSize size, Reason *reason)
{
        Ondemand *self = call->self;
        PackSize all = { self->pack.n_cores, self->pack.n_fast };

        size.cores = size.cores > self->kept.cores ? size.cores : self->kept.cores;
        size.fast = size.fast > self->kept.fast ? size.fast : self->kept.fast;
        if (!change_has_reserve(call)) {
                size = all;
                reason->because = "more cores are needed, and only one change is left in this "
                                  "minute: all cores";
                reason_threshold(reason, "MaxTransitions", (double)call->options->max_transitions,
                                 "per minute");
        }
        learn_patience(call);
        change_keep(call, size_resize(call, size, size_min(call)), reason);
}

void change_park(Call *call)
{
        Ondemand *self = call->self;
        const OndemandOptions *options = call->options;
        PackSize size = size_resize(call, self->peak, size_min(call));
        Reason reason;

        if (size_is_capped(call, self->peak)) {
                reason = reason_new(call, "more cores were active than MaxCores permits",
                                    self->peak);
                reason_threshold(&reason, "MaxCores", (double)options->max_cores, "cores");
        } else {
                reason = reason_new(call, "the load has fitted into fewer cores for long enough",
                                    size);
                reason_input(&reason, "utilisation", 100 * self->load / self->capacity, "%");
                reason_threshold(&reason, "DownThreshold", 100 * options->down, "%");
        }
        change_keep(call, size, &reason);
        self->parked_last = true;
        self->parked_usec = call->now_usec;
}
