/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the actuators for frequencies, idle states and latencies share.
 *
 * Their knobs are files of the CPUs in sysfs and are named by their path from there:
 * "cpufreq/policy0/scaling_governor", "cpu3/cpuidle/state2/disable". Each actuator remembers for
 * every CPU what it last carried out, so that an unchanged request costs a comparison. Knobs that
 * no request names are not touched; when a request ends, the original value of its knob is
 * restored.
 */
#ifndef IDLED_TUNING_H
#define IDLED_TUNING_H

#include "act/actuator.h"
#include "base/setting.h"

/* Sections [Frequency], [IdleStates] and [Latency] of idled.conf are alike. */
typedef struct TuneOptions {
        bool manage;
        CpuSet exclude;
} TuneOptions;

extern const Setting frequency_settings[], idle_states_settings[], latency_settings[];

/* The directory of all CPUs, below the root. */
#define TUNE_DIR "sys/devices/system/cpu/"

/* The same as a KnobKind's dir. */
extern const char tune_dir[];

/* The longest name of a knob, with its NUL. */
#define TUNE_NAME 80

/* What is known of one CPU, or of one cpufreq policy. */
typedef struct Tuned {
        bool known;        /* `wished` was carried out */
        CpuWish wished;    /* the last request, those parts of it that the actuator is for */
        CpuWish effective; /* what of it is */
} Tuned;

extern const CpuWish tune_nothing;

/* Room for CPUs or policies 0 to `n` - 1, of which nothing is known yet. */
Tuned *tune_new(int n);

/* Makes nothing of it known. What knobs of these kinds, up to a NULL, and of CPUs that were away
 * have now is the kernel's doing. */
void tune_forget(Tuned *tuned, int n, Knobs *knobs, const KnobKind *const *kinds,
                 const CpuSet *returned);

/* The name of a knob of one CPU or policy: `before`, its number and `after`, which is cut off if it
 * does not fit. Returns where its NUL is. */
char *tune_name(char name[TUNE_NAME], const char *before, int number, const char *after);

/* True if a knob of that name is of one of the CPUs or policies of these numbers. */
bool tune_is_of(const char *name, const CpuSet *numbers);

/* Copies the text to `to`, where there is room up to `end`; cut off if it does not fit. Returns
 * where the copy's NUL is. */
char *tune_put(char *to, const char *end, const char *text);

/* A KnobKind's read() and write(), through files. -EBUSY: the CPU is offline, and what its file
 * would say is not known until it is back. */
int tune_read(const ActContext *context, const char *name, char **ret_value);
int tune_write(const ActContext *context, const char *name, const char *value);

/* True if the file is there. */
bool tune_exists(int root, const char *name);

/* The longest value that is set, with its NUL. */
#define TUNE_VALUE 32

/* Many knobs on their way: knobs_set(), with what tune_set() makes of the results. */
typedef struct TuneBatch {
        Knobs *knobs;
        /* Called with the result of each knob, at the latest by tune_batch_end(). */
        void (*done)(void *userdata, int tag, bool effective, int r);
        void *userdata;
        int first; /* the first error that was reported to it */
        unsigned n;
        KnobChange changes[KNOBS_AT_ONCE];
        char names[KNOBS_AT_ONCE][TUNE_NAME], values[KNOBS_AT_ONCE][TUNE_VALUE];
        int tags[KNOBS_AT_ONCE];
} TuneBatch;

void tune_batch_init(TuneBatch *batch, Knobs *knobs,
                     void (*done)(void *userdata, int tag, bool effective, int r), void *userdata);

/* Where to put the name of the knob that is added next; there is room for TUNE_NAME. */
char *tune_batch_name(TuneBatch *batch);

/* As tune_set(), some time until tune_batch_end(), for the knob with that name; `tag` is for
 * done(). `found`, which is not copied, as in KnobChange. */
void tune_batch_add(TuneBatch *batch, const KnobKind *kind, const char *value, int tag);
void tune_batch_add_found(TuneBatch *batch, const KnobKind *kind, const char *value,
                          const char *found, int tag);
void tune_batch_end(TuneBatch *batch);

/* Sets the knob, or with a `value` of NULL restores it. A knob that was taken over is no error,
 * because the knob itself reports it. `*effective` becomes false if the value is not in effect. */
int tune_set(Knobs *knobs, const KnobKind *kind, const char *name, const char *value,
             bool *effective);

#endif
