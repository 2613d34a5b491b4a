/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab prove: does one setting draw less than another? A randomised switchback on request.
 *
 *  1. Blocks come in pairs, one with each setting, in random order (stats/schedule.h).
 *  2. Each begins with a wash-out; then energy, work and waiting are measured (prove-block.c).
 *  3. A block in which something else changed is dropped, and its pair with it.
 *  4. The differences of pairs give the answer with its interval (stats/estimate.h).
 *
 * docs/evaluate.md has the reasons. Only the main thread takes signals: one ends the measurement,
 * everything is restored, and what was measured until then is the answer.
 */
#include "prove.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/observe.h"
#include "cli/price.h"
#include "sense/topology-read.h"
#include "verbs.h"

#define SEC_USEC         1000000ull
#define FOR_USEC         (1800 * SEC_USEC)
#define BLOCK_MIN_USEC   (200 * 1000ull)
#define BLOCK_LEAST_USEC (1 * SEC_USEC) /* unless it was asked for */
#define BLOCK_MOST_USEC  (60 * SEC_USEC)
#define WASHOUT_MIN_USEC (100 * 1000ull)
#define BATTERY_USEC     (180 * SEC_USEC) /* steps of batteries are coarse */
#define BATTERY_WASHOUT  (30 * SEC_USEC)
#define PROBE_MIN_USEC   1000
#define PROBE_MAX_USEC   (1000 * 1000)

static ProveAsked asked;

static const VerbOption prove_options[] = {
        { "for", "TIME", "measure for at most this time (30min)", .number = &asked.for_usec,
          .least = 1, .most = 366 * 24 * 3600 * SEC_USEC, .expected = "a duration such as 30min" },
        { "precision", "PERCENT", "end once the interval is at most this wide to each side",
          .real = &asked.precision, .most = 1,
          .expected = "a share above 0% and up to 100%, such as 0.5%" },
        { "block", "TIME", "how long each block is (a hundredth of --for, 1s to 60s)",
          .number = &asked.block_usec, .least = BLOCK_MIN_USEC, .most = 3600 * SEC_USEC,
          .expected = "a duration from 200ms to 1h, such as 20s" },
        { "wash-out", "TIME", "time before each block that is not measured (a quarter of it)",
          .number = &asked.washout_usec, .least = WASHOUT_MIN_USEC, .most = 3600 * SEC_USEC,
          .expected = "a duration from 100ms to 1h, such as 5s" },
        { "probe", "TIME", "measure delays of a task that wakes up so often, not of all tasks",
          .number = &asked.probe_usec, .least = PROBE_MIN_USEC, .most = PROBE_MAX_USEC,
          .expected = "a duration from 1ms to 1s, such as 10ms" },
        { "power", "NAME", "the power table where there is no RAPL", .text = &power_asked },
        { 0 },
};

static void set_schedule(ScheduleOptions *schedule, EnergySource source)
{
        bool battery = source == ENERGY_SOURCE_BATTERY;
        uint64_t usual = CLAMP(asked.for_usec / 100, BLOCK_LEAST_USEC, BLOCK_MOST_USEC);
        uint64_t block = asked.block_usec ?: battery ? BATTERY_USEC : usual;
        uint64_t washout = MAX(block / 4, WASHOUT_MIN_USEC);

        *schedule = (ScheduleOptions){
                .block_usec = block,
                .washout_usec = asked.washout_usec
                                        ?: battery ? MIN(washout, BATTERY_WASHOUT)
                                                   : washout,
                .seed = g_random_int(),
        };
}

/* That there is time for enough pairs; `verb` as for complain_usage(). */
static int check_time(const Verb *verb, const ScheduleOptions *schedule)
{
        uint64_t needed = PROVE_LEAST_PAIRS * schedule_pair_length(schedule);
        g_autofree char *least = duration_format(needed);

        if (asked.for_usec >= needed)
                return EXIT_FINE;
        return complain_usage(verb, "--for: expected at least %s, the time of %d pairs of blocks",
                              least, PROVE_LEAST_PAIRS);
}

static int prove_check(const Ctl *ctl, const Verb *verb)
{
        ScheduleOptions schedule;

        if (arms_asked.kind == ARMS_NONE)
                return complain_usage(verb, "prove: expected one of --policy, --profile, --option, "
                                            "--knob");
        asked.for_usec = asked.for_usec ?: FOR_USEC;
        set_schedule(&schedule, ENERGY_SOURCE_RAPL);
        return check_time(verb, &schedule);
}

/* True if the precision that was asked for is reached. */
static bool is_precise(const Prove *prove)
{
        Estimate found;

        if (asked.precision <= 0)
                return false;
        found = prove_estimate(prove);
        return prove_seconds_needed(prove, &found, asked.precision * found.off_watts) == 0;
}

/* Pairs of blocks until the time is over, or measuring ends for another reason. */
static void run_pairs(Prove *prove)
{
        prove->begin_usec = (uint64_t)g_get_monotonic_time();
        prove->end_usec = prove->begin_usec + asked.for_usec;
        for (uint64_t pair = 0; !is_precise(prove); pair++) {
                BlockEnd end = BLOCK_FINE;

                if ((uint64_t)g_get_monotonic_time() + prove_pair_usec(prove) > prove->end_usec)
                        return;
                for (int half = 0; half < 2 && end == BLOCK_FINE; half++) {
                        uint64_t length = schedule_pair_length(&prove->schedule) / 2;
                        ScheduleSlot slot = schedule_at(&prove->schedule, pair,
                                                        (uint64_t)half * length);

                        end = prove_block(prove, &slot);
                }
                if (end == BLOCK_STOP)
                        return;
        }
}

