/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of processes: messages as the kernel sends them and as it does not, and the kernel's own.
 */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "sense/netlink.h"
#include "sense/processes.h"
#include "table.h"

#define HEADERS (NLMSG_HDRLEN + sizeof(struct cn_msg))
#define WHOLE   (HEADERS + sizeof(struct proc_event))

typedef struct Message {
        char bytes[WHOLE + 64];
} Message;

/* A message about thread 12 of process 10 whose parent is 7, as the kernel would send it. */
static Message message_make(unsigned what)
{
        struct nlmsghdr outer = { .nlmsg_len = WHOLE, .nlmsg_type = NLMSG_DONE };
        struct cn_msg inner = { .id = { CN_IDX_PROC, CN_VAL_PROC },
                                .len = sizeof(struct proc_event) };
        struct proc_event event = { .what = what };
        Message message = { 0 };

        event.event_data.exec.process_pid = 12;
        event.event_data.exec.process_tgid = 10;
        if (what == PROC_EVENT_FORK) {
                event.event_data.fork = (struct fork_proc_event){ 8, 7, 12, 10 };
        } else if (what == PROC_EVENT_UID) {
                event.event_data.id.r.ruid = 1000;
                event.event_data.id.e.euid = 33;
        } else if (what == PROC_EVENT_COMM) {
                memcpy(event.event_data.comm.comm, "a)\n\xff (0123456789", 16);
        }
        memcpy(message.bytes, &outer, sizeof(outer));
        memcpy(message.bytes + NLMSG_HDRLEN, &inner, sizeof(inner));
        memcpy(message.bytes + HEADERS, &event, sizeof(event));
        return message;
}

static const struct {
        const char *name;
        unsigned what;
        pid_t parent;
} known[] = {
        { "fork", PROC_EVENT_FORK, 7 },
        { "exec", PROC_EVENT_EXEC, 0 },
        { "user", PROC_EVENT_UID, 0 },
        { "name with anything in it, of full length", PROC_EVENT_COMM, 0 },
};

TEST_EACH(understood, known)
{
        Message message = message_make(c->what);
        ProcessEvent event;

        ck_case(c->name, process_event_parse(&message, WHOLE, &event) == 1, "not taken");
        ck_case(c->name, event.kind == (ProcessEventKind)c->what, "kind %x", event.kind);
        ck_case(c->name, event.pid == 10 && event.tid == 12, "%d %d", event.pid, event.tid);
        ck_case(c->name, event.parent == c->parent, "parent %d", event.parent);
}

static const unsigned ignored[] = {
        PROC_EVENT_NONE,     PROC_EVENT_GID,  PROC_EVENT_SID, PROC_EVENT_PTRACE,
        PROC_EVENT_COREDUMP, PROC_EVENT_EXIT, 0x400,          PROC_EVENT_FORK | PROC_EVENT_EXEC
};

TEST_EACH(passed_over, ignored)
{
        Message message = message_make(ignored[_i]);
        ProcessEvent event = { .pid = 99 };

        ck_assert_int_eq(process_event_parse(&message, WHOLE, &event), 0);
        ck_assert_int_eq(event.pid, 99);
}

#define AT(structure, base, field) ((base) + offsetof(structure, field)), sizeof(uint16_t)
#define OUTER(field)               AT(struct nlmsghdr, 0, field)
#define INNER(field)               AT(struct cn_msg, NLMSG_HDRLEN, field)

static const struct {
        const char *name;
        size_t offset, size;
        uint32_t value;
} broken[] = {
        { "an error of netlink", OUTER(nlmsg_type), NLMSG_ERROR },
        { "longer than what came", OUTER(nlmsg_len), WHOLE + 1 },
        { "shorter than its headers", OUTER(nlmsg_len), HEADERS - 1 },
        { "of length 0", OUTER(nlmsg_len), 0 },
        { "another connector", INNER(id.idx), CN_IDX_CIFS },
        { "another value", INNER(id.val), 2 },
        { "an event longer than its message", INNER(len), sizeof(struct proc_event) + 1 },
        { "an event much longer", INNER(len), UINT16_MAX },
        { "no event", INNER(len), 0 },
        { "half a kind", INNER(len), 3 },
        { "nothing after the kind", INNER(len), 4 },
        { "half of the process", INNER(len), offsetof(struct proc_event, event_data) + 7 },
};

