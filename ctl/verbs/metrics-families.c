/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which metrics there are: from D-Bus names and units to those of Prometheus.
 *
 * Names follow its conventions: base units (seconds, joules, hertz, ratios), a unit at the end of
 * the name, counters that only grow. Values that idled measures "since the last query" have no
 * metric: with two readers each would see intervals of the other. Rates of the counters say the
 * same.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "model/explain.h"
#include "cli/facts.h"
#include "metrics.h"

static void family(MetricsText *text, const char *name, MetricType type, const char *unit,
                   const char *help)
{
        metrics_family(text, &(MetricFamily){ name, type, unit, help });
}

static void gauge(MetricsText *text, const char *name, const char *unit, const char *help,
                  double value)
{
        family(text, name, METRIC_GAUGE, unit, help);
        metrics_sample(text, NULL, value);
}

static void counter(MetricsText *text, const char *name, const char *unit, const char *help,
                    double value)
{
        family(text, name, METRIC_COUNTER, unit, help);
        metrics_sample(text, NULL, value);
}

/* One sample with at most two labels; what is absent is NULL. */
static void sample(MetricsText *text, double value, const char *name, const char *label,
                   const char *name2, const char *label2)
{
        g_autofree char *labels = metrics_labels(name, label, name2, label2, NULL);

        metrics_sample(text, labels, value);
}

/* A member that is a number or a truth value; NaN if it is absent. */
static double member(json_object *object, const char *key)
{
        json_object *value = json_get(object, key);

        if (!value || json_object_is_type(value, json_type_string))
                return NAN;
        return json_object_is_type(value, json_type_boolean) ? json_object_get_boolean(value)
                                                             : json_object_get_double(value);
}

static double seconds(json_object *object, const char *key)
{
        return member(object, key) / 1e6;
}

/* A family with a sample for each of many rows. */
typedef struct Column {
        const char *name, *unit;
        MetricType type;
        const char *help;
        const char *key; /* the member of a row; NULL: rows are arrays */
        int element;     /* of the member, which is an array, or -1; else of the row */
        double factor;   /* from its unit to ours; 0: it is the same */
        int least;       /* what is less is absent */
} Column;

static double column_value(const Column *column, json_object *row)
{
        double value = !column->key          ? json_element_number(row, (size_t)column->element)
                       : column->element < 0 ? member(row, column->key)
                                             : json_number_at(row, column->key, column->element);

        return value < column->least ? NAN : value * (column->factor ?: 1);
}

/* labels_of() makes the labels of a row as a new string. */
static void write_columns(MetricsText *text, const Column *columns, size_t n, json_object *rows,
                          char *(*labels_of)(json_object *row))
{
        json_object *row;

        for (size_t c = 0; c < n; c++) {
                family(text, columns[c].name, columns[c].type, columns[c].unit, columns[c].help);
                JSON_FOREACH(row, rows) {
                        g_autofree char *labels = labels_of(row);

                        metrics_sample(text, labels, column_value(&columns[c], row));
                }
        }
}

/* The reason in "none (REASON)" gets a label of its own, so that queries can match "none". */
static void write_park_backend(const char *backend, MetricsText *text)
{
        g_autofree char *reason = NULL;

        if (g_str_has_prefix(backend, "none (") && g_str_has_suffix(backend, ")"))
                reason = g_strndup(backend + strlen("none ("), strlen(backend) - strlen("none ()"));
        family(text, "idled_park_backend", METRIC_INFO, NULL,
               "How idled parks CPUs; none, and why, if it cannot.");
        sample(text, 1, "backend", reason ? "none" : backend, "reason", reason);
}

