/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a CPU may sleep as deep as it may: what the last decision noted, as sentences.
 */
#include <string.h>

#include "cstates/cstates.h"

typedef struct Explained {
        const Cstates *self;
        const Cpu *cpu;
        const PolicyInput *input;
        const CstatesOptions *options;
        const IdleTable *table;
} Explained;

/* Adds an idle state as an input: its name and its exit latency. */
static void input_state(Reason *reason, int n, const Explained *explained, int state)
{
        reason->inputs[n].name = explained->table->states[state].name;
        reason->inputs[n].unit = "us";
        reason->inputs[n].value = explained->table->states[state].exit_latency_us;
}

static Reason explain_limit(const Explained *t)
{
        static const char *const because[] = {
                [LIMIT_NONE] = NULL,
                [LIMIT_TIME] = "the deepest idle state within the limit",
                [LIMIT_SHORT] = "no idle state is within the limit; the shallowest remains",
                [LIMIT_NAME] = "the deepest idle state allowed",
                [LIMIT_ELSEWHERE] = "the deepest idle state with at most the exit latency of the "
                                    "state of this name on other CPUs",
                [LIMIT_NUMBER] = "no CPU has an idle state of this name; the deepest one whose "
                                 "number is not higher",
                [LIMIT_UNKNOWN] = "no CPU has an idle state of this name, so there is no limit; "
                                  "the deepest one",
        };
        Reason reason = { .because = because[t->cpu->limited], .option = "DeepestState" };

        input_state(&reason, 0, t, t->cpu->limit);
        if (t->self->limit_us >= 0) {
                reason.threshold = t->self->limit_us;
                reason.threshold_unit = "us";
        }
        return reason;
}

static Reason explain_use(const Explained *t)
{
        const Use *use = &t->cpu->use;
        bool held = use->held.value;
        Reason reason = {
                .because = held ? "one idle state shallower, because the CPU is used"
                                : "no limit, because the CPU is not used enough",
                .inputs = { { "utilization", "%", 100 * (double)use->busy },
                            { "mean sleep", "us", (double)use->sleep_us } },
                .option = held ? "UtilizationRelease" : "UtilizationThreshold",
                .threshold = 100 * (held ? t->options->release : t->options->threshold),
                .threshold_unit = "%",
        };

        if (held)
                input_state(&reason, 2, t, use->cap.value);
        if (use->held.waiting) {
                reason.because = held ? "still one idle state shallower; the CPU is not used any "
                                        "more, but not for long enough"
                                      : "no limit yet: the CPU is used, but not for long enough";
                reason.option = "UtilizationDwell";
                reason.threshold = (double)t->options->dwell_usec / 1e6;
                reason.threshold_unit = "s";
        }
        return reason;
}

static Reason explain_history(const Explained *t)
{
        const History *history = &t->cpu->history;
        Reason reason = { .because = "no sleeps of the CPU are known yet", .option = "History" };

        if (t->self->unreported > 1)
                reason.because =
                        "the kernel does not count which states were too deep or too shallow";
        if (history->drawn < 0)
                return reason;
        reason.because = "drawn from the states that suited past sleeps";
        input_state(&reason, 0, t, history->drawn);
        reason.inputs[1].name = "its weight";
        reason.inputs[1].unit = "%";
        reason.inputs[1].value = 100.0 * history->weight / WEIGHT_SCALE;
        input_state(&reason, 2, t, history->row);
        return reason;
}

/* The shortest latency that is held for the CPU. */
static Reason explain_hold(const Explained *t, int cpu)
{
        double latency_us = -1;

        for (int i = 0; i < t->input->n_holds; i++) {
                const Hold *hold = &t->input->holds[i];

                if (hold->latency_us >= 0 && cpuset_has(&hold->cpus, cpu) &&
                    (latency_us < 0 || hold->latency_us < latency_us))
                        latency_us = hold->latency_us;
        }
        return (Reason){
                .because = "no limit by utilization or history: an application holds a latency",
                .inputs = { { latency_us >= 0 ? "held" : NULL, "us", latency_us } }
        };
}

static int explain_parts(const Explained *t, int cpu, Reason *ret_reasons)
{
        bool guesses = t->options->by_utilization || t->options->by_history;
        int n = 0;

        if (t->cpu->limited != LIMIT_NONE)
                ret_reasons[n++] = explain_limit(t);
        if (guesses && cpuset_has(&t->self->held, cpu)) {
                ret_reasons[n++] = explain_hold(t, cpu);
                return n;
        }
        if (t->options->by_utilization)
                ret_reasons[n++] = explain_use(t);
        if (t->options->by_history)
                ret_reasons[n++] = explain_history(t);
        return n;
}

/* Requested only: policies are not informed whether the kernel has that one. */
static Reason explain_governor(const CstatesOptions *options)
{
        static const char *const requested[] = {
                "",
                "",
                "idle governor menu is requested",
                "idle governor teo is requested",
                "idle governor ladder is requested",
                "idle governor haltpoll is requested",
                "idle governor shallow is requested",
                "idle governor shallow_nopoll is requested",
        };
        const char *why = strchr(options->advised, ':');

        if (options->idle_governor != IDLE_GOVERNOR_AUTO)
                return (Reason){ .because = requested[options->idle_governor],
                                 .option = "IdleGovernor" };
        if (cstates_advised(options) < 0)
                return (Reason){ .because = "the kernel keeps its idle governor until idlelab "
                                            "advise --apply chooses one",
                                 .option = "IdleGovernor" };
        while (why && (*why == ':' || *why == ' '))
                why++;
        return (Reason){ .because = why && *why ? why : "auto uses the advised idle governor",
                         .option = "IdleGovernor" };
}

int cstates_explain(const void *state, const PolicyInput *input, int cpu, Reason *ret_reasons)
{
        const Cstates *self = state;
        Explained explained = { .self = self,
                                .cpu = &self->cpus[cpu],
                                .input = input,
                                .options = input->options,
                                .table = input->idle ? &input->idle[cpu] : NULL };
        int n = 0;

        if (explained.table && explained.table->n_states > 0 && explained.cpu->fingerprint)
                n = explain_parts(&explained, cpu, ret_reasons);
        if (explained.options->idle_governor != IDLE_GOVERNOR_KEEP)
                ret_reasons[n++] = explain_governor(explained.options);
        return n;
}