TEST_EACH(refused, broken)
{
        Message message = message_make(PROC_EVENT_EXEC);
        ProcessEvent event = { .pid = 99 };

        memcpy(message.bytes + c->offset, &c->value, c->size);
        ck_case(c->name, process_event_parse(&message, WHOLE, &event) == -EBADMSG, "taken");
        ck_case(c->name, event.pid == 99, "touched");
}

/* Cut off anywhere, in memory of just that size, so that a sanitizer detects reads beyond the
 * end. */
TEST_EACH(truncated, known)
{
        Message message = message_make(c->what);

        for (size_t size = 0; size < WHOLE; size++) {
                g_autofree char *part = g_memdup2(message.bytes, size ? size : 1);
                ProcessEvent event = { .pid = 99 };

                ck_assert_int_eq(process_event_parse(part, size, &event), -EBADMSG);
                ck_assert_int_eq(event.pid, 99);
        }
}

/* Any bytes at all, and any in place of one: nothing is read that is not there. */
TEST(random_bytes)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed(4711);
        ProcessEvent event;

        for (int i = 0; i < 20000; i++) {
                Message message = message_make(known[i % (int)G_N_ELEMENTS(known)].what);
                size_t size = (size_t)g_rand_int_range(rand, 0, WHOLE + 1);
                g_autofree char *part = NULL;
                int r;

                for (int n = g_rand_int_range(rand, 1, 8); n > 0; n--)
                        message.bytes[g_rand_int_range(rand, 0, WHOLE)] = (char)g_rand_int(rand);
                part = g_memdup2(message.bytes, size ? size : 1);
                r = process_event_parse(part, size, &event);
                ck_assert(r == 0 || r == 1 || r == -EBADMSG);
        }
}

/* Waits for an event about `pid`; other events meanwhile must be one of `kinds` as well. */
static ProcessEvent wait_event(int fd, pid_t pid, unsigned kinds)
{
        struct pollfd wait = { fd, POLLIN, 0 };
        ProcessEvent event;
        int r;

        for (;;) {
                r = process_events_read(fd, &event);
                ck_assert_msg(r >= 0 || r == -ENOBUFS, "%s", g_strerror(-r));
                if (r == 0)
                        ck_assert_msg(poll(&wait, 1, 10000) != 0, "no event of %d", pid);
                if (r > 0)
                        ck_assert_msg(event.kind & kinds, "filtered badly: %x", event.kind);
                if (r > 0 && event.pid == pid)
                        return event;
        }
}

static pid_t fork_and_wait(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                prctl(PR_SET_NAME, "renamed");
                _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        return pid;
}

static bool kernel_reports(void)
{
        int fd = process_events_open(PROCESS_FORK, 0);

        if (fd < 0)
                printf("No events of processes here (%s): not tried\n", g_strerror(-fd));
        process_events_close(fd);
        return fd >= 0;
}

TEST(of_the_kernel)
{
        int fd;
        ProcessEvent event;
        pid_t child;

        if (!kernel_reports())
                return;
        fd = process_events_open(PROCESS_FORK, 0);
        child = fork_and_wait();
        event = wait_event(fd, child, PROCESS_FORK);
        ck_assert_int_eq(event.parent, getpid());
        ck_assert_int_eq(event.tid, child);
        process_events_close(fd);
        fd = process_events_open(PROCESS_COMM, 0);
        event = wait_event(fd, fork_and_wait(), PROCESS_COMM);
        ck_assert_int_eq(event.parent, 0);
        process_events_close(fd);
}

/* Reads what waits: whether events were lost, and whether one was about `pid`. */
static void read_waiting(int fd, pid_t pid, bool *ret_lost, bool *ret_heard)
{
        bool lost = false, heard = false;
        ProcessEvent event;
        int r;

        while ((r = process_events_read(fd, &event)) != 0) {
                ck_assert(r == 1 || r == -ENOBUFS);
                lost |= r == -ENOBUFS;
                heard |= r == 1 && event.pid == pid;
        }
        *ret_lost = lost;
        *ret_heard = heard;
}

/* More events than there is room for: that is reported, and the next are received again. */
TEST(overrun)
{
        int fd;
        bool lost, heard = false;

        if (!kernel_reports())
                return;
        fd = process_events_open(PROCESS_FORK, 4096);
        for (int i = 0; i < 50; i++)
                fork_and_wait();
        read_waiting(fd, 0, &lost, &heard);
        ck_assert(lost);
        for (int i = 0; i < 50; i++)
                fork_and_wait();
        netlink_drain(fd);
        while (!heard)
                read_waiting(fd, fork_and_wait(), &lost, &heard);
        process_events_close(fd);
}

UNIT("processes", .timeout = 60)