static void write_daemon(json_object *manager, MetricsText *text)
{
        json_object *missing = json_get(manager, "Missing"), *pair;
        json_object *keeps = json_get(manager, "KeepsAffinities");

        family(text, "idled_build", METRIC_INFO, NULL, "Version of the running idled.");
        sample(text, 1, "version", json_text(manager, "Version"), NULL, NULL);
        write_park_backend(json_text(manager, "ParkBackend"), text);
        gauge(text, "idled_keeps_affinities", NULL,
              "1 if the kernel keeps the affinities of tasks when CPUs are parked, 0 if it resets "
              "them.",
              keeps ? json_object_get_boolean(json_element(keeps, 0)) : NAN);
        gauge(text, "idled_uptime_seconds", "seconds",
              "Time since idled started, without the time that the machine slept.",
              seconds(manager, "UptimeUSec"));
        gauge(text, "idled_dry_run", NULL, "1 if idled decides but changes nothing.",
              member(manager, "DryRun"));
        gauge(text, "idled_pauses", NULL,
              "Pauses in effect; while there are any, idled parks "
              "no CPU.",
              (double)json_length(json_get(manager, "Pauses")));
        gauge(text, "idled_holds", NULL, "Holds of clients and application rules.",
              (double)json_length(json_get(manager, "Holds")));
        family(text, "idled_missing", METRIC_INFO, NULL,
               "Features that this machine or its services lack.");
        JSON_FOREACH(pair, missing)
                sample(text, 1, "feature", json_element_text(pair, 0), "reason",
                       json_element_text(pair, 1));
}

static void write_profile(json_object *manager, MetricsText *text)
{
        json_object *profiles = json_get(manager, "Profiles"), *row;
        const char *active = json_text(manager, "Profile");
        const char *inhibited = json_text(manager, "ProfileInhibited");

        family(text, "idled_profile", METRIC_STATESET, NULL, "The active profile is 1.");
        JSON_FOREACH(row, profiles)
                sample(text, g_str_equal(json_element_text(row, 0), active), "idled_profile",
                       json_element_text(row, 0), NULL, NULL);
        if (json_get(manager, "ProfileInhibited"))
                gauge(text, "idled_profile_inhibited", NULL,
                      "1 if the active profile has no effect.", *inhibited != '\0');
}

/* Processes that belong to no service may be many and short-lived: they have no series. */
static void write_refused(const MetricsFacts *facts, MetricsText *text)
{
        json_object *row;

        counter(text, "idled_refused_affinities", NULL,
                "Calls of sched_setaffinity that failed because idled had parked the CPUs.",
                member(facts->sample, "RefusedAffinities"));
        family(text, "idled_refused_affinity", METRIC_GAUGE, NULL,
               "Such calls of a service, whose CPUs stay active while it is loaded.");
        JSON_FOREACH(row, json_get(facts->manager, "RefusedAffinities")) {
                const char *unit = json_text(row, "unit");
                g_autofree char *labels = metrics_labels("unit", unit, "cpus",
                                                         json_text(row, "cpus"), "program",
                                                         json_text(row, "program"), NULL);

                if (*unit)
                        metrics_sample(text, labels, member(row, "count"));
        }
}

static char *contract_labels(json_object *row)
{
        return metrics_labels("unit", json_text(row, "unit"), "cgroup", json_text(row, "cgroup"),
                              NULL);
}

/* One series for each contract; that of all other units has no labels. */
static void write_contracts(json_object *contracts, MetricsText *text)
{
        static const Column columns[] = {
                { "idled_contract_limit_seconds", "seconds", METRIC_GAUGE,
                  "99 % of the unit's wake-ups must run within this time.", "limit_us", -1, 1e-6 },
                { "idled_contract_p99_seconds", "seconds", METRIC_GAUGE,
                  "The delay that 99 % of wake-ups of the last window did not exceed.", "p99_us",
                  -1, 1e-6 },
                { "idled_contract_infeasible", NULL, METRIC_GAUGE,
                  "1 if the contract is broken with everything active.", "infeasible", -1 },
                { "idled_contract_measured", NULL, METRIC_GAUGE,
                  "0 if the delays of the unit's wake-ups are not measured.", "measured", -1 },
                { "idled_contract_cores", NULL, METRIC_GAUGE,
                  "Active cores that are requested for all contracts.", "cores", -1 },
                { "idled_contract_idle_latency_seconds", "seconds", METRIC_GAUGE,
                  "The limit of idle states that is requested, if there is one.", "latency_us", -1,
                  1e-6 },
                { "idled_contract_highest_frequency", NULL, METRIC_GAUGE,
                  "1 if the CPUs of the unit stay at their highest frequency.", "highest_frequency",
                  -1 },
                { "idled_contract_windows_kept", NULL, METRIC_COUNTER,
                  "Windows of 10 s and 200 wake-ups in which the contract was kept.",
                  "windows_kept", -1 },
                { "idled_contract_windows_broken", NULL, METRIC_COUNTER,
                  "Windows in which it was not.", "windows_broken", -1 },
        };

        if (json_length(contracts) > 0)
                write_columns(text, columns, G_N_ELEMENTS(columns), contracts, contract_labels);
}

