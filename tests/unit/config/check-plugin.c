/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Plugins: which files are safe to load, which modules are policies, and that a policy stays the
 * same object for as long as its file is the same.
 */
#include <glib/gstdio.h>
#include <link.h>

#include "config/plugin.h"
#include "table.h"
#include "temporary.h"

#define NOBODY 65534

static char *temp, *above, *dir, *file; /* temp/above/dir/alpha.so, all safe */

static void copy_module(const char *name, const char *to)
{
        g_autofree char *from = g_strdup_printf("%s/%s.so", g_getenv("MODULES"), name);
        g_autofree char *data = NULL;
        gsize length;

        ck_assert_msg(g_file_get_contents(from, &data, &length, NULL), "%s cannot be read", from);
        ck_assert(g_file_set_contents(to, data, (gssize)length, NULL));
        ck_assert_int_eq(chmod(to, 0755), 0);
}

static void set_up(void)
{
        umask(022);
        temp = temporary_make(g_get_tmp_dir());
        above = g_build_filename(temp, "above", NULL);
        dir = g_build_filename(above, "dir", NULL);
        file = g_build_filename(dir, "alpha.so", NULL);
        ck_assert_int_eq(mkdir(above, 0755), 0);
        ck_assert_int_eq(mkdir(dir, 0755), 0);
        copy_module("alpha", file);
}

static void tear_down(void)
{
        temporary_remove(temp);
        g_free(file);
        g_free(dir);
        g_free(above);
        g_free(temp);
}

static void make_absent(void)
{
        ck_assert_int_eq(unlink(file), 0);
}

static void file_group_writable(void)
{
        ck_assert_int_eq(chmod(file, 0775), 0);
}

static void file_world_writable(void)
{
        ck_assert_int_eq(chmod(file, 0646), 0);
}

static void file_others(void)
{
        ck_assert_int_eq(chown(file, NOBODY, 0), 0);
}

static void dir_group_writable(void)
{
        ck_assert_int_eq(chmod(dir, 0775), 0);
}

static void dir_sticky(void)
{
        ck_assert_int_eq(chmod(dir, 01777), 0);
}

static void dir_others(void)
{
        ck_assert_int_eq(chown(dir, NOBODY, 0), 0);
}

static void above_world_writable(void)
{
        ck_assert_int_eq(chmod(above, 0777), 0);
}

static void above_sticky(void)
{
        ck_assert_int_eq(chmod(above, 01777), 0);
}

static void above_others(void)
{
        ck_assert_int_eq(chown(above, NOBODY, 0), 0);
}

/* Moves the module to temp/other and puts a link in its place. */
static void link_to(const char *target)
{
        g_autofree char *other = g_build_filename(temp, "other", NULL);
        g_autofree char *moved = g_build_filename(other, "module.so", NULL);

        ck_assert_int_eq(mkdir(other, 0755), 0);
        ck_assert_int_eq(rename(file, moved), 0);
        ck_assert_int_eq(symlink(target ? target : moved, file), 0);
}

static void link_relative(void)
{
        link_to("../../other/module.so");
}

static void link_absolute(void)
{
        link_to(NULL);
}

static void link_others(void)
{
        link_to(NULL);
        ck_assert_int_eq(lchown(file, NOBODY, 0), 0);
}

static void link_into_unsafe(void)
{
        g_autofree char *other = g_build_filename(temp, "other", NULL);

        link_to(NULL);
        ck_assert_int_eq(chmod(other, 0777), 0);
}

static void link_loop(void)
{
        link_to("alpha.so");
}

static void link_dangling(void)
{
        link_to("nothing.so");
}

static void link_in_sticky(void)
{
        link_to(NULL);
        ck_assert_int_eq(chmod(dir, 01777), 0);
}

static void make_directory(void)
{
        ck_assert_int_eq(unlink(file), 0);
        ck_assert_int_eq(mkdir(file, 0755), 0);
}

static void make_pipe(void)
{
        ck_assert_int_eq(unlink(file), 0);
        ck_assert_int_eq(mkfifo(file, 0600), 0);
}

static void make_text(void)
{
        g_autofree char *text = g_strnfill(4096, 'x');

        ck_assert(g_file_set_contents(file, text, -1, NULL));
}

static void make_empty(void)
{
        ck_assert_int_eq(truncate(file, 0), 0);
}

/* Where the last segment that is loaded ends. */
static off_t loaded_size(void)
{
        g_autofree char *data = NULL;
        const ElfW(Ehdr) * header;
        const ElfW(Phdr) * segments;
        off_t end = 0;

        ck_assert(g_file_get_contents(file, &data, NULL, NULL));
        header = (const void *)data;
        segments = (const void *)(data + header->e_phoff);
        for (int i = 0; i < header->e_phnum; i++)
                if (segments[i].p_type == PT_LOAD)
                        end = MAX(end, (off_t)(segments[i].p_offset + segments[i].p_filesz));
        ck_assert_int_gt(end, 0);
        return end;
}

