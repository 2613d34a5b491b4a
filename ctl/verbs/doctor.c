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
 * a bound.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "act/park/park-isolate.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/sched-ext.h"
#include "cli/client.h"
#include "pause.h"
#include "requests.h"
#include "doctor.h"
#include "cli/facts.h"
#include "cli/watch.h"
#include "sense/sensor.h"
#include "sense/topology-read.h"
#include "systemd/power-daemons.h"
#include "verbs.h"

#define CGROUPS "sys/fs/cgroup"

/* In this time CPUs move between the root and a partition. */
#define MOVE_USEC 100000

/* What sleeps cost is measured for so long. */
#define SAMPLE_USEC 1000000

#define NO_BPF "what ends sleeps cannot be recorded by BPF, and refused affinities go unseen"

void doctor_add_priced(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
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

void doctor_add(Doctor *doctor, bool wrong, const char *check, char *found, const char *cost,
                const char *fix)
{
        doctor_add_priced(doctor, wrong, check, found, cost, NAN, fix);
}

/* A second of this machine, once. False: the CPUs cannot be read. */
static bool sample(Doctor *doctor)
{
        if (doctor->sampled || !doctor->prices)
                return doctor->watch;
        doctor->sampled = true;
        if (watch_new(doctor->root, &doctor->watch) < 0)
                return false;
        if (watch_begin(doctor->watch, SENSE_RESIDENCY, false) == 0) {
                g_usleep(SAMPLE_USEC);
                if (watch_sample(doctor->watch, SENSE_RESIDENCY, false) == 0)
                        return true;
        }
        g_clear_pointer(&doctor->watch, watch_free);
        return false;
}

/* The cheapest of the CPU's own states, those included that are switched off. */
static double cheapest(const Doctor *doctor, int cpu)
{
        IdleState states[IDLE_STATES_MAX];
        int n = idle_states_read(doctor->root, cpu, states);
        double lowest = NAN;

        for (int s = 0; s < n; s++)
                lowest = fmin(lowest, price_find(doctor->prices, cpu, states[s].name));
        return lowest;
}

/* What the CPU's sleeps cost above a state of `lowest` watts. NaN: not known. */
static double excess(const Doctor *doctor, int cpu, double lowest, const char *idle)
{
        const Snapshot *seen = doctor->watch->seen;
        const Residency *row = seen->residency ? &seen->residency[cpu] : NULL;
        IdleTable table = { 0 };
        uint16_t permitted;
        double watts = 0;
        int deepest = 0;

        if (!cpuset_has(&seen->cpus, cpu))
                return NAN;
        table.n_states = idle_states_read(doctor->root, cpu, table.states);
        if (!row || table.n_states <= 0 || row->n_states != table.n_states) {
                double more = price_find(doctor->prices, cpu, idle) - lowest;

                return more < 0 ? 0 : (1 - (double)seen->busy[cpu]) * more;
        }
        /* A sleep that goes on may be credited to a state that the CPU may not enter: the kernel's
         * counters have it only when it ends. */
        permitted = idle_states_permitted(doctor->root, cpu, &table);
        for (int s = 0; s < table.n_states; s++)
                deepest = permitted >> s & 1 ? s : deepest;
        for (int s = 0; s < table.n_states; s++) {
                const char *state = table.states[MIN(s, deepest)].name;
                double more = price_find(doctor->prices, cpu, state) - lowest;

                if (row->share[s] > 0 && !(more < 0))
                        watts += (double)row->share[s] * more;
        }
        return watts;
}

double doctor_price_known(Doctor *doctor, const CpuSet *cpus)
{
        double watts = 0;

        doctor->unpriced |= !doctor->prices;
        if (!sample(doctor))
                return NAN;
        CPUSET_FOREACH(cpu, cpus)
                watts += excess(doctor, cpu, cheapest(doctor, cpu), "C1");
        return watts;
}

double doctor_price_hidden(Doctor *doctor, const char *idle)
{
        double watts = 0;

        if (!idle)
                return NAN;
        doctor->unpriced |= !doctor->prices;
        if (!sample(doctor))
                return NAN;
        CPUSET_FOREACH(cpu, &doctor->topology->online)
                watts += excess(doctor, cpu, price_lowest(doctor->prices, cpu), idle);
        return watts;
}

static bool exists(const Doctor *doctor, const char *path)
{
        return faccessat(doctor->root, path, F_OK, 0) == 0;
}

const char *doctor_value(const Doctor *doctor, const char *path, char *buffer, size_t size)
{
        if (file_read_value(doctor->root, path, buffer, size) < 0)
                buffer[0] = '\0';
        return buffer;
}

bool doctor_file_contains(const Doctor *doctor, const char *path, const char *text)
{
        g_autofree char *whole = NULL;

        return file_read(doctor->root, path, &whole) == 0 && strstr(whole, text);
}

const char *doctor_option(const Doctor *doctor, const char *name)
{
        size_t length = strlen(name);

        for (guint i = doctor->options ? g_strv_length(doctor->options) : 0; i-- > 0;)
                if (strncmp(doctor->options[i], name, length) == 0 &&
                    doctor->options[i][length] == '=')
                        return doctor->options[i] + length + 1;
        return NULL;
}

int kernel_bool(const char *text)
{
        if (*text && strchr("yYtT1", *text))
                return 1;
        if (*text && strchr("nNfF0", *text))
                return 0;
        if (*text != 'o' && *text != 'O')
                return -1;
        return text[1] && strchr("nN", text[1]) ? 1 : text[1] && strchr("fF", text[1]) ? 0 : -1;
}

static void check_hypervisor(Doctor *doctor)
{
        char type[32];

        doctor->hypervisor = *doctor_value(doctor, "sys/hypervisor/type", type, sizeof(type)) ||
                             file_has_word(doctor->root, "proc/cpuinfo", "hypervisor") > 0;
        if (doctor->hypervisor)
                doctor_add(doctor, false, "hypervisor", g_strdup("this is a virtual machine"),
                           "the host decides how deeply CPUs sleep, and measures the power", NULL);
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
        for (const PowerDaemon *known = power_daemons; known->unit; known++) {
                g_autofree char *name = g_strndup(known->unit,
                                                  (gsize)(strrchr(known->unit, '.') - known->unit));
                g_autofree char *stop = g_strdup_printf("sudo systemctl %s --now %s",
                                                        known->masked ? "mask" : "disable", name);

                if ((!known->of_user && unit_runs(doctor, known->unit)) ||
                    (known->process && g_hash_table_contains(processes, known->process)))
                        doctor_add(
                                doctor, true, "other power daemons",
                                g_strdup_printf("%s is running", name),
                                "it sets the same knobs; idled leaves alone what another program "
                                "changes",
                                known->stop ?: stop);
        }
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
                doctor_add(doctor, false, "cpu_dma_latency", g_steal_pointer(&found), cost, NULL);
                return;
        }
        cost = file < 0 ? g_strdup("a limit of the wake-up latency of all CPUs: none of them "
                                   "sleeps deeply")
                        : g_strdup_printf("no CPU uses states that take longer to leave than "
                                          "%" PRId64 " us, the limit in effect",
                                          limit_us);
        fix = idled ? g_strdup("idlectl holds") : end_command(doctor, pid);
        doctor_add_priced(doctor, !idled, "cpu_dma_latency", g_steal_pointer(&found), cost,
                          doctor_price_known(doctor, &doctor->topology->online), fix);
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
                    !*doctor_value(doctor, path, process, sizeof(process)))
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
                doctor_add(doctor, false, "permissions",
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
                doctor_add(doctor, true, "sched_ext",
                           g_strdup_printf("the scheduler %s is loaded (sched_ext)", name),
                           "it chooses CPUs by itself, so with Backend=auto idled parks none",
                           "end the program that loaded it, or, if that is a service, "
                           "sudo systemctl stop scx scx_loader");
        else if (strstr(way, "partition") && sched_ext_is_known(doctor->root))
                doctor_add(
                        doctor, false, "sched_ext",
                        g_strdup("idled parks CPUs by an isolated partition"),
                        "some kernels from Linux 7.0 on load no scheduler of sched_ext while CPUs "
                        "are parked",
                        "for such a scheduler, set Backend=systemd in section [Park]");
}