/* What idled itself costs. */
static void write_cost(json_object *manager, MetricsText *text)
{
        counter(text, "idled_process_cpu_seconds", "seconds", "CPU time that idled has used.",
                seconds(manager, "CpuUSec"));
        counter(text, "idled_wakeups", NULL, "Times that idled woke up.",
                member(manager, "Wakeups"));
        counter(text, "idled_ticks", NULL, "Decisions that idled made.", member(manager, "Ticks"));
        gauge(text, "idled_tick_period_seconds", "seconds",
              "Time between two decisions now; 0 if idled sleeps until something happens.",
              seconds(manager, "PeriodUSec"));
        gauge(text, "idled_tick_delay_max_seconds", "seconds",
              "Longest delay of a decision after its timer and its slack.",
              seconds(manager, "LateUSec"));
}

/* The number of rows of `rows` whose column is `value`, and that have `kind` in the first. */
static unsigned count_rows(json_object *rows, const char *kind, size_t column, const char *value)
{
        json_object *row;
        unsigned n = 0;

        JSON_FOREACH(row, rows)
                n += g_str_equal(json_element_text(row, 0), kind) &&
                     g_str_equal(json_element_text(row, column), value);
        return n;
}

static void add_kinds(GPtrArray *kinds, json_object *rows)
{
        json_object *row;

        JSON_FOREACH(row, rows) {
                const char *kind = json_element_text(row, 0);

                if (!g_ptr_array_find_with_equal_func(kinds, kind, g_str_equal, NULL))
                        g_ptr_array_add(kinds, (gpointer)kind);
        }
}

static void write_knobs(json_object *manager, MetricsText *text)
{
        static const char *const states[] = { "ours", "foreign", "failed" };
        json_object *knobs = json_get(manager, "Knobs"), *degraded = json_get(manager, "Degraded");
        g_autoptr(GPtrArray) kinds = g_ptr_array_new();

        add_kinds(kinds, knobs);
        family(text, "idled_knobs", METRIC_GAUGE, NULL,
               "Knobs that idled has changed, by what became of them.");
        for (guint i = 0; i < kinds->len; i++)
                for (size_t s = 0; s < G_N_ELEMENTS(states); s++)
                        sample(text, count_rows(knobs, kinds->pdata[i], 4, states[s]), "kind",
                               kinds->pdata[i], "state", states[s]);
        add_kinds(kinds, degraded);
        family(text, "idled_degraded", METRIC_GAUGE, NULL,
               "Knobs that failed or were taken over, and plans that were not carried out.");
        for (guint i = 0; i < kinds->len; i++)
                sample(text, count_rows(degraded, kinds->pdata[i], 0, kinds->pdata[i]), "kind",
                       kinds->pdata[i], NULL, NULL);
        if (!kinds->len && degraded)
                sample(text, 0, "kind", "park", NULL, NULL);
}

