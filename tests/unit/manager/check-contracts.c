/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Contracts of units: whose there are, and what is counted for them. A kernel of ours counts. */
#include "manager/contracts.h"

#include <sys/mman.h>

#include "base/private-text.h"
#include "bpf/bill.h"
#include "holds-fixture.h"
#include "scratch.h"

struct Bill {
        uint64_t limits_ns[WAKEUPS_LIMITS];
        GPtrArray *over;
};

static int open_error, read_error;
static unsigned n_open, n_units;
static bool full;
static const char *over; /* a cgroup whose share is used up */
static uint64_t each;    /* wake-ups of each unit in a reading, half of them from an idle state */
static uint64_t now, read_usec;
static unsigned n_late; /* so many units are late: the others after 1 ms, these after 10 ms */

int bill_open(int n_cpus, enum bill_detail detail, Bill **ret_bill)
{
        ck_assert_int_eq(detail, BILL_COARSE);
        if (open_error < 0)
                return open_error;
        n_open++;
        *ret_bill = g_new0(Bill, 1);
        (*ret_bill)->over = g_ptr_array_new();
        return 0;
}

void bill_set_limit(Bill *bill, unsigned i, uint64_t ns)
{
        bill->limits_ns[i] = ns;
}

static WakeupDelays count(const Bill *bill, uint64_t ns)
{
        WakeupDelays delays = { 0 };

        for (uint64_t i = 0; i < each / 2; i++)
                wakeups_add(&delays, ns);
        for (unsigned i = 0; i < WAKEUPS_LIMITS; i++)
                delays.late[i] = bill->limits_ns[i] < ns ? (uint32_t)each / 2 : 0;
        return delays;
}

int bill_read(Bill *bill, BillTake take, void *data, BillReading *ret_reading)
{
        WakeupDelays early = count(bill, 1000000), late = count(bill, 10000000);

        g_ptr_array_set_size(bill->over, 0);
        if (over)
                g_ptr_array_add(bill->over, (char *)over);
        *ret_reading = (BillReading){ .full = full,
                                      .over = bill->over,
                                      .duration_ns = (now - read_usec) * 1000 };
        read_usec = now;
        for (unsigned i = 0; i < n_units; i++) {
                g_autofree char *cgroup = g_strdup_printf("/system.slice/u%u.service", i);

                take(cgroup, "", 2, &early, data);
                take(cgroup, "", WAKEUPS_WAITING, i < n_late ? &late : &early, data);
        }
        return read_error;
}

void bill_close(Bill *bill)
{
        if (!bill)
                return;
        n_open--;
        g_ptr_array_unref(bill->over);
        g_free(bill);
}

char *bill_error(int error)
{
        return g_strdup(g_strerror(-error));
}

#define USER 4711

static Contracts *contracts;

static void setup_contracts(void)
{
        setup();
        scratch_open();
        contracts = contracts_new(open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC), 4);
        open_error = read_error = 0;
        full = false;
        over = NULL;
        each = 100;
        n_late = 0;
        n_units = 3;
        n_open = 0;
        now = read_usec = 1000000;
}

static void teardown_contracts(void)
{
        contracts_free(contracts);
        ck_assert_uint_eq(n_open, 0);
        scratch_close();
        teardown();
}

static void move(pid_t pid, const char *cgroup)
{
        g_autofree char *path = g_strdup_printf("%d/cgroup", pid);
        g_autofree char *text = g_strdup_printf("0::%s\n", cgroup);

        scratch_file(path, text);
}

static bool follow(uint32_t rest_us, bool fresh)
{
        return contracts_follow(contracts, holds, &online, rest_us, fresh, now);
}

/* A process of the user, 0: of the test's, with a contract; returns the hold. */
static uint64_t contract_of(uid_t uid, const char *cgroup, uint32_t p99_us, pid_t *ret_pid)
{
        HoldRequest r = request();

        r.pid = start_process_of(uid ?: geteuid());
        r.bound = true;
        r.p99_us = p99_us;
        move(r.pid, cgroup);
        if (ret_pid)
                *ret_pid = r.pid;
        r.uid = uid;
        for (;;) { /* until it is that user's */
                uint64_t id;
                int error = holds_add(holds, &r, NULL, &id);

                if (error == 0)
                        return id;
                ck_assert_int_eq(error, -EPERM);
                g_usleep(1000);
        }
}

