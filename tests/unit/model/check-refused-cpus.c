/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which CPUs stay active because they were refused, for whom, and how long. */
#include "machine.h"
#include "model/refused-cpus.h"
#include "table.h"

#define SEC G_USEC_PER_SEC

/* Names of a cgroup's path, the innermost first, as "c b a "; the root's is empty. */
static const struct {
        const char *name, *path, *unit;
} paths[] = {
        { "a service", "a.service system.slice ", "a.service" },
        { "a cgroup of a service", "payload a.service system.slice ", "a.service" },
        { "a service below a service", "b.service a.service system.slice ", "a.service" },
        { "a slice of an instance", "a@1.service system-a.slice system.slice ", "a@1.service" },
        { "a service of a user",
          "a.service app.slice user@1000.service user-1000.slice user.slice ", NULL },
        { "a login", "session-1.scope user-1000.slice user.slice ", NULL },
        { "a container's service", "a.service system.slice c.scope machine.slice ", NULL },
        { "a scope", "docker-1.scope system.slice ", NULL },
        { "a container in a scope", "a.service system.slice docker-1.scope system.slice ", NULL },
        { "a container without systemd", "a.service system.slice lxc.payload.c ", NULL },
        { "without systemd", "job_1 slurm ", NULL },
        { "the root", "", NULL },
        { "a name that no unit has", "a\nb.service system.slice ", NULL },
};

TEST_EACH(units_of_paths, paths)
{
        g_autofree char *path = NULL, *unit = NULL, *cut = NULL;
        size_t size;

        path = g_strdup(c->path);
        size = strlen(path) + 1;
        for (size_t i = 0; i < size; i++)
                if (path[i] == ' ')
                        path[i] = '\0';
        unit = refused_unit(path, size);
        ck_case(c->name, g_strcmp0(unit, c->unit) == 0, "found %s", unit);
        cut = refused_unit("a.service", strlen("a.serv"));
        ck_assert_ptr_null(cut);
}

/* Refuses CPUs to a process that has exited; NULL: it was only counted. */
static const Refused *refuse(RefusedTable *table, const char *unit, uid_t uid, pid_t pid,
                             const char *cpus, bool alive, uint64_t now)
{
        bool is_new;

        return refused_note(table,
                            &(Refused){ .unit = (char *)unit,
                                        .program = (char *)"taskset\n",
                                        .uid = uid,
                                        .pid = pid,
                                        .cpus = set_of(cpus),
                                        .alive = alive },
                            now, &is_new);
}

/* The CPUs that stay active, if only `loaded` is. */
static bool is_loaded(const char *unit, const void *userdata)
{
        return g_strcmp0(unit, userdata) == 0;
}

static char *kept(const RefusedTable *table, const char *loaded)
{
        g_autoptr(Affinities) affinities = refused_affinities(table, is_loaded, loaded);
        CpuSet all = { 0 };

        for (int i = 0; i < affinities->n_sets; i++) {
                ck_assert_int_eq(cpuset_count(&affinities->sets[i]), 1);
                ck_assert_ptr_null(strstr(affinities->owners[i], "taskset"));
                cpuset_or(&all, &affinities->sets[i]);
        }
        return cpuset_format(&all);
}

#define ck_kept(table, loaded, cpus)                                                               \
        do {                                                                                       \
                g_autofree char *kept_ = kept(table, loaded);                                      \
                ck_assert_str_eq(kept_, cpus);                                                     \
        } while (0)

TEST(service_while_it_is_loaded)
{
        g_autoptr(RefusedTable) table = refused_table_new();
        const Refused *refused = refuse(table, "a.service", 0, 1, "3", false, SEC);

        ck_assert_str_eq(refused->program, "taskset\\x0a");
        refused = refuse(table, "a.service", 33, 2, "2", false, SEC);
        ck_assert_uint_eq(refused->count, 2);
        ck_assert(!refused_expire(table, 1000 * SEC));
        ck_kept(table, "a.service", "2-3");
        ck_kept(table, "b.service", "");
        ck_assert_uint_eq(refused_forget(table, "b.service"), 0);
        ck_assert_uint_eq(refused_forget(table, "a.service"), 1);
        ck_kept(table, "a.service", "");
}

