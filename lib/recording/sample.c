/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Samples as rows. Columns of idle states have the names of the states, because their indexes mean
 * something else on every CPU.
 */
#include "recording/sample.h"

#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/cpuset-text.h"

#define SHARE_DECIMALS 4             /* of an interval of a second: 0.1 ms */
#define CLOCK_STEP     (1000 * 1000) /* us; more than NTP slews the clock in an interval */

const RecordingCpu recording_cpu_unknown = { NAN, NAN, NAN, NAN, NAN };

/* Numbers of a state's columns. */
typedef struct StateColumns {
        int share, entered, above, below;
} StateColumns;

/* Numbers of the columns of table cpu that are not about a state. */
typedef struct CpuColumns {
        int cpu, time, busy, estimated, khz, parked, limit, min_khz, max_khz;
} CpuColumns;

struct RecordingSampler {
        RecordingTable *info, *topology, *states, *machine, *cpu, *event;
        GPtrArray *facts; /* key, value, key, value, ... */
        CpuSet online;    /* as recorded */
        int n_cpus;
        StateColumns *columns;         /* by CPU number times IDLE_STATES_MAX */
        uint64_t real_usec, boot_usec; /* of the last sample; 0: none */
        CpuColumns at;
};

RecordingSampler *recording_sampler_new(RecordingBatch *batch)
{
        RecordingSampler *sampler = g_new0(RecordingSampler, 1);

        sampler->info = recording_table(batch, "info");
        sampler->topology = recording_table(batch, "topology");
        sampler->states = recording_table(batch, "idle_state");
        sampler->machine = recording_table(batch, "machine");
        sampler->cpu = recording_table(batch, "cpu");
        sampler->event = recording_table(batch, "event");
        recording_table_lasts(sampler->info);
        recording_table_lasts(sampler->topology);
        recording_table_lasts(sampler->states);
        sampler->facts = g_ptr_array_new_with_free_func(g_free);
        sampler->at.cpu = recording_key(sampler->cpu, "cpu", "");
        sampler->at.time = recording_number(sampler->cpu, "time_usec", NULL, "us", 0);
        sampler->at.busy = recording_number(sampler->cpu, "busy_share", NULL, "share",
                                            SHARE_DECIMALS);
        sampler->at.estimated = recording_number(sampler->cpu, "estimated", NULL, "", 0);
        sampler->at.khz = recording_number(sampler->cpu, "frequency_khz", NULL, "kHz", 0);
        sampler->at.parked = recording_number(sampler->cpu, "parked", NULL, "", 0);
        sampler->at.limit = recording_number(sampler->cpu, "latency_limit_us", NULL, "us", 0);
        sampler->at.min_khz = recording_number(sampler->cpu, "min_khz", NULL, "kHz", 0);
        sampler->at.max_khz = recording_number(sampler->cpu, "max_khz", NULL, "kHz", 0);
        return sampler;
}

void recording_sampler_free(RecordingSampler *sampler)
{
        if (!sampler)
                return;
        g_ptr_array_unref(sampler->facts);
        g_free(sampler->columns);
        g_free(sampler);
}

void recording_fact(RecordingSampler *sampler, const char *key, const char *value)
{
        int key_at = recording_text(sampler->info, "key", NULL);
        int value_at = recording_text(sampler->info, "value", NULL);
        GPtrArray *facts = sampler->facts;
        guint i = 0;

        while (i < facts->len && !g_str_equal(g_ptr_array_index(facts, i), key))
                i += 2;
        if (i < facts->len)
                g_ptr_array_remove_range(facts, i, 2);
        if (value) {
                g_ptr_array_add(facts, g_strdup(key));
                g_ptr_array_add(facts, g_strdup(value));
        }
        recording_table_clear(sampler->info);
        for (i = 0; i < facts->len; i += 2) {
                recording_row(sampler->info);
                recording_put_text(sampler->info, key_at, g_ptr_array_index(facts, i));
                recording_put_text(sampler->info, value_at, g_ptr_array_index(facts, i + 1));
        }
}

static void put_topology(RecordingSampler *sampler, const Topology *topology)
{
        RecordingTable *table = sampler->topology;
        static const char *const names[] = { "core", "cluster", "die",     "package",
                                             "node", "thread",  "capacity" };
        int cpu_at = recording_key(table, "cpu", ""), at[G_N_ELEMENTS(names)];

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                at[i] = recording_number(table, names[i], NULL, "", 0);
        recording_table_clear(table);
        CPUSET_FOREACH(cpu, &topology->online) {
                const TopologyCpu *place = &topology->cpus[cpu];
                const double numbers[G_N_ELEMENTS(names)] = { place->core,    place->cluster,
                                                              place->die,     place->package,
                                                              place->node,    place->thread,
                                                              place->capacity };

                recording_row(table);
                recording_put(table, cpu_at, cpu);
                for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                        recording_put(table, at[i], numbers[i]);
        }
}

