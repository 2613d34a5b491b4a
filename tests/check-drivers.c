/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A whole manager on a machine whose driver of frequencies comes late, as a module that is loaded
 * after idled began. The policy is the tests' own, tune. */
#include "all-machines.h"
#include "core/manager.h"

static Tree tree;
static sd_event *event;
static Manager *manager;
static unsigned changes;

static void on_change(Manager *from, unsigned what, void *userdata)
{
        changes |= what;
}

static void move(const char *from, const char *to)
{
        ck_assert_int_eq(renameat(tree.root, from, tree.root, to), 0);
}

static void start(void)
{
        g_autoptr(GPtrArray) errors = g_ptr_array_new();
        ManagerSetup setup = { .keep_log_level = true, .root = tree.root };

        tree_put(&tree, "etc/idled/idled.conf", "[Daemon]\nPolicies=tune\n[Park]\nBackend=none\n");
        tree_put(&tree, "etc/idled/policies/tune.conf",
                 "[Policy]\nCpus=0-3\nGovernor=performance\n");
        tree_put(&tree, "run/idled/.empty", "");
        setup.paths = (ConfigPaths){ .root = tree.root,
                                     .root_path = tree.path,
                                     .vendor_dir = "nowhere",
                                     .admin_dir = "etc/idled",
                                     .policy_dir = g_getenv("TUNE") };
        setup.run = openat(tree.root, "run/idled", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ck_assert_int_ge(sd_event_new(&event), 0);
        ck_assert_int_ge(manager_new(&setup, event, errors, &manager), 0);
        manager->on_change = on_change;
        ck_assert_int_eq(manager_start(manager), 0);
}

static void expect_governor(const char *expected)
{
        g_autofree char *text = NULL;

        ck_assert_int_eq(file_read(tree.root,
                                   "sys/devices/system/cpu/cpufreq/policy3/scaling_governor",
                                   &text),
                         0);
        ck_assert_str_eq(g_strstrip(text), expected);
}

/* A minute later. */
static void tick(void)
{
        manager->checked_usec = 0;
        manager_tick(manager);
}

static void resume(void)
{
        manager_resumed(manager);
}

/* Has the manager look, and do what follows from that at once. */
static void look(void (*by)(void))
{
        by();
        while (sd_event_run(event, 0) > 0)
                continue;
}

static const struct {
        const char *name;
        bool empty; /* the directory is there before the driver is, as on machines that have cpufreq
                     */
        void (*look)(void);
} looks[] = {
        { "a tick", true, tick },
        { "a tick, without cpufreq", false, tick },
        { "a resume", true, resume },
        { "a resume, without cpufreq", false, resume },
};

START_TEST(comes_late)
{
        typeof(looks[0]) *c = &looks[_i];

        tree = machine_tree("synthetic-laptop.machine");
        move("sys/devices/system/cpu/cpufreq", "sys/later");
        if (c->empty)
                ck_assert_int_eq(mkdirat(tree.root, "sys/devices/system/cpu/cpufreq", 0755), 0);
        start();
        look(c->look);
        ck_case(c->name, manager->n_frequency == 0, "found some");
        ck_case(c->name, manager_apply_error(manager) == 0, "an error");
        changes = 0;
        move("sys/later", "sys/devices/system/cpu/cpufreq");
        look(c->look);
        ck_case(c->name, manager->n_frequency == 8, "not found");
        ck_case(c->name, changes & CHANGE_MISSING, "not told");
        ck_case(c->name, manager_apply_error(manager) == 0, "an error");
        expect_governor("performance");
        manager_free(manager);
        expect_governor("powersave");
        sd_event_unref(event);
        tree_done(&tree);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("drivers");
        TCase *tcase = tcase_create("drivers");

        tcase_add_loop_test(tcase, comes_late, 0, G_N_ELEMENTS(looks));
        tcase_set_timeout(tcase, 60);
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
