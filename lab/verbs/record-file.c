/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record FILE: samples of the machine, and of idled if it runs, as docs/recording.md says.
 *
 * What changes rarely, or wakes a CPU of each package (limits, temperature), is read every five
 * seconds at most. A frame is written every ten seconds: so much is lost if idlelab is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/client.h"
#include "cli/facts.h"
#include "cli/price.h"
#include "model/energy-source.h"
#include "cli/observe.h"
#include "record.h"
#include "sense/work-meter.h"
#include "sense/power.h"
#include "cli/sleeps-read.h"
#include "cli/temperature.h"
#include "cli/watch.h"

#define INTERVAL_USEC (1000u * 1000)
#define FRAME_USEC    (10u * 1000 * 1000)
#define SLOW_USEC     (5u * 1000 * 1000)
#define SLACK_USEC    (20ul * 1000)
#define BUSY_LEAST    0.01
#define SENSES        (SENSE_EVERYTHING & ~(unsigned)SENSE_ENERGY)

RecordAsks record_asked;

typedef struct Recorder {
        Ctl *ctl;
        uint64_t interval_usec;
        Watch *watch;
        RecordingBatch *batch;
        RecordingTable *machine;
        RecordingSampler *sampler;
        RecordingFile *file;
        RecordingCpu *cpus; /* by CPU number */
        RecordDaemon *daemon;
        EnergySource source;
        BatteryMeter battery;
        PowerTable *table;     /* NULL: none, or energy is measured */
        SleepsReader *sleeps;  /* NULL: not asked for */
        const char *no_sleeps; /* why it is not known what ends sleeps; NULL: it is */
        Temperatures temperatures;
        uint64_t slow_usec, energy_usec, frame_usec; /* when each was done last, monotonic */
        uint64_t samples, written;                   /* the latter: of those, in the file */
        int error;                                   /* why no more is recorded */
} Recorder;

static void put_cpu_model(Recorder *recorder)
{
        g_autofree char *text = NULL;
        const char *model, *colon;

        if (file_read(recorder->ctl->root, "proc/cpuinfo", &text) < 0)
                return;
        model = strstr(text, "model name");
        colon = model ? strchr(model, ':') : NULL;
        if (colon) {
                g_autofree char *name = g_strndup(colon + 1, strcspn(colon + 1, "\n"));

                recording_fact(recorder->sampler, "cpu_model", g_strstrip(name));
        }
}

static void put_facts(Recorder *recorder, char *const *command)
{
        RecordingSampler *sampler = recorder->sampler;

        recording_facts(sampler, recorder->ctl->root, "idlelab", IDLED_VERSION,
                        recorder->interval_usec);
        put_cpu_model(recorder);
        recording_fact(sampler, "energy_source", energy_source_text(recorder->source));
        if (command[0]) {
                g_autofree char *line = g_strjoinv(" ", (char **)command);

                recording_fact(sampler, "command", line);
        }
        if (!client_manager(recorder->ctl->client))
                recording_fact(sampler, "daemon", client_problem(recorder->ctl->client));
}

/* The machine's CPUs, if they are not those that were recorded. */
static void put_machine(Recorder *recorder)
{
        const Topology *topology = recorder->watch->topology;

        if (recording_is_other(recorder->sampler, topology))
                recording_machine(recorder->sampler, topology,
                                  idle_tables_read(recorder->ctl->root, topology->n_cpus));
}

/* A CPU that sleeps is not asked for its frequency: kernels before 5.18 would wake it. */
static void read_cpus(Recorder *recorder, bool slow)
{
        const Snapshot *seen = recorder->watch->seen;
        int root = recorder->ctl->root;

        CPUSET_FOREACH(cpu, &seen->cpus) {
                RecordingCpu *row = &recorder->cpus[cpu];
                int64_t limit;

                row->frequency_khz = (double)seen->busy[cpu] < BUSY_LEAST
                                             ? NAN
                                             : cpufreq_khz(root, cpu, "scaling_cur_freq");
                if (!slow)
                        continue;
                limit = idle_latency_limit(root, cpu);
                row->latency_limit_us = limit < 0 ? NAN : (double)limit;
                row->min_khz = cpufreq_khz(root, cpu, "scaling_min_freq");
                row->max_khz = cpufreq_khz(root, cpu, "scaling_max_freq");
        }
}

