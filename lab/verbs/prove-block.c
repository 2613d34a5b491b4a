/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One block of idlelab prove: switch, let the machine settle, measure.
 *
 * A command that ends by itself within a block is work of a known amount: a block is then as many
 * whole runs as it takes to fill its time, at least one. Any other command runs throughout.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cyclic.h"
#include "prove.h"
#include "sense/power.h"

/* A daemon that restarts has this much time. */
#define RECONNECT_USEC (15 * G_USEC_PER_SEC)
#define RETRY_USEC     (100 * 1000)

/* A command that ends sooner than in this part of the time is measured by its runs, unless it takes
 * longer than this. */
#define RUNS_LEAST    16
#define RUN_MOST_USEC (60 * G_USEC_PER_SEC)

/* After so many blocks in a row without energy, or without the command, measuring ends. */
#define FAILURES_MAX 6

typedef enum Woke {
        WOKE_TIME,
        WOKE_COMMAND, /* it ended */
        WOKE_TRIAL,   /* idled ended the trial */
        WOKE_SIGNAL,
} Woke;

static uint64_t now_usec(void)
{
        return (uint64_t)g_get_monotonic_time();
}

static void take_signal(Prove *prove)
{
        struct signalfd_siginfo info;

        if (read(prove->signals, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
                prove->interrupted = (int)info.ssi_signo;
}

/* Waits until `end`, and reads the meter meanwhile if it `counts`. */
static Woke wait_until(Prove *prove, uint64_t end, bool counts)
{
        for (;;) {
                struct pollfd fds[] = { { .fd = prove->signals, .events = POLLIN },
                                        { .fd = arms_descriptor(prove->arms) } };
                uint64_t now = now_usec(), next = MIN(end, now + meter_interval(prove->meter));
                struct timespec left;

                prove_progress(prove);
                if (prove->interrupted)
                        return WOKE_SIGNAL;
                if (prove->load && workload_ended(prove->load))
                        return WOKE_COMMAND;
                if (now >= end)
                        return WOKE_TIME;
                left = timespec_of((next - now) * 1000);
                if (ppoll(fds, 2, &left, NULL) == 0 && counts && next < end)
                        meter_read(prove->meter);
                if (fds[0].revents)
                        take_signal(prove);
                if (fds[1].revents)
                        return WOKE_TRIAL;
        }
}

/* Asks the daemon that may have been started again. */
static void reconnect(Prove *prove)
{
        client_free(prove->ctl->client);
        prove->ctl->client = client_new(prove->ctl);
        client_listen(prove->ctl->client);
}

static BlockEnd drop(Prove *prove, BlockDrop why)
{
        estimator_drop(prove->results.energy, why);
        return BLOCK_DROPPED;
}

/* Energy that is gone for so long will not come back. */
static BlockEnd drop_energy(Prove *prove, BlockDrop why)
{
        if (++prove->failures < FAILURES_MAX)
                return drop(prove, why);
        if (meter_source(prove->meter) == ENERGY_SOURCE_BATTERY)
                prove_fail(
                        prove,
                        "in %d blocks in a row the battery was not discharging, or lost less than "
                        "%g J; expected an unplugged machine, or a longer --block",
                        FAILURES_MAX, BATTERY_STEPS * BATTERY_STEP_JOULES);
        else if (meter_source(prove->meter) == ENERGY_SOURCE_ESTIMATE)
                prove_fail(prove,
                           "in %d blocks in a row, CPUs spent more than %g %% of the time in idle "
                           "states without a figure: the power table %s is of another machine",
                           FAILURES_MAX, POWER_TABLE_UNKNOWN_MAX * 100, prove->table->name);
        else
                prove_fail(prove, "in %d blocks in a row, %s", FAILURES_MAX, block_drop_text(why));
        return BLOCK_STOP;
}

static BlockEnd drop_command(Prove *prove)
{
        prove->results.command_drops++;
        if (++prove->failures < FAILURES_MAX)
                return BLOCK_DROPPED;
        prove_fail(prove,
                   "the command ended within %d blocks in a row, the last time with status %d",
                   FAILURES_MAX, workload_status(prove->load));
        return BLOCK_STOP;
}

/* Puts the arm into effect; waits for a daemon that restarts. What is refused before the first
 * block will not be granted later; after that it may, for a hold ends some time. */
static BlockEnd enter(Prove *prove, const ScheduleSlot *slot)
{
        uint64_t give_up = now_usec() + RECONNECT_USEC;

        for (;;) {
                g_autofree char *error = NULL;
                int r = arms_enter(prove->arms, slot->on, &error);

                if (r >= 0)
                        return BLOCK_FINE;
                if (r == -EBUSY && wait_until(prove, now_usec() + prove->schedule.block_usec,
                                              false) != WOKE_SIGNAL)
                        return drop(prove, DROP_HOLD);
                if (r != -ENOTCONN || now_usec() >= give_up) {
                        prove_fail(prove, "%s: %s", arms_label(prove->arms, slot->on), error);
                        return BLOCK_STOP;
                }
                if (wait_until(prove, now_usec() + RETRY_USEC, false) == WOKE_SIGNAL)
                        return BLOCK_STOP;
                reconnect(prove);
        }
}

/* True if something changed in the block that is not part of the comparison. */
static bool is_disturbed(const Prove *prove, BlockDrop *ret_why)
{
        static const struct {
                const char *property;
                BlockDrop why;
        } rows[] = {
                { "Holds", DROP_HOLD },         { "Pauses", DROP_HOLD },
                { "Online", DROP_HOTPLUG },     { "Profile", DROP_CONFIG },
                { "ConfigFiles", DROP_CONFIG },
        };
        g_autoptr(GHashTable) changes = client_changes(prove->ctl->client);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (g_hash_table_contains(changes, rows[i].property)) {
                        *ret_why = rows[i].why;
                        return true;
                }
        return false;
}

static Cyclic *start_probe(const Prove *prove)
{
        CpuSet one = { 0 };

        if (!prove->asked->probe_usec)
                return NULL;
        cpuset_add(&one, 0);
        return cyclic_start(&one,
                            &(CyclicOptions){ .interval_nsec = prove->asked->probe_usec * 1000,
                                              .policy = SCHED_OTHER,
                                              .anywhere = true });
}

/* What a block came to. */
typedef struct Measured {
        int64_t transitions; /* before it; -1: policies are not compared */
        MeterReading reading;
        double instructions;          /* NAN: not counted */
        unsigned runs;                /* of the command, whole ones */
        double delay_mean, delay_p99; /* us; NAN: not measured */
} Measured;

static void add_delays(const char *cgroup, const char *process, enum wakeup_kind kind,
                       const WakeupDelays *delays, void *all)
{
        wakeups_merge(all, delays);
}

/* Delays of the probe, or without one those of all tasks. */
static void measure_delays(const Prove *prove, Cyclic *probe, Measured *measured)
{
        g_autoptr(GArray) results = probe ? cyclic_stop(probe) : NULL;
        const CyclicCpu *result = results ? &g_array_index(results, CyclicCpu, 0) : NULL;
        BillReading reading;
        WakeupDelays all = { 0 };

        measured->delay_mean = result ? histogram_mean(result->histogram) : NAN;
        measured->delay_p99 = result ? histogram_quantile(result->histogram, 0.99) : NAN;
        if (!prove->bill || bill_read(prove->bill, add_delays, &all, &reading) < 0)
                return; /* a part of the wake-ups says nothing about all */
        measured->delay_mean = (double)all.sum_ns / 1e3 / (double)all.count;
        measured->delay_p99 = wakeups_quantile_us(&all, 0.99);
}

static double count_instructions(const Prove *prove)
{
        uint64_t count;

        return prove->load && workload_instructions(prove->load, &count) >= 0 ? (double)count : NAN;
}

/* Waits for whole runs of the command, until the block's time is over. */
static Woke wait_runs(Prove *prove, uint64_t end, Measured *measured)
{
        for (;;) {
                Woke woke;

                if (workload_start(prove->load) != EXIT_FINE) {
                        prove_fail(prove, "the command cannot be started any more");
                        return WOKE_SIGNAL;
                }
                woke = wait_until(prove, UINT64_MAX, true);
                if (woke != WOKE_COMMAND || workload_status(prove->load) != 0)
                        return woke;
                measured->runs++;
                if (now_usec() >= end)
                        return WOKE_TIME;
        }
}

static Woke measure(Prove *prove, Measured *measured)
{
        uint64_t end = now_usec() + prove->schedule.block_usec;
        double before = count_instructions(prove);
        Cyclic *probe = start_probe(prove);
        BillReading earlier;
        Woke woke;

        if (prove->bill)
                bill_read(prove->bill, NULL, NULL, &earlier);
        meter_begin(prove->meter);
        woke = prove->unit == WORK_RUNS ? wait_runs(prove, end, measured)
                                        : wait_until(prove, end, true);
        measured->reading = meter_end(prove->meter);
        measured->instructions = count_instructions(prove) - before;
        measure_delays(prove, probe, measured);
        return woke;
}

static void add_quantity(Prove *prove, Quantity quantity, const ScheduleSlot *slot, double value)
{
        if (isfinite(value) && value >= 0)
                estimator_add(prove->results.quantities[quantity],
                              &(Block){ .on = slot->on, .seconds = 1, .joules = value, .work = 1 },
                              slot->pair);
}

static void add(Prove *prove, const ScheduleSlot *slot, const Measured *measured)
{
        const Block *done = &measured->reading.block;
        Block block = *done;

        if (prove->unit == WORK_RUNS) {
                block = (Block){ .seconds = 1, .joules = done->joules / measured->runs, .work = 1 };
                prove->run_seconds = done->seconds;
                add_quantity(prove, QUANTITY_RUN, slot, done->seconds / measured->runs);
                add_quantity(prove, QUANTITY_POWER, slot, done->joules / done->seconds);
        } else if (prove->unit == WORK_INSTRUCTIONS) {
                block.work = measured->instructions / 1e9;
                block.switches = 0;
        }
        block.on = slot->on;
        estimator_add(prove->results.energy, &block, slot->pair);
        add_quantity(prove, QUANTITY_WAITING, slot, done->delay / done->seconds * 100);
        add_quantity(prove, QUANTITY_DELAY_MEAN, slot, measured->delay_mean);
        add_quantity(prove, QUANTITY_DELAY_P99, slot, measured->delay_p99);
}

/* Adds the block, or drops it. */
static BlockEnd judge(Prove *prove, const ScheduleSlot *slot, Woke woke, const Measured *measured)
{
        const MeterReading *reading = &measured->reading;
        BlockDrop why;

        if (woke == WOKE_SIGNAL)
                return BLOCK_STOP;
        if (woke == WOKE_COMMAND)
                return drop_command(prove);
        if (reading->slept)
                return drop(prove, DROP_SLEEP);
        if (reading->hotplug)
                return drop(prove, DROP_HOTPLUG);
        if (woke == WOKE_TRIAL)
                return drop(prove, DROP_CONFIG);
        if (is_disturbed(prove, &why))
                return drop(prove, why);
        if (!isfinite(reading->block.joules))
                return drop_energy(prove, DROP_ENERGY);
        if (meter_source(prove->meter) != ENERGY_SOURCE_ESTIMATE && reading->block.joules <= 0)
                return drop_energy(prove, DROP_FROZEN);
        prove->failures = 0;
        prove_note_effect(&prove->results.effect, slot, arms_state(prove->arms),
                          arms_transitions(prove->arms) != measured->transitions);
        add(prove, slot, measured);
        return BLOCK_FINE;
}

/* Starts a command that runs throughout, if it does not run. */
static bool keep_running(Prove *prove)
{
        if (!prove->load || prove->unit == WORK_RUNS || workload_runs(prove->load))
                return true;
        if (workload_start(prove->load) == EXIT_FINE)
                return true;
        prove_fail(prove, "the command cannot be started any more");
        return false;
}

BlockEnd prove_block(Prove *prove, const ScheduleSlot *slot)
{
        g_autoptr(GHashTable) old = NULL;
        Measured measured = { 0 };
        BlockEnd end = enter(prove, slot);
        Woke woke;

        if (end != BLOCK_FINE)
                return end;
        if (!keep_running(prove))
                return BLOCK_STOP;
        woke = wait_until(prove, now_usec() + prove->schedule.washout_usec, false);
        if (woke == WOKE_TIME) {
                old = client_changes(prove->ctl->client);
                measured.transitions = arms_transitions(prove->arms);
                woke = measure(prove, &measured);
        }
        end = judge(prove, slot, woke, &measured);
        if (prove->load && prove->unit == WORK_RUNS)
                workload_stop(prove->load);
        return prove->problem ? BLOCK_STOP : end;
}

bool prove_try(Prove *prove)
{
        g_autofree char *second = NULL, *first = NULL;

        for (int arm = 1; arm >= 0; arm--) {
                g_autofree char *error = NULL;

                if (arms_enter(prove->arms, arm, &error) < 0) {
                        prove_fail(prove, "%s: %s", arms_label(prove->arms, arm), error);
                        return false;
                }
                *(arm ? &second : &first) = arms_in_effect(prove->arms);
        }
        if (!first || g_strcmp0(first, second) != 0)
                return true;
        prove_fail(prove, "%s and %s are the same; expected two settings that differ",
                   arms_label(prove->arms, 0), arms_label(prove->arms, 1));
        return false;
}

bool prove_warm_up(Prove *prove)
{
        uint64_t begin = now_usec();
        uint64_t most = MIN(prove->asked->for_usec / RUNS_LEAST, (uint64_t)RUN_MOST_USEC);
        uint64_t count = 0;
        int status;
        Woke woke;

        status = workload_start(prove->load);
        if (status != EXIT_FINE) {
                prove_fail(prove, "the command cannot be started");
                return false;
        }
        woke = wait_until(prove, begin + MAX(prove->schedule.block_usec, most), false);
        if (woke == WOKE_SIGNAL)
                return false;
        if (woke != WOKE_COMMAND) {
                if (workload_instructions(prove->load, &count) >= 0 && count > 0)
                        prove->unit = WORK_INSTRUCTIONS;
                return true;
        }
        if (workload_status(prove->load) != 0) {
                prove_fail(prove, "the command ended with status %d", workload_status(prove->load));
                return false;
        }
        prove->unit = WORK_RUNS;
        prove->run_seconds = (double)(now_usec() - begin) / G_USEC_PER_SEC;
        return true;
}
