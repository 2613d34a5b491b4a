/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes recordings for tests of idlelab report, by the tables of docs/recording.md: large
 * machines, machines without sensors, and names that attack a page. The same arguments make the
 * same file.
 *
 * usage: make-recording KIND CPUS SECONDS FILE
 *
 * KIND: usual, costly (with parking that costs), unmeasured (what it saves is not known in the
 * second half), bare (no RAPL, no cpuidle, no idled), hostile (names), wild (gaps, a clock that
 * goes back, rows that make no sense), empty (facts alone), quick (five samples a second of which
 * one has power, 12 W; each CPU enters a state, which not every CPU has, 100 times a second),
 * uneven (short busy samples and long idle ones), slow (as quick, but two readings in three
 * seconds: 10 W in the first one, then 20 W), gap (an hour with 600 transitions that was not
 * recorded, between samples with one each)
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "recording/file.h"

#define BEGIN_USEC 1763820000000000.0 /* 2025-11-22 14:00 UTC */
#define STATES     4
#define FRAME      60 /* seconds */

static const char *const state_names[STATES] = { "POLL", "C1", "C6", "C10" };
static const double exit_latencies[STATES] = { 0, 2, 85, 890 };

static const char *const hostile_names[] = {
        "</script><script>document.title='owned'</script>",
        "<!--<script>",
        "\" onmouseover=\"document.title='owned'",
        "'><img src=x onerror=\"document.title='owned'\">",
        "a\xe2\x80\xae"
        "gnp.exe",
        "]]></title><svg onload=alert(1)>",
        "javascript:document.title='owned'",
        "\x1b[2J\x07",
        "&lt;b&gt;",
        "\xff\xfe not UTF-8",
};

typedef struct Maker {
        const char *kind;
        int cpus, seconds;
        RecordingBatch *batch;
        RecordingFile *file;
        unsigned seed, hostile;
        int parked_before;
        double saved;
} Maker;

/* 0 .. 1, the same for all. */
static double chance(Maker *maker)
{
        maker->seed = maker->seed * 1103515245u + 12345u;
        return (double)(maker->seed >> 16 & 0x7fff) / 0x7fff;
}

static bool is(const Maker *maker, const char *kind)
{
        return g_str_equal(maker->kind, kind);
}

/* The name, or one after the other those of an attacker. */
static const char *name(Maker *maker, const char *usual)
{
        return is(maker, "hostile") ? hostile_names[maker->hostile++ % G_N_ELEMENTS(hostile_names)]
                                    : usual;
}

static void fact(Maker *maker, const char *key, const char *value)
{
        RecordingTable *table = recording_table(maker->batch, "info");

        recording_row(table);
        recording_put_text(table, "key", NULL, key);
        recording_put_text(table, "value", NULL, value);
}

static void number(RecordingTable *table, const char *column, const char *of, double value)
{
        recording_put(table, column, of, "", 4, value);
}

static void text(RecordingTable *table, const char *column, const char *of, const char *value)
{
        recording_put_text(table, column, of, value);
}

static void begin_row(RecordingTable *table, double usec)
{
        recording_row(table);
        recording_put(table, "time_usec", NULL, "us", 0, usec);
}

static void begin_cpu(RecordingTable *table, double usec, int cpu)
{
        recording_row_of(table, "cpu", cpu);
        recording_put(table, "time_usec", NULL, "us", 0, usec);
}

static void put_facts(Maker *maker)
{
        recording_table_lasts(recording_table(maker->batch, "info"));
        fact(maker, "program", "idlelab");
        fact(maker, "version", "0.1");
        fact(maker, "hostname", name(maker, is(maker, "costly") ? "laptop" : "web1"));
        fact(maker, "kernel", name(maker, "6.12.48+deb13-amd64"));
        fact(maker, "cpu_model", name(maker, "Example CPU E5-2697A v4 @ 2.60GHz"));
        fact(maker, "command", is(maker, "hostile") ? hostile_names[0] : NULL);
        if (is(maker, "bare") || is(maker, "late"))
                fact(maker, "daemon", "org.idled1 is not on the bus");
        if (!is(maker, "bare"))
                fact(maker, "energy_source", "rapl");
}

