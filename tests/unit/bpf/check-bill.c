/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bill of wake-ups on the running kernel, against a program that measures itself. Skipped where
 * BPF is refused.
 *
 * The bill ends when a CPU switches to the program. The program reads the clock after the switch
 * and its return from the kernel, so its own delays are the most that the bill may show. The least
 * are these without the time that it has run by then: the scheduler accounts that from when it
 * began to choose a task. Choosing and returning take some microseconds.
 */
#include "bill-units.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "table.h"

#define WAKEUPS 2000
#define FORKS   2000
#define STORMS  10 /* at most */
#define NAMES   300
#define UNITS   1000
#define PODS    40
#define SLEEPS  4      /* of a process in a cgroup */
#define PERIOD  700000 /* ns: no multiple of a tick */
#define HELD    50000  /* ns */
#define LATE    30     /* the bin that a limit ends, some 15 us */
#define WITHIN  0.05
#define BIN     0.125 /* where few delays are, a quantile is as exact as the bins are narrow */
#define RANKS   10    /* sleeps that did not happen, and wake-ups of other things */

typedef struct Truth {
        uint64_t late_ns[WAKEUPS], least_ns[WAKEUPS]; /* until it read the clock; began to run */
        int n;                                        /* how many of these */
        int stat;                                     /* the thread's schedstat */
        _Atomic uint64_t sent_ns;                     /* when another thread woke this one */
        _Atomic uint32_t asked, answered;             /* wake-ups by that thread */
        atomic_bool over;
} Truth;