/* Without the check these are a SIGBUS in the linker. */
static void make_half(void)
{
        ck_assert_int_eq(truncate(file, loaded_size() / 2), 0);
}

static void make_short(void)
{
        ck_assert_int_eq(truncate(file, loaded_size() - 1), 0);
}

static void make_header(void)
{
        ck_assert_int_eq(truncate(file, sizeof(ElfW(Ehdr)) + 10), 0);
}

static void make_truncated(void)
{
        ck_assert_int_eq(truncate(file, 200), 0);
}

static void nothing(void)
{
}

/* In messages TEMP stands for the temporary directory. */
static const struct {
        const char *name;
        bool as_root; /* needs root's rights to set up */
        void (*change)(void);
        int error;
        const char *message;
} files[] = {
        { "as it should be", false, nothing, 0, NULL },
        { "absent", false, make_absent, -ENOENT, "TEMP/above/dir/alpha.so: No such file" },
        { "file group-writable", false, file_group_writable, -EPERM,
          "TEMP/above/dir/alpha.so: found mode 0775, expected that neither group nor others may "
          "write" },
        { "file world-writable", false, file_world_writable, -EPERM,
          "TEMP/above/dir/alpha.so: found mode 0646, expected that neither" },
        { "file of another", true, file_others, -EPERM,
          "TEMP/above/dir/alpha.so: found owner 65534, expected root" },
        { "directory group-writable", false, dir_group_writable, -EPERM,
          "TEMP/above/dir: found mode 0775, expected that neither" },
        { "directory sticky", false, dir_sticky, -EPERM,
          "TEMP/above/dir/alpha.so: found in a directory that others may write to, expected one" },
        { "directory of another", true, dir_others, -EPERM,
          "TEMP/above/dir: found owner 65534, expected root" },
        { "parent world-writable", false, above_world_writable, -EPERM,
          "TEMP/above: found mode 0777, expected that neither" },
        { "parent sticky", false, above_sticky, 0, NULL },
        { "parent of another", true, above_others, -EPERM,
          "TEMP/above: found owner 65534, expected root" },
        { "relative link", false, link_relative, 0, NULL },
        { "absolute link", false, link_absolute, 0, NULL },
        { "link of another", true, link_others, -EPERM,
          "TEMP/above/dir/alpha.so: found owner 65534, expected root" },
        { "link into an unsafe directory", false, link_into_unsafe, -EPERM,
          "TEMP/other: found mode 0777, expected that neither" },
        { "link to itself", false, link_loop, -ELOOP, "TEMP/above/dir/alpha.so: Too many" },
        { "link to nothing", false, link_dangling, -ENOENT,
          "TEMP/above/dir/nothing.so: No such file" },
        { "link in a sticky directory", false, link_in_sticky, -EPERM,
          "TEMP/above/dir/alpha.so: found in a directory that others may write to" },
        { "directory", false, make_directory, -EPERM,
          "TEMP/above/dir/alpha.so: found a directory, expected a file" },
        { "pipe", false, make_pipe, -EPERM,
          "TEMP/above/dir/alpha.so: found a device, pipe or socket, expected a file" },
        { "text", false, make_text, -EPROTO,
          "TEMP/above/dir/alpha.so: cannot be loaded: invalid ELF header" },
        { "empty", false, make_empty, -EPROTO,
          "TEMP/above/dir/alpha.so: cannot be loaded: file too short" },
        { "truncated in half", false, make_half, -EPROTO, "TEMP/above/dir/alpha.so: found " },
        { "truncated by a byte", false, make_short, -EPROTO, "TEMP/above/dir/alpha.so: found " },
        { "only a header", false, make_header, -EPROTO, "TEMP/above/dir/alpha.so: found " },
        { "truncated in its headers", false, make_truncated, -EPROTO,
          "TEMP/above/dir/alpha.so: found 200 bytes, expected at least " },
};

TEST_EACH(safety, files)
{
        const IdledPolicy *policy = NULL;
        g_autofree char *error = NULL;
        g_auto(GStrv) parts = NULL;
        int r;

        if (c->as_root && geteuid() != 0) {
                case_skip(c->name, "needs root");
                return;
        }
        c->change();
        r = policy_load(dir, "alpha", &policy, &error);
        ck_case(c->name, r == c->error, "returned %d (%s), expected %d", r, error ? error : "",
                c->error);
        if (r == 0) {
                ck_assert_str_eq(policy->name, "alpha");
                return;
        }
        ck_assert_ptr_null(policy);
        parts = g_strsplit(error, temp, 2);
        g_free(error);
        error = g_strjoinv("TEMP", parts);
        ck_case(c->name, g_str_has_prefix(error, c->message), "says \"%s\", expected \"%s\"", error,
                c->message);
}