static void put_states(RecordingSampler *sampler, const Topology *topology, const IdleTable *tables)
{
        RecordingTable *table = sampler->states, *cpu_table = sampler->cpu;
        int cpu_at = recording_key(table, "cpu", "");
        int name = recording_text(table, "name", NULL);
        int latency = recording_number(table, "exit_latency_us", NULL, "us", 0);
        int residency = recording_number(table, "target_residency_us", NULL, "us", 0);

        recording_table_clear(table);
        CPUSET_FOREACH(cpu, &topology->online)
                for (int s = 0; s < tables[cpu].n_states; s++) {
                        const IdleState *state = &tables[cpu].states[s];

                        recording_row(table);
                        recording_put(table, cpu_at, cpu);
                        recording_put_text(table, name, state->name);
                        recording_put(table, latency, state->exit_latency_us);
                        recording_put(table, residency, state->target_residency_us);
                        sampler->columns[cpu * IDLE_STATES_MAX + s] = (StateColumns){
                                recording_number(cpu_table, "residency_share", state->name, "share",
                                                 SHARE_DECIMALS),
                                recording_number(cpu_table, "entered", state->name, "", 0),
                                recording_number(cpu_table, "above", state->name, "", 0),
                                recording_number(cpu_table, "below", state->name, "", 0),
                        };
                }
}

bool recording_is_other(const RecordingSampler *sampler, const Topology *topology)
{
        return !cpuset_equal(&topology->online, &sampler->online);
}

void recording_machine(RecordingSampler *sampler, const Topology *topology, const IdleTable *tables)
{
        g_autofree char *cpus = cpuset_format(&topology->online);

        if (!cpuset_is_empty(&sampler->online) && recording_is_other(sampler, topology))
                recording_event_now(sampler, "cpus", cpus, NULL, NULL);
        sampler->online = topology->online;
        sampler->n_cpus = topology->n_cpus;
        g_free(sampler->columns);
        sampler->columns = g_new(StateColumns, (gsize)sampler->n_cpus * IDLE_STATES_MAX);
        for (int i = 0; i < sampler->n_cpus * IDLE_STATES_MAX; i++)
                sampler->columns[i].share = -1;
        put_topology(sampler, topology);
        put_states(sampler, topology, tables);
}

static void put_residency(RecordingSampler *sampler, const Snapshot *seen, int cpu)
{
        const Residency *residency = &seen->residency[cpu];
        RecordingTable *table = sampler->cpu;

        recording_put(table, sampler->at.estimated, residency->estimated >= 0);
        for (int s = 0; s < residency->n_states; s++) {
                const StateColumns *columns = &sampler->columns[cpu * IDLE_STATES_MAX + s];

                if (columns->share < 0)
                        continue;
                recording_put(table, columns->share, (double)residency->share[s]);
                recording_put(table, columns->entered, residency->entered[s]);
                if (!(seen->have & SENSE_IDLE_STATISTICS))
                        continue;
                recording_put(table, columns->above, residency->above[s]);
                recording_put(table, columns->below, residency->below[s]);
        }
}

static void put_cpu(RecordingSampler *sampler, const Snapshot *seen, int cpu,
                    const RecordingCpu *more)
{
        RecordingTable *table = sampler->cpu;

        recording_row(table);
        recording_put(table, sampler->at.cpu, cpu);
        recording_put(table, sampler->at.time, (double)seen->real_usec);
        recording_put(table, sampler->at.busy, (double)seen->busy[cpu]);
        recording_put(table, sampler->at.khz, more->frequency_khz);
        recording_put(table, sampler->at.parked, more->parked);
        recording_put(table, sampler->at.limit, more->latency_limit_us);
        recording_put(table, sampler->at.min_khz, more->min_khz);
        recording_put(table, sampler->at.max_khz, more->max_khz);
        if (seen->have & SENSE_RESIDENCY && seen->residency)
                put_residency(sampler, seen, cpu);
}