static uint64_t clock_ns(clockid_t clock)
{
        struct timespec now;

        clock_gettime(clock, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
        return clock_ns(CLOCK_MONOTONIC);
}

static void pin(int cpu)
{
        cpu_set_t set;

        CPU_ZERO(&set);
        CPU_SET(cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
}

static void sleep_until(uint64_t due)
{
        struct timespec at = { (time_t)(due / 1000000000u), (long)(due % 1000000000u) };

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* How long this thread ran in its life until it last gave its CPU away. */
static uint64_t ran_ns(const Truth *truth)
{
        char text[100] = "";
        uint64_t ran;

        ck_assert_int_gt(pread(truth->stat, text, sizeof(text) - 1, 0), 0);
        ck_assert_int_eq(sscanf(text, "%" SCNu64, &ran), 1);
        return ran;
}

/* Call it first after waking up. */
static void add(Truth *truth, uint64_t since)
{
        uint64_t now = now_ns(), before = ran_ns(truth);
        uint64_t ran = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before, meanwhile = now_ns() - now;

        now = MAX(now, since);
        truth->late_ns[truth->n] = now - since;
        truth->least_ns[truth->n++] = now - since - MIN(ran - MIN(ran, meanwhile), now - since);
}

static void time_timers(Truth *truth)
{
        for (int i = 0; i < WAKEUPS; i++) {
                uint64_t due = now_ns() + PERIOD;

                sleep_until(due);
                add(truth, due);
        }
}

static void send(Truth *truth, uint32_t number)
{
        truth->sent_ns = now_ns();
        truth->answered = number;
        syscall(SYS_futex, &truth->answered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The other CPU wakes this thread, which sleeps by then. */
static void *wake(void *data)
{
        Truth *truth = data;

        pin(1);
        prctl(PR_SET_NAME, "waker");
        for (uint32_t i = 1; i <= WAKEUPS; i++) {
                uint64_t until;

                while (truth->asked < i)
                        ;
                until = now_ns() + PERIOD;
                while (now_ns() < until)
                        ;
                send(truth, i);
        }
        return NULL;
}

/* It keeps the CPU from the thread that it wakes, for HELD to twice HELD. */
static void *wake_and_hold(void *data)
{
        const struct sched_param most = { .sched_priority = 2 }, least = { 0 };
        Truth *truth = data;

        pin(0);
        for (uint32_t i = 1; i <= WAKEUPS; i++) {
                while (truth->asked < i)
                        ;
                sched_setscheduler(0, SCHED_FIFO, &most);
                send(truth, i);
                while (now_ns() < truth->sent_ns + HELD + i * UINT64_C(7919) % HELD)
                        ;
                sched_setscheduler(0, SCHED_OTHER, &least);
        }
        return NULL;
}

static void time_wakes(Truth *truth, void *(*waker)(void *data))
{
        pthread_t thread;

        ck_assert_int_eq(pthread_create(&thread, NULL, waker, truth), 0);
        for (uint32_t i = 0; i < WAKEUPS; i++) {
                truth->asked = i + 1;
                if (syscall(SYS_futex, &truth->answered, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0) == 0)
                        add(truth, truth->sent_ns);
        }
        pthread_join(thread, NULL);
}

static void time_waker(Truth *truth)
{
        time_wakes(truth, wake);
}

static void time_held(Truth *truth)
{
        const struct sched_param middle = { .sched_priority = 1 };

        if (sched_setscheduler(0, SCHED_FIFO, &middle) < 0)
                case_skip("held CPU", "needs CAP_SYS_NICE");
        else
                time_wakes(truth, wake_and_hold);
}

static void *be_busy(void *data)
{
        Truth *truth = data;

        pin(0);
        while (!truth->over)
                ;
        return NULL;
}

/* A task of equal weight has the CPU when the timer expires. */
static void time_waits(Truth *truth)
{
        pthread_t busy;

        ck_assert_int_eq(pthread_create(&busy, NULL, be_busy, truth), 0);
        time_timers(truth);
        truth->over = true;
        pthread_join(busy, NULL);
}

/* The same with a real-time task, which has the CPU at once. */
static void time_real_time(Truth *truth)
{
        const struct sched_param most = { .sched_priority = 1 }, least = { 0 };
        pthread_t busy;

        ck_assert_int_eq(pthread_create(&busy, NULL, be_busy, truth), 0);
        if (sched_setscheduler(0, SCHED_FIFO, &most) < 0)
                case_skip("real-time task", "needs CAP_SYS_NICE");
        time_timers(truth);
        sched_setscheduler(0, SCHED_OTHER, &least);
        truth->over = true;
        pthread_join(busy, NULL);
}

static const struct {
        const char *name;
        void (*time)(Truth *truth);
        int parked;    /* a CPU; -1: none. The program is pinned to CPU 0 */
        unsigned kind; /* what the delays must be; 0: that depends on what else runs here, and
                          test_sleeps.py has each idle state */
        bool is_long;  /* so that choosing and returning do not matter */
} truth_cases[] = {
        { "timers", time_timers, -1, 0 },
        { "another thread", time_waker, -1, 0 },
        { "busy CPU", time_waits, -1, WAKEUPS_WAITING },
        { "busy CPU while another one is parked", time_waits, 1, WAKEUPS_WAITING },
        { "busy CPU while one of its affinity is parked", time_waits, 0, WAKEUPS_PARKED },
        { "real-time task on a busy CPU", time_real_time, -1, WAKEUPS_WAITING },
        { "50 to 100 us", time_held, -1, WAKEUPS_WAITING, true },
};

/* NULL where the kernel refuses; then the case is skipped. */
static Bill *open_detail(enum bill_detail detail)
{
        int r, n_cpus = (int)sysconf(_SC_NPROCESSORS_CONF);
        g_autofree char *error = NULL;
        Bill *bill = NULL;

        r = bill_open(n_cpus, detail, &bill);
        if (r < 0) {
                error = bill_error(r);
                case_skip("bill", error);
        }
        return bill;
}

static Bill *open_bill(void)
{
        return open_detail(BILL_PROCESSES);
}

static int by_value(const void *a, const void *b)
{
        const uint64_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

static const UnitWakeups *find_own(void)
{
        for (unsigned i = 0; i < units->len; i++) {
                const UnitWakeups *unit = units->pdata[i];

                if (g_strcmp0(unit->process, g_get_prgname()) == 0)
                        return unit;
        }
        return NULL;
}

/* In us, so many ranks higher; sorts them. */
static double quantile(uint64_t *ns, int n, double q, int higher)
{
        qsort(ns, (size_t)n, sizeof(*ns), by_value);
        return (double)ns[CLAMP((int)(q * n) + higher, 0, n - 1)] / 1000;
}

static void assert_quantile(const char *name, const WakeupDelays *found, Truth *truth, double q,
                            double within)
{
        double us = wakeups_quantile_us(found, q);
        double least = quantile(truth->least_ns, truth->n, q, -RANKS);
        double most = quantile(truth->late_ns, truth->n, q, RANKS);

        printf("%s: p%g %.1f us, by itself %.1f to %.1f\n", name, q * 100, us, least, most);
        ck_case(name, us <= most * (1 + within) && us >= least * (1 - within),
                "p%g %g us, by itself %g to %g", q * 100, us, least, most);
}

TEST_EACH(measured, truth_cases)
{
        g_autofree Truth *truth = g_new0(Truth, 1);
        BillReading reading, before;
        Bill *bill = open_bill();
        const UnitWakeups *own;
        WakeupDelays all, kinds;
        CpuSet parked = { 0 };
        uint32_t late = 0;

        if (!bill)
                return;
        truth->stat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(truth->stat, 0);
        pin(0);
        prctl(PR_SET_TIMERSLACK, 1);
        cpuset_add(&parked, c->parked);
        bill_set_parked(bill, &parked, 1);
        bill_set_limit(bill, 3, wakeups_bin_begin(LATE) - 1);
        units_read(bill, &before);
        c->time(truth);
        units_read(bill, &reading);
        bill_close(bill);
        own = find_own();
        ck_case(c->name, own, "no row");
        unit_wakeups_sum(own, 0, WAKEUPS_KINDS - 1, &all);
        unit_wakeups_sum(own, c->kind, c->kind, &kinds);
        ck_case(c->name, all.count >= 0.95 * truth->n && all.count <= 1.05 * truth->n + 10,
                "%g wake-ups of %d", (double)all.count, truth->n);
        ck_case(c->name, !c->kind || kinds.count >= (1 - WITHIN) * (double)all.count,
                "%g of %g of its kind", (double)kinds.count, (double)all.count);
        for (unsigned i = LATE; i < WAKEUPS_BINS; i++)
                late += all.bins[i];
        ck_case(c->name, all.late[3] == late, "%u late, %u in bins", all.late[3], late);
        if (c->is_long)
                memcpy(truth->least_ns, truth->late_ns, sizeof(truth->late_ns));
        assert_quantile(c->name, &all, truth, 0.5, WITHIN);
        assert_quantile(c->name, &all, truth, 0.99, c->is_long ? WITHIN : BIN);
        close(truth->stat);
}

/* Rows come once, also those that are not taken. */
TEST(readings)
{
        Bill *bill = open_bill();
        BillReading first, none;
        uint64_t due = now_ns();

        if (!bill)
                return;
        for (int i = 0; i < 20; i++)
                sleep_until(due += PERIOD);
        units_read(bill, &first);
        ck_assert_ptr_nonnull(find_own());
        ck_assert_uint_ge(first.duration_ns, 20 * PERIOD);
        for (int i = 0; i < 20; i++)
                sleep_until(due += PERIOD);
        bill_read(bill, NULL, NULL, &none);
        units_read(bill, &none);
        for (unsigned i = 0; i < units->len; i++) {
                const UnitWakeups *unit = units->pdata[i];
                WakeupDelays all;

                unit_wakeups_sum(unit, 0, WAKEUPS_KINDS - 1, &all);
                ck_assert_msg(g_strcmp0(unit->process, g_get_prgname()) != 0 || all.count < 20,
                              "counted twice");
        }
        bill_close(bill);
}

/* Without detail each cgroup has two rows at most, and all wake-ups. */
TEST(coarse)
{
        g_autofree Truth *truth = g_new0(Truth, 1);
        Bill *bill = open_detail(BILL_COARSE);
        BillReading reading;
        WakeupDelays sum, waited = { 0 };

        if (!bill)
                return;
        truth->stat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
        pin(0);
        time_waits(truth);
        ck_assert_int_eq(units_read(bill, &reading), 0);
        bill_close(bill);
        close(truth->stat);
        for (unsigned i = 0; i < units->len; i++) {
                const UnitWakeups *unit = units->pdata[i];

                ck_assert_ptr_null(unit->process);
                for (unsigned kind = 1; kind < WAKEUPS_KINDS; kind++)
                        ck_assert(kind == WAKEUPS_WAITING || !unit->kinds[kind]);
                unit_wakeups_sum(unit, WAKEUPS_WAITING, WAKEUPS_WAITING, &sum);
                wakeups_merge(&waited, &sum);
        }
        ck_assert_double_ge((double)waited.count, (1 - WITHIN) * truth->n);
}

/* Returns how many wake-ups of this program were counted in a fork storm. What is not counted is
 * known to be lost. */
static uint64_t storm(Bill *bill)
{
        BillReading reading, before;
        const UnitWakeups *own;
        WakeupDelays all;

        units_read(bill, &before);
        for (int i = 0; i < FORKS; i++) {
                pid_t pid = fork();

                ck_assert_int_ge(pid, 0);
                if (pid == 0)
                        _exit(0);
        }
        while (wait(NULL) > 0)
                ;
        units_read(bill, &reading);
        own = find_own();
        ck_assert_ptr_nonnull(own);
        unit_wakeups_sum(own, 0, WAKEUPS_KINDS - 1, &all);
        ck_assert_uint_ge(all.count + reading.lost, FORKS);
        ck_assert_uint_ge(all.count, FORKS * 99 / 100);
        ck_assert_uint_le(all.count, 3 * FORKS);
        ck_assert_uint_eq(reading.unstored, 0);
        return all.count;
}

/* A fork storm: each new process is counted, in the row of its executable, and none is lost. While
 * BPF programs of others come and go, the kernel leaves some switches out: then it is repeated. */
TEST(forks)
{
        Bill *bill = open_bill();
        uint64_t counted = 0;

        if (!bill)
                return;
        for (int i = 0; i < STORMS && counted < FORKS; i++)
                counted = storm(bill);
        bill_close(bill);
        ck_assert_uint_ge(counted, FORKS);
}

static const struct {
        const char *name;
        unsigned rows, least, most; /* of the table, and of this service's */
} shares[] = {
        { "more than one call of the kernel reads, each once", BILL_DELAYS, NAMES * 19 / 20,
          NAMES },
        { "more than its share", BILL_SHARES * 10, 0, 10 },
};

/* Executables of NAMES names have waited, but for a few that did not run before their time was up.
 */
TEST_EACH(many_rows, shares)
{
        g_autofree char *top = g_dir_make_tmp("check-bill-XXXXXX", NULL);
        g_autofree char *program = g_build_filename(top, "program", NULL), *bytes = NULL;
        BillReading reading;
        Bill *bill;
        unsigned found = 0;
        size_t size;

        bill_rows = c->rows;
        bill = open_bill();
        if (!bill)
                return;
        ck_assert(g_file_get_contents("/bin/sleep", &bytes, &size, NULL));
        ck_assert(g_file_set_contents_full(program, bytes, (gssize)size, 0, 0755, NULL));
        for (int i = 0; i < NAMES; i++) {
                g_autofree char *name = g_strdup_printf("%s-%d", program, i);

                ck_assert_int_eq(link(program, name), 0);
                ck_assert(g_spawn_async(NULL, (char *[]){ name, (char[]){ "0.3" }, NULL }, NULL,
                                        G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, NULL, NULL));
                unlink(name);
        }
        while (wait(NULL) > 0)
                ;
        ck_assert_int_eq(units_read(bill, &reading), 0);
        bill_close(bill);
        for (unsigned i = 0; i < units->len; i++)
                found += g_str_has_prefix(((UnitWakeups *)units->pdata[i])->process, "program-");
        ck_case(c->name, found >= c->least && found <= c->most, "%u", found);
        ck_case(c->name, (reading.unstored > 0) == (c->most < NAMES), "without room: %" PRIu64,
                reading.unstored);
        unlink(program);
        rmdir(top);
}

/* What the table has no room for is counted. */
TEST(unstored)
{
        BillReading reading;
        double n = 0;
        Bill *bill;

        bill_rows = 1;
        bill = open_bill();
        if (!bill)
                return;
        for (int i = 0; i < 300; i++)
                sleep_until(now_ns() + PERIOD);
        units_read(bill, &reading);
        bill_close(bill);
        ck_assert_uint_le(units->len, 1);
        for (unsigned i = 0; i < units->len; i++) {
                WakeupDelays all;

                unit_wakeups_sum(units->pdata[i], 0, WAKEUPS_KINDS - 1, &all);
                n += (double)all.count;
        }
        ck_assert_uint_gt(reading.unstored, 0);
        ck_assert(reading.full);
        ck_assert_double_ge(n + (double)reading.unstored, 300);
}

/* The memory of this process's maps, in bytes. */
static double maps_bytes(void)
{
        GDir *dir = g_dir_open("/proc/self/fdinfo", 0, NULL);
        const char *name;
        double sum = 0;

        while ((name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename("/proc/self/fdinfo", name, NULL);
                g_autofree char *text = NULL;
                const char *at;

                if (g_file_get_contents(path, &text, NULL, NULL) && strstr(text, "map_type:") &&
                    (at = strstr(text, "memlock:")))
                        sum += strtod(at + strlen("memlock:"), NULL);
        }
        g_dir_close(dir);
        return sum;
}

/* The hierarchy is that of all mount namespaces: other runs of this test have other names. */
static char *own_name(void)
{
        return g_strdup_printf("check-bill-%d", (int)getpid());
}

/* The root of cgroup v2 in a mount namespace of its own; NULL: not here. */
static char *mount_cgroups(void)
{
        g_autofree char *top = g_dir_make_tmp("check-bill-XXXXXX", NULL);

        if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
            mount("none", top, "cgroup2", 0, NULL) == 0)
                return g_steal_pointer(&top);
        rmdir(top);
        case_skip("cgroups", "needs root and cgroup v2");
        return NULL;
}

static void unmount_cgroups(const char *top)
{
        umount(top);
        rmdir(top);
}

/* A process that sleeps some times and ends, in this cgroup. */
static void run_in(const char *group)
{
        struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
        int fd;
        pid_t pid;

        fd = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
        args.cgroup = (__u64)fd;
        pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0) {
                for (int i = 0; i < SLEEPS; i++)
                        sleep_until(now_ns() + 100000);
                _exit(EXIT_SUCCESS);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        close(fd);
}

/* In a group of its own of the unit's cgroup, as a container has. */
static void run_unit(const char *unit)
{
        g_autofree char *group = g_build_filename(unit, "payload", NULL);

        ck_assert(mkdir(unit, 0755) == 0 && mkdir(group, 0755) == 0);
        run_in(group);
        ck_assert(rmdir(group) == 0 && rmdir(unit) == 0);
}

typedef struct Player {
        int in, out;
        atomic_bool *over;
} Player;

static void *play(void *data)
{
        Player *player = data;
        char ball;

        pin(0);
        while (read(player->in, &ball, 1) == 1 && !*player->over &&
               write(player->out, &ball, 1) == 1)
                ;
        close(player->out);
        return NULL;
}

/* In a mount namespace of its own. All have their rows, though they are gone by then, and though
 * two threads that wake each other on the same CPU make it take a sample. */
TEST(a_thousand_units)
{
        g_autofree char *top = mount_cgroups(), *name = own_name();
        BillReading reading;
        Bill *bill = top ? open_bill() : NULL;
        atomic_bool over = false;
        Player players[2];
        pthread_t threads[2];
        int ends[2][2];
        unsigned found = 0;
        double bytes, counted = 0, all = 0;

        if (!bill)
                return;
        pin(0);
        for (int i = 0; i < 2; i++)
                ck_assert_int_eq(pipe2(ends[i], O_CLOEXEC), 0);
        for (int i = 0; i < 2; i++) {
                players[i] = (Player){ ends[i][0], ends[!i][1], &over };
                pthread_create(&threads[i], NULL, play, &players[i]);
        }
        ck_assert_int_eq(write(ends[0][1], "", 1), 1);
        for (int i = 0; i < UNITS; i++) {
                g_autofree char *unit = g_strdup_printf("%s/%s-%d.service", top, name, i);

                run_unit(unit);
        }
        over = true;
        for (int i = 0; i < 2; i++)
                pthread_join(threads[i], NULL);
        bytes = maps_bytes();
        ck_assert_int_eq(units_read(bill, &reading), 0);
        bill_close(bill);
        for (unsigned i = 0; i < units->len; i++) {
                const UnitWakeups *unit = units->pdata[i];

                WakeupDelays sum;

                unit_wakeups_sum(unit, 0, WAKEUPS_KINDS - 1, &sum);
                all += (double)sum.count;
                if (!g_str_has_prefix(unit->cgroup + 1, name))
                        continue;
                found += g_str_equal(unit->cgroup + 1, unit->unit);
                counted += (double)sum.count;
        }
        printf("%u units take %.1f MB, %" PRIu64 " wake-ups are not in the sample\n", found,
               bytes / 1e6, reading.skipped);
        printf("%g are counted in the units, %" PRIu64 " are lost\n", counted, reading.lost);
        ck_assert_msg(found == UNITS && reading.unstored == 0,
                      "%u units, %" PRIu64 " without room, %" PRIu64 " lost", found,
                      reading.unstored, reading.lost);
        ck_assert_double_ge(counted + (double)reading.lost, UNITS * (1 + SLEEPS) * 0.95);
        ck_assert_double_le((double)reading.skipped, all);
        ck_assert_double_le(bytes, 13e6);
        unmount_cgroups(top);
}

static void run_deep(const char *top, int levels)
{
        g_autofree char *name = own_name(), *group = g_build_filename(top, name, NULL);

        ck_assert_int_eq(mkdir(group, 0755), 0);
        if (levels > 1)
                run_deep(group, levels - 1);
        else
                run_in(group);
        ck_assert_int_eq(rmdir(group), 0);
}

/* One service with more cgroups than its share, and one process too deep to see whose it is, take
 * no row of others, and it is known whose wake-ups have none. */
TEST(others_have_rows)
{
        g_autofree char *top = mount_cgroups();
        g_autofree char *name = own_name();
        g_autofree char *slice = g_strdup_printf("%s/%s.slice", top, name);
        g_autofree char *pods = g_strconcat(slice, "/pods.slice", NULL);
        g_autofree char *other = g_strdup_printf("%s/%s.service", top, name);
        BillReading reading;
        bool deep = false, found = false;
        Bill *bill;

        bill_rows = BILL_SHARES * PODS;
        bill = top ? open_bill() : NULL;
        if (!bill)
                return;
        ck_assert(mkdir(slice, 0755) == 0 && mkdir(pods, 0755) == 0);
        for (int i = 0; i < 2 * PODS; i++) {
                g_autofree char *pod = g_strdup_printf("%s/%d.scope", pods, i);

                run_unit(pod);
        }
        ck_assert(rmdir(pods) == 0 && rmdir(slice) == 0);
        run_deep(top, 2 * CGROUP_LEVELS);
        run_unit(other);
        ck_assert_int_eq(units_read(bill, &reading), 0);
        unmount_cgroups(top);
        for (unsigned i = 0; i < units->len; i++) {
                const UnitWakeups *unit = units->pdata[i];

                deep |= g_str_has_prefix(unit->cgroup, "?/") && strstr(unit->cgroup, name);
                found |= g_str_equal(unit->cgroup, other + strlen(top));
        }
        ck_assert(deep && found && !reading.full);
        ck_assert_uint_ge(reading.unstored, PODS);
        ck_assert_ptr_nonnull(reading.over);
        ck_assert(g_ptr_array_find_with_equal_func(reading.over, pods + strlen(top), g_str_equal,
                                                   NULL));
        ck_assert(!g_ptr_array_find_with_equal_func(reading.over, other + strlen(top), g_str_equal,
                                                    NULL));
        bill_close(bill);
}

int main(void)
{
        g_set_prgname("check-bill");
        return unit_run(&(const Unit){ "bill", .timeout = 60 });
}
