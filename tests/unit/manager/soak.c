/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Days in minutes: a whole manager with the shipped policies on a described machine ticks while the
 * load changes at random, slices are kept off parked CPUs, CPUs come and go, holds, contracts and
 * pauses begin and end, units are kept to kinds of cores, processes change their unit, the
 * configuration is reloaded, the clock is set and the machine sleeps. Memory, descriptors and the
 * directory of state stay as they are after the first tenth; the record is never longer in the
 * second half than in the first, but for some lines; in a pause, and in the end, every knob and
 * unit is as it was found. $TICKS is how often it ticks, $SEED begins other chances. Time is
 * virtual.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <syslog.h>

#include "all-machines.h"
#include "base/log.h"
#include "bpf/bill.h"
#include "manager/manager-parts.h"
#include "virtual-clock.h"

#define N_CPUS 8
#define HOLDS  64
#define UNITS  12 /* more than there may be contracts */
#define SLICES 2

/* What may come: megabytes while the rest is tried for the first time, and descriptors of idle
 * states, which stay open once they were written. */
#ifdef __SANITIZE_ADDRESS__
#define MEGABYTES 1024 /* a sanitizer keeps freed memory */
#else
#define MEGABYTES 2
#endif
#define KEPT   32
#define RECORD 4096 /* some lines */

/* Files of state: .empty, the chosen profile, what parking saves, refused affinities. */
#define FILES 4

typedef struct Size {
        long kilobytes, descriptors, record, state;
} Size;

static Tree tree;
static sd_event *event;
static Manager *manager;
static GRand *chance;
static char *found; /* sum of the tree before the start */
static uint64_t busy[N_CPUS], idle[N_CPUS];
static int fds[HOLDS], n_online = N_CPUS;
static unsigned changes, n_holds, n_contracts, n_kinds, n_limits, n_reloads, n_moves, n_sleeps,
        n_parkings;
static CpuSet allowed[UNITS + SLICES]; /* of game0.scope and so on, and the slices; systemd's */
static const char *const slices[SLICES + 1] = { "system.slice", "user.slice" };
static pid_t processes[UNITS];

static uint64_t slept(void)
{
        return asleep_usec;
}

static bool one_in(int n)
{
        return g_rand_int_range(chance, 0, n) == 0;
}

static int unit_of(const char *name)
{
        int i = -1;

        for (int slice = 0; slice < SLICES; slice++)
                if (g_str_equal(name, slices[slice]))
                        return UNITS + slice;
        ck_assert_int_eq(sscanf(name, "game%d.scope", &i), 1);
        return i;
}

static int list_children(void *userdata, const char *slice, char ***ret_units)
{
        *ret_units = g_str_equal(slice, "-.slice") ? g_strdupv((char **)slices) : g_new0(char *, 1);
        return 0;
}

static int get_allowed(void *userdata, const char *name, CpuSet *ret_cpus)
{
        *ret_cpus = allowed[unit_of(name)];
        return 0;
}

static int set_allowed(void *userdata, const char *name, const CpuSet *cpus)
{
        int i = unit_of(name);

        allowed[i] = *cpus;
        *(i < UNITS ? &n_limits : &n_parkings) += 1;
        return 0;
}

static int get_affinity(void *userdata, const char *name, CpuSet *ret_cpus)
{
        *ret_cpus = (CpuSet){ 0 };
        return 0;
}

static const UnitControl units = {
        .list_children = list_children,
        .get_allowed = get_allowed,
        .set_allowed = set_allowed,
        .get_effective = get_allowed,
        .get_affinity = get_affinity,
};

/* The kernel counts wake-ups of all units. */
struct Bill {
        int n_cpus;
};

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        if (one_in(10))
                return -EPERM;
        *ret_bill = g_new0(Bill, 1);
        return 0;
}

void bill_set_limit(Bill *bill, unsigned i, uint64_t ns)
{
}

int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading)
{
        static GPtrArray none;

        *ret_reading = (BillReading){ .over = &none };
        for (int i = 0; i < UNITS; i++) {
                g_autofree char *cgroup = g_strdup_printf("/system.slice/game%d.scope", i);
                WakeupDelays delays = { 0 };

                for (int j = g_rand_int_range(chance, 0, 100); j > 0; j--)
                        wakeups_add(&delays, (uint64_t)g_rand_int_range(chance, 1, 5000000));
                take(cgroup, "", one_in(2) ? 2 : WAKEUPS_WAITING, &delays, data);
        }
        return one_in(10000) ? -EPERM : 0;
}

