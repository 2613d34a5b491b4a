/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Governors, EPP, EPB, frequency limits and boost.
 *
 * CPUs that share a cpufreq policy share its files, so it is a policy that is carried out, with the
 * merged requests of its CPUs (plan_shared_wish()); if one of them is excluded the policy is.
 *
 * Boost is a file of each policy, of the machine, or intel_pstate/no_turbo with the opposite
 * meaning. The machine's is switched on if any policy requests boost. It is switched off if no
 * policy does and some request no boost; where policies have files of their own, only if all
 * request none. The possible limits depend on boost, so it comes first, and limits are evaluated
 * again after it changed. But the kernel moves limits with it, so those that are requested are set,
 * and on record, before it as well; the others are remembered, because a later request may need
 * them. If any CPU is excluded the machine's stays as it is.
 */
#include <errno.h>
#include <stdio.h>

#include "act/tune/cpufreq-knobs.h"
#include "base/file.h"

/* A kernel with cpufreq has its directory; without a driver no policy is in it. */
static bool has_policy(int root)
{
        g_auto(GStrv) names = dir_list(root, TUNE_DIR "cpufreq", "policy");

        return *names;
}

static int open_cpufreq(const ActContext *context, const void *options, void **ret_state)
{
        CpufreqState *state;

        if (!has_policy(context->root))
                return -ENOENT;
        state = g_new0(CpufreqState, 1);
        state->context = *context;
        state->options = *(const TuneOptions *)options;
        state->excludes = !cpuset_is_empty(&state->options.exclude);
        state->machine_boost = -1;
        *ret_state = state;
        return 0;
}

static void close_cpufreq(void *data)
{
        CpufreqState *state = data;

        g_free(state->policies);
        g_free(state->found);
        g_free(state->seen);
        g_free(state);
}

/* Makes room; `n_cpus` never changes. */
static void prepare(CpufreqState *state, int n_cpus)
{
        if (state->policies)
                return;
        state->n_cpus = n_cpus;
        state->policies = tune_new(n_cpus);
        state->found = g_new0(CpufreqFound, (gsize)n_cpus);
        state->seen = g_new0(CpuWish, (gsize)n_cpus);
}

static bool same_frequency(const CpuWish *a, const CpuWish *b)
{
        return a->bias == b->bias && a->boost == b->boost && a->min_khz == b->min_khz &&
               a->max_khz == b->max_khz && a->governor == b->governor &&
               a->preference == b->preference;
}

/* True if every CPU's request is as it was, so that nothing has changed. */
static bool nothing_new(const CpufreqState *state, const Plan *plan)
{
        for (int cpu = 0; state->all_known && cpu < state->n_cpus; cpu++)
                if (!same_frequency(&state->seen[cpu],
                                    cpu < plan->n_cpus ? &plan->cpus[cpu] : &tune_nothing))
                        return false;
        return state->all_known;
}

static CpuWish wish_of(const CpufreqState *state, const Plan *plan, const FreqPolicy *policy)
{
        if (plan->n_cpus == 0 ||
            (state->excludes && cpuset_intersects(&policy->cpus, &state->options.exclude)))
                return tune_nothing;
        return plan_shared_wish(plan, &policy->cpus);
}

/* True if policies have boosts of their own. There is one driver, so one policy stands for all. */
static bool is_split(const CpufreqState *state, const ActFacts *facts)
{
        char name[TUNE_NAME];

        if (facts->n_frequency == 0)
                return false;
        cpufreq_name(name, facts->frequency[0].number, "boost");
        return tune_exists(state->context.root, name);
}

/* The machine's boost by the policies' requests; -1: as it is. */
static int wished_boost(const CpufreqState *state, const ActFacts *facts, const CpuWish *wishes)
{
        int n_off = 0, n = 0;

        if (state->excludes)
                return -1;
        for (int i = 0; i < facts->n_frequency; i++) {
                if (!facts->frequency[i].has_boost)
                        continue;
                if (wishes[i].boost > 0)
                        return 1;
                n++;
                n_off += wishes[i].boost == 0;
        }
        if (n_off == 0 || n_off == n)
                return n_off == 0 ? -1 : 0;
        return is_split(state, facts) ? -1 : 0;
}

static int set_boost(Knobs *knobs, const char *name, int boost, bool inverted, bool *effective)
{
        bool on = (boost > 0) != inverted;

        return tune_set(knobs, &cpufreq_boost_kind, name,
                        boost < 0 ? NULL
                        : on      ? "1"
                                  : "0",
                        effective);
}

