/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The contract of the shipped profile balanced in a whole manager, with the shipped policies
 * contract and ondemand, on a described machine of eight cores whose kernel is the test's own: a
 * load leaves cores to spare, but its tasks wait. Time is virtual.
 */
#include "all-machines.h"
#include "bpf/bill.h"
#include "manager/manager-parts.h"
#include "virtual-clock.h"

#define N_CPUS    8
#define WORK      4.4 /* CPUs: with MaxWait=0 alone 7 cores were enough */
#define TICK_USEC 250000
#define LIMIT_US  5000
#define LOAD      180 /* s */
#define REST      240

static Tree tree;
static sd_event *event;
static Manager *manager;
static uint64_t now_usec, waited_usec, busy_usec[N_CPUS];
static CpuSet allowed; /* of the only slice */
static bool refused;
static int late_below; /* cores: one in ten wake-ups is late while fewer are active; 0: none is */
static unsigned n_open;

static int n_active(void)
{
        return N_CPUS - (int)cpuset_count(manager_parked(manager));
}

static int list_children(void *userdata, const char *slice, char ***ret_units)
{
        *ret_units = g_str_equal(slice, "-.slice") ? g_strsplit("system.slice", " ", -1)
                                                   : g_new0(char *, 1);
        return 0;
}

static int get_allowed(void *userdata, const char *name, CpuSet *ret_cpus)
{
        *ret_cpus = allowed;
        return 0;
}

static int set_allowed(void *userdata, const char *name, const CpuSet *cpus)
{
        allowed = *cpus;
        return 0;
}

static const UnitControl units = {
        .list_children = list_children,
        .get_allowed = get_allowed,
        .set_allowed = set_allowed,
        .get_effective = get_allowed,
};

struct Bill {
        uint64_t limits_ns[WAKEUPS_LIMITS];
};

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        if (refused)
                return -EPERM;
        n_open++;
        *ret_bill = g_new0(Bill, 1);
        return 0;
}

void bill_set_limit(Bill *bill, unsigned i, uint64_t ns)
{
        bill->limits_ns[i] = ns;
}

/* All wake-ups of a reading have waited for CPUs. */
int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading)
{
        static GPtrArray none;
        WakeupDelays delays = { 0 };

        *ret_reading = (BillReading){ .over = &none };
        for (int i = 0; i < 100; i++) {
                uint64_t ns = i % 10 == 0 && n_active() < late_below ? 9000000 : 900000;

                wakeups_add(&delays, ns);
                for (unsigned limit = 0; limit < WAKEUPS_LIMITS; limit++)
                        delays.late[limit] += ns > bill->limits_ns[limit];
        }
        take("/system.slice/a.service", "", WAKEUPS_WAITING, &delays, data);
        return 0;
}

void bill_close(Bill *bill)
{
        n_open -= bill != NULL;
        g_free(bill);
}

char *bill_error(int error)
{
        return g_strdup(g_strerror(-error));
}

