/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of cpufreq, and the choice among them by what a frequency policy offers. The name
 * cpufreq.h is taken by a header of libcpupower.
 */
#ifndef IDLED_CPUFREQ_CHOOSE_H
#define IDLED_CPUFREQ_CHOOSE_H

#include "idled-policy.h"

/* When a value counts. */
typedef enum Case {
        CASE_ALWAYS,
        CASE_LOW,  /* the load is in the low band */
        CASE_HIGH, /* in the high band */
        CASES,
} Case;

/* Everything that can be requested. Empty texts and lists, and 0 of boost: nothing is. */
typedef struct Request {
        char **governors, **preferences; /* the first that is offered */
        char *bias, *min, *max;
        int boost; /* 1: on, 2: off */
} Request;

typedef enum Item {
        ITEM_GOVERNOR,
        ITEM_PREFERENCE,
        ITEM_BIAS,
        ITEM_MIN,
        ITEM_MAX,
        ITEM_BOOST,
} Item;

#define ITEMS (ITEM_BOOST + 1)

typedef struct CpufreqOptions {
        Request requests[CASES];
        double low, high;
        uint64_t dwell_usec, period_usec;
        int platform; /* of cpufreq_platforms */
} CpufreqOptions;

/* "keep", which is no request, and the firmware's profiles; ends with NULL. */
extern const char *const cpufreq_platforms[];

/* Where the load of a frequency policy is. */
typedef enum BandKind { BAND_LOW, BAND_MIDDLE, BAND_HIGH } BandKind;

/* The result of each request. */
typedef enum Outcome {
        OUTCOME_NOTHING, /* is requested */
        OUTCOME_FOUND,
        OUTCOME_MISSING, /* none of the words is offered, or the hardware has no such thing */
        OUTCOME_FORCED,  /* the governor decides it */
} Outcome;

typedef struct Choice {
        Outcome outcome;
        Case from;        /* where the request is from */
        const char *word; /* of governor and preference */
        uint32_t number;  /* of bias, frequencies (kHz) and boost */
} Choice;

typedef struct Choices {
        Choice of[ITEMS];
} Choices;

extern const Setting cpufreq_settings[];

/* As IdledPolicy.check. */
const char *cpufreq_check(const void *options, const char **ret_key);

/* The key of the option for an item in a case: "GovernorLow". */
const char *cpufreq_key(Item item, Case when);

/* True if the request says something of the item, or of any. */
bool request_has(const Request *request, Item item);
bool request_has_any(const Request *request);

/* False if the text is not that of a frequency in a unit, such as "1.8GHz", or of a share of
 * `most_khz` (0: shares are none), such as "60%". */
bool khz_parse(const char *text, uint32_t most_khz, double *ret_khz);

/* The request for a frequency policy, given what it offers. */
Choices choose(const CpufreqOptions *options, const FreqPolicy *policy, BandKind band);

#endif