static int apply_machine_boost(CpufreqState *state, Knobs *knobs, int boost)
{
        bool inverted = tune_exists(state->context.root, CPUFREQ_NO_TURBO);
        bool effective = true;
        int r;

        if (!inverted && !tune_exists(state->context.root, CPUFREQ_BOOST))
                return 0;
        r = set_boost(knobs, inverted ? CPUFREQ_NO_TURBO : CPUFREQ_BOOST, boost, inverted,
                      &effective);
        state->machine_boost = effective ? boost : -1;
        return r;
}

static int apply_policy_boost(CpufreqState *state, Knobs *knobs, const FreqPolicy *policy,
                              bool split, int boost)
{
        Tuned *tuned = &state->policies[policy->number];
        char name[TUNE_NAME];
        bool effective = true;
        int r = 0;

        if (split) {
                cpufreq_name(name, policy->number, "boost");
                r = set_boost(knobs, name, boost, false, &effective);
        } else {
                effective = boost >= 0 && boost == state->machine_boost;
        }
        tuned->effective.boost = (int8_t)(effective ? boost : -1);
        return r;
}

static bool boosts_differ(const CpufreqState *state, const ActFacts *facts, const CpuWish *wishes)
{
        if (!state->boosts_known)
                return true;
        for (int i = 0; i < facts->n_frequency; i++) {
                const Tuned *tuned = &state->policies[facts->frequency[i].number];

                if (!tuned->known || tuned->wished.boost != wishes[i].boost)
                        return true;
        }
        return false;
}

/* True if a boost is requested, or one of ours is in effect or must be restored. */
static bool is_about_boost(const CpufreqState *state, const Knobs *knobs, const ActFacts *facts,
                           const CpuWish *wishes)
{
        const Knob *const *list;

        for (int i = 0; i < facts->n_frequency; i++)
                if (wishes[i].boost >= 0 ||
                    state->policies[facts->frequency[i].number].effective.boost >= 0)
                        return true;
        for (int i = 0, n = knobs_list(knobs, &list); i < n; i++)
                if (list[i]->kind == &cpufreq_boost_kind)
                        return true;
        return false;
}

static int apply_boosts(CpufreqState *state, Knobs *knobs, const ActFacts *facts,
                        const CpuWish *wishes)
{
        bool split = is_split(state, facts);
        int first;

        first = apply_machine_boost(state, knobs, wished_boost(state, facts, wishes));
        for (int i = 0; i < facts->n_frequency; i++)
                if (facts->frequency[i].has_boost)
                        first = cpufreq_first_error(
                                first, apply_policy_boost(state, knobs, &facts->frequency[i], split,
                                                          wishes[i].boost));
        state->boosts_known = first == 0;
        return first;
}

static bool is_switched(const CpufreqState *state, const char *name, int boost, bool inverted)
{
        g_autofree char *now = NULL;

        return boost >= 0 && tune_read(&state->context, name, &now) == 0 &&
               g_str_equal(now, "1") != ((boost > 0) != inverted);
}

/* True if what is requested is not what boosts have. */
static bool any_is_switched(const CpufreqState *state, const ActFacts *facts, const CpuWish *wishes)
{
        int boost = wished_boost(state, facts, wishes);
        char name[TUNE_NAME];

        if (is_switched(state, CPUFREQ_BOOST, boost, false) ||
            is_switched(state, CPUFREQ_NO_TURBO, boost, true))
                return true;
        for (int i = 0; i < facts->n_frequency; i++) {
                cpufreq_name(name, facts->frequency[i].number, "boost");
                if (is_switched(state, name, wishes[i].boost, false))
                        return true;
        }
        return false;
}

/* For limits that a boost of ours moves. */
static void keep_limits(CpufreqState *state, Knobs *knobs, const ActFacts *facts)
{
        _fd_ int dir = cpufreq_open_dir(&state->context);

        for (int i = 0; dir >= 0 && i < facts->n_frequency; i++)
                cpufreq_remember_minimum(state, knobs, dir, facts->frequency[i].number);
        cpufreq_keep_maxima(state, knobs, facts);
}

/* While the kernel still works on a switch of boost it shows a minimum that no program set, often
 * the one that was found: so what is ours is restored before. */
static void release_minima(Knobs *knobs, const ActFacts *facts)
{
        for (int i = 0; i < facts->n_frequency; i++) {
                char name[TUNE_NAME];
                bool effective = false;

                cpufreq_name(name, facts->frequency[i].number, CPUFREQ_MIN);
                if (knob_find(knobs, &cpufreq_limit_kind, name))
                        tune_set(knobs, &cpufreq_limit_kind, name, NULL, &effective);
        }
}

/* Prepares limits before boost may change. The kernel moves them with it, so their found values
 * must be on record, or remembered until they are requested. */
