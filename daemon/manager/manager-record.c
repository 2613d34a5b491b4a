/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The recording that the daemon keeps of the machine and of itself, if section [Recording] says so:
 * a ring in the state directory (docs/recording.md).
 *
 * A timer with slack takes a sample, once a minute usually; nothing else wakes up for it. A tick
 * that comes when a sample is due takes it, so that idled need not wake up again. Events are noted
 * when they happen, because the daemon is awake then anyway. Samples wait in memory for ten
 * intervals: so often the disk is woken, and so much a crash may lose. A thread writes them,
 * because a disk may take seconds. The file is opened for each frame: an administrator may remove
 * or move it at any time.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/cpuset-text.h"
#include "base/log.h"
#include "config/power-table.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"
#include "model/topology-build.h"
#include "recording/file.h"
#include "recording/sample.h"
#include "sense/power.h"
#include "sense/readings.h"

#define FILE_NAME     "idled.rec"
#define FRAME_SAMPLES 10
#define MEGABYTE      (1u << 20)

/* What the thread writes. It shares nothing else with the event loop, which reads it when `done`.
 */
typedef struct Job {
        const char *dir;
        RecordingLimits limits;
        GString *text;
        uint64_t last_usec;
        int error;
        int done; /* atomic */
} Job;

typedef struct Recorder {
        RecordingOptions options; /* by which it works */
        sd_event_source *timer;
        uint64_t due_usec; /* when the next sample is, monotonic; the timer may be later */
        Readings readings;
        RecordingBatch *batch;
        RecordingTable *machine;
        RecordingSampler *sampler;
        RecordingCpu *cpus;    /* by CPU number */
        const IdleTable *idle; /* of these CPUs, by CPU number; the sampler's */
        EnergySource source;   /* as recorded */
        BatteryMeter battery;
        uint64_t transition; /* number of the last one that was recorded */
        unsigned n_samples;  /* since the last frame */
        GThread *thread;     /* NULL: nothing is being written */
        Job job;
        int error; /* of the last frame */
} Recorder;

static gpointer write_job(gpointer data)
{
        Job *job = data;
        g_autofree char *path = g_build_filename(job->dir, FILE_NAME, NULL);
        g_autofree char *aside = g_strconcat(path, ".old", NULL);
        RecordingFile *file = NULL;
        int r = 0, closed;

        if (g_mkdir_with_parents(job->dir, 0755) < 0)
                r = -errno;
        if (r == 0)
                r = recording_file_open(AT_FDCWD, path, &job->limits, true, &file);
        if (r == -EPROTONOSUPPORT) /* of version 1 */
                r = rename(path, aside) < 0
                            ? -errno
                            : recording_file_open(AT_FDCWD, path, &job->limits, true, &file);
        if (r == 0)
                r = recording_file_put(file, job->text, job->last_usec);
        closed = recording_file_close(file);
        job->error = r < 0 ? r : closed;
        g_atomic_int_set(&job->done, 1);
        return NULL;
}

/* Takes the result of the thread, for which it waits if it has to. */
static void end_job(Recorder *recorder)
{
        if (recorder->thread)
                g_thread_join(g_steal_pointer(&recorder->thread));
        if (recorder->job.error < 0 && recorder->job.error != recorder->error)
                log_warning("%s/" FILE_NAME ": samples cannot be recorded: %s", recorder->job.dir,
                            g_strerror(-recorder->job.error));
        else if (recorder->job.error == 0 && recorder->error < 0)
                log_info("%s/" FILE_NAME ": samples are recorded again", recorder->job.dir);
        recorder->error = recorder->job.error;
}

/* Has the samples written. While the frame before is being written they wait. */
static void begin_job(const Manager *manager, Recorder *recorder)
{
        Job *job = &recorder->job;

        if (recorder->thread && !g_atomic_int_get(&job->done))
                return;
        end_job(recorder);
        if (recording_batch_size(recorder->batch) == 0)
                return;
        recording_batch_take(recorder->batch, job->text);
        recorder->n_samples = 0;
        job->dir = manager->ground.setup.state;
        job->limits = (RecordingLimits){ .max_bytes = recorder->options.max_megabytes * MEGABYTE,
                                         .max_age_usec = recorder->options.max_age_usec };
        job->last_usec = clock_usec(CLOCK_REALTIME);
        job->done = 0;
        recorder->thread = g_thread_try_new("recording", write_job, job, NULL);
        if (!recorder->thread) /* then the event loop waits for the disk */
                write_job(job);
}

