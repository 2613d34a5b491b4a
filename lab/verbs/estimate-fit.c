/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finding a power table: samples of this machine, and the least squares of their watts.
 */
#include "estimate.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "least-squares.h"
#include "pin.h"

/*
 * Load that varies, so that CPUs visit all their states.
 *
 * A step is a share of CPUs that work, a share of the time that they do, and a period. The period
 * is what chooses the idle state: a CPU that is woken every 200 us sleeps less deeply than one that
 * is woken every 100 ms. CPUs that do not work in a step sleep until the next one.
 */
#define NICE        19
#define NSEC_PER_MS 1000000

typedef struct Load {
        double cpus, busy; /* 0 .. 1 */
        long period_nsec;
} Load;

/* A thread for each CPU that works in this step. */
typedef struct Exercise {
        Load load;
        atomic_bool stop;
        int n;
        struct Worker *workers;
} Exercise;

typedef struct Worker {
        const Exercise *exercise;
        int cpu;
        pthread_t thread;
} Worker;

/* Works and sleeps in turns until the step is over. */
static void *worker_run(void *data)
{
        const Worker *worker = data;
        const Load *load = &worker->exercise->load;
        int64_t next = (int64_t)clock_nsec(CLOCK_MONOTONIC);

        thread_pin(worker->cpu); /* else it works on another one, which is a load, too */
        setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
        while (!atomic_load(&worker->exercise->stop)) {
                int64_t until = next + (int64_t)(load->busy * (double)load->period_nsec);
                struct timespec wake;

                while ((int64_t)clock_nsec(CLOCK_MONOTONIC) < until)
                        continue;
                next += load->period_nsec;
                wake = timespec_of((uint64_t)next);
                clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
        }
        return NULL;
}

static void exercise_stop(Exercise *exercise)
{
        atomic_store(&exercise->stop, true);
        for (int i = 0; i < exercise->n; i++)
                pthread_join(exercise->workers[i].thread, NULL);
        g_clear_pointer(&exercise->workers, g_free);
        exercise->n = 0;
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Exercise, exercise_stop)

/* Begins the load number `step`: how many CPUs work, which share of the time, and how often they
 * sleep in between, are different in each of many steps, and the same whenever the number is. */
static void exercise_step(Exercise *exercise, const CpuSet *cpus, unsigned step)
{
        static const double shares[] = { 0, 0.25, 0.5, 1 };
        static const double busy[] = { 0.02, 1, 0.3, 0.6, 0.1 };
        static const long periods[] = { 200000, 100 * NSEC_PER_MS, NSEC_PER_MS, 10 * NSEC_PER_MS };
        g_autoptr(GRand) random = g_rand_new_with_seed(step); /* which CPUs work */

        exercise_stop(exercise);
        exercise->stop = false;
        /* 4, 5 and 4 with a turn: all 80 combinations before one comes again. */
        exercise->load = (Load){ shares[step % 4], busy[step % 5],
                                 periods[(step + step / 20) % 4] };
        exercise->workers = g_new0(Worker, (gsize)cpuset_count(cpus));
        CPUSET_FOREACH(cpu, cpus) {
                Worker *worker = &exercise->workers[exercise->n];

                if (g_rand_double(random) >= exercise->load.cpus)
                        continue;
                *worker = (Worker){ .exercise = exercise, .cpu = cpu };
                if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0)
                        break;
                exercise->n++;
        }
}

/* Shares that add up to less than this over all samples say nothing of a state. */
#define VISITED_MIN 1e-4

/* What turbostat would call the columns of samples. */
static Turbostat *new_samples(const Watch *watch)
{
        Turbostat *found = turbostat_new(watch->n_states + 1);

        found->states[0] = g_strdup("C0");
        for (int s = 0; s < watch->n_states; s++)
                found->states[s + 1] = g_strdup(watch->states[s]);
        for (int p = 0; p < watch->topology->n_packages; p++)
                g_array_append_val(found->packages, p);
        found->software = true;
        return found;
}

/* Adds the packages' residencies over the last interval, in the form of turbostat's. */
static void add_sample(Turbostat *to, const Watch *watch)
{
        if (watch->n_states + 1 != to->n_states)
                return; /* CPUs with other idle states came online, or went */
        for (guint p = 0; p < to->packages->len; p++) {
                bool here = (int)p < watch->topology->n_packages, estimated; /* or unplugged */
                CpuSet cpus = watch_package(watch, (int)p);

                watch_shares(watch, &cpus, turbostat_add(to, here ? watch->package_watts[p] : NAN),
                             &estimated);
                to->estimated |= estimated;
        }
}

/* Waits out an interval and reads. False after a message. */
static bool next_sample(Watch *watch, uint64_t interval_usec)
{
        int r;

        g_usleep(interval_usec);
        r = watch_sample(watch, SENSE_RESIDENCY, true);
        if (r < 0)
                complain("failed to read the CPUs again: %s", g_strerror(-r));
        return r == 0;
}

/* Samples until the time is over. Under load every interval has its own; what is read right after a
 * change is of both. */
static bool collect(Watch *watch, Turbostat *to, uint64_t usec, uint64_t interval_usec, bool load)
{
        unsigned steps = (unsigned)MAX(usec / interval_usec, 1);
        g_auto(Exercise) exercise = { 0 };

        if (watch_sample(watch, SENSE_RESIDENCY, true) < 0)
                return false;
        for (unsigned step = 0; step < steps; step++) {
                uint64_t before = watch->energy_usec;

                if (load)
                        exercise_step(&exercise, &watch->topology->online, step);
                if (!next_sample(watch, interval_usec))
                        return false;
                if (!load || watch->energy_usec != before)
                        add_sample(to, watch);
        }
        return true;
}