/* In place, because sensors keep the files open. */
static void overwrite(const char *path, const char *text)
{
        int fd = openat(tree.root, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        close(fd);
}

static void put_counters(void)
{
        g_autoptr(GString) stat = g_string_new("cpu 0 0 0 0 0 0 0 0 0 0\n");
        g_autofree char *pressure = g_strdup_printf(
                "some avg10=0.00 avg60=0.00 avg300=0.00 total=%" PRIu64 "\n", waited_usec);

        for (int cpu = 0; cpu < N_CPUS; cpu++)
                g_string_append_printf(stat, "cpu%d %" PRIu64 " 0 0 %" PRIu64 " 0 0 0 0 0 0\n", cpu,
                                       busy_usec[cpu] / 10000, (now_usec - busy_usec[cpu]) / 10000);
        g_string_append_printf(stat,
                               "intr 0\nctxt %" PRIu64 "\nbtime 1\nprocesses 1\n"
                               "procs_running 1\nprocs_blocked 0\n",
                               now_usec / 50);
        overwrite("proc/stat", stat->str);
        overwrite("proc/pressure/cpu", pressure);
}

/* A tick later: active CPUs have shared the work, and tasks waited for most of the time. */
static void pass(double work)
{
        const CpuSet *parked = manager_parked(manager);
        double share = MIN(work / n_active(), 1);
        uint64_t passed;

        skipped_usec += TICK_USEC;
        passed = manager_now() - now_usec;
        now_usec += passed;
        if (work > 0)
                waited_usec += passed * 9 / 10;
        for (int cpu = 0; cpu < N_CPUS; cpu++)
                if (!cpuset_has(parked, cpu))
                        busy_usec[cpu] += (uint64_t)((double)passed * share);
        put_counters();
        manager_tick(manager);
        while (sd_event_run(event, 0) > 0)
                ;
}

static void start(const char *drop_in)
{
        g_autofree char *shipped = g_build_filename(g_getenv("CONF"), "profiles/balanced.conf",
                                                    NULL);
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        g_autofree char *profile = NULL;
        ManagerSetup setup = { .keep_log_level = true, .units = &units };

        ck_assert(g_file_get_contents(shipped, &profile, NULL, NULL));
        tree = machine_tree("synthetic-2x4-numa.machine");
        tree_put(&tree, "etc/idled/idled.conf",
                 "[Daemon]\nPolicies=contract ondemand\n[Park]\nBackend=systemd\n");
        tree_put(&tree, "vendor/profiles/balanced.conf", profile);
        tree_put(&tree, "etc/idled/profiles/balanced.conf.d/a.conf", drop_in);
        tree_put(&tree, "sys/fs/cgroup/cgroup.controllers", "cpuset\n");
        tree_put(&tree, "run/idled/.empty", "");
        setup.root = tree.root;
        setup.paths = (ConfigPaths){ tree.root, tree.path, "vendor", "etc/idled",
                                     g_getenv("IDLED_POLICIES") };
        setup.run = openat(tree.root, "run/idled", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        now_usec = manager_now();
        put_counters();
        ck_assert_int_ge(sd_event_new(&event), 0);
        if (manager_new(&setup, event, errors, &manager) < 0) {
                g_autofree char *text = config_error_format(errors->pdata[0]);

                ck_abort_msg("%s", text);
        }
        ck_assert_int_eq(manager_start(manager), 0);
}

static void stop(void)
{
        ck_assert_int_eq(manager_free(manager), 0);
        ck_assert_uint_eq(n_open, 0);
        sd_event_unref(event);
        tree_done(&tree);
        skipped_usec = 0;
}

static bool has_contract(void)
{
        return contracts_nth(manager_contracts(manager), 0);
}

/* Seconds of the load until the contract begins; LOAD: it does not. */
static double load_until_contract(void)
{
        uint64_t began = now_usec;

        while (!has_contract() && now_usec - began < LOAD * G_USEC_PER_SEC)
                pass(WORK);
        return (double)(now_usec - began) / 1e6;
}

static const struct {
        const char *name, *drop_in;
        bool refused;
        int late_below;
        int active; /* in the last minute of the load */
        bool contract;
} cases[] = {
        { "balanced", "", false, 0, 5, true },
        { "wake-ups are late on fewer than seven cores", "", false, 7, 7, true },
        { "without BPF", "", true, 0, N_CPUS, true },
        { "balanced+0", "[contract]\nWakeupP99=0\n", false, 0, N_CPUS, false },
        /* ondemand parks by itself where tasks may wait. */
        { "balanced+0 and MaxWait=", "[contract]\nWakeupP99=0\n[ondemand]\nMaxWait=1min\n", false,
          0, 7, false },
};

/* The contract begins after half a minute of a load that parks nothing, and then waiting counts no
 * more: ondemand parks. It ends after the load, and ondemand decides alone. */
TEST_EACH(of_all_units, cases)
{
        const UnitContract *contract;
        double began;
        int as_expected = 0;

        refused = c->refused;
        late_below = c->late_below;
        start(c->drop_in);
        began = load_until_contract();
        if (c->contract) {
                ck_case(c->name, began >= 30 && began < 33, "begins after %g s", began);
                contract = contracts_nth(manager_contracts(manager), 0);
                ck_case(c->name, !contract->cgroup && contract->limit_us == LIMIT_US, "limit");
                ck_case(c->name, n_active() == N_CPUS, "parks before");
        }
        ck_case(c->name, c->contract == (began < LOAD), "begins after %g s", began);
        for (int i = 0; i < LOAD * 4; i++) {
                pass(WORK);
                as_expected += i >= LOAD * 3 && n_active() == c->active;
        }
        ck_case(c->name, as_expected > LOAD / 2, "as expected in %d ticks of %d; now %d cores",
                as_expected, LOAD, n_active());
        for (int i = 0; i < REST * 4; i++)
                pass(0);
        ck_case(c->name, !has_contract() && n_active() == 1, "%d cores without load", n_active());
        if (strstr(c->drop_in, "MaxWait"))
                return stop();
        began = load_until_contract();
        ck_case(c->name, n_active() == N_CPUS, "waiting does not unpark");
        ck_case(c->name, c->contract == (began >= 30 && began < LOAD), "again after %g s", began);
        stop();
}

UNIT("profile-contract")
