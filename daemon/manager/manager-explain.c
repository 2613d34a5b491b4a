/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why the plan is as it is: what is written into the history, and decisions as sentences, in the
 * words of model/explain.c.
 */
#include "base/cpuset-text.h"
#include "manager/history.h"
#include "manager/evaluation.h"
#include "manager/manager-parts.h"

/* The text, which then lives as long as a cause refers to it; takes it over. */
static const char *keep_text(const Manager *manager, char *text)
{
        return history_text(decided_history(manager->decided), text);
}

/* The first policy by rank that leaves `cpu` out, and is honoured, or is not; -1 if none does. */
static int parked_by(const Manager *manager, int cpu, bool honoured)
{
        const ActivePolicy *p;

        for (unsigned i = 0; (p = manager_policy(manager, i)); i++)
                if (!cpuset_has(&p->wish.allowed, cpu) &&
                    evaluation_honours(manager->decided, p) == honoured)
                        return (int)i;
        return -1;
}

/* The policy that decides which CPUs stay active: the last by rank that gives a reason, because a
 * policy parks CPUs that those before it left active. */
static int last_with_reason(const Manager *manager)
{
        const ActivePolicy *p;
        int last = -1;

        for (unsigned i = 0; (p = manager_policy(manager, i)); i++)
                if (p->wish.allowed_reason.because)
                        last = (int)i;
        return last;
}

/* Why the policy requests what it does for CPUs that stay `active`, or for the others. */
static void cause_of_policy(const Manager *manager, int index, bool active, CpuCause *cause)
{
        const ActivePolicy *p = manager_policy(manager, (unsigned)index);
        const Reason *reason = active && p->wish.active_reason.because ? &p->wish.active_reason
                                                                       : &p->wish.allowed_reason;
        char *because = section_because(p->section, reason);

        cause->cause = CAUSE_POLICY;
        cause->policy = p->policy->name;
        cause->reason = *reason;
        if (because)
                cause->reason.because = keep_text(manager, because);
        cause->option_source = (Source){ 0 };
        if (cause->reason.option)
                cause->option_source = section_source(p->section, cause->reason.option);
}

/* Why a CPU is active: because a policy is `ignored` that leaves it out, -1: none, or because of
 * the policy that decides. While that costs energy its reason has no effect. */
static void cause_of_active(const Manager *manager, int ignored, CpuCause *cause)
{
        int index = ignored >= 0 ? ignored : last_with_reason(manager);
        const ActivePolicy *p = index < 0 ? NULL : manager_policy(manager, (unsigned)index);

        if (p && (ignored >= 0 || evaluation_backs_off(manager->decided, p))) {
                evaluation_explain(manager->decided, p, cause);
                cause->ignored = ignored >= 0; /* else it is not why this CPU moved */
        } else if (p) {
                cause_of_policy(manager, index, true, cause);
        }
}

static bool is_set_aside(const Topology *topology, int cpu)
{
        return cpuset_has(&topology->isolated, cpu) || cpuset_has(&topology->nohz_full, cpu);
}

/* The hold that keeps the CPU active: one that names it, else one of those that request the most
 * cores. NULL: a policy does so by itself. */
static const Held *keeping_hold(const Manager *manager, int cpu)
{
        const Held *most = NULL;

        for (unsigned i = 0; i < holds_count(manager_holds(manager)); i++) {
                const Held *held = holds_nth(manager_holds(manager), i);
                const Hold *hold = holds_hold(held);

                if (hold->keep && cpuset_has(&hold->cpus, cpu))
                        return held;
                if (hold->min_cores > (most ? holds_hold(most)->min_cores : 0))
                        most = held;
        }
        return most;
}

/* Says which hold it is. */
static void name_hold(const Manager *manager, int cpu, Reason *reason)
{
        const Held *held = keeping_hold(manager, cpu);

        if (!held)
                return;
        reason->inputs[0].name = "hold";
        reason->inputs[0].unit = "";
        reason->inputs[0].value = (double)held->id;
}

/* Why the CPU was added to the plan. */
static const char *safety_because(Manager *manager, Safety safety, const char *owner)
{
        if (!owner)
                return safety_text(safety);
        if (safety == SAFETY_PINNED)
                return keep_text(manager, g_strdup_printf("the affinity of %s has no other active "
                                                          "CPU",
                                                          owner));
        if (safety == SAFETY_NODE)
                return keep_text(manager,
                                 g_strdup_printf("memory of %s is bound to a NUMA node with no "
                                                 "other active CPU",
                                                 owner));
        if (safety == SAFETY_UNIT || safety == SAFETY_GROUP)
                return keep_text(
                        manager,
                        g_strdup_printf("%s needs a CPU, and no other one of its set is active",
                                        owner));
        return keep_text(manager, g_strdup(owner));
}