void bill_close(Bill *bill)
{
        g_free(bill);
}

char *bill_error(int error)
{
        return g_strdup(g_strerror(-error));
}

/* The process is in one of the units from now on. */
static void move_process(pid_t pid)
{
        g_autofree char *path = g_strdup_printf("proc/%d/cgroup", (int)pid);
        g_autofree char *text = g_strdup_printf("0::/system.slice/game%d.scope\n",
                                                g_rand_int_range(chance, 0, UNITS));

        tree_put(&tree, path, text);
}

static void on_change(Manager *from, unsigned what, void *userdata)
{
        changes |= what;
}

/* Writes in place because the sensor keeps the file open. */
static void put_stat(void)
{
        g_autoptr(GString) text = g_string_new("cpu 0 0 0 0 0 0 0 0 0 0\n");
        int fd = openat(tree.root, "proc/stat", O_WRONLY | O_TRUNC | O_CLOEXEC);

        for (int cpu = 0; cpu < n_online; cpu++)
                g_string_append_printf(text, "cpu%d %" PRIu64 " 0 0 %" PRIu64 " 0 0 0 0 0 0\n", cpu,
                                       busy[cpu], idle[cpu]);
        g_string_append(text, "intr 0\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\n");
        ck_assert_int_eq(write(fd, text->str, text->len), (ssize_t)text->len);
        close(fd);
}

/* Each CPU is idle, busy or in between, for some seconds. */
static void pass_time(void)
{
        static int share[N_CPUS]; /* percent */
        int ms = g_rand_int_range(chance, 50, 1000);

        skipped_usec += (uint64_t)ms * 1000;
        for (int cpu = 0; cpu < N_CPUS; cpu++) {
                if (one_in(20))
                        share[cpu] = g_rand_int_range(chance, 0, 3) * 50;
                busy[cpu] += (uint64_t)(ms * share[cpu] / 1000);
                idle[cpu] += (uint64_t)(ms * (100 - share[cpu]) / 1000);
        }
        put_stat();
}

static void change_hold(void)
{
        static const char *const profiles[] = { NULL, NULL, "performance", "power-saver" };
        g_autofree char *unit = g_strdup_printf("/system.slice/game%d.scope",
                                                g_rand_int_range(chance, 0, UNITS));
        HoldRequest request = HOLD_REQUEST_NONE;
        uint64_t id;
        int *fd = &fds[g_rand_int_range(chance, 0, HOLDS)];

        if (*fd >= 0) {
                close(*fd);
                *fd = -1;
                return;
        }
        request.owner = "soak";
        request.reason = "a reason";
        request.latency_us = g_rand_int_range(chance, -1, 500);
        request.min_cores = (unsigned)g_rand_int_range(chance, 0, N_CPUS);
        request.min_khz = one_in(2) ? 0 : 1000000;
        request.profile = profiles[g_rand_int_range(chance, 0, G_N_ELEMENTS(profiles))];
        request.pid = one_in(2) ? 0 : processes[g_rand_int_range(chance, 0, UNITS)];
        if (request.pid && one_in(2))
                request.p99_us = (uint32_t)g_rand_int_range(chance, 500, 10000);
        if (one_in(4)) {
                request.unit = unit;
                request.kinds = one_in(2) ? KIND_EFFICIENT : KIND_FAST;
        }
        n_contracts += request.p99_us > 0;
        n_kinds += request.kinds > 0;
        ck_assert_int_eq(holds_add(manager_holds(manager), &request, fd, &id), 0);
        n_holds++;
}

static void reload(void)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autofree char *text = g_strdup_printf("[Policy]\nMinCores=%d\n%s",
                                                g_rand_int_range(chance, 1, N_CPUS),
                                                one_in(10) ? "Mistake=1\n" : "");

        tree_put(&tree, "etc/idled/policies/ondemand.conf", text);
        ck_assert_int_eq(manager_reload(manager, errors), strstr(text, "Mistake") ? -EINVAL : 0);
        n_reloads++;
}