/* The family's samples are 0 or 1 for each CPU, or only for those of `online`. */
static void write_membership(MetricsText *text, const char *name, const char *help,
                             json_object *manager, const char *property, json_object *cpus,
                             const CpuSet *online)
{
        json_object *row;
        CpuSet set;

        if (!json_get(manager, property) || cpuset_parse(json_text(manager, property), &set) < 0)
                return;
        family(text, name, METRIC_GAUGE, NULL, help);
        JSON_FOREACH(row, cpus) {
                int cpu = (int)json_element_number(row, 0);
                char label[32];

                g_snprintf(label, sizeof(label), "cpu=\"%d\"", cpu);
                if (cpu >= 0 && cpu < CPUSET_MAX && (!online || cpuset_has(online, cpu)))
                        metrics_sample(text, label, cpuset_has(&set, cpu));
        }
}

static char *place_label(json_object *row, size_t column)
{
        int place = (int)json_element_number(row, column);

        return place >= 0 ? g_strdup_printf("%d", place) : NULL;
}

static void write_places(MetricsText *text, json_object *cpus)
{
        json_object *row;

        family(text, "idled_cpu", METRIC_INFO, NULL, "Core, package and NUMA node of a CPU.");
        JSON_FOREACH(row, cpus) {
                g_autofree char *core = place_label(row, 3), *package = place_label(row, 4),
                                *node = place_label(row, 5), *cpu = place_label(row, 0);
                g_autofree char *labels = metrics_labels("cpu", cpu, "core", core, "package",
                                                         package, "node", node, NULL);

                if (core)
                        metrics_sample(text, labels, 1);
        }
}

static char *cpu_labels(json_object *row)
{
        return g_strdup_printf("cpu=\"%d\"", (int)json_element_number(row, 0));
}

static void write_cpus(const MetricsFacts *facts, MetricsText *text)
{
        static const Column times[] = {
                { "idled_cpu_busy_seconds", "seconds", METRIC_COUNTER,
                  "Time that the CPU was not idle, since idled started.", NULL, 1, 1e-6 },
                { "idled_cpu_parked_seconds", "seconds", METRIC_COUNTER,
                  "Time that the CPU was parked, since idled started.", NULL, 2, 1e-6 },
        };
        json_object *manager = facts->manager, *cpus = json_get(facts->sample, "Cpus");
        CpuSet online;

        if (cpuset_parse(json_text(manager, "Online"), &online) < 0)
                return;
        write_places(text, cpus);
        write_membership(text, "idled_cpu_online", "1 if the CPU is online.", manager, "Online",
                         cpus, NULL);
        write_membership(text, "idled_cpu_parked", "1 if ordinary tasks are kept off the CPU.",
                         manager, "Parked", cpus, &online);
        write_membership(text, "idled_cpu_parking_planned",
                         "1 if idled decided to park the CPU, whether that succeeded or not.",
                         manager, "IdleMask", cpus, &online);
        write_membership(text, "idled_cpu_isolated", "1 if an administrator set the CPU aside.",
                         manager, "Isolated", cpus, &online);
        write_columns(text, times, G_N_ELEMENTS(times), cpus, cpu_labels);
        gauge(text, "idled_cores", NULL, "Cores of the machine.", member(manager, "Cores"));
        gauge(text, "idled_cores_wanted", NULL, "Cores with a CPU that should be active.",
              member(manager, "WantedCores"));
        gauge(text, "idled_cores_active", NULL, "Cores with an active CPU.",
              member(manager, "ActiveCores"));
}

/* The labels of each row of (CPU, name of a state, ...). A second state of the same name on a CPU
 * gets its number: two samples with the same labels are an error. */
static GPtrArray *state_labels(json_object *rows)
{
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        GPtrArray *labels = g_ptr_array_new_with_free_func(g_free);
        json_object *row;

        JSON_FOREACH(row, rows) {
                g_autofree char *cpu = place_label(row, 0);
                char *text = metrics_labels("cpu", cpu, "state", json_element_text(row, 1), NULL);

                for (int n = 2; g_hash_table_contains(seen, text); n++) {
                        g_autofree char *name = g_strdup_printf("%s#%d", json_element_text(row, 1),
                                                                n);

                        g_free(text);
                        text = metrics_labels("cpu", cpu, "state", name, NULL);
                }
                g_hash_table_add(seen, text);
                g_ptr_array_add(labels, text);
        }
        return labels;
}

