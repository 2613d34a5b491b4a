/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bill of wake-ups: how long the tasks of each unit waited from being woken until they ran, and
 * for what, counted by BPF programs in the kernel while a Bill is open. The first part is what the
 * programs and their loader share.
 *
 * They are loaded without libbpf, as bpf/refused.h explains: an open Bill takes no memory of idled
 * but for what it returns, and the kernel's is freed when it is closed.
 */
#ifndef IDLED_BILL_H
#define IDLED_BILL_H

#include "cgroup-path.h"
#ifdef __bpf__
#include "model/wakeups.h"
#define CPUSET_WORDS 128
#else
#include <stdbool.h>

#include "base/cpuset.h"
#include "model/unit-wakeups.h"
#endif

#define BILL_PROCESS 32

/* The kernel stores at most BILL_DELAYS rows of WakeupDelays, one for each key that has any, and
 * the names of BILL_CGROUPS cgroups. */
#define BILL_DELAYS  8192
#define BILL_CGROUPS 4096

/* One service or user has at most one of so many parts of the rows, so that others keep rows, too.
 */
#define BILL_SHARES 8

/* Tasks that wait, by the last bits of their PIDs: 1.5 MB. */
#define BILL_TASKS 65536

/* A CPU that sees more wake-ups a second than this takes a sample of them. */
#define BILL_RATE 20000

/* What has a row of its own, in each unit. */
enum bill_detail {
        BILL_COARSE,    /* all idle states as the first one, all else as WAKEUPS_WAITING */
        BILL_KINDS,     /* each kind of delay */
        BILL_PROCESSES, /* each of these of each executable */
};

struct bill_key {
        uint64_t cgroup; /* its ID in cgroup v2 */
        uint32_t kind;
        uint32_t epoch;             /* the half of the tables */
        char process[BILL_PROCESS]; /* its executable's name, or "" */
};

struct bill_cgroup_key {
        uint64_t cgroup, epoch;
};

/* In each half of the tables. */
struct bill_share_key {
        uint64_t owner, epoch; /* the ID of cgroup_owner(); 0: of all that are too deep */
};

struct bill_share {
        uint32_t rows, refused; /* wake-ups, for which it had no row left */
};

struct bill_cgroup {
        uint32_t size, whole;
        char names[CGROUP_PATH_SIZE];
};

struct bill_cpu {
        uint64_t since_ns; /* when `n` was 0 */
        uint64_t skipped;  /* wake-ups that others in the sample stand for */
        uint64_t pending;  /* of those skipped here, and less those that others stood for here */
        uint64_t due_ns;   /* when the timer was due that is being handled; 0: none */
        uint64_t left_ns;  /* when a task ran after the idle task last */
        uint32_t n, each;  /* the sample is one of `each`; 0: all */
        uint32_t state;    /* the idle state that the idle task entered last */
        uint32_t spare[3]; /* to 64 bytes, a line of a cache */
};

#ifndef __bpf__

/* BILL_DELAYS; a test needs less. */
extern uint32_t bill_rows;

typedef struct Bill Bill;

/* What was counted since the bill was opened or read last. */
typedef struct BillReading {
        uint64_t duration_ns;
        uint64_t skipped;  /* wake-ups that are counted, but whose delays are those of a sample */
        uint64_t lost;     /* that are not: no later one of the same task was in the sample, or
                              another task with the same bits of its PID displaced it */
        uint64_t unstored; /* for which the tables, or the share of their user, have no room */
        bool full;         /* some of these could be of any unit */
        GPtrArray *over;   /* of char: the cgroups, second below the root, of the services and
                                    users that the others are of; until the next reading */
} BillReading;

/* Takes a part of a reading: the delays of one kind, of the tasks of a unit, by the path of its
 * cgroup, and with BILL_PROCESSES of an executable; else `process` is "". A unit has several parts
 * of a kind if it has several cgroups. */
typedef void (*BillTake)(const char *cgroup, const char *process, enum wakeup_kind kind,
                         const WakeupDelays *delays, void *data);

/* Loads the programs, for `n_cpus` possible CPUs. Negative errno, which bill_error() explains. */
int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill);

/* Which CPUs are parked, and how many are active: a task that may use as many CPUs as these, and
 * whose affinity has a parked one, could run on that. */
void bill_set_parked(Bill *bill, const CpuSet *parked, int n_active);

/* Counts in `late[i]` the delays that are longer from now on. */
void bill_set_limit(Bill *bill, unsigned i, uint64_t ns);

/* Has `take` (NULL: nothing) take what was counted; the next reading begins with nothing. It waits
 * until no program works on the half of the tables that it reads, some 10 ms, without waking a CPU.
 * A cgroup may be gone when its row is read. Negative errno: the kernel refuses to read the tables.
 */
int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading);

/* Removes the programs and their tables from the kernel. */
void bill_close(Bill *bill);

/* What a failed bill_open() lacked, and what helps, as a new string. */
char *bill_error(int error);

#endif
#endif
