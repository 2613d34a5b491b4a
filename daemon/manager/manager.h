/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager: owns everything that is alive and makes it tick.
 *
 * It does not depend on D-Bus: its server (bus.c) and its drivers (main.c, tests) call the
 * functions below, and one callback reports changes to them.
 */
#ifndef IDLED_MANAGER_H
#define IDLED_MANAGER_H

#include <glib.h>
#include <systemd/sd-device.h>
#include <systemd/sd-event.h>

#include "act/actuator.h"
#include "config/config.h"
#include "evaluate/evaluator.h"
#include "sense/power.h"
#include "holds/holds.h"
#include "manager/cadence.h"
#include "manager/history.h"
#include "model/frequency.h"
#include "model/plan.h"
#include "sense/pins.h"
#include "sense/sensor.h"
#include "systemd/unit-control.h"

/* Where the daemon lives and what it may do; from the command line. */
typedef struct ManagerSetup {
        ConfigPaths paths;
        int root;
        int run;             /* directory of the undo record */
        const char *state;   /* directory for state that outlives a restart; NULL: there is none */
        bool dry_run;        /* decide and publish, write nothing */
        bool keep_log_level; /* it was given on the command line */
        bool live;           /* `root` is the running system: PSI triggers and uevents make sense */
        uint64_t battery_block_usec; /* the least block by battery; 0: 3 min */
        uint64_t (*slept)(void);  /* microseconds that the machine has slept; NULL: by its clocks */
        const UnitControl *units; /* NULL: no systemd */
} ManagerSetup;

/* One active policy. */
typedef struct ActivePolicy {
        const IdledPolicy *policy;
        Section *section; /* its options; belongs to the configuration */
        void *state;
        Wish wish;            /* its last one */
        CpuSet before;        /* what the one before allowed */
        CpuWish *cpus;        /* of the request; NULL: the policy has none */
        struct Pack *pack;    /* which cores it gets that asks for so many; NULL: it never did */
        Evaluator *evaluator; /* NULL: its requests never served to save energy */
} ActivePolicy;

/* Why a CPU is parked or not, as decided when that last changed. */
typedef struct CpuCause {
        uint64_t since_usec; /* CLOCK_REALTIME; 0: not changed since the start */
        const char *policy;  /* name; NULL: no policy requested anything */
        Reason reason;
        Source option_source; /* of reason.option */
        Safety safety;        /* SAFETY_NONE: as the policies requested */
        bool ignored;         /* what the policy requests is not done, to save energy or to measure
                                 what it saves */
} CpuCause;

/* The machine is left alone: for as long as a client keeps its descriptor open, or, if the pause
 * lasts, until it is resumed or its time is over. */
typedef struct Pause {
        struct Manager *manager;
        char *reason; /* clean */
        char *owner;  /* the client, for people */
        uid_t uid;    /* whose; (uid_t)-1: the daemon's own */
        bool lasting;
        uint64_t until_usec;     /* of one that lasts, CLOCK_REALTIME; 0: until it is resumed */
        sd_event_source *source; /* its end: the client's descriptor closes, or time is over */
} Pause;

typedef enum Change {
        CHANGE_PARKED = 1 << 0, /* the plan or what is in effect */
        CHANGE_PAUSED = 1 << 1,
        CHANGE_DEGRADED = 1 << 2, /* knobs that failed or were taken over */
        CHANGE_CONFIG = 1 << 3,
        CHANGE_TOPOLOGY = 1 << 4, /* CPUs came or went: objects too */
        CHANGE_MISSING = 1 << 5,  /* something turned out not to be there */
        CHANGE_HOLDS = 1 << 6,    /* holds came or went, or are about other CPUs */
        CHANGE_PROFILE = 1 << 7,  /* the profile in effect, or why */
        CHANGE_LIMITS = 1 << 8,   /* what single CPUs are held to: governor, latency, idle states */
        CHANGE_KEPT = 1 << 10,    /* the chosen profile is on the disk, or cannot be */
        CHANGE_EVALUATION = 1 << 11, /* what a policy saves */
        CHANGE_TRIAL = 1 << 12,      /* a client's trial came or went */
        CHANGE_OBSTACLES = 1 << 9,   /* perhaps: what stands in the way of holds */
} Change;

