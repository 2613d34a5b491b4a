/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Deciding: what the policies request, what is safe, and why the plan is as it is.
 *
 * Only a scan of all threads finds pinned tasks. So idled scans when it can matter: when CPUs are
 * about to be parked, or when an earlier scan still keeps one active. An older scan is not enough:
 * a task that pinned itself since then would be moved, and nothing shows that afterwards. In the
 * long run the scans may cost one percent of a CPU; unspent time accumulates, and when it is spent
 * idled parks no more CPUs.
 */
#include <errno.h>

#include "base/cpuset-text.h"
#include "base/log.h"
#include "manager/decision-log.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"
#include "model/pack.h"

#define PINS_COST_FACTOR 100
#define PINS_SAVED_USEC  (G_USEC_PER_SEC / 2)

/* This many tasks are scanned at once, before anything else: a task takes up to 50 us. Most
 * machines have fewer, so the answer is available at once. */
#define PINS_FIRST   400
#define PINS_AT_ONCE 100

/* CPUs that are kept active for pinned tasks are checked again after this time. */
#define HELD_AGAIN_USEC (10 * G_USEC_PER_SEC)

static const CpuSet *allowed_now(const Manager *manager)
{
        return &manager->plan.allowed;
}

PolicyInput manager_policy_input(const Manager *manager, const ActivePolicy *active)
{
        const Hold *holds;
        unsigned n_holds = holds_list(manager->holds, &holds);

        return (PolicyInput){
                .holds = holds,
                .n_holds = (int)n_holds,
                .topology = manager->topology,
                .snapshot = manager->snapshot,
                .allowed = allowed_now(manager),
                .effect = manager_honours(manager, active),
                .idle = manager->idle,
                .frequency = manager->frequency,
                .n_frequency = manager->n_frequency,
                .options = active->section->options,
        };
}

/* Room for the requests of the next plan, which the current plan does not use; NULL if there are no
 * such requests. */
static CpuWish *free_cpu_wishes(const Manager *manager)
{
        if (!manager_wishes_cpus(manager))
                return NULL;
        return manager->cpu_wishes[manager->plan.cpus == manager->cpu_wishes[0]];
}

/* Removes the cores beyond max_cores from the policy's request. */
static void pack_wish(const Manager *manager, ActivePolicy *p, const CpuSet *offered)
{
        PackSize size = { .cores = (int)MIN(p->wish.max_cores, (unsigned)CPUSET_MAX) };
        CpuSet choice = p->wish.allowed, parked;

        if (!p->pack)
                p->pack = g_new0(Pack, 1);
        cpuset_and(&choice, offered);
        pack_update(p->pack, manager->topology, &choice, PACK_EFFICIENCY);
        pack_parked(p->pack, manager->topology, size, &parked);
        cpuset_subtract(&p->wish.allowed, &parked);
}

static void ask(Manager *manager, ActivePolicy *p, const CpuSet *offered)
{
        PolicyInput input = manager_policy_input(manager, p);

        input.offered = offered;
        wish_init(&p->wish);
        if (p->cpus)
                wish_init_cpus(&p->wish, p->cpus, manager->topology->n_cpus);
        p->policy->decide(p->state, &input, &p->wish);
        if (p->wish.max_cores > 0)
                pack_wish(manager, p, offered);
}

/* Adds what the policy requests; while that is ignored, only when to call it again. */
static void merge(const Manager *manager, const ActivePolicy *p, Plan *plan)
{
        Wish timing;

        if (manager_honours(manager, p)) {
                plan_merge(plan, &p->wish);
                return;
        }
        wish_init(&timing);
        timing.period_usec = p->wish.period_usec;
        timing.wake_at_usec = p->wish.wake_at_usec;
        timing.settled = p->wish.settled;
        timing.on_pressure = p->wish.on_pressure;
        timing.reads = p->wish.reads;
        plan_merge(plan, &timing);
}

