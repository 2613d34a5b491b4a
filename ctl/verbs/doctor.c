/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl doctor: what keeps this machine from sleeping deeply, or idled from seeing and doing what
 * it could; what each costs, and the command that fixes it.
 *
 * A finding is wrong if this machine can do better. It is a note if nothing can be done about it (a
 * hypervisor decides how CPUs sleep), or if idled does what its configuration requests. Only files
 * below the root are read, and the running idled is asked.
 *
 * Where findings keep CPUs from deep states and there is a power table, the cost is also in watts:
 * a bound (doctor-cost.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"
#include "base/sched-ext.h"
#include "cli/client.h"
#include "control.h"
#include "doctor-cost.h"
#include "cli/facts.h"
#include "left.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"
#include "systemd/power-daemons.h"
#include "verbs.h"

#define CPUS    "sys/devices/system/cpu"
#define CGROUPS "sys/fs/cgroup"

/* In this time CPUs move between the root and a partition. */
#define MOVE_USEC 100000
#define RESTORE   "sudo idled --restore"

#define NO_BPF "what ends sleeps cannot be recorded by BPF, and refused affinities go unseen"

typedef struct Doctor {
        Ctl *ctl;
        int root;
        Topology *topology;
        bool hypervisor;
        char **options; /* of the kernel's command line; NULL: not known */
        Prices *prices; /* NULL: none */
        DoctorCost *cost;
        bool unpriced;    /* some finding has a cost in watts, but there is no power table */
        UndoEntries left; /* what an idled that died has changed; empty while one runs */
        int left_error;   /* why that is not known; 0: it is */
        json_object *findings;
        int wrong;
} Doctor;

/* `cost` and `fix` may be NULL; `watts` is NaN where the cost is not in watts. Takes
 * `found`.
 */
static void add_priced(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
                       double watts, const char *fix)
{
        json_object *finding = json_object_new_object();

        json_put_text(finding, "check", check);
        json_put_text(finding, "level", wrong ? "wrong" : "note");
        json_put_text(finding, "found", found);
        json_put_text(finding, "cost", cost);
        json_put_real(finding, "cost_watts_at_most_estimate", watts, 2);
        json_put_text(finding, "fix", fix);
        json_object_array_add(doctor->findings, finding);
        doctor->wrong += wrong;
        g_free(found);
}

static void add(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
                const char *fix)
{
        add_priced(doctor, wrong, check, found, cost, NAN, fix);
}

/* What it costs that these CPUs do not use states that they have. */
static double price_known(Doctor *doctor, const CpuSet *cpus)
{
        doctor->unpriced |= !doctor->prices;
        return doctor_cost_known(doctor->cost, cpus);
}

/* What it costs that no CPU has deep states; NaN without `idle`. */
static double price_hidden(Doctor *doctor, const char *idle)
{
        if (!idle)
                return NAN;
        doctor->unpriced |= !doctor->prices;
        return doctor_cost_hidden(doctor->cost, &doctor->topology->online, idle);
}

static bool exists(const Doctor *doctor, const char *path)
{
        return faccessat(doctor->root, path, F_OK, 0) == 0;
}

/* The value of a small file, "" if it cannot be read. */
static const char *value(const Doctor *doctor, const char *path, char *buffer, size_t size)
{
        if (file_read_value(doctor->root, path, buffer, size) < 0)
                buffer[0] = '\0';
        return buffer;
}

static bool file_contains(const Doctor *doctor, const char *path, const char *text)
{
        g_autofree char *whole = NULL;

        return file_read(doctor->root, path, &whole) == 0 && strstr(whole, text);
}

static void check_hypervisor(Doctor *doctor)
{
        char type[32];

        doctor->hypervisor = *value(doctor, "sys/hypervisor/type", type, sizeof(type)) ||
                             file_has_word(doctor->root, "proc/cpuinfo", "hypervisor") > 0;
        if (doctor->hypervisor)
                add(doctor, false, "hypervisor", g_strdup("this is a virtual machine"),
                    "the host decides how deeply CPUs sleep, and measures the power", NULL);
}

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

/* The value of the option in the kernel's command line, or NULL. The last one counts. */
static const char *kernel_option(const Doctor *doctor, const char *name)
{
        size_t length = strlen(name);

        for (guint i = doctor->options ? g_strv_length(doctor->options) : 0; i-- > 0;)
                if (strncmp(doctor->options[i], name, length) == 0 &&
                    doctor->options[i][length] == '=')
                        return doctor->options[i] + length + 1;
        return NULL;
}

static void add_option(Doctor *doctor, bool wrong, const char *option, const char *cost,
                       double watts)
{
        g_autofree char *fix = g_strdup_printf("remove %s from GRUB_CMDLINE_LINUX in "
                                               "/etc/default/grub, run update-grub, reboot",
                                               option);

        add_priced(doctor, wrong, "kernel command line",
                   g_strdup_printf("the kernel was started with %s", option), cost, watts, fix);
}

/* How many states the first CPU has besides polling. */
static int states_offered(const Doctor *doctor)
{
        IdleState states[IDLE_STATES_MAX];
        int n = 0;

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                n = idle_states_read(doctor->root, cpu, states);
                break;
        }
        return n > 0 && g_str_equal(states[0].name, "POLL") ? n - 1 : n;
}

