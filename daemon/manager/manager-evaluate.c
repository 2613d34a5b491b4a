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
#include "manager/manager-evaluate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "config/power-table.h"
#include "manager/manager-parts.h"
#include "manager/trial.h"
#include "manager/work-meter.h"
#include "sense/power.h"
#include "sense/task-time.h"

#define TIMER_USEC         10000 /* accuracy of the timer */
#define BLOCK_USEC         (2 * G_USEC_PER_SEC)
#define WASHOUT_USEC       (1 * G_USEC_PER_SEC)
#define DUTY               0.01                   /* a trial of 6 s each 5 min */
#define BATTERY_BLOCK_USEC (180 * G_USEC_PER_SEC) /* 20 steps of 10 mWh at 4 W */
#define SAVE_USEC          (300 * G_USEC_PER_SEC) /* files are written no more often than that */

/* Readings at the ends of the intervals that evaluators measure. */
typedef struct MeterState {
        const EvaluationCalls *calls;
        EnergySource source;
        BatteryReading battery; /* the last */
        WorkMeter work;
        Counters *previous, *current;
        Snapshot *snapshot;
        TaskTime *tasks; /* as of the snapshot */
        IdleTable *idle; /* of CPUs when the trial began, for estimates; NULL: none was needed */
        sd_event_source *timer; /* of the trial that goes on */
        uint64_t kept_usec;     /* when the files were written last */
        int keep_error;         /* why they could not be; 0: they were */
} MeterState;

static uint64_t now_usec(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * G_USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

/* With a pace that suits the source: blocks must be long enough for the steps of batteries. */
static EvaluateOptions options_of(const Manager *manager)
{
        EvaluateOptions options =
                *(const EvaluateOptions *)config_section(manager->config, "Evaluate")->options;
        bool battery = manager->meter->source == ENERGY_SOURCE_BATTERY;
        const TrialPace usual = { battery ? BATTERY_BLOCK_USEC : BLOCK_USEC, WASHOUT_USEC, DUTY };
        const TrialPace *pace = manager->setup.pace ? manager->setup.pace : &usual;

        options.block_usec = pace->block_usec;
        options.washout_usec = pace->washout_usec;
        options.duty = pace->duty;
        return options;
}

static Evaluator *nth(const Manager *manager, guint i)
{
        return g_array_index(manager->policies, ActivePolicy, i).evaluator;
}

/* Sources */

EnergySource manager_energy_source(const Manager *manager)
{
        return manager->meter->source;
}

WorkUnit manager_work_unit(const Manager *manager)
{
        return manager->meter->work.unit;
}

static EnergySource find_source(const Manager *manager, const Config *config)
{
        const EnergyDomain *domains;
        int n = sensors_energy_domains(manager->sensors, &domains);
        BatteryReading battery;

        for (int i = 0; i < n; i++)
                if (domains[i].package)
                        return ENERGY_SOURCE_RAPL;
        if (config->power && sensors_have(manager->sensors) & SENSE_RESIDENCY)
                return ENERGY_SOURCE_ESTIMATE;
        /* Also while it is plugged in: the source does not change with the plug. */
        if (battery_read(manager->setup.root, &battery) == 0)
                return ENERGY_SOURCE_BATTERY;
        return ENERGY_SOURCE_NONE;
}

unsigned manager_evaluation_senses(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (nth(manager, i) && manager->meter->source == ENERGY_SOURCE_BATTERY)
                        return SENSE_POWER;
        return 0;
}

void manager_choose_source(Manager *manager, const Config *config)
{
        EnergySource source = find_source(manager, config);
        bool other = work_meter_choose(&manager->meter->work, manager->setup.root,
                                       manager->machine.topology);

        if (source == manager->meter->source && !other)
                return;
        for (guint i = 0; i < manager->policies->len; i++)
                g_clear_pointer(&g_array_index(manager->policies, ActivePolicy, i).evaluator,
                                g_free);
        manager->meter->source = source;
}

/* Files */

static char *file_of(const Manager *manager, const char *policy, const char *suffix)
{
        return g_strdup_printf("%s/evaluate-%s%s", manager->setup.state, policy, suffix);
}

static void set_aside(const Manager *manager, const char *policy, const char *path, const char *why)
{
        g_autofree char *aside = file_of(manager, policy, ".aside");

        if (rename(path, aside) < 0)
                log_warning("%s: %s; what was measured before is not used", path, why);
        else
                log_warning("%s: %s; it is kept as %s, and measuring begins again", path, why,
                            aside);
}

/* The time since then; none if the clock was set back. */
static uint64_t since_usec(const struct timespec *then)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return now.tv_sec > then->tv_sec ? (uint64_t)(now.tv_sec - then->tv_sec) * G_USEC_PER_SEC
                                         : 0;
}

