/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Idle states of CPUs switched off, and the kernel's idle governor.
 *
 * A state is known by its index in the CPU's own table, which is what the kernel keeps the switch
 * by; CPUs may have different tables, and a driver that changes may renumber them, after which the
 * core reads the tables again and requests another mask. States are switched on before others are
 * switched off, and one stays on at any time: the plan leaves one, but another program may have
 * switched off just that, so the shallowest that is on when idled does nothing is left on then.
 *
 * libcpupower writes the switch if the root is the running system, which is all it knows. It has
 * nothing for the governor.
 */
#include <cpuidle.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "act/tune/tuning.h"
#include "base/file.h"

#define GOVERNOR "cpuidle/current_governor"
#define OFFERED  TUNE_DIR "cpuidle/available_governors"

typedef struct State {
        ActContext context;
        TuneOptions options;
        Tuned *cpus;
        int n_cpus;
        const char *governor; /* interned; NULL: none is in effect */
        bool governor_known;
} State;

/* "cpu3/cpuidle/state2/disable" is true; the governor is no state. */
static bool parse_name(const char *name, unsigned *ret_cpu, unsigned *ret_state)
{
        int end = 0;

        return sscanf(name, "cpu%u/cpuidle/state%u/disable%n", ret_cpu, ret_state, &end) == 2 &&
               end > 0 && !name[end];
}

static int idle_write(const ActContext *context, const char *name, const char *value)
{
        unsigned cpu, state;
        int r;

        if (!context->live || !parse_name(name, &cpu, &state) || !*value || value[1])
                return tune_write(context, name, value);
        errno = 0;
        r = cpuidle_state_disable(cpu, state, (unsigned)(*value - '0'));
        if (r == 0)
                return 0;
        if (r == -1 || r == -2) /* fewer states; no such file */
                return -ENOENT;
        return errno > 0 ? -errno : -EIO;
}

static const KnobKind idle_kind = {
        .name = "cpuidle",
        .read = tune_read,
        .write = idle_write,
        .dir = tune_dir,
        .write_apart = true,
};

static void name_of(int cpu, int state, char name[TUNE_NAME])
{
        const char number[] = { (char)('0' + state / 10), (char)('0' + state % 10), '\0' };
        const char *end = name + TUNE_NAME;
        char *at = tune_name(name, "cpu", cpu, "/cpuidle/state");

        tune_put(tune_put(at, end, state < 10 ? number + 1 : number), end, "/disable");
}

static int open_cpuidle(const ActContext *context, const void *options, void **ret_state)
{
        g_autofree char *driver = NULL;
        State *state;

        if (tune_read(context, "cpuidle/current_driver", &driver) < 0 ||
            g_str_equal(driver, "none"))
                return -ENOENT;
        state = g_new0(State, 1);
        state->context = *context;
        state->options = *(const TuneOptions *)options;
        *ret_state = state;
        return 0;
}

static void close_cpuidle(void *data)
{
        State *state = data;

        g_free(state->cpus);
        g_free(state);
}

/* True if the state is on as long as idled leaves it alone. */
static bool is_on(const State *state, const Knobs *knobs, int cpu, int index)
{
        g_autofree char *text = NULL;
        char name[TUNE_NAME];

        name_of(cpu, index, name);
        return knob_original(knobs, &idle_kind, name, &text) == 0 && g_str_equal(text, "0");
}

/* Takes out of `disabled` a state that must stay on, unless another one stays on. */
static uint16_t leave_one(const State *state, const Knobs *knobs, int cpu, int n, uint16_t disabled)
{
        for (int i = 0; i < n && disabled; i++)
                if (!(disabled >> i & 1) && is_on(state, knobs, cpu, i))
                        return disabled;
        for (int i = 0; i < n && disabled; i++)
                if (disabled >> i & 1 && is_on(state, knobs, cpu, i))
                        return disabled & (uint16_t) ~(1u << i);
        return disabled;
}

static void switch_done(void *data, int tag, bool effective, int r)
{
        State *state = data;
        Tuned *tuned = &state->cpus[tag / IDLE_STATES_MAX];

        if (effective)
                tuned->effective.disabled |= (uint16_t)(1u << tag % IDLE_STATES_MAX);
        if (r < 0)
                tuned->known = false;
}

/* Sets, or restores, the switches of the states of `mask`. */
static void switch_states(TuneBatch *batch, int cpu, uint16_t mask, const char *value)
{
        for (int i = 0; i < IDLE_STATES_MAX && mask >> i; i++) {
                if (!(mask >> i & 1))
                        continue;
                name_of(cpu, i, tune_batch_name(batch));
                tune_batch_add(batch, &idle_kind, value, cpu * IDLE_STATES_MAX + i);
        }
}

