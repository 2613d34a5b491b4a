/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of holds share: holds.c has their life, holds-follow.c the CPUs that they are
 * about. */
#ifndef IDLED_HOLDS_PARTS_H
#define IDLED_HOLDS_PARTS_H

#include <glib.h>

#include "holds/holder.h"
#include "holds/holds.h"

struct Holds {
        sd_event *event;
        CpuSet online;
        GArray *list;      /* of Hold */
        GPtrArray *held;   /* of Held, the same index */
        GHashTable *by_id; /* &held->id -> Held */
        Holders *holders;
        uint64_t last_id;
        guint most; /* at once, since there were none */
        bool again; /* look where processes may run at the next occasion */
        uint64_t followed_usec, cost_usec;
        uint64_t late_usec; /* the longest time without a reading */
        sd_event_source *late;
        unsigned n_deferring; /* until it is none `changed` waits; */
        bool untold;          /* and must be called then */
        void (*changed)(void *userdata);
        void *userdata;
};

/* What policies see of it. */
static inline Hold *held_hold(const Held *held)
{
        return &g_array_index(held->holds->list, Hold, held->index);
}

/* The CPUs that a hold is about now, by what was read last. */
CpuSet holds_cpus_of(const Holds *holds, const Held *held);

/* Calls `changed`, or has it wait. */
void holds_tell(Holds *holds);

/* Gives every hold those CPUs. True if one is about others than before. */
bool holds_update_cpus(Holds *holds);

/* The timer for looking at processes, off; and a hold came that may need it. */
void holds_make_timer(Holds *holds);
void holds_follow_new(const Held *held);

#endif