/* Parts of the message: the option, what was found and what is valid. */
static const struct {
        const char *module, *parts;
} wrongs[] = {
        { "wrong-abi", "ABI|" G_STRINGIFY(IDLED_POLICY_ABI) },
        { "wrong-align", "Eager|offset" },
        { "wrong-bounds", "Period|bounds" },
        { "wrong-check", "MinCores|MaxCores" },
        { "wrong-choices", "Order|choices" },
        { "wrong-decide", "summary|settings|decide()" },
        { "wrong-default", "Period|\"250\"|10ms|10s" },
        { "wrong-end", "256" },
        { "wrong-help", "Eager|default|help" },
        { "wrong-key", "A key" },
        { "wrong-name", "\"other\"|\"wrong-name\"" },
        { "wrong-offset", "Eager|offset" },
        { "wrong-section", "Policy" },
        { "wrong-size", "sizes" },
        { "wrong-symbol", "idled_policy" },
        { "wrong-twice", "MinCores|twice" },
        { "wrong-type", "Text|type" },
};

TEST_EACH(not_a_policy, wrongs)
{
        const IdledPolicy *policy = NULL;
        g_autofree char *error = NULL, *path = NULL, *again = NULL;

        path = g_strdup_printf("%s/%s.so: ", g_getenv("MODULES"), c->module);
        ck_assert_int_eq(policy_load(g_getenv("MODULES"), c->module, &policy, &error), -EPROTO);
        ck_case(c->module, g_str_has_prefix(error, path) && says(error + strlen(path), c->parts),
                "says \"%s\", expected %s", error, c->parts);
        ck_assert_int_eq(policy_load(g_getenv("MODULES"), c->module, &policy, &again), -EPROTO);
        ck_assert_str_eq(again, error);
        ck_assert_ptr_null(policy);
}

static const char *const names[] = { "",         "Alpha",  "../alpha", "al/pha",
                                     "alpha.so", "-alpha", "al pha",   "alph\xc3\xa4" };

TEST_EACH(not_a_name, names)
{
        const IdledPolicy *policy = NULL;
        g_autofree char *error = NULL;

        ck_assert_int_eq(policy_load(dir, names[_i], &policy, &error), -EINVAL);
        ck_assert(g_str_has_suffix(error, "expected a policy's name: lower-case letters, digits, "
                                          "- and _"));
        ck_assert_ptr_null(policy);
}

TEST(same_object)
{
        const IdledPolicy *alpha, *again, *beta;
        g_autofree char *error = NULL, *other = g_build_filename(dir, "beta.so", NULL);

        copy_module("beta", other);
        ck_assert_int_eq(policy_load(dir, "alpha", &alpha, &error), 0);
        ck_assert_int_eq(policy_load(dir, "alpha", &again, &error), 0);
        ck_assert_ptr_eq(alpha, again);
        ck_assert_int_eq(policy_load(dir, "beta", &beta, &error), 0);
        ck_assert_str_eq(beta->name, "beta");
        ck_assert_int_eq(policy_load(dir, "alpha", &again, &error), 0);
        ck_assert_ptr_eq(alpha, again);
        ck_assert_str_eq(again->name, "alpha");
}

/* An upgrade: the new file is loaded, and what points into the old one stays good. */
TEST(replaced_file)
{
        const IdledPolicy *old, *new;
        g_autofree char *error = NULL, *fresh = g_build_filename(dir, "fresh", NULL);

        ck_assert_int_eq(policy_load(dir, "alpha", &old, &error), 0);
        copy_module("alpha", fresh);
        ck_assert_int_eq(rename(fresh, file), 0);
        ck_assert_int_eq(policy_load(dir, "alpha", &new, &error), 0);
        ck_assert_ptr_ne(old, new);
        ck_assert_str_eq(old->name, "alpha");
        ck_assert_str_eq(new->name, "alpha");
}

TEST(list)
{
        static const char *const extra[] = { "beta.so", "Upper.so", "notes.txt", "sub.so.1" };
        g_auto(GStrv) found = NULL, none = NULL;
        g_autofree char *joined = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(extra); i++) {
                g_autofree char *path = g_build_filename(dir, extra[i], NULL);

                ck_assert(g_file_set_contents(path, "", 0, NULL));
        }
        found = policy_list(dir);
        joined = g_strjoinv(" ", found);
        ck_assert_str_eq(joined, "alpha beta");
        none = policy_list("/nonexistent");
        ck_assert_ptr_null(none[0]);
}

UNIT("plugin", .setup = set_up, .teardown = tear_down)