void manager_decide(Manager *manager, bool by_holds, Plan *ret_plan)
{
        plan_init(ret_plan, free_cpu_wishes(manager), manager->topology->n_cpus);
        for (guint i = 0; i < manager->policies->len && !manager_is_paused(manager); i++) {
                ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                p->before = p->wish.allowed;
                if (!by_holds || p->policy->wishes & (WISHES_BY_HOLDS | WISHES_BESIDE_HOLDS))
                        ask(manager, p, &ret_plan->allowed);
                merge(manager, p, ret_plan);
                if (p->policy->wishes & WISHES_NAMED_CPUS)
                        cpuset_and(&ret_plan->widest, &p->wish.allowed);
        }
        plan_sanitize_cpus(ret_plan, manager->idle);
        manager->wished = *ret_plan;
}

/* What scans may cost now, in microseconds; below zero: not yet. */
static int64_t pins_budget(const Manager *manager, uint64_t now)
{
        uint64_t waited = manager->pins ? now - manager->pins_time_usec : 0;
        int64_t budget = manager->pins ? manager->pins_left_usec : PINS_SAVED_USEC;

        return MIN(budget + (int64_t)(waited / PINS_COST_FACTOR), PINS_SAVED_USEC);
}

/* Makes one step of the scan; true if there are more. */
static bool step(PinsLook *look, unsigned tasks)
{
        uint64_t start = manager_now();
        bool more = pins_scan_step(look->scan, tasks);

        look->cost_usec += manager_now() - start;
        return more;
}

static void take_pins(Manager *manager)
{
        PinsLook *look = &manager->pins_look;

        pins_free(manager->pins);
        manager->pins = pins_scan_end(g_steal_pointer(&look->scan));
        manager->pins_time_usec = look->time_usec;
        manager->pins_left_usec = look->budget_usec - (int64_t)look->cost_usec;
}

/* True if what the scan took for granted is no more. */
static bool is_outdated(const Manager *manager)
{
        const PinsLook *look = &manager->pins_look;

        return !cpuset_equal(&look->parked, &manager->parked) ||
               !cpuset_equal(&look->online, &manager->topology->online);
}

static int on_step(sd_event_source *source, void *userdata)
{
        Manager *manager = userdata;
        PinsLook *look = &manager->pins_look;

        if (!look->scan)
                return 0;
        if (is_outdated(manager))
                g_clear_pointer(&look->scan, pins_scan_free);
        else if (step(look, PINS_AT_ONCE))
                return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        else {
                take_pins(manager);
                look->is_new = true;
        }
        manager->look_again_usec = manager_now();
        manager_wake(manager);
        return 0;
}

/* Lets the event loop go on with the scan. */
static int go_on_later(Manager *manager)
{
        PinsLook *look = &manager->pins_look;
        int r = 0;

        if (!look->source)
                r = sd_event_add_defer(manager->event, &look->source, on_step, manager);
        return r < 0 ? r : sd_event_source_set_enabled(look->source, SD_EVENT_ONESHOT);
}

void manager_drop_pins(Manager *manager)
{
        sd_event_source_disable_unref(manager->pins_look.source);
        pins_scan_free(manager->pins_look.scan);
        pins_free(manager->pins);
}

/* Finds the pinned tasks. False if that would cost too much now, or takes time: then the plan is
 * made again when they are known. */
static bool refresh_pins(Manager *manager)
{
        const CpuSet *confined = cpuset_is_empty(&manager->parked) ? NULL : allowed_now(manager);
        PinsLook *look = &manager->pins_look;
        uint64_t now = manager_now();
        int64_t budget = pins_budget(manager, now);
        bool is_new = look->is_new;
        int r;

        look->is_new = false;
        if (look->scan && !is_outdated(manager))
                return false;
        if (is_new && !is_outdated(manager))
                return true;
        g_clear_pointer(&look->scan, pins_scan_free);
        if (budget < 0)
                return false;
        r = pins_scan_new(manager->setup.root, manager->topology, confined, &look->scan);
        if (r < 0) {
                log_debug("Failed to read the affinities of tasks: %s", g_strerror(-r));
                return true;
        }
        look->time_usec = now;
        look->budget_usec = budget;
        look->cost_usec = 0;
        look->parked = manager->parked;
        look->online = manager->topology->online;
        if (step(look, PINS_FIRST) && go_on_later(manager) >= 0)
                return false;
        while (pins_scan_step(look->scan, PINS_AT_ONCE))
                continue;
        take_pins(manager);
        return true;
}

