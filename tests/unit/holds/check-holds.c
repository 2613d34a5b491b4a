/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holds: what they are about, their descriptors, and that nothing of them stays. */
#include <malloc.h>

#include "holds-fixture.h"

#define NOBODY 65534

TEST(seen_by_policies)
{
        CpuSet first = { 0 };
        HoldRequest r = request();
        const Hold *list;
        uint64_t id;

        cpuset_add(&first, cpuset_next(&online, -1));
        r.reason = "line\nbreak";
        r.profile = "performance";
        r.min_khz = 800000;
        r.min_cores = 2;
        r.global = true;
        r.cpus = &first;
        id = add(&r, NULL);
        ck_assert_uint_eq(holds_list(holds, &list), 1);
        ck_assert_uint_eq(list->id, id);
        ck_assert_str_eq(list->reason, "line\\x0abreak");
        ck_assert_str_eq(list->profile, "performance");
        ck_assert_int_eq(list->latency_us, 50);
        ck_assert_uint_eq(list->min_khz, 800000);
        ck_assert_uint_eq(list->min_cores, 2);
        ck_assert(list->global && list->keep && cpuset_equal(&list->cpus, &first));
        ck_assert_ptr_eq(holds_hold(holds_find(holds, id)), list);
        ck_assert_uint_eq(n_changes, 1);
        ck_assert_int_eq(holds_remove(holds, id), 0);
        ck_assert_int_eq(holds_remove(holds, id), -ENOENT);
        ck_assert_uint_eq(holds_list(holds, &list), 0);
        ck_assert_uint_eq(n_changes, 2);
        ck_assert_uint_eq(n_ended, 0);
}

/* Holds that end together are reported once; without any, nothing is reported. */
TEST(deferred)
{
        HoldRequest r = request();
        uint64_t ids[5];

        for (int i = 0; i < 5; i++)
                ids[i] = add(&r, NULL);
        n_changes = 0;
        for (int n = 5; n >= 0; n -= 5) {
                holds_defer(holds, true);
                holds_defer(holds, true);
                for (int i = 0; i < n; i++)
                        ck_assert_int_eq(holds_remove(holds, ids[i]), 0);
                holds_defer(holds, false);
                ck_assert_uint_eq(n_changes, n > 0 ? 0 : 1);
                holds_defer(holds, false);
                ck_assert_uint_eq(n_changes, 1);
        }
        add(&r, NULL);
        ck_assert_uint_eq(n_changes, 2);
}

/* As when a client exits that had many. */
TEST(many_descriptors)
{
        HoldRequest r = request();
        int fds[300];

        for (size_t i = 0; i < G_N_ELEMENTS(fds); i++)
                add(&r, &fds[i]);
        n_changes = 0;
        for (size_t i = 0; i < G_N_ELEMENTS(fds); i++)
                close(fds[i]);
        expect_left(0);
        ck_assert_uint_eq(n_ended, G_N_ELEMENTS(fds));
        ck_assert_uint_ge(n_changes, 1);
        ck_assert_uint_le(n_changes, 2);
}

TEST(others_stay_when_one_ends)
{
        uint64_t ids[5];

        for (int i = 0; i < 5; i++) {
                HoldRequest r = request();

                r.latency_us = i;
                ids[i] = add(&r, NULL);
        }
        for (int i = 0; i < 5; i += 2)
                ck_assert_int_eq(holds_remove(holds, ids[i]), 0);
        for (int i = 0; i < 5; i++) {
                const Held *held = holds_find(holds, ids[i]);

                ck_assert(!held == !(i % 2));
                if (held)
                        ck_assert_int_eq(holds_hold(held)->latency_us, i);
        }
}

TEST(ends_with_the_descriptor)
{
        HoldRequest r = request();
        int fd, copy;
        uint64_t id = add(&r, &fd);

        copy = dup(fd);
        close(fd);
        expect_left(1);
        close(copy);
        wait_for(0);
        ck_assert_uint_eq(n_ended, 1);
        ck_assert_uint_eq(last_ended, id);
}

/* A process that inherits the descriptor keeps the hold. */
TEST(inherited)
{
        HoldRequest r = request();
        pid_t heir;
        int fd;

        add(&r, &fd);
        heir = start_process();
        close(fd);
        expect_left(1);
        end_process(heir);
        wait_for(0);
}

TEST(online_changes)
{
        CpuSet few = { 0 }, many = { 0 }, named = { 0 };
        HoldRequest r = request();
        const Hold *list;

        cpuset_add_range(&few, 0, 3);
        cpuset_add_range(&many, 0, 7);
        cpuset_add_range(&named, 2, 5);
        add(&r, NULL);
        r.cpus = &named;
        add(&r, NULL);
        ck_assert(holds_follow(holds, &few, 0));
        ck_assert_uint_eq(holds_list(holds, &list), 2);
        ck_assert_int_eq(cpuset_count(&list[0].cpus), 4);
        ck_assert_int_eq(cpuset_count(&list[1].cpus), 2);
        ck_assert(holds_follow(holds, &many, 0));
        ck_assert_int_eq(cpuset_count(&list[0].cpus), 8);
        ck_assert_int_eq(cpuset_count(&list[1].cpus), 4);
}

TEST(leaves_no_trace)
{
        HoldRequest r = request();
        unsigned descriptors = 0;
        size_t memory = 0;
        int fd;

        r.pid = getpid();
        for (int i = 0; i < 10000; i++) {
                add(&r, &fd);
                close(fd);
                wait_for(0);
                if (i == 100) { /* tables have grown to their size */
                        descriptors = count_descriptors();
                        memory = mallinfo2().uordblks;
                }
        }
        ck_assert_uint_eq(count_descriptors(), descriptors);
        ck_assert_uint_le(mallinfo2().uordblks, memory + 4096);
        ck_assert_uint_eq(n_ended, 10000);
}

TEST(limited)
{
        HoldRequest r = request();
        uint64_t id;

        r.uid = NOBODY;
        for (int i = 0; i < HOLDS_MAX; i++)
                add(&r, NULL);
        ck_assert_uint_eq(holds_count_of(holds, NOBODY), HOLDS_MAX);
        ck_assert_uint_eq(holds_count_of(holds, 0), 0);
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), -EDQUOT);
        ck_assert_int_eq(holds_remove(holds, HOLDS_MAX / 2), 0);
        ck_assert_int_eq(holds_add(holds, &r, NULL, &id), 0);
}

TEST(senders_forgotten)
{
        HoldRequest r = request();
        uint64_t id;

        r.sender = ":1.5";
        id = add(&r, NULL);
        ck_assert_str_eq(holds_find(holds, id)->sender, ":1.5");
        holds_forget_senders(holds);
        ck_assert_ptr_null(holds_find(holds, id)->sender);
}

UNIT("holds", .setup = setup, .teardown = teardown, .timeout = 60)
