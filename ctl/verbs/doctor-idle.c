/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl doctor: what keeps CPUs from idle states that they have. Options of the kernel, its
 * driver and governor, states that are switched off, and latency limits of single CPUs.
 */
#include <math.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/number.h"
#include "doctor.h"
#include "cli/client.h"

/* Options of the kernel that keep CPUs awake or hide what idled uses. */
static const struct {
        const char *option, *cost;
        bool prefix;      /* any value of it */
        const char *idle; /* what CPUs do instead of sleeping deeply; NULL: they may do that */
} bad_options[] = {
        { "idle=poll", "CPUs never sleep: they draw the most that they can", false, "C0" },
        { "idle=halt", "only the shallowest state is used", false, "C1" },
        { "idle=nomwait", "states that are entered by MWAIT are not used", false, "C1" },
        { "nohlt", "CPUs never sleep: they draw the most that they can", false, "C0" },
        { "cpuidle.off=1", "only the shallowest state is used", false, "C1" },
        { "intel_idle.states_off=", "the states of this mask are off by default", true, "C1" },
        { "cpufreq.off=1", "frequencies are not changed", false, NULL },
        { "intel_pstate=disable", "frequencies and EPP are not under the driver of this CPU", false,
          NULL },
};

/* Options that the kernel reads with kstrtobool(), when they are off. */
static const struct {
        const char *name, *cost;
} off_options[] = {
        { "nohz", "every CPU wakes up at each tick, 100 to 1000 times a second" },
        { "highres", "timers are late by up to a tick" },
};

static void add_option(Doctor *doctor, bool wrong, const char *option, const char *cost,
                       double watts)
{
        g_autofree char *fix = g_strdup_printf("remove %s from GRUB_CMDLINE_LINUX in "
                                               "/etc/default/grub, run update-grub, reboot",
                                               option);

        doctor_add_priced(doctor, wrong, "kernel command line",
                          g_strdup_printf("the kernel was started with %s", option), cost, watts,
                          fix);
}

/* The states of the first CPU; returns how many. */
static int first_states(const Doctor *doctor, IdleState *ret_states)
{
        return idle_states_read(doctor->root, cpuset_next(&doctor->topology->online, -1),
                                ret_states);
}

/* How many it has besides polling. */
static int states_offered(const Doctor *doctor)
{
        IdleState states[IDLE_STATES_MAX];
        int n = first_states(doctor, states);

        return n > 0 && idle_state_polls(states[0].name) ? n - 1 : n;
}

/* The option ends the driver's list of states after so many; it only concerns its own driver. A
 * shorter list may be complete, or its driver may have left out states of the CPU on the way. */
static void check_most_states(Doctor *doctor, const char *name, const char *driver)
{
        const char *text = doctor_option(doctor, name);
        g_autofree char *option = g_strdup_printf("%s=%s", name, text ? text : "");
        char active[64];
        int most;

        doctor_value(doctor, CPUS "/cpuidle/current_driver", active, sizeof(active));
        if (!text || int_parse(text, &most) < 0 || most >= IDLE_STATES_MAX - 1)
                return;
        if (most == 0 ? g_str_equal(active, driver) : !g_str_equal(active, driver))
                return;
        if (g_str_equal(driver, "intel_idle") &&
            !doctor_file_contains(doctor, "proc/cpuinfo", "GenuineIntel"))
                return;
        if (most == 0 || states_offered(doctor) >= most)
                add_option(doctor, true, option, "deeper states are not used",
                           doctor_price_hidden(doctor, "C1"));
        else
                add_option(doctor, false, option,
                           "none is known: the driver offers fewer states than that", NAN);
}

/* The last value that the kernel understands counts. */
static void check_off(Doctor *doctor, const char *name, const char *cost)
{
        size_t length = strlen(name);
        const char *off = NULL;

        for (char **word = doctor->options; word && *word; word++) {
                int on = strncmp(*word, name, length) == 0 && (*word)[length] == '='
                                 ? kernel_bool(*word + length + 1)
                                 : -1;

                off = on < 0 ? off : on ? NULL : *word;
        }
        if (off)
                add_option(doctor, true, off, cost, NAN);
}

