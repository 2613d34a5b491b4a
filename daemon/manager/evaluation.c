/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Measuring what policies save.
 *
 * Every policy whose requests serve to save energy has an evaluator (stats/evaluator.h), which
 * says whether they are honoured now. One trial goes on at a time, on a timer of its own; between
 * trials evaluators only see the ticks that come anyway, so that they wake no CPU. Energy is read
 * at the ends of blocks and at no other time, because that wakes a CPU of each package.
 *
 * What was found is kept in the state directory, one file per policy. It is written without waiting
 * for the disk: after a power cut a file may be damaged, which shows, and then it is set aside.
 */
#include "manager/decided-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "config/power-table.h"
#include "manager/evaluation.h"
#include "sense/power.h"
#include "sense/readings.h"
#include "sense/task-time.h"
#include "sense/work-meter.h"

#define TIMER_USEC         10000 /* accuracy of the timer */
#define BLOCK_USEC         (2 * G_USEC_PER_SEC)
#define WASHOUT_USEC       (1 * G_USEC_PER_SEC)
#define DUTY               0.01                   /* a trial of 6 s each 5 min */
#define BATTERY_BLOCK_USEC (180 * G_USEC_PER_SEC) /* 20 steps of 10 mWh at 4 W */
#define SAVE_USEC          (300 * G_USEC_PER_SEC) /* files are written no more often than that */

/* Readings at the ends of the intervals that evaluators measure. */
typedef struct Evaluation {
        EnergySource source;
        BatteryReading battery; /* the last */
        WorkMeter work;
        Readings readings;
        TaskTime *tasks; /* as of the readings' difference */
        IdleTable *idle; /* of CPUs when the trial began, for estimates; NULL: none was needed */
        sd_event_source *timer; /* of the trial that goes on */
        uint64_t kept_usec;     /* when the files were written last */
        int keep_error;         /* why they could not be; 0: they were */
} Evaluation;

/* With a pace that suits the source: blocks must be long enough for the steps of batteries. */
static EvaluateOptions options_of(const Decided *decided)
{
        EvaluateOptions options = *(const EvaluateOptions *)config_section(decided->ground->config,
                                                                           "Evaluate")
                                           ->options;
        bool battery = decided->evaluation->source == ENERGY_SOURCE_BATTERY;
        const TrialPace usual = { battery ? BATTERY_BLOCK_USEC : BLOCK_USEC, WASHOUT_USEC, DUTY };
        const TrialPace *pace = decided->ground->setup.pace ? decided->ground->setup.pace : &usual;

        options.block_usec = pace->block_usec;
        options.washout_usec = pace->washout_usec;
        options.duty = pace->duty;
        return options;
}

static Evaluator *nth(const Decided *decided, guint i)
{
        return g_array_index(decided->policies, ActivePolicy, i).evaluator;
}

/* Sources */

EnergySource evaluation_source(const Decided *decided)
{
        return decided->evaluation->source;
}

static EnergySource find_source(const Decided *decided, const Config *config)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(seen_sensors(decided->seen), &domains);
        BatteryReading battery;

        for (int i = 0; i < n; i++)
                if (domains[i].package)
                        return domains[i].source;
        if (config->power && sensors_have(seen_sensors(decided->seen)) & SENSE_RESIDENCY)
                return ENERGY_SOURCE_ESTIMATE;
        /* Also while it is plugged in: the source does not change with the plug. */
        if (battery_read(decided->ground->setup.root, &battery) == 0)
                return ENERGY_SOURCE_BATTERY;
        return ENERGY_SOURCE_NONE;
}

unsigned evaluation_senses(const Decided *decided)
{
        for (guint i = 0; i < decided->policies->len; i++)
                if (nth(decided, i) && decided->evaluation->source == ENERGY_SOURCE_BATTERY)
                        return SENSE_POWER;
        return 0;
}

void evaluation_choose_source(Decided *decided, const Config *config)
{
        EnergySource source = find_source(decided, config);
        bool other = work_meter_choose(&decided->evaluation->work, decided->ground->setup.root,
                                       seen_topology(decided->seen));

        if (source == decided->evaluation->source && !other)
                return;
        for (guint i = 0; i < decided->policies->len; i++)
                g_clear_pointer(&g_array_index(decided->policies, ActivePolicy, i).evaluator,
                                g_free);
        decided->evaluation->source = source;
}

/* Files */