static void put_watts(Recorder *recorder, const char *suffix, const double *watts)
{
        for (int p = 0; p < recorder->watch->topology->n_packages; p++) {
                g_autofree char *domain = g_strdup_printf("package-%d%s", p, suffix);

                recording_put(recorder->machine, "power_watts", domain, "W", 3, watts[p]);
        }
}

static void put_power(Recorder *recorder)
{
        const Watch *watch = recorder->watch;

        if (watch->energy_usec > recorder->energy_usec) {
                recorder->energy_usec = watch->energy_usec;
                put_watts(recorder, "", watch->package_watts);
                put_watts(recorder, "-core", watch->core_watts);
                put_watts(recorder, "-dram", watch->dram_watts);
        }
        if (recorder->source == ENERGY_SOURCE_BATTERY)
                recording_put(recorder->machine, "power_watts", "battery", "W", 3,
                              battery_watts(&recorder->battery, recorder->ctl->root,
                                            clock_usec(CLOCK_BOOTTIME)));
        for (int p = 0; recorder->table && p < watch->topology->n_packages; p++) {
                g_autofree char *package = g_strdup_printf("package-%d", p);

                recording_put(recorder->machine, "estimated_watts", package, "W", 3,
                              estimate_package_watts(recorder->table, watch, p));
        }
}

static void put_temperatures(Recorder *recorder)
{
        int n = recorder->watch->topology->n_packages;
        g_autofree double *celsius = g_new(double, (gsize)MAX(n, 1));

        temperatures_read(&recorder->temperatures, recorder->ctl->root, celsius, n);
        for (int p = 0; p < n; p++) {
                g_autofree char *package = g_strdup_printf("package-%d", p);

                recording_put(recorder->machine, "temperature_celsius", package, "C", 1,
                              celsius[p]);
        }
}

static void note_clocks(Recorder *recorder)
{
        recording_clocks(recorder->sampler, clock_usec(CLOCK_REALTIME), clock_usec(CLOCK_BOOTTIME),
                         recorder->interval_usec);
}

static void write_frame(Recorder *recorder)
{
        int r = recording_file_write(recorder->file, recorder->batch, clock_usec(CLOCK_REALTIME));

        recorder->frame_usec = recorder->watch->seen->time_usec;
        if (r < 0)
                recorder->error = r;
        else
                recorder->written = recorder->samples;
}

/* Adds a sample. */
static void take_sample(Recorder *recorder)
{
        uint64_t now;
        bool slow;
        int r = watch_sample(recorder->watch, SENSES, true);

        if (r < 0) {
                recorder->error = r;
                return;
        }
        put_machine(recorder);
        now = recorder->watch->seen->time_usec;
        slow = recorder->slow_usec == 0 || now - recorder->slow_usec >= SLOW_USEC;
        if (slow)
                recorder->slow_usec = now;
        note_clocks(recorder);
        read_cpus(recorder, slow);
        record_daemon_ask(recorder->daemon, recorder->cpus, recorder->watch->topology->n_cpus);
        if (!recording_sample(recorder->sampler, recorder->watch->seen, recorder->cpus))
                return;
        recorder->samples++;
        put_power(recorder);
        if (slow)
                put_temperatures(recorder);
        record_daemon_put(recorder->daemon);
}

static bool sample_and_write(void *data)
{
        Recorder *recorder = data;

        unsigned long slack = MIN(SLACK_USEC, recorder->interval_usec / 20);

        prctl(PR_SET_TIMERSLACK, slack * 1000, 0, 0, 0); /* of this process, not of the command */
        take_sample(recorder);
        if (recorder->error == 0 &&
            (recorder->watch->seen->time_usec - recorder->frame_usec >= FRAME_USEC ||
             recording_file_is_due(recorder->file, recorder->batch)))
                write_frame(recorder);
        return recorder->error == 0;
}