static void put_machine_facts(Maker *maker)
{
        RecordingTable *topology = recording_table(maker->batch, "topology");
        RecordingTable *states = recording_table(maker->batch, "idle_state");

        recording_table_lasts(topology);
        recording_table_lasts(states);
        for (int cpu = 0; cpu < maker->cpus; cpu++) {
                recording_row_of(topology, "cpu", cpu);
                number(topology, "core", NULL, cpu / 2);
                number(topology, "package", NULL, cpu >= maker->cpus / 2 && maker->cpus > 8);
                for (int s = 0; s < STATES && !is(maker, "bare"); s++) {
                        recording_row_of(states, "cpu", cpu);
                        text(states, "name", NULL, state_names[s]);
                        number(states, "exit_latency_us", NULL, exit_latencies[s]);
                }
        }
}

/* How many CPUs are busy: a slow curve, with a rush in between and some noise. */
static double load_at(Maker *maker, int second)
{
        double part = (double)second / MAX(maker->seconds, 1);
        double load = 0.08 + 0.06 * sin(part * 9) + 0.04 * chance(maker);

        if (part > 0.45 && part < 0.6)
                load += 0.5 * sin((part - 0.45) / 0.15 * G_PI);
        return fmax(load, 0.01) * maker->cpus;
}

static int parked_at(const Maker *maker, double load)
{
        int kept = 2 * (int)ceil(load * 0.75 + 0.5);

        return MAX(maker->cpus - kept, 0);
}

static void put_residency(Maker *maker, RecordingTable *table, double busy, bool parked)
{
        double rest = 1 - busy;
        double deep = parked ? 0.97 : 0.3 + 0.2 * chance(maker), middle = parked ? 0.02 : 0.35;
        const double shares[STATES] = { rest * 0.002, rest * (0.998 - deep - middle), rest * middle,
                                        rest * deep };

        for (int s = 0; s < STATES; s++) {
                number(table, "residency_share", state_names[s], shares[s]);
                number(table, "entered", state_names[s],
                       floor((parked ? 2 : 150) * shares[s] + chance(maker) * 3));
        }
}

static void put_cpus(Maker *maker, double usec, double load, int parked)
{
        RecordingTable *table = recording_table(maker->batch, "cpu");

        for (int cpu = 0; cpu < maker->cpus; cpu++) {
                bool is_parked = cpu >= maker->cpus - parked;
                double busy = is_parked ? 0.002 : fmin(load / (maker->cpus - parked + 0.01), 1);

                begin_cpu(table, usec, cpu);
                number(table, "busy_share", NULL, busy);
                if (is(maker, "bare"))
                        continue;
                number(table, "parked", NULL, is_parked);
                if (!is_parked)
                        number(table, "frequency_khz", NULL,
                               1.2e6 + 1.6e6 * busy + 1e5 * chance(maker));
                put_residency(maker, table, busy, is_parked);
        }
}

static void put_saving(Maker *maker, RecordingTable *table, int second, double parked)
{
        const char *policy = name(maker, "ondemand");
        double sign = is(maker, "costly") ? -0.4 : 1, sum = 0.6 * maker->seconds;
        double width = 4 / sqrt(1 + second / 20.0), watts = sign * 0.35 * parked * 0.6;

        maker->saved += watts;
        if (second < maker->seconds / 20)
                return;
        if (!is(maker, "unmeasured") || second <= maker->seconds / 2) {
                number(table, "saved_watts", policy, watts);
                number(table, "saved_watts_low", policy, watts - width);
                number(table, "saved_watts_high", policy, watts + width);
        }
        number(table, "saved_joules", policy, maker->saved);
        number(table, "saved_joules_low", policy, maker->saved - sum);
        number(table, "saved_joules_high", policy, maker->saved + sum);
        number(table, "effective_share", policy, 0.96);
        text(table, "saved_verdict", policy,
             second < maker->seconds / 3 ? "unknown"
             : is(maker, "costly")       ? "costs"
                                         : "saves");
}

static void put_machine(Maker *maker, double usec, int second, double load, int parked)
{
        RecordingTable *table = recording_table(maker->batch, "machine");
        bool two = maker->cpus > 8;

        begin_row(table, usec);
        number(table, "interval_usec", NULL, 1e6);
        number(table, "load", NULL, load);
        if (is(maker, "gap")) {
                number(table, "monotonic_usec", NULL, usec - BEGIN_USEC);
                number(table, "transitions", NULL,
                       second + (second > maker->seconds / 2 ? 600 : 0));
        }
        number(table, "pressure_share", NULL, fmax(0, load / maker->cpus - 0.4) * 0.3);
        if (is(maker, "bare"))
                return;
        for (int p = 0; p < 1 + two; p++) {
                g_autofree char *package = g_strdup_printf("package-%d", p);
                g_autofree char *dram = g_strdup_printf("package-%d-dram", p);

                number(table, "power_watts", package,
                       6 + 3.1 * load / (1 + two) + 0.35 * (maker->cpus - parked) / (1 + two) +
                               chance(maker));
                number(table, "power_watts", dram, 2.1 + 0.2 * load + 0.2 * chance(maker));
        }
        put_saving(maker, table, second, parked);
}

