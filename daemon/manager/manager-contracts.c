/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts in the manager: whose there are, what the kernel counted for them, and what the policy
 * that serves them found out.
 */
#include "manager/evaluation.h"
#include "manager/manager-parts.h"

/* The policy that serves contracts; NULL: none is active. */
static const ActivePolicy *serving(const Manager *manager)
{
        return decided_who(manager->decided, WISHES_BY_CONTRACTS);
}

/* True if clients must know that contracts have changed. */
static bool note_change(Manager *manager, bool changed)
{
        if (changed)
                ground_raise(&manager->ground, CHANGE_CONTRACTS | CHANGE_OBSTACLES);
        return changed;
}

bool manager_follow_contracts(Manager *manager, bool fresh)
{
        const Holds *holds = serving(manager) ? manager_holds(manager) : NULL;

        return note_change(manager,
                           contracts_follow(asked_contracts(manager->asked), holds,
                                            &manager_topology(manager)->online,
                                            manager_plan(manager)->p99_us, fresh, manager_now()));
}

void manager_read_contracts(Manager *manager)
{
        manager_follow_contracts(manager, false);
        note_change(manager, contracts_read(asked_contracts(manager->asked)));
}

void manager_drop_contracts(Manager *manager)
{
        note_change(manager, contracts_drop(asked_contracts(manager->asked)));
}

void manager_note_contracts(Manager *manager)
{
        ContractReport reports[CONTRACTS_MAX];
        const ActivePolicy *p = serving(manager);
        int n = p ? p->policy->contracts(p->state, reports) : 0;
        const UnitContract *first = contracts_nth(asked_contracts(manager->asked), 0);
        uint32_t rest_us = first && !first->cgroup ? first->limit_us : 0;

        note_change(manager, contracts_note(asked_contracts(manager->asked), reports, n));
        if (rest_us != manager_plan(manager)->p99_us)
                ground_raise(&manager->ground, DUE_TICK_SOON); /* the request is new */
}

char *manager_contracts_obstacle(const Manager *manager)
{
        const ActivePolicy *p = serving(manager);
        char *obstacle = manager_idle_obstacle(manager);

        if (obstacle || !p || !evaluation_backs_off(manager->decided, p))
                return obstacle;
        return g_strdup("ignored while contracts seem to cost energy (BackOff=)");
}

char *manager_contract_obstacle(const Manager *manager, const Held *held)
{
        char *obstacle;

        if (held->contract.p99_us == 0)
                return NULL;
        if (!serving(manager))
                return g_strdup("no active policy serves contracts");
        obstacle = contracts_obstacle(asked_contracts(manager->asked), held);
        return obstacle ? obstacle : manager_contracts_obstacle(manager);
}