/* The option ends the driver's list of states after so many; it only concerns its own driver. A
 * shorter list may be complete, or its driver may have left out states of the CPU on the way. */
static void check_most_states(Doctor *doctor, const char *name, const char *driver)
{
        const char *text = kernel_option(doctor, name);
        g_autofree char *option = g_strdup_printf("%s=%s", name, text ? text : "");
        char active[64];
        int most;

        value(doctor, CPUS "/cpuidle/current_driver", active, sizeof(active));
        if (!text || int_parse(text, &most) < 0 || most >= IDLE_STATES_MAX - 1)
                return;
        if (most == 0 ? g_str_equal(active, driver) : !g_str_equal(active, driver))
                return;
        if (g_str_equal(driver, "intel_idle") &&
            !file_contains(doctor, "proc/cpuinfo", "GenuineIntel"))
                return;
        if (most == 0 || states_offered(doctor) >= most)
                add_option(doctor, true, option, "deeper states are not used",
                           price_hidden(doctor, "C1"));
        else
                add_option(doctor, false, option,
                           "none is known: the driver offers fewer states than that", NAN);
}

/* What kstrtobool() makes of a text: 1, 0, or -1, which changes nothing. */
static int kernel_bool(const char *text)
{
        if (*text && strchr("yYtT1", *text))
                return 1;
        if (*text && strchr("nNfF0", *text))
                return 0;
        if (*text != 'o' && *text != 'O')
                return -1;
        return text[1] && strchr("nN", text[1]) ? 1 : text[1] && strchr("fF", text[1]) ? 0 : -1;
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
                                           price_hidden(doctor, bad_options[i].idle));
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
        int n = 0;

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                n = idle_states_read(doctor->root, cpu, states);
                break;
        }
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
        const char *option = kernel_option(doctor, "intel_idle.table");
        char driver[64], parameter[256];
        g_autofree char *table = NULL;
        g_auto(GStrv) entries = NULL;
        bool refused = false;

        value(doctor, CPUS "/cpuidle/current_driver", driver, sizeof(driver));
        value(doctor, "sys/module/intel_idle/parameters/table", parameter, sizeof(parameter));
        table = g_strdup(option ? option : parameter);
        g_strdelimit(table, "\"", ' ');
        g_strstrip(table);
        if (!*table || !g_str_equal(driver, "intel_idle"))
                return;
        entries = g_strsplit(table, ",", -1);
        for (char **entry = entries; option && *entry; entry++)
                refused |= !is_in_effect(doctor, *entry);
        add(doctor, refused, "idle states",
            g_strdup_printf(refused ? "the kernel refused intel_idle.table=%s: idle states have "
                                      "other latencies"
                                    : "intel_idle.table=%s overrides latencies of idle states",
                            table),
            refused ? "the kernel and idled choose states by the driver's latencies"
                    : "none if they are right: the kernel, idled and idlelab choose states by them",
            refused ? "correct intel_idle.table= in GRUB_CMDLINE_LINUX in /etc/default/grub, run "
                      "update-grub, reboot; journalctl -kg intel_idle has the reason"
                    : NULL);
}

