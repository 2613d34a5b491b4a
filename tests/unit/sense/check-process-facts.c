/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Facts of processes, from texts as the kernel writes them, with unusual names. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/file.h"
#include "sense/process-facts.h"
#include "sense/users.h"
#include "table.h"
#include "temporary.h"

static char *temp;
static int proc;

static void set_up(void)
{
        g_autofree char *process = NULL, *etc = NULL;

        temp = temporary_make(g_get_tmp_dir());
        proc = root_open(temp);
        process = g_build_filename(temp, "12", NULL);
        etc = g_build_filename(temp, "etc", NULL);
        ck_assert_int_eq(mkdir(process, 0755), 0);
        ck_assert_int_eq(mkdir(etc, 0755), 0);
}

static void tear_down(void)
{
        close(proc);
        temporary_remove(temp);
        g_free(temp);
}

static void put(const char *name, const char *text)
{
        g_autofree char *path = g_build_filename(temp, name, NULL);

        ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static const struct {
        const char *name, *text;
        int result;
        const char *comm;
} comms[] = {
        { "plain", "bash\n", 0, "bash" },
        { "empty", "\n", 0, "" },
        { "with a line feed in it and at the end", "a\nb\n\n", 0, "a\nb\n" },
        { "with parentheses", "x) R 1 (y\n", 0, "x) R 1 (y" },
        { "no text", "\xff\xfe\x01\n", 0, "\xff\xfe\x01" },
        { "cut off", "bash", -EBADMSG, NULL },
        { "nothing", "", -EBADMSG, NULL },
};

TEST_EACH(comm, comms)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        int r;

        put("12/comm", c->text);
        process_facts_init(facts, 12);
        r = process_facts_read(proc, PROCESS_FACT_COMM, facts);
        ck_case(c->name, r == c->result, "%d", r);
        if (c->comm)
                ck_assert_str_eq(facts->comm, c->comm);
        else
                ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_COMM, facts), -ENOENT);
}

static const struct {
        const char *name, *text;
        int result;
        const char *groups, *unit; /* groups joined by blanks */
} cgroups[] = {
        { "version 2", "0::/system.slice/a.service\n", 0, "/system.slice/a.service",
          "/system.slice/a.service" },
        { "version 1", "4:cpu,cpuacct:/x\n2:cpuset:/\n1:name=systemd:/user.slice\n", 0,
          "/x / /user.slice", "/user.slice" },
        { "without systemd", "4:cpuset:/a:b\n", 0, "/a:b", "" },
        { "of another namespace", "0::/../b\n", 0, "/../b", "/../b" },
        { "a group that looks like a hierarchy", "4:cpuset:/0:name=systemd:/a\n", 0,
          "/0:name=systemd:/a", "" },
        { "none", "", 0, "", "" },
        { "no path", "0::\n", -EBADMSG, NULL, NULL },
        { "no hierarchy", "hello\n", -EBADMSG, NULL, NULL },
        { "no end", "0::/a", -EBADMSG, NULL, NULL },
};

TEST_EACH(cgroup, cgroups)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autoptr(GString) groups = g_string_new(NULL);
        int r;

        put("12/cgroup", c->text);
        process_facts_init(facts, 12);
        r = process_facts_read(proc, PROCESS_FACT_CGROUPS, facts);
        ck_case(c->name, r == c->result, "%d", r);
        if (r < 0)
                return;
        for (const char *g = facts->cgroups; *g; g += strlen(g) + 1)
                g_string_append_printf(groups, "%s%s", groups->len ? " " : "", g);
        ck_assert_str_eq(groups->str, c->groups);
        ck_assert_str_eq(facts->unit_cgroup, c->unit);
}

/* What does not fit is absent and not cut off. */
TEST(too_long)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *group = g_strnfill(PROCESS_CGROUPS_SIZE, 'a');
        g_autofree char *text = g_strdup_printf("0::/%s\n", group);

        put("12/cgroup", text);
        process_facts_init(facts, 12);
        ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_CGROUPS, facts), -ENAMETOOLONG);
        text[PROCESS_CGROUPS_SIZE - 10] = '\n';
        text[PROCESS_CGROUPS_SIZE - 9] = '\0';
        put("12/cgroup", text);
        process_facts_init(facts, 12);
        ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_CGROUPS, facts), 0);
        ck_assert_uint_eq(strlen(facts->cgroups), PROCESS_CGROUPS_SIZE - 13);
}