/* "a.service 5000, * 100": the contracts, as people see them. */
static void expect(const char *expected)
{
        GString *text = g_string_new(NULL);
        const UnitContract *unit;
        const Contract *list;

        for (unsigned i = 0; (unit = contracts_nth(contracts, i)); i++) {
                g_string_append_printf(text, "%s%s %u", i ? ", " : "", unit->unit ?: "*",
                                       unit->limit_us);
                ck_assert_int_gt(contracts_list(contracts, &list), (int)i);
                ck_assert(list[i].id == unit->counts.id && list[i].limit_us == unit->limit_us);
                ck_assert(!list[i].wakeups == (contracts_unit_error(contracts, unit) != NULL));
        }
        ck_assert_str_eq(text->str, expected);
        g_string_free(text, TRUE);
}

static uint64_t counted(unsigned i)
{
        return contracts_nth(contracts, i)->counts.wakeups.count;
}

/* "a.service 3/5": of its wake-ups so many were late. */
static void expect_late(const char *expected)
{
        g_autoptr(GString) text = g_string_new(NULL);
        const Contract *list;
        int n = contracts_list(contracts, &list);

        for (int i = 0; i < n; i++)
                g_string_append_printf(text, "%s%s %u/%u", i ? ", " : "",
                                       contracts_nth(contracts, (unsigned)i)->unit,
                                       list[i].wakeups->late[list[i].limit],
                                       (unsigned)list[i].wakeups->count);
        ck_assert_str_eq(text->str, expected);
}

static void expect_shown(uint64_t id, uid_t reader, const char *part)
{
        g_autofree char *marked = contracts_obstacle(contracts, holds_find(holds, id));
        g_autofree char *text = marked ? private_text_for(marked, reader) : NULL;

        ck_assert_msg(part ? text && strstr(text, part) : !text, "found \"%s\", expected \"%s\"",
                      text ?: "", part ?: "");
}

static void expect_obstacle(uint64_t id, const char *part)
{
        expect_shown(id, 0, part);
}

/* The kernel has the programs only while there is a contract. */
TEST(comes_and_goes)
{
        pid_t a, b;
        uint64_t first;

        ck_assert(!follow(0, false));
        expect("");
        ck_assert_uint_eq(n_open, 0);
        first = contract_of(0, "/system.slice/u0.service/worker/1", 9000, &a);
        ck_assert(follow(0, true));
        expect("u0.service 9000");
        ck_assert_uint_eq(n_open, 1);
        contracts_read(contracts);
        ck_assert_uint_eq(counted(0), 100);
        ck_assert_uint_eq(contracts_nth(contracts, 0)->counts.idle.count, 50);
        contract_of(0, "/system.slice/u0.service", 5000, &b); /* tighter, in the same unit */
        ck_assert(follow(0, true));
        expect("u0.service 5000");
        expect_obstacle(first, NULL);
        end_process(b);
        wait_for(1);
        ck_assert(follow(0, true));
        expect("u0.service 9000");
        end_last(a);
        ck_assert(follow(0, true));
        expect("");
        ck_assert_uint_eq(n_open, 0);
}

/* Each contract's own limit decides what is late, also of one that comes while others are counted:
 * what was counted by then is not about it. */
TEST(late)
{
        pid_t a;

        contract_of(0, "/system.slice/u0.service", 900, &a);
        contract_of(0, "/system.slice/u1.service", 2000, NULL);
        follow(0, true);
        contracts_read(contracts);
        expect_late("u0.service 100/100, u1.service 0/100");
        contract_of(0, "/system.slice/u2.service", 500, NULL);
        end_process(a);
        wait_for(2);
        follow(0, true);
        contracts_read(contracts);
        expect_late("u2.service 0/0, u1.service 0/200");
        contracts_read(contracts);
        expect_late("u2.service 100/100, u1.service 0/300");
}

/* What counts is where the process is now; that is read once in a while. */
TEST(moves)
{
        pid_t pid;

        contract_of(0, "/system.slice/u0.service", 5000, &pid);
        follow(0, true);
        move(pid, "/system.slice/u1.service");
        ck_assert(!follow(0, false));
        expect("u0.service 5000");
        now += 6000000;
        ck_assert(follow(0, false));
        expect("u1.service 5000");
}

