/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sensors: each reads one source of the kernel's counters and computes nothing. Reading wakes no
 * CPU, with one exception: energy wakes one CPU of each package (energy.c), so it is only read when
 * a client asks or a counter may soon wrap.
 *
 * A sensor is a table of functions over a private state. Opening one may
 * cost; reading is the hot path of the daemon. The order of the table is the order of reading.
 */
#ifndef IDLED_SENSOR_H
#define IDLED_SENSOR_H

#include "model/counters.h"
#include "model/energy-source.h"
#include "model/topology.h"
#include "sensor-list.h"

typedef struct Sensor {
        unsigned provides; /* one Sense flag */

        /* Looks for the source below `root`. -ENOENT: this machine does not have it, which is
         * normal; -EOPNOTSUPP: it is there but cannot be used. */
        int (*open)(int root, const Topology *topology, void **ret_state);

        /* Fills its part of `counters` and sets its flag in counters->have. On failure the part is
         * as it was and the flag is not set. */
        int (*read)(void *state, Counters *counters);

        void (*close)(void *state);
} Sensor;

/* All sensors, in the order of reading: lib/meson.build lists them. */
#define SENSOR_DECLARATION(name) extern const Sensor sensor_##name;
SENSORS(SENSOR_DECLARATION)

/* All sensors of this machine, opened. */
typedef struct Sensors Sensors;

/* Opens every sensor that the machine has. Never fails: what is absent is absent from
 * sensors_have(). `root` is kept by the caller and must stay open. */
Sensors *sensors_new(int root, const Topology *topology);
void sensors_free(Sensors *sensors);

/* The Sense flags that this machine can give. */
unsigned sensors_have(const Sensors *sensors);

/* What is missing and why, by Sense flag: 0, or the negative errno of open. */
int sensors_error(const Sensors *sensors, Sense sense);

/* Reads what `senses` asks for and the machine has, and the time. SENSE_LOAD is always read; if it
 * fails its error is returned and `counters` must not be used. */
int counters_read(Sensors *sensors, unsigned senses, Counters *counters);

/* CPUs came or went: sensors that keep something per CPU look again. */
void sensors_rescan(Sensors *sensors, const Topology *topology);

/* Forgets what the sensor that provides `sense` keeps from one reading to the next. */
void sensors_reopen(Sensors *sensors, Sense sense, const Topology *topology);

/* Takes a better source of energy than the one that is read, if there is one now. True: its domains
 * are other ones, and nothing that was measured before compares with them. */
bool sensors_improve_energy(Sensors *sensors, const Topology *topology);

/* False if the best source of all is read already. */
bool sensors_may_improve_energy(const Sensors *sensors);

/* The idle states of `cpu`, shallowest first, into `ret_states` (room for IDLE_STATES_MAX).
 * Returns how many; 0 if the machine has none. */
int idle_states_read(int root, int cpu, IdleState *ret_states);

/* Those of the CPUs up to `n_cpus`, as a new array. */
IdleTable *idle_tables_read(int root, int n_cpus);

/* Opens the directory of a CPU's idle states, or a file of a state in it; negative errno. */
int idle_directory_open(int root, int cpu);
int idle_file_open(int directory, int state, const char *file);

/* Reads one counter from such a file, which is `fd` if it is kept open (-1: it is not). What is not
 * a number leaves the old value. Negative errno if nothing can be read. */
int idle_counter_read(int directory, int fd, int state, const char *file, uint64_t *value);

/* True if the state is not switched off. */
bool idle_state_enabled(int root, int cpu, int state);

/* /dev/cpu_dma_latency, opened to read the limit of all CPUs: opening changes no limit. Negative
 * errno; -EACCES: only root may read it. */
int idle_global_open(int root);

/* That limit in us; -1: none, also with a negative descriptor. */
int64_t idle_global_limit(int fd);

/* What pm_qos_resume_latency_us says: the limit in us; -1: none, or not a number. */
int64_t idle_limit_parse(const char *text);

/* The limit of the CPU's wake-up latency by PM QoS, the stricter one of its own and that of all
 * CPUs, in us; -1: none. */
int64_t idle_latency_limit(int root, int cpu);

/* The stricter one of two limits; -1 is none. */
int64_t idle_limit_stricter(int64_t a, int64_t b);

/* The mask of the states that the CPU may enter: not switched off, and left within its limit. The
 * first one always may be. */
uint16_t idle_states_permitted(int root, int cpu, const IdleTable *table);

/* FAST: tasks waited for a CPU for 40 ms within 500 ms; such a short window requires
 * CAP_SYS_RESOURCE. SLOW: 200 ms within 2 s, reported at the ends of the kernel's own averaging
 * periods of 2 s; since Linux 6.5 without privilege. */
typedef enum PressureTrigger { PRESSURE_TRIGGER_FAST, PRESSURE_TRIGGER_SLOW } PressureTrigger;

/* A descriptor that reports EPOLLPRI when tasks waited; closing it ends the trigger. Negative
 * errno: -ENOENT without PSI, -EINVAL or -EPERM if the kernel refuses it. */
int pressure_trigger_open(int root, PressureTrigger trigger);

/* The energy domains in the order of Counters.energy. */
typedef struct EnergyDomain {
        char *name;          /* unique: "package-0", "package-0-core", "psys" */
        char *path;          /* of its directory below root */
        int parent;          /* index of the domain that contains it, -1 top level */
        bool package;        /* what trials measure by: one of the whole, which overlaps no other */
        uint64_t range_uj;   /* ENERGY_RANGE_NONE: it does not wrap */
        EnergySource source; /* of all domains the same */
        bool sampled; /* power at the times of readings, and the mean of two for the time between */
} EnergyDomain;

#define ENERGY_RANGE_NONE INT64_MAX

int sensors_energy_domains(const Sensors *sensors, const EnergyDomain **ret_domains);

/* What a package used, or a part of it: "-core", "-uncore", "-dram"; "" for all. Where each die has
 * a counter it is their sum. Packages count from 0 in the order of the numbers in their names, as
 * in "package-1-die-0"; a counter of the whole machine is that of package 0. */
EnergyUse energy_of_package(const EnergyDomain *domains, int n, const EnergyUse *uses, int package,
                            const char *part);

/* How long a counter may go unread, in microseconds: half the time in which the smallest range
 * wraps at ENERGY_WATTS_SUSTAINED. UINT64_MAX without counters. */
uint64_t sensors_energy_deadline(const Sensors *sensors);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sensors, sensors_free)

#endif