static void check_driver(Doctor *doctor)
{
        char driver[64], governor[64];
        bool intel = file_contains(doctor, "proc/cpuinfo", "GenuineIntel");

        value(doctor, CPUS "/cpuidle/current_driver", driver, sizeof(driver));
        value(doctor, CPUS "/cpuidle/current_governor", governor, sizeof(governor));
        if (!*governor)
                value(doctor, CPUS "/cpuidle/current_governor_ro", governor, sizeof(governor));
        if (!*driver || g_str_equal(driver, "none"))
                add_priced(doctor, !doctor->hypervisor, "idle driver",
                           g_strdup("the kernel has no driver of idle states"),
                           "CPUs only halt, and residencies are not known",
                           doctor->hypervisor ? NAN : price_hidden(doctor, "C1"),
                           doctor->hypervisor ? NULL
                                              : "enable C-states in the firmware, and use a kernel "
                                                "with CONFIG_CPU_IDLE=y");
        else if (g_str_equal(driver, "acpi_idle") && intel && !doctor->hypervisor)
                add_priced(doctor, true, "idle driver",
                           g_strdup("idle states are those of the firmware (acpi_idle), not "
                                    "intel_idle's"),
                           "the firmware's table often has no deep states",
                           price_hidden(doctor, "C1"),
                           "use a kernel that knows this CPU, without intel_idle.max_cstate=0");
        if (g_str_equal(governor, "ladder"))
                add_priced(doctor, true, "idle governor", g_strdup("the idle governor is ladder"),
                           "deep states are reached step by step, after several sleeps",
                           price_known(doctor, &doctor->topology->online),
                           "echo menu | sudo tee /" CPUS "/cpuidle/current_governor");
}

/* True if the running idled changed a knob of that name. */
static bool is_idleds(const Doctor *doctor, const char *name)
{
        json_object *knobs = json_get(client_manager(doctor->ctl->client), "Knobs"), *row;

        JSON_FOREACH(row, knobs)
                if (g_str_equal(json_element_text(row, 1), name))
                        return true;
        return false;
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
        value(doctor, path, text, sizeof(text));
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
        g_autofree char *list = cpuset_format(cpus);
        g_auto(GStrv) parts = g_strsplit(list, ",", -1);
        g_autofree char *joined = NULL;

        for (char **part = parts; *part; part++) {
                char *dash = strchr(*part, '-');

                if (dash) {
                        char *range = g_strdup_printf("{%.*s..%s}", (int)(dash - *part), *part,
                                                      dash + 1);
                        g_free(*part);
                        *part = range;
                }
        }
        joined = g_strjoinv(",", parts);
        return parts[1] ? g_strdup_printf("{%s}", joined) : g_steal_pointer(&joined);
}

