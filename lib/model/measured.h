/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The measured numbers that idled shows, one row each. Properties of org.idled1.Manager, lines of
 * `idlectl status`, its --json, the list Missing and the manual pages come from these two tables.
 */
#ifndef IDLED_MEASURED_H
#define IDLED_MEASURED_H

#include "model/snapshot.h"

#define MEASURED_NUMBERS 3 /* most numbers of one property */

/* The source of a sense, which a machine may not have. */
typedef struct SenseSource {
        Sense sense;
        const char *name;  /* in the list Missing; NULL: never listed */
        const char *reads; /* line of idled(8), in scdoc; NULL: another line names it */
} SenseSource;

/* All senses, in the order of lists; ends with sense 0. */
extern const SenseSource sense_sources[];

/* The name of a sense in the list Missing, NULL if it is never listed. */
const char *sense_missing_name(Sense sense);

/* Why something is missing, by the negative errno of opening it. */
const char *missing_reason(int error);

typedef struct Measured {
        const char *property;  /* of org.idled1.Manager */
        const char *signature; /* of D-Bus, and so the type in Snapshot: "d" double, "u" unsigned,
                                  "b" bool, "(ddd)" double[3] */
        size_t offset;         /* in Snapshot; a negative number means that it is not known */
        Sense sense;           /* that provides it */
        bool mean;             /* over the interval, and not known without one */
        bool per_cpu;          /* divided by the number of online CPUs; at most 1 */

        /* idlectl status --json: the object, and a key for each number, which is the property, or
         * 100 times that if the key ends in "_percent". A bool is one of two words: "no" value
         * first. */
        const char *group, *keys[MEASURED_NUMBERS];
        const char *words[2];

        /* idlectl status: the title of the line, which rows share, and what is before and after the
         * numbers there (NULL: nothing). */
        const char *line, *before, *after;
        int decimals;

        const char *help; /* sentences of org.idled1(5), in scdoc */
} Measured;

/* Ends with property NULL. */
extern const Measured measured_properties[];

/* The row of a property, NULL if there is none. */
const Measured *measured_find(const char *property);

/* What a reading needs to contain for all rows: Sense flags. */
unsigned measured_senses(void);

/* The numbers of a row in D-Bus's unit; `n_online` is the number of online CPUs. Returns how many
 * there are, 1 to MEASURED_NUMBERS. */
int measured_numbers(const Measured *row, const Snapshot *snapshot, int n_online,
                     double ret_numbers[MEASURED_NUMBERS]);

#endif