/* The profile in effect is that of the configuration; here is how it came to be. */
typedef struct ActiveProfile {
        struct ProfileKeeper *keeper; /* NULL: nothing was chosen since the start */
        char *chosen;                 /* by a client, until the next choice; NULL: none */
        int keep_error;         /* why `chosen` is forgotten when the daemon ends; 0: it is not */
        char *reason;           /* why this one, for people; NULL before the first decision */
        bool held;              /* it is in effect because of a hold */
        const Profile *refused; /* was chosen but contradicts other options; NULL: none */
        char *problem;          /* which and what it contradicts; NULL: none */
} ActiveProfile;

typedef struct ActuatorState {
        const Actuator *actuator;
        void *state; /* NULL: not available, see error */
        int error;
} ActuatorState;

/* Readings of one kind that are made only on a query. */
typedef struct Observer {
        unsigned senses;
        uint64_t min_interval_usec; /* asked again sooner, the last answer is given */
        Counters *previous, *current;
        Snapshot *snapshot;
} Observer;

enum { OBSERVE_LOAD, OBSERVE_RESIDENCY, OBSERVE_ENERGY, OBSERVERS };

/* One energy domain since the start. */
typedef struct EnergyTotal {
        double joules;
        uint64_t dropped; /* readings that could not be true */
} EnergyTotal;

/* Readings at the ends of the intervals that evaluators measure. */
typedef struct MeterState {
        const struct EvaluationCalls *calls;
        EnergySource source;
        BatteryReading battery; /* the last */
        Counters *previous, *current;
        Snapshot *snapshot;
        IdleTable *idle; /* of CPUs when the trial began, for estimates; NULL: none was needed */
        sd_event_source *timer; /* of the trial that goes on */
        uint64_t kept_usec;     /* when the files were written last */
        int keep_error;         /* why they could not be; 0: they were */
} MeterState;

/* What one CPU did since the start, by the readings for queries: times in microseconds, by idle
 * state. The times of sleeps in progress are estimates, as in Residency. */
typedef struct CpuTotal {
        double busy_usec;
        double idle_usec[IDLE_STATES_MAX];
        uint64_t entered[IDLE_STATES_MAX], above[IDLE_STATES_MAX], below[IDLE_STATES_MAX],
                rejected[IDLE_STATES_MAX];
} CpuTotal;

/* A scan of tasks' affinities that goes on while the event loop does. */
typedef struct PinsLook {
        PinsScan *scan; /* NULL: none */
        sd_event_source *source;
        uint64_t time_usec;    /* when it began */
        int64_t budget_usec;   /* what it might cost then */
        uint64_t cost_usec;    /* what it did */
        CpuSet parked, online; /* what it took for granted */
        bool is_new;           /* what it found has not been used yet */
} PinsLook;

typedef struct Manager {
        ManagerSetup setup;
        sd_event *event;
        Config *config;
        Topology *topology;
        Sensors *sensors;

        Counters *previous, *current;  /* the policies' readings */
        Snapshot *snapshot;            /* and their difference */
        Observer observers[OBSERVERS]; /* readings made for queries */
        MeterState meter;              /* manager-evaluate.c */
        GArray *energy;                /* of EnergyTotal, by energy domain */
        CpuTotal *totals;              /* by CPU number */
        double pressure_usec;          /* in which some task waited for a CPU, since the start */

        GArray *policies;  /* of ActivePolicy, by rank */
        GArray *actuators; /* of ActuatorState */
        Knobs *knobs;
        Pins *pins;              /* of the last scan */
        uint64_t pins_time_usec; /* of that scan; 0: none yet */
        int64_t pins_left_usec;  /* what scans might have cost after it */
        PinsLook pins_look;
        uint64_t look_again_usec; /* when to scan again, because pinned tasks keep CPUs active that
                                     would be parked; 0: there are none */

        Plan wished;            /* what the policies together requested, before CPUs were made
                                   safe */
        CpuWish *cpu_wishes[2]; /* room for those of the present plan and of the next */
        IdleTable *idle;        /* by CPU number; NULL: no CPU has idle states */
        FreqPolicy *frequency;  /* of cpufreq, n_frequency of them; NULL: there is none */
        int n_frequency;
        struct FreqReach *reach;   /* the same; what manager-holds.c knows of each */
        bool stale;                /* carry out the plan again even if it is the same */
        bool acting;               /* a plan is being made and carried out: not again meanwhile */
        bool unsafe;               /* what depends on CPUs changed: make the plan safe again */
        struct Watching *watching; /* what must not notice parking; manager-windows.c */
        GHashTable *texts;         /* of causes, as their own keys */
        uint64_t slept_usec;       /* how long the machine had slept at the last check */
        CpuSet counted;            /* the CPUs of /proc/stat at the last tick */
        unsigned n_counted;        /* for so many ticks in a row they were not those online */
        CpuSet returned;       /* CPUs that came online since then: the kernel set their knobs */
        uint64_t checked_usec; /* when the knobs were last compared with what they should be */
        Plan plan;             /* merged and safe */
        CpuSet parked;         /* online CPUs that are kept free of work now */
        CpuCause *causes;      /* by CPU number */
        History *history;
        uint64_t start_usec; /* CLOCK_MONOTONIC */

        Holds *holds;
        ActiveProfile profile;
        struct Apps *apps;         /* NULL: there are no rules */
        struct Recorder *recorder; /* NULL: nothing is recorded */
        GPtrArray *pauses;         /* of Pause */
        struct Trial *trial;       /* NULL: none */
        bool standby;              /* another daemon serves our name */

        uint64_t n_ticks;
        uint64_t late_usec; /* the most that a tick came after the time and slack of its timer */
        uint64_t interval_usec; /* to the next tick as set; 0: no timer */
        uint64_t stretch;       /* how many periods that is */
        bool pressed;           /* the fast pressure trigger fired */
        int trigger_error;      /* why there is no pressure trigger; 0: none was refused */
        bool asking;            /* nothing more is parked until tasks and units are known */
        bool called;            /* a new task or the slow trigger called for the next tick */
        int forks_error;        /* why new tasks are not watched for; 0: they may be */
        bool no_slow_trigger;   /* the kernel refuses that too */
        sd_event_source *clock; /* fires when the clock is set */
        Quiet quiet;            /* whether new tasks are watched instead, for the trigger costs */
        sd_event_source *timer, *pressure, *forks, *energy_timer, *quiet_timer, *drivers_timer;
        sd_event_source *groups, *groups_settle; /* cgroups that come and go, manager-groups.c */
        sd_device_monitor *monitor;

        void (*on_change)(struct Manager *manager, unsigned changes, void *userdata);
        void *userdata;
} Manager;