static void write_idle_states(json_object *rows, json_object *disabled, MetricsText *text)
{
        static const struct {
                const char *name, *unit, *help;
                double factor;
        } columns[] = {
                { "idled_cpu_idle_seconds", "seconds",
                  "Time in the idle state, since idled started; sleeps in progress are estimated.",
                  1e-6 },
                { "idled_cpu_idle_entries", NULL, "Entries into the idle state.", 1 },
                { "idled_cpu_idle_above", NULL, "Sleeps for which the idle state was too deep.",
                  1 },
                { "idled_cpu_idle_below", NULL, "Sleeps for which the idle state was too shallow.",
                  1 },
                { "idled_cpu_idle_rejected", NULL, "Entries that the platform refused.", 1 },
        };
        g_autoptr(GPtrArray) labels = state_labels(rows), off = state_labels(disabled);

        for (size_t c = 0; c < G_N_ELEMENTS(columns); c++) {
                family(text, columns[c].name, METRIC_COUNTER, columns[c].unit, columns[c].help);
                for (guint i = 0; i < labels->len; i++)
                        metrics_sample(text, labels->pdata[i],
                                       json_element_number(json_element(rows, i), c + 2) *
                                               columns[c].factor);
        }
        family(text, "idled_cpu_idle_disabled", METRIC_GAUGE, NULL,
               "1 for each idle state that idled has switched off.");
        for (guint i = 0; i < off->len; i++)
                metrics_sample(text, off->pdata[i], 1);
}

static void write_limits(json_object *rows, MetricsText *text)
{
        static const Column columns[] = {
                { "idled_cpu_latency_limit_seconds", "seconds", METRIC_GAUGE,
                  "Wake-up latency that idled holds the CPU to.", NULL, 1, 1e-6 },
                { "idled_cpu_frequency_limit_min_hertz", "hertz", METRIC_GAUGE,
                  "Lowest frequency that idled allows.", NULL, 2, 1e3, 1 },
                { "idled_cpu_frequency_limit_max_hertz", "hertz", METRIC_GAUGE,
                  "Highest frequency that idled allows.", NULL, 3, 1e3, 1 },
                { "idled_cpu_energy_bias", NULL, METRIC_GAUGE,
                  "Energy performance bias that idled has set, 0 (performance) to 15.", NULL, 4 },
                { "idled_cpu_boost", NULL, METRIC_GAUGE,
                  "1 if idled has switched boost on, 0 if off.", NULL, 5 },
        };
        json_object *row;

        write_columns(text, columns, G_N_ELEMENTS(columns), rows, cpu_labels);
        family(text, "idled_cpu_tuning", METRIC_INFO, NULL,
               "Governor and energy performance preference that idled has set.");
        JSON_FOREACH(row, rows) {
                g_autofree char *cpu = place_label(row, 0);
                const char *governor = json_element_text(row, 6), *epp = json_element_text(row, 7);
                g_autofree char *labels = metrics_labels("cpu", cpu, "governor", governor,
                                                         "preference", epp, NULL);

                if (*governor || *epp)
                        metrics_sample(text, labels, 1);
        }
}

static void write_load(const MetricsFacts *facts, MetricsText *text)
{
        static const char *const names[] = { "idled_load1", "idled_load5", "idled_load15" };
        static const char *const helps[] = { "Load average over 1 minute.",
                                             "Load average over 5 minutes.",
                                             "Load average over 15 minutes." };
        json_object *manager = facts->manager, *averages = json_get(manager, "LoadAverage");
        double level = member(manager, "BatteryLevel");

        if (!facts_missing(manager, "load averages"))
                for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                        gauge(text, names[i], NULL, helps[i], json_element_number(averages, i));
        gauge(text, "idled_running_tasks", NULL, "Tasks that can run.", member(manager, "Running"));
        counter(text, "idled_pressure_seconds", "seconds",
                "Time in which some task waited for a CPU, since idled started.",
                seconds(facts->sample, "PressureUSec"));
        if (facts_missing(manager, "battery"))
                return;
        gauge(text, "idled_on_battery", NULL, "1 while the battery discharges.",
              member(manager, "OnBattery"));
        gauge(text, "idled_battery_ratio", "ratio", "How full the battery is.",
              level >= 0 ? level : NAN);
}