static void put_event(Maker *maker, double usec, const char *kind, const char *cpus,
                      const char *reason)
{
        RecordingTable *table = recording_table(maker->batch, "event");

        begin_row(table, usec);
        text(table, "kind", NULL, kind);
        text(table, "cpus", NULL, cpus);
        text(table, "policy", NULL,
             g_str_equal(kind, "transition") ? name(maker, "ondemand") : NULL);
        text(table, "text", NULL, name(maker, reason));
}

/* Parking follows the load as it was half a minute ago, or at once if more is needed. */
static int decide(Maker *maker, double usec, int second, double load)
{
        int parked = parked_at(maker, load), before = maker->parked_before;
        g_autofree char *cpus = NULL, *reason = NULL;

        if (is(maker, "bare"))
                return 0;
        if (parked > before && (parked < before + 4 || second % 30))
                return before;
        if (parked == before || (parked < before && parked + 2 >= before && second % 10))
                return before;
        cpus = parked ? g_strdup_printf("%d-%d", maker->cpus - parked, maker->cpus - 1)
                      : g_strdup("");
        reason = g_strdup_printf(
                "ondemand: load of %.1f CPUs needs %d of %d cores; %s (UpThreshold "
                "80 %%, /etc/idled/policies/ondemand.conf:7)",
                load, (maker->cpus - parked) / 2, maker->cpus / 2,
                parked > before ? "more are parked" : "some are needed");
        put_event(maker, usec, "transition", cpus, reason);
        maker->parked_before = parked;
        return parked;
}

static void put_wakeups(Maker *maker, double usec)
{
        static const char *const sources[][3] = {
                { "timer", "tick_nohz_handler", NULL },
                { "IRQ", "24 nvme0q1", NULL },
                { "task", "nginx", "nginx.service" },
                { "task", "postgres", "postgresql.service" },
                { "reschedule", NULL, NULL },
                { "function call", "flush_tlb_func", NULL },
                { "timer", "hrtimer_wakeup (chronyd)", "chrony.service" },
                { "tick", NULL, NULL },
        };
        RecordingTable *table = recording_table(maker->batch, "wakeup");

        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
                begin_row(table, usec);
                text(table, "kind", NULL, sources[i][0]);
                text(table, "name", NULL, name(maker, sources[i][1]));
                text(table, "unit", NULL, name(maker, sources[i][2]));
                number(table, "sleeps", NULL,
                       floor(900 / (double)(1 + i * i) + 20 * chance(maker)));
                number(table, "lacked_usec", NULL, 40000 / (double)(i + 1));
        }
}

/* Two humps for sleeps, one with a tail for latencies. */
static void put_histogram(Maker *maker, const char *which, double usec)
{
        RecordingTable *table = recording_table(maker->batch, which);
        bool latency = g_str_equal(which, "latency");

        for (double ns = 1024; ns < (latency ? 4e6 : 4e9); ns *= 1.189207115) {
                double at = log(ns / (latency ? 9000 : 4e6)), tail = latency ? 0.9 : 1.6;
                double count = 3000 * exp(-at * at / tail) +
                               (latency ? 3 : 800) * exp(-pow(at + (latency ? -4 : 4), 2));

                if (floor(count * (0.8 + 0.4 * chance(maker))) < 1)
                        continue;
                begin_row(table, usec);
                number(table, "at_least_ns", NULL, floor(ns));
                number(table, "below_ns", NULL, floor(ns * 1.189207115));
                number(table, "count", NULL, floor(count * (0.8 + 0.4 * chance(maker))));
        }
}

/* Rows that no recorder writes. */
static void put_nonsense(Maker *maker, double usec)
{
        RecordingTable *machine = recording_table(maker->batch, "machine");
        RecordingTable *cpu = recording_table(maker->batch, "cpu");
        RecordingTable *sleeps = recording_table(maker->batch, "sleep_length");

        begin_row(machine, NAN);
        begin_row(machine, -1e15);
        number(machine, "interval_usec", NULL, 0);
        begin_row(machine, usec + 1);
        number(machine, "interval_usec", NULL, -5);
        for (int i = 0; i < 50; i++) {
                g_autofree char *domain = g_strdup_printf("domain %d", i);

                number(machine, "power_watts", domain, -1e9 * i);
        }
        begin_cpu(cpu, usec, 65535);
        number(cpu, "busy_share", NULL, 1e6);
        number(cpu, "residency_share", "C6", -1e6);
        begin_row(sleeps, usec);
        number(sleeps, "at_least_ns", NULL, -1);
        number(sleeps, "below_ns", NULL, -2);
        number(sleeps, "count", NULL, -3);
}