static const struct {
        const char *name, *text;
        int result;
        unsigned uid;
        int parent;
} statuses[] = {
        { "plain", "Name:\tcat\nUmask:\t0022\nPid:\t12\nPPid:\t7\nUid:\t1000\t0\t0\t0\n", 0, 1000,
          7 },
        { "the name pretends", "Name:\tUid:\\nUid:\t5\nPid:\t12\nPPid:\t7\nUid:\t3\t0\t0\t0\n", 0,
          3, 7 },
        { "invalid user", "Name:\ta\nPPid:\t0\nUid:\t4294967295\t1\t1\t1\n", 0, 4294967295, 0 },
        { "no user", "Name:\ta\nPPid:\t0\n", -EBADMSG, 0, 0 },
        { "no number", "Name:\ta\nPPid:\t1\nUid:\tx\n", -EBADMSG, 0, 0 },
        { "more than a number", "Name:\ta\nPPid:\t1\nUid:\t4294967296\n", -EBADMSG, 0, 0 },
};

TEST_EACH(status, statuses)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        int r;

        put("12/status", c->text);
        process_facts_init(facts, 12);
        r = process_facts_read(proc, PROCESS_FACT_STATUS, facts);
        ck_case(c->name, r == c->result, "%d", r);
        if (r == 0)
                ck_case(c->name, facts->uid == c->uid && facts->parent == c->parent, "%u %d",
                        facts->uid, facts->parent);
}

TEST(executable)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        g_autofree char *link = g_build_filename(temp, "12/exe", NULL);
        g_autofree char *file = g_build_filename(temp, "a b\n(\xff)", NULL);
        _fd_ int files = open("/", O_PATH | O_CLOEXEC);
        FileId id;

        ck_assert(g_file_set_contents(file, "", 0, NULL));
        ck_assert_int_eq(symlink(file, link), 0);
        process_facts_init(facts, 12);
        ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_EXECUTABLE, facts), 0);
        ck_assert_str_eq(facts->executable, file);
        ck_assert_int_eq(file_id_read(files, file, &id), 0);
        ck_assert(file_id_equal(id, facts->program));
        ck_assert_int_eq(file_id_read(files, link, &id), 0);
        ck_assert(!file_id_equal(id, facts->program)); /* a link is not followed */
        ck_assert_int_eq(file_id_read(files, "/", &id), -EISDIR);
        process_facts_init(facts, 13);
        ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_EXECUTABLE, facts), -ENOENT);
        ck_assert_int_eq(unlink(link), 0);
        ck_assert_int_eq(symlink("/nowhere", link), 0);
        process_facts_init(facts, 12);
        ck_assert_int_eq(process_facts_read(proc, PROCESS_FACT_EXECUTABLE, facts), -ENOENT);
}

/* A process of the kernel's own, which named itself so that its status looks like another's. */
TEST(of_the_kernel)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        _fd_ int real = open("/proc", O_PATH | O_CLOEXEC);
        char before[16], self[PATH_MAX] = "";

        /* An emulator would answer with its guest's if the whole path were given. */
        ck_assert_int_gt(readlinkat(real, "self/exe", self, sizeof(self) - 1), 0);
        ck_assert_int_eq(prctl(PR_GET_NAME, before), 0);
        ck_assert_int_eq(prctl(PR_SET_NAME, "a\nUid:\t99999\n"), 0);
        process_facts_init(facts, getpid());
        ck_assert_int_eq(process_facts_read(real, PROCESS_FACT_COMM, facts), 0);
        ck_assert_int_eq(process_facts_read(real, PROCESS_FACT_STATUS, facts), 0);
        ck_assert_int_eq(process_facts_read(real, PROCESS_FACT_EXECUTABLE, facts), 0);
        ck_assert_int_eq(process_facts_read(real, PROCESS_FACT_CGROUPS, facts), 0);
        prctl(PR_SET_NAME, before);
        ck_assert_str_eq(facts->comm, "a\nUid:\t99999\n");
        ck_assert_uint_eq(facts->uid, getuid());
        ck_assert_int_eq(facts->parent, getppid());
        ck_assert_str_eq(facts->executable, self);
        ck_assert_int_eq(*facts->cgroups, '/');
}

TEST(names_of_users)
{
        g_autoptr(GHashTable) users = users_read(proc);

        ck_assert_uint_eq(g_hash_table_size(users), 0);
        g_clear_pointer(&users, g_hash_table_unref);
        put("etc/passwd", "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\nada:x:1000:1000::/:\n"
                          "broken\nhalf:x:\nbad:x:x:1::/:\n+::::::\n");
        users = users_read(proc);
        ck_assert_uint_eq(g_hash_table_size(users), 2);
        ck_assert_str_eq(g_hash_table_lookup(users, GUINT_TO_POINTER(0)), "root");
        ck_assert_str_eq(g_hash_table_lookup(users, GUINT_TO_POINTER(1000)), "ada");
}

UNIT("process-facts", .setup = set_up, .teardown = tear_down)