Turbostat *estimate_measure(const Ctl *ctl, uint64_t usec, uint64_t interval_usec, bool load)
{
        g_autoptr(Watch) watch = NULL;
        g_autoptr(Turbostat) found = NULL;
        int r = watch_new(ctl->root, &watch);

        if (r < 0) {
                complain_cpus(ctl, r);
                return NULL;
        }
        if (load && watch->energy_error < 0) {
                complain("--fit: expected energy counters (RAPL) to compare with: %s",
                         watch->energy_error == -ENOENT ? "this machine does not have them"
                                                        : g_strerror(-watch->energy_error));
                return NULL;
        }
        found = new_samples(watch);
        return collect(watch, found, usec, interval_usec, load) ? g_steal_pointer(&found) : NULL;
}

/* The rows and right sides of all samples of all packages that have watts. Returns how many. */
static int make_rows(const Turbostat *samples, GArray *a, GArray *b)
{
        for (guint i = 0; i < samples->watts->len; i++) {
                double watts = turbostat_watts(samples, 0, i);

                if (!isfinite(watts))
                        continue;
                g_array_append_vals(a, turbostat_shares(samples, 0, i), (guint)samples->n_states);
                g_array_append_val(b, watts);
        }
        return (int)b->len;
}

/* States that were hardly visited get no figure: a huge one times nothing is nothing. */
static void clear_rare(GArray *a, int rows, int columns)
{
        double *cells = (double *)(void *)a->data;

        for (int c = 0; c < columns; c++) {
                double sum = 0;

                for (int row = 0; row < rows; row++)
                        sum += cells[row * columns + c];
                for (int row = 0; row < rows && sum < VISITED_MIN * rows; row++)
                        cells[row * columns + c] = 0;
        }
}

/* A state without a figure, and how many times as many samples make its error small enough. Where
 * the value is not known either, half the error is a step. */
static json_object *describe_rejected(const char *name, const LeastSquares *found, int s,
                                      const char *fault)
{
        double times = pow(3 * found->error[s] / found->value[s], 2);
        json_object *state = json_object_new_object();

        json_put_text(state, "state", name);
        json_put_real(state, "watts", found->negative[s] < 0 ? found->negative[s] : found->value[s],
                      3);
        json_put_real(state, "error_watts", found->error[s], 3);
        json_put_text(state, "reason", fault);
        json_put_real(state, "times_needed", times > 1 && isfinite(times) ? times : 4, 2);
        return state;
}

/* Fills the table with the states that have a figure, and says why the others have none. */
static void add_figures(PowerTable *table, const Turbostat *samples, const LeastSquares *found,
                        json_object *fit)
{
        json_object *undetermined = json_object_new_array(), *rejected = json_object_new_array();
        json_object *negative = json_object_new_array(), *why;
        const char *faults[LEAST_SQUARES_MAX];

        least_squares_judge(found, faults);
        for (int s = 0; s < samples->n_states; s++) {
                const char *name = samples->states[s];

                if (found->value[s] > POWER_TABLE_WATTS_MAX)
                        faults[s] = "too large";
                if (!faults[s]) {
                        power_table_add(table, name, found->value[s], found->error[s]);
                        continue;
                }
                json_add_text(undetermined, name);
                if (isnan(found->value[s]))
                        continue;
                why = describe_rejected(name, found, s, faults[s]);
                json_object_array_add(rejected, why);
                if (found->negative[s] < 0)
                        json_object_array_add(negative, json_object_get(why));
        }
        json_put(fit, "undetermined", undetermined);
        json_put(fit, "rejected", rejected);
        json_put(fit, "negative", negative);
        json_put_bool(fit, "complete", !faults[0] && !faults[samples->n_states - 1]);
}

static void complain_fit(const char *where, int rows, int error)
{
        if (error == -EDOM)
                complain("%s: CPUs spent the same shares of the time in all states in each of the "
                         "%d samples, expected samples under different load",
                         where, rows);
        else
                complain("%s: found %d sample%s with watts of a package, expected more than there "
                         "are states in use",
                         where, rows, rows == 1 ? "" : "s");
}

PowerTable *estimate_fit(const Turbostat *samples, const char *where, json_object *answer)
{
        g_autoptr(GArray) a = g_array_new(FALSE, FALSE, sizeof(double));
        g_autoptr(GArray) b = g_array_new(FALSE, FALSE, sizeof(double));
        int rows = make_rows(samples, a, b);
        json_object *fit = json_object_new_object();
        PowerTable *table = power_table_new("fit");
        LeastSquares found;
        int r;

        json_put(answer, "fit", fit);
        clear_rare(a, rows, samples->n_states);
        r = rows == 0 ? -ENODATA
                      : least_squares_positive((double *)(void *)a->data, (double *)(void *)b->data,
                                               rows, samples->n_states, &found);
        if (r < 0) {
                complain_fit(where, rows, r);
                power_table_free(table);
                return NULL;
        }
        add_figures(table, samples, &found, fit);
        json_put_int(fit, "samples", rows);
        json_put_real(fit, "residual_watts", found.residual, 3);
        json_put_real(fit, "explained", found.explained, 4);
        return table;
}