/* The handler of a signal that only ends a write(2); unlike SIG_IGN the command does not inherit
 * it. */
static void ignore(int signal_number)
{
}

/* Begins a row of a CPU. */
static void begin_row(RecordingTable *table, double time_usec, int cpu)
{
        recording_row_of(table, "cpu", cpu);
        recording_put(table, "time_usec", NULL, "us", 0, time_usec);
}

static const char *state_name(const Sleeps *sleeps, int cpu, int state)
{
        const IdleTable *table = &sleeps->tables[cpu];

        return state >= 0 && state < table->n_states ? table->states[state].name : NULL;
}

static void add_histogram(RecordingTable *table, double time_usec, int cpu,
                          const struct sleep_stats *stats)
{
        for (unsigned i = 0; i < SLEEPS_BUCKETS; i++) {
                if (stats->hist[i] == 0)
                        continue;
                begin_row(table, time_usec, cpu);
                recording_put(table, "at_least_ns", NULL, "ns", 0, (double)sleep_bucket_begin(i));
                recording_put(table, "below_ns", NULL, "ns", 0,
                              i + 1 < SLEEPS_BUCKETS ? (double)sleep_bucket_begin(i + 1) : NAN);
                recording_put(table, "count", NULL, "", 0, stats->hist[i]);
        }
}

static void add_sleeps(RecordingBatch *batch, const Sleeps *sleeps, double time_usec, int cpu)
{
        RecordingTable *table = recording_table(batch, "sleep");

        for (int state = 0; state < SLEEPS_STATES; state++) {
                const struct sleep_stats *stats =
                        &sleeps->totals.sleeps[cpu * SLEEPS_STATES + state];

                if (stats->count == 0)
                        continue;
                begin_row(table, time_usec, cpu);
                recording_put_text(table, "state", NULL, state_name(sleeps, cpu, state));
                recording_put(table, "sleeps", NULL, "", 0, (double)stats->count);
                recording_put(table, "sleep_usec", NULL, "us", 0, (double)stats->sum_ns / 1000);
                add_histogram(recording_table(batch, "sleep_length"), time_usec, cpu, stats);
        }
        if (sleeps->totals.latencies)
                add_histogram(recording_table(batch, "latency"), time_usec, cpu,
                              &sleeps->totals.latencies[cpu]);
}

static void add_cause(RecordingTable *table, const Sleeps *sleeps, double time_usec,
                      const LedgerCause *cause)
{
        bool both = cause->function && cause->name;
        g_autofree char *name = g_strconcat(cause->function ?: "", both ? " (" : "",
                                            cause->name ?: "", both ? ")" : "", NULL);

        begin_row(table, time_usec, cause->cpu);
        recording_put_text(table, "state", NULL, state_name(sleeps, cause->cpu, cause->state));
        recording_put_text(table, "kind", NULL, ledger_kind_text(cause->kind));
        recording_put_text(table, "name", NULL, *name ? name : NULL);
        recording_put_text(table, "unit", NULL, cause->unit);
        recording_put(table, "sleeps", NULL, "", 0, (double)cause->value.count);
        recording_put(table, "sleep_usec", NULL, "us", 0, (double)cause->value.slept_ns / 1000);
        recording_put(table, "lacked_usec", NULL, "us", 0, (double)cause->value.short_ns / 1000);
}

static void add_all_sleeps(RecordingBatch *batch, const Sleeps *sleeps, uint64_t time_usec)
{
        for (int cpu = 0; cpu < sleeps->totals.n_cpus; cpu++)
                add_sleeps(batch, sleeps, (double)time_usec, cpu);
        for (size_t i = 0; i < sleeps->totals.n_causes; i++)
                add_cause(recording_table(batch, "wakeup"), sleeps, (double)time_usec,
                          &sleeps->totals.causes[i]);
}