static bool depends_on_pins(Safety safety)
{
        return safety == SAFETY_PINNED || safety == SAFETY_FORGOTTEN || safety == SAFETY_NODE ||
               safety == SAFETY_UNKNOWN;
}

/* When to scan again, given that pinned tasks keep CPUs active. */
static uint64_t look_again_at(const Manager *manager, uint64_t now)
{
        int64_t budget = pins_budget(manager, now);

        if (budget < 0)
                return now + (uint64_t)-budget * PINS_COST_FACTOR;
        return now + HELD_AGAIN_USEC;
}

/* Parks no more than is parked. */
static void keep_what_is_allowed(const Manager *manager, Plan *plan, const char *why,
                                 const SafetyNotes *notes)
{
        CpuSet added = *allowed_now(manager);

        cpuset_subtract(&added, &plan->allowed);
        CPUSET_FOREACH(cpu, &added) {
                notes->safety[cpu] = SAFETY_UNKNOWN;
                notes->owners[cpu] = why;
        }
        cpuset_or(&plan->allowed, &added);
        cpuset_subtract(&plan->resting, &added);
}

/* True if the plan parks CPUs that are active now, unless a window is open. */
static bool parks_more(const Manager *manager, const Plan *plan)
{
        CpuSet active = plan->allowed;

        if (manager_has_window(manager))
                cpuset_or(&active, &plan->widest);
        cpuset_and(&active, &manager->topology->online);
        return !cpuset_is_subset(allowed_now(manager), &active);
}

void manager_make_safe(Manager *manager, Plan *plan, const SafetyNotes *notes)
{
        bool parks = parks_more(manager, plan), known = !parks || refresh_pins(manager);
        bool units_known;
        Dependents who;

        if (!parks)
                manager->pins_look.is_new = false; /* it will be old when it is wanted */
        units_known = manager_dependents(manager, parks, manager_follows_starts(manager), &who);
        plan_sanitize(plan, manager->topology, &who, notes);
        manager->asking = !known || !units_known;
        if (manager->asking)
                keep_what_is_allowed(
                        manager, plan,
                        known ? "idled is waiting for systemd to report which CPUs its units need"
                              : NULL,
                        notes);
        plan_sanitize_quiet(plan);
        manager->unsafe = false;
        manager->look_again_usec = 0;
        for (int cpu = 0; cpu < manager->topology->n_cpus; cpu++)
                if (depends_on_pins(notes->safety[cpu]) && !manager->pins_look.scan)
                        manager->look_again_usec = look_again_at(manager, manager_now());
}

bool manager_should_look_again(const Manager *manager)
{
        return manager->look_again_usec > 0 && manager_now() >= manager->look_again_usec;
}

/* The first policy by rank that leaves `cpu` out, and is honoured, or is not; -1 if none does. */
static int parked_by(const Manager *manager, int cpu, bool honoured)
{
        for (guint i = 0; i < manager->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                if (!cpuset_has(&p->wish.allowed, cpu) && manager_honours(manager, p) == honoured)
                        return (int)i;
        }
        return -1;
}

/* The policy that leaves in use what is in use: the last by rank that gives a reason, for those
 * before it had left it more. */
static int last_with_reason(const Manager *manager)
{
        for (guint i = manager->policies->len; i-- > 0;)
                if (g_array_index(manager->policies, ActivePolicy, i).wish.allowed_reason.because)
                        return (int)i;
        return -1;
}

static void cause_of_policy(const Manager *manager, int index, CpuCause *cause)
{
        const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, (guint)index);

        cause->policy = p->policy->name;
        cause->reason = p->wish.allowed_reason;
        cause->option_source = (Source){ 0 };
        if (cause->reason.option)
                cause->option_source = section_source(p->section, cause->reason.option);
}

static bool is_set_aside(const Topology *topology, int cpu)
{
        return cpuset_has(&topology->isolated, cpu) || cpuset_has(&topology->nohz_full, cpu);
}

/* The hold that keeps the CPU in use: one that names it, else one of those that ask for the most
 * cores. NULL: a policy does so by itself. */