static void move_cpus(void)
{
        g_autofree char *text = NULL;

        n_online = n_online == N_CPUS ? g_rand_int_range(chance, 1, N_CPUS) : N_CPUS;
        text = g_strdup_printf("0-%d\n", n_online - 1);
        tree_put(&tree, "sys/devices/system/cpu/online", text);
        n_moves++;
}

static void set_option(void)
{
        g_autofree char *error = NULL,
                        *mask = g_strdup_printf("%d", g_rand_int_range(chance, 0, 7));
        OptionValue value = { "userspace", "IdleMask", one_in(2) ? "" : mask };

        ck_assert_int_eq(manager_set_options(manager, &value, 1, &error), 0);
}

static void pause_or_resume(void)
{
        Pauses *pauses = manager_pauses(manager);

        if (pauses_resume(pauses, 1000) == 0)
                ck_assert_int_eq(pauses_add_lasting(pauses, "soak", "soak", 1000, 5000000), 0);
}

static void sleep_a_while(void)
{
        asleep_usec += 3600ull * 1000000;
        set_usec += one_in(2) ? 7200ll * 1000000 : -7200ll * 1000000;
        manager_resumed(manager);
        n_sleeps++;
}

static void live_once(void)
{
        pass_time();
        manager_tick(manager);
        while (sd_event_run(event, 0) > 0)
                ;
}

static void live(void)
{
        if (one_in(20))
                change_hold();
        if (one_in(100))
                set_option();
        if (one_in(200))
                move_cpus();
        if (one_in(200))
                move_process(processes[g_rand_int_range(chance, 0, UNITS)]);
        if (one_in(500))
                pause_or_resume();
        if (one_in(1000))
                reload();
        if (one_in(2000))
                sleep_a_while();
        live_once();
}

static long count_entries(const char *path)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        long n = 0;

        while (g_dir_read_name(dir))
                n++;
        return n;
}

static long measure_record(void)
{
        struct stat st;

        return fstatat(tree.root, "run/idled/undo", &st, 0) == 0 ? st.st_size : 0;
}

static Size measure(void)
{
        g_autofree char *statm = NULL;
        g_autofree char *state = g_build_filename(tree.path, "var/lib/idled", NULL);

        ck_assert(g_file_get_contents("/proc/self/statm", &statm, NULL, NULL));
        return (Size){ strtol(strchr(statm, ' '), NULL, 10) * 4, count_entries("/proc/self/fd"),
                       measure_record(), count_entries(state) };
}

/* A sum of all files that idled may write: their first lines, because a plain file keeps the rest
 * of a longer text. */
static char *sum_of_tree(void)
{
        g_autofree char *command = g_strdup_printf(
                "sh -c 'cd %s && find sys -type f | sort | xargs head -qn1 | cksum'", tree.path);
        char *text = NULL;

        ck_assert(g_spawn_command_line_sync(command, &text, NULL, NULL, NULL) && *text);
        return text;
}

/* Until idled ends, a slice keeps a limit of all CPUs. */
static void check_restored(bool ended)
{
        g_autofree char *sum = sum_of_tree();

        ck_assert_str_eq(sum, found);
        for (int i = 0; i < UNITS + SLICES; i++)
                ck_assert(cpuset_is_empty(&allowed[i]) ||
                          (i >= UNITS && !ended && cpuset_count(&allowed[i]) == N_CPUS));
}