/* True if another option takes back this one. The kernel's idle_setup() goes by the last idle=, but
 * polling that was requested once remains. */
static bool is_taken_back(const Doctor *doctor, char **word)
{
        bool idle = g_str_has_prefix(*word, "idle=") && !g_str_equal(*word, "idle=poll");

        if (idle && g_strv_contains((const char *const *)doctor->options, "idle=poll"))
                return true;
        for (char **later = word + 1; *later; later++)
                if (g_str_equal(*later, *word) || (idle && (g_str_equal(*later, "idle=halt") ||
                                                            g_str_equal(*later, "idle=nomwait"))))
                        return true;
        return false;
}

static void check_command_line(Doctor *doctor)
{
        for (size_t i = 0; i < G_N_ELEMENTS(off_options); i++)
                check_off(doctor, off_options[i].name, off_options[i].cost);
        for (char **word = doctor->options; word && *word; word++)
                for (size_t i = 0; i < G_N_ELEMENTS(bad_options); i++)
                        if (bad_options[i].prefix ? g_str_has_prefix(*word, bad_options[i].option)
                                                  : g_str_equal(*word, bad_options[i].option) &&
                                                            !is_taken_back(doctor, word))
                                add_option(doctor, true, *word, bad_options[i].cost,
                                           doctor_price_hidden(doctor, bad_options[i].idle));
        check_most_states(doctor, "intel_idle.max_cstate", "intel_idle");
        check_most_states(doctor, "processor.max_cstate", "acpi_idle");
}

/* An empty field of the option changes nothing. */
static bool fits(const char *field, uint64_t us)
{
        uint64_t asked_us;

        return !field || !*field || (u64_parse(field, &asked_us) == 0 && asked_us == us);
}

/* True if the first CPU has the state of `entry`, NAME:LATENCY:RESIDENCY. */
static bool is_in_effect(const Doctor *doctor, const char *entry)
{
        g_auto(GStrv) fields = g_strsplit(entry, ":", -1);
        IdleState states[IDLE_STATES_MAX];
        int n = first_states(doctor, states);

        for (int s = 0; fields[0] && s < n; s++)
                if (g_str_equal(states[s].name, fields[0]))
                        return fits(fields[1], states[s].exit_latency_us) &&
                               fits(fields[1] ? fields[2] : NULL, states[s].target_residency_us);
        return false;
}

/* Since Linux 7.0 an option replaces latencies of the driver. The kernel cuts its own copy at the
 * first colon while it reads it, so the command line comes first. */
static void check_table(Doctor *doctor)
{
        const char *option = doctor_option(doctor, "intel_idle.table");
        char driver[64], parameter[256];
        g_autofree char *table = NULL;
        g_auto(GStrv) entries = NULL;
        bool refused = false;

        doctor_value(doctor, CPUS "/cpuidle/current_driver", driver, sizeof(driver));
        doctor_value(doctor, "sys/module/intel_idle/parameters/table", parameter,
                     sizeof(parameter));
        table = g_strdup(option ? option : parameter);
        g_strdelimit(table, "\"", ' ');
        g_strstrip(table);
        if (!*table || !g_str_equal(driver, "intel_idle"))
                return;
        entries = g_strsplit(table, ",", -1);
        for (char **entry = entries; option && *entry; entry++)
                refused |= !is_in_effect(doctor, *entry);
        doctor_add(doctor, refused, "idle states",
                   g_strdup_printf(
                           refused ? "the kernel refused intel_idle.table=%s: idle states have "
                                     "other latencies"
                                   : "intel_idle.table=%s overrides latencies of idle states",
                           table),
                   refused ? "the kernel and idled choose states by the driver's latencies"
                           : "none if they are right: the kernel, idled and idlelab choose states "
                             "by them",
                   refused ? "correct intel_idle.table= in GRUB_CMDLINE_LINUX in "
                             "/etc/default/grub, run "
                             "update-grub, reboot; journalctl -kg intel_idle has the reason"
                           : NULL);
}

