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
#include "base/file.h"
#include "base/private-text.h"

#define SHARE_DECIMALS 4             /* of an interval of a second: 0.1 ms */
#define CLOCK_STEP     (1000 * 1000) /* us; more than NTP slews the clock in an interval */

const RecordingCpu recording_cpu_unknown = { NAN, NAN, NAN, NAN, NAN };

struct RecordingSampler {
        RecordingBatch *batch;
        GPtrArray *facts; /* key, value, key, value, ... */
        CpuSet online;    /* as recorded */
        int n_cpus;
        IdleTable *idle;               /* by CPU number; n_states 0: offline */
        uint64_t real_usec, boot_usec; /* of the last sample; 0: none */
        char *profile;
        bool paused;
        GHashTable *holds, *held; /* number of a hold: its text; of now, and before */
};

static GHashTable *holds_new(void)
{
        return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

RecordingSampler *recording_sampler_new(RecordingBatch *batch)
{
        static const char *const tables[] = { "info",    "topology", "idle_state",
                                              "machine", "cpu",      "event" };
        RecordingSampler *sampler = g_new0(RecordingSampler, 1);

        for (size_t i = 0; i < G_N_ELEMENTS(tables); i++)
                recording_table(batch, tables[i]); /* in this order in a frame */
        sampler->batch = batch;
        sampler->facts = g_ptr_array_new_with_free_func(g_free);
        sampler->holds = holds_new();
        sampler->held = holds_new();
        return sampler;
}

void recording_sampler_free(RecordingSampler *sampler)
{
        if (!sampler)
                return;
        g_ptr_array_unref(sampler->facts);
        g_hash_table_unref(sampler->holds);
        g_hash_table_unref(sampler->held);
        g_free(sampler->profile);
        g_free(sampler->idle);
        g_free(sampler);
}

void recording_fact(RecordingSampler *sampler, const char *key, const char *value)
{
        RecordingTable *table = recording_table(sampler->batch, "info");
        GPtrArray *facts = sampler->facts;
        guint i = 0;

        while (i < facts->len && !g_str_equal(g_ptr_array_index(facts, i), key))
                i += 2;
        if (i < facts->len && g_strcmp0(g_ptr_array_index(facts, i + 1), value) == 0)
                return; /* said again */
        if (i < facts->len)
                g_ptr_array_remove_range(facts, i, 2);
        if (value) {
                g_ptr_array_add(facts, g_strdup(key));
                g_ptr_array_add(facts, g_strdup(value));
        }
        recording_table_lasts(table);
        for (i = 0; i < facts->len; i += 2) {
                recording_row(table);
                recording_put_text(table, "key", NULL, g_ptr_array_index(facts, i));
                recording_put_text(table, "value", NULL, g_ptr_array_index(facts, i + 1));
        }
}

void recording_facts(RecordingSampler *sampler, int root, const char *program, const char *version,
                     uint64_t interval_usec)
{
        static const char *const files[][2] = {
                { "hostname", "proc/sys/kernel/hostname" },
                { "kernel", "proc/sys/kernel/osrelease" },
                { "boot_id", "proc/sys/kernel/random/boot_id" },
        };
        g_autofree char *interval = g_strdup_printf("%" PRIu64, interval_usec);

        recording_fact(sampler, "program", program);
        recording_fact(sampler, "version", version);
        recording_fact(sampler, "interval_us", interval);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *text = NULL;

                if (file_read(root, files[i][1], &text) >= 0)
                        recording_fact(sampler, files[i][0], text);
        }
}

