/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every machine there is a description of, and the recorded ones where they are at hand: their
 * names, and trees of their files. MACHINES_DIR and RECORDED_DIR say where.
 */
#ifndef IDLED_TESTS_ALL_MACHINES_H
#define IDLED_TESTS_ALL_MACHINES_H

#include "machine.h"
#include "table.h"

static inline void machines_list(GPtrArray *names, const char *path, const char *suffix,
                                 const char *prefix, const char *keep)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *entry;

        while (dir && (entry = g_dir_read_name(dir)))
                if (g_str_has_suffix(entry, suffix))
                        g_ptr_array_add(names,
                                        g_strdup_printf("%s%.*s%s", prefix,
                                                        (int)(strlen(entry) - strlen(suffix)),
                                                        entry, keep));
}

/* Names of all machines; those that are recorded begin with '/'. */
static inline GPtrArray *machine_names(void)
{
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        machines_list(names, MACHINES_DIR, ".machine", "", ".machine");
        machines_list(names, RECORDED_DIR, ".tree.xz", "/", "");
        return names;
}

/* The files of a machine. */
static inline Tree machine_tree(const char *name)
{
        Tree tree = tree_make();
        bool recorded = *name == '/';
        g_autofree char *program = g_strdup_printf("%s/%s", recorded ? RECORDED_DIR : MACHINES_DIR,
                                                   recorded ? "unpack" : "build");
        g_autofree char *file = recorded ? g_strdup(name + 1)
                                         : g_strdup_printf(MACHINES_DIR "/%s", name);
        char *argv[] = { program, file, tree.path, NULL };
        int status = 0;

        ck_assert(g_spawn_sync(NULL, argv, NULL, 0, NULL, NULL, NULL, NULL, &status, NULL));
        ck_case(name, g_spawn_check_wait_status(status, NULL), "%s failed", program);
        return tree;
}

static GPtrArray *all_machines;

/* Runs `test` as a loop over the names of all machines. */
static inline int all_machines_run(const char *suite_name, const TTest *test)
{
        Suite *suite = suite_create(suite_name);
        TCase *tcase = tcase_create(suite_name);
        int failed;

        all_machines = machine_names();
        tcase_add_loop_test(tcase, test, 0, (int)all_machines->len);
        tcase_set_timeout(tcase, 60);
        suite_add_tcase(suite, tcase);
        failed = suite_run(suite);
        g_ptr_array_unref(all_machines);
        return failed;
}

#endif
