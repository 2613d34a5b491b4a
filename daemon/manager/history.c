/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history: a ring that grows to HISTORY_KEPT changes, and a sum for each CPU.
 *
 * Most changes have one of few reasons and one of few sets, so strings are counted references.
 */
#include "manager/history.h"

#include <glib.h>

#include "model/explain.h"

struct History {
        GArray *ring; /* of Transition; number n is at (n - 1) % HISTORY_KEPT */
        uint64_t count;
        GArray *causes; /* of CauseCount */
        uint64_t start_usec;
        CpuSet noted;          /* those parked after the last change */
        uint64_t *since_usec;  /* of changes, by CPU number */
        CpuSet parked;         /* now */
        uint64_t *parked_usec; /* by CPU number: sums up to parked_since_usec */
        uint64_t parked_since_usec;
};

static void transition_clear(gpointer data)
{
        Transition *transition = data;

        g_clear_pointer((char **)&transition->parked, g_ref_string_release);
        g_clear_pointer((char **)&transition->reason.because, g_ref_string_release);
}

static void cause_clear(gpointer data)
{
        g_ref_string_release((char *)((CauseCount *)data)->policy);
}

History *history_new(int n_cpus, uint64_t now_usec)
{
        History *history = g_new0(History, 1);

        history->ring = g_array_new(FALSE, TRUE, sizeof(Transition));
        g_array_set_clear_func(history->ring, transition_clear);
        history->causes = g_array_new(FALSE, FALSE, sizeof(CauseCount));
        g_array_set_clear_func(history->causes, cause_clear);
        history->start_usec = now_usec;
        history->since_usec = g_new0(uint64_t, (gsize)n_cpus);
        history->parked_usec = g_new0(uint64_t, (gsize)n_cpus);
        return history;
}

void history_free(History *history)
{
        if (!history)
                return;
        g_array_unref(history->ring);
        g_array_unref(history->causes);
        g_free(history->parked_usec);
        g_free(history->since_usec);
        g_free(history);
}

/* There are as many as policies, and three. */
static void count_cause(History *history, Cause cause, const char *policy)
{
        CauseCount added = { .cause = cause, .count = 1 };

        for (guint i = 0; i < history->causes->len; i++) {
                CauseCount *known = &g_array_index(history->causes, CauseCount, i);

                if (known->cause == cause && g_str_equal(known->policy, policy)) {
                        known->count++;
                        return;
                }
        }
        added.policy = g_ref_string_new_intern(policy);
        g_array_append_val(history->causes, added);
}

CpuSet history_moved(const History *history, const CpuSet *online, const CpuSet *parked)
{
        CpuSet moved = { 0 };

        CPUSET_FOREACH(cpu, online)
                if (cpuset_has(parked, cpu) != cpuset_has(&history->noted, cpu))
                        cpuset_add(&moved, cpu);
        return moved;
}

const Transition *history_add(History *history, const Transition *transition, const CpuSet *moved)
{
        Transition added = *transition, *place;

        added.number = ++history->count;
        count_cause(history, transition->cause, transition->policy ? transition->policy : "");
        added.parked = g_ref_string_new_intern(transition->parked);
        if (transition->reason.because)
                added.reason.because = g_ref_string_new_intern(transition->reason.because);
        if (history->ring->len < HISTORY_KEPT)
                g_array_set_size(history->ring, history->ring->len + 1);
        place = &g_array_index(history->ring, Transition, (added.number - 1) % HISTORY_KEPT);
        transition_clear(place);
        *place = added;
        CPUSET_FOREACH(cpu, moved) {
                history->since_usec[cpu] = transition->time_usec;
                if (cpuset_has(&history->noted, cpu))
                        cpuset_remove(&history->noted, cpu);
                else
                        cpuset_add(&history->noted, cpu);
        }
        return place;
}

uint64_t history_since_usec(const History *history, int cpu)
{
        return history->since_usec[cpu];
}

uint64_t history_age_usec(const History *history, uint64_t now_usec)
{
        return now_usec - history->start_usec;
}

uint64_t history_count(const History *history)
{
        return history->count;
}

unsigned history_causes(const History *history, const CauseCount **ret_counts)
{
        *ret_counts = (const CauseCount *)(void *)history->causes->data;
        return history->causes->len;
}

const Transition *history_find(const History *history, uint64_t number)
{
        if (number == 0 || number > history->count || number + HISTORY_KEPT <= history->count)
                return NULL;
        return &g_array_index(history->ring, Transition, (number - 1) % HISTORY_KEPT);
}

void history_note_parked(History *history, const CpuSet *parked, uint64_t now_usec)
{
        CPUSET_FOREACH(cpu, &history->parked)
                history->parked_usec[cpu] += now_usec - history->parked_since_usec;
        history->parked_since_usec = now_usec;
        history->parked = *parked;
}

uint64_t history_parked_usec(const History *history, int cpu, uint64_t now_usec)
{
        bool is_parked = cpuset_has(&history->parked, cpu);

        return history->parked_usec[cpu] + (is_parked ? now_usec - history->parked_since_usec : 0);
}

char *transition_explain(const Transition *transition)
{
        g_autofree char *source = source_format(&transition->option_source);
        g_autofree char *text = explain_change(
                transition->parked, &(Explanation){ transition->policy, transition->reason, source,
                                                    transition->cause });

        *text = g_ascii_toupper(*text);
        return g_strconcat(text, ".", NULL);
}