/* Reads what an instance before this one found; false if there is nothing of use. */
static bool recall(const Manager *manager, const char *policy, Evaluator *evaluator)
{
        g_autofree char *path = NULL, *text = NULL, *whole = NULL;
        struct stat st;
        int r;

        if (!manager->setup.state)
                return false;
        path = file_of(manager, policy, "");
        if (stat(path, &st) < 0 && errno == ENOENT)
                return false;
        r = file_read_regular(path, &text);
        if (r >= 0) {
                whole = g_strconcat(text, "\n", NULL);
                r = evaluator_parse(whole, manager_energy_source(manager),
                                    manager->machine.topology->n_cpus, evaluator);
                evaluator->away_usec = since_usec(&st.st_mtim);
        } else if (r != -EBADMSG && r != -EFBIG)
                log_error_errno(r, "%s: %m; what was measured before is not used", path);
        if (r == -EBADMSG || r == -EFBIG)
                set_aside(manager, policy, path, "found no state of an evaluator in it");
        else if (r == -ESTALE)
                set_aside(manager, policy, path,
                          "found what was measured on another machine, or by other means");
        return r >= 0;
}

void manager_keep_evaluations(Manager *manager)
{
        if (!manager->setup.state || manager->setup.dry_run)
                return;
        manager->meter->kept_usec = now_usec();
        for (guint i = 0; i < manager->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);
                g_autofree char *path = file_of(manager, p->policy->name, ""), *text = NULL;
                int r;

                if (!p->evaluator || p->evaluator->total_sec <= 0)
                        continue;
                text = evaluator_format(p->evaluator, manager_energy_source(manager),
                                        manager->machine.topology->n_cpus);
                r = file_replace(manager->setup.state, path, text);
                if (r < 0 && r != manager->meter->keep_error)
                        log_error_errno(r, "%s: what was measured cannot be kept: %m", path);
                manager->meter->keep_error = MIN(r, 0);
        }
}

void manager_start_evaluation(const Manager *manager, ActivePolicy *active, bool always)
{
        g_autofree Evaluator *evaluator = g_new0(Evaluator, 1);

        evaluator_init(evaluator, (uint64_t)g_random_int() << 32 | g_random_int());
        evaluator->unit = manager_work_unit(manager);
        if (recall(manager, active->policy->name, evaluator) || always)
                active->evaluator = g_steal_pointer(&evaluator);
}

/* Readings */

/* The names of idle states, which may change with the driver. */
static void read_states(Manager *manager)
{
        const Topology *t = manager->machine.topology;

        if (manager->meter->source != ENERGY_SOURCE_ESTIMATE)
                return;
        if (!manager->meter->idle)
                manager->meter->idle = g_new0(IdleTable, (gsize)t->n_cpus);
        CPUSET_FOREACH(cpu, &t->online) {
                IdleTable *table = &manager->meter->idle[cpu];

                table->n_states = idle_states_read(manager->setup.root, cpu, table->states);
        }
}

static unsigned senses_of(EnergySource source)
{
        return SENSE_LOAD | SENSE_PRESSURE |
               (source == ENERGY_SOURCE_RAPL       ? SENSE_ENERGY
                : source == ENERGY_SOURCE_ESTIMATE ? SENSE_RESIDENCY
                                                   : 0);
}

/* Joules of all packages by RAPL; NaN: one of them is not known. */
static double packages_joules(const Snapshot *s)
{
        double joules = 0;
        bool any = false;

        for (int i = 0; s->have & SENSE_ENERGY && i < s->n_energy; i++) {
                if (!s->energy[i].package)
                        continue;
                any = true;
                joules += s->energy[i].valid ? s->energy[i].joules : NAN;
        }
        return any ? joules : NAN;
}

static double read_battery(Manager *manager)
{
        BatteryReading before = manager->meter->battery;

        manager->meter->battery = (BatteryReading){ 0 };
        if (battery_read(manager->setup.root, &manager->meter->battery) < 0)
                return NAN;
        return battery_joules(&before, &manager->meter->battery);
}

/* What was used since it was read last; NaN: not known. */
static double read_joules(Manager *manager, double seconds)
{
        const Snapshot *s = manager->meter->snapshot;

        switch (manager->meter->source) {
        case ENERGY_SOURCE_RAPL:
                return packages_joules(s);
        case ENERGY_SOURCE_BATTERY:
                return read_battery(manager);
        case ENERGY_SOURCE_ESTIMATE:
                if (!(s->have & SENSE_RESIDENCY) || !manager->meter->idle)
                        return NAN;
                return seconds * power_table_watts(manager->config->power,
                                                   manager->machine.topology, manager->meter->idle,
                                                   s);
        default:
                return NAN;
        }
}

