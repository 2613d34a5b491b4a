/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a recording costs: bytes for each CPU and sample, and CPU time for each sample, next to the
 * same values as lines of CSV. The CPUs' idle states are made up: a few CPUs are busy, most sleep
 * and wake up some hundred times a second. Reading the
 * counters is not included.
 */
#include "bench.h"

#include <string.h>

#include "model/counters.h"
#include "recording/batch.h"
#include "recording/frame.h"
#include "recording/sample.h"

#define SAMPLES 600
#define STATES  4

static const struct {
        const char *title;
        int n_cpus, per_frame;
} cases[] = {
        { "8 CPUs, 10 samples a frame", 8, 10 },
        { "8 CPUs, 60 samples a frame", 8, 60 },
        { "576 CPUs, 10 samples a frame", 576, 10 },
};

static void make_states(const Topology *topology, IdleTable *tables)
{
        static const char *const names[STATES] = { "POLL", "C1", "C1E", "C6" };

        CPUSET_FOREACH(cpu, &topology->online) {
                tables[cpu].n_states = STATES;
                for (int s = 0; s < STATES; s++) {
                        IdleState *state = &tables[cpu].states[s];

                        g_strlcpy(state->name, names[s], sizeof(state->name));
                        state->exit_latency_us = (uint32_t)(1 << (2 * s));
                        state->target_residency_us = (uint32_t)(2 << (2 * s));
                }
        }
}

static void make_snapshot(GRand *rand, int n, int n_cpus, Snapshot *seen)
{
        seen->time_usec = (uint64_t)n * 1000000 + g_rand_int(rand) % 5000;
        seen->real_usec = UINT64_C(1700000000000000) + seen->time_usec;
        seen->interval_usec = 1000000 + g_rand_int(rand) % 5000;
        seen->have = SENSE_LOAD | SENSE_LOADAVG | SENSE_PRESSURE | SENSE_RESIDENCY |
                     SENSE_IDLE_STATISTICS;
        seen->load = 0;
        for (int cpu = 0; cpu < n_cpus; cpu++) {
                Residency *r = &seen->residency[cpu];
                bool busy = cpu % 8 == n / 60 % 8;
                float use = (float)(busy ? 0.3 + g_rand_double(rand) * 0.3
                                         : g_rand_double(rand) * 0.01);

                seen->busy[cpu] = use;
                seen->load += (double)use;
                *r = (Residency){ .n_states = STATES, .busy = use, .estimated = busy ? -1 : 3 };
                for (int s = 1; s < STATES; s++) {
                        float share = (float)(g_rand_double(rand) * (busy ? 0.2 : 0.01));

                        r->share[s] = s == STATES - 1 ? 1 - use - r->share[1] - r->share[2] : share;
                        r->entered[s] = g_rand_int(rand) % (busy ? 400 : 30);
                        r->above[s] = r->entered[s] / 8;
                        r->below[s] = r->entered[s] / 5;
                }
        }
}

/* The same values as a line for each CPU. */
static size_t write_csv(const Snapshot *seen, int n_cpus, FILE *file)
{
        size_t bytes = 0;

        for (int cpu = 0; cpu < n_cpus; cpu++) {
                const Residency *r = &seen->residency[cpu];

                bytes += (size_t)fprintf(file, "%" G_GUINT64_FORMAT ",%d,%.4f,%d", seen->real_usec,
                                         cpu, (double)seen->busy[cpu], r->estimated >= 0);
                for (int s = 0; s < STATES; s++)
                        bytes += (size_t)fprintf(file, ",%.4f,%u,%u,%u", (double)r->share[s],
                                                 r->entered[s], r->above[s], r->below[s]);
                bytes += (size_t)fprintf(file, "\n");
        }
        return bytes;
}

static void bench(size_t which)
{
        int n_cpus = cases[which].n_cpus;
        g_autoptr(RecordingBatch) batch = recording_batch_new();
        g_autoptr(RecordingSampler) sampler = recording_sampler_new(batch);
        g_autoptr(GString) text = g_string_new(NULL);
        g_autoptr(GByteArray) frame = g_byte_array_new();
        IdleTable *tables = g_new0(IdleTable, (gsize)n_cpus);
        g_autofree TopologyCpu *places = g_new0(TopologyCpu, (gsize)n_cpus);
        g_autoptr(Snapshot) seen = snapshot_new(n_cpus);
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);
        Topology topology = { .n_cpus = n_cpus, .cpus = places };
        FILE *null = fopen("/dev/null", "we");
        double recorded = 0, printed = 0;
        size_t bytes = 0, csv_bytes = 0;

        cpuset_add_range(&topology.online, 0, n_cpus - 1);
        seen->cpus = topology.online;
        seen->residency = g_new0(Residency, (gsize)n_cpus);
        make_states(&topology, tables);
        recording_machine(sampler, &topology, tables);
        for (int n = 0; n < SAMPLES && null; n++) {
                double start;

                make_snapshot(rand, n, n_cpus, seen);
                start = cpu_usec();
                recording_sample(sampler, seen, NULL);
                if ((n + 1) % cases[which].per_frame == 0) {
                        recording_batch_take(batch, text);
                        g_byte_array_set_size(frame, 0);
                        frame_pack(text, seen->real_usec, frame);
                        bytes += frame->len;
                }
                recorded += cpu_usec() - start;
                start = cpu_usec();
                csv_bytes += write_csv(seen, n_cpus, null);
                printed += cpu_usec() - start;
        }
        printf("%-30s %9.2f %9.2f %9.3f %11.1f %9.1f %9.3f\n", cases[which].title,
               (double)bytes / SAMPLES / n_cpus, (double)csv_bytes / SAMPLES / n_cpus,
               (double)bytes / (double)csv_bytes, recorded / SAMPLES, printed / SAMPLES,
               recorded / printed);
        if (null)
                fclose(null);
}

int main(void)
{
        printf("%-30s %29s %31s\n%-30s %9s %9s %9s %11s %9s %9s\n", "", "bytes a CPU and sample",
               "us of CPU time a sample", "", "recording", "CSV", "ratio", "recording", "CSV",
               "ratio");
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                bench(i);
        return EXIT_SUCCESS;
}