TEST(process_until_it_exits)
{
        g_autoptr(RefusedTable) table = refused_table_new();

        refuse(table, NULL, 1000, 7, "3", true, SEC);
        ck_assert_uint_eq(refused_expires_at(table), 0);
        ck_assert(!refused_expire(table, 1000 * SEC));
        ck_kept(table, NULL, "3");
        refused_exited(table, 7);
        ck_assert(refused_expire(table, 1000 * SEC));
        ck_kept(table, NULL, "");
}

/* A script that tries again succeeds. */
TEST(process_that_has_exited)
{
        g_autoptr(RefusedTable) table = refused_table_new();

        refuse(table, NULL, 1000, 7, "3", false, SEC);
        ck_assert_uint_eq(refused_expires_at(table), SEC + REFUSED_KEEP_USEC);
        ck_assert(!refused_expire(table, REFUSED_KEEP_USEC));
        ck_kept(table, NULL, "3");
        ck_assert(refused_expire(table, SEC + REFUSED_KEEP_USEC));
        ck_kept(table, NULL, "");
}

/* A user's process in a service, such as a job of cron, keeps nothing active for good. */
TEST(user_in_a_service)
{
        g_autoptr(RefusedTable) table = refused_table_new();
        g_autofree char *text = NULL;

        ck_assert_ptr_null(refuse(table, "cron.service", 1000, 7, "3", false, SEC)->unit);
        ck_assert_ptr_null(refuse(table, "cron.service", 200000, 8, "3", false, SEC)->unit);
        ck_assert_ptr_nonnull(refuse(table, "a.service", 65534, 9, "3", false, SEC)->unit);
        ck_assert_ptr_nonnull(refuse(table, "b.service", 61500, 9, "3", false, SEC)->unit);
        refused_forget(table, "a.service");
        refused_forget(table, "b.service");
        text = refused_format(table);
        ck_assert_str_eq(text, "");
}

/* A process that repeats its call until its user's limit is reached still frees its CPUs when it
 * exits. */
TEST(process_beyond_the_limit)
{
        g_autoptr(RefusedTable) table = refused_table_new();
        uint64_t now = 1000 * SEC;

        while (refuse(table, NULL, 1000, 7, "3", true, now))
                now += SEC;
        ck_assert(refused_has_process(table, 7));
        refused_exited(table, 7);
        refused_expire(table, now + REFUSED_KEEP_USEC);
        ck_assert(!refused_has_process(table, 7));
        ck_assert_ptr_null(refused_nth(table, 0));
}

/* Who is refused in a loop, one process after the other, keeps CPUs active for one part in
 * REFUSED_SHARE of the time, and what was saved before. */
static const struct {
        const char *name;
        uid_t first, last; /* users by turns */
} loops[] = {
        { "a user", 1000, 1000 },
        { "root", 0, 0 },
        { "users of a user namespace", 100000, 165535 },
};

TEST_EACH(loop, loops)
{
        g_autoptr(RefusedTable) table = refused_table_new();
        uint64_t kept_sec = 0, ignored = 0, hours = 10;
        pid_t pid = 2;

        for (uint64_t now = 1; now <= hours * 3600; now++) {
                uid_t uid = c->first + (uid_t)now % (c->last - c->first + 1);
                g_autofree char *cpus = kept(table, NULL);

                kept_sec += *cpus != '\0';
                if (!*cpus)
                        ignored += !refuse(table, NULL, uid, pid++, "3", false, now * SEC);
                refused_expire(table, now * SEC);
        }
        ck_case(c->name, kept_sec <= hours * 3600 / REFUSED_SHARE + REFUSED_SAVED_USEC / SEC + 60,
                "%lu s", (unsigned long)kept_sec);
        ck_assert_uint_gt(kept_sec, REFUSED_SAVED_USEC / SEC);
        ck_assert_uint_gt(ignored, 0);
        ck_assert_ptr_nonnull(refuse(table, NULL, 33, pid, "3", false, hours * 3600 * SEC));
}

