/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Knobs: the one way by which idled changes anything, and restores it.
 *
 * A knob is something with a textual value that can be read and written: a cgroup's list of CPUs, a
 * unit's AllowedCPUs. knob_set() is the only door: it reads the value, leaves it alone if it is
 * right already, records the original value before the first write (undo.h), writes, and reads
 * back. Another program that writes to a knob owns it from then on, even if it writes the original
 * value: idled neither changes nor restores it, until knobs_forget_foreign().
 */
#ifndef IDLED_KNOB_H
#define IDLED_KNOB_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"

/* How the core reaches systemd where the code may not use D-Bus. All functions return negative
 * errno; -ENOTCONN: no systemd to talk to; -ENOENT: no such unit. */
typedef struct UnitControl {
        /* The slices, scopes and services directly below `slice` ("-.slice" is the root) that have
         * a cgroup, as a new string vector. Others, as mounts, hold no tasks. */
        int (*list_children)(void *userdata, const char *slice, char ***ret_units);
        /* AllowedCPUs as configured; the empty set: no limit of its own. */
        int (*get_allowed)(void *userdata, const char *unit, CpuSet *ret_cpus);
        /* Limits the unit at run time; the empty set takes the limit away, after which systemd may
         * leave the kernel's value as it was: set all possible CPUs before. */
        int (*set_allowed)(void *userdata, const char *unit, const CpuSet *cpus);
        /* The CPUs that its tasks can really run on; the empty set: nothing limits it. */
        int (*get_effective)(void *userdata, const char *unit, CpuSet *ret_cpus);
        /* CPUAffinity; the empty set: none, as of units without processes of their own. May be
         * NULL. */
        int (*get_affinity)(void *userdata, const char *unit, CpuSet *ret_cpus);
        /* Starts a slice that no file describes, with AllowedCPUs, and waits until it is there. If
         * we are the main process of a service, systemd stops the slice when that ends in whatever
         * way. */
        int (*start_slice)(void *userdata, const char *slice, const CpuSet *cpus);
        /* Stops the unit and waits until it is gone; one that is not there is none to stop. */
        int (*stop)(void *userdata, const char *unit);
        /* Files of units were removed: has systemd read them again before the daemon ends, once.
         * May be NULL. */
        void (*reload_later)(void *userdata);
        void *userdata;
} UnitControl;

/* What kinds of knobs work on: the machine below `root`, and systemd if there is one. */
typedef struct ActContext {
        int root;
        const UnitControl *units; /* NULL: no systemd */
        bool live; /* `root` is the running system, and so what libraries write to that know no
                      other; false: nothing but `root` is ever written to */
        bool resets_affinities; /* the kernel resets affinities when a cpuset changes */
        const char *affinities; /* how that is known, for people; NULL: it is not */
} ActContext;

typedef struct Knob Knob;

typedef struct KnobKind {
        const char *name; /* one word, for the record: "cgroup", "unit" */

        /* The value now, as a new string without newline. -ENOENT: the knob is gone; -EBUSY: it
         * sleeps with its CPU, which is no failure. */
        int (*read)(const ActContext *context, const char *name, char **ret_value);
        int (*write)(const ActContext *context, const char *name, const char *value);

        /* The directory, below the root, that names are paths from, if they are those of files
         * whose whole text is the value: these are opened once, and read, written and read back at
         * a third of the cost. NULL, or if they cannot be opened: by the functions above. */
        const char *dir;
        bool write_apart; /* on the running system write() is called all the same */

        /* A number that identifies the knob's object; a later object of the same name has another
         * one. 0: not known. NULL: the number of the file if `dir` is set, else never known. */
        uint64_t (*identity)(const ActContext *context, const char *name);

        /* True if two texts are the same value to the kernel; NULL: only if they are equal. */
        bool (*equal)(const char *a, const char *b);

        /* True if writing `to` passes through the value `now`, so that a writer that died may have
         * left it; NULL: a write has no steps. */
        bool (*passes)(const ActContext *context, const char *to, const char *now);

        /* The CPUs that a knob of ours keeps tasks off, which could run there before; it may name
         * CPUs that the machine does not have. NULL: the kind keeps tasks off none. */
        CpuSet (*kept_free)(const ActContext *context, const Knob *knob);

        /* True if the kernel or the hardware itself keeps the knob at `now` although `wanted` was
         * written: then no other program took it over. NULL: it never does. */
        bool (*held)(const ActContext *context, const char *name, const char *wanted,
                     const char *now);

        /* Why writing fails with this error on this machine and what to do, for people, static;
         * NULL: no more is known. NULL as a function: it never is. */
        const char *(*obstacle)(const ActContext *context, const char *name, int error);

        /* The kernel takes the value at once and shows it a moment later, so that reading back must
         * wait for it. */
        bool late;

        /* What read() returns says only that the knob is there, so that one of ours counts as
         * having the value last written. The change that makes it ours contains the original. */
        bool blind;

        /* The kernel may change knobs of this kind when one of ours is written: those that were
         * ours stay so. They are restored after ours. NULL: none are. */
        const struct KnobKind *disturbs;

        /* True if a knob of this kind can disturb that other one; NULL: any. */
        bool (*reaches)(const char *name, const char *other);
} KnobKind;

typedef enum KnobState {
        KNOB_OURS,    /* changed by us; the original is on record */
        KNOB_FOREIGN, /* changed by us, then taken over by another program */
        KNOB_FAILED,  /* could not be read, recorded or written: see `error` */
} KnobState;

struct Knob {
        const KnobKind *kind;
        char *name;
        char *original; /* as first found; NULL: it never could be read */
        char *ours;     /* what we last wrote or tried to write */
        char *before;   /* what we had written before that; NULL: the original */
        KnobState state;
        int error; /* negative errno of the last failure, 0 none */
};

