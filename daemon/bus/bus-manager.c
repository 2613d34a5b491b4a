/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * /org/idled1: its vtable, the properties that change only when something is decided, profiles, and
 * refused affinities.
 */
#include <errno.h>

#include "base/cpuset-text.h"
#include "base/log.h"
#include "bus/bus-parts.h"
#include "bus/bus-power.h"
#include "config/profile.h"
#include "model/measured.h"
#include "model/topology-build.h"

BUS_VALUE(get_version, "s", IDLED_VERSION);

BUS_VALUE(get_dry_run, "b", manager_setup(bus->manager)->dry_run);

static int append_pause(sd_bus_message *reply, const Pause *pause)
{
        return sd_bus_message_append(reply, "a{sv}", 5, "owner", "s", pause->owner, "reason", "s",
                                     pause->reason, "user", "u", pause->uid, "lasting", "b",
                                     pause->lasting, "until_usec", "t", pause->until_usec);
}

BUS_GETTER(get_pauses)
{
        const Bus *bus = userdata;
        const Pause *pause;
        int r = sd_bus_message_open_container(reply, 'a', "a{sv}");

        for (unsigned i = 0; r >= 0 && (pause = pauses_nth(manager_pauses(bus->manager), i)); i++)
                r = append_pause(reply, pause);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_APPENDED(get_trial, bus_append_trial(reply, bus->manager));

BUS_APPENDED(get_holds, bus_append_holds(reply, manager_holds(bus->manager)));

BUS_APPENDED(get_online, bus_append_cpus(reply, &manager_topology(bus->manager)->online));

BUS_APPENDED(get_isolated, bus_append_cpus(reply, &manager_topology(bus->manager)->isolated));

BUS_APPENDED(get_parked, bus_append_cpus(reply, manager_parked(bus->manager)));

static CpuSet active_cpus(const Manager *manager)
{
        CpuSet active = manager_topology(manager)->online;

        cpuset_subtract(&active, manager_parked(manager));
        return active;
}

BUS_GETTER(get_allowed)
{
        const Bus *bus = userdata;
        CpuSet active = active_cpus(bus->manager);

        return bus_append_cpus(reply, &active);
}

BUS_GETTER(get_idle_mask)
{
        const Bus *bus = userdata;
        CpuSet mask = manager_topology(bus->manager)->online;

        cpuset_subtract(&mask, &manager_plan(bus->manager)->allowed);
        return bus_append_cpus(reply, &mask);
}

static int append_cores(sd_bus_message *reply, const Topology *topology, const CpuSet *cpus)
{
        return sd_bus_message_append(reply, "u", topology_count_cores(topology, cpus));
}

BUS_VALUE(get_cores, "u", manager_topology(bus->manager)->n_cores);

BUS_APPENDED(get_wanted_cores, append_cores(reply, manager_topology(bus->manager),
                                            &manager_plan(bus->manager)->allowed));

BUS_GETTER(get_active_cores)
{
        const Bus *bus = userdata;
        CpuSet active = active_cpus(bus->manager);

        return append_cores(reply, manager_topology(bus->manager), &active);
}

BUS_GETTER(get_policies)
{
        const Bus *bus = userdata;
        const ActivePolicy *p;
        int r = sd_bus_message_open_container(reply, 'a', "s");

        for (unsigned i = 0; r >= 0 && (p = manager_policy(bus->manager, i)); i++)
                r = sd_bus_message_append(reply, "s", p->policy->name);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_GETTER(get_park_backend)
{
        const Bus *bus = userdata;
        const ActuatorState *a = actuator_set_find(manager_actuators(bus->manager), &actuator_park);
        g_autofree char *none = NULL;

        if (a && a->state)
                return sd_bus_message_append(reply, "s", a->actuator->describe(a->state));
        if (a && a->error == ACTUATOR_OFF)
                return sd_bus_message_append(reply, "s", "none (Backend=none)");
        none = g_strdup_printf("none (%s)", a ? a->why : g_strerror(EOPNOTSUPP));
        return sd_bus_message_append(reply, "s", none);
}

BUS_GETTER(get_keeps_affinities)
{
        const ManagerSetup *setup = manager_setup(((const Bus *)userdata)->manager);

        return sd_bus_message_append(reply, "(bs)", !setup->resets_affinities, setup->affinities);
}

static int append_missing(sd_bus_message *reply, const char *what, int error)
{
        return error < 0 ? sd_bus_message_append(reply, "(ss)", what, missing_reason(error)) : 0;
}

static int append_unwatched(sd_bus_message *reply, const Manager *manager)
{
        const char *terminals = watching_terminals_unwatched(manager_watching(manager)),
                   *cpusets = watching_cpusets_unwatched(manager_watching(manager));
        int r = terminals ? sd_bus_message_append(reply, "(ss)", "terminal watch", terminals) : 0;

        if (r >= 0 && cpusets)
                r = sd_bus_message_append(reply, "(ss)", "cgroup watch", cpusets);
        return r;
}

static int append_refused(sd_bus_message *reply, const Manager *manager)
{
        int error = refusals_error(watching_refusals(manager_watching(manager)));
        g_autofree char *why = error == -EOPNOTSUPP
                                       ? g_strdup("this idled was built without BPF programs")
                                       : g_strdup_printf("loading its BPF program by bpf(2): %s",
                                                         g_strerror(-error));

        return error < 0 ? sd_bus_message_append(reply, "(ss)", "refused affinities", why) : 0;
}

BUS_GETTER(get_missing)
{
        const Bus *bus = userdata;
        const Manager *manager = bus->manager;
        const ActuatorState *a;
        int r = sd_bus_message_open_container(reply, 'a', "(ss)");

        for (const SenseSource *source = sense_sources; r >= 0 && source->sense; source++)
                if (source->name)
                        r = append_missing(reply, source->name,
                                           sensors_error(manager_sensors(manager), source->sense));
        if (r >= 0)
                r = append_missing(reply, "pressure trigger",
                                   load_watch_trigger_error(manager_load_watch(manager)));
        if (r >= 0)
                r = append_missing(reply, "fork events",
                                   load_watch_forks_error(manager_load_watch(manager)));
        if (r >= 0)
                r = append_missing(reply, "process events", apps_error(manager_apps(manager)));
        if (r >= 0)
                r = append_unwatched(reply, manager);
        if (r >= 0)
                r = append_refused(reply, manager);
        for (unsigned i = 0; r >= 0 && (a = actuator_set_nth(manager_actuators(manager), i)); i++)
                if (!a->state && a->error != ACTUATOR_OFF)
                        r = sd_bus_message_append(reply, "(ss)", a->actuator->name, a->why);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static const char *const knob_states[] = {
        [KNOB_OURS] = "ours", [KNOB_FOREIGN] = "foreign", [KNOB_FAILED] = "failed"
};

static int append_degraded(sd_bus_message *reply, const Manager *manager, const char *actuator,
                           const char *how, const char *why)
{
        return sd_bus_message_append(reply, "(sss)", actuator, how, why);
}

BUS_GETTER(get_degraded)
{
        const Bus *bus = userdata;
        const Knob *const *knobs;
        int n = knobs_list(manager_knobs(bus->manager), &knobs);
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        for (int i = 0; r >= 0 && i < n; i++) {
                g_autofree char *failure = knob_failure(manager_knobs(bus->manager), knobs[i]);
                const char *why = knobs[i]->state == KNOB_FOREIGN ? "taken over by another program"
                                  : knobs[i]->error < 0           ? failure
                                                                  : NULL;

                if (why)
                        r = sd_bus_message_append(reply, "(sss)", knobs[i]->kind->name,
                                                  knobs[i]->name, why);
        }
        if (r >= 0)
                r = bus_append_failures(reply, bus->manager, append_degraded);
        if (r >= 0 && bus->power)
                r = power_append_rivals(reply, bus->power);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_GETTER(get_knobs)
{
        const Bus *bus = userdata;
        const Knob *const *knobs;
        int n = knobs_list(manager_knobs(bus->manager), &knobs);
        int r = sd_bus_message_open_container(reply, 'a', "(sssss)");

        for (int i = 0; r >= 0 && i < n; i++)
                r = sd_bus_message_append(reply, "(sssss)", knobs[i]->kind->name, knobs[i]->name,
                                          knobs[i]->original, knobs[i]->ours,
                                          knob_states[knobs[i]->state]);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

BUS_VALUE(get_transitions, "t", history_count(manager_history(bus->manager)));

static void collect_files(gpointer key, gpointer value, gpointer userdata)
{
        const Source *source = value;
        GPtrArray *files = userdata;

        if (source->file && source->line > 0 &&
            !g_ptr_array_find_with_equal_func(files, source->file, g_str_equal, NULL))
                g_ptr_array_add(files, (gpointer)source->file);
}

BUS_GETTER(get_config_files)
{
        const Bus *bus = userdata;
        const GPtrArray *sections = manager_config(bus->manager)->sections;
        g_autoptr(GPtrArray) files = g_ptr_array_new();

        for (guint i = 0; i < sections->len; i++)
                g_hash_table_foreach(((Section *)sections->pdata[i])->sources, collect_files,
                                     files);
        g_ptr_array_add(files, NULL);
        return sd_bus_message_append_strv(reply, (char **)files->pdata);
}

BUS_GETTER(get_profile)
{
        const Bus *bus = userdata;
        const Profile *profile = manager_config(bus->manager)->profile;

        return sd_bus_message_append(reply, "s", profile ? profile->name : "");
}

BUS_APPENDED(get_profile_reason,
             bus_append_shown(reply, bus, manager_profile(bus->manager)->reason));

BUS_GETTER(get_inhibited)
{
        const Bus *bus = userdata;
        g_autofree char *inhibited = manager_profile_inhibited(bus->manager);

        return sd_bus_message_append(reply, "s", inhibited);
}

BUS_VALUE(get_chosen, "s", manager_profile(bus->manager)->chosen);

BUS_GETTER(get_profiles)
{
        const Bus *bus = userdata;
        const GPtrArray *profiles = manager_config(bus->manager)->profiles;
        int r = sd_bus_message_open_container(reply, 'a', "(sss)");

        for (guint i = 0; r >= 0 && i < profiles->len; i++) {
                const Profile *profile = g_ptr_array_index(profiles, i);

                r = sd_bus_message_append(reply, "(sss)", profile->name, profile->summary,
                                          profile->file);
        }
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int do_set_profile(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        const char *name;
        int r = sd_bus_message_read(message, "s", &name);

        if (r >= 0)
                r = bus_set_profile(bus, name, error);
        if (r < 0)
                return r;
        return sd_bus_reply_method_return(message, NULL);
}

int bus_set_profile(Bus *bus, const char *name, sd_bus_error *error)
{
        g_autofree char *problem = NULL, *clean = NULL;
        int r = manager_set_profile(bus->manager, name, &problem);

        if (r >= 0)
                return 0;
        clean = log_clean(problem ? problem : g_strerror(-r));
        if (r == -ENOENT)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_PROFILE, clean);
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                 "The profile contradicts options set at run time: %s", clean);
}

static BUS_AUTHORIZED(method_set_profile, "org.idled1.set-profile", do_set_profile);

/* Which program a user runs is the user's business: its name and number are for that user and root.
 * So the value depends on the user that asks, and signals do not have them. */
static int append_affinity(sd_bus_message *reply, const Bus *bus, const Refused *refused)
{
        uid_t reader = bus_reader(bus, reply);
        bool known = reader == 0 || reader == refused->uid;
        g_autofree char *cpus = cpuset_format(&refused->cpus);

        return sd_bus_message_append(
                reply, "a{sv}", 6, "unit", "s", refused->unit, "cpus", "s", cpus, "program", "s",
                known ? refused->program : NULL, "user", "u", refused->uid, "pid", "u",
                known ? (uint32_t)refused->pid : 0, "count", "t", refused->count);
}

BUS_GETTER(get_refused)
{
        const Bus *bus = userdata;
        const RefusedTable *table = refusals_table(
                watching_refusals(manager_watching(bus->manager)));
        const Refused *refused;
        int r = sd_bus_message_open_container(reply, 'a', "a{sv}");

        for (unsigned i = 0; r >= 0 && (refused = refused_nth(table, i)); i++)
                r = append_affinity(reply, bus, refused);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int do_forget(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        Refusals *refusals = watching_refusals(manager_watching(bus->manager));
        const char *unit;
        int r = sd_bus_message_read(message, "s", &unit);

        return r < 0 ? r
                     : sd_bus_reply_method_return(message, "u", refusals_forget(refusals, unit));
}

static BUS_AUTHORIZED(method_forget_refused, "org.idled1.set-option", do_forget);

#define CONST   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE
#define METHOD  SD_BUS_VTABLE_UNPRIVILEGED

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD_WITH_ARGS("Explain", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", cpus),
                                bus_method_explain, METHOD),
        SD_BUS_METHOD_WITH_ARGS("History", SD_BUS_ARGS("t", before, "u", most),
                                SD_BUS_RESULT("aa{sv}", transitions), bus_method_history, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("s", reason, "t", usec),
                                SD_BUS_RESULT("ah", fds), bus_method_pause, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_NO_ARGS, SD_BUS_RESULT("u", ended),
                                bus_method_resume, METHOD),
        SD_BUS_METHOD_WITH_ARGS("StartTrial",
                                SD_BUS_ARGS("a{sb}", policies, "a(sss)", options, "s", reason),
                                SD_BUS_RESULT("h", fd), bus_method_start_trial, METHOD),
        SD_BUS_METHOD_WITH_ARGS("SetOptions", SD_BUS_ARGS("a(sss)", options),
                                SD_BUS_RESULT("as", warnings), bus_method_set_options, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_NO_ARGS, SD_BUS_NO_RESULT, bus_method_reload,
                                METHOD),
        SD_BUS_METHOD_WITH_ARGS("GetSettings", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", settings),
                                bus_method_get_settings, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Verify", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(sssss)", problems),
                                bus_method_verify, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Hold", SD_BUS_ARGS("a{sv}", request),
                                SD_BUS_RESULT("o", hold, "h", fd), bus_method_hold, METHOD),
        SD_BUS_METHOD_WITH_ARGS("ReleaseHold", SD_BUS_ARGS("o", hold), SD_BUS_NO_RESULT,
                                bus_method_release_hold, METHOD),
        SD_BUS_METHOD_WITH_ARGS("ForgetRefused", SD_BUS_ARGS("s", unit), SD_BUS_RESULT("u", n),
                                method_forget_refused, METHOD),
        SD_BUS_METHOD_WITH_ARGS("Sample", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", sample),
                                bus_method_sample, METHOD),
        SD_BUS_METHOD_WITH_ARGS("WakeupBill", SD_BUS_ARGS("a{sv}", options),
                                SD_BUS_RESULT("a{sv}", bill), bus_method_wakeup_bill, METHOD),
        SD_BUS_METHOD_WITH_ARGS("GetEnergy", SD_BUS_NO_ARGS, SD_BUS_RESULT("a(st)", domains),
                                bus_method_get_energy, METHOD),
        SD_BUS_METHOD_WITH_ARGS("SetProfile", SD_BUS_ARGS("s", name), SD_BUS_NO_RESULT,
                                method_set_profile, METHOD),
        SD_BUS_PROPERTY("Version", "s", get_version, 0, CONST),
        SD_BUS_PROPERTY("DryRun", "b", get_dry_run, 0, CONST),
        SD_BUS_PROPERTY("Pauses", "aa{sv}", get_pauses, 0, CHANGES),
        SD_BUS_PROPERTY("Trial", "a{sv}", get_trial, 0, CHANGES),
        SD_BUS_PROPERTY("Holds", "ao", get_holds, 0, CHANGES),
        SD_BUS_PROPERTY("Online", "s", get_online, 0, CHANGES),
        SD_BUS_PROPERTY("Isolated", "s", get_isolated, 0, CHANGES),
        SD_BUS_PROPERTY("Parked", "s", get_parked, 0, CHANGES),
        SD_BUS_PROPERTY("Allowed", "s", get_allowed, 0, CHANGES),
        SD_BUS_PROPERTY("IdleMask", "s", get_idle_mask, 0, CHANGES),
        SD_BUS_PROPERTY("WantedCores", "u", get_wanted_cores, 0, CHANGES),
        SD_BUS_PROPERTY("ActiveCores", "u", get_active_cores, 0, CHANGES),
        SD_BUS_PROPERTY("Cores", "u", get_cores, 0, CHANGES),
        SD_BUS_PROPERTY("Policies", "as", get_policies, 0, CHANGES),
        SD_BUS_PROPERTY("ParkBackend", "s", get_park_backend, 0, CHANGES),
        SD_BUS_PROPERTY("KeepsAffinities", "(bs)", get_keeps_affinities, 0, CONST),
        SD_BUS_PROPERTY("Missing", "a(ss)", get_missing, 0, CHANGES),
        SD_BUS_PROPERTY("Degraded", "a(sss)", get_degraded, 0, CHANGES),
        SD_BUS_PROPERTY("Knobs", "a(sssss)", get_knobs, 0, CHANGES),
        SD_BUS_PROPERTY("Transitions", "t", get_transitions, 0, CHANGES),
        SD_BUS_PROPERTY("ConfigFiles", "as", get_config_files, 0, CHANGES),
        SD_BUS_PROPERTY("RefusedAffinities", "aa{sv}", get_refused, 0, CHANGES),
        SD_BUS_PROPERTY("Contracts", "aa{sv}", bus_get_contracts, 0, CHANGES),
        SD_BUS_PROPERTY("Profile", "s", get_profile, 0, CHANGES),
        SD_BUS_PROPERTY("ProfileReason", "s", get_profile_reason, 0, CHANGES),
        SD_BUS_PROPERTY("ProfileInhibited", "s", get_inhibited, 0, CHANGES),
        SD_BUS_PROPERTY("ChosenProfile", "s", get_chosen, 0, CHANGES),
        SD_BUS_PROPERTY("Profiles", "a(sss)", get_profiles, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_export_manager(Bus *bus)
{
        int r = sd_bus_add_object_vtable(bus->connection, NULL, BUS_PATH, BUS_INTERFACE, vtable,
                                         bus);

        return r < 0 ? r : bus_export_measured(bus);
}

void bus_publish_manager(Bus *bus, unsigned changes)
{
        static const struct {
                const char *property;
                unsigned changes;
        } rows[] = {
                { "Pauses", CHANGE_PAUSED },
                { "Trial", CHANGE_TRIAL },
                { "Holds", CHANGE_HOLDS },
                { "Online", CHANGE_TOPOLOGY },
                { "Isolated", CHANGE_TOPOLOGY },
                { "Cores", CHANGE_TOPOLOGY },
                { "Parked", CHANGE_PARKED },
                { "Allowed", CHANGE_PARKED | CHANGE_TOPOLOGY },
                { "IdleMask", CHANGE_PARKED | CHANGE_TOPOLOGY },
                { "WantedCores", CHANGE_PARKED | CHANGE_TOPOLOGY },
                { "ActiveCores", CHANGE_PARKED | CHANGE_TOPOLOGY },
                { "Transitions", CHANGE_PARKED },
                { "Knobs", CHANGE_PARKED | CHANGE_DEGRADED | CHANGE_CONFIG },
                { "Degraded", CHANGE_DEGRADED | CHANGE_CONFIG },
                { "Policies", CHANGE_CONFIG },
                { "Profile", CHANGE_PROFILE | CHANGE_CONFIG },
                { "ProfileReason", CHANGE_PROFILE | CHANGE_CONFIG },
                { "ProfileInhibited", CHANGE_PROFILE | CHANGE_CONFIG | CHANGE_PAUSED },
                { "ChosenProfile", CHANGE_PROFILE },
                { "Profiles", CHANGE_CONFIG },
                { "ParkBackend", CHANGE_CONFIG },
                { "ConfigFiles", CHANGE_CONFIG },
                { "RefusedAffinities", CHANGE_REFUSED },
                { "Contracts",
                  CHANGE_CONTRACTS | CHANGE_PAUSED | CHANGE_EVALUATION | CHANGE_PARKED },
                { "Missing", CHANGE_CONFIG | CHANGE_TOPOLOGY | CHANGE_MISSING },
        };
        char *names[G_N_ELEMENTS(rows) + 1];
        size_t n = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                if (rows[i].changes & changes)
                        names[n++] = (char *)rows[i].property;
        names[n] = NULL;
        if (n > 0)
                sd_bus_emit_properties_changed_strv(bus->connection, BUS_PATH, BUS_INTERFACE,
                                                    names);
}
