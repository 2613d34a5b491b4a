/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decisions as sentences: what the manager knows, put into the words of model/explain.c.
 */
#include "manager/manager-explain.h"

#include "model/explain.h"

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