static void prepare_limits(CpufreqState *state, Knobs *knobs, const ActFacts *facts,
                           const CpuWish *wishes)
{
        bool wished = false;

        for (int i = 0; i < facts->n_frequency; i++)
                wished = wished || wishes[i].min_khz || wishes[i].max_khz;
        if (wished)
                cpufreq_apply_policies(state, knobs, facts->frequency, wishes, facts->n_frequency,
                                       false);
        else
                release_minima(knobs, facts);
        if (any_is_switched(state, facts, wishes))
                keep_limits(state, knobs, facts);
}

/* Carries out requests for all policies: boost if it may change, then all else. */
static int apply_wishes(CpufreqState *state, Knobs *knobs, const ActFacts *facts,
                        const CpuWish *wishes)
{
        bool moved = false;
        int first = 0, r;

        if (boosts_differ(state, facts, wishes) && is_about_boost(state, knobs, facts, wishes)) {
                unsigned writes;

                prepare_limits(state, knobs, facts, wishes);
                writes = knobs_writes(knobs);
                first = apply_boosts(state, knobs, facts, wishes);
                moved = knobs_writes(knobs) != writes;
                for (int i = 0; moved && i < facts->n_frequency; i++)
                        cpufreq_note_maximum(state, facts->frequency[i].number);
                if (moved)
                        cpufreq_move_maxima(state, knobs, facts);
                cpufreq_restore_maxima(state, knobs, facts);
        }
        r = cpufreq_apply_policies(state, knobs, facts->frequency, wishes, facts->n_frequency,
                                   moved);
        return cpufreq_first_error(first, r);
}

static int apply_cpufreq(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        CpufreqState *state = data;
        g_autofree CpuWish *wishes = NULL;
        int r;

        if (!state->options.manage)
                return 0;
        prepare(state, facts->topology->n_cpus);
        if (nothing_new(state, plan))
                return 0;
        wishes = g_new(CpuWish, (gsize)MAX(facts->n_frequency, 1));
        for (int i = 0; i < facts->n_frequency; i++)
                wishes[i] = wish_of(state, plan, &facts->frequency[i]);
        r = apply_wishes(state, knobs, facts, wishes);
        state->all_known = r == 0;
        for (int cpu = 0; cpu < state->n_cpus; cpu++)
                state->seen[cpu] = cpu < plan->n_cpus ? plan->cpus[cpu] : tune_nothing;
        return r;
}

static const KnobKind *const kinds[] = { &cpufreq_governor_kind, &cpufreq_choice_kind,
                                         &cpufreq_limit_kind,    &cpufreq_boost_kind,
                                         &cpufreq_moved_kind,    NULL };

static void forget_cpufreq(void *data, Knobs *knobs, const CpuSet *returned)
{
        CpufreqState *state = data;

        state->all_known = false;
        tune_forget(state->policies, state->n_cpus, knobs, kinds, returned);
}

static void report_cpufreq(void *data, const ActFacts *facts, int cpu, CpuWish *effective)
{
        const CpufreqState *state = data;

        for (int i = 0; i < facts->n_frequency && state->policies; i++) {
                const CpuWish *known = &state->policies[facts->frequency[i].number].effective;

                if (!cpuset_has(&facts->frequency[i].cpus, cpu))
                        continue;
                effective->bias = known->bias;
                effective->boost = known->boost;
                effective->min_khz = known->min_khz;
                effective->max_khz = known->max_khz;
                effective->governor = known->governor;
                effective->preference = known->preference;
        }
}

static char *refused_cpufreq(void *data, const Plan *plan, const ActFacts *facts,
                             const char **ret_word)
{
        const CpufreqState *state = data;

        for (int i = 0; i < facts->n_frequency; i++) {
                const FreqPolicy *policy = &facts->frequency[i];
                const char *governor = wish_of(state, plan, policy).governor;
                g_autofree char *offered = NULL;

                if (!governor || g_strv_contains((const char *const *)policy->governors, governor))
                        continue;
                *ret_word = governor;
                offered = g_strjoinv(" ", policy->governors);
                return g_strdup_printf("a governor of cpufreq/policy%d: %s", policy->number,
                                       offered);
        }
        return NULL;
}

static const char *describe_cpufreq(void *data)
{
        const CpufreqState *state = data;

        return state->options.manage ? "governors, EPP, EPB, boost and limits of cpufreq"
                                     : "not managed, because Manage= of [Frequency] is no";
}

const Actuator actuator_cpufreq = {
        .name = "cpufreq",
        .section = "Frequency",
        .kinds = kinds,
        .open = open_cpufreq,
        .apply = apply_cpufreq,
        .forget = forget_cpufreq,
        .report = report_cpufreq,
        .refused = refused_cpufreq,
        .describe = describe_cpufreq,
        .close = close_cpufreq,
};