static const Held *keeping_hold(const Manager *manager, int cpu)
{
        const Held *most = NULL;

        for (unsigned i = 0; i < holds_count(manager->holds); i++) {
                const Held *held = holds_nth(manager->holds, i);
                const Hold *hold = holds_hold(held);

                if (hold->keep && cpuset_has(&hold->cpus, cpu))
                        return held;
                if (hold->min_cores > (most ? holds_hold(most)->min_cores : 0))
                        most = held;
        }
        return most;
}

/* Says which hold it is, and of which process. */
static void name_hold(const Manager *manager, int cpu, Reason *reason)
{
        const Held *held = keeping_hold(manager, cpu);
        pid_t pid = held ? held_pid(held) : 0;

        if (!held)
                return;
        reason->inputs[0].name = "hold";
        reason->inputs[0].unit = "";
        reason->inputs[0].value = (double)held->id;
        if (pid <= 0)
                return;
        reason->inputs[1].name = "PID";
        reason->inputs[1].unit = "";
        reason->inputs[1].value = pid;
}

/* At more texts than this, those without a reference are dropped. */
#define TEXTS_MAX 64

static gboolean is_unused(gpointer text, gpointer value, gpointer userdata)
{
        const Manager *manager = userdata;

        for (int cpu = 0; cpu < manager->topology->n_cpus; cpu++)
                if (manager->causes[cpu].reason.because == text)
                        return FALSE;
        return TRUE;
}

/* A copy that lives for as long as a cause has it. */
static const char *keep_text(Manager *manager, char *text)
{
        gpointer kept;

        if (g_hash_table_lookup_extended(manager->texts, text, &kept, NULL)) {
                g_free(text);
                return kept;
        }
        if (g_hash_table_size(manager->texts) > TEXTS_MAX + (guint)manager->topology->n_cpus)
                g_hash_table_foreach_remove(manager->texts, is_unused, manager);
        g_hash_table_add(manager->texts, text);
        return text;
}

