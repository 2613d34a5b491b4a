/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * userspace: the idle mask is what the administrator set.
 *
 * It serves a script, a job scheduler or an experimenter that knows better than any filter which
 * CPUs should sleep. It reads nothing, so it never needs to be called again until its option
 * changes, and costs no wake-up. The daemon adds back the CPUs that must not be parked.
 */
#include "idled-policy.h"

typedef struct UserspaceOptions {
        CpuSet idle_mask;
} UserspaceOptions;

static const Setting userspace_settings[] = {
        { "Policy", "IdleMask", SETTING_CPUSET, offsetof(UserspaceOptions, idle_mask), "",
          .help = "CPUs to park, such as 2-3; empty: none" },
        { 0 },
};

static void userspace_decide(void *state, const PolicyInput *input, Wish *wish)
{
        const UserspaceOptions *options = input->options;

        if (cpuset_is_empty(&options->idle_mask))
                return;
        cpuset_subtract(&wish->allowed, &options->idle_mask);
        wish->allowed_reason = (Reason){
                .because = cpuset_intersects(&options->idle_mask, &input->topology->online)
                                   ? "the administrator chose the CPUs to park"
                                   : "no CPU that the administrator chose to park is online",
                .option = "IdleMask",
        };
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "userspace",
        .summary = "parks the CPUs that the administrator names",
        .settings = userspace_settings,
        .options_size = sizeof(UserspaceOptions),
        .wishes = WISHES_NAMED_CPUS,
        .decide = userspace_decide,
};