typedef struct Knobs Knobs;

/* No knob changed yet. `run` is the directory of the record, kept by the caller; -1: keep none, for
 * tests of other things. With `dry_run` nothing is ever recorded or written. `context` is copied.
 */
Knobs *knobs_new(const ActContext *context, int run, bool dry_run);
void knobs_free(Knobs *knobs);

/*
 * Brings the knob to `value`. Returns 1 if it was written, 0 if no write was needed (or in a dry
 * run, or while the knob sleeps); -ESTALE: it was taken over; -EPERM: the kernel accepted the write
 * but the value read back is another; else the error of reading, recording or writing. If the
 * original cannot be recorded, nothing is written. A knob set to its original again is ours no
 * longer and leaves the record.
 */
int knob_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value);

/* Restores the knob if it is ours, and forgets its earlier failure if it is not. Returns as
 * knob_set(), 0 if there is nothing to restore; a knob that was taken over stays listed as such. */
int knob_release(Knobs *knobs, const KnobKind *kind, const char *name);

/* One of many knobs to set or restore. */
typedef struct KnobChange {
        const KnobKind *kind;
        const char *name;
        const char *value; /* NULL: it is restored */
        int result;        /* of knob_set() or knob_release() */
        const char *found; /* its original if it is not ours yet, since what it has now comes of
                              another knob of ours; NULL: what it has */
} KnobChange;

/* How many changes go together. */
#define KNOBS_AT_ONCE 64

/* Makes the changes and notes their results: knob_set() and knob_release() at half the cost. Up to
 * KNOBS_AT_ONCE that follow each other are all read, and put on record by one write(2), before the
 * first is written; so none may depend on another one. */
void knobs_set(Knobs *knobs, KnobChange *changes, unsigned n);

/* Takes the value that a knob of ours has now for the kernel's doing, as when it drops a CPU that
 * went offline from every cpuset: it counts as ours. -ENOENT: no such knob of ours; else the error
 * of reading or recording. */
int knob_adopt(Knobs *knobs, const KnobKind *kind, const char *name);

/* The CPUs that knobs of ours keep tasks off; it may name CPUs that the machine does not have. */
CpuSet knobs_kept_free(const Knobs *knobs);

/* True if the knob's original is on record: it has a value of ours, or may have, though it failed.
 */
bool knob_is_on_record(const Knob *knob);

/* True if the knob is of one of the kinds, which end with NULL. */
static inline bool knob_is_of(const Knob *knob, const KnobKind *const *kinds)
{
        while (*kinds && *kinds != knob->kind)
                kinds++;
        return *kinds;
}

/* The knob's entry if it was ever set and not restored, else NULL. */
const Knob *knob_find(const Knobs *knobs, const KnobKind *kind, const char *name);

/* The error of a knob that failed, with the obstacle that its kind knows, as a new string. */
char *knob_failure(const Knobs *knobs, const Knob *knob);

/* The value that the knob has without idled, as a new string: the original if there is one and the
 * knob was not taken over, else the present value, or the error of reading that. */
int knob_original(const Knobs *knobs, const KnobKind *kind, const char *name, char **ret_value);

/* All entries, in the order in which they were first set; valid until the next change. */
int knobs_list(const Knobs *knobs, const Knob *const **ret_knobs);

/* True if `found` is what was last written, or what the machine makes of it for now. */
bool knob_is_as_written(const ActContext *context, const Knob *knob, const char *found);

bool knobs_is_dry_run(const Knobs *knobs);

/* Why the last write of the record failed, or one of the last knobs_restore(); 0: it did not. After
 * a failure, for example a full /run, nothing of the machine is changed. */
int knobs_record_error(const Knobs *knobs);

/* How many values were written (or, in a dry run, would have been) since the start. */
unsigned knobs_writes(const Knobs *knobs);

/* Forgets the knobs of `kind` called `name` and, as they are paths, those below it, even if taken
 * over: their object is gone, or is another one. */
void knobs_drop(Knobs *knobs, const KnobKind *kind, const char *name);

/* Forgets the knobs that were taken over: the value at the next write is their original. Returns
 * how many there were. */
int knobs_forget_foreign(Knobs *knobs);

/* Reads every knob that is ours and marks those that another program changed. Returns how many are
 * not as they should be. */
int knobs_verify(Knobs *knobs);

/* What became of one knob in a restore, for reports. `error`: 0 restored, -ESTALE left to its new
 * owner, -ENOENT gone, else why not; `value` is what was found. */
typedef void (*KnobReport)(const Knob *knob, const char *value, int error, void *userdata);

/* Restores every knob in reverse order, reporting each. Knobs that cannot be restored stay on
 * record. Returns 0 or the first error that was neither -ESTALE nor -ENOENT, or that of a record
 * that could not be read. A dry run reports what would be done, and leaves knobs and record alone.
 */
int knobs_restore(Knobs *knobs, KnobReport report, void *userdata);

/* Reads the record that an instance before us left, as knobs that are ours. `kinds` ends with NULL.
 * Returns how many; 0 if there is no record, or the error of reading it; lines that make no sense
 * are skipped and counted in `ret_skipped`. Knobs of other kinds stay on record as they are. */
int knobs_recover(Knobs *knobs, const KnobKind *const *kinds, int *ret_skipped);

/* How many knobs on record are of none of the kinds, as another version may have left them. */
int knobs_count_unknown(const Knobs *knobs, const KnobKind *const *kinds);

/* Keeps a record with lines that make no sense for people to read, as undo_set_aside(). */
int knobs_set_aside(Knobs *knobs);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Knobs, knobs_free)

#endif
