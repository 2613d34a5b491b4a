/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the parts of cpufreq share; cpufreq.c describes the algorithm. The name cpufreq.h is taken
 * by a header of libcpupower.
 */
#ifndef IDLED_CPUFREQ_PARTS_H
#define IDLED_CPUFREQ_PARTS_H

#include "idled-policy.h"

/* When a value counts. */
typedef enum Case {
        CASE_ALWAYS,
        CASE_BATTERY,
        CASE_LOW,  /* the load is in the low band */
        CASE_HIGH, /* in the high band */
        CASES,
} Case;

/* Everything that can be asked for. Empty texts and lists, and 0 of boost: nothing is. */
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
        ITEMS
} Item;

typedef struct CpufreqOptions {
        Request requests[CASES];
        double low, high;
        uint64_t dwell_usec, period_usec;
} CpufreqOptions;

typedef enum BandKind { BAND_LOW, BAND_MIDDLE, BAND_HIGH } BandKind;

/* Where the load of one frequency policy is. */
typedef struct Band {
        int8_t kind;  /* of BandKind */
        int8_t peak;  /* the highest while waiting */
        bool waiting; /* the load has been below the band since: */
        uint64_t since_usec;
        float busiest; /* share of its busiest CPU */
} Band;

#define TEXT_MAX 192

typedef struct Cpufreq {
        bool on_battery;         /* at the last decision */
        Band bands[CPUSET_MAX];  /* by the number of the frequency policy */
        char (*texts)[TEXT_MAX]; /* is `room`; only for readers of the state */
        char room[ITEMS][TEXT_MAX];
} Cpufreq;

/* The result of each request. */
typedef enum Outcome {
        OUTCOME_NOTHING, /* is asked for */
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

/* A frequency as people write it: "1.8GHz", "60%" of the hardware's highest, "min", "base", "max".
 */
typedef struct Speed {
        enum { SPEED_KHZ, SPEED_SHARE, SPEED_MIN, SPEED_BASE, SPEED_MAX } kind;
        double value; /* kHz or a share of 1 */
} Speed;

extern const Setting cpufreq_settings[];

/* As IdledPolicy.check, .reads and .explain. */
const char *cpufreq_check(const void *options, const char **ret_key);
unsigned cpufreq_reads(const void *options);
int cpufreq_explain(const void *state, const PolicyInput *input, int cpu, Reason *ret_reasons);

/* As IdledPolicy.unmet. */
int cpufreq_unmet(const void *options, const PolicyInput *machine, Unmet *ret_unmet, int max);

/* The key of the option for an item in a case: "GovernorLow". */
const char *cpufreq_key(Item item, Case when);

/* True if the request says something of the item, or of any. */
bool request_has(const Request *request, Item item);
bool request_has_any(const Request *request);

/* False if the text is not one of a frequency, or of a bias (a number to 15 or a name). */
bool speed_parse(const char *text, Speed *ret_speed);
bool bias_parse(const char *text, uint32_t *ret_bias);

/* The request for a frequency policy, given what it offers. */
Choices choose(const CpufreqOptions *options, const FreqPolicy *policy, bool on_battery,
               BandKind band);

#endif
