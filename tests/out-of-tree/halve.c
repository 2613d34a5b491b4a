/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * halve: a policy that is built from nothing but the files that idled installs.
 *
 * After AfterTime on battery it parks every second package, or every second core if there is one
 * package.
 */
#include <idled-policy.h>

typedef struct HalveOptions {
        uint64_t after_usec;
        bool enabled;
} HalveOptions;

typedef struct Halve {
        uint64_t since_usec; /* on battery since then; 0: not */
} Halve;

static const Setting halve_settings[] = {
        { "Policy", "AfterTime", SETTING_DURATION, offsetof(HalveOptions, after_usec), "10s", 0,
          3600e6, .help = "How long the machine must run on battery" },
        { "Policy", "Enabled", SETTING_BOOL, offsetof(HalveOptions, enabled), "yes",
          .help = "Whether to do anything" },
        { 0 },
};

static void halve_decide(void *state, const PolicyInput *input, Wish *wish)
{
        Halve *self = state;
        const HalveOptions *options = input->options;
        const Topology *topology = input->topology;
        CpuSet parked = { 0 };

        if (!options->enabled || !input->snapshot->on_battery) {
                self->since_usec = 0;
                wish->period_usec = options->enabled ? 5000000 : 0;
                return;
        }
        if (self->since_usec == 0)
                self->since_usec = input->snapshot->time_usec;
        wish->period_usec = 5000000;
        wish->settled = input->snapshot->time_usec - self->since_usec >= options->after_usec;
        if (!wish->settled)
                return;
        for (int i = 0; i < topology->n_cores; i++)
                if ((topology->n_packages > 1 ? topology->cores[i].package : i) % 2 == 1)
                        topology_add_core(topology, i, &parked);
        cpuset_subtract(&wish->allowed, &parked);
        wish->allowed_reason = (Reason){ .because = "the machine runs on battery",
                                         .option = "AfterTime",
                                         .threshold = (double)options->after_usec / 1e6,
                                         .threshold_unit = "s" };
}

const IdledPolicy idled_policy = {
        .abi = IDLED_POLICY_ABI,
        .name = "halve",
        .summary = "parks half of the machine on battery",
        .settings = halve_settings,
        .options_size = sizeof(HalveOptions),
        .state_size = sizeof(Halve),
        .needs = SENSE_POWER,
        .decide = halve_decide,
};