/* Why the CPU was added to the plan. */
static const char *safety_because(Manager *manager, Safety safety, const char *owner)
{
        if (!owner)
                return safety_text(safety);
        if (safety == SAFETY_FORGOTTEN)
                return keep_text(
                        manager,
                        g_strdup_printf(
                                "parking would reset the affinity of %s, on kernels before 6.2",
                                owner));
        if (safety == SAFETY_PINNED)
                return keep_text(manager, g_strdup_printf("the affinity of %s has no other active "
                                                          "CPU",
                                                          owner));
        if (safety == SAFETY_NODE)
                return keep_text(manager, g_strdup_printf("memory of %s is bound to a NUMA node "
                                                          "with no other active CPU",
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
        const Section *section = config_section(manager->config, "Park");
        const ParkOptions *options = section->options;
        const char *key = manager_window_option(manager);
        uint64_t usec = g_str_equal(key, "StartWindow") ? options->start_window
                                                        : options->terminal_window;

        cause->policy = "window";
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

        if (safety == SAFETY_NONE && index < 0 && is_set_aside(manager->topology, cpu))
                safety = SAFETY_ISOLATED; /* also if no policy requested that it idles */
        cause->policy = NULL;
        cause->reason = (Reason){ 0 };
        cause->safety = safety;
        cause->ignored = false;
        if (manager_is_paused(manager)) {
                cause->policy = "pause";
                cause->reason.because = manager_pause_text(manager);
        } else if (safety == SAFETY_WINDOW) {
                cause_of_window(manager, owner, cause);
        } else if (safety != SAFETY_NONE) {
                cause->policy = "safety";
                cause->reason.because = safety_because(manager, safety, owner);
                if (safety == SAFETY_KEPT)
                        name_hold(manager, cpu, &cause->reason);
        } else if (index < 0 && ignored >= 0) {
                manager_explain_ignored(
                        manager, &g_array_index(manager->policies, ActivePolicy, (guint)ignored),
                        cause);
        } else {
                index = index >= 0 ? index : last_with_reason(manager);
                if (index >= 0)
                        cause_of_policy(manager, index, cause);
        }
}

const CpuCause *manager_cause(Manager *manager, int cpu)
{
        CpuCause *cause = &manager->causes[cpu], now = *cause;

        /* What made a plan safe stays the cause until the next one. */
        if (!cpuset_has(&manager->topology->online, cpu) ||
            (cause->safety != SAFETY_NONE && cause->safety != SAFETY_KEPT &&
             !manager_is_paused(manager)))
                return cause;
        cause_of_cpu(manager, cpu, cause->safety, NULL, &now);
        if (now.policy != cause->policy || memcmp(&now.reason, &cause->reason, sizeof(now.reason)))
                *cause = now; /* else its option's source is that of the decision */
        return cause;
}

int manager_reasons(const Manager *manager, const ActivePolicy *active, int cpu,
                    Reason *ret_reasons)
{
        PolicyInput input = manager_policy_input(manager, active);

        if (!active->policy->explain || manager_is_paused(manager) ||
            !cpuset_has(&manager->topology->online, cpu))
                return 0;
        return CLAMP(active->policy->explain(active->state, &input, cpu, ret_reasons), 0,
                     EXPLAIN_MAX);
}

/* The policy of the highest rank whose last request changed for `cpu` to its present state; -1:
 * none. */
static int moved_by(const Manager *manager, int cpu, bool parked)
{
        for (guint i = 0; i < manager->policies->len; i++) {
                const ActivePolicy *p = &g_array_index(manager->policies, ActivePolicy, i);

                if (cpuset_has(&p->before, cpu) == parked &&
                    cpuset_has(&p->wish.allowed, cpu) != parked)
                        return (int)i;
        }
        return -1;
}

/* Why the parked CPUs changed, given the policy that requested it, -1 if none did, and the present
 * cause of a CPU that moved. That may be another: a CPU that one policy released may be active
 * because of another policy. */
static CpuCause cause_of_transition(const Manager *manager, int index, bool parked,
                                    const CpuCause *moved)
{
        CpuCause cause = *moved;

        if (manager_is_paused(manager) || moved->safety != SAFETY_NONE || moved->ignored)
                return cause;
        if (index >= 0) {
                cause_of_policy(manager, index, &cause);
                if (!cause.reason.because)
                        cause.reason.because = "it no longer requests parked CPUs";
        } else if (!parked) {
                cause = (CpuCause){ 0 };
                cause.reason.because = "no active policy requests parked CPUs any more";
        }
        return cause;
}

static void note_transition(Manager *manager, const CpuSet *parked, const CpuCause *cause,
                            uint64_t now)
{
        const DaemonOptions *options = config_section(manager->config, "Daemon")->options;
        g_autofree char *text = cpuset_format(parked);
        const Transition *added = history_add(manager->history,
                                              &(Transition){
                                                      .time_usec = now,
                                                      .parked = text,
                                                      .policy = cause->policy,
                                                      .reason = cause->reason,
                                                      .option_source = cause->option_source,
                                              });

        if (options->log_decisions)
                decision_log(manager->setup.root, added);
}

/* A CPU that moved, and the policy that requested it. */
typedef struct Move {
        int cpu, by; /* -1: none */
} Move;

/* Prefers the one that says more: requests of policies before safety, then by rank. */
static void take_move(const Manager *manager, Move *move, int cpu, bool parked)
{
        int by = moved_by(manager, cpu, parked);

        if (move->cpu < 0 || manager->causes[move->cpu].safety != SAFETY_NONE ||
            (by >= 0 && (move->by < 0 || by < move->by)))
                *move = (Move){ cpu, by };
}

void manager_note_causes(Manager *manager, const CpuSet *parked_before, const SafetyNotes *notes)
{
        CpuSet parked = manager->topology->online;
        uint64_t now = (uint64_t)g_get_real_time();
        Move move = { -1, -1 };
        CpuCause why;

        cpuset_subtract(&parked, &manager->plan.allowed);
        CPUSET_FOREACH(cpu, &manager->topology->online) {
                CpuCause *cause = &manager->causes[cpu];
                bool is_parked = cpuset_has(&parked, cpu);

                cause_of_cpu(manager, cpu, notes->safety[cpu], notes->owners[cpu], cause);
                if (is_parked == cpuset_has(parked_before, cpu))
                        continue;
                cause->since_usec = now;
                take_move(manager, &move, cpu, is_parked);
        }
        if (move.cpu < 0)
                return;
        why = cause_of_transition(manager, move.by, cpuset_has(&parked, move.cpu),
                                  &manager->causes[move.cpu]);
        note_transition(manager, &parked, &why, now);
}
