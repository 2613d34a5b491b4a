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
#define ALPHA  "above/dir/alpha.so"
#define MOVED  "MOVED"

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

/* Moves the module to temp/other and puts a link in its place. */
static void link_to(const char *target)
{
        g_autofree char *other = g_build_filename(temp, "other", NULL);
        g_autofree char *moved = g_build_filename(other, "module.so", NULL);

        ck_assert_int_eq(mkdir(other, 0755), 0);
        ck_assert_int_eq(rename(file, moved), 0);
        ck_assert_int_eq(symlink(g_str_equal(target, MOVED) ? moved : target, file), 0);
}

static void make_absent(void)
{
        ck_assert_int_eq(unlink(file), 0);
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

static void make_empty(void)
{
        ck_assert_int_eq(truncate(file, 0), 0);
}

static void make_half(void)
{
        ck_assert_int_eq(truncate(file, loaded_size() / 2), 0);
}

/* In messages TEMP stands for the temporary directory. */
static const struct {
        const char *name;
        int error;
        const char *message;
        const char *path;   /* what the mode and the owner are of, below the temporary directory */
        mode_t mode;        /* 0: as it is */
        bool other;         /* belongs to another user, which needs root */
        const char *link;   /* the file becomes a link to this, or to where the module is then */
        int size;           /* of the truncated file, negative: less than what is loaded; 0: all.
                               Without the check these are a SIGBUS in the linker */
        void (*make)(void); /* else */
} files[] = {
        { "as it should be", 0, NULL },
        { "absent", -ENOENT, "TEMP/above/dir/alpha.so: No such file", .make = make_absent },
        { "file group-writable", -EPERM,
          "TEMP/above/dir/alpha.so: found mode 0775, expected that neither group nor others may "
          "write",
          ALPHA, 0775 },
        { "file world-writable", -EPERM,
          "TEMP/above/dir/alpha.so: found mode 0646, expected that neither", ALPHA, 0646 },
        { "file of another", -EPERM, "TEMP/above/dir/alpha.so: found owner 65534, expected root",
          ALPHA, .other = true },
        { "directory group-writable", -EPERM,
          "TEMP/above/dir: found mode 0775, expected that neither", "above/dir", 0775 },
        { "directory sticky", -EPERM,
          "TEMP/above/dir/alpha.so: found in a directory that others may write to, expected one",
          "above/dir", 01777 },
        { "directory of another", -EPERM, "TEMP/above/dir: found owner 65534, expected root",
          "above/dir", .other = true },
        { "parent world-writable", -EPERM, "TEMP/above: found mode 0777, expected that neither",
          "above", 0777 },
        { "parent sticky", 0, NULL, "above", 01777 },
        { "parent of another", -EPERM, "TEMP/above: found owner 65534, expected root", "above",
          .other = true },
        { "relative link", 0, NULL, .link = "../../other/module.so" },
        { "absolute link", 0, NULL, .link = MOVED },
        { "link of another", -EPERM, "TEMP/above/dir/alpha.so: found owner 65534, expected root",
          ALPHA, .other = true, .link = MOVED },
        { "link into an unsafe directory", -EPERM,
          "TEMP/other: found mode 0777, expected that neither", "other", 0777, .link = MOVED },
        { "link to itself", -ELOOP, "TEMP/above/dir/alpha.so: Too many", .link = "alpha.so" },
        { "link to nothing", -ENOENT, "TEMP/above/dir/nothing.so: No such file",
          .link = "nothing.so" },
        { "link in a sticky directory", -EPERM,
          "TEMP/above/dir/alpha.so: found in a directory that others may write to", "above/dir",
          01777, .link = MOVED },
        { "directory", -EPERM, "TEMP/above/dir/alpha.so: found a directory, expected a file",
          .make = make_directory },
        { "pipe", -EPERM,
          "TEMP/above/dir/alpha.so: found a device, pipe or socket, expected a file",
          .make = make_pipe },
        { "text", -EPROTO, "TEMP/above/dir/alpha.so: cannot be loaded: invalid ELF header",
          .make = make_text },
        { "empty", -EPROTO, "TEMP/above/dir/alpha.so: cannot be loaded: file too short",
          .make = make_empty },
        { "truncated in half", -EPROTO, "TEMP/above/dir/alpha.so: found ", .make = make_half },
        { "truncated by a byte", -EPROTO, "TEMP/above/dir/alpha.so: found ", .size = -1 },
        { "only a header", -EPROTO, "TEMP/above/dir/alpha.so: found ",
          .size = sizeof(ElfW(Ehdr)) + 10 },
        { "truncated in its headers", -EPROTO,
          "TEMP/above/dir/alpha.so: found 200 bytes, expected at least ", .size = 200 },
};

TEST_EACH(safety, files)
{
        const IdledPolicy *policy = NULL;
        g_autofree char *error = NULL, *path = g_build_filename(temp, c->path, NULL);
        g_auto(GStrv) parts = NULL;
        int r;

        if (c->other && geteuid() != 0) {
                case_skip(c->name, "needs root");
                return;
        }
        if (c->link)
                link_to(c->link);
        if (c->mode)
                ck_assert_int_eq(chmod(path, c->mode), 0);
        if (c->other)
                ck_assert_int_eq(lchown(path, NOBODY, 0), 0);
        if (c->size)
                ck_assert_int_eq(truncate(file, c->size + (c->size < 0 ? loaded_size() : 0)), 0);
        if (c->make)
                c->make();
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