/* CPUs that only move to or from a partition meanwhile are not missing twice. */
static void check_lost(Doctor *doctor)
{
        CpuSet lost = isolate_lost(doctor->root, &doctor->topology->online), again;
        g_autofree char *list = NULL;

        if (cpuset_is_empty(&lost))
                return;
        g_usleep(MOVE_USEC);
        again = isolate_lost(doctor->root, &doctor->topology->online);
        cpuset_and(&lost, &again);
        list = cpuset_format(&lost);
        if (!cpuset_is_empty(&lost))
                doctor_add(doctor, true, "cpusets",
                           g_strdup_printf(
                                   "the kernel lost CPUs %s when partitions of cpusets overlapped",
                                   list),
                           "no task can run there",
                           "reboot; stable releases of Linux 7.0 return them");
}

static void check_pressure(Doctor *doctor)
{
        const char *option = doctor_option(doctor, "psi");
        bool forbidden = option && kernel_bool(option) == 0;

        if (exists(doctor, "proc/pressure/cpu"))
                return;
        doctor_add(
                doctor, true, "PSI", g_strdup("the kernel gives no pressure information (PSI)"),
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
                fits |= doctor_file_contains(doctor, "proc/cpuinfo", vendors[i]);
        fits &= !doctor->hypervisor;
        doctor_add(doctor, fits, "RAPL", g_strdup("power is not measured (RAPL)"),
                   "what parking saves is not known; estimates need a power table",
                   fits ? "sudo modprobe intel_rapl_msr" : NULL);
}

static void check_kernel(Doctor *doctor)
{
        if (!exists(doctor, "sys/kernel/btf/vmlinux"))
                doctor_add(doctor, true, "BTF",
                           g_strdup("the kernel has no type information (BTF)"), NO_BPF,
                           "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' are");
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
                        doctor_add(
                                doctor, true, "capabilities",
                                g_strdup_printf("no process here may have %s", needed[i].name),
                                needed[i].cost,
                                "run idled outside of this container, or give it the capability");
}

/* What an instance that was killed left; without a daemon nothing restores it. */
static void check_left(Doctor *doctor)
{
        int count = (int)doctor->left.list.length;

        if (count > 0)
                doctor_add(doctor, true, "knobs left changed", left_text(count),
                           "CPUs may stay parked, and limits in effect; idlectl verify lists the "
                           "knobs",
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

                doctor_add(doctor, false, "refused affinities",
                           g_strdup_printf("an affinity was refused while the CPUs were parked: %s",
                                           who),
                           *unit ? "these CPUs are not parked while the service is loaded"
                                 : "these CPUs are not parked while the process runs",
                           fix);
        }
        if (facts_missing(manager, "refused affinities"))
                doctor_add(
                        doctor, false, "refused affinities",
                        g_strdup("refused affinities go unseen: idled cannot load its BPF program"),
                        "a program that pins itself to parked CPUs fails each time",
                        "idlectl status shows the reason at Missing; idled(8), PINNED PROGRAMS, "
                        "has what BPF needs");
}

/* What the running daemon reports. */
static void check_daemon(Doctor *doctor)
{
        static const char newer[] =
                "use Linux 6.2 or newer; idled(8), LIMITS, says what a named Backend= costs";
        json_object *manager = client_manager(doctor->ctl->client), *keeps;
        bool resets;

        if (!manager) {
                bool systemd = exists(doctor, "run/systemd/system");

                doctor_add(doctor, systemd, "idled", g_strdup(client_problem(doctor->ctl->client)),
                           doctor->left_error || doctor->left.list.length > 0
                                   ? "nothing parks or activates CPUs any more"
                                   : "no CPU is parked",
                           systemd ? "sudo systemctl enable --now idled" : NULL);
                return;
        }
        keeps = json_get(manager, "KeepsAffinities");
        resets = keeps && !json_object_get_boolean(json_element(keeps, 0));
        if (!facts_missing(manager, "park") && resets)
                doctor_add(doctor, true, "idled",
                           g_strdup_printf("the kernel resets affinities when CPUs are parked (%s)",
                                           json_element_text(keeps, 1)),
                           "programs that pin themselves run on other CPUs, too", newer);
        if (facts_missing(manager, "park"))
                doctor_add(doctor, true, "idled",
                           g_strdup_printf("idled cannot park CPUs; the back end is %s",
                                           json_text(manager, "ParkBackend")),
                           "tasks may run on every CPU, whatever a policy requests",
                           resets ? newer
                                  : "provide what one of these lacks; Backend= of [Park] chooses "
                                    "among them");
        if (facts_missing(manager, "process events"))
                doctor_add(doctor, true, "idled", g_strdup("idled receives no events of processes"),
                           "application rules apply only to processes that run when idled reads "
                           "the rules",
                           "before Linux 6.6, add fork-events.conf to idled.service (idled(8), "
                           "HARDENING)");
}

/* A reload manages knobs again that were taken over. No command helps where a write failed. */
static void check_degraded(Doctor *doctor)
{
        json_object *manager = client_manager(doctor->ctl->client), *row;

        JSON_FOREACH(row, json_get(manager, "Degraded")) {
                const char *kind = json_element_text(row, 0), *name = json_element_text(row, 1);
                json_object *knob = json_find_row(json_get(manager, "Knobs"), kind, name);
                bool foreign = g_str_equal(json_element_text(knob, 4), "foreign");

                if (facts_missing(manager, kind))
                        continue; /* said by check_daemon() */
                doctor_add(doctor, true, "idled",
                           g_strdup_printf("%s %s: %s", kind, name, json_element_text(row, 2)),
                           "not all that idled requests there is in effect",
                           foreign ? "sudo idlectl reload" : NULL);
        }
}

/* What a user or the administrator decided is not wrong. */
static void check_decisions(Doctor *doctor)
{
        static const char cost[] = "idled parks no CPU and changes no knob";
        json_object *manager = client_manager(doctor->ctl->client), *pause;
        g_autoptr(json_object) pauses = pauses_describe(manager);

        JSON_FOREACH(pause, pauses) {
                g_autofree char *text = pause_text(pause);

                doctor_add(doctor, false, "pauses", g_strdup_printf("idled is paused %s", text),
                           cost, json_true(pause, "lasting") ? "idlectl resume" : NULL);
        }
        if (json_true(manager, "DryRun"))
                doctor_add(doctor, false, "dry run", g_strdup("idled runs with --dry-run"), cost,
                           "start idled without --dry-run");
}

static int doctor_ask(Ctl *ctl, json_object **ret_answer)
{
        static void (*const checks[])(Doctor * doctor) = {
                check_hypervisor, doctor_check_idle, check_processes,    check_sched_ext,
                check_kernel,     check_lost,        check_capabilities, check_daemon,
                check_degraded,   check_decisions,   check_refused,      check_left,
        };
        Doctor doctor = { .ctl = ctl, .root = ctl->root };
        g_autoptr(Topology) topology = NULL;
        g_autoptr(Prices) prices = NULL;
        json_object *answer;
        int r, skipped;

        r = topology_read(ctl->root, &topology);
        if (r < 0)
                return complain_cpus(ctl, r);
        if (prices_new(ctl, &prices) != EXIT_FINE)
                return EXIT_FAILED;
        undo_entries_init(&doctor.left);
        if (!client_manager(ctl->client))
                doctor.left_error = left_read(ctl, &doctor.left, &skipped);
        doctor.topology = topology;
        doctor.prices = prices;
        doctor.findings = json_object_new_array();
        file_read_words(ctl->root, "proc/cmdline", &doctor.options);
        for (size_t i = 0; i < G_N_ELEMENTS(checks); i++)
                checks[i](&doctor);
        answer = answer_new(ctl);
        json_put_int(answer, "wrong", doctor.wrong);
        json_put_text(answer, "power_table", prices_name(prices));
        json_put_bool(answer, "power_table_missing", doctor.unpriced);
        json_put_bool(answer, "power_table_can_be_fitted", price_can_fit(ctl->root));
        json_put(answer, "findings", doctor.findings);
        undo_entries_done(&doctor.left);
        watch_free(doctor.watch);
        g_strfreev(doctor.options);
        *ret_answer = answer;
        return doctor.wrong > 0 ? EXIT_FAILED : EXIT_FINE;
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
                g_autofree char *cost = cost_text(finding);
                g_autofree char *fix = g_strdup_printf("fix:   %s", json_text(finding, "fix"));

                screen_sentencef(&ctl->screen, bad ? STYLE_BAD : STYLE_WARN, "%s   %s",
                                 bad ? "wrong" : "note ", json_text(finding, "found"));
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
