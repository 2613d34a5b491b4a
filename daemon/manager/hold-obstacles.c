/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a hold, or a part of it, is not in effect.
 */
#include <string.h>

#include "act/park/park.h"
#include "act/tune/tuning.h"
#include "base/cpuset-text.h"
#include "manager/manager-parts.h"
#include "config/profile.h"

#define NO_POLICY_SERVES "no active policy serves holds"

char *manager_idle_obstacle(const Manager *manager)
{
        if (pauses_any(manager_pauses(manager)))
                return pauses_text(manager_pauses(manager));
        return manager->ground.setup.dry_run ? g_strdup("this is a dry run") : NULL;
}

/* Why nothing of the hold is in effect; NULL if it may be. */
static char *whole_obstacle(const Manager *manager, const Held *held)
{
        const Profile *refused = manager_profile(manager)->refused;
        char *obstacle = manager_idle_obstacle(manager);

        if (obstacle)
                return obstacle;
        if (!held->profile)
                return manager_serves_holds(manager) || held->kinds || held->contract.p99_us > 0
                               ? NULL
                               : g_strdup(NO_POLICY_SERVES);
        if (!config_profile(manager->ground.config, held->profile))
                return g_strdup_printf("there is no profile \"%s\" any more", held->profile);
        return refused && g_str_equal(refused->name, held->profile)
                       ? g_strdup(manager_profile(manager)->problem)
                       : NULL;
}

/* What a hold requests of single CPUs, and what can stand in its way. */
typedef struct Demand {
        const char *what; /* is not done then, for people */
        const Actuator *actuator;
        bool absent;      /* the machine has not what it takes: */
        const char *name; /* of that */
        const char *end;  /* of the names of knobs that it takes */
        CpuSet numbers;   /* in their names: CPUs, or cpufreq policies */
        CpuSet excluded;  /* CPUs that it is about and that are left alone */
        GString *text;    /* what stands in the way of the hold, for people */
        bool reported;    /* it says that this is not done */
} Demand;

static const TuneOptions *options_of(const Manager *manager, const Actuator *actuator)
{
        return config_section(manager->ground.config, actuator->section)->options;
}

/* Adds why it is not done, or not on all CPUs. */
__attribute__((format(printf, 2, 3))) static void report(Demand *demand, const char *format, ...)
{
        va_list arguments;

        if (demand->reported)
                g_string_append(demand->text, ", ");
        else
                g_string_append_printf(demand->text, "%s%s: ", demand->text->len > 0 ? "; " : "",
                                       demand->what);
        demand->reported = true;
        va_start(arguments, format);
        g_string_append_vprintf(demand->text, format, arguments);
        va_end(arguments);
}

static bool takes_knob(const Demand *demand, const Knob *knob)
{
        return knob_is_of(knob, demand->actuator->kinds) &&
               g_str_has_suffix(knob->name, demand->end) &&
               tune_is_of(knob->name, &demand->numbers);
}

/* The first knob that it needs and that is not available; NULL: there is none. */
static const Knob *find_lost(const Manager *manager, const Demand *demand)
{
        const Knob *const *knobs;
        int n = knobs_list(manager_knobs(manager), &knobs);

        for (int i = 0; i < n; i++)
                if (knobs[i]->state != KNOB_OURS && takes_knob(demand, knobs[i]))
                        return knobs[i];
        return NULL;
}

/* Appends what is in the way on all CPUs; false: nothing is. */
static bool report_closed(const Manager *manager, Demand *demand)
{
        const char *section = demand->actuator->section;
        const ActuatorState *a = actuator_set_find(manager_actuators(manager), demand->actuator);

        if (!demand->absent && !options_of(manager, demand->actuator)->manage)
                report(demand, "Manage= of [%s] is no", section);
        else if (demand->absent || !a || !a->state)
                report(demand, "this machine has no %s", demand->name);
        return demand->reported;
}