static void check_driver(Doctor *doctor)
{
        char driver[64], governor[64];
        bool intel = doctor_file_contains(doctor, "proc/cpuinfo", "GenuineIntel");

        doctor_value(doctor, CPUS "/cpuidle/current_driver", driver, sizeof(driver));
        doctor_value(doctor, CPUS "/cpuidle/current_governor", governor, sizeof(governor));
        if (!*governor)
                doctor_value(doctor, CPUS "/cpuidle/current_governor_ro", governor,
                             sizeof(governor));
        if (!*driver || g_str_equal(driver, "none"))
                doctor_add_priced(doctor, !doctor->hypervisor, "idle driver",
                                  g_strdup("the kernel has no driver of idle states"),
                                  "CPUs only halt, and residencies are not known",
                                  doctor->hypervisor ? NAN : doctor_price_hidden(doctor, "C1"),
                                  doctor->hypervisor
                                          ? NULL
                                          : "enable C-states in the firmware, and use a kernel "
                                            "with CONFIG_CPU_IDLE=y");
        else if (g_str_equal(driver, "acpi_idle") && intel && !doctor->hypervisor)
                doctor_add_priced(
                        doctor, true, "idle driver",
                        g_strdup("idle states are those of the firmware (acpi_idle), not "
                                 "intel_idle's"),
                        "the firmware's table often has no deep states",
                        doctor_price_hidden(doctor, "C1"),
                        "use a kernel that knows this CPU, without intel_idle.max_cstate=0");
        if (g_str_equal(governor, "ladder") || g_str_has_prefix(governor, "shallow"))
                doctor_add_priced(doctor, true, "idle governor",
                                  g_strdup_printf("the idle governor is %s", governor),
                                  *governor == 's' ? "CPUs do not enter deep states"
                                                   : "deep states are reached step by step, after "
                                                     "several sleeps",
                                  doctor_price_known(doctor, &doctor->topology->online),
                                  "echo menu | sudo tee /" CPUS "/cpuidle/current_governor");
}

/* True if the running idled changed a knob of that name, and no other program took it over. */
static bool is_idleds(const Doctor *doctor, const char *name)
{
        json_object *knobs = json_get(client_manager(doctor->ctl->client), "Knobs");
        json_object *row = json_find_row(knobs, NULL, name);

        return row && !g_str_equal(json_element_text(row, 4), "foreign");
}

/* True if an idled that died left the knob at this value. */
static bool is_left(const Doctor *doctor, const char *kind, const char *name, const char *value)
{
        const UndoEntry *entry = undo_entries_find(&doctor->left, kind, name);

        return entry && (!entry->last || g_str_equal(entry->last, value));
}

typedef enum OffBy {
        OFF_BY_IDLED,
        OFF_BY_DEAD_IDLED,
        OFF_BY_KERNEL,
        OFF_BY_OTHER,
        OFF_BY_OTHER_OR_DEAD_IDLED,
        OFF_BY_UNKNOWN
} OffBy;

/* A state that is switched off on some CPUs. Its number may differ between kinds of cores. */
typedef struct OffState {
        char name[32];
        int number;
        OffBy by;
        bool deepest; /* all states that these CPUs may enter are shallower */
        CpuSet cpus;
} OffState;

/* The file default_status is there since Linux 5.6. */
static OffBy off_by(const Doctor *doctor, int cpu, int state)
{
        g_autofree char *knob = g_strdup_printf("cpu%d/cpuidle/state%d/disable", cpu, state);
        g_autofree char *path = g_strdup_printf(CPUS "/cpu%d/cpuidle/state%d/default_status", cpu,
                                                state);
        char text[16];

        if (is_idleds(doctor, knob))
                return OFF_BY_IDLED;
        if (is_left(doctor, "cpuidle", knob, "1"))
                return OFF_BY_DEAD_IDLED;
        doctor_value(doctor, path, text, sizeof(text));
        return !*text                          ? OFF_BY_UNKNOWN
               : g_str_equal(text, "disabled") ? OFF_BY_KERNEL
               : doctor->left_error            ? OFF_BY_OTHER_OR_DEAD_IDLED
                                               : OFF_BY_OTHER;
}