/* Another process has the number of one that ended: it is not the one of the hold. */
TEST(number_used_again)
{
        HoldRequest r = request();
        int fd;

        r.pid = start_process();
        r.p99_us = 5000;
        move(r.pid, "/system.slice/u0.service");
        add(&r, &fd);
        follow(0, true);
        end_process(r.pid);
        expect_left(1);
        move(r.pid, "/system.slice/u1.service");
        ck_assert(!follow(0, true));
        expect("u0.service 5000");
        close(fd);
        wait_for(0);
}

/* A hold of a unit stays a contract of that, wherever its process is, and whether it is there. */
TEST(of_a_given_unit)
{
        HoldRequest r = request();
        pid_t pid = start_process();

        r.pid = pid;
        r.bound = true;
        r.p99_us = 5000;
        r.cgroup = "/system.slice/u0.service/below";
        add(&r, NULL);
        ck_assert(follow(0, true));
        expect("u0.service 5000");
        move(pid, "/system.slice/u1.service");
        now += 6000000;
        ck_assert(!follow(0, false));
        expect("u0.service 5000");
        end_last(pid);
        ck_assert(follow(0, true));
        expect("");
}

static void keep(const Held *held, void *userdata)
{
}

/* As with Linger= of a rule: the process may have ended before anything was read. */
TEST(ended_before_it_was_read)
{
        HoldRequest r = request();

        r.pid = start_process();
        r.bound = true;
        r.p99_us = 5000;
        r.cgroup = "/system.slice/u0.service";
        r.calls.gone = keep;
        add(&r, NULL);
        end_process(r.pid);
        while (!holds_nth(holds, 0)->left)
                ck_assert_int_ge(sd_event_run(event, 10 * G_USEC_PER_SEC), 0);
        ck_assert(follow(0, true));
        expect("u0.service 5000");
}

/* A profile's contract counts all other units as one. */
TEST(rest)
{
        pid_t pid;

        contract_of(0, "/system.slice/u1.service", 5000, &pid);
        ck_assert(follow(20000, true));
        expect("* 20000, u1.service 5000");
        n_units = 1000;
        contracts_read(contracts);
        ck_assert_uint_eq(counted(0), 999 * 100);
        ck_assert_uint_eq(counted(1), 100);
        ck_assert(!follow(20000, false));
        ck_assert(follow(10000, false));
        ck_assert_uint_eq(counted(0), 0);
        end_last(pid);
        ck_assert(follow(0, true));
        ck_assert_uint_eq(n_open, 0);
}

/* Some seconds in which each unit wakes up `wakeups` times. */
static void pass(uint64_t wakeups)
{
        each = wakeups;
        now += 5000000;
        contracts_read(contracts);
        follow(5000, false);
}

/* How many units are judged apart; they are not shown. */
static int apart(void)
{
        const Contract *list;
        int n = contracts_list(contracts, &list);

        ck_assert_ptr_null(contracts_nth(contracts, 1));
        for (int i = 0; i < n; i++)
                ck_assert_msg(list[i].rest && list[i].limit_us == 5000 && list[i].wakeups, "%d", i);
        return n - 1;
}

/* A unit without a contract of its own is judged apart if it is late and wakes up often. What is
 * found out about it is reported of all, also when it is gone. */
TEST(judged_apart)
{
        ContractReport reports[2] = {
                { .measured = true, .kept = 9 },
                { .measured = true, .kept = 2, .broken = 1, .p99_us = 6000, .wakeups = 200 }
        };
        const ContractReport *shown;
        const Contract *list;

        follow(5000, false);
        pass(100);
        ck_assert_int_eq(apart(), 0);
        n_late = 1;
        pass(98);
        ck_assert_int_eq(apart(), 0);
        pass(100);
        ck_assert_int_eq(apart(), 1);
        pass(100); /* a part of these was before it was judged apart */
        pass(50);
        ck_assert_int_eq(apart(), 1);
        contracts_list(contracts, &list);
        ck_assert_uint_eq(list[0].wakeups->count, 3 * (100 + 98 + 100 + 100 + 50));
        ck_assert_uint_eq(list[1].wakeups->count, 50);
        ck_assert_uint_eq(list[1].wakeups->late[list[1].limit], 25);
        for (int i = 0; i < 2; i++)
                reports[i].id = list[i].id;
        ck_assert(contracts_note(contracts, reports, 2));
        ck_assert(!contracts_note(contracts, reports, 2));
        shown = &contracts_nth(contracts, 0)->counts.report;
        ck_assert_uint_eq(shown->kept, 11);
        ck_assert_uint_eq(shown->broken, 1);
        pass(48);
        ck_assert_int_eq(apart(), 0);
        contracts_note(contracts, reports, 1);
        shown = &contracts_nth(contracts, 0)->counts.report;
        ck_assert_uint_eq(shown->kept, 11);
        ck_assert_uint_eq(shown->broken, 1);
        follow(0, false);
}