static void add_state(Doctor *doctor, const OffState *state)
{
        static const char *const by[] = {
                [OFF_BY_IDLED] = "by idled, as its configuration says",
                [OFF_BY_DEAD_IDLED] = "by idled, which died before it restored them",
                [OFF_BY_KERNEL] = "by the kernel, whose driver does so by default on this CPU",
                [OFF_BY_OTHER] = "by another program",
                [OFF_BY_OTHER_OR_DEAD_IDLED] = "by another program, or by idled before it died: "
                                               "only root can read its record",
                [OFF_BY_UNKNOWN] = "by another program or the kernel",
        };
        bool wrong = state->by != OFF_BY_IDLED && state->by != OFF_BY_KERNEL;
        g_autofree char *list = cpuset_format(&state->cpus), *shell = braces(&state->cpus);
        g_autofree char *enable = g_strdup_printf(
                "echo 0 | sudo tee /" CPUS "/cpu%s/cpuidle/state%d/disable", shell, state->number);

        add_priced(doctor, wrong, "idle states",
                   g_strdup_printf("state %s is switched off on CPUs %s %s", state->name, list,
                                   by[state->by]),
                   state->deepest ? "these CPUs use shallower states, which draw more"
                                  : "sleeps that are too short for deeper states use a shallower "
                                    "one; the deepest state is on",
                   state->deepest ? price_known(doctor, &state->cpus) : NAN,
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

static void check_limits(Doctor *doctor)
{
        CpuSet limited = { 0 };
        g_autofree char *list = NULL, *shell = NULL, *fix = NULL;

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                g_autofree char *knob = g_strdup_printf("cpu%d/power/pm_qos_resume_latency_us",
                                                        cpu);
                g_autofree char *path = g_strdup_printf(CPUS "/%s", knob);
                char text[32];

                value(doctor, path, text, sizeof(text));
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
        add_priced(doctor, true, "latency limits",
                   g_strdup_printf("another program limits the wake-up latency of CPUs %s", list),
                   "these CPUs use shallower states, which draw more",
                   price_known(doctor, &limited), fix);
}

/* A word of a command, quoted where a shell would take it for something else. A new string. */
static char *shell_word(const char *word)
{
        static const char plain[] = G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "@%+=:,./-_";

        return word[strspn(word, plain)] ? g_shell_quote(word) : g_strdup(word);
}

/* The command that ends the process: its service, of the system or of a user's manager, or itself.
 * A new string. */
static char *end_command(const Doctor *doctor, const char *pid)
{
        g_autofree char *path = g_strdup_printf("proc/%s/cgroup", pid), *text = NULL;
        g_autofree char *word = NULL, *of_user = NULL, *user_word = NULL;
        const char *unit = NULL, *user, *line;

        if (file_read(doctor->root, path, &text) >= 0 && (unit = strrchr(text, '/')))
                unit++;
        if (!unit || !g_str_has_suffix(unit, ".service"))
                return g_strdup_printf("sudo kill %s", pid);
        word = shell_word(unit);
        line = strrchr(text, '\n');
        user = strstr(line ? line : text, "/user@");
        if (!user || user + 1 == unit)
                return g_strdup_printf("sudo systemctl stop %s", word);
        user += strlen("/user@");
        of_user = g_strdup_printf("%.*s@", (int)strcspn(user, "./"), user);
        user_word = shell_word(of_user);
        return g_strdup_printf("sudo systemctl --user -M %s stop %s", user_word, word);
}

/* True if the descriptor is open for writing, or nothing is known about it. */
static bool may_write(const Doctor *doctor, const char *pid, const char *descriptor)
{
        g_autofree char *path = g_strdup_printf("proc/%s/fdinfo/%s", pid, descriptor), *text = NULL;
        const char *flags;

        if (file_read(doctor->root, path, &text) < 0 || !(flags = strstr(text, "flags:")))
                return true;
        return (strtol(flags + strlen("flags:"), NULL, 8) & O_ACCMODE) != O_RDONLY;
}

/* True if a descriptor of the process, by which it can write, is of that file. -EACCES: that cannot
 * be seen. */
static int holds_file(const Doctor *doctor, const char *pid, const char *file)
{
        g_autofree char *path = g_strdup_printf("proc/%s/fd", pid);
        _dir_ DIR *directory = dir_open(doctor->root, path);
        struct dirent *entry;

        if (!directory)
                return errno == EACCES || errno == EPERM ? -EACCES : 0;
        while ((entry = readdir(directory))) {
                char target[64];
                ssize_t n = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

                if (n > 0 && (target[n] = '\0', g_str_equal(target, file)) &&
                    may_write(doctor, pid, entry->d_name))
                        return 1;
        }
        return 0;
}

/* True if systemd counts the unit as running. tlp and others leave no process, but systemd links
 * the invocation of each unit until the unit is inactive. */
static bool unit_runs(const Doctor *doctor, const char *unit)
{
        g_autofree char *path = g_strconcat("run/systemd/units/invocation:", unit, NULL);
        char id[64];

        return readlinkat(doctor->root, path, id, sizeof(id)) > 0;
}

/* `processes`: the names of those that run. */
static void check_power_daemons(Doctor *doctor, GHashTable *processes)
{
        for (const PowerDaemon *known = power_daemons; known->unit; known++)
                if ((!known->of_user && unit_runs(doctor, known->unit)) ||
                    (known->process && g_hash_table_contains(processes, known->process)))
                        add(doctor, true, "other power daemons",
                            g_strdup_printf("%.*s is running",
                                            (int)(strrchr(known->unit, '.') - known->unit),
                                            known->unit),
                            "it sets the same knobs; idled leaves alone what another program "
                            "changes",
                            known->stop);
}

/* True if the limit keeps some CPU from a state that it has. */
static bool limits_some_state(const Doctor *doctor, int64_t limit_us)
{
        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                IdleState states[IDLE_STATES_MAX];

                for (int s = idle_states_read(doctor->root, cpu, states); limit_us >= 0 && s-- > 0;)
                        if (states[s].exit_latency_us > limit_us)
                                return true;
        }
        return false;
}

/* The limit of all CPUs is the strictest that any process requests: whose it is, nothing says. */
static void check_holder(Doctor *doctor, const char *pid, const char *process)
{
        g_autofree char *fix = NULL, *cost = NULL, *found = NULL;
        bool idled = g_str_equal(process, "idled");
        _fd_ int file = idle_global_open(doctor->root);
        int64_t limit_us = idle_global_limit(file);

        found = g_strdup_printf("%s (process %s) holds /dev/cpu_dma_latency", process, pid);
        if (file >= 0 && !limits_some_state(doctor, limit_us)) {
                cost = limit_us < 0 ? g_strdup("nothing now: no limit is in effect")
                                    : g_strdup_printf("nothing now: the limit in effect, %" PRId64
                                                      " us, allows every state",
                                                      limit_us);
                add(doctor, false, "cpu_dma_latency", g_steal_pointer(&found), cost, NULL);
                return;
        }
        cost = file < 0 ? g_strdup("a limit of the wake-up latency of all CPUs: none of them "
                                   "sleeps deeply")
                        : g_strdup_printf("no CPU uses states that take longer to leave than "
                                          "%" PRId64 " us, the limit in effect",
                                          limit_us);
        fix = idled ? g_strdup("idlectl holds") : end_command(doctor, pid);
        add_priced(doctor, !idled, "cpu_dma_latency", g_steal_pointer(&found), cost,
                   price_known(doctor, &doctor->topology->online), fix);
}

/* True for this process, which may have inherited a descriptor. */
static bool is_self(const Doctor *doctor, const char *pid)
{
        char self[16];
        ssize_t n = readlinkat(doctor->root, "proc/self", self, sizeof(self) - 1);

        return n > 0 && (self[n] = '\0', g_str_equal(self, pid));
}

static void check_processes(Doctor *doctor)
{
        g_autoptr(GHashTable)
                processes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        _dir_ DIR *proc = dir_open(doctor->root, "proc");
        bool hidden = false;
        struct dirent *entry;

        while (proc && (entry = readdir(proc))) {
                g_autofree char *path = g_strdup_printf("proc/%s/comm", entry->d_name);
                char process[32];
                int holds;

                if (!g_ascii_isdigit(entry->d_name[0]) ||
                    !*value(doctor, path, process, sizeof(process)))
                        continue;
                g_hash_table_add(processes, g_strdup(process));
                if (is_self(doctor, entry->d_name))
                        continue;
                holds = holds_file(doctor, entry->d_name, "/dev/cpu_dma_latency");
                hidden |= holds < 0;
                if (holds > 0)
                        check_holder(doctor, entry->d_name, process);
        }
        check_power_daemons(doctor, processes);
        if (hidden)
                add(doctor, false, "permissions",
                    g_strdup("the open files of other users' processes cannot be read"),
                    "processes that hold /dev/cpu_dma_latency are not known",
                    "sudo idlectl doctor");
}

static void check_sched_ext(Doctor *doctor)
{
        g_autofree char *name = sched_ext_loaded(doctor->root);
        json_object *manager = client_manager(doctor->ctl->client);
        const char *way = manager ? json_text(manager, "ParkBackend") : "";

        if (name)
                add(doctor, true, "sched_ext",
                    g_strdup_printf("the scheduler %s is loaded (sched_ext)", name),
                    "it chooses CPUs by itself, so with Backend=auto idled parks none",
                    "sudo systemctl stop scx scx_loader");
        else if (strstr(way, "partition") && sched_ext_is_known(doctor->root))
                add(doctor, false, "sched_ext",
                    g_strdup("idled parks CPUs by an isolated partition"),
                    "from Linux 7.0 on no scheduler of sched_ext can be loaded while CPUs are "
                    "parked",
                    "for such a scheduler, set Backend=systemd in section [Park]");
}

/* Adds the CPUs of a list of the group, if it has one. */
static void add_list(const Doctor *doctor, const char *group, const char *file, CpuSet *cpus)
{
        g_autofree char *path = g_strdup_printf(CGROUPS "/%s/%s", group, file), *text = NULL;
        CpuSet more;

        if (file_read(doctor->root, path, &text) == 0 && cpuset_parse(text, &more) == 0)
                cpuset_or(cpus, &more);
}

/* Online CPUs that are neither the root's nor a partition's. */
static CpuSet lost_now(const Doctor *doctor)
{
        _dir_ DIR *dir = dir_open(doctor->root, CGROUPS);
        CpuSet had = { 0 }, lost = doctor->topology->online;
        struct dirent *entry;

        add_list(doctor, ".", "cpuset.cpus.effective", &had);
        if (cpuset_is_empty(&had) || !exists(doctor, CGROUPS "/cpuset.cpus.isolated"))
                return (CpuSet){ 0 };
        while (dir && (entry = readdir(dir)))
                add_list(doctor, entry->d_name, "cpuset.cpus.exclusive.effective", &had);
        cpuset_subtract(&lost, &had);
        return lost;
}

/* Early releases of Linux 7.0 do not return all CPUs when overlapping partitions end. CPUs that
 * only move to or from a partition meanwhile are not missing twice. */
static void check_lost(Doctor *doctor)
{
        CpuSet lost = lost_now(doctor), again;
        g_autofree char *list = NULL;

        if (cpuset_is_empty(&lost))
                return;
        g_usleep(MOVE_USEC);
        again = lost_now(doctor);
        cpuset_and(&lost, &again);
        list = cpuset_format(&lost);
        if (!cpuset_is_empty(&lost))
                add(doctor, true, "cpusets",
                    g_strdup_printf("the kernel lost CPUs %s when partitions of cpusets overlapped",
                                    list),
                    "no task can run there", "reboot; stable releases of Linux 7.0 return them");
}

static void check_pressure(Doctor *doctor)
{
        const char *option = kernel_option(doctor, "psi");
        bool forbidden = option && kernel_bool(option) == 0;

        if (exists(doctor, "proc/pressure/cpu"))
                return;
        add(doctor, true, "PSI", g_strdup("the kernel gives no pressure information (PSI)"),
            "idled notices new load only at its next tick",
            forbidden ? "remove psi= from GRUB_CMDLINE_LINUX in /etc/default/grub, run "
                        "update-grub, reboot"
            : option  ? "use a kernel with CONFIG_PSI=y, as distributions' are"
                      : "add psi=1 to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, "
                        "reboot");
}

/* The driver is for processors of these vendors. */
static void check_rapl(Doctor *doctor)
{
        static const char *const vendors[] = { "GenuineIntel", "AuthenticAMD", "HygonGenuine" };
        bool fits = false;

        if (exists(doctor, "sys/class/powercap/intel-rapl:0") ||
            exists(doctor, "sys/class/powercap/intel-rapl-mmio:0"))
                return;
        for (size_t i = 0; i < G_N_ELEMENTS(vendors); i++)
                fits |= file_contains(doctor, "proc/cpuinfo", vendors[i]);
        fits &= !doctor->hypervisor;
        add(doctor, fits, "RAPL", g_strdup("power is not measured (RAPL)"),
            "what parking saves is not known; estimates need a power table",
            fits ? "sudo modprobe intel_rapl_msr" : NULL);
}

static void check_kernel(Doctor *doctor)
{
        if (!exists(doctor, "sys/kernel/btf/vmlinux"))
                add(doctor, true, "BTF", g_strdup("the kernel has no type information (BTF)"),
                    NO_BPF, "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' are");
        check_pressure(doctor);
        check_rapl(doctor);
}

/* Capabilities that even root does not have in some containers and services. */
static void check_capabilities(Doctor *doctor)
{
        static const struct {
                int bit;
                const char *name, *cost;
        } needed[] = {
                { 12, "CAP_NET_ADMIN", "fork events are not available" },
                { 24, "CAP_SYS_RESOURCE",
                  "load of existing tasks is noticed within 2 s; with it, within 60 ms" },
                { 38, "CAP_PERFMON", NO_BPF },
                { 39, "CAP_BPF", NO_BPF },
        };
        g_autofree char *text = NULL;
        const char *at;
        guint64 mask;

        if (file_read(doctor->root, "proc/self/status", &text) < 0 ||
            !(at = strstr(text, "\nCapBnd:")))
                return;
        mask = g_ascii_strtoull(at + strlen("\nCapBnd:"), NULL, 16);
        for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
                if (!(mask >> needed[i].bit & 1))
                        add(doctor, true, "capabilities",
                            g_strdup_printf("no process here may have %s", needed[i].name),
                            needed[i].cost,
                            "run idled outside of this container, or give it the capability");
}

/* What an instance that was killed left; without a daemon nothing restores it. */
static void check_left(Doctor *doctor)
{
        int count = (int)doctor->left.list.length;

        if (count > 0)
                add(doctor, true, "knobs left changed", left_text(count),
                    "CPUs may stay parked, and limits in effect; idlectl verify lists the knobs",
                    RESTORE);
}

/* Programs that pinned themselves to parked CPUs, or could unseen. */
static void check_refused(Doctor *doctor)
{
        json_object *manager = client_manager(doctor->ctl->client), *row;
        g_autoptr(json_object) refused = refused_describe(manager);

        JSON_FOREACH(row, refused) {
                const char *unit = json_text(row, "unit");
                g_autofree char *who = refused_text(row);
                g_autofree char *fix = *unit ? g_strdup_printf(
                                                       "sudo idlectl release %s, once it no "
                                                       "longer pins itself",
                                                       unit)
                                             : NULL;

                add(doctor, false, "refused affinities",
                    g_strdup_printf("an affinity was refused while the CPUs were parked: %s", who),
                    *unit ? "these CPUs are not parked while the service is loaded"
                          : "these CPUs are not parked while the process runs",
                    fix);
        }
        if (facts_missing(manager, "refused affinities"))
                add(doctor, false, "refused affinities",
                    g_strdup("refused affinities go unseen: idled cannot load its BPF program"),
                    "a program that pins itself to parked CPUs fails each time",
                    "idlectl status shows the reason at Missing; idled(8), PINNED PROGRAMS, has "
                    "what BPF needs");
}

/* What the running daemon reports. */
static void check_daemon(Doctor *doctor)
{
        static const char newer[] =
                "use Linux 6.2 or newer; idled(8), LIMITS, says what a named Backend= costs";
        json_object *manager = client_manager(doctor->ctl->client), *keeps, *row;
        bool resets;

        if (!manager) {
                bool systemd = exists(doctor, "run/systemd/system");

                add(doctor, systemd, "idled", g_strdup(client_problem(doctor->ctl->client)),
                    "no CPU is parked", systemd ? "sudo systemctl enable --now idled" : NULL);
                return;
        }
        keeps = json_get(manager, "KeepsAffinities");
        resets = keeps && !json_object_get_boolean(json_element(keeps, 0));
        if (!facts_missing(manager, "park") && resets)
                add(doctor, true, "idled",
                    g_strdup_printf("the kernel resets affinities when CPUs are parked (%s)",
                                    json_element_text(keeps, 1)),
                    "programs that pin themselves run on other CPUs, too", newer);
        if (facts_missing(manager, "park"))
                add(doctor, true, "idled",
                    g_strdup_printf("idled cannot park CPUs; the back end is %s",
                                    json_text(manager, "ParkBackend")),
                    "tasks may run on every CPU, whatever a policy requests",
                    resets ? newer
                           : "provide what one of these lacks; Backend= of [Park] chooses among "
                             "them");
        if (facts_missing(manager, "process events"))
                add(doctor, true, "idled", g_strdup("idled receives no events of processes"),
                    "application rules apply only to processes that run when idled reads the rules",
                    "before Linux 6.6, add fork-events.conf to idled.service (idled(8), "
                    "HARDENING)");
        JSON_FOREACH(row, json_get(manager, "Degraded"))
                add(doctor, true, "idled",
                    g_strdup_printf("%s %s is not as idled requests: %s", json_element_text(row, 0),
                                    json_element_text(row, 1), json_element_text(row, 2)),
                    "this knob keeps another value", "idlectl verify");
}

static json_object *doctor_ask(Ctl *ctl, int *ret_status)
{
        static void (*const checks[])(Doctor * doctor) = {
                check_hypervisor,   check_command_line, check_driver,    check_table,  check_states,
                check_limits,       check_processes,    check_sched_ext, check_kernel, check_lost,
                check_capabilities, check_daemon,       check_refused,   check_left,
        };
        Doctor doctor = { .ctl = ctl, .root = ctl->root, .findings = json_object_new_array() };
        g_autoptr(DoctorCost) cost = NULL;
        g_autoptr(Prices) prices = NULL;
        json_object *answer;
        int r = topology_read(ctl->root, &doctor.topology), skipped;

        if (r >= 0 && (*ret_status = prices_new(ctl, &prices)) != EXIT_FINE) {
                topology_free(doctor.topology);
                json_object_put(doctor.findings);
                return NULL;
        }
        if (r < 0) {
                *ret_status = complain_cpus(ctl, r);
                json_object_put(doctor.findings);
                return NULL;
        }
        undo_entries_init(&doctor.left);
        if (!client_manager(ctl->client))
                doctor.left_error = left_read(ctl, &doctor.left, &skipped);
        doctor.prices = prices;
        file_read_words(ctl->root, "proc/cmdline", &doctor.options);
        doctor.cost = cost = doctor_cost_new(ctl->root, prices);
        for (size_t i = 0; i < G_N_ELEMENTS(checks); i++)
                checks[i](&doctor);
        answer = answer_new(ctl);
        json_put_int(answer, "wrong", doctor.wrong);
        json_put_text(answer, "power_table", prices_name(prices));
        json_put_bool(answer, "power_table_missing", doctor.unpriced);
        json_put_bool(answer, "power_table_can_be_fitted", price_can_fit(ctl->root));
        json_put(answer, "findings", doctor.findings);
        undo_entries_done(&doctor.left);
        topology_free(doctor.topology);
        g_strfreev(doctor.options);
        if (doctor.wrong > 0)
                *ret_status = EXIT_FAILED;
        return answer;
}

#define INDENT 8

static char *cost_text(json_object *finding)
{
        double watts = json_number(finding, "cost_watts_at_most_estimate", NAN);

        if (isnan(watts))
                return g_strdup_printf("costs: %s", json_text(finding, "cost"));
        return g_strdup_printf("costs: %s; ~%.1f W now, at most", json_text(finding, "cost"),
                               watts);
}

static void doctor_show(const Ctl *ctl, json_object *answer)
{
        json_object *findings = json_get(answer, "findings"), *finding;
        int wrong = (int)json_int(answer, "wrong", 0);

        JSON_FOREACH(finding, findings) {
                bool bad = g_str_equal(json_text(finding, "level"), "wrong");
                const char *found = json_text(finding, "found");
                g_autofree char *text = g_strdup_printf("%s   %s", bad ? "wrong" : "note ", found);
                g_autofree char *cost = cost_text(finding);
                g_autofree char *fix = g_strdup_printf("fix:   %s", json_text(finding, "fix"));

                screen_sentence(&ctl->screen, bad ? STYLE_BAD : STYLE_WARN, text);
                if (json_get(finding, "cost"))
                        screen_paragraph(&ctl->screen, STYLE_PLAIN, INDENT, cost);
                if (json_get(finding, "fix"))
                        screen_paragraph(&ctl->screen, STYLE_PLAIN, INDENT, fix);
        }
        if (json_true(answer, "power_table_missing"))
                price_show_missing(&ctl->screen,
                                   "Costs in watts need a power table of this machine",
                                   json_true(answer, "power_table_can_be_fitted"));
        if (wrong == 0)
                screen_line(&ctl->screen, STYLE_GOOD, "Nothing is wrong");
        else
                screen_line(&ctl->screen, STYLE_BAD, "%d %s wrong", wrong,
                            wrong == 1 ? "thing is" : "things are");
}

const Verb verb_doctor = {
        .name = "doctor",
        .arguments = "",
        .summary = "Show what keeps this machine from sleeping deeply",
        .help = "For each finding, shows the cost and the command that fixes it. Costs in watts\n"
                "are upper bounds, from a power table and the sleeps of one second. A finding "
                "is\n"
                "wrong if this machine can do better; otherwise it is a note. The exit status "
                "is\n"
                "0 only if nothing is wrong.",
        .options = { price_option },
        .ask = doctor_ask,
        .show = doctor_show,
};