static void cause_of_window(Manager *manager, const char *owner, CpuCause *cause)
{
        const Section *section = config_section(manager->ground.config, "Park");
        const ParkOptions *options = section->options;
        const char *key = watching_window_option(seen_watching(manager->seen));
        uint64_t usec = g_str_equal(key, "StartWindow") ? options->start_window
                                                        : options->terminal_window;

        cause->cause = CAUSE_WINDOW;
        cause->reason = (Reason){
                .because = safety_because(manager, SAFETY_WINDOW, owner),
                .option = key,
                .threshold = (double)usec / (double)G_USEC_PER_SEC,
                .threshold_unit = "s",
        };
        cause->option_source = section_source(section, key);
}

static void cause_of_cpu(Manager *manager, int cpu, Safety safety, const char *owner,
                         CpuCause *cause)
{
        int index = parked_by(manager, cpu, true), ignored = parked_by(manager, cpu, false);

        if (safety == SAFETY_NONE && index < 0 && is_set_aside(manager_topology(manager), cpu))
                safety = SAFETY_ISOLATED; /* also if no policy requested that it idles */
        cause->cause = CAUSE_POLICY;
        cause->policy = NULL;
        cause->reason = (Reason){ 0 };
        cause->safety = safety;
        cause->ignored = false;
        if (pauses_any(manager_pauses(manager))) {
                cause->cause = CAUSE_PAUSE;
                cause->reason.because = keep_text(manager, pauses_text(manager_pauses(manager)));
        } else if (safety == SAFETY_WINDOW) {
                cause_of_window(manager, owner, cause);
        } else if (safety != SAFETY_NONE) {
                cause->cause = CAUSE_SAFETY;
                cause->reason.because = safety_because(manager, safety, owner);
                if (safety == SAFETY_KEPT)
                        name_hold(manager, cpu, &cause->reason);
        } else if (index >= 0) {
                cause_of_policy(manager, index, false, cause);
        } else {
                cause_of_active(manager, ignored, cause);
        }
}

static bool is_same(const Reason *a, const Reason *b)
{
        return memcmp(a, b, sizeof(*a)) == 0; /* NOLINT: that 0 and -0 differ does no harm */
}

const CpuCause *manager_cause(Manager *manager, int cpu)
{
        CpuCause *cause = history_cause(decided_history(manager->decided), cpu), now = *cause;

        /* What made a plan safe stays the cause until the next one. */
        if (!cpuset_has(&manager_topology(manager)->online, cpu) ||
            (cause->safety != SAFETY_NONE && cause->safety != SAFETY_KEPT &&
             !pauses_any(manager_pauses(manager))))
                return cause;
        cause_of_cpu(manager, cpu, cause->safety, NULL, &now);
        if (now.policy != cause->policy || !is_same(&now.reason, &cause->reason))
                *cause = now; /* else its option's source is that of the decision */
        return cause;
}

int manager_reasons(const Manager *manager, const ActivePolicy *active, int cpu,
                    Reason *ret_reasons)
{
        PolicyInput input = decided_input(manager->decided, active);

        if (!active->policy->explain || pauses_any(manager_pauses(manager)) ||
            !cpuset_has(&manager_topology(manager)->online, cpu))
                return 0;
        return CLAMP(active->policy->explain(active->state, &input, cpu, ret_reasons), 0,
                     EXPLAIN_MAX);
}

/* The policy of the highest rank whose last request changed for `cpu` to its present state; -1:
 * none. */
static int moved_by(const Manager *manager, int cpu, bool parked)
{
        const ActivePolicy *p;

        for (unsigned i = 0; (p = manager_policy(manager, i)); i++)
                if (cpuset_has(&p->before, cpu) == parked &&
                    cpuset_has(&p->wish.allowed, cpu) != parked)
                        return (int)i;
        return -1;
}

/* Why the parked CPUs changed, given the policy that requested it, -1 if none did, and the present
 * cause of a CPU that moved. That may be another: a CPU that one policy released may be active
 * because of another policy. */
static CpuCause cause_of_transition(const Manager *manager, int index, bool parked,
                                    const CpuCause *moved)
{
        CpuCause cause = *moved;

        if (pauses_any(manager_pauses(manager)) || moved->safety != SAFETY_NONE || moved->ignored)
                return cause;
        if (index >= 0) {
                cause_of_policy(manager, index, false, &cause);
                if (!cause.reason.because)
                        cause.reason.because = "it no longer requests parked CPUs";
        } else if (!parked) {
                cause = (CpuCause){ 0 };
                cause.reason.because = "no active policy requests parked CPUs any more";
        }
        return cause;
}

