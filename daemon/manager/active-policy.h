/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One active policy: its module, its options, its last request, and what that saves.
 */
#ifndef IDLED_ACTIVE_POLICY_H
#define IDLED_ACTIVE_POLICY_H

#include "config/config.h"
#include "stats/evaluator.h"
#include "idled-policy.h"

/* Only decided.c and evaluation.c change it. */
typedef struct ActivePolicy {
        const IdledPolicy *policy;
        Section *section; /* its options; belongs to the configuration */
        void *state;
        Wish wish;            /* its last one */
        CpuSet before;        /* what the one before allowed */
        CpuWish *cpus;        /* of the request; NULL: the policy has none */
        struct Pack *pack;    /* which cores it gets if it requests a number; NULL: it never did */
        Evaluator *evaluator; /* NULL: its requests never served to save energy */
} ActivePolicy;

#endif
