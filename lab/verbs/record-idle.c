/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record --idle: idle periods of this machine as a trace for idlelab replay.
 *
 * The kernel's buffer is emptied ten times a second, without being asked to: a reader that is woken
 * by sleeps would record itself. The kernel passes on the record of a sleep when its CPU sleeps
 * again. Lines are in the order of idle entries: idlelab withholds later sleeps until it has the
 * record of each earlier one. A line's length is until the event that ended the sleep
 * (wake-time.h).
 */
#include "record.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "bpf/ledger.h"
#include "sense/sensor.h"
#include "cli/observe.h"
#include "cli/sleeps-read.h"
#include "wake-time.h"

#define PERIOD_USEC (100u * 1000)
#define LINE_MAX_   192

typedef struct Line {
        struct sleep_record record;
        char *cause; /* NULL: not asked for */
} Line;

typedef struct Recorder {
        const LedgerBackend *backend;
        Ledger *ledger;
        FILE *file;
        GArray *waiting;                         /* of Line */
        ExitLatency (*latencies)[SLEEPS_STATES]; /* by CPU and state */
        uint64_t written, guessed;
        int error; /* the errno with which the file could not be written; 0 */
} Recorder;

static void take(const struct sleep_record *record, const LedgerCause *cause, void *data)
{
        Recorder *recorder = data;
        Line line = { .record = *record };

        if (record_asked.causes)
                line.cause = ledger_cause_text(cause);
        g_array_append_val(recorder->waiting, line);
}

static int compare_lines(const void *a, const void *b)
{
        uint64_t x = ((const Line *)a)->record.entered_ns, y = ((const Line *)b)->record.entered_ns;

        return (x > y) - (x < y);
}

/* Whether the timer that the governor expected ended it: the tick may come before. */
static bool is_timer(const struct sleep_record *record)
{
        return record->kind == CAUSE_TIMER || record->kind == CAUSE_LOCAL_TIMER ||
               (record->kind == CAUSE_TICK && record->idle_ns >= record->length_ns);
}

static void write_line(Recorder *recorder, const Line *line)
{
        const struct sleep_record *record = &line->record;
        ExitLatency *latency = &recorder->latencies[record->cpu][record->state];
        bool by_timer = is_timer(record);
        uint64_t idle_ns = wake_time_find(latency, record->idle_ns, record->length_ns, by_timer);
        char text[LINE_MAX_], *end = text;

        end = number_put(end, record->cpu, ',');
        end = number_put(end, record->entered_ns, ',');
        end = number_put(end, record->length_ns, ',');
        end = number_put(end, idle_ns, ',');
        end = number_put(end, by_timer, ',');
        end = number_put(end, record->utilization, ',');
        if (record->latency_us < 0)
                end = g_stpcpy(end, "-1,");
        else
                end = number_put(end, (uint64_t)record->latency_us, ',');
        end = number_put(end, record->io_waiting, ',');
        end = number_put(end, record->resched, ',');
        end = number_put(end, record->got_tick, ',');
        if (record_asked.exits)
                end = number_put(end, record->idle_ns - idle_ns, ',');
        end[-1] = '\n';
        fwrite(text, 1, (size_t)(end - text), recorder->file);
        if (line->cause)
                fprintf(recorder->file, "# state %u, %s\n", record->state, line->cause);
        recorder->written++;
        recorder->guessed += record->length_guessed;
}

/* Writes what began before `horizon`. */
static void write_lines(Recorder *recorder, uint64_t horizon)
{
        GArray *waiting = recorder->waiting;
        unsigned n = 0;

        if (!waiting->len)
                return;
        g_array_sort(waiting, compare_lines);
        while (n < waiting->len && g_array_index(waiting, Line, n).record.entered_ns < horizon)
                write_line(recorder, &g_array_index(waiting, Line, n++));
        for (unsigned i = 0; i < n; i++)
                g_free(g_array_index(waiting, Line, i).cause);
        g_array_remove_range(waiting, 0, n);
}

/* False when the file cannot be written, which ends the recording unless a command runs. */
static bool empty(void *data)
{
        Recorder *recorder = data;

        write_lines(recorder, recorder->backend->take(recorder->ledger, take, recorder));
        if (!ferror(recorder->file))
                return true;
        recorder->error = recorder->error ?: errno;
        return false;
}

static void list_latencies(Recorder *recorder, const IdleTable *tables, int n_cpus)
{
        recorder->latencies = g_malloc0_n((gsize)n_cpus, sizeof(*recorder->latencies));
        for (int cpu = 0; cpu < n_cpus; cpu++)
                for (int state = 0; state < tables[cpu].n_states; state++)
                        recorder->latencies[cpu][state].listed_ns =
                                tables[cpu].states[state].exit_latency_us * 1000ull;
}