static void start(void)
{
        static char state[PATH_MAX];
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        ManagerSetup setup = { .keep_log_level = true, .slept = slept, .units = &units };

        tree = machine_tree("synthetic-laptop.machine");
        tree_put(&tree, "etc/idled/idled.conf",
                 "[Daemon]\nPolicies=userspace contract ondemand cpufreq cstates latency quiet\n"
                 "[Park]\nBackend=systemd\n");
        tree_put(&tree, "etc/idled/profiles/performance.conf", "[cpufreq]\nMinFrequency=100%\n");
        tree_put(&tree, "etc/idled/profiles/power-saver.conf", "[cpufreq]\nMaxFrequency=50%\n");
        tree_put(&tree, "etc/idled/policies/cstates.conf", "[Policy]\nUtilizationAware=yes\n");
        tree_put(&tree, "run/idled/.empty", "");
        tree_put(&tree, "var/lib/idled/.empty", "");
        g_snprintf(state, sizeof(state), "%s/var/lib/idled", tree.path);
        setup.root = tree.root;
        setup.state = state;
        setup.paths = (ConfigPaths){ tree.root, tree.path, "nowhere", "etc/idled",
                                     g_getenv("IDLED_POLICIES") };
        setup.run = openat(tree.root, "run/idled", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        put_stat();
        tree_put(&tree, "sys/devices/system/cpu/online", "0-7\n");
        tree_put(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        for (int i = 0; i < UNITS; i++) {
                processes[i] = fork();
                if (processes[i] == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        pause();
                        _exit(0);
                }
                ck_assert_int_gt(processes[i], 0);
                move_process(processes[i]);
        }
        found = sum_of_tree();
        ck_assert_int_ge(sd_event_new(&event), 0);
        for (int i = 0; i < HOLDS; i++)
                fds[i] = -1;
        if (manager_new(&setup, event, errors, &manager) < 0) {
                g_autofree char *text = config_error_format(errors->pdata[0]);

                ck_abort_msg("%s", text);
        }
        manager_set_listener(manager, on_change, &changes);
        ck_assert_int_eq(manager_start(manager), 0);
}

/* The sizes of the record are its longest in each half: in a pause it still has the slices, and
 * lines that are over until there are too many. */
static void check_growth(Size before, Size after)
{
        printf("%ld kB, then %ld; %ld descriptors, then %ld; record at most %ld bytes, then %ld; "
               "%ld files of state, then %ld\n",
               before.kilobytes, after.kilobytes, before.descriptors, after.descriptors,
               before.record, after.record, before.state, after.state);
        ck_assert_int_le(after.kilobytes, before.kilobytes + MEGABYTES * 1024);
        ck_assert_int_le(after.descriptors, before.descriptors + KEPT);
        ck_assert_int_gt(before.record, 0);
        ck_assert_int_le(after.record, before.record + RECORD);
        ck_assert_int_le(after.state, FILES);
}

/* A pause without a hold, and with all CPUs. */
static Size pause_and_measure(void)
{
        Pauses *pauses = manager_pauses(manager);
        Size size;

        for (int i = 0; i < HOLDS; i++)
                if (fds[i] >= 0) {
                        close(fds[i]);
                        fds[i] = -1;
                }
        if (n_online < N_CPUS)
                move_cpus();
        ck_assert_int_eq(pauses_add_lasting(pauses, "soak", "soak", 1000, 0), 0);
        for (int i = 0; i < 100; i++)
                live_once();
        check_restored(false);
        size = measure();
        pauses_resume(pauses, 1000);
        return size;
}

static long variable(const char *name, long otherwise)
{
        return g_getenv(name) ? atol(g_getenv(name)) : otherwise;
}

TEST(ticks)
{
        long n = variable("TICKS", 20000), seed = variable("SEED", 1);
        uint64_t first;
        Size early = { 0 }, late;
        long most[2] = { 0 }; /* bytes of the record while it changes knobs, in each half */

        printf("%ld ticks, seed %ld\n", n, seed);
        chance = g_rand_new_with_seed((guint32)seed);
        start();
        first = manager_now();
        for (long i = 0; i < n; i++) {
                live();
                most[i >= n / 2] = MAX(most[i >= n / 2], measure_record());
                if (i == n / 10)
                        early = pause_and_measure();
        }
        late = pause_and_measure();
        early.record = most[0];
        late.record = most[1];
        printf("%.0f days; %u holds, %u of them contracts, %u for kinds, %u limits of units, %u of "
               "slices; "
               "%u reloads, %u changes of CPUs, %u sleeps\n",
               (double)(manager_now() - first) / 86400e6, n_holds, n_contracts, n_kinds, n_limits,
               n_parkings, n_reloads, n_moves, n_sleeps);
        ck_assert(n_contracts > 0 && n_kinds > 0 && n_limits > 0);
        ck_assert(n_parkings > 0);
        ck_assert(n_reloads > 0 && n_moves > 0 && n_sleeps > 0);
        check_growth(early, late);
        ck_assert_int_eq(manager_free(manager), 0);
        check_restored(true);
        ck_assert_int_eq(measure_record(), 0);
        sd_event_unref(event);
        g_rand_free(chance);
        g_free(found);
        tree_done(&tree);
        skipped_usec = asleep_usec = 0; /* Check fails if a test took more than half an hour */
}

int main(void)
{
        log_set_level(LOG_CRIT);
        return unit_run(&(const Unit){ "soak", .timeout = -1 });
}
