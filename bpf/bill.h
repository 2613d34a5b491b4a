/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bill of wake-ups: how long the tasks of each unit waited from being woken until they ran, and
 * for what, counted by BPF programs in the kernel while a Bill is open. The first part is what the
 * programs and their loader share.
 *
 * They are loaded without libbpf, as bpf/refused.h explains.
 */
#ifndef IDLED_BILL_H
#define IDLED_BILL_H

#include "cgroup-path.h"
#include "model/wakeups.h"

/* What a delay was spent on: 0 .. WAKEUPS_STATES - 1 are the idle states that CPUs left. */
enum bill_kind {
        BILL_WAITING = WAKEUPS_STATES, /* the CPU ran another task */
        BILL_PARKED,                   /* the same, while a parked CPU could have run it */
        BILL_OTHER,                    /* the CPU was about to choose a task anyway */
        BILL_KINDS,
};

#define BILL_PROCESS 32

/* The kernel stores at most BILL_DELAYS rows of WakeupDelays, one for each key that has any, and
 * the names of BILL_CGROUPS cgroups: 8 MB together. A thousand units with four kinds of delays each
 * take half. */
#define BILL_DELAYS  8192
#define BILL_CGROUPS 2048

/* Tasks that wait, by the last bits of their PIDs: 1 MB. */
#define BILL_TASKS 65536

/* A CPU that sees more wake-ups a second than this takes a sample of them. */
#define BILL_RATE 20000

struct bill_key {
        uint64_t cgroup; /* its ID in cgroup v2 */
        uint32_t kind;
        uint32_t spare;
        char process[BILL_PROCESS]; /* its executable's name, or "" */
};

struct bill_cgroup {
        uint32_t size, whole;
        uint32_t gone, spare;
        char names[CGROUP_PATH_SIZE];
};

struct bill_cpu {
        uint64_t since_ns; /* when `n` was 0 */
        uint64_t skipped;  /* wake-ups that are not in the sample */
        uint64_t due_ns;   /* when the timer was due that is being handled; 0: none */
        uint32_t n, each;  /* the sample is one of `each`; 0: all */
        uint32_t state;    /* the idle state that the idle task entered last */
} __attribute__((aligned(64)));

#ifndef __bpf__

typedef struct Bill Bill;

/* What was counted since the bill was opened. */
typedef struct BillTotals {
        GPtrArray *units;  /* of UnitWakeups, freed with it: a row per unit and process */
        uint64_t skipped;  /* wake-ups that are counted, but whose delays are not */
        uint64_t lost;     /* of tasks that another one with the same bits of its PID displaced */
        uint64_t unstored; /* for which the tables have no room */
} BillTotals;

/* True for the cgroups whose rows are wanted, by their unit's path. */
typedef bool (*BillWants)(const char *cgroup, void *data);

/* Loads the programs, for `n_cpus` possible CPUs; `by_process`: each unit's executables have rows
 * of their own. Negative errno, which bill_error() explains. */
int bill_open(int n_cpus, bool by_process, Bill **ret_bill);

/* How many CPUs are parked, and how many are active: a task that may use as many CPUs as these
 * could run on a parked one. */
void bill_set_parked(Bill *bill, int n_parked, int n_active);

/* Reads the rows that are wanted (NULL: all). If the tables are half full, it removes those of
 * cgroups that no longer exist, and their counts begin again. */
void bill_read(Bill *bill, BillWants wants, void *data, BillTotals *ret_totals);

void bill_close(Bill *bill);

/* What a failed bill_open() lacked, and what helps, as a new string. */
char *bill_error(int error);

#endif
#endif