static int open_ledger(const Ctl *ctl, Recorder *recorder)
{
        int n = sleeps_possible_cpus(ctl->root);
        g_autofree IdleTable *tables = idle_tables_read(ctl->root, n);
        g_autofree LedgerCpu *cpus = sleeps_cpus(ctl->root, tables, n);
        LedgerConfig config = {
                .causes = record_asked.causes, .records = true, .n_cpus = n, .cpus = cpus
        };
        g_autofree char *error = NULL;

        if (ctl->root_path)
                return complain("record: --root names another machine than the running one");
        recorder->backend = ledger_backend(LEDGER_DIR, &error);
        if (!recorder->backend || recorder->backend->open(&config, &recorder->ledger, &error) < 0)
                return complain("idle periods cannot be recorded: %s", error);
        list_latencies(recorder, tables, n);
        return EXIT_FINE;
}

static void write_head(const Ctl *ctl, FILE *file)
{
        IdleState states[IDLE_STATES_MAX];
        int n = idle_states_read(ctl->root, 0, states);

        fputs("# Idle periods, recorded by idlelab record\n", file);
        for (int i = 0; i < n; i++)
                fprintf(file, "# state %d: %s, exit latency %u us, target residency %u us\n", i,
                        states[i].name, states[i].exit_latency_us, states[i].target_residency_us);
        fputs("cpu,t_enter_ns,sleep_len_ns,idle_ns,wake_timer,util,lat_us,iowait,resched,got_tick",
              file);
        fputs(record_asked.exits ? ",exit_ns\n" : "\n", file);
}

static json_object *describe(const Ctl *ctl, Recorder *recorder, const LedgerTotals *totals,
                             double spent)
{
        g_autofree char *missing = recorder->backend->missing(recorder->ledger);
        json_object *answer = json_object_new_object();

        json_put_text(answer, "file", record_asked.idle);
        json_put_real(answer, "seconds", (double)totals->duration_ns / 1e9, 3);
        json_put_int(answer, "periods", (int64_t)recorder->written);
        json_put_int(answer, "lost", (int64_t)totals->records_lost);
        json_put_int(answer, "sleep_len_guessed", (int64_t)recorder->guessed);
        json_put_text(answer, "missing", missing);
        json_put_real(answer, "own_cpu_seconds", spent, 3);
        return answer;
}

static int record(Ctl *ctl, Recorder *recorder, json_object **ret_answer)
{
        LedgerTotals totals;
        uint64_t spent_usec = clock_usec(CLOCK_PROCESS_CPUTIME_ID);
        int status;

        write_head(ctl, recorder->file);
        observe("idle periods", sleeps_usec(), ctl->args, PERIOD_USEC, empty, recorder, &status);
        recorder->backend->stop(recorder->ledger);
        recorder->backend->take(recorder->ledger, take, recorder);
        write_lines(recorder, UINT64_MAX);
        recorder->backend->read(recorder->ledger, &totals);
        fprintf(recorder->file, "# %" PRIu64 " periods in %.3f s, %" PRIu64 " lost\n",
                recorder->written, (double)totals.duration_ns / 1e9, totals.records_lost);
        *ret_answer = describe(ctl, recorder, &totals,
                               (double)(clock_usec(CLOCK_PROCESS_CPUTIME_ID) - spent_usec) / 1e6);
        return status;
}

static bool is_standard_output(const Ctl *ctl)
{
        return g_str_equal(record_asked.idle, "-");
}

int record_idle_ask(Ctl *ctl, json_object **ret_answer)
{
        Recorder recorder = { 0 };
        int status = open_ledger(ctl, &recorder);

        if (status != EXIT_FINE || !recorder.backend)
                return status;
        recorder.file = is_standard_output(ctl) ? stdout : fopen(record_asked.idle, "we");
        if (!recorder.file) {
                status = complain("%s: %s", record_asked.idle, g_strerror(errno));
                recorder.backend->close(recorder.ledger);
                g_free(recorder.latencies);
                return status;
        }
        recorder.waiting = g_array_new(FALSE, FALSE, sizeof(Line));
        status = record(ctl, &recorder, ret_answer);
        recorder.backend->close(recorder.ledger);
        g_array_free(recorder.waiting, TRUE);
        g_free(recorder.latencies);
        if (fflush(recorder.file) != 0)
                recorder.error = recorder.error ?: errno;
        if (recorder.error || ferror(recorder.file))
                status = complain("%s: %s", record_asked.idle, g_strerror(recorder.error ?: EIO));
        if (!is_standard_output(ctl))
                fclose(recorder.file);
        return status;
}

/* Not between the lines of a trace on standard output. */
void record_idle_show(const Ctl *ctl, json_object *answer)
{
        FILE *file = is_standard_output(ctl) ? stderr : stdout;
        int64_t guessed = json_int(answer, "sleep_len_guessed", 0);
        const char *missing = json_text(answer, "missing");

        fprintf(file, "%" PRId64 " idle periods in %.1f s, %" PRId64 " lost, %.2f s of CPU time\n",
                json_int(answer, "periods", 0), json_number(answer, "seconds", 0),
                json_int(answer, "lost", 0), json_number(answer, "own_cpu_seconds", 0));
        if (guessed)
                fprintf(file,
                        "The governor did not ask for the next timer in %" PRId64 " of them; there "
                        "sleep_len_ns is the next event of the CPU's timer, tick included\n",
                        guessed);
        if (*missing)
                fprintf(file, "This kernel does not offer: %s\n", missing);
}
