/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Interrupts kept off parked CPUs, but where irqbalance runs.
 */
#include "quieting.h"

#define IRQ(number) "proc/irq/" number "/smp_affinity_list"
#define DEFAULT     "proc/irq/default_smp_affinity"
#define BALANCER    "proc/7"

static char *no_globs[] = { NULL };
static InterruptOptions irq_options;

static void add_irq(int number, const char *cpus, const char *handlers)
{
        g_autofree char *file = g_strdup_printf("proc/irq/%d/smp_affinity_list", number);
        g_autofree char *actions = g_strdup_printf("sys/kernel/irq/%d/actions", number);
        g_autofree char *line = g_strconcat(cpus, "\n", NULL);

        scratch_file(file, line);
        scratch_file(actions, handlers);
}

static void setup(void)
{
        tuning_setup();
        irq_options = (InterruptOptions){ true, no_globs };
        scratch_file(DEFAULT, "f\n");
        add_irq(8, "0-3", "rtc0\n");
        add_irq(24, "2-3", "eth0-rx,eth0-tx\n");
        add_irq(25, "0", "disk\n");
        add_irq(26, "0-3", "\n");
        tuning_start(&actuator_irq, &irq_options);
        plan.quiet.interrupts = true;
        rest_cpus("2-3");
}

static void expect_originals(const char *where)
{
        expect_text(where, DEFAULT, "f");
        expect_text(where, IRQ("8"), "0-3");
        expect_text(where, IRQ("24"), "2-3");
        expect_text(where, IRQ("25"), "0");
        expect_text(where, IRQ("26"), "0-3");
}

TEST(moved)
{
        ck_assert_int_eq(apply(), 0);
        expect_text("the rest of its CPUs", IRQ("8"), "0-1");
        expect_text("none left", IRQ("24"), "0-1");
        expect_text("elsewhere already", IRQ("25"), "0");
        expect_text("no handler", IRQ("26"), "0-3");
        expect_text("new ones", DEFAULT, "3");
        ck_assert_uint_eq(knobs_writes(knobs), 3);

        ck_assert_int_eq(apply_again(), 0);
        ck_assert_uint_eq(knobs_writes(knobs), 3);

        rest("1-3");
        expect_text("fewer CPUs", IRQ("24"), "0");
        rest("3");
        expect_text("more CPUs", IRQ("24"), "2");
        rest("1");
        expect_text("not its CPUs", IRQ("24"), "2-3");

        rest("");
        expect_originals("nothing parked");
        ck_assert(!record_exists());
}

static const char *const nothings[] = { "not requested", "not managed",
                                        "excluded by number and name" };

TEST_EACH(left_alone, nothings)
{
        static char number[] = "8", name[] = "eth*";
        static char *globs[] = { number, name, NULL };

        plan.quiet.interrupts = _i != 0;
        irq_options.manage = _i != 1;
        irq_options.exclude = _i == 2 ? globs : no_globs;
        reopen();
        ck_assert_int_eq(apply(), 0);
        expect_text(nothings[_i], IRQ("8"), "0-3");
        expect_text(nothings[_i], IRQ("24"), "2-3");
        ck_case(nothings[_i], (_i == 1) == !!strstr(actuator_irq.describe(state), "Manage="), "%s",
                actuator_irq.describe(state));
}

static const struct {
        const char *name;
        int error;
        const char *sent;
        bool again; /* tried again when other CPUs are parked */
} refusals[] = {
        { "EIO", EIO, "kernel manages", false },
        { "EPERM", EPERM, "kernel manages", false },
        { "EACCES", EACCES, "kernel manages", false },
        { "ENOSPC", ENOSPC, "no free vector", true },
};

/* Normal: no error, nothing on record, and not tried at each tick. */
TEST_EACH(refused, refusals)
{
        const Knob *const *list;

        scratch_file(DEFAULT, "3\n");
        tuning_refusal = c->error;
        ck_case(c->name, apply() == 0, "is an error");
        ck_case(c->name, strstr(actuator_irq.describe(state), c->sent), "%s",
                actuator_irq.describe(state));
        ck_case(c->name, strchr(actuator_irq.describe(state), '2'), "counts them");
        ck_case(c->name, knobs_list(knobs, &list) == 0, "knobs are listed");
        ck_case(c->name, !record_exists(), "record");
        tuning_refusal = 0;
        ck_assert_int_eq(apply_again(), 0);
        ck_case(c->name, knobs_writes(knobs) == 0, "tried again");
        rest("1-3");
        expect_text(c->name, IRQ("24"), c->again ? "0" : "2-3");
}