/* What happened since it was read last. */
static Meter read_meter(Manager *manager)
{
        Counters *before = manager->meter->previous, *now = manager->meter->current;
        const Snapshot *s = manager->meter->snapshot;
        TaskTime *tasks = manager->meter->tasks;
        Meter meter = { 0 };

        manager->meter->previous = now;
        manager->meter->current = before;
        if (counters_read(manager->sensors, senses_of(manager->meter->source), before) < 0)
                return (Meter){ 0 };
        snapshot_compute(now->time_usec ? now : NULL, before, manager->meter->snapshot);
        task_time_read(tasks, manager->setup.root, s);
        meter.seconds = (double)s->interval_usec / 1e6;
        work_meter_read(&manager->meter->work, manager->setup.root, manager->machine.topology, s,
                        true);
        meter.load = work_meter_rate(&manager->meter->work, manager->machine.topology, s, s->busy) *
                     meter.seconds;
        meter.work = work_meter_rate(&manager->meter->work, manager->machine.topology, s,
                                     tasks->share) *
                     meter.seconds;
        if (tasks->known && manager->meter->work.unit == WORK_BUSY && s->have & SENSE_PRESSURE) {
                meter.cpu_seconds = tasks->cpus * meter.seconds;
                meter.switches = tasks->switches_per_sec * meter.seconds;
        }
        work_meter_begin(&manager->meter->work);
        meter.delay = s->have & SENSE_PRESSURE ? s->pressure * meter.seconds : 0;
        meter.joules = read_joules(manager, meter.seconds);
        meter.valid = isfinite(meter.joules);
        return meter;
}

/* Trials */

static void set_timer(Manager *manager)
{
        uint64_t due = UINT64_MAX;
        int r = 0;

        for (guint i = 0; i < manager->policies->len; i++)
                if (nth(manager, i))
                        due = MIN(due, evaluator_due(nth(manager, i)));
        if (!manager->meter->timer)
                return;
        if (due == UINT64_MAX) {
                sd_event_source_set_enabled(manager->meter->timer, SD_EVENT_OFF);
                return;
        }
        r = sd_event_source_set_time(manager->meter->timer, due);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->meter->timer, SD_EVENT_ONESHOT);
        if (r < 0)
                log_error_errno(r, "The timer cannot be set: %m");
}

/* The evaluator whose trial goes on; NULL: none does. */
static Evaluator *trying(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (nth(manager, i) && evaluator_due(nth(manager, i)) != UINT64_MAX)
                        return nth(manager, i);
        return NULL;
}

/* False if none of the CPUs that the policy requests to park is parked, although it is honoured.
 * While a block of the other arm or a wash-out goes on that is as it should be. */
static bool takes_effect(const Manager *manager, const ActivePolicy *p)
{
        const EvaluateOptions options = options_of(manager);
        const Evaluator *e = p->evaluator;
        CpuSet wanted = manager->machine.topology->online;

        cpuset_subtract(&wanted, &p->wish.allowed);
        if (cpuset_is_empty(&wanted) || !evaluator_is_on(e, &options) ||
            (evaluator_due(e) != UINT64_MAX && !e->slot.counted))
                return true;
        return cpuset_intersects(&wanted, &manager->parked);
}

/* False while energy cannot be measured now: by battery, while the machine is plugged in. */
static bool has_energy(const Manager *manager)
{
        if (manager->meter->source == ENERGY_SOURCE_BATTERY)
                return manager->readings.seen->have & SENSE_POWER &&
                       manager->readings.seen->on_battery;
        return manager->meter->source != ENERGY_SOURCE_NONE;
}

static void pass(Manager *manager, ActivePolicy *p)
{
        const EvaluateOptions options = options_of(manager);
        const Evaluator *other = trying(manager);
        EvaluatorView view = {
                .now_usec = now_usec(),
                .wanted = p->wish.for_saving && !pauses_any(manager->pauses) &&
                          trial_honours(manager->trial, p->policy->name) != 0,
                .possible = !manager->trial && !manager->setup.dry_run &&
                            (!other || other == p->evaluator) && !manager_has_window(manager) &&
                            takes_effect(manager, p) && has_energy(manager),
                .work = work_meter_rate(&manager->meter->work, manager->machine.topology,
                                        manager->readings.seen, manager->readings.seen->busy),
                .idle = manager->setup.dry_run || !takes_effect(manager, p),
        };

        evaluator_pass(p->evaluator, &options, &view);
        if (other || !trying(manager))
                return;
        read_states(manager);
        read_meter(manager);
}

/* True if a policy's requests serve to save energy, or did so before. */
static bool evaluates(const Manager *manager)
{
        for (guint i = 0; i < manager->policies->len; i++)
                if (nth(manager, i) ||
                    g_array_index(manager->policies, ActivePolicy, i).wish.for_saving)
                        return true;
        return false;
}

