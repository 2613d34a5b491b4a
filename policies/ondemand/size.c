/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many cores a load needs, and how that compares with the active ones: steps 3 and 4.
 */
#include <limits.h>

#include "ondemand/ondemand.h"

int size_min(const Call *call)
{
        int n = call->self->pack.n_cores;
        uint64_t least = call->options->min_cores;

        if (!call->options->park)
                return n;
        if (least < call->input->contract_cores)
                least = call->input->contract_cores;
        n = size_max(call);
        return least < (uint64_t)n ? (int)least : n;
}

int size_max(const Call *call)
{
        int n = call->self->pack.n_cores;
        uint64_t max = call->options->park ? call->options->max_cores : 0;

        return max > 0 && max < (uint64_t)n ? (int)max : n;
}

double size_target(const Call *call)
{
        return call->input->contract_cores > 0 ? call->options->up : call->options->target;
}

PackSize size_all(const Call *call)
{
        return (PackSize){ call->self->pack.n_cores, call->self->pack.n_fast };
}

int size_count(const Call *call, PackSize size)
{
        return pack_count(&call->self->pack, call->input->topology, size);
}

double size_capacity(const Call *call, PackSize size)
{
        return pack_capacity(&call->self->pack, call->input->topology, size);
}

/* `size` with `min` to `max` cores, and `max` if that is less. */
static PackSize resize(const Call *call, PackSize size, int min, int max)
{
        return pack_resize(&call->self->pack, call->input->topology, size, min < max ? min : max,
                           max);
}

PackSize size_resize(const Call *call, PackSize size, int least)
{
        return resize(call, size, least, size_max(call));
}

PackSize size_fitting(const Call *call, double work, int fast)
{
        return pack_fit(&call->self->pack, call->input->topology, work / size_target(call), fast);
}

/* True if only cores of Kinds are in it. */
static bool is_first(const Call *call, PackSize size)
{
        const Pack *pack = &call->self->pack;

        return pack->n_first > 0 && pack->n_first < pack->n_cores && size.cores <= pack->n_first &&
               size_count(call, size) == size.cores;
}

bool size_is_kept(const Call *call, PackSize size)
{
        return call->demand.fast > 0 && size.fast < call->demand.fast && is_first(call, size);
}

/* As size_wanted(), if so many CPUs are saturated and so many call for fast cores; `max` cores at
 * most. A task that nearly fills its CPU has no use for the other threads of the core. */
static PackSize wanted(const Call *call, Load load, int saturated, int fast, int max)
{
        int least = load.busiest > size_target(call) ? 2 : 1, min = size_min(call), rest;
        PackSize size;

        if (saturated > 0) {
                rest = size_fitting(call, call->demand.rest, 0).cores;
                least = saturated + (rest > 1 ? rest : 1);
        }
        least = least > min ? least : min;
        size = resize(call, size_fitting(call, load.work, 0), least, max);
        if (fast == 0 || is_first(call, size))
                return size;
        return resize(call, size_fitting(call, load.work, fast), least, max);
}

PackSize size_wanted(const Call *call, Load load)
{
        return wanted(call, load, call->demand.saturated, call->demand.fast, size_max(call));
}

PackSize size_if_full(const Call *call, Load load, int more)
{
        const Pack *pack = &call->self->pack;
        const Demand *demand = &call->demand;
        int fast = demand->fast > demand->full ? demand->fast : demand->full;

        fast = pack->slowest != pack->fast ? fast + more : 0;
        return wanted(call, load, demand->full + more, fast, size_max(call));
}

PackSize size_to_park(const Call *call, Load load, unsigned tasks, int max)
{
        const Pack *pack = &call->self->pack;
        const Demand *demand = &call->demand;
        uint64_t cpus = (uint64_t)pack->n_cpus;
        uint64_t least = (tasks * (uint64_t)pack->n_cores + cpus - 1) / cpus;
        PackSize size = wanted(call, load, demand->saturated, demand->fast, max);

        return resize(call, size, least < INT_MAX ? (int)least : INT_MAX, max);
}

bool size_is_capped(const Call *call, PackSize size)
{
        return size_count(call, size) > size_max(call);
}

bool size_is_larger(const Call *call, PackSize size)
{
        return size.fast > call->self->active.fast || size_count(call, size) > call->n_active;
}

bool size_is_smaller(const Call *call, PackSize size)
{
        return size.fast < call->self->active.fast || size_count(call, size) < call->n_active;
}

bool load_is_low(const Call *call, Load load)
{
        return load.work < call->options->down * call->capacity || call->n_active > size_max(call);
}

bool load_is_high(const Call *call, Load load)
{
        return load.work > call->options->up * call->capacity;
}