static int block_signals(Prove *prove)
{
        static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD, 0 };
        const struct sigaction usual = { .sa_handler = SIG_DFL };

        sigaction(SIGCHLD, &usual, NULL); /* the parent may have had it ignored */
        prove->signals = signals_open(ends, NULL);
        return MIN(prove->signals, 0);
}

/* Tries the settings and restores them. False after a message if idled refuses one of them. */
static bool try_settings(Prove *prove)
{
        bool right = arms_asked.kind == ARMS_KNOB || prove_try(prove);

        arms_leave(prove->arms);
        if (!right)
                complain("%s", prove->problem);
        return right;
}

/* False after a message. */
static bool open_arms(Prove *prove)
{
        int r = topology_read(prove->ctl->root, &prove->topology);

        if (r < 0)
                complain_cpus(prove->ctl, r);
        else
                prove->arms = arms_new(prove->ctl, prove->topology);
        return prove->arms != NULL;
}

/* False after a message. */
static bool open_meter(Prove *prove)
{
        int r;

        prove->table = estimate_table(prove->ctl, false);
        if (power_asked && !prove->table)
                return false;
        r = meter_new(prove->ctl->root, prove->table, &prove->meter);
        /* What is wrong with the arguments is for idled to say, and matters more. */
        if (r == -ENODATA && !try_settings(prove))
                return false;
        if (r == -ENODATA)
                complain(
                        "energy cannot be measured: RAPL is not available%s, and there is no power "
                        "table and no battery that counts; expected --power",
                        geteuid() != 0 ? " (it needs root)" : "");
        else if (r < 0)
                complain_cpus(prove->ctl, r);
        else if (!meter_discharges(prove->meter))
                complain("energy cannot be measured: the battery does not discharge; expected an "
                         "unplugged machine, or --power");
        return r >= 0 && meter_discharges(prove->meter);
}

static void prove_done(Prove *prove)
{
        workload_free(prove->load);
        arms_free(prove->arms);
        meter_free(prove->meter);
        topology_free(prove->topology);
        if (prove->table)
                power_table_free(prove->table);
        fd_close(&prove->signals);
        bill_close(prove->bill);
        g_free(prove->bill_error);
        g_free(prove->results.energy);
        for (int i = 0; i < QUANTITIES; i++)
                g_free(prove->results.quantities[i]);
        for (int arm = 0; arm < 2; arm++)
                g_free(prove->results.effect.states[arm]);
        g_free(prove->problem);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Prove, prove_done)

/* Has the kernel count the delays of all wake-ups, unless a probe measures its own. */
static void open_bill(Prove *prove)
{
        int r;

        if (asked.probe_usec)
                return;
        r = prove->ctl->root_path ? -EOPNOTSUPP
                                  : bill_open(prove->topology->n_cpus, BILL_COARSE, &prove->bill);
        if (r < 0)
                prove->bill_error = prove->ctl->root_path ? g_strdup("--root names another machine")
                                                          : bill_error(r);
}

/* Measures, and restores everything. */
static int run(Prove *prove)
{
        client_listen(prove->ctl->client);
        if (prove_try(prove) && (!prove->load || prove_warm_up(prove)))
                run_pairs(prove);
        if (prove->load)
                workload_stop(prove->load);
        progress_draw(NAN, "");
        return arms_leave(prove->arms);
}

static int prove_ask(Ctl *ctl, json_object **ret_answer)
{
        g_auto(Prove) prove = { .ctl = ctl, .asked = &asked, .signals = -1 };
        int r, status = PROVE_EXIT_ERROR;
        Estimate found;

        prove.results.energy = g_new0(Estimator, 1);
        for (int i = 0; i < QUANTITIES; i++)
                prove.results.quantities[i] = g_new0(Estimator, 1);
        if (block_signals(&prove) < 0 || !open_arms(&prove) || !open_meter(&prove))
                return status;
        prove.unit = meter_unit(prove.meter);
        set_schedule(&prove.schedule, meter_source(prove.meter));
        if (check_time(NULL, &prove.schedule) != EXIT_FINE)
                return status;
        if (ctl->n_args > 0)
                prove.load = workload_new(ctl->args);
        open_bill(&prove);
        r = run(&prove);
        if (prove.problem)
                complain("%s", prove.problem);
        found = prove_estimate(&prove);
        if (found.n_pairs == 0 && !prove.interrupted && !prove.problem)
                complain("no pair of blocks was measured");
        else if (prove.interrupted)
                status = EXIT_BY_SIGNAL + prove.interrupted;
        else if (!prove.problem && r >= 0)
                status = prove_verdict(&prove, &found) == VERDICT_SAVES ? EXIT_FINE : EXIT_FAILED;
        if (!prove.problem || found.n_pairs > 0)
                *ret_answer = prove_answer(&prove);
        return status;
}

const Verb verb_prove = {
        .name = "prove",
        .arguments = "[-- COMMAND...]",
        .summary = "Measure whether one setting draws less power than another",
        .help = "Switches between two settings in blocks of random order. Compares power, "
                "energy\n"
                "per work, and waiting, each with a 95 % interval. With a COMMAND, compares\n"
                "energy per run. Exit status: 0 if the second setting saves energy, 1 if that "
                "was\n"
                "not shown, 3 after an error. All settings are restored at the end and after a\n"
                "signal; after SIGKILL, idled --restore restores those of --knob.\n"
                "  idlelab prove --policy ondemand --for 1h\n"
                "  idlelab prove --profile balanced,power-saver --precision 1% -- make -j4",
        .options = { arms_options, prove_options },
        .check = prove_check,
        .max_args = INT_MAX,
        .ask = prove_ask,
        .show = prove_show,
        .command = true,
};
