/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts from the daemon, and what answers begin with.
 */
#include "cli/facts.h"

#include <math.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "cli/client.h"
#include "cli/json.h"
#include "cli/watch.h"
#include "model/kind.h"
#include "model/measured.h"

/* The shortest and the longest interval. */
#define INTERVAL_MIN_USEC (10u * 1000)
#define INTERVAL_MAX_USEC (3600ull * 1000 * 1000)

uint64_t interval_asked_usec;

const VerbOption interval_option[] = {
        { "interval", "TIME", "measure over this time, such as 1s", .number = &interval_asked_usec,
          .least = INTERVAL_MIN_USEC, .most = INTERVAL_MAX_USEC,
          .expected = "a duration from 10ms to 1h, such as 1s" },
        { 0 },
};

static void put_set(json_object *object, const char *key, const CpuSet *set)
{
        g_autofree char *text = cpuset_format(set);

        json_put_text(object, key, text);
}

static json_object *missing(const Watch *watch)
{
        json_object *array = json_object_new_array();

        for (const SenseSource *source = sense_sources; source->sense; source++) {
                int error = sensors_error(watch->sensors, source->sense);

                const char *const pair[] = { source->name, missing_reason(error), NULL };

                if (source->name && error < 0)
                        json_object_array_add(array, json_copy_strings(pair));
        }
        return array;
}

/* A property as the daemon has it. */
static json_object *measured_value(const Measured *row, const Watch *watch)
{
        double numbers[MEASURED_NUMBERS];
        int n = measured_numbers(row, watch->seen, cpuset_count(&watch->topology->online), numbers);
        json_object *array;

        if (*row->signature == 'b')
                return json_object_new_boolean(numbers[0] != 0);
        if (*row->signature == 'u')
                return json_object_new_int64((int64_t)numbers[0]);
        if (n == 1)
                return json_plain(numbers[0]);
        array = json_object_new_array();
        for (int i = 0; i < n; i++)
                json_object_array_add(array, json_plain(numbers[i]));
        return array;
}

static json_object *manager(const Watch *watch)
{
        json_object *object = json_object_new_object();

        put_set(object, "Online", &watch->topology->online);
        put_set(object, "Isolated", &watch->topology->isolated);
        json_put_int(object, "Cores", watch->topology->n_cores);
        for (const Measured *row = measured_properties; row->property; row++)
                json_put(object, row->property, measured_value(row, watch));
        json_put_int(object, "ObservedUSec", (int64_t)watch->seen->interval_usec);
        json_put(object, "Missing", missing(watch));
        return object;
}

static json_object *residency_row(const char *name, double share, const uint32_t *counts[4],
                                  int state)
{
        json_object *row = json_object_new_array();

        json_add_text(row, name);
        json_object_array_add(row, json_plain(share));
        for (int i = 0; i < 4; i++)
                json_object_array_add(row, json_object_new_int64(counts ? counts[i][state] : 0));
        return row;
}

/* IdleStates, Residency, Estimated. */
static void put_states(json_object *object, const Watch *watch, int cpu)
{
        json_object *states = json_object_new_array(), *shares = json_object_new_array();
        const Residency *r = watch->seen->have & SENSE_RESIDENCY &&
                                             cpuset_has(&watch->seen->cpus, cpu)
                                     ? &watch->seen->residency[cpu]
                                     : NULL;
        IdleState info[IDLE_STATES_MAX];
        int n = idle_states_read(watch->root, cpu, info);
        const char *estimated = "";

        if (r)
                json_object_array_add(shares, residency_row("C0", r->busy, NULL, 0));
        for (int i = 0; i < n; i++) {
                json_object *state = json_object_new_array();

                json_add_text(state, info[i].name);
                json_object_array_add(state, json_object_new_int64(info[i].exit_latency_us));
                json_object_array_add(state, json_object_new_int64(info[i].target_residency_us));
                json_object_array_add(states, state);
                if (!r || i >= r->n_states)
                        continue;
                json_object_array_add(shares,
                                      residency_row(info[i].name, r->share[i],
                                                    (const uint32_t *[]){ r->entered, r->above,
                                                                          r->below, r->rejected },
                                                    i));
                if (r->estimated == i)
                        estimated = info[i].name;
        }
        json_put(object, "IdleStates", states);
        json_put(object, "Residency", shares);
        json_put_text(object, "Estimated", estimated);
}

static json_object *kinds_of(const TopologyCpu *cpu)
{
        json_object *array = json_object_new_array();

        for (int i = 0; kind_names[i]; i++)
                if (cpu->kinds & 1u << i)
                        json_add_text(array, kind_names[i]);
        return array;
}

static json_object *cpu_object(const Watch *watch, int cpu)
{
        const TopologyCpu *place = &watch->topology->cpus[cpu];
        const Snapshot *seen = watch->seen;
        json_object *object = json_object_new_object();

        json_put_int(object, "Number", cpu);
        json_put_bool(object, "Online", cpuset_has(&watch->topology->online, cpu));
        json_put_bool(object, "Isolated", cpuset_has(&watch->topology->isolated, cpu));
        json_put_int(object, "Core", place->core);
        json_put_int(object, "Cluster", place->cluster);
        json_put_int(object, "Die", place->die);
        json_put_int(object, "Package", place->package);
        json_put_int(object, "Node", place->node);
        json_put_int(object, "Thread", place->thread);
        json_put_int(object, "Capacity", place->capacity);
        json_put(object, "Kinds", kinds_of(place));
        json_put(object, "Utilization",
                 json_plain(cpuset_has(&seen->cpus, cpu) ? (double)seen->busy[cpu] : 0));
        put_states(object, watch, cpu);
        json_put_int(object, "ResidencyUSec", (int64_t)seen->interval_usec);
        return object;
}