static void add_transitions(const Manager *manager, Recorder *recorder)
{
        uint64_t last = history_count(manager_history(manager));

        while (recorder->transition < last) {
                const Transition *t = history_find(manager_history(manager),
                                                   ++recorder->transition);
                g_autofree char *text = t ? transition_explain(t) : NULL;

                if (t)
                        recording_event(
                                recorder->sampler,
                                &(RecordingEvent){ .time_usec = t->time_usec,
                                                   .kind = "transition",
                                                   .cpus = t->parked,
                                                   .policy = cause_name(t->cause, t->policy),
                                                   .text = text });
        }
}

static void add_holds(const Manager *manager, Recorder *recorder)
{
        for (unsigned i = 0; i < holds_count(manager_holds(manager)); i++) {
                const Held *held = holds_nth(manager_holds(manager), i);
                const Hold *hold = holds_hold(held);
                g_autofree char *cpus = cpuset_format(&hold->cpus);
                g_autofree char *kinds = held->kinds ? kinds_format(held->kinds) : NULL;

                recording_hold(recorder->sampler, &(RecordingHold){ .id = held->id,
                                                                    .owner = held->owner,
                                                                    .uid = held->shown_uid,
                                                                    .latency_us = hold->latency_us,
                                                                    .p99_us = held->contract.p99_us,
                                                                    .khz = hold->min_khz,
                                                                    .cores = hold->min_cores,
                                                                    .global = hold->global,
                                                                    .cpus = cpus,
                                                                    .kinds = kinds,
                                                                    .profile = hold->profile,
                                                                    .reason = hold->reason });
        }
        recording_holds_end(recorder->sampler);
}

static const char *profile_name(const Manager *manager)
{
        return manager->ground.config->profile ? manager->ground.config->profile->name : NULL;
}

static void add_pauses(const Manager *manager, Recorder *recorder)
{
        g_autoptr(GString) text = g_string_new(NULL);
        const Pause *pause;

        for (unsigned i = 0; (pause = pauses_nth(manager_pauses(manager), i)); i++)
                g_string_append_printf(text, "%s%s: %s", i ? "; " : "", pause->owner,
                                       pause->reason);
        recording_pauses(recorder->sampler, pauses_any(manager_pauses(manager)) ? text->str : NULL);
}

void manager_record_changes(Manager *manager, unsigned changes)
{
        Recorder *recorder = manager->recorder;

        if (!recorder)
                return;
        if (changes & CHANGE_HOLDS)
                add_holds(manager, recorder);
        if (changes & CHANGE_PROFILE)
                recording_profile(recorder->sampler, profile_name(manager),
                                  manager_profile(manager)->reason);
        if (changes & CHANGE_PAUSED)
                add_pauses(manager, recorder);
        if (changes & CHANGE_PARKED)
                add_transitions(manager, recorder);
}

/* The CPUs, if they are not those that were recorded. */
static void put_machine(const Manager *manager, Recorder *recorder)
{
        const Topology *topology = manager_topology(manager);
        IdleTable *tables;

        if (!recording_is_other(recorder->sampler, topology))
                return;
        tables = idle_tables_read(manager->ground.setup.root, topology->n_cpus);
        recording_machine(recorder->sampler, topology, tables);
        recorder->idle = tables;
}

static void fill_cpus(const Manager *manager, Recorder *recorder)
{
        const CpuWish *wishes = manager_plan(manager)->cpus;

        CPUSET_FOREACH(cpu, &manager_topology(manager)->online) {
                const CpuWish *wish = wishes ? &wishes[cpu] : NULL;

                recorder->cpus[cpu] = (RecordingCpu){
                        .frequency_khz = NAN,
                        .parked = cpuset_has(manager_parked(manager), cpu),
                        .latency_limit_us = wish && wish->latency_us >= 0 ? wish->latency_us : NAN,
                        .min_khz = wish && wish->min_khz > 0 ? wish->min_khz : NAN,
                        .max_khz = wish && wish->max_khz > 0 ? wish->max_khz : NAN,
                };
        }
}

static void put_set(Recorder *recorder, const char *name, const CpuSet *set)
{
        g_autofree char *text = cpuset_format(set);

        recording_put_text(recorder->machine, name, NULL, text);
}

