/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of earlier versions, byte by byte as these wrote them, with knobs that idled does not
 * change any more: timer slack of threads, and the CPUs that irqbalance leaves out.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include "act/actuator.h"
#include "knobs.h"

#define HEAD  "idled-undo\t1\tthis-boot\n"
#define SLACK "proc/101/timerslack_ns"

static void setup(void)
{
        scratch_open();
        scratch_file("proc/sys/kernel/random/boot_id", "this-boot\n");
        knobs_begin(scratch_fd, NULL);
}

static void teardown(void)
{
        knobs_end();
        scratch_close();
}

static void collect(const Knob *knob, const char *value, int error, void *userdata)
{
        g_autofree char *why = error < 0 ? knob_failure(knobs, knob) : NULL;

        g_string_append_printf(userdata, "%d %s", -error, why ?: "");
}

/* The next instance restores what is on record. Returns what it reports of the knob. */
static char *recover_record(const char *record)
{
        g_autofree const KnobKind **kinds = actuators_kinds();
        GString *report = g_string_new(NULL);
        int skipped;

        scratch_file("undo", record);
        knobs_renew();
        ck_assert_int_eq(knobs_recover(knobs, kinds, &skipped), 1);
        ck_assert_int_eq(skipped, 0);
        ck_assert_int_eq(knobs_count_unknown(knobs, kinds), 0);
        knobs_restore(knobs, collect, report);
        return g_string_free(report, FALSE);
}

#define RAISED HEAD "found\ttimerslack\t101:11\t50000\nwrite\ttimerslack\t101:11\t90000\n"

static const struct {
        const char *name, *record;
        int start; /* of the thread that has the number now; 0: there is none */
        const char *slack, *then;
        int error; /* 0, ESTALE and ENOENT: nothing stays on record */
} slacks[] = {
        { "restored", RAISED, 11, "90000\n", "50000\n", 0 },
        { "not written", RAISED, 11, "50000\n", "50000\n", 0 },
        { "raised twice", RAISED "write\ttimerslack\t101:11\t80000\n", 11, "90000\n", "50000\n",
          0 },
        { "taken over", RAISED, 11, "77000\n", "77000\n", ESTALE },
        { "ended", RAISED, 0, "", "", ENOENT },
        { "another thread", RAISED, 99, "90000\n", "90000\n", ENOENT },
        { "no start", HEAD "found\ttimerslack\t101\t50000\nwrite\ttimerslack\t101\t90000\n", 11,
          "90000\n", "90000\n", EINVAL },
        { "more in the name",
          HEAD "found\ttimerslack\t101:11:1\t50000\nwrite\ttimerslack\t101:11:1\t90000\n", 11,
          "90000\n", "90000\n", EINVAL },
        { "no number", HEAD "found\ttimerslack\t101:11\thello\nwrite\ttimerslack\t101:11\t90000\n",
          11, "90000\n", "90000\n", EINVAL },
};

TEST_EACH(slack, slacks)
{
        g_autofree char *report = NULL, *then = NULL;
        g_autofree char *stat = g_strdup_printf("101 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 "
                                                "0 %d 0 0\n",
                                                c->start);
        bool kept = c->error && c->error != ESTALE && c->error != ENOENT;

        if (c->start) {
                scratch_file("proc/101/stat", stat);
                scratch_file(SLACK, c->slack);
        }
        report = recover_record(c->record);
        then = scratch_text(SLACK);
        ck_case(c->name, atoi(report) == c->error, "reported %s", report);
        ck_case(c->name, g_str_equal(then ?: "", c->then), "the slack is %s", then);
        ck_case(c->name, record_exists() == kept, "on record: %d", record_exists());
}