static char *zone_labels(json_object *row)
{
        return metrics_labels("zone", json_element_text(row, 0), "parent",
                              json_element_text(row, 1), NULL);
}

static void write_energy(json_object *rows, MetricsText *text)
{
        static const Column columns[] = {
                { "idled_energy_joules", "joules", METRIC_COUNTER,
                  "Energy of the domain since idled started. A domain contains those that "
                  "name it as parent.",
                  NULL, 2 },
                { "idled_power_watts", "watts", METRIC_GAUGE,
                  "Power of the domain, a mean of at least one second.", NULL, 3 },
                { "idled_energy_dropped_readings", NULL, METRIC_COUNTER,
                  "Readings of the domain that were not possible.", NULL, 4 },
        };
        json_object *row;

        write_columns(text, columns, G_N_ELEMENTS(columns), rows, zone_labels);
        family(text, "idled_energy_source", METRIC_INFO, NULL, "What measures the domain.");
        JSON_FOREACH(row, rows) {
                const char *source = json_element_text(row, 5);
                g_autofree char *labels = metrics_labels("zone", json_element_text(row, 0),
                                                         "parent", json_element_text(row, 1),
                                                         "source", source, NULL);

                if (*source)
                        metrics_sample(text, labels, 1);
        }
}

static void write_transitions(json_object *rows, MetricsText *text)
{
        json_object *row;

        family(text, "idled_transitions", METRIC_COUNTER, NULL,
               "Changes of the set of parked CPUs, by the policy that caused them, or pause, "
               "window, safety or none.");
        JSON_FOREACH(row, rows) {
                const char *cause = cause_name(cause_parse(json_element_text(row, 0)),
                                               json_element_text(row, 1));

                sample(text, json_element_number(row, 2), "cause", *cause ? cause : "none", NULL,
                       NULL);
        }
}

static char *policy_labels(json_object *policy)
{
        return metrics_labels("policy", json_text(policy, "Name"), NULL);
}

/* What a policy saves: only of those that an evaluator measures. */
static void write_savings(json_object *policies, MetricsText *text)
{
        static const Column columns[] = {
                { "idled_policy_saved_joules", "joules", METRIC_GAUGE,
                  "Energy that the policy has saved, estimated; negative if it costs energy.",
                  "SavedJoules", 0, 1, INT_MIN },
                { "idled_policy_saved_low_joules", "joules", METRIC_GAUGE,
                  "Lower bound of the 95 % interval of the saved energy.", "SavedJoules", 1, 1,
                  INT_MIN },
                { "idled_policy_saved_high_joules", "joules", METRIC_GAUGE,
                  "Upper bound of the 95 % interval of the saved energy.", "SavedJoules", 2, 1,
                  INT_MIN },
                { "idled_policy_saved_watts", "watts", METRIC_GAUGE,
                  "Power that the policy saves while it is in effect, estimated.", "SavedWatts", 0,
                  1, INT_MIN },
                { "idled_policy_saved_low_watts", "watts", METRIC_GAUGE,
                  "Lower bound of the 95 % interval of the saved power.", "SavedWatts", 1, 1,
                  INT_MIN },
                { "idled_policy_saved_high_watts", "watts", METRIC_GAUGE,
                  "Upper bound of the 95 % interval of the saved power.", "SavedWatts", 2, 1,
                  INT_MIN },
                { "idled_policy_saved_ratio", "ratio", METRIC_GAUGE,
                  "Saved share of the energy per unit of work while it is in effect, estimated.",
                  "SavedShare", 0, 1, INT_MIN },
                { "idled_policy_saved_low_ratio", "ratio", METRIC_GAUGE,
                  "Lower bound of the 95 % interval of the saved share.", "SavedShare", 1, 1,
                  INT_MIN },
                { "idled_policy_saved_high_ratio", "ratio", METRIC_GAUGE,
                  "Upper bound of the 95 % interval of the saved share.", "SavedShare", 2, 1,
                  INT_MIN },
                { "idled_policy_waiting_change_ratio", "ratio", METRIC_GAUGE,
                  "Share of the time in which tasks wait for a CPU: with the policy, minus "
                  "without.",
                  "WaitingChange", 0, 1, INT_MIN },
                { "idled_policy_waiting_change_low_ratio", "ratio", METRIC_GAUGE,
                  "Lower bound of the 95 % interval of the change in waiting.", "WaitingChange", 1,
                  1, INT_MIN },
                { "idled_policy_waiting_change_high_ratio", "ratio", METRIC_GAUGE,
                  "Upper bound of the 95 % interval of the change in waiting.", "WaitingChange", 2,
                  1, INT_MIN },
                { "idled_policy_effective_ratio", "ratio", METRIC_GAUGE,
                  "Share of the time in which the policy was in effect.", "EffectiveShare", -1 },
                { "idled_policy_blocks", NULL, METRIC_COUNTER,
                  "Blocks that the evaluator has measured.", "Blocks", -1 },
                { "idled_policy_blocks_dropped", NULL, METRIC_COUNTER,
                  "Blocks that the evaluator dropped because something disturbed them.",
                  "BlocksDropped", -1 },
        };

        write_columns(text, columns, G_N_ELEMENTS(columns), policies, policy_labels);
}