/* A time without readings says nothing of how often units wake up. */
TEST(rates_are_of_what_was_read)
{
        const Contract *list;
        uint64_t id;

        n_late = 1;
        follow(5000, false);
        pass(100);
        ck_assert_int_eq(apart(), 1);
        contracts_list(contracts, &list);
        id = list[1].id;
        each = 20;
        now += 500000;
        contracts_read(contracts);
        now += 5000000;
        follow(5000, false);
        ck_assert_int_eq(apart(), 1);
        contracts_drop(contracts);
        now += 5000000;
        follow(5000, false);
        ck_assert_int_eq(apart(), 1);
        contracts_list(contracts, &list);
        ck_assert_uint_eq(list[1].id, id);
        follow(0, false);
}

/* A unit that is on time since it is judged keeps its place, one that nothing helps loses it. */
TEST(who_stays_apart)
{
        ContractReport report = { .measured = true, .infeasible = true, .best_us = 7000 };
        const Contract *list;

        n_units = 6;
        n_late = 1;
        follow(5000, false);
        pass(100);
        ck_assert_int_eq(apart(), 1);
        contracts_list(contracts, &list);
        report.id = list[1].id;
        n_late = 6;
        pass(100);
        ck_assert_int_eq(apart(), 4);
        contracts_list(contracts, &list);
        ck_assert_uint_eq(list[1].id, report.id);
        ck_assert(!contracts_note(contracts, &report, 1)); /* nothing that is shown changed */
        pass(100);
        ck_assert_int_eq(apart(), 4);
        contracts_list(contracts, &list);
        for (int i = 1; i < 5; i++)
                ck_assert_uint_ne(list[i].id, report.id);
        follow(0, false);
}

/* The contracts of holds come first, and there is a bound. */
TEST(few_are_judged_apart)
{
        pid_t pids[CONTRACTS_MAX];
        const Contract *list;

        n_units = n_late = 40;
        follow(5000, false);
        pass(200);
        ck_assert_int_eq(apart(), 4);
        for (unsigned i = 0; i < G_N_ELEMENTS(pids); i++) {
                g_autofree char *cgroup = g_strdup_printf("/system.slice/x%u.service", i);

                contract_of(0, cgroup, 9000, &pids[i]);
                follow(5000, true);
                ck_assert_int_eq(contracts_list(contracts, &list), MIN(CONTRACTS_MAX, i + 6));
                ck_assert_ptr_nonnull(contracts_nth(contracts, MIN(i + 1, CONTRACTS_MAX - 1)));
                ck_assert_ptr_null(contracts_nth(contracts, i + 2));
        }
        end_all(pids, G_N_ELEMENTS(pids));
        follow(0, false);
}

/* CPUs that go offline leave the contracts, and are in them again when they come back. */
TEST(offline)
{
        const CpuSet all = online;
        const Contract *list;
        CpuSet gone = { 0 };
        if (cpuset_count(&online) < 2) {
                case_skip("offline", "needs two CPUs");
                return;
        }
        cpuset_add(&gone, cpuset_next(&online, -1));
        contract_of(0, "/system.slice/u0.service", 5000, NULL);
        for (unsigned i = 0; i < 3; i++) {
                online = all;
                if (i == 1)
                        cpuset_subtract(&online, &gone);
                holds_recheck(holds);
                holds_follow(holds, &online, now += 1000000);
                follow(10000, true);
                ck_assert_int_eq(contracts_list(contracts, &list), 2);
                for (unsigned k = 0; k < 2; k++)
                        ck_assert_msg(cpuset_equal(&list[k].cpus, &online), "contract %u, step %u",
                                      k, i);
                ck_assert_uint_eq(n_open, 1);
        }
}