static json_object *energy(const Watch *watch)
{
        json_object *array = json_object_new_array();
        const EnergyDomain *domains;
        int n = sensors_energy_domains(watch->sensors, &domains);

        for (int i = 0; i < MIN(n, watch->seen->n_energy); i++) {
                const EnergyUse *use = &watch->seen->energy[i];
                json_object *object = json_add(array);

                json_put_text(object, "Name", domains[i].name);
                json_put_text(object, "Parent",
                              domains[i].parent < 0 ? "" : domains[domains[i].parent].name);
                json_put(object, "RangeUJ", json_object_new_uint64(domains[i].range_uj));
                json_put_text(object, "Source", energy_source_text(domains[i].source));
                json_put_bool(object, "Sampled", domains[i].sampled);
                json_put(object, "Power",
                         json_plain(use->valid ? round(use->watts * 10) / 10 : -1));
        }
        return array;
}

static json_object *describe(const Watch *watch)
{
        json_object *facts = json_object_new_object(), *cpus = json_object_new_array();

        CPUSET_FOREACH(cpu, &watch->topology->present)
                json_object_array_add(cpus, cpu_object(watch, cpu));
        json_put(facts, "Manager", manager(watch));
        json_put(facts, "Cpus", cpus);
        json_put(facts, "Policies", json_object_new_array());
        json_put(facts, "Energy", energy(watch));
        return facts;
}

/* By number, rank or name: objects of one interface have one of these. */
static int compare_objects(const void *a, const void *b)
{
        static const char *const numbers[] = { "Number", "Rank" };
        json_object *one = *(json_object *const *)a, *other = *(json_object *const *)b;

        for (size_t i = 0; i < G_N_ELEMENTS(numbers); i++) {
                int64_t x = json_int(one, numbers[i], 0), y = json_int(other, numbers[i], 0);

                if (x != y)
                        return x < y ? -1 : 1;
        }
        return strcmp(json_text(one, "Name"), json_text(other, "Name"));
}

/* The objects that have the interface, sorted, as member `name` of `facts`. */
static void add_objects(json_object *facts, const char *name, json_object *objects,
                        const char *interface)
{
        json_object *array = json_object_new_array();

        if (json_object_is_type(objects, json_type_object)) {
                json_object_object_foreach(objects, path, interfaces)
                {
                        json_object *properties = json_get(interfaces, interface);

                        if (path && properties)
                                json_object_array_add(array, json_object_get(properties));
                }
        }
        json_object_array_sort(array, compare_objects);
        json_put(facts, name, array);
}

json_object *facts_get(Ctl *ctl)
{
        g_autoptr(json_object) objects = NULL;
        json_object *facts;

        if (!client_manager(ctl->client))
                return facts_measure(ctl, FACTS_INTERVAL_USEC);
        objects = client_objects(ctl->client);
        facts = json_object_new_object();
        json_put(facts, "Manager", json_object_get(client_manager(ctl->client)));
        add_objects(facts, "Cpus", objects, "org.idled1.Cpu");
        add_objects(facts, "Policies", objects, "org.idled1.Policy");
        add_objects(facts, "Energy", objects, "org.idled1.Energy");
        return facts;
}

json_object *facts_measure(Ctl *ctl, uint64_t interval_usec)
{
        g_autoptr(Watch) watch = NULL;
        int r = watch_new(ctl->root, &watch);

        if (r >= 0)
                r = watch_begin(watch, SENSE_EVERYTHING, false);
        g_usleep(r < 0 ? 0 : interval_usec);
        if (r >= 0)
                r = watch_sample(watch, SENSE_EVERYTHING, false);
        if (r >= 0)
                return describe(watch);
        complain_cpus(ctl, r);
        return NULL;
}

json_object *answer_new(Ctl *ctl)
{
        json_object *answer = json_object_new_object();
        json_object *manager = client_manager(ctl->client);

        json_object *daemon = manager ? json_object_new_object() : NULL;

        json_put(answer, "daemon", daemon);
        json_put_text(answer, "daemon_error", daemon ? NULL : client_problem(ctl->client));
        if (!daemon)
                return answer;
        json_put_members(daemon, manager, "version=Version dry_run=DryRun");
        json_put_bool(daemon, "paused", json_length(json_get(manager, "Pauses")) > 0);
        return answer;
}

void answer_show_daemon(const Ctl *ctl, json_object *answer)
{
        if (!json_get(answer, "daemon"))
                screen_sentence(&ctl->screen, STYLE_WARN, json_text(answer, "daemon_error"));
}

bool facts_missing(json_object *manager, const char *what)
{
        return json_find_row(json_get(manager, "Missing"), what, NULL);
}