static void add_off(GArray *off, const OffState *found, int cpu)
{
        OffState *state = NULL;

        for (guint i = 0; i < off->len && !state; i++) {
                OffState *known = &g_array_index(off, OffState, i);

                if (g_str_equal(known->name, found->name) && known->number == found->number &&
                    known->by == found->by && known->deepest == found->deepest)
                        state = known;
        }
        if (!state) {
                g_array_append_vals(off, found, 1);
                state = &g_array_index(off, OffState, off->len - 1);
        }
        cpuset_add(&state->cpus, cpu);
}

/* State 0 is left out: to switch polling off costs nothing. */
static GArray *states_off(const Doctor *doctor)
{
        GArray *off = g_array_new(false, false, sizeof(OffState));

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                IdleState states[IDLE_STATES_MAX];
                int n = idle_states_read(doctor->root, cpu, states), deepest = n - 1;

                while (deepest > 0 && !idle_state_enabled(doctor->root, cpu, deepest))
                        deepest--;
                for (int s = 1; s < n; s++) {
                        OffState found = { .number = s, .deepest = s > deepest };

                        if (idle_state_enabled(doctor->root, cpu, s))
                                continue;
                        g_strlcpy(found.name, states[s].name, sizeof(found.name));
                        found.by = off_by(doctor, cpu, s);
                        add_off(off, &found, cpu);
                }
        }
        return off;
}

/* The CPUs as a shell expands them: 2, {0..55}, {{0..3},8}. */
static char *braces(const CpuSet *cpus)
{
        g_autoptr(GRegex) range = g_regex_new("([0-9]+)-([0-9]+)", 0, 0, NULL);
        g_autofree char *list = cpuset_format(cpus);
        g_autofree char *joined = g_regex_replace(range, list, -1, 0, "{\\1..\\2}", 0, NULL);

        return strchr(joined, ',') ? g_strdup_printf("{%s}", joined) : g_steal_pointer(&joined);
}

static void add_state(Doctor *doctor, const OffState *state)
{
        static const char *const by[] = {
                [OFF_BY_IDLED] = "by idled, as its configuration says",
                [OFF_BY_DEAD_IDLED] = "by idled, which died before it restored them",
                [OFF_BY_KERNEL] = "by the kernel, whose driver does so by default on this CPU",
                [OFF_BY_OTHER] = "by another program",
                [OFF_BY_OTHER_OR_DEAD_IDLED] = ("by another program, or by idled before it died: "
                                                "only root can read its record"),
                [OFF_BY_UNKNOWN] = "by another program or the kernel",
        };
        bool wrong = state->by != OFF_BY_IDLED && state->by != OFF_BY_KERNEL;
        g_autofree char *list = cpuset_format(&state->cpus), *shell = braces(&state->cpus);
        g_autofree char *enable = g_strdup_printf(
                "echo 0 | sudo tee /" CPUS "/cpu%s/cpuidle/state%d/disable", shell, state->number);

        doctor_add_priced(doctor, wrong, "idle states",
                          g_strdup_printf("state %s is switched off on CPUs %s %s", state->name,
                                          list, by[state->by]),
                          state->deepest
                                  ? "these CPUs use shallower states, which draw more"
                                  : "sleeps that are too short for deeper states use a shallower "
                                    "one; the deepest state is on",
                          state->deepest ? doctor_price_known(doctor, &state->cpus) : NAN,
                          state->by == OFF_BY_DEAD_IDLED            ? RESTORE
                          : state->by == OFF_BY_OTHER_OR_DEAD_IDLED ? "sudo idlectl doctor"
                          : wrong                                   ? enable
                          : state->by == OFF_BY_IDLED               ? "idlectl settings cstates"
                                                                    : NULL);
}

static void check_states(Doctor *doctor)
{
        g_autoptr(GArray) off = states_off(doctor);

        for (guint i = 0; i < off->len; i++)
                add_state(doctor, &g_array_index(off, OffState, i));
}

/* The name of the knob with the CPU's latency limit, a new string. */
static char *limit_knob(int cpu)
{
        return g_strdup_printf("cpu%d/power/pm_qos_resume_latency_us", cpu);
}