static void put_machine(RecordingSampler *sampler, const Snapshot *seen)
{
        static const char *const averages[] = { "1min", "5min", "15min" };

        recording_row(sampler->machine);
        recording_sample_number(sampler, "time_usec", NULL, "us", 0, (double)seen->real_usec);
        recording_sample_number(sampler, "monotonic_usec", NULL, "us", 0, (double)seen->time_usec);
        recording_sample_number(sampler, "interval_usec", NULL, "us", 0,
                                (double)seen->interval_usec);
        recording_sample_number(sampler, "load", NULL, "CPUs", 3, seen->load);
        recording_sample_number(sampler, "running", NULL, "tasks", 0, seen->running);
        recording_sample_number(sampler, "blocked", NULL, "tasks", 0, seen->blocked);
        recording_sample_number(sampler, "switches", NULL, "1/s", 0, seen->switches_per_sec);
        for (size_t i = 0; i < G_N_ELEMENTS(averages) && seen->have & SENSE_LOADAVG; i++)
                recording_sample_number(sampler, "load_average", averages[i], "tasks", 2,
                                        seen->loadavg[i]);
        if (seen->have & SENSE_PRESSURE)
                recording_sample_number(sampler, "pressure_share", NULL, "share", SHARE_DECIMALS,
                                        seen->pressure);
        if (!(seen->have & SENSE_POWER))
                return;
        recording_sample_number(sampler, "on_battery", NULL, "", 0, seen->on_battery);
        if (seen->battery_level >= 0)
                recording_sample_number(sampler, "battery_share", NULL, "share", 3,
                                        seen->battery_level);
}

bool recording_sample(RecordingSampler *sampler, const Snapshot *seen, const RecordingCpu *cpus)
{
        if (seen->interval_usec == 0)
                return false;
        put_machine(sampler, seen);
        CPUSET_FOREACH(cpu, &seen->cpus)
                if (cpu < sampler->n_cpus)
                        put_cpu(sampler, seen, cpu, cpus ? &cpus[cpu] : &recording_cpu_unknown);
        return true;
}

void recording_sample_number(RecordingSampler *sampler, const char *name, const char *of,
                             const char *unit, int decimals, double value)
{
        recording_put(sampler->machine,
                      recording_number(sampler->machine, name, of, unit, decimals), value);
}

void recording_sample_text(RecordingSampler *sampler, const char *name, const char *of,
                           const char *text)
{
        recording_put_text(sampler->machine, recording_text(sampler->machine, name, of), text);
}

void recording_event(RecordingSampler *sampler, const RecordingEvent *event)
{
        RecordingTable *table = sampler->event;

        recording_row(table);
        recording_put(table, recording_number(table, "time_usec", NULL, "us", 0),
                      (double)event->time_usec);
        recording_put_text(table, recording_text(table, "kind", NULL), event->kind);
        recording_put_text(table, recording_text(table, "cpus", NULL), event->cpus);
        recording_put_text(table, recording_text(table, "policy", NULL), event->policy);
        recording_put_text(table, recording_text(table, "text", NULL), event->text);
}

void recording_event_now(RecordingSampler *sampler, const char *kind, const char *cpus,
                         const char *policy, const char *text)
{
        recording_event(sampler,
                        &(RecordingEvent){ clock_usec(CLOCK_REALTIME), kind, cpus, policy, text });
}

void recording_clocks(RecordingSampler *sampler, uint64_t real_usec, uint64_t boot_usec,
                      uint64_t interval_usec)
{
        int64_t gap = (int64_t)(boot_usec - sampler->boot_usec);
        int64_t step = (int64_t)(real_usec - sampler->real_usec) - gap;
        bool first = sampler->boot_usec == 0;

        sampler->real_usec = real_usec;
        sampler->boot_usec = boot_usec;
        if (!first && gap > 3 * (int64_t)interval_usec) {
                g_autofree char *text = g_strdup_printf("nothing was recorded for %.1f s",
                                                        (double)gap / 1e6);

                recording_event(sampler, &(RecordingEvent){ real_usec, "gap", .text = text });
        }
        if (!first && ABS(step) > CLOCK_STEP) {
                g_autofree char *text = g_strdup_printf("the clock was set %s by %.1f s",
                                                        step > 0 ? "forward" : "back",
                                                        (double)ABS(step) / 1e6);

                recording_event(sampler, &(RecordingEvent){ real_usec, "clock", .text = text });
        }
}

static void append_number(GString *text, const char *before, int64_t value, const char *after)
{
        if (value > 0)
                g_string_append_printf(text, "%s%" PRId64 "%s", before, value, after);
}

static void append_word(GString *text, const char *before, const char *word)
{
        if (word && *word)
                g_string_append_printf(text, "%s%s", before, word);
}

char *recording_hold_text(const RecordingHold *hold)
{
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "hold %" PRIu64 " of %s (user %u):", hold->id, hold->owner,
                               hold->uid);
        if (hold->latency_us >= 0)
                g_string_append_printf(text, " latency %" PRId64 " us%s", hold->latency_us,
                                       hold->global ? " on all CPUs" : "");
        append_number(text, " p99 of wake-ups ", hold->p99_us, " us");
        if (hold->cores >= CPUSET_MAX)
                g_string_append(text, " all cores");
        else
                append_number(text, " ", hold->cores, " cores");
        append_number(text, " ", hold->khz, " kHz");
        append_word(text, " cores of kind ", hold->kinds);
        append_word(text, " profile ", hold->profile);
        append_word(text, ": ", hold->reason);
        return g_string_free(text, FALSE);
}