/* Latencies are counted as well, without any limit. */
static void begin_sleeps(Recorder *recorder)
{
        int n_cpus = recorder->watch->topology->n_cpus;
        g_autofree uint64_t *limits_ns = g_new0(uint64_t, (gsize)n_cpus);

        recorder->sleeps = sleeps_begin(recorder->ctl, limits_ns, n_cpus);
}

static void put_sleeps(Recorder *recorder)
{
        const Sleeps *sleeps = sleeps_end(recorder->sleeps);

        add_all_sleeps(recorder->batch, sleeps, clock_usec(CLOCK_REALTIME));
        recording_fact(recorder->sampler, "sleeps", sleeps->why);
        recorder->no_sleeps = sleeps->why;
}

/* Returns the exit status, of the command if there is one. */
static int record_all(Recorder *recorder, char *const *command)
{
        uint64_t usec = sleeps_asked > 0 ? sleeps_usec() : OBSERVE_FOREVER;
        int status;

        recorder->error = watch_begin(recorder->watch, SENSES, true);
        if (recorder->error < 0)
                return EXIT_FAILED;
        recorder->frame_usec = recorder->watch->seen->time_usec;
        put_machine(recorder);
        put_facts(recorder, command);
        note_clocks(recorder);
        recording_event_now(recorder->sampler, "start", NULL, NULL, command[0]);
        observe(record_asked.file, usec, command, recorder->interval_usec, sample_and_write,
                recorder, &status);
        if (recorder->error < 0)
                return status;
        if (recorder->samples == 0 ||
            (uint64_t)g_get_monotonic_time() - recorder->watch->seen->time_usec >= READING_USEC)
                take_sample(recorder); /* what is left of an interval */
        if (recorder->sleeps)
                put_sleeps(recorder);
        recording_event_now(recorder->sampler, "end", NULL, NULL, NULL);
        write_frame(recorder);
        return status;
}

static json_object *describe(const Recorder *recorder, double seconds, double spent)
{
        json_object *answer = json_object_new_object();

        json_put_text(answer, "file", record_asked.file);
        json_put_real(answer, "seconds", seconds, 3);
        json_put_int(answer, "samples", (int64_t)recorder->written);
        json_put_int(answer, "cpus", cpuset_count(&recorder->watch->topology->online));
        json_put_int(answer, "frames", (int64_t)recording_file_frames(recorder->file));
        json_put_int(answer, "file_bytes", (int64_t)recording_file_size(recorder->file));
        json_put_text(answer, "daemon_error",
                      client_manager(recorder->ctl->client)
                              ? NULL
                              : client_problem(recorder->ctl->client));
        json_put_text(answer, "sleeps_problem", recorder->no_sleeps);
        json_put_real(answer, "own_cpu_seconds", spent, 3);
        return answer;
}

static int complain_open(int r)
{
        static const struct {
                int error;
                const char *text;
        } obstacles[] = {
                { EEXIST, "the file exists, expected a new one; --append continues a recording" },
                { EBADMSG, "found something else, expected a recording; nothing was written" },
                { EPROTONOSUPPORT,
                  "found a recording in the form from before 24 November 2026, which cannot be "
                  "continued" },
                { EBUSY, "another process records into it" },
                { EINVAL, "--max-size and --max-age expect a regular file" },
        };
        const char *text = g_strerror(-r);

        for (size_t i = 0; i < G_N_ELEMENTS(obstacles); i++)
                if (obstacles[i].error == -r)
                        text = obstacles[i].text;
        return complain("%s: %s", record_asked.file, text);
}