/* A manager with its configuration, sensors, policies and actuators. Nothing of the machine is
 * changed. On failure the errors of the configuration are in `errors` (of ConfigError). */
int manager_new(const ManagerSetup *setup, sd_event *event, GPtrArray *errors,
                Manager **ret_manager);

/* Restores what an instance before this one left changed, then ticks for the first time. */
int manager_start(Manager *manager);

/* Restores what the record in `knobs` says an instance before this one changed, reporting to the
 * log. Returns the first error that left something changed; -EBADMSG: there are lines in the record
 * that make no sense, or knobs of kinds that are not known. */
int manager_recover(Knobs *knobs);

/* Restores everything, and frees. */
void manager_free(Manager *manager);

/* Reads, decides, acts, and sets the timer for the next time. */
void manager_tick(Manager *manager);

/* Ticks as soon as the loop is free: something that policies must know has changed. */
void manager_wake(Manager *manager);

/* Decides again where holds matter and acts, before it returns: a hold cannot wait for a tick. */
void manager_act_on_holds(Manager *manager);

/* The machine was asleep: the values that firmware and kernel gave the knobs do not count as taken
 * over, and the plan is carried out again at the next tick, which is now. */
void manager_resumed(Manager *manager);

/* True if a policy that reads holds is active. */
bool manager_looks_at_holds(const Manager *manager);

/* Why the hold, or a part of it, is not in effect, as a new string; NULL if nothing is known to be
 * in its way. */
char *manager_hold_obstacle(const Manager *manager, const Held *held);

/* Units or cgroups came or went: the plan is carried out again at the next tick, which is now. */
void manager_groups_changed(Manager *manager);

/* Reads the configuration again. On any error (appended to `errors`) the old one stays whole. */
int manager_reload(Manager *manager, GPtrArray *errors);

/* Sets an option at run time and decides again; errors as config_set(). */
int manager_set_option(Manager *manager, const char *section, const char *key, const char *text,
                       char **ret_error);

/* Chooses a profile, or with the empty text or PROFILE_AUTO none, and decides again; kept over a
 * restart. Requests of holds take precedence. -ENOENT: there is no such profile; -EINVAL: it
 * contradicts what was set at run time, and all is as it was. `*ret_error` says more. */
int manager_set_profile(Manager *manager, const char *name, char **ret_error);

/* True while the chosen profile is being written; CHANGE_KEPT follows. */
bool manager_is_keeping(const Manager *manager);

/* Why the profile in effect has no effect ("paused by ..."), or which other one cannot be applied,
 * as a new string; NULL if all is well. */
char *manager_profile_inhibited(const Manager *manager);