static void note_transition(Manager *manager, const CpuSet *parked, const CpuSet *moved,
                            const CpuCause *cause)
{
        const DaemonOptions *options = config_section(manager->ground.config, "Daemon")->options;
        g_autofree char *text = cpuset_format(parked);
        const Transition *added = history_add(decided_history(manager->decided),
                                              &(Transition){
                                                      .time_usec = (uint64_t)g_get_real_time(),
                                                      .parked = text,
                                                      .cause = cause->cause,
                                                      .policy = cause->policy,
                                                      .reason = cause->reason,
                                                      .option_source = cause->option_source,
                                              },
                                              moved);

        if (options->log_decisions)
                decision_log(manager->ground.setup.root, added);
}

/* A CPU that moved, and the policy that requested it. */
typedef struct Move {
        int cpu, by; /* -1: none */
} Move;

/* Prefers the one that says more: requests of policies before safety, then by rank. */
static void take_move(const Manager *manager, Move *move, int cpu, bool parked)
{
        int by = moved_by(manager, cpu, parked);

        if (move->cpu < 0 ||
            history_cause(decided_history(manager->decided), move->cpu)->safety != SAFETY_NONE ||
            (by >= 0 && (move->by < 0 || by < move->by)))
                *move = (Move){ cpu, by };
}

void manager_note_causes(Manager *manager, const SafetyNotes *notes)
{
        CPUSET_FOREACH(cpu, &manager_topology(manager)->online)
                cause_of_cpu(manager, cpu, notes->safety[cpu], notes->owners[cpu],
                             history_cause(decided_history(manager->decided), cpu));
}

/* Why a CPU that the plan leaves out is active all the same. */
static CpuCause cause_of_loss(Manager *manager)
{
        return (CpuCause){ .reason.because = keep_text(manager, done_obstacle(manager->done)) };
}

void manager_note_change(Manager *manager)
{
        const CpuSet *online = &manager_topology(manager)->online;
        History *history = decided_history(manager->decided);
        CpuSet planned = done_planned(manager->done), parked, moved;
        Move move = { -1, -1 };
        bool is_parked;
        CpuCause why;

        history_note_parked(history, manager_parked(manager), manager_now());
        parked = manager->ground.setup.dry_run ? planned : *manager_parked(manager);
        moved = history_moved(history, online, &parked);
        CPUSET_FOREACH(cpu, &moved)
                take_move(manager, &move, cpu, cpuset_has(&parked, cpu));
        if (move.cpu < 0)
                return;
        is_parked = cpuset_has(&parked, move.cpu);
        why = !is_parked && cpuset_has(&planned, move.cpu)
                      ? cause_of_loss(manager)
                      : cause_of_transition(manager, move.by, is_parked,
                                            history_cause(history, move.cpu));
        note_transition(manager, &parked, &moved, &why);
}

/* The subject, the text and a full stop; takes the text over. */
static char *finish(const char *subject, char *text)
{
        g_autofree char *predicate = text;

        return g_strconcat(subject, predicate, ".", NULL);
}

char *manager_explain_cpu(Manager *manager, int cpu, const char *obstacle)
{
        CpuState state = { .wanted = !cpuset_has(&manager_plan(manager)->allowed, cpu),
                           .parked = cpuset_has(manager_parked(manager), cpu) };
        const CpuCause *cause = manager_cause(manager, cpu);
        g_autofree char *source = source_format(&cause->option_source), *subject = NULL;

        if (!cpuset_has(&manager_topology(manager)->online, cpu))
                return g_strdup_printf("CPU %d is offline.", cpu);
        if (state.wanted && !state.parked)
                state.obstacle = obstacle;
        subject = g_strdup_printf(state.wanted == state.parked ? "CPU %d is " : "CPU %d ", cpu);
        return finish(subject, explain_cpu(&state, &(Explanation){ cause->policy, cause->reason,
                                                                   source, cause->cause }));
}

char *policy_explain_reason(const char *policy, const Reason *reason, const Source *source)
{
        g_autofree char *where = source_format(source);

        return finish("", explain_reason(&(Explanation){ policy, *reason, where, CAUSE_POLICY }));
}

char *policy_explain_wish(const ActivePolicy *active, const CpuSet *online)
{
        const Wish *wish = &active->wish;
        Reason reason = wish->allowed_reason;
        Source source = section_source(active->section, reason.option);
        g_autofree char *where = source_format(&source);
        g_autofree char *because = section_because(active->section, &reason);

        if (because)
                reason.because = because;
        return finish("",
                      explain_wish(&wish->allowed, online, &(Explanation){ NULL, reason, where }));
}
