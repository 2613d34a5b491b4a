/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How many cores a load wants, and how that compares with what is kept: steps 3 and 4.
 */
#include "ondemand/ondemand.h"

int size_min(const Call *call)
{
        int n = call->self->pack.n_cores;

        return call->options->park && call->options->min_cores < (uint64_t)n
                       ? (int)call->options->min_cores
                       : n;
}

int size_max(const Call *call)
{
        int n = call->self->pack.n_cores;
        uint64_t max = call->options->max_cores;

        return max > 0 && max < (uint64_t)n ? (int)max : n;
}

PackSize size_all(const Call *call)
{
        return (PackSize){ call->self->pack.n_cores, call->self->pack.n_fast };
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

int size_count(const Call *call, PackSize size)
{
        return pack_count(&call->self->pack, call->input->topology, size);
}

double size_capacity(const Call *call, PackSize size)
{
        return pack_capacity(&call->self->pack, call->input->topology, size);
}

PackSize size_fitting(const Call *call, double load, int fast)
{
        return pack_fit(&call->self->pack, call->input->topology, load / call->options->target,
                        fast);
}

PackSize size_wanted(const Call *call, const Demand *demand, double load, int max)
{
        int least = size_min(call), rest;

        if (demand->saturated > 0) {
                rest = size_fitting(call, demand->rest, 0).cores;
                rest = demand->saturated + (rest > 1 ? rest : 1);
                least = rest > least ? rest : least;
        }
        return resize(call, size_fitting(call, load, demand->fast), least, max);
}

bool size_is_larger(const Call *call, PackSize size)
{
        return size.fast > call->self->kept.fast || size_count(call, size) > call->n_kept;
}

bool size_is_smaller(const Call *call, PackSize size)
{
        return size.fast < call->self->kept.fast || size_count(call, size) < call->n_kept;
}

bool size_is_capped(const Call *call, PackSize size)
{
        return size_count(call, size) > size_max(call);
}

bool load_is_low(const Call *call, double load)
{
        return load < call->options->down * call->capacity || call->n_kept > size_max(call);
}

bool load_is_high(const Call *call, double load)
{
        return load > call->options->up * call->capacity;
}