static char *file_of(const Decided *decided, const char *policy, const char *suffix)
{
        return g_strdup_printf("%s/evaluate-%s%s", decided->ground->setup.state, policy, suffix);
}

static void set_aside(const Decided *decided, const char *policy, const char *path, const char *why)
{
        g_autofree char *aside = file_of(decided, policy, ".aside");

        if (rename(path, aside) < 0)
                log_warning("%s: %s; what was measured before is not used", path, why);
        else
                log_warning("%s: %s; it is kept as %s, and measuring begins again", path, why,
                            aside);
}

/* The time since then; none if the clock was set back. */
static uint64_t since_usec(const struct timespec *then)
{
        uint64_t now = clock_usec(CLOCK_REALTIME), begin = (uint64_t)then->tv_sec * G_USEC_PER_SEC;

        return now > begin ? now - begin : 0;
}

/* Reads what an instance before this one found; false if there is nothing of use. */
static bool recall(const Decided *decided, const char *policy, Evaluator *evaluator)
{
        g_autofree char *path = NULL, *text = NULL, *whole = NULL;
        struct stat st;
        int r;

        if (!decided->ground->setup.state)
                return false;
        path = file_of(decided, policy, "");
        if (stat(path, &st) < 0 && errno == ENOENT)
                return false;
        r = file_read_regular(path, &text);
        if (r >= 0) {
                whole = g_strconcat(text, "\n", NULL);
                r = evaluator_parse(whole, evaluation_source(decided),
                                    seen_topology(decided->seen)->n_cpus, evaluator);
                evaluator->budget.away_usec = since_usec(&st.st_mtim);
        }
        if (r == -ESTALE)
                set_aside(decided, policy, path,
                          "found what was measured on another machine, or by other means");
        else if (r == -EBADMSG || r == -EFBIG)
                set_aside(decided, policy, path, "found no state of an evaluator in it");
        else if (r < 0)
                log_error_errno(r, "%s: %m; what was measured before is not used", path);
        return r >= 0;
}

void evaluation_keep(Decided *decided)
{
        if (!decided->ground->setup.state || decided->ground->setup.dry_run)
                return;
        decided->evaluation->kept_usec = manager_now();
        for (guint i = 0; i < decided->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(decided->policies, ActivePolicy, i);
                g_autofree char *path = file_of(decided, p->policy->name, ""), *text = NULL;
                int r;

                if (!p->evaluator || p->evaluator->total_sec <= 0)
                        continue;
                text = evaluator_format(p->evaluator, evaluation_source(decided),
                                        seen_topology(decided->seen)->n_cpus);
                r = file_replace(decided->ground->setup.state, path, text);
                if (r < 0 && r != decided->evaluation->keep_error)
                        log_error_errno(r, "%s: what was measured cannot be kept: %m", path);
                decided->evaluation->keep_error = MIN(r, 0);
        }
}

void evaluation_begin(const Decided *decided, ActivePolicy *active, bool always)
{
        g_autofree Evaluator *evaluator = g_new0(Evaluator, 1);

        evaluator_init(evaluator, (uint64_t)g_random_int() << 32 | g_random_int());
        evaluator->unit = decided->evaluation->work.unit;
        if (recall(decided, active->policy->name, evaluator) || always)
                active->evaluator = g_steal_pointer(&evaluator);
}

/* Readings */

/* The names of idle states, which may change with the driver. */
static void read_states(Decided *decided)
{
        const Topology *t = seen_topology(decided->seen);

        if (decided->evaluation->source != ENERGY_SOURCE_ESTIMATE)
                return;
        g_free(decided->evaluation->idle);
        decided->evaluation->idle = idle_tables_read(decided->ground->setup.root, t->n_cpus);
}

static unsigned senses_of(EnergySource source)
{
        return SENSE_LOAD | SENSE_PRESSURE |
               (energy_source_counts(source)       ? SENSE_ENERGY
                : source == ENERGY_SOURCE_ESTIMATE ? SENSE_RESIDENCY
                                                   : 0);
}

static double read_battery(Decided *decided)
{
        BatteryReading *last = &decided->evaluation->battery, before = *last;

        *last = (BatteryReading){ 0 };
        return battery_read(decided->ground->setup.root, last) < 0 ? NAN
                                                                   : battery_joules(&before, last);
}