static int recorder_init(Recorder *recorder, Ctl *ctl)
{
        BatteryReading battery;
        int r;

        *recorder = (Recorder){
                .ctl = ctl,
                .interval_usec = interval_asked_usec ?: INTERVAL_USEC,
        };
        r = watch_new(ctl->root, &recorder->watch);
        if (r < 0)
                return complain_cpus(ctl, r);
        r = recording_file_open(AT_FDCWD, record_asked.file, &record_asked.limits,
                                record_asked.append || record_asked.limits.max_bytes ||
                                        record_asked.limits.max_age_usec,
                                &recorder->file);
        if (r < 0) {
                watch_free(recorder->watch);
                return complain_open(r);
        }
        recorder->batch = recording_batch_new();
        recorder->sampler = recording_sampler_new(recorder->batch);
        recorder->machine = recording_table(recorder->batch, "machine");
        recorder->cpus = g_new(RecordingCpu, (gsize)recorder->watch->topology->n_cpus);
        for (int cpu = 0; cpu < recorder->watch->topology->n_cpus; cpu++)
                recorder->cpus[cpu] = recording_cpu_unknown;
        if (recorder->watch->energy_error < 0)
                recorder->table = estimate_table(ctl, false);
        recorder->source = recorder->watch->energy_error == 0       ? recorder->watch->energy_source
                           : recorder->table                        ? ENERGY_SOURCE_ESTIMATE
                           : battery_read(ctl->root, &battery) == 0 ? ENERGY_SOURCE_BATTERY
                                                                    : ENERGY_SOURCE_NONE;
        if (record_asked.sleeps)
                begin_sleeps(recorder);
        temperatures_init(&recorder->temperatures, ctl->root);
        recorder->daemon = record_daemon_new(ctl->client, recorder->sampler, recorder->machine);
        return EXIT_FINE;
}

static int recorder_done(Recorder *recorder)
{
        int r = recording_file_close(recorder->file);

        if (recorder->sleeps)
                sleeps_free(recorder->sleeps);
        record_daemon_free(recorder->daemon);
        temperatures_done(&recorder->temperatures);
        power_table_free(recorder->table);
        g_free(recorder->cpus);
        recording_sampler_free(recorder->sampler);
        recording_batch_free(recorder->batch);
        watch_free(recorder->watch);
        return r;
}

int record_file_ask(Ctl *ctl, char *const *command, json_object **ret_answer)
{
        const struct sigaction no_kill = { .sa_handler = ignore };
        int64_t began = g_get_monotonic_time();
        uint64_t spent_usec = clock_usec(CLOCK_PROCESS_CPUTIME_ID);
        Recorder recorder;
        int r, closed, status;

        if (recorder_init(&recorder, ctl) != EXIT_FINE)
                return EXIT_FAILED;
        sigaction(SIGXFSZ, &no_kill, NULL);
        status = record_all(&recorder, command);
        *ret_answer = describe(&recorder, (double)(g_get_monotonic_time() - began) / 1e6,
                               (double)(clock_usec(CLOCK_PROCESS_CPUTIME_ID) - spent_usec) / 1e6);
        closed = recorder_done(&recorder);
        r = recorder.error ?: closed;
        if (r < 0)
                status = complain("%s: recording ended early: %s%s", record_asked.file,
                                  g_strerror(-r),
                                  json_int(*ret_answer, "file_bytes", 0) > 0
                                          ? "; what was written before can be read"
                                          : "");
        return status;
}

/* Not between the frames on standard output. */
void record_file_show(const Ctl *ctl, json_object *answer)
{
        FILE *file = g_str_equal(json_text(answer, "file"), "-") ? stderr : stdout;
        int64_t samples = json_int(answer, "samples", 0), cpus = json_int(answer, "cpus", 0);

        fprintf(file,
                "%" G_GINT64_FORMAT " sample%s of %" G_GINT64_FORMAT " CPU%s in %.1f s, %.1f kB, "
                "%.2f s of CPU time\n",
                samples, samples == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s",
                json_number(answer, "seconds", 0), json_number(answer, "file_bytes", 0) / 1000,
                json_number(answer, "own_cpu_seconds", 0));
        if (json_get(answer, "daemon_error"))
                fprintf(file, "Plan, holds and transitions were not recorded: %s\n",
                        json_text(answer, "daemon_error"));
        if (json_get(answer, "sleeps_problem"))
                fprintf(file, "What ends sleeps was not recorded: %s\n",
                        json_text(answer, "sleeps_problem"));
}