/* What the daemon decides, in the row of the sample. */
static void put_daemon(const Manager *manager, Recorder *recorder)
{
        RecordingTable *machine = recorder->machine;
        CpuSet allowed = manager_topology(manager)->online;

        cpuset_subtract(&allowed, manager_parked(manager));
        put_set(recorder, "parked", manager_parked(manager));
        put_set(recorder, "allowed", &allowed);
        recording_put(
                machine, "wanted_cores", NULL, "cores", 0,
                topology_count_cores(manager_topology(manager), &manager_plan(manager)->allowed));
        recording_put(machine, "active_cores", NULL, "cores", 0,
                      topology_count_cores(manager_topology(manager), &allowed));
        recording_put(machine, "holds", NULL, "", 0, holds_count(manager_holds(manager)));
        recording_put(machine, "transitions", NULL, "", 0,
                      (double)history_count(manager_history(manager)));
        recording_put(machine, "paused", NULL, "", 0, pauses_any(manager_pauses(manager)));
        recording_put_text(machine, "profile", NULL, profile_name(manager));
        recording_put(machine, "daemon_cpu_usec", NULL, "us", 0,
                      (double)clock_usec(CLOCK_PROCESS_CPUTIME_ID));
}

/* By the names that `idlelab record` writes. */
static void put_counters(const Manager *manager, Recorder *recorder)
{
        static const char *const parts[] = { "", "-core", "-uncore", "-dram" };
        const Snapshot *seen = recorder->readings.seen;
        const EnergyDomain *domains;
        int n = MIN(sensors_energy_domains(seen_sensors(manager->seen), &domains), seen->n_energy);

        for (int p = 0; p < manager_topology(manager)->n_packages; p++)
                for (unsigned i = 0; i < G_N_ELEMENTS(parts); i++) {
                        EnergyUse use = energy_of_package(domains, n, seen->energy, p, parts[i]);
                        g_autofree char *name = g_strdup_printf("package-%d%s", p, parts[i]);

                        recording_put(recorder->machine, "power_watts", name, "W", 3,
                                      use.valid ? use.watts : NAN);
                }
        for (int i = 0; i < n; i++)
                if (domains[i].parent < 0 && !domains[i].package && !domains[i].sampled &&
                    seen->energy[i].valid)
                        recording_put(recorder->machine, "power_watts", domains[i].name, "W", 3,
                                      seen->energy[i].watts);
}

static void put_power(const Manager *manager, Recorder *recorder)
{
        const Topology *topology = manager_topology(manager);
        const PowerTable *table = manager->ground.config->power;
        const Snapshot *seen = recorder->readings.seen;

        if (seen->have & SENSE_ENERGY)
                put_counters(manager, recorder);
        if (recorder->source == ENERGY_SOURCE_BATTERY)
                recording_put(recorder->machine, "power_watts", "battery", "W", 3,
                              battery_watts(&recorder->battery, manager->ground.setup.root,
                                            clock_usec(CLOCK_BOOTTIME)));
        if (recorder->source != ENERGY_SOURCE_ESTIMATE || !(seen->have & SENSE_RESIDENCY))
                return;
        for (int p = 0; p < topology->n_packages; p++) {
                g_autofree char *package = g_strdup_printf("package-%d", p);

                recording_put(recorder->machine, "estimated_watts", package, "W", 3,
                              power_table_package_watts(table, topology, recorder->idle, seen, p));
        }
}

/* What policies save, rounded as on the bus. */
static void put_saved(const Manager *manager, Recorder *recorder)
{
        RecordingTable *machine = recorder->machine;
        const ActivePolicy *p;

        for (unsigned i = 0; (p = manager_policy(manager, i)); i++) {
                const char *name = p->policy->name;
                const Interval *watts;
                Interval joules;

                if (!p->evaluator)
                        continue;
                joules = evaluator_saved_joules(p->evaluator);
                watts = &p->evaluator->found.watts;
                recording_put(machine, "saved_joules", name, "J", 0, joules.value);
                recording_put(machine, "saved_joules_low", name, "J", 0, joules.low);
                recording_put(machine, "saved_joules_high", name, "J", 0, joules.high);
                recording_put(machine, "saved_watts", name, "W", 1, watts->value);
                recording_put(machine, "saved_watts_low", name, "W", 1, watts->low);
                recording_put(machine, "saved_watts_high", name, "W", 1, watts->high);
                recording_put(machine, "effective_share", name, "share", 3,
                              evaluator_effective_share(p->evaluator));
                recording_put_text(machine, "saved_verdict", name,
                                   verdict_text(p->evaluator->found.verdict));
                recording_put_text(machine, "saved_source", name,
                                   energy_source_text(recorder->source));
        }
}