/* Leaves the machine as found until the other end of the returned descriptor is closed. `reason`
 * and `owner` are cleaned here; `uid` serves the limit on the pauses of a user. */
int manager_pause(Manager *manager, const char *reason, const char *owner, uid_t uid, int *ret_fd);

/* Leaves the machine as found until manager_resume(), or until `usec` (CLOCK_BOOTTIME; 0: no limit)
 * are over, whatever becomes of the client. A user has one such pause: a later one replaces it. */
int manager_pause_lasting(Manager *manager, const char *reason, const char *owner, uid_t uid,
                          uint64_t usec);

/* Ends the pauses that last, of this user or with (uid_t)-1 of all, and returns how many there
 * were. */
unsigned manager_resume(Manager *manager, uid_t uid);

/* While another daemon serves our name the machine is left as found; false: decide again. */
void manager_set_standby(Manager *manager, bool standby);

/* True while the machine must be left alone, and why, static. */
bool manager_is_paused(const Manager *manager);
const char *manager_pause_text(const Manager *manager);

/* What the machine did since the last query of the same kind, at least 100 ms (for energy 1 s) ago.
 * Soon after the start the first interval may be as short as 20 ms, and before that is over there
 * is none: interval and shares are 0. With SENSE_RESIDENCY or SENSE_ENERGY (one of them) in
 * `senses` that is read, else what measured.c shows. Policies do not notice. NULL if the load
 * cannot be read. */
const Snapshot *manager_observe(Manager *manager, unsigned senses);

/* Why `cpu` is parked or in use, with the inputs of the last decision. Valid until the next call.
 */
const CpuCause *manager_cause(Manager *manager, int cpu);

/* Why `active` requested what it did for `cpu` in addition to parking, each part with its reason,
 * into `ret_reasons` (room for EXPLAIN_MAX). Returns how many; 0 while paused. Valid until the next
 * tick. */
int manager_reasons(const Manager *manager, const ActivePolicy *active, int cpu,
                    Reason *ret_reasons);

/* How long the CPU was parked since the start, and how long ago that was, in microseconds in which
 * the machine did not sleep. */
uint64_t manager_parked_usec(const Manager *manager, int cpu);
uint64_t manager_uptime_usec(const Manager *manager);

/* Compares every knob with what it should be: one that another program changed is taken over from
 * then on. Logs and signals what changed. */
void manager_verify(Manager *manager);

/* Why nothing is heard of processes that rules of applications are about: negative errno, or 0. */
int manager_apps_error(const Manager *manager);

/* True if application rules name units or cgroups: then the caller must report new units to
 * manager_units_came(). */
bool manager_apps_need_units(const Manager *manager);
void manager_units_came(Manager *manager);

/* True while jobs and CPUs of systemd's units must be reported, by the three functions below. */
bool manager_follows_starts(const Manager *manager);
void manager_unit_job(Manager *manager, const char *unit, UnitJob job);
void manager_unit_cpus(Manager *manager, const char *unit, const UnitCpus *cpus);
void manager_units_listed(Manager *manager, int error);

/* True while new units and cgroups must be reported: manager_groups_changed(). */
bool manager_follows_units(const Manager *manager);

/* Why tasks may still run on the CPUs that the plan leaves out: "another program changed cgroup
 * NAME", "this is a dry run", as a new string; NULL if they may not, or there are no such CPUs. */
char *manager_obstacle(const Manager *manager);

/* What became of an actuator; NULL: this build has it not. */
const ActuatorState *manager_actuator(const Manager *manager, const Actuator *actuator);

/* What idled has in effect for `cpu`, each part as CpuWish says it. Nothing in a dry run. */
CpuWish manager_limits(const Manager *manager, int cpu);

/* The first error of those with which actuators last tried to carry out the plan; 0: there is none.
 */
int manager_apply_error(const Manager *manager);

/* The error of the actuator's last try to carry out the plan, if no knob reports it; else 0. */
int manager_untold_error(const Manager *manager, const ActuatorState *actuator);

/* Why it could not, as a new string; with the option to blame if it was asked for what this machine
 * does not offer. */
char *manager_failure(const Manager *manager, const ActuatorState *actuator);

/* Reads CPUs and their groups again; true if something changed. */
bool manager_rescan(Manager *manager);

/* What evaluators measure energy by on this machine. */
EnergySource manager_energy_source(const Manager *manager);

/* Cores with at least one CPU that may be used, in the plan and in effect. */
int manager_wanted_cores(const Manager *manager);
int manager_active_cores(const Manager *manager);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Manager, manager_free)

#endif