/* The states of the CPU that the plan has switched off. */
static uint16_t wished_of(const State *state, const Plan *plan, int cpu)
{
        return cpu < plan->n_cpus && !cpuset_has(&state->options.exclude, cpu)
                       ? plan->cpus[cpu].disabled
                       : 0;
}

static int apply_cpus(State *state, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        g_autofree uint16_t *safe = g_new(uint16_t, (gsize)state->n_cpus);
        CpuSet others = { 0 };
        TuneBatch batch;

        tune_batch_init(&batch, knobs, switch_done, state);
        CPUSET_FOREACH(cpu, &facts->topology->online) {
                Tuned *tuned = &state->cpus[cpu];
                uint16_t disabled = wished_of(state, plan, cpu);
                uint16_t before = tuned->known ? tuned->wished.disabled : UINT16_MAX;

                if (tuned->known && before == disabled)
                        continue;
                cpuset_add(&others, cpu);
                safe[cpu] = leave_one(state, knobs, cpu,
                                      facts->idle ? facts->idle[cpu].n_states : 0, disabled);
                tuned->known = true;
                tuned->wished.disabled = disabled;
                switch_states(&batch, cpu, before & (uint16_t)~safe[cpu], NULL);
        }
        tune_batch_end(&batch);
        CPUSET_FOREACH(cpu, &others) {
                state->cpus[cpu].effective.disabled = 0;
                switch_states(&batch, cpu, safe[cpu], "1");
        }
        tune_batch_end(&batch);
        return batch.first;
}

/* The requested governor; NULL: the present one. */
static const char *wished_governor(const State *state, const Plan *plan)
{
        return cpuset_is_empty(&state->options.exclude) ? plan->idle_governor : NULL;
}

static bool is_offered(const State *state, const char *governor)
{
        return file_has_word(state->context.root, OFFERED, governor) > 0;
}

static char *refused_cpuidle(void *data, const Plan *plan, const ActFacts *facts,
                             const char **ret_word)
{
        const State *state = data;
        const char *governor = wished_governor(state, plan);
        g_autofree char *offered = NULL;

        if (!governor || is_offered(state, governor))
                return NULL;
        *ret_word = governor;
        if (file_read(state->context.root, OFFERED, &offered) < 0)
                return g_strdup("none: this kernel does not support changing its idle governor");
        return g_strdup_printf("an idle governor of this kernel: %s", offered);
}

static int apply_governor(State *state, Knobs *knobs, const char *governor)
{
        bool effective = true;
        int r;

        if (state->governor_known && state->governor == governor)
                return 0;
        if (governor && !is_offered(state, governor))
                return -EINVAL;
        r = tune_set(knobs, &idle_kind, GOVERNOR, governor, &effective);
        state->governor = effective ? governor : NULL;
        state->governor_known = r == 0 && state->governor == governor;
        return r;
}

static int apply_cpuidle(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        State *state = data;
        int first, r;

        if (!state->options.manage)
                return 0;
        if (!state->cpus) {
                state->n_cpus = facts->topology->n_cpus;
                state->cpus = tune_new(state->n_cpus);
        }
        first = apply_cpus(state, knobs, plan, facts);
        r = apply_governor(state, knobs, wished_governor(state, plan));
        return first ?: r;
}

static const KnobKind *const kinds[] = { &idle_kind, NULL };

static void forget_cpuidle(void *data, Knobs *knobs, const CpuSet *returned)
{
        State *state = data;

        state->governor_known = false;
        tune_forget(state->cpus, state->n_cpus, knobs, kinds, returned);
}

static void report_cpuidle(void *data, const ActFacts *facts, int cpu, CpuWish *effective)
{
        const State *state = data;

        if (cpu < state->n_cpus)
                effective->disabled = state->cpus[cpu].effective.disabled;
}

static const char *describe_cpuidle(void *data)
{
        const State *state = data;

        return state->options.manage ? "enabling and disabling of idle states"
                                     : "not managed, because Manage= of [IdleStates] is no";
}

const Actuator actuator_cpuidle = {
        .name = "cpuidle",
        .section = "IdleStates",
        .kinds = kinds,
        .open = open_cpuidle,
        .apply = apply_cpuidle,
        .forget = forget_cpuidle,
        .report = report_cpuidle,
        .refused = refused_cpuidle,
        .describe = describe_cpuidle,
        .close = close_cpuidle,
};