/* Ranks of a job that begin together cost a user once. */
TEST(many_at_once)
{
        g_autoptr(RefusedTable) table = refused_table_new();
        pid_t pid = 2;

        for (int i = 0; i < REFUSED_OF_USER_MAX; i++)
                ck_assert_ptr_nonnull(refuse(table, NULL, 1000, pid++, "3", true, SEC));
        ck_assert_ptr_null(refuse(table, NULL, 1000, pid++, "3", true, SEC));
        ck_assert_ptr_nonnull(refuse(table, NULL, 1001, pid++, "3", true, SEC));
        ck_assert_uint_eq(refused_total(table), REFUSED_OF_USER_MAX + 2);
}

TEST(list_of_services_is_bounded)
{
        g_autoptr(RefusedTable) table = refused_table_new();

        for (int i = 0; i <= REFUSED_UNITS_MAX; i++) {
                g_autofree char *unit = g_strdup_printf("u%d.service", i);

                refuse(table, unit, 0, 1, "3", false, SEC);
                refuse(table, "u0.service", 0, 1, "3", false, SEC);
        }
        ck_assert_ptr_null(refused_nth(table, REFUSED_UNITS_MAX));
        ck_kept(table, "u0.service", "3");
        ck_kept(table, "u1.service", "");
        ck_assert_uint_eq(refused_forget(table, ""), REFUSED_UNITS_MAX);
}

static const struct {
        const char *name, *text, *kept;
        unsigned skipped;
} files[] = {
        { "nothing", "", "", 0 },
        { "services", "b.service 5 x\na.service 2-3 a b\n", "a.service 2-3 a b", 0 },
        { "the same twice", "a.service 2 x\na.service 3 y\n", "a.service 2-3 y", 0 },
        { "no newline at the end", "a.service 3 x", "a.service 3 x", 0 },
        { "no program", "a.service 3\n", "", 1 },
        { "no CPUs", "a.service  x\n", "", 1 },
        { "garbage", "\x01\x02 3 x\na.service 3-x y\nb/.service 3 x\na.service 3 x\n",
          "a.service 3 x", 3 },
        { "CPUs that no machine has", "a.service 8192 x\n", "", 1 },
        { "bytes of a terminal", "a.service 3 \x1b[31m\n", "a.service 3 \\x1b[31m", 0 },
};

TEST_EACH(file, files)
{
        g_autoptr(RefusedTable) table = refused_table_new(), again = refused_table_new();
        g_autofree char *text = NULL, *same = NULL;

        ck_assert_uint_eq(refused_parse(table, c->text), c->skipped);
        text = refused_format(table);
        ck_case(c->name, *c->kept ? strstr(text, c->kept) != NULL : !*text, "%s", text);
        ck_assert_uint_eq(refused_parse(again, text), 0);
        same = refused_format(again);
        ck_assert_str_eq(text, same);
}

/* All CPUs of the set stay active, not one of them. */
TEST(plan)
{
        g_autoptr(Topology) topology = machine_make(8, 2, 4, "0-7", "");
        g_autoptr(RefusedTable) table = refused_table_new();
        g_autoptr(Affinities) affinities = NULL;
        const char *owners[8];
        uint8_t safety[8];
        Plan made;

        refuse(table, "a.service", 0, 1, "6-7", false, SEC);
        affinities = refused_affinities(table, NULL, NULL);
        plan_init(&made, NULL, 0);
        made.allowed = set_of("0-1");
        plan_sanitize(&made, topology, &(Dependents){ .refused = affinities },
                      &(SafetyNotes){ safety, owners });
        ck_assert_int_eq(cpuset_count(&made.allowed), 4);
        ck_assert_int_eq(safety[7], SAFETY_REFUSED);
        ck_assert(says(owners[7], "6-7|a.service"));
}

UNIT("refused-cpus")