static bool flush(Maker *maker, double usec)
{
        return recording_file_write(maker->file, maker->batch, (uint64_t)usec) >= 0;
}

/* The time at which a second of the recording ends. */
static double time_of(const Maker *maker, int second)
{
        double usec = BEGIN_USEC + 1e6 * second;

        if (is(maker, "gap"))
                return usec + (second > maker->seconds / 2 ? 3600e6 : 0);
        if (!is(maker, "wild"))
                return usec;
        return usec + (second > maker->seconds / 3 ? 120e6 : 0) -
               (second > maker->seconds / 2 ? 3600e6 : 0);
}

/* Samples of 0.2 s, or, if the kind is "uneven", short busy ones and long idle ones. */
static bool put_quick(Maker *maker)
{
        bool uneven = is(maker, "uneven"), slow = is(maker, "slow");
        double usec = BEGIN_USEC;

        for (int i = 1; i <= (uneven ? 2 : 5) * maker->seconds; i++) {
                RecordingTable *machine = recording_table(maker->batch, "machine");
                RecordingTable *table = recording_table(maker->batch, "cpu");
                double interval = !uneven ? 2e5 : i % 2 ? 1e5 : 9e5;
                double busy = !uneven || i % 2 == 0 ? 0.1 : 0.9;

                usec += interval;
                begin_row(machine, usec);
                number(machine, "interval_usec", NULL, interval);
                if (slow && (i % 15 == 0 || i % 15 == 5))
                        number(machine, "power_watts", "package-0", i % 15 ? 10 : 20);
                else if (!slow && (uneven || i % 5 == 0))
                        number(machine, "power_watts", "package-0", uneven && i % 2 ? 40 : 12);
                for (int cpu = 0; cpu < maker->cpus; cpu++) {
                        const char *state = state_names[cpu % 2 ? 2 : 3];

                        begin_cpu(table, usec, cpu);
                        number(table, "busy_share", NULL, busy);
                        number(table, "residency_share", state, 1 - busy);
                        number(table, "entered", state, 20);
                        number(table, "entered", state_names[0], 7);
                }
        }
        return flush(maker, BEGIN_USEC + 1e6 * maker->seconds);
}

static bool put_all(Maker *maker)
{
        for (int second = 1; second <= maker->seconds; second++) {
                double usec = time_of(maker, second), load = load_at(maker, second);
                int parked = decide(maker, usec, second, load);

                put_machine(maker, usec, second, load, parked);
                put_cpus(maker, usec, load, parked);
                if (is(maker, "wild") && second % 7 == 0)
                        put_nonsense(maker, usec);
                if (second == maker->seconds / 4 && !is(maker, "bare"))
                        put_event(maker, usec, "hold", "0-1",
                                  "hold 4 of user 1000 (pw-record): latency 50us, a recording");
                if (second == maker->seconds / 2 && !is(maker, "bare"))
                        put_event(maker, usec, "profile", NULL, "performance (chosen)");
                if (second % FRAME && second < maker->seconds)
                        continue;
                if (!is(maker, "bare")) {
                        put_wakeups(maker, usec);
                        put_histogram(maker, "latency", usec);
                        put_histogram(maker, "sleep_length", usec);
                }
                if (!flush(maker, usec))
                        return false;
        }
        return true;
}

int main(int argc, char **argv)
{
        const RecordingLimits limits = { 0 };
        Maker maker = { .seed = 4711 };
        bool good;

        if (argc != 5)
                return 2;
        maker.kind = argv[1];
        maker.cpus = atoi(argv[2]);
        maker.seconds = atoi(argv[3]);
        remove(argv[4]);
        if (recording_file_open(AT_FDCWD, argv[4], &limits, false, &maker.file) < 0)
                return 1;
        maker.batch = recording_batch_new();
        put_facts(&maker);
        put_machine_facts(&maker);
        if (is(&maker, "empty")) {
                put_event(&maker, BEGIN_USEC, "start", NULL, NULL);
                good = flush(&maker, BEGIN_USEC);
        } else if (is(&maker, "quick") || is(&maker, "uneven") || is(&maker, "slow")) {
                good = put_quick(&maker);
        } else {
                good = put_all(&maker);
        }
        recording_batch_free(maker.batch);
        return recording_file_close(maker.file) < 0 || !good;
}