/* What was used since it was read last; NaN: not known. */
static double read_joules(Decided *decided, double seconds)
{
        const Snapshot *s = decided->evaluation->readings.seen;

        switch (decided->evaluation->source) {
        case ENERGY_SOURCE_RAPL:
        case ENERGY_SOURCE_HWMON:
                return snapshot_package_joules(s);
        case ENERGY_SOURCE_BATTERY:
                return read_battery(decided);
        case ENERGY_SOURCE_ESTIMATE:
                if (!(s->have & SENSE_RESIDENCY) || !decided->evaluation->idle)
                        return NAN;
                return seconds * power_table_watts(decided->ground->config->power,
                                                   seen_topology(decided->seen),
                                                   decided->evaluation->idle, s);
        default:
                return NAN;
        }
}

/* What happened since it was read last. */
static Block read_block(Decided *decided)
{
        const Snapshot *s = decided->evaluation->readings.seen;
        TaskTime *tasks = decided->evaluation->tasks;
        Block block = { 0 };

        if (readings_read(&decided->evaluation->readings, seen_sensors(decided->seen),
                          senses_of(decided->evaluation->source)) < 0)
                return block;
        task_time_read(tasks, decided->ground->setup.root, s);
        work_meter_add(&decided->evaluation->work, decided->ground->setup.root,
                       seen_topology(decided->seen), s, tasks, &block);
        block.joules = read_joules(decided, block.seconds);
        return block;
}

/* Trials */

/* The evaluator whose trial goes on; NULL: none does. */
static Evaluator *trying(const Decided *decided)
{
        for (guint i = 0; i < decided->policies->len; i++)
                if (nth(decided, i) && evaluator_due(nth(decided, i)) != UINT64_MAX)
                        return nth(decided, i);
        return NULL;
}

static void set_timer(Decided *decided)
{
        const Evaluator *e = trying(decided);

        timer_set_at(decided->evaluation->timer, e ? evaluator_due(e) : 0);
}

/* False if none of the CPUs that the policy requests to park is parked, although it is honoured.
 * While a block of the other arm or a wash-out goes on that is as it should be. */
static bool takes_effect(const Decided *decided, const ActivePolicy *p)
{
        const EvaluateOptions options = options_of(decided);
        const Evaluator *e = p->evaluator;
        CpuSet wanted = seen_topology(decided->seen)->online;

        cpuset_subtract(&wanted, &p->wish.allowed);
        if (cpuset_is_empty(&wanted) || !evaluator_is_on(e, &options) ||
            (evaluator_due(e) != UINT64_MAX && !e->trial.slot.counted))
                return true;
        return cpuset_intersects(&wanted, seen_parked(decided->seen));
}

/* False while energy cannot be measured now: by battery, while the machine is plugged in. */
static bool has_energy(const Decided *decided)
{
        if (decided->evaluation->source == ENERGY_SOURCE_BATTERY)
                return seen_snapshot(decided->seen)->have & SENSE_POWER &&
                       seen_snapshot(decided->seen)->on_battery;
        return decided->evaluation->source != ENERGY_SOURCE_NONE;
}

static void pass(Decided *decided, ActivePolicy *p)
{
        const EvaluateOptions options = options_of(decided);
        const Evaluator *other = trying(decided);
        bool effective = !decided->ground->setup.dry_run && takes_effect(decided, p);
        EvaluatorView view = {
                .now_usec = manager_now(),
                .wanted = p->wish.for_saving && !pauses_any(asked_pauses(decided->asked)) &&
                          trial_honours(asked_trial(decided->asked), p->policy->name) != 0,
                .possible = effective && !asked_trial(decided->asked) &&
                            (!other || other == p->evaluator) &&
                            !watching_has_window(seen_watching(decided->seen)) &&
                            has_energy(decided),
                .work = work_meter_rate(&decided->evaluation->work, seen_topology(decided->seen),
                                        seen_snapshot(decided->seen)),
                .idle = !effective,
        };

        evaluator_pass(p->evaluator, &options, &view);
        if (other || !trying(decided))
                return;
        read_states(decided);
        read_block(decided);
}

void evaluation_pass(Decided *decided)
{
        bool any = false;

        for (guint i = 0; i < decided->policies->len; i++) {
                ActivePolicy *p = &g_array_index(decided->policies, ActivePolicy, i);

                if (!p->evaluator && p->wish.for_saving)
                        evaluation_begin(decided, p, true);
                any |= p->evaluator != NULL;
        }
        if (any)
                work_meter_read(&decided->evaluation->work, decided->ground->setup.root,
                                seen_topology(decided->seen), seen_snapshot(decided->seen),
                                trying(decided) != NULL);
        for (guint i = 0; i < decided->policies->len; i++)
                if (nth(decided, i))
                        pass(decided, &g_array_index(decided->policies, ActivePolicy, i));
        set_timer(decided);
}

