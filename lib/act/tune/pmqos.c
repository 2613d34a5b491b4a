/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Wake-up latencies, by PM QoS.
 *
 * Each CPU has a file of its own, pm_qos_resume_latency_us. Its texts are odd: "0" is no
 * restriction at all and "n/a" is a latency of zero, which forbids every sleep; any other number is
 * microseconds. A limit that another program left there stays if it is stricter than the request:
 * there is one value for all programs, and the other program needs its latency, too.
 *
 * The latency of all CPUs, /dev/cpu_dma_latency, is taken only if a request names just that, and
 * not if some CPU must be left alone. The kernel forgets it when the descriptor closes, whatever
 * becomes of the daemon, so that no record is needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "act/tune/tuning.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

#define GLOBAL "dev/cpu_dma_latency"

typedef struct State {
        ActContext context;
        TuneOptions options;
        Tuned *cpus;
        int n_cpus;
        int global; /* descriptor, -1: no request */
        int32_t global_us;
} State;

static const KnobKind latency_kind = {
        .name = "pmqos",
        .read = tune_read,
        .write = tune_write,
        .dir = tune_dir,
};

static void name_of(int cpu, char name[TUNE_NAME])
{
        tune_name(name, "cpu", cpu, "/power/pm_qos_resume_latency_us");
}

static int open_pmqos(const ActContext *context, const void *options, void **ret_state)
{
        g_autofree char *text = NULL;
        char name[TUNE_NAME];
        CpuSet online;
        State *state;

        if (file_read(context->root, TUNE_DIR "online", &text) < 0 ||
            cpuset_parse(text, &online) < 0)
                return -EOPNOTSUPP;
        name_of(cpuset_next(&online, -1), name);
        if (!tune_exists(context->root, name))
                return -ENOENT;
        state = g_new0(State, 1);
        state->context = *context;
        state->options = *(const TuneOptions *)options;
        state->global = -1;
        *ret_state = state;
        return 0;
}

static void close_pmqos(void *data)
{
        State *state = data;

        fd_close(&state->global);
        g_free(state->cpus);
        g_free(state);
}

/* Microseconds of the kernel's text; -1 for no restriction, or for what makes no sense. */
static int32_t parse_latency(const char *text)
{
        uint64_t us;

        if (g_str_equal(text, "n/a"))
                return 0;
        if (u64_parse(text, &us) < 0 || us == 0 || us > INT32_MAX)
                return -1;
        return (int32_t)us;
}

static void format_latency(int32_t us, char text[16])
{
        if (us == 0)
                g_strlcpy(text, "n/a", 16);
        else
                snprintf(text, 16, "%d", us);
}

static void latency_done(void *data, int cpu, bool effective, int r)
{
        State *state = data;
        Tuned *tuned = &state->cpus[cpu];

        if (!effective)
                tuned->effective.latency_us = -1;
        tuned->known = r >= 0;
}

static void apply_cpu(State *state, TuneBatch *batch, int cpu, int32_t us)
{
        g_autofree char *original = NULL;
        char *name = tune_batch_name(batch), text[16];
        int32_t found;
        int r;

        name_of(cpu, name);
        if (us >= 0) {
                r = knob_original(batch->knobs, &latency_kind, name, &original);
                found = r < 0 ? -1 : parse_latency(original);
                us = found >= 0 ? MIN(found, us) : us;
                format_latency(us, text);
        }
        state->cpus[cpu].effective.latency_us = us;
        tune_batch_add(batch, &latency_kind, us < 0 ? NULL : text, cpu);
}

static int apply_cpus(State *state, Knobs *knobs, const Plan *plan, const Topology *topology)
{
        TuneBatch batch;

        tune_batch_init(&batch, knobs, latency_done, state);
        CPUSET_FOREACH(cpu, &topology->online) {
                Tuned *tuned = &state->cpus[cpu];
                int32_t us = cpu < plan->n_cpus ? plan->cpus[cpu].latency_us : -1;

                if (cpuset_has(&state->options.exclude, cpu))
                        us = -1;
                if (tuned->known && tuned->wished.latency_us == us)
                        continue;
                tuned->wished.latency_us = us;
                apply_cpu(state, &batch, cpu, us);
        }
        tune_batch_end(&batch);
        return batch.first;
}

static int apply_global(State *state, const Knobs *knobs, int32_t us)
{
        ssize_t n;

        if (us < 0 || knobs_is_dry_run(knobs)) {
                fd_close(&state->global);
                state->global = -1;
                return 0;
        }
        if (state->global >= 0 && state->global_us == us)
                return 0;
        if (state->global < 0)
                state->global = openat(state->context.root, GLOBAL, O_WRONLY | O_CLOEXEC);
        if (state->global < 0)
                return -errno;
        n = pwrite(state->global, &us, sizeof(us), 0);
        if (n == (ssize_t)sizeof(us)) {
                state->global_us = us;
                return 0;
        }
        n = n < 0 ? -errno : -EIO;
        close(state->global);
        state->global = -1;
        return (int)n;
}

static int apply_pmqos(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        State *state = data;
        bool excludes = !cpuset_is_empty(&state->options.exclude);
        int first, r;

        if (!state->options.manage)
                return 0;
        if (!state->cpus) {
                state->n_cpus = facts->topology->n_cpus;
                state->cpus = tune_new(state->n_cpus);
        }
        first = apply_cpus(state, knobs, plan, facts->topology);
        r = apply_global(state, knobs, excludes ? -1 : plan->global_latency_us);
        return first ?: r;
}

static const KnobKind *const kinds[] = { &latency_kind, NULL };

static void forget_pmqos(void *data, Knobs *knobs, const CpuSet *returned)
{
        State *state = data;

        tune_forget(state->cpus, state->n_cpus, knobs, kinds, returned);
}

static void report_pmqos(void *data, const ActFacts *facts, int cpu, CpuWish *effective)
{
        const State *state = data;

        if (cpu < state->n_cpus)
                effective->latency_us = state->cpus[cpu].effective.latency_us;
}

static const char *describe_pmqos(void *data)
{
        const State *state = data;

        return state->options.manage ? "PM QoS latencies of CPUs"
                                     : "not managed, because Manage= of [Latency] is no";
}

const Actuator actuator_pmqos = {
        .name = "pmqos",
        .section = "Latency",
        .kinds = kinds,
        .file = "/" GLOBAL,
        .open = open_pmqos,
        .apply = apply_pmqos,
        .forget = forget_pmqos,
        .report = report_pmqos,
        .describe = describe_pmqos,
        .close = close_pmqos,
};