static void put_topology(RecordingTable *table, const Topology *topology)
{
        recording_table_lasts(table);
        CPUSET_FOREACH(cpu, &topology->online) {
                const TopologyCpu *place = &topology->cpus[cpu];

                recording_row_of(table, "cpu", cpu);
                recording_put(table, "core", NULL, "", 0, place->core);
                recording_put(table, "cluster", NULL, "", 0, place->cluster);
                recording_put(table, "die", NULL, "", 0, place->die);
                recording_put(table, "package", NULL, "", 0, place->package);
                recording_put(table, "node", NULL, "", 0, place->node);
                recording_put(table, "thread", NULL, "", 0, place->thread);
                recording_put(table, "capacity", NULL, "", 0, place->capacity);
        }
}

static void put_states(RecordingTable *table, const Topology *topology, const IdleTable *tables)
{
        recording_table_lasts(table);
        CPUSET_FOREACH(cpu, &topology->online)
                for (int s = 0; s < tables[cpu].n_states; s++) {
                        const IdleState *state = &tables[cpu].states[s];

                        recording_row_of(table, "cpu", cpu);
                        recording_put_text(table, "name", NULL, state->name);
                        recording_put(table, "exit_latency_us", NULL, "us", 0,
                                      state->exit_latency_us);
                        recording_put(table, "target_residency_us", NULL, "us", 0,
                                      state->target_residency_us);
                }
}

bool recording_is_other(const RecordingSampler *sampler, const Topology *topology)
{
        return !cpuset_equal(&topology->online, &sampler->online);
}

void recording_machine(RecordingSampler *sampler, const Topology *topology, IdleTable *tables)
{
        g_autofree char *cpus = cpuset_format(&topology->online);

        if (!cpuset_is_empty(&sampler->online) && recording_is_other(sampler, topology))
                recording_event_now(sampler, "cpus", cpus, NULL, NULL);
        sampler->online = topology->online;
        sampler->n_cpus = topology->n_cpus;
        g_free(sampler->idle);
        sampler->idle = tables;
        put_topology(recording_table(sampler->batch, "topology"), topology);
        put_states(recording_table(sampler->batch, "idle_state"), topology, tables);
}

static void put_residency(RecordingTable *table, const Snapshot *seen, int cpu,
                          const IdleTable *idle)
{
        const Residency *residency = &seen->residency[cpu];

        recording_put(table, "estimated", NULL, "", 0, residency->estimated >= 0);
        for (int s = 0; s < MIN(residency->n_states, idle->n_states); s++) {
                const char *name = idle->states[s].name;

                recording_put(table, "residency_share", name, "share", SHARE_DECIMALS,
                              (double)residency->share[s]);
                recording_put(table, "entered", name, "", 0, residency->entered[s]);
                if (!(seen->have & SENSE_IDLE_STATISTICS))
                        continue;
                recording_put(table, "above", name, "", 0, residency->above[s]);
                recording_put(table, "below", name, "", 0, residency->below[s]);
        }
}

static void put_cpu(const RecordingSampler *sampler, const Snapshot *seen, int cpu,
                    const RecordingCpu *more)
{
        RecordingTable *table = recording_table(sampler->batch, "cpu");

        recording_row_of(table, "cpu", cpu);
        recording_put(table, "time_usec", NULL, "us", 0, (double)seen->real_usec);
        recording_put(table, "busy_share", NULL, "share", SHARE_DECIMALS, (double)seen->busy[cpu]);
        recording_put(table, "frequency_khz", NULL, "kHz", 0, more->frequency_khz);
        recording_put(table, "parked", NULL, "", 0, more->parked);
        recording_put(table, "latency_limit_us", NULL, "us", 0, more->latency_limit_us);
        recording_put(table, "min_khz", NULL, "kHz", 0, more->min_khz);
        recording_put(table, "max_khz", NULL, "kHz", 0, more->max_khz);
        if (seen->have & SENSE_RESIDENCY && seen->residency)
                put_residency(table, seen, cpu, &sampler->idle[cpu]);
}