/* Root's come first, then the tightest; the rest is not measured. */
TEST(bounded)
{
        uint64_t ids[CONTRACTS_MAX + 2];

        for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++) {
                g_autofree char *cgroup = g_strdup_printf("/system.slice/u%u.service", i);

                ids[i] = contract_of(0, cgroup, 1000 * (100 - i), NULL);
        }
        follow(0, true);
        ck_assert_ptr_null(contracts_nth(contracts, CONTRACTS_MAX));
        ck_assert_uint_eq(contracts_nth(contracts, 0)->limit_us, 1000 * (99 - CONTRACTS_MAX));
        expect_obstacle(ids[0], "more important");
        expect_obstacle(ids[CONTRACTS_MAX], NULL);
}

/* A user has four places, which infeasible contracts leave to others. */
TEST(places)
{
        ContractReport report = { .measured = true, .infeasible = true, .best_us = 7000 };
        uint64_t ids[5];

        if (getuid() != 0) {
                case_skip("places", "needs root");
                return;
        }
        for (unsigned i = 0; i < G_N_ELEMENTS(ids); i++) {
                g_autofree char *cgroup = g_strdup_printf("/user.slice/user-4711.slice/s%u.scope",
                                                          i);

                ids[i] = contract_of(USER, cgroup, 1000 * (i + 1), NULL);
        }
        follow(0, true);
        expect("s0.scope 1000, s1.scope 2000, s2.scope 3000, s3.scope 4000");
        expect_obstacle(ids[4], "4 of a user");
        report.id = contracts_nth(contracts, 0)->counts.id;
        contracts_note(contracts, &report, 1);
        for (unsigned i = 0; i < 2; i++) {
                ck_assert(follow(0, true) == (i == 0));
                expect("s1.scope 2000, s2.scope 3000, s3.scope 4000, s4.scope 5000");
        }
}

TEST(users)
{
        uint64_t own, other;

        if (getuid() != 0) {
                case_skip("users", "needs root");
                return;
        }
        own = contract_of(USER, "/user.slice/user-4711.slice/session-1.scope", 5000, NULL);
        other = contract_of(USER, "/system.slice/u0.service", 1000, NULL);
        follow(0, true);
        expect("session-1.scope 5000");
        expect_obstacle(own, NULL);
        expect_shown(other, USER, "u0.service, which is no unit of user 4711");
        expect_shown(other, USER + 1, "in no unit of its user");
}

/* BPF is refused, or lost in the middle: the contract stays, and is not measured. */
TEST_RANGE(without_bpf, 0, 2)
{
        uint64_t id;
        pid_t pid;

        open_error = _i ? 0 : -EPERM;
        id = contract_of(0, "/system.slice/u0.service", 5000, &pid);
        follow(0, true);
        read_error = -EPERM;
        ck_assert(contracts_drop(contracts) == (_i == 1)); /* clients must know */
        expect("u0.service 5000");
        ck_assert(!strstr(contracts_error(contracts), "failed to read") == (_i == 0));
        expect_obstacle(id, "not measured");
        open_error = read_error = 0;
        now += 50000000;
        ck_assert(!follow(0, false)); /* not tried again in each tick */
        ck_assert_uint_eq(n_open, 0);
        now += 11000000;
        ck_assert(follow(0, false));
        ck_assert_uint_eq(n_open, 1);
        expect_obstacle(id, NULL);
        end_last(pid);
        follow(0, true);
        ck_assert_ptr_null(contracts_error(contracts));
}

/* How often `text` was logged since the last call. */
static unsigned count_logged(int log, const char *text)
{
        char found[4096];
        ssize_t n = pread(log, found, sizeof(found) - 1, 0);
        unsigned times = 0;

        ck_assert_int_ge(n, 0);
        found[n] = '\0';
        for (const char *at = found; (at = strstr(at, text)); at++)
                times++;
        ck_assert_int_eq(ftruncate(log, 0), 0);
        return times;
}

/* The contract of a profile comes with load, again and again: the journal need not have it each
 * time. */
