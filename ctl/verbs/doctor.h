/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl doctor, its parts for each other: doctor.c has the verb, what most checks need, and what
 * shallow sleeps cost, doctor-idle.c the checks of idle states.
 */
#ifndef IDLED_DOCTOR_H
#define IDLED_DOCTOR_H

#include "cli/price.h"
#include "cli/verb.h"
#include "cli/watch.h"
#include "left.h"

#define CPUS "sys/devices/system/cpu"

/* The command that restores what a dead idled left. */
#define RESTORE "sudo idled --restore"

typedef struct Doctor {
        Ctl *ctl;
        int root;
        Topology *topology;
        bool hypervisor;
        char **options;   /* of the kernel's command line; NULL: not known */
        Prices *prices;   /* NULL: none */
        Watch *watch;     /* with one interval; NULL: not yet, or the CPUs cannot be read */
        bool sampled;     /* that was tried */
        bool unpriced;    /* some finding has a cost in watts, but there is no power table */
        UndoEntries left; /* what an idled that died has changed; empty while one runs */
        int left_error;   /* why that is not known; 0: it is */
        json_object *findings;
        int wrong;
} Doctor;

/* Adds a finding. `cost` and `fix` may be NULL; `watts` is NaN where the cost is not in watts.
 * Takes `found`. */
void doctor_add_priced(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
                       double watts, const char *fix);
void doctor_add(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
                const char *fix);

/* The watts that these CPUs draw now above the cheapest state that the kernel offers them, if only
 * it is switched off or forbidden. NaN: not known. The first call takes a second. */
double doctor_price_known(Doctor *doctor, const CpuSet *cpus);

/* The same for all CPUs above the cheapest state of the table, which the kernel may not offer.
 * `idle` is the state that CPUs sleep in where the kernel does not say: "C0" if they poll, "C1" if
 * they halt. NaN without it. */
double doctor_price_hidden(Doctor *doctor, const char *idle);

/* The value of a small file, "" if it cannot be read. */
const char *doctor_value(const Doctor *doctor, const char *path, char *buffer, size_t size);

bool doctor_file_contains(const Doctor *doctor, const char *path, const char *text);

/* The value of the option in the kernel's command line, or NULL. The last one counts. */
const char *doctor_option(const Doctor *doctor, const char *name);

/* What kstrtobool() makes of a text: 1, 0, or -1, which changes nothing. */
int kernel_bool(const char *text);

/* All checks of this kind. */
void doctor_check_idle(Doctor *doctor);

#endif