/* Appends what is in the way on some CPUs. */
static void report_lost(const Manager *manager, Demand *demand)
{
        const Knob *lost = find_lost(manager, demand);
        g_autofree char *cpus = cpuset_format(&demand->excluded);

        if (*cpus)
                report(demand, "Exclude= of [%s] excludes CPU%s %s", demand->actuator->section,
                       cpuset_count(&demand->excluded) > 1 ? "s" : "", cpus);
        if (lost && lost->state == KNOB_FOREIGN)
                report(demand, "another program has taken over %s", lost->name);
        else if (lost)
                report(demand, "%s: %s", lost->name, g_strerror(-lost->error));
}

/* The one limit that there is for all CPUs together, which has no knob. */
static void report_global(const Manager *manager, Demand *demand)
{
        int r = actuator_unreported_error(
                actuator_set_find(manager_actuators(manager), demand->actuator),
                manager_knobs(manager));

        if (!cpuset_is_empty(&options_of(manager, demand->actuator)->exclude))
                report(demand, "Exclude= of [%s] excludes the limit of all CPUs",
                       demand->actuator->section);
        else if (r < 0)
                report(demand, "the limit of all CPUs (%s): %s", demand->actuator->file,
                       g_strerror(-r));
}

static void report_latency(const Manager *manager, const Hold *hold, GString *text)
{
        Demand demand = { .what = "its latency cannot be kept",
                          .actuator = &actuator_pmqos,
                          .name = "PM QoS",
                          .end = "",
                          .numbers = hold->cpus,
                          .excluded = hold->cpus,
                          .text = text };

        if (report_closed(manager, &demand))
                return;
        cpuset_and(&demand.excluded, &options_of(manager, demand.actuator)->exclude);
        cpuset_subtract(&demand.numbers, &demand.excluded);
        report_lost(manager, &demand);
        if (hold->global)
                report_global(manager, &demand);
}

/* Something that keeps the policy below what is held; false: nothing does. */
static bool report_reach(Manager *manager, const Hold *hold, int i, Demand *demand)
{
        const MachineFacts *machine = seen_machine(manager->seen);
        const FreqPolicy *policy = &machine->frequency[i];
        g_autofree char *name = g_strdup_printf("cpufreq/policy%d", policy->number);
        const FreqReach *reach;
        uint64_t turn = 0;

        sd_event_get_iteration(manager->ground.event, &turn);
        reach = machine_reach(machine, i, turn);

        if (policy->max_khz && policy->max_khz < hold->min_khz)
                report(demand, "the highest frequency of %s is %g GHz", name,
                       policy->max_khz / 1e6);
        else if (reach->boost_off && policy->base_khz < hold->min_khz)
                report(demand, "boost is off, and without it the highest frequency of %s is %g GHz",
                       name, policy->base_khz / 1e6);
        else if (reach->khz < hold->min_khz)
                report(demand,
                       "%s/scaling_max_freq is %g GHz, set by another program or the kernel", name,
                       (double)reach->khz / 1e6);
        return demand->reported;
}

/* A maximum below what is held, which the kernel takes without a word: it is the minimum then. */
static void report_maximum(Manager *manager, const Hold *hold, Demand *demand)
{
        const MachineFacts *machine = seen_machine(manager->seen);

        for (int i = 0; i < machine->n_frequency; i++)
                if (cpuset_has(&demand->numbers, machine->frequency[i].number) &&
                    report_reach(manager, hold, i, demand))
                        return;
}