TEST(said_once)
{
        int log = memfd_create("log", MFD_CLOEXEC);
        pid_t pid;

        ck_assert_int_eq(fcntl(log, F_SETFL, O_APPEND), 0);
        ck_assert_int_eq(dup2(log, STDERR_FILENO), STDERR_FILENO);
        for (int i = 0; i < 3; i++) {
                open_error = i < 2 ? -EPERM : 0;
                for (int times = 0; times < 3; times++, now += 100000000) {
                        follow(5000, true);
                        follow(0, true);
                }
                ck_assert_uint_eq(count_logged(log, "so the profile's contract has no effect"),
                                  i == 0);
        }
        open_error = -EPERM;
        follow(5000, true);
        ck_assert_uint_eq(count_logged(log, "so the profile's contract has no effect"), 1);
        now += 100000000;
        contract_of(0, "/system.slice/u0.service", 5000, &pid);
        for (int times = 0; times < 3; times++, now += 100000000)
                follow(5000, true);
        ck_assert_uint_eq(count_logged(log, "so contracts have no effect"), 1); /* a unit's */
        end_last(pid);
        follow(0, true);
        open_error = 0;
}

/* Units may be in what the kernel had no room for, so none is measured then. */
TEST(full_tables)
{
        uint64_t id;
        id = contract_of(0, "/system.slice/u0.service", 5000, NULL);
        follow(0, true);
        full = true;
        ck_assert(contracts_read(contracts));
        ck_assert(!contracts_read(contracts));
        expect_obstacle(id, "no room");
        expect("u0.service 5000");
        full = false;
        ck_assert(contracts_read(contracts));
        expect_obstacle(id, NULL);
        expect("u0.service 5000");
}

/* Cgroups without a row are of one service or user, and end no contract of others. */
static const struct {
        const char *name, *cgroup, *over;
        const char *obstacle; /* of this cgroup's contract; NULL: it is measured */
} short_cases[] = {
        { "a user's", "/system.slice/u0.service", "/user.slice/user-4711.slice", NULL },
        { "another service's", "/system.slice/u0.service", "/system.slice/u00.service", NULL },
        { "its own", "/system.slice/u0.service/main", "/system.slice/u0.service", "more cgroups" },
        { "those of all pods", "/k.slice/k-pods.slice/k-pod1.slice/c1.scope",
          "/k.slice/k-pods.slice", "more cgroups" },
        { "below its unit", "/top.service", "/top.service/a", "more cgroups" },
        { "deep", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15", NULL, NULL },
        { "too deep", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", NULL, "more levels" },
};

TEST_EACH(short_of_rows, short_cases)
{
        const UnitContract *unit;
        uint64_t id;
        id = contract_of(0, c->cgroup, 5000, NULL);
        follow(20000, true);
        over = c->over;
        contracts_read(contracts);
        follow(20000, false);
        contracts_read(contracts);
        expect_obstacle(id, c->obstacle);
        for (unsigned i = 0; (unit = contracts_nth(contracts, i)); i++)
                ck_case(c->name,
                        !contracts_unit_error(contracts, unit) == !(unit->cgroup && c->obstacle),
                        "%s", contracts_unit_error(contracts, unit));
        ck_assert_ptr_null(contracts_error(contracts));
        over = NULL;
        ck_assert(contracts_read(contracts) == (c->obstacle && c->over));
}

/* What was counted before the machine slept is dropped, and counts never stop at full bins. */
TEST(begins_again)
{
        contract_of(0, "/system.slice/u0.service", 5000, NULL);
        follow(0, true);
        contracts_read(contracts);
        contracts_drop(contracts);
        ck_assert_uint_eq(counted(0), 0);
        ((UnitContract *)contracts_nth(contracts, 0))->counts.wakeups.count = UINT32_MAX;
        contracts_read(contracts);
        ck_assert_uint_eq(counted(0), 100);
}

TEST(notes)
{
        ContractReport report = { .measured = true, .infeasible = true, .best_us = 7000 };
        uint64_t id;
        id = contract_of(0, "/system.slice/u0.service", 5000, NULL);
        follow(0, true);
        ck_assert_int_eq(contracts_nth(contracts, 0)->counts.report.latency_us, -1); /* none yet */
        report.id = contracts_nth(contracts, 0)->counts.id;
        ck_assert(contracts_note(contracts, &report, 1));
        ck_assert(!contracts_note(contracts, &report, 1));
        expect_obstacle(id, "p99 of wake-ups is 7 ms");
        expect_shown(id, USER, "infeasible with everything active");
        report.infeasible = false;
        ck_assert(contracts_note(contracts, &report, 1));
        expect_obstacle(id, NULL);
}

UNIT("contracts", .setup = setup_contracts, .teardown = teardown_contracts)
