/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl doctor: what keeps this machine from sleeping deeply, or idled from seeing and doing what
 * it could; what each costs, and the command that fixes it.
 *
 * A finding is wrong if it can be fixed on this machine, else it is a note: that a hypervisor
 * decides how CPUs sleep, for example. Only files below the root are read.
 *
 * Where findings keep CPUs from deep states and there is a power table, the cost is also in watts:
 * a bound (doctor-cost.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"
#include "client.h"
#include "doctor-cost.h"
#include "facts.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"

#define CPUS "sys/devices/system/cpu"

typedef struct Doctor {
        Ctl *ctl;
        int root;
        Topology *topology;
        bool hypervisor;
        Prices *prices; /* NULL: none */
        DoctorCost *cost;
        bool unpriced; /* some finding has a cost in watts, but there is no power table */
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
        { "intel_idle.max_cstate=", "deeper states are not used", true, "C1" },
        { "processor.max_cstate=", "deeper states are not used", true, "C1" },
        { "nohz=off", "every CPU wakes up at each tick, 100 to 1000 times a second", false, NULL },
        { "highres=off", "timers are late by up to a tick", false, NULL },
        { "cpufreq.off=1", "frequencies are not changed", false, NULL },
        { "intel_pstate=disable", "frequencies and EPP are not under the driver of this CPU", false,
          NULL },
        { "psi=0", "idled notices new load only at its next tick", false, NULL },
};

static void check_command_line(Doctor *doctor)
{
        g_autofree char *text = NULL;
        g_auto(GStrv) words = NULL;

        if (file_read(doctor->root, "proc/cmdline", &text) < 0)
                return;
        words = g_strsplit_set(text, " \n", -1);
        for (char **word = words; *word; word++)
                for (size_t i = 0; i < G_N_ELEMENTS(bad_options); i++) {
                        g_autofree char *fix = NULL;

                        if (bad_options[i].prefix ? !g_str_has_prefix(*word, bad_options[i].option)
                                                  : !g_str_equal(*word, bad_options[i].option))
                                continue;
                        fix = g_strdup_printf("remove %s from GRUB_CMDLINE_LINUX in "
                                              "/etc/default/grub, run update-grub, reboot",
                                              *word);
                        add_priced(doctor, true, "kernel command line",
                                   g_strdup_printf("the kernel was started with %s", *word),
                                   bad_options[i].cost, price_hidden(doctor, bad_options[i].idle),
                                   fix);
                }
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

/* The CPUs on which a state of that name is switched off, by idled or not. */
static CpuSet switched_off(const Doctor *doctor, const char *state, bool by_idled,
                           char **ret_example)
{
        CpuSet cpus = { 0 };

        CPUSET_FOREACH(cpu, &doctor->topology->online)
                for (int s = 0; s < IDLE_STATES_MAX; s++) {
                        g_autofree char *knob = g_strdup_printf("cpu%d/cpuidle/state%d/disable",
                                                                cpu, s);
                        g_autofree char *path = g_strdup_printf(CPUS "/%s", knob);
                        g_autofree char *name_path = g_strdup_printf(
                                CPUS "/cpu%d/cpuidle/state%d/name", cpu, s);
                        char name[32], off[8];

                        if (!*value(doctor, name_path, name, sizeof(name)))
                                break;
                        value(doctor, path, off, sizeof(off));
                        if (!g_str_equal(name, state) || !*off || g_str_equal(off, "0") ||
                            is_idleds(doctor, knob) != by_idled)
                                continue;
                        cpuset_add(&cpus, cpu);
                        g_free(*ret_example);
                        *ret_example = g_strdup_printf(
                                "echo 0 | sudo tee /" CPUS "/cpu*/cpuidle/state%d/disable", s);
                }
        return cpus;
}

static GPtrArray *state_names(const Doctor *doctor)
{
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                IdleState states[IDLE_STATES_MAX];
                int n = idle_states_read(doctor->root, cpu, states);

                for (int s = 0; s < n; s++)
                        if (!g_ptr_array_find_with_equal_func(names, states[s].name, g_str_equal,
                                                              NULL))
                                g_ptr_array_add(names, g_strdup(states[s].name));
        }
        return names;
}

static void check_states(Doctor *doctor)
{
        g_autoptr(GPtrArray) names = state_names(doctor);

        for (guint i = 0; i < names->len; i++)
                for (int ours = 0; ours < 2; ours++) {
                        g_autofree char *fix = NULL, *list = NULL;
                        CpuSet cpus = switched_off(doctor, names->pdata[i], ours, &fix);

                        if (cpuset_is_empty(&cpus))
                                continue;
                        list = cpuset_format(&cpus);
                        add_priced(doctor, !ours, "idle states",
                                   g_strdup_printf("state %s is switched off on CPUs %s by %s",
                                                   (char *)names->pdata[i], list,
                                                   ours ? "idled, as its configuration says"
                                                        : "another program or the kernel"),
                                   "these CPUs use shallower states, which draw more",
                                   price_known(doctor, &cpus),
                                   ours ? "idlectl settings cstates" : fix);
                }
}

static void check_limits(Doctor *doctor)
{
        CpuSet limited = { 0 };
        g_autofree char *list = NULL;

        CPUSET_FOREACH(cpu, &doctor->topology->online) {
                g_autofree char *knob = g_strdup_printf("cpu%d/power/pm_qos_resume_latency_us",
                                                        cpu);
                g_autofree char *path = g_strdup_printf(CPUS "/%s", knob);
                char text[32];

                value(doctor, path, text, sizeof(text));
                if (*text && !g_str_equal(text, "0") && !is_idleds(doctor, knob))
                        cpuset_add(&limited, cpu);
        }
        if (cpuset_is_empty(&limited))
                return;
        list = cpuset_format(&limited);
        add_priced(doctor, true, "latency limits",
                   g_strdup_printf("another program limits the wake-up latency of CPUs %s", list),
                   "these CPUs use shallower states, which draw more",
                   price_known(doctor, &limited),
                   "echo 0 | sudo tee /" CPUS "/cpu*/power/pm_qos_resume_latency_us");
}

/* The systemd unit that the process is in, a new string; NULL: none. */
static char *unit_of(const Doctor *doctor, const char *pid)
{
        g_autofree char *path = g_strdup_printf("proc/%s/cgroup", pid), *text = NULL;
        const char *last;

        if (file_read(doctor->root, path, &text) < 0 || !(last = strrchr(text, '/')))
                return NULL;
        return g_str_has_suffix(last, ".service") ? g_strdup(last + 1) : NULL;
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

static const struct {
        const char *process, *unit;
} rivals[] = {
        { "tuned", "tuned" },
        { "power-profiles-", "power-profiles-daemon" },
        { "auto-cpufreq", "auto-cpufreq" },
        { "intel_lpmd", "intel_lpmd" },
        { "laptop_mode", "laptop-mode" },
        { "cpupower-gui", "cpupower-gui" },
        { "gamemoded", "gamemoded" },
};

static void check_rival(Doctor *doctor, const char *process)
{
        for (size_t i = 0; i < G_N_ELEMENTS(rivals); i++) {
                g_autofree char *fix = NULL;

                if (!g_str_equal(process, rivals[i].process))
                        continue;
                fix = g_strdup_printf("sudo systemctl disable --now %s", rivals[i].unit);
                add(doctor, true, "other power daemons",
                    g_strdup_printf("%s is running", rivals[i].unit),
                    "it sets the same knobs; idled leaves alone what another program changes", fix);
        }
}

static void check_holder(Doctor *doctor, const char *pid, const char *process)
{
        g_autofree char *unit = unit_of(doctor, pid), *fix = NULL;
        bool idled = g_str_equal(process, "idled");

        fix = idled  ? g_strdup("idlectl holds")
              : unit ? g_strdup_printf("sudo systemctl stop %s", unit)
                     : g_strdup_printf("sudo kill %s", pid);
        add_priced(doctor, !idled, "cpu_dma_latency",
                   g_strdup_printf("%s (process %s) holds /dev/cpu_dma_latency", process, pid),
                   "a limit of the wake-up latency of all CPUs: none of them sleeps deeply",
                   price_known(doctor, &doctor->topology->online), fix);
}

static void check_processes(Doctor *doctor)
{
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
                check_rival(doctor, process);
                holds = holds_file(doctor, entry->d_name, "/dev/cpu_dma_latency");
                hidden |= holds < 0;
                if (holds > 0)
                        check_holder(doctor, entry->d_name, process);
        }
        if (hidden)
                add(doctor, false, "permissions",
                    g_strdup("the open files of other users' processes cannot be read"),
                    "processes that hold /dev/cpu_dma_latency are not known",
                    "sudo idlectl doctor");
}

static void check_sched_ext(Doctor *doctor)
{
        char state[32], name[64];

        value(doctor, "sys/kernel/sched_ext/state", state, sizeof(state));
        if (!*state || g_str_equal(state, "disabled"))
                return;
        value(doctor, "sys/kernel/sched_ext/root/ops", name, sizeof(name));
        add(doctor, true, "sched_ext",
            g_strdup_printf("the scheduler %s is loaded (sched_ext)",
                            *name ? name : "of sched_ext"),
            "it chooses CPUs by itself, against what idled parks",
            "sudo systemctl stop scx scx_loader");
}

static void check_kernel(Doctor *doctor)
{
        bool rapl = false;
        const char *const zones[] = { "intel-rapl:0", "intel-rapl-mmio:0", "dtpm:0" };

        if (!exists(doctor, "sys/kernel/btf/vmlinux"))
                add(doctor, true, "BTF", g_strdup("the kernel has no type information (BTF)"),
                    "what ends sleeps cannot be recorded by BPF",
                    "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' are");
        if (!exists(doctor, "proc/pressure/cpu"))
                add(doctor, true, "PSI", g_strdup("the kernel has no pressure information (PSI)"),
                    "idled notices new load only at its next tick",
                    "add psi=1 to GRUB_CMDLINE_LINUX in /etc/default/grub, run update-grub, "
                    "reboot");
        for (size_t i = 0; i < G_N_ELEMENTS(zones); i++) {
                g_autofree char *path = g_strconcat("sys/class/powercap/", zones[i], NULL);

                rapl |= exists(doctor, path);
        }
        if (!rapl)
                add(doctor, !doctor->hypervisor, "RAPL", g_strdup("power is not measured (RAPL)"),
                    "what parking saves is not known; estimates need a power table",
                    doctor->hypervisor ? NULL : "sudo modprobe intel_rapl_msr");
}

/* Capabilities that even root does not have in some containers and services. */
static void check_capabilities(Doctor *doctor)
{
        static const struct {
                int bit;
                const char *name, *cost;
        } needed[] = {
                { 12, "CAP_NET_ADMIN", "fork events are not available" },
                { 24, "CAP_SYS_RESOURCE", "new load is noticed within 2 s instead of 50 ms" },
                { 38, "CAP_PERFMON", "what ends sleeps cannot be recorded by BPF" },
                { 39, "CAP_BPF", "what ends sleeps cannot be recorded by BPF" },
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

/* What the running daemon reports. */
static void check_daemon(Doctor *doctor)
{
        json_object *manager = client_manager(doctor->ctl->client), *row;

        if (!manager) {
                add(doctor, false, "idled", g_strdup(client_problem(doctor->ctl->client)),
                    "no CPU is parked", "sudo systemctl enable --now idled");
                return;
        }
        if (facts_missing(manager, "park"))
                add(doctor, true, "idled",
                    g_strdup_printf("idled cannot park CPUs; the back end is %s",
                                    json_text(manager, "ParkBackend")),
                    "tasks may run on every CPU, whatever a policy requests",
                    "read why in journalctl -u idled; Backend= of [Park] chooses another way");
        JSON_FOREACH(row, json_get(manager, "Degraded"))
                add(doctor, true, "idled",
                    g_strdup_printf("%s %s is not as idled requests: %s", json_element_text(row, 0),
                                    json_element_text(row, 1), json_element_text(row, 2)),
                    "this knob keeps another value", "idlectl verify");
}

json_object *doctor_ask(Ctl *ctl, int *ret_status)
{
        static void (*const checks[])(Doctor * doctor) = {
                check_hypervisor,   check_command_line, check_driver,    check_states,
                check_limits,       check_processes,    check_sched_ext, check_kernel,
                check_capabilities, check_daemon,
        };
        Doctor doctor = { .ctl = ctl, .root = ctl->root, .findings = json_object_new_array() };
        g_autoptr(DoctorCost) cost = NULL;
        g_autoptr(Prices) prices = NULL;
        json_object *answer;
        int r = topology_read(ctl->root, &doctor.topology);

        if (r >= 0 && (*ret_status = prices_new(ctl, &prices)) != EXIT_FINE) {
                topology_free(doctor.topology);
                json_object_put(doctor.findings);
                return NULL;
        }
        if (r < 0) {
                *ret_status = complain("%s: failed to read the CPUs: %s",
                                       ctl->root_path ? ctl->root_path : "/", g_strerror(-r));
                json_object_put(doctor.findings);
                return NULL;
        }
        doctor.prices = prices;
        doctor.cost = cost = doctor_cost_new(ctl->root, prices);
        for (size_t i = 0; i < G_N_ELEMENTS(checks); i++)
                checks[i](&doctor);
        answer = answer_new(ctl);
        json_put_int(answer, "wrong", doctor.wrong);
        json_put_text(answer, "power_table", prices_name(prices));
        json_put_bool(answer, "power_table_missing", doctor.unpriced);
        json_put(answer, "findings", doctor.findings);
        topology_free(doctor.topology);
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

void doctor_show(const Ctl *ctl, json_object *answer)
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
                screen_sentence(
                        &ctl->screen, STYLE_DIM,
                        "Costs in watts need a power table of this machine: sudo idlectl "
                        "estimate --fit --output /etc/idled/power/machine.conf, or --power.");
        if (wrong == 0)
                screen_line(&ctl->screen, STYLE_GOOD, "Nothing is wrong");
        else
                screen_line(&ctl->screen, STYLE_BAD, "%d %s wrong", wrong,
                            wrong == 1 ? "thing is" : "things are");
}
