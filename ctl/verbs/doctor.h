/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl doctor, its parts for each other: doctor.c has the verb and what most checks need,
 * doctor-idle.c the checks of idle states, doctor-cost.c their costs.
 */
#ifndef IDLED_DOCTOR_H
#define IDLED_DOCTOR_H

#include "cli/verb.h"
#include "doctor-cost.h"
#include "left.h"

#define CPUS "sys/devices/system/cpu"

/* The command that restores what a dead idled left. */
#define RESTORE "sudo idled --restore"

typedef struct Doctor {
        Ctl *ctl;
        int root;
        Topology *topology;
        bool hypervisor;
        char **options; /* of the kernel's command line; NULL: not known */
        Prices *prices; /* NULL: none */
        DoctorCost *cost;
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

/* What it costs that these CPUs do not use states that they have. */
double doctor_price_known(Doctor *doctor, const CpuSet *cpus);

/* What it costs that no CPU has deep states; NaN without `idle`. */
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
