/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Facts from the daemon, and what answers begin with.
 */
#include "cli/facts.h"

#include <string.h>

#include "cli/client.h"
#include "cli/measure.h"

static int compare_numbers(const void *a, const void *b, const char *key)
{
        int64_t x = json_int(*(json_object *const *)a, key, 0);
        int64_t y = json_int(*(json_object *const *)b, key, 0);

        return (x > y) - (x < y);
}

static int compare_cpus(const void *a, const void *b)
{
        return compare_numbers(a, b, "Number");
}

static int compare_policies(const void *a, const void *b)
{
        return compare_numbers(a, b, "Rank");
}

static int compare_energy(const void *a, const void *b)
{
        return strcmp(json_text(*(json_object *const *)a, "Name"),
                      json_text(*(json_object *const *)b, "Name"));
}

/* The objects that have the interface, sorted, as member `name` of `facts`. */
static void add_objects(json_object *facts, const char *name, json_object *objects,
                        const char *interface, int (*compare)(const void *, const void *))
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
        json_object_array_sort(array, compare);
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
        add_objects(facts, "Cpus", objects, "org.idled1.Cpu", compare_cpus);
        add_objects(facts, "Policies", objects, "org.idled1.Policy", compare_policies);
        add_objects(facts, "Energy", objects, "org.idled1.Energy", compare_energy);
        return facts;
}

json_object *facts_measure(Ctl *ctl, uint64_t interval_usec)
{
        json_object *facts = NULL;
        int r = measure(ctl->root, interval_usec, &facts);

        if (r < 0)
                complain_cpus(ctl, r);
        return facts;
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
        json_put_same(daemon, "version", manager, "Version");
        json_put_same(daemon, "dry_run", manager, "DryRun");
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
        json_object *missing = json_get(manager, "Missing"), *pair;

        JSON_FOREACH(pair, missing)
                if (g_str_equal(json_element_text(pair, 0), what))
                        return true;
        return false;
}