/* A slot of the trial is over. */
static int on_slot(sd_event_source *source, uint64_t usec, void *userdata)
{
        Decided *decided = userdata;
        const EvaluateOptions options = options_of(decided);
        Evaluator *e = trying(decided);
        uint64_t pairs, counted, now;
        Block block;

        if (!e || (block = read_block(decided)).seconds <= 0)
                return 0;
        now = decided->evaluation->readings.current->time_usec;
        evaluation_pass(decided);
        pairs = e->estimator.n_pairs;
        counted = pairs + estimator_dropped(&e->estimator);
        evaluator_step(e, &options, now, &block);
        set_timer(decided);
        if (e->estimator.n_pairs + estimator_dropped(&e->estimator) > counted)
                ground_raise(decided->ground, CHANGE_EVALUATION);
        ground_raise(decided->ground, DUE_TICK);
        if (e->estimator.n_pairs > pairs && now - decided->evaluation->kept_usec > SAVE_USEC)
                evaluation_keep(decided);
        return 0;
}

void evaluation_interrupt(Decided *decided, BlockDrop why)
{
        const EvaluateOptions options = options_of(decided);
        Evaluator *e = trying(decided);

        if (!e)
                return;
        evaluator_interrupt(e, &options, why, manager_now());
        set_timer(decided);
        ground_raise(decided->ground,
                     CHANGE_EVALUATION | DUE_TICK_SOON); /* the arm may be another */
}

bool evaluation_honours(const Decided *decided, const ActivePolicy *active)
{
        const EvaluateOptions options = options_of(decided);
        int honours = trial_honours(asked_trial(decided->asked), active->policy->name);

        if (honours >= 0)
                return honours;
        return !active->wish.for_saving || !active->evaluator ||
               evaluator_is_on(active->evaluator, &options);
}

bool evaluation_backs_off(const Decided *decided, const ActivePolicy *active)
{
        return !evaluation_honours(decided, active) &&
               trial_honours(asked_trial(decided->asked), active->policy->name) < 0 &&
               !evaluator_is_trying(active->evaluator);
}

void evaluation_explain(const Decided *decided, const ActivePolicy *active, CpuCause *cause)
{
        const Section *section = config_section(decided->ground->config, "Evaluate");
        const Evaluator *e = active->evaluator;
        Interval watts;
        bool trial;

        cause->ignored = true;
        cause->policy = active->policy->name;
        if (trial_honours(asked_trial(decided->asked), active->policy->name) == 0) {
                cause->reason = (Reason){ .because = "a client's trial ignores its requests" };
                return;
        }
        trial = evaluator_is_trying(e);
        watts = e->found.watts;
        cause->reason = (Reason){
                .because = trial ? "its requests are ignored for some seconds, to measure what "
                                   "they save"
                           : e->found.verdict == VERDICT_COSTS
                                   ? "its requests were measured to cost energy, so they are "
                                     "ignored"
                                   : "its requests seem to cost energy, so they are ignored until "
                                     "that is known",
                .inputs = { { "saved", "W", watts.value },
                            { "at least", "W", watts.low },
                            { "at most", "W", watts.high } },
                .option = trial ? "Trials" : "BackOff",
        };
        cause->option_source = section_source(section, cause->reason.option);
}

void evaluation_init(Decided *decided)
{
        decided->evaluation = g_new0(Evaluation, 1);
        readings_init(&decided->evaluation->readings, seen_topology(decided->seen)->n_cpus);
        decided->evaluation->tasks = task_time_new(seen_topology(decided->seen)->n_cpus);
}

void evaluation_listen(Decided *decided)
{
        int r = timer_add(decided->ground->event, &decided->evaluation->timer, TIMER_USEC, on_slot,
                          decided);

        if (r < 0)
                log_error_errno(r, "The timer cannot be made, so nothing is measured: %m");
}

void evaluation_done(Decided *decided)
{
        Evaluation *evaluation = decided->evaluation;

        if (!evaluation)
                return;
        sd_event_source_disable_unref(evaluation->timer);
        readings_done(&evaluation->readings);
        task_time_free(evaluation->tasks);
        g_free(evaluation->idle);
        g_free(evaluation);
}