static void put_machine(RecordingTable *table, const Snapshot *seen)
{
        static const char *const averages[] = { "1min", "5min", "15min" };

        recording_row(table);
        recording_put(table, "time_usec", NULL, "us", 0, (double)seen->real_usec);
        recording_put(table, "monotonic_usec", NULL, "us", 0, (double)seen->time_usec);
        recording_put(table, "interval_usec", NULL, "us", 0, (double)seen->interval_usec);
        recording_put(table, "load", NULL, "CPUs", 3, seen->load);
        recording_put(table, "running", NULL, "tasks", 0, seen->running);
        recording_put(table, "blocked", NULL, "tasks", 0, seen->blocked);
        recording_put(table, "switches", NULL, "1/s", 0, seen->switches_per_sec);
        for (size_t i = 0; i < G_N_ELEMENTS(averages) && seen->have & SENSE_LOADAVG; i++)
                recording_put(table, "load_average", averages[i], "tasks", 2, seen->loadavg[i]);
        if (seen->have & SENSE_PRESSURE)
                recording_put(table, "pressure_share", NULL, "share", SHARE_DECIMALS,
                              seen->pressure);
        if (!(seen->have & SENSE_POWER))
                return;
        recording_put(table, "on_battery", NULL, "", 0, seen->on_battery);
        if (seen->battery_level >= 0)
                recording_put(table, "battery_share", NULL, "share", 3, seen->battery_level);
}

bool recording_sample(RecordingSampler *sampler, const Snapshot *seen, const RecordingCpu *cpus)
{
        if (seen->interval_usec == 0)
                return false;
        put_machine(recording_table(sampler->batch, "machine"), seen);
        CPUSET_FOREACH(cpu, &seen->cpus)
                if (cpu < sampler->n_cpus)
                        put_cpu(sampler, seen, cpu, cpus ? &cpus[cpu] : &recording_cpu_unknown);
        return true;
}

void recording_event(RecordingSampler *sampler, const RecordingEvent *event)
{
        g_autofree char *text = event->text ? private_text_for(event->text, 0) : NULL;
        RecordingTable *table = recording_table(sampler->batch, "event");

        recording_row(table);
        recording_put(table, "time_usec", NULL, "us", 0, (double)event->time_usec);
        recording_put_text(table, "kind", NULL, event->kind);
        recording_put_text(table, "cpus", NULL, event->cpus);
        recording_put_text(table, "policy", NULL, event->policy);
        recording_put_text(table, "text", NULL, text);
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

void recording_profile(RecordingSampler *sampler, const char *name, const char *reason)
{
        g_autofree char *text = g_strdup_printf("%s: %s", name ?: "none", reason ?: "");

        if (g_strcmp0(sampler->profile, name) == 0)
                return;
        g_free(sampler->profile);
        sampler->profile = g_strdup(name);
        recording_event_now(sampler, "profile", NULL, NULL, text);
}

void recording_pauses(RecordingSampler *sampler, const char *pauses)
{
        if (sampler->paused == (pauses != NULL))
                return;
        sampler->paused = pauses != NULL;
        recording_event_now(sampler, pauses ? "pause" : "resume", NULL, NULL, pauses);
}

static char *hold_text(const RecordingHold *hold)
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

void recording_hold(RecordingSampler *sampler, const RecordingHold *hold)
{
        char *text = hold_text(hold);

        if (!g_hash_table_contains(sampler->held, &hold->id))
                recording_event_now(sampler, "hold", hold->cpus, NULL, text);
        g_hash_table_insert(sampler->holds, g_memdup2(&hold->id, sizeof(hold->id)), text);
}

void recording_holds_end(RecordingSampler *sampler)
{
        GHashTableIter iter;
        gpointer id, text;

        g_hash_table_iter_init(&iter, sampler->held);
        while (g_hash_table_iter_next(&iter, &id, &text))
                if (!g_hash_table_contains(sampler->holds, id))
                        recording_event_now(sampler, "release", NULL, NULL, text);
        g_hash_table_unref(sampler->held);
        sampler->held = sampler->holds;
        sampler->holds = holds_new();
}