static void add_sample(Manager *manager)
{
        Recorder *recorder = manager->recorder;
        int r = readings_read(&recorder->readings, seen_sensors(manager->seen), SENSE_EVERYTHING);

        if (r < 0) {
                log_debug("No sample is recorded: %s", g_strerror(-r));
                return;
        }
        recording_clocks(recorder->sampler, clock_usec(CLOCK_REALTIME), clock_usec(CLOCK_BOOTTIME),
                         recorder->options.interval_usec);
        put_machine(manager, recorder);
        recorder->source = evaluation_source(manager->decided);
        recording_fact(recorder->sampler, "energy_source", energy_source_text(recorder->source));
        fill_cpus(manager, recorder);
        if (!recording_sample(recorder->sampler, recorder->readings.seen, recorder->cpus))
                return;
        put_daemon(manager, recorder);
        put_power(manager, recorder);
        put_saved(manager, recorder);
        recorder->n_samples++;
        if (recorder->thread && g_atomic_int_get(&recorder->job.done))
                end_job(recorder);
        if (recorder->n_samples >= FRAME_SAMPLES ||
            recording_batch_size(recorder->batch) >= RECORDING_BATCH_FULL / 4)
                begin_job(manager, recorder);
}

/* Takes a sample; the next is due after an interval. */
static void take_sample(Manager *manager)
{
        Recorder *recorder = manager->recorder;

        add_sample(manager);
        recorder->due_usec = manager_now() + recorder->options.interval_usec;
        timer_set_at(recorder->timer, recorder->due_usec);
}

static int on_record(sd_event_source *source, uint64_t usec, void *userdata)
{
        take_sample(userdata);
        return 0;
}

static void begin(Manager *manager, const RecordingOptions *options)
{
        Recorder *recorder = g_new0(Recorder, 1);
        int n_cpus = manager_topology(manager)->n_cpus, r;

        recorder->options = *options;
        readings_init(&recorder->readings, n_cpus);
        recorder->batch = recording_batch_new();
        recorder->sampler = recording_sampler_new(recorder->batch);
        recorder->machine = recording_table(recorder->batch, "machine");
        recorder->cpus = g_new(RecordingCpu, (gsize)n_cpus);
        recorder->job.text = g_string_new(NULL);
        recorder->transition = history_count(manager_history(manager));
        manager->recorder = recorder;
        /* A quarter of the interval later will do as well, together with other timers. */
        r = timer_add(manager->ground.event, &recorder->timer, options->interval_usec / 4,
                      on_record, manager);
        if (r < 0)
                log_error_errno(r, "The timer of the recording cannot be set: %m");
        recording_facts(recorder->sampler, manager->ground.setup.root, "idled", IDLED_VERSION,
                        options->interval_usec);
        recording_event_now(recorder->sampler, "start", NULL, NULL, NULL);
        manager_record_changes(manager, CHANGE_HOLDS | CHANGE_PROFILE | CHANGE_PAUSED);
        take_sample(manager);
}

void manager_record_end(Manager *manager)
{
        Recorder *recorder = manager->recorder;

        if (!recorder)
                return;
        recording_event_now(recorder->sampler, "end", NULL, NULL, NULL);
        end_job(recorder);
        begin_job(manager, recorder);
        end_job(recorder);
        manager->recorder = NULL;
        sd_event_source_disable_unref(recorder->timer);
        readings_done(&recorder->readings);
        recording_sampler_free(recorder->sampler);
        recording_batch_free(recorder->batch);
        g_string_free(recorder->job.text, TRUE);
        g_free(recorder->cpus);
        g_free(recorder);
}

void manager_record_follow(Manager *manager)
{
        const RecordingOptions *options =
                config_section(manager->ground.config, "Recording")->options;
        Recorder *recorder = manager->recorder;

        if (!manager->ground.setup.state || !options->enabled) {
                manager_record_end(manager);
                return;
        }
        if (recorder && recorder->options.interval_usec != options->interval_usec) {
                manager_record_end(manager);
                recorder = NULL;
        }
        if (!recorder) {
                begin(manager, options);
                return;
        }
        recorder->options = *options;
        if (manager_now() >= recorder->due_usec)
                take_sample(manager);
}