static void report_frequency(Manager *manager, const Hold *hold, GString *text)
{
        const MachineFacts *machine = seen_machine(manager->seen);
        Demand demand = { .what = "its frequency cannot be kept",
                          .actuator = &actuator_cpufreq,
                          .absent = machine->n_frequency == 0,
                          .name = "cpufreq",
                          .end = "/scaling_min_freq",
                          .text = text };
        const CpuSet *exclude;

        if (report_closed(manager, &demand))
                return;
        exclude = &options_of(manager, demand.actuator)->exclude;
        for (int i = 0; i < machine->n_frequency; i++) {
                CpuSet cpus = machine->frequency[i].cpus;

                if (!cpuset_intersects(&cpus, &hold->cpus))
                        continue;
                if (!cpuset_intersects(&cpus, exclude)) {
                        cpuset_add(&demand.numbers, machine->frequency[i].number);
                        continue;
                }
                cpuset_and(&cpus, &hold->cpus);
                cpuset_or(&demand.excluded, &cpus);
        }
        report_lost(manager, &demand);
        if (!demand.reported)
                report_maximum(manager, hold, &demand);
}

/* What keeps the unit from its kinds of cores, given those of them that are active. */
static void report_unit(const Manager *manager, const Held *held, const CpuSet *active,
                        Demand *demand)
{
        const char *name = strrchr(held->unit, '/') + 1;
        const Knob *knob = knob_find(manager_knobs(manager), &park_kinds_kind, name);
        const CpuSet *online = &manager_topology(manager)->online;
        CpuSet others = *online;

        cpuset_subtract(&others, active);
        cpuset_subtract(&others, manager_parked(manager));
        if (knob && knob->state == KNOB_FOREIGN)
                report(demand, "another program has taken over AllowedCPUs of %s", name);
        else if (knob && knob->error < 0)
                report(demand, "AllowedCPUs of %s: %s", name, g_strerror(-knob->error));
        else if (cpuset_is_empty(active))
                report(demand, "all of them are parked, so %s may use all active CPUs", name);
        else if (!knob && !cpuset_is_empty(&others))
                report(demand,
                       "%s or a cgroup below it has CPUs of its own (AllowedCPUs= or CPUAffinity=)",
                       name);
}

static void report_kinds(const Manager *manager, const Held *held, GString *text)
{
        const ActuatorState *a = actuator_set_find(manager_actuators(manager), &actuator_kinds);
        CpuSet active = topology_of_kinds(manager_topology(manager), held->kinds);
        g_autofree char *kinds = kinds_format(held->kinds);
        Demand demand = { .what = "its kind of cores is not kept", .text = text };

        if (cpuset_is_empty(&active))
                report(&demand, "this machine has no cores of kind %s online", kinds);
        else if (!held->unit)
                report(&demand, "its process has no unit of its own; idled moves none and leaves "
                                "affinities alone");
        else if (!a || !a->state)
                report(&demand, "%s", a && a->why ? a->why : "systemd cannot be reached");
        if (demand.reported || !held->unit)
                return;
        cpuset_subtract(&active, manager_parked(manager));
        report_unit(manager, held, &active, &demand);
}

/* What keeps policies from serving the hold. */
static void report_policy(Manager *manager, const Held *held, GString *text)
{
        const Hold *hold = holds_hold(held);

        if (!manager_serves_holds(manager)) {
                if (hold_needs_policy(hold))
                        g_string_append_printf(text, "only its %s is in effect: " NO_POLICY_SERVES,
                                               held->profile ? "profile" : "kind of cores");
                return;
        }
        if (held->named && cpuset_is_empty(&hold->cpus)) {
                g_string_append(text, "none of its CPUs is online");
                return;
        }
        if (hold->latency_us >= 0)
                report_latency(manager, hold, text);
        if (hold->min_khz > 0)
                report_frequency(manager, hold, text);
}

char *manager_hold_obstacle(Manager *manager, const Held *held)
{
        g_autofree char *contract = manager_contract_obstacle(manager, held);
        char *whole = whole_obstacle(manager, held);
        GString *text;

        if (whole)
                return whole;
        text = g_string_new(NULL);
        if (contract)
                g_string_append_printf(text, "its contract has no effect: %s", contract);
        report_policy(manager, held, text);
        if (held->kinds)
                report_kinds(manager, held, text);
        return g_string_free(text, text->len == 0);
}