void manager_evaluate(Manager *manager)
{
        if (evaluates(manager))
                work_meter_read(&manager->meter->work, manager->setup.root,
                                manager->machine.topology, manager->readings.seen,
                                trying(manager) != NULL);
        for (guint i = 0; i < manager->policies->len; i++) {
                ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                if (!p->evaluator && p->wish.for_saving)
                        manager_start_evaluation(manager, p, true);
                if (p->evaluator)
                        pass(manager, p);
        }
        set_timer(manager);
}

/* A slot of the trial is over. */
static int on_slot(sd_event_source *source, uint64_t usec, void *userdata)
{
        Manager *manager = userdata;
        const EvaluateOptions options = options_of(manager);
        Evaluator *e = trying(manager);
        uint64_t pairs, dropped, now;
        Meter meter;

        if (!e || (meter = read_meter(manager)).seconds <= 0)
                return 0;
        now = manager->meter->current->time_usec;
        manager_evaluate(manager);
        pairs = e->estimator.n_pairs;
        dropped = estimator_dropped(&e->estimator);
        evaluator_step(e, &options, now, &meter);
        set_timer(manager);
        if (e->estimator.n_pairs > pairs || estimator_dropped(&e->estimator) > dropped)
                manager->meter->calls->changed(manager, CHANGE_EVALUATION);
        pairs = e->estimator.n_pairs - pairs;
        manager->meter->calls->tick(manager);
        if (pairs > 0 && now - manager->meter->kept_usec > SAVE_USEC)
                manager_keep_evaluations(manager);
        return 0;
}

void manager_interrupt_evaluation(Manager *manager, BlockDrop why)
{
        const EvaluateOptions options = options_of(manager);
        Evaluator *e = trying(manager);

        if (!e)
                return;
        evaluator_interrupt(e, &options, why, now_usec());
        set_timer(manager);
        manager->meter->calls->changed(manager, CHANGE_EVALUATION);
        manager->meter->calls->wake(manager); /* the arm may be another now */
}

bool manager_honours(const Manager *manager, const ActivePolicy *active)
{
        const EvaluateOptions options = options_of(manager);
        int honours = trial_honours(manager->trial, active->policy->name);

        if (honours >= 0)
                return honours;
        return !active->wish.for_saving || !active->evaluator ||
               evaluator_is_on(active->evaluator, &options);
}

static void explain_evaluation(const Evaluator *e, const Section *section, CpuCause *cause)
{
        const Interval *watts = &e->found.watts;
        bool trial = evaluator_is_trying(e);

        cause->reason = (Reason){
                .because = trial ? "its requests are ignored for some seconds, to measure what "
                                   "they save"
                           : e->found.verdict == VERDICT_COSTS
                                   ? "its requests were measured to cost energy, so they are "
                                     "ignored"
                                   : "its requests seem to cost energy, so they are ignored until "
                                     "that is known",
                .inputs = { { "saved", "W", watts->value },
                            { "at least", "W", watts->low },
                            { "at most", "W", watts->high } },
                .option = trial ? "Trials" : "BackOff",
        };
        cause->option_source = section_source(section, cause->reason.option);
}

void manager_explain_ignored(const Manager *manager, const ActivePolicy *active, CpuCause *cause)
{
        const Section *section = config_section(manager->config, "Evaluate");
        const Evaluator *e = active->evaluator;

        cause->ignored = true;
        cause->policy = active->policy->name;
        if (trial_honours(manager->trial, active->policy->name) == 0)
                cause->reason = (Reason){ .because = "a client's trial ignores its requests" };
        else
                explain_evaluation(e, section, cause);
}

void manager_meter_init(Manager *manager, const EvaluationCalls *calls)
{
        manager->meter = g_new0(MeterState, 1);
        manager->meter->calls = calls;
        manager->meter->previous = counters_new(manager->machine.topology->n_cpus);
        manager->meter->current = counters_new(manager->machine.topology->n_cpus);
        manager->meter->snapshot = snapshot_new(manager->machine.topology->n_cpus);
        manager->meter->tasks = task_time_new(manager->machine.topology->n_cpus);
}

void manager_meter_listen(Manager *manager)
{
        int r = sd_event_add_time(manager->event, &manager->meter->timer, CLOCK_MONOTONIC, 0,
                                  TIMER_USEC, on_slot, manager);

        if (r >= 0)
                r = sd_event_source_set_enabled(manager->meter->timer, SD_EVENT_OFF);
        if (r < 0)
                log_error_errno(r, "The timer cannot be made, so nothing is measured: %m");
}

void manager_meter_done(Manager *manager)
{
        MeterState *meter = manager->meter;

        if (!meter)
                return;
        sd_event_source_disable_unref(meter->timer);
        counters_free(meter->previous);
        counters_free(meter->current);
        snapshot_free(meter->snapshot);
        task_time_free(meter->tasks);
        g_free(meter->idle);
        g_free(meter);
}