static const struct {
        const char *name, *record, *command, *sent;
        int error;
} balancers[] = {
        { "none before",
          HEAD "found\tirqbalance\tirqbalance7.sock\tnone\n"
               "write\tirqbalance\tirqbalance7.sock\t2-3\n",
          "irqbalance\n", "settings cpus NULL", 0 },
        { "some before",
          HEAD "found\tirqbalance\tirqbalance7.sock\t0\n"
               "write\tirqbalance\tirqbalance7.sock\t0,2-3\n"
               "write\tirqbalance\tirqbalance7.sock\t0,3\n",
          "irqbalance\n", "settings cpus 0", 0 },
        { "ended",
          HEAD "found\tirqbalance\tirqbalance7.sock\tnone\n"
               "write\tirqbalance\tirqbalance7.sock\t2-3\n",
          NULL, "", ENOENT },
        { "another process",
          HEAD "found\tirqbalance\tirqbalance7.sock\tnone\n"
               "write\tirqbalance\tirqbalance7.sock\t2-3\n",
          "bash\n", "", ENOENT },
        { "another name",
          HEAD "found\tirqbalance\tirqbalance7.sock~\tnone\n"
               "write\tirqbalance\tirqbalance7.sock~\t2-3\n",
          "irqbalance\n", "", EINVAL },
        { "no list",
          HEAD "found\tirqbalance\tirqbalance7.sock\thello\n"
               "write\tirqbalance\tirqbalance7.sock\t2-3\n",
          "irqbalance\n", "", EINVAL },
        { "an empty list",
          HEAD "found\tirqbalance\tirqbalance7.sock\t\n"
               "write\tirqbalance\tirqbalance7.sock\t2-3\n",
          "irqbalance\n", "", EINVAL },
        { "not reached",
          HEAD "found\tirqbalance\t@irqbalance7.sock\tnone\n"
               "write\tirqbalance\t@irqbalance7.sock\t2-3\n",
          "irqbalance\n", "", EOPNOTSUPP },
        { "does not listen",
          HEAD "found\tirqbalance\tirqbalance70.sock\tnone\n"
               "write\tirqbalance\tirqbalance70.sock\t2-3\n",
          "irqbalance\n", "", ECONNREFUSED },
        { "has no socket",
          HEAD "found\tirqbalance\tirqbalance71.sock\tnone\n"
               "write\tirqbalance\tirqbalance71.sock\t2-3\n",
          "irqbalance\n", "", ECONNREFUSED },
};

static int bind_at(const char *name)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/run/irqbalance/%s",
                 scratch_fd, name);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return fd;
}

/* What a client sent as root, with its credentials, as irqbalance requires; "": nothing. */
static void receive(int listener, char *text, size_t size)
{
        char control[CMSG_SPACE(sizeof(struct ucred))];
        struct iovec data = { text, size - 1 };
        struct msghdr message = { .msg_iov = &data,
                                  .msg_iovlen = 1,
                                  .msg_control = control,
                                  .msg_controllen = sizeof(control) };
        int fd = accept(listener, NULL, NULL), yes = 1;
        const struct cmsghdr *header;
        ssize_t n;

        *text = '\0';
        if (fd < 0)
                return;
        ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
        n = recvmsg(fd, &message, 0);
        ck_assert_int_gt(n, 0);
        text[n] = '\0';
        header = CMSG_FIRSTHDR(&message);
        ck_assert_ptr_nonnull(header);
        ck_assert_int_eq(header->cmsg_type, SCM_CREDENTIALS);
        ck_assert_int_eq(((const struct ucred *)(const void *)CMSG_DATA(header))->pid, getpid());
        close(fd);
}

TEST_EACH(balancer, balancers)
{
        bool kept = c->error && c->error != ENOENT;
        g_autofree char *report = NULL;
        int listener, deaf;
        char sent[64];

        scratch_file("run/irqbalance/README", "");
        if (c->command) {
                scratch_file("proc/7/comm", c->command);
                scratch_file("proc/70/comm", c->command);
                scratch_file("proc/71/comm", c->command);
        }
        listener = bind_at("irqbalance7.sock");
        deaf = bind_at("irqbalance70.sock");
        ck_assert_int_eq(listen(listener, 1), 0);
        report = recover_record(c->record);
        receive(listener, sent, sizeof(sent));
        ck_case(c->name, atoi(report) == c->error, "reported %s", report);
        ck_case(c->name, g_str_equal(sent, c->sent), "sent \"%s\"", sent);
        ck_case(c->name, record_exists() == kept, "on record: %d", record_exists());
        ck_case(c->name,
                !strstr(report, "systemctl restart irqbalance") == (!kept || c->error == EINVAL),
                "reported %s", report);
        close(listener);
        close(deaf);
}

/* What cannot be restored is dropped once irqbalance was started again. */
TEST(balancer_restarted)
{
        static const char record[] = HEAD "found\tirqbalance\t@irqbalance7.sock\tnone\n"
                                          "write\tirqbalance\t@irqbalance7.sock\t2-3\n";
        g_autofree char *report = NULL;

        scratch_file("proc/7/comm", "irqbalance\n");
        report = recover_record(record);
        ck_assert(record_exists());
        scratch_file("proc/7/comm", "bash\n");
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert(!record_exists());
}

UNIT("for-one-release", .setup = setup, .teardown = teardown)