static void check_limits(Doctor *doctor)
{
        CpuSet limited = { 0 };
        g_autofree char *list = NULL, *shell = NULL, *fix = NULL;

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                g_autofree char *knob = limit_knob(cpu);
                g_autofree char *path = g_strdup_printf(CPUS "/%s", knob);
                char text[32];

                doctor_value(doctor, path, text, sizeof(text));
                if (*text && !g_str_equal(text, "0") && !is_idleds(doctor, knob) &&
                    !is_left(doctor, "pmqos", knob, text))
                        cpuset_add(&limited, cpu);
        }
        if (cpuset_is_empty(&limited))
                return;
        list = cpuset_format(&limited);
        shell = braces(&limited);
        fix = g_strdup_printf("echo 0 | sudo tee /" CPUS "/cpu%s/power/pm_qos_resume_latency_us",
                              shell);
        doctor_add_priced(
                doctor, true, "latency limits",
                g_strdup_printf("another program limits the wake-up latency of CPUs %s", list),
                "these CPUs use shallower states, which draw more",
                doctor_price_known(doctor, &limited), fix);
}

/* The CPUs of the hold whose latency idled limits now. */
static CpuSet held_cpus(const Doctor *doctor, json_object *hold)
{
        CpuSet cpus = { 0 }, limited = { 0 };

        if (cpuset_parse(json_text(hold, "CPUs"), &cpus) < 0)
                return limited;
        cpuset_and(&cpus, &doctor->topology->online);
        CPUSET_FOREACH(cpu, &cpus) {
                g_autofree char *knob = limit_knob(cpu);

                if (is_idleds(doctor, knob))
                        cpuset_add(&limited, cpu);
        }
        return limited;
}

/* How many states of the CPUs the limit allows, and forbids. */
static void count_states(const Doctor *doctor, const CpuSet *cpus, int64_t limit_us,
                         int *ret_allowed, int *ret_forbidden)
{
        *ret_allowed = *ret_forbidden = 0;
        CPUSET_FOREACH(cpu, cpus) {
                IdleState states[IDLE_STATES_MAX];

                for (int s = idle_states_read(doctor->root, cpu, states); s-- > 0;)
                        if (states[s].exit_latency_us > limit_us)
                                (*ret_forbidden)++;
                        else if (!idle_state_polls(states[s].name))
                                (*ret_allowed)++;
        }
}

static void check_hold(Doctor *doctor, json_object *hold, int64_t limit_us)
{
        CpuSet cpus = held_cpus(doctor, hold);
        int number = (int)json_int(hold, "Id", 0), pid = (int)json_int(hold, "Pid", 0);
        g_autofree char *list = cpuset_format(&cpus), *path = g_strdup_printf("proc/%d/comm", pid);
        g_autofree char *fix = g_strdup_printf("idlectl release %d", number);
        int allowed, forbidden;
        char process[32];

        count_states(doctor, &cpus, limit_us, &allowed, &forbidden);
        if (forbidden == 0)
                return;
        doctor_value(doctor, path, process, sizeof(process));
        doctor_add_priced(
                doctor, false, "holds",
                g_strdup_printf("hold %d of %s%s%s limits the wake-up latency of CPUs %s to "
                                "%" PRId64 " us: %s",
                                number, json_text(hold, "Owner"), *process ? ", " : "", process,
                                list, limit_us, json_text(hold, "Reason")),
                allowed > 0 ? "these CPUs use shallower states, which draw more"
                            : "these CPUs never sleep: they draw the most that they can",
                doctor_price_known(doctor, &cpus), fix);
}

/* Limits of all CPUs are those of /dev/cpu_dma_latency. */
static void check_holds(Doctor *doctor)
{
        g_autoptr(json_object) objects = client_objects(doctor->ctl->client);

        if (!objects)
                return;
        json_object_object_foreach(objects, path, interfaces)
        {
                json_object *hold = json_get(interfaces, "org.idled1.Hold");
                int64_t limit_us = json_int(json_get(hold, "Request"), "latency_us", -1);

                if (*path && limit_us >= 0)
                        check_hold(doctor, hold, limit_us);
        }
}

void doctor_check_idle(Doctor *doctor)
{
        check_command_line(doctor);
        check_driver(doctor);
        check_table(doctor);
        check_states(doctor);
        check_limits(doctor);
        check_holds(doctor);
}