static void write_policies(json_object *policies, MetricsText *text)
{
        static const char *const verdicts[] = { "saves", "costs", "unknown" };
        json_object *policy;

        family(text, "idled_policy_rank", METRIC_GAUGE, NULL,
               "Rank of an active policy; 0 is the highest.");
        JSON_FOREACH(policy, policies)
                sample(text, member(policy, "Rank"), "policy", json_text(policy, "Name"), NULL,
                       NULL);
        write_savings(policies, text);
        family(text, "idled_policy_verdict", METRIC_STATESET, NULL,
               "What the evaluator found: the verdict is 1.");
        JSON_FOREACH(policy, policies)
                for (size_t v = 0; v < G_N_ELEMENTS(verdicts); v++)
                        if (*json_text(policy, "Verdict"))
                                sample(text, g_str_equal(json_text(policy, "Verdict"), verdicts[v]),
                                       "policy", json_text(policy, "Name"), "idled_policy_verdict",
                                       verdicts[v]);
        family(text, "idled_policy_energy_source", METRIC_INFO, NULL,
               "What the evaluator measures energy with.");
        JSON_FOREACH(policy, policies)
                if (*json_text(policy, "EnergySource"))
                        sample(text, 1, "policy", json_text(policy, "Name"), "source",
                               json_text(policy, "EnergySource"));
        family(text, "idled_policy_work_unit", METRIC_INFO, NULL,
               "What the evaluator counts work in.");
        JSON_FOREACH(policy, policies)
                if (*json_text(policy, "WorkUnit"))
                        sample(text, 1, "policy", json_text(policy, "Name"), "unit",
                               json_text(policy, "WorkUnit"));
}

void metrics_write(const MetricsFacts *facts, MetricsText *text)
{
        json_object *manager = facts->manager, *got = facts->sample;

        gauge(text, "idled_up", NULL, "1 if idled runs and answers.", manager != NULL);
        if (!manager)
                return;
        write_daemon(manager, text);
        write_profile(manager, text);
        write_refused(facts, text);
        write_contracts(json_get(manager, "Contracts"), text);
        write_cost(manager, text);
        write_knobs(manager, text);
        write_transitions(json_get(got, "Transitions"), text);
        write_load(facts, text);
        write_cpus(facts, text);
        write_idle_states(json_get(got, "IdleStates"), json_get(got, "DisabledStates"), text);
        write_limits(json_get(got, "Limits"), text);
        write_energy(json_get(got, "Energy"), text);
        write_policies(facts->policies, text);
}