TEST(come_and_go)
{
        g_autofree char *gone = g_build_filename(scratch, "proc/irq/24", NULL);
        g_autofree char *file = g_build_filename(scratch, IRQ("24"), NULL);

        ck_assert_int_eq(apply(), 0);
        add_irq(30, "1-2", "new\n");
        ck_assert_int_eq(unlink(file), 0);
        ck_assert_int_eq(rmdir(gone), 0);
        ck_assert_int_eq(apply_again(), 0);
        expect_text("came", IRQ("30"), "1");
        ck_assert(!knob_find(knobs, actuator_irq.kinds[0], "24/smp_affinity_list"));
        rest("");
        expect_text("came", IRQ("30"), "1-2");
        ck_assert(!record_exists());
}

TEST(drift)
{
        const Knob *knob;

        ck_assert_int_eq(apply(), 0);
        scratch_file(IRQ("8"), "1\n");
        knobs_verify(knobs);
        knob = knob_find(knobs, actuator_irq.kinds[0], "8/smp_affinity_list");
        ck_assert_int_eq(knob->state, KNOB_FOREIGN);
        ck_assert_int_eq(apply_again(), 0);
        expect_text("taken over", IRQ("8"), "1");
        rest("");
        expect_text("taken over", IRQ("8"), "1");
        expect_text("ours", IRQ("24"), "2-3");
}

/* The kernel gives an interrupt all CPUs when its own go offline. */
TEST(cpus_offline)
{
        ck_assert_int_eq(apply(), 0);
        put("2-3", "online");
        scratch_file(IRQ("8"), "0-3\n");
        scratch_file(IRQ("24"), "0-3\n");
        ck_assert_int_eq(knobs_verify(knobs), 0);
        ck_assert_int_eq(knob_find(knobs, actuator_irq.kinds[0], "24/smp_affinity_list")->state,
                         KNOB_OURS);
}

static void change_over(void)
{
        rest_cpus("2-3");
        apply();
        rest_cpus("1-3");
        apply();
        rest_cpus("");
        apply();
}

TEST(killed)
{
        int n;

        for (n = 0; killed_at(n, change_over); n++) {
                recover_all(actuator_irq.kinds);
                expect_originals("killed");
        }
        ck_assert_int_gt(n, 10);
}

/* What idled had moved is irqbalance's from then on, moved already or not. What new interrupts
 * begin with is still idled's. A socket whose process has ended means nothing. */
TEST(balancer_comes_later)
{
        const Knob *const *list;

        scratch_file("run/irqbalance/irqbalance7.sock", "");
        ck_assert_int_eq(apply(), 0);
        expect_text("by idled", IRQ("24"), "0-1");
        scratch_file(BALANCER "/comm", "irqbalance\n");
        scratch_file(IRQ("8"), "1\n");
        ck_assert_int_eq(apply_again(), 0);
        expect_text("moved by irqbalance", IRQ("8"), "1");
        expect_text("restored", IRQ("24"), "2-3");
        expect_text("not irqbalance's", DEFAULT, "3");
        for (int i = knobs_list(knobs, &list); i-- > 0;)
                ck_assert_int_eq(list[i]->state, KNOB_OURS);
        ck_assert(strstr(actuator_irq.describe(state), "left to irqbalance"));

        ck_assert_int_eq(unlinkat(scratch_fd, BALANCER "/comm", 0), 0);
        ck_assert_int_eq(unlinkat(scratch_fd, BALANCER, AT_REMOVEDIR), 0);
        ck_assert_int_eq(apply_again(), 0);
        expect_text("irqbalance ended", IRQ("24"), "0-1");
        rest("");
        ck_assert(!record_exists());
}

UNIT("irq", .setup = setup, .teardown = tuning_teardown)
