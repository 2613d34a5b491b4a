/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Policies as plugins.
 *
 * idled opens and checks the file first (safe_open()), and then loads it through the descriptor, so
 * that it loads the file that it checked. The dynamic linker and GModule know a loaded module by
 * its path, here the path of the descriptor. So idled never closes the descriptor of a loaded
 * module: no other descriptor may get its number. The open descriptor also keeps the inode, so
 * idled knows by the inode that a file is loaded already, and does not load it again.
 */
#include "config/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <gmodule.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/setting-value.h"
#include "config/plugin-elf.h"

#define LINKS_MAX 40

/*
 * safe_open(): the path is walked step by step from the root directory. Each step is opened
 * relative to the one before, without following links, and the opened file is the one that is
 * checked. A link's target replaces its name in the rest of the path. So nothing can be exchanged
 * between check and use.
 *
 * A directory such as /tmp, in which all users may create but only owners may remove, may contain a
 * directory, because that belongs to root and cannot be replaced. It must not contain the file or a
 * link, because any user can create a hard link to a file of root there.
 */
typedef struct Walk {
        int fd;        /* where we are; a directory until the end */
        bool shared;   /* others may create files in it */
        GString *path; /* of `fd`, for messages */
        char *rest;    /* steps to go, without a leading slash */
        int n_links;
        char **ret_error;
} Walk;

static int fail(Walk *walk, const char *path, int error)
{
        *walk->ret_error = g_strdup_printf("%s: %s", path, g_strerror(-error));
        return error;
}

static int refuse_owner(Walk *walk, const char *path, const struct stat *st)
{
        if (st->st_uid == 0 || st->st_uid == geteuid())
                return 0;
        *walk->ret_error = g_strdup_printf("%s: found owner %u, expected root%s", path, st->st_uid,
                                           geteuid() == 0 ? "" : " or the user that runs idled");
        return -EPERM;
}

static int refuse_mode(Walk *walk, const char *path, const struct stat *st)
{
        *walk->ret_error = g_strdup_printf("%s: found mode %04o, expected that neither group nor "
                                           "others may write",
                                           path, st->st_mode & 07777);
        return -EPERM;
}

/* Whether what was opened as `path` may be used; sets `*ret_shared` for a directory. */
static int check_step(Walk *walk, const char *path, const struct stat *st, bool *ret_shared)
{
        bool writable = st->st_mode & (S_IWGRP | S_IWOTH);
        int r;

        r = refuse_owner(walk, path, st);
        if (r < 0)
                return r;
        if (S_ISDIR(st->st_mode)) {
                if (writable && !(st->st_mode & S_ISVTX))
                        return refuse_mode(walk, path, st);
                *ret_shared = writable;
                return 0;
        }
        if (walk->shared) {
                *walk->ret_error = g_strdup_printf(
                        "%s: found in a directory that others may write to, expected one that only "
                        "its owner may write to",
                        path);
                return -EPERM;
        }
        /* A link's mode means nothing. */
        return writable && !S_ISLNK(st->st_mode) ? refuse_mode(walk, path, st) : 0;
}

static int start_at_root(Walk *walk)
{
        struct stat st;

        if (walk->fd >= 0)
                close(walk->fd);
        walk->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        g_string_assign(walk->path, "/");
        if (walk->fd < 0 || fstat(walk->fd, &st) < 0)
                return fail(walk, "/", -errno);
        return check_step(walk, "/", &st, &walk->shared);
}

/* Puts the target of link `fd` in front of the rest of the way. */
static int follow_link(Walk *walk, int fd, const char *path)
{
        char target[PATH_MAX];
        ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
        char *rest;

        if (n < 0)
                return fail(walk, path, -errno);
        if (++walk->n_links > LINKS_MAX)
                return fail(walk, path, -ELOOP);
        target[n] = '\0';
        rest = g_strdup_printf("%s/%s", target, walk->rest);
        g_free(walk->rest);
        walk->rest = rest;
        return target[0] == '/' ? start_at_root(walk) : 0;
}

/* Takes the next name off the rest of the way; NULL at the end. */
static char *next_step(Walk *walk)
{
        const char *start = walk->rest + strspn(walk->rest, "/");
        size_t length = strcspn(start, "/");
        char *name = length > 0 ? g_strndup(start, length) : NULL, *rest = g_strdup(start + length);

        g_free(walk->rest);
        walk->rest = rest;
        return name;
}

static int walk_step(Walk *walk, const char *name)
{
        _fd_ int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        g_autofree char *path = g_build_filename(walk->path->str, name, NULL);
        bool shared = false;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return fail(walk, path, -errno);
        r = check_step(walk, path, &st, &shared);
        if (r < 0)
                return r;
        if (S_ISLNK(st.st_mode))
                return follow_link(walk, fd, path);
        close(walk->fd);
        walk->fd = fd;
        fd = -1;
        walk->shared = shared;
        g_string_assign(walk->path, path);
        return 0;
}

/* The end of the way must be a file. */
static int check_end(Walk *walk)
{
        struct stat st;

        if (fstat(walk->fd, &st) < 0)
                return fail(walk, walk->path->str, -errno);
        if (S_ISREG(st.st_mode))
                return 0;
        *walk->ret_error = g_strdup_printf("%s: found %s, expected a file", walk->path->str,
                                           S_ISDIR(st.st_mode) ? "a directory"
                                                               : "a device, pipe or socket");
        return -EPERM;
}

/* Opens with O_PATH the regular file `path` (absolute), following links, if only root and the user
 * that runs this program can create or change it: each directory, each link and the file belong to
 * one of them, and no directory nor the file is writable by others. A directory with the sticky bit
 * is permitted if the next step is a directory too. Returns the descriptor; -EPERM if it is not
 * safe; else open(2)'s error. Both set `*ret_error`. */
static int safe_open(const char *path, char **ret_error)
{
        Walk walk = { .fd = -1, .path = g_string_new(NULL), .rest = g_strdup(path) };
        int r;

        walk.ret_error = ret_error;
        r = start_at_root(&walk);
        while (r == 0) {
                g_autofree char *name = next_step(&walk);

                if (!name)
                        break;
                r = walk_step(&walk, name);
        }
        if (r == 0)
                r = check_end(&walk);
        g_string_free(walk.path, TRUE);
        g_free(walk.rest);
        if (r == 0)
                return walk.fd;
        if (walk.fd >= 0)
                close(walk.fd);
        return r;
}

#define SUFFIX           ".so"
#define NAME_LENGTH_MAX  64
#define OPTIONS_SIZE_MAX (1u << 20)
#define STATE_SIZE_MAX   (64u << 20)
#define SETTINGS_MAX     256

/* A module that was loaded once; they stay until the end. */
typedef struct Loaded {
        dev_t device;
        ino_t inode;
        GModule *module;
} Loaded;

static GArray *loaded;

static bool is_policy_name(const char *name)
{
        size_t length = strlen(name);

        return g_ascii_islower(name[0]) && length <= NAME_LENGTH_MAX &&
               strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == length;
}

static GModule *find_loaded(const struct stat *st)
{
        for (guint i = 0; loaded && i < loaded->len; i++) {
                const Loaded *l = &g_array_index(loaded, Loaded, i);

                if (l->device == st->st_dev && l->inode == st->st_ino)
                        return l->module;
        }
        return NULL;
}

/* The linker's message without the meaningless path of the descriptor. */
static char *linker_message(const char *opened)
{
        const char *message = g_module_error();

        if (g_str_has_prefix(message, opened))
                message += strlen(opened);
        message += strspn(message, ": ");
        return g_strdup(message);
}

/* `opened` names the file that was found safe, whose descriptor cannot be read. */
static int check_whole(const char *path, const char *opened, uint64_t size, char **ret_error)
{
        _fd_ int fd = open(opened, O_RDONLY | O_CLOEXEC);
        uint64_t expected = 0;
        int r = fd < 0 ? -errno : plugin_elf_check(fd, &expected);

        if (r == -ENODATA)
                *ret_error = g_strdup_printf("%s: found %" G_GUINT64_FORMAT " bytes, expected at "
                                             "least %" G_GUINT64_FORMAT ": the file is truncated",
                                             path, size, expected);
        else if (r < 0)
                *ret_error = g_strdup_printf("%s: %s", path, g_strerror(-r));
        return r == -ENODATA ? -EPROTO : r;
}

/* Why the linker refused a file that was whole: it says so only in words. */
static int refusal(const char *opened)
{
        _fd_ int fd = open(opened, O_RDONLY | O_CLOEXEC);
        struct stat st;

        return fd < 0 || stat(opened, &st) < 0 ? -errno : -EPROTO;
}

static int load_module(const char *path, GModule **ret_module, char **ret_error)
{
        _fd_ int fd = safe_open(path, ret_error);
        g_autofree char *opened = g_strdup_printf("/proc/self/fd/%d", fd), *message = NULL;
        struct stat st;
        Loaded entry;
        int r;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0) {
                *ret_error = g_strdup_printf("%s: %s", path, g_strerror(errno));
                return -errno;
        }
        *ret_module = find_loaded(&st);
        if (*ret_module)
                return 0;
        r = check_whole(path, opened, (uint64_t)st.st_size, ret_error);
        if (r < 0)
                return r;
        entry = (Loaded){ st.st_dev, st.st_ino, g_module_open(opened, G_MODULE_BIND_LOCAL) };
        if (!entry.module) /* again: a lack of descriptors may be over */
                entry.module = g_module_open(opened, G_MODULE_BIND_LOCAL);
        if (!entry.module) {
                r = refusal(opened);
                message = linker_message(opened);
                *ret_error = g_strdup_printf("%s: cannot be loaded: %s", path, message);
                return r;
        }
        fd = -1; /* kept */
        g_module_make_resident(entry.module);
        if (!loaded)
                loaded = g_array_new(FALSE, FALSE, sizeof(Loaded));
        g_array_append_val(loaded, entry);
        *ret_module = entry.module;
        return 0;
}

/* The size and alignment of a value in the options struct; false for a type that is none. */
static bool type_layout(SettingType type, size_t *ret_size, size_t *ret_align)
{
#define LAYOUT(setting_type, c_type)                                                               \
        case setting_type:                                                                         \
                *ret_size = sizeof(c_type);                                                        \
                *ret_align = _Alignof(c_type);                                                     \
                return true
        switch (type) {
                LAYOUT(SETTING_BOOL, bool);
                LAYOUT(SETTING_COUNT, uint64_t);
                LAYOUT(SETTING_DURATION, uint64_t);
                LAYOUT(SETTING_REAL, double);
                LAYOUT(SETTING_PERCENT, double);
                LAYOUT(SETTING_CPUSET, CpuSet);
                LAYOUT(SETTING_CHOICE, int);
                LAYOUT(SETTING_STRING, char *);
                LAYOUT(SETTING_LIST, char **);
        }
#undef LAYOUT
        return false;
}

static bool is_key(const char *key)
{
        for (const char *c = key; *c; c++)
                if (!g_ascii_isalnum(*c))
                        return false;
        return *key;
}

/* Returns what is wrong with a row, NULL if nothing is. */
static const char *row_problem(const Setting *rows, const Setting *row, size_t options_size)
{
        size_t size, align;

        if (!is_key(row->key))
                return "has a key that is not letters and digits";
        if (setting_find(rows, row->section, row->key) != row)
                return "is in the table twice";
        if (!type_layout(row->type, &size, &align))
                return "has an unknown type";
        if (row->offset % align != 0 || size > options_size || row->offset > options_size - size)
                return "has an offset that is not one of a member of the options";
        if (!row->fallback || !row->help)
                return "has no default or no help";
        if (row->type == SETTING_CHOICE && (!row->choices || !row->choices[0]))
                return "has no choices";
        if (isnan(row->min) || isnan(row->max) || row->min > row->max)
                return "has bounds that allow nothing";
        return NULL;
}

static int check_rows(const IdledPolicy *policy, char **ret_error)
{
        int n = 0;

        while (n <= SETTINGS_MAX && policy->settings[n].key)
                n++;
        if (n > SETTINGS_MAX) {
                *ret_error = g_strdup_printf("found more than %d options, expected a row without "
                                             "key at their end",
                                             SETTINGS_MAX);
                return -EPROTO;
        }
        for (const Setting *row = policy->settings; row->key; row++)
                if (g_strcmp0(row->section, "Policy") != 0 &&
                    g_strcmp0(row->section, "State") != 0) {
                        *ret_error = g_strdup("found an option outside of sections Policy and "
                                              "State, expected all in them");
                        return -EPROTO;
                }
        for (const Setting *row = policy->settings; row->key; row++) {
                const char *problem = row_problem(policy->settings, row, policy->options_size);
                g_autofree char *clean = problem ? log_clean(row->key) : NULL;

                if (!problem)
                        continue;
                *ret_error = g_strdup_printf("option %s %s", clean, problem);
                return -EPROTO;
        }
        return 0;
}

/* That the defaults parse and fit together. */
static int check_defaults(const IdledPolicy *policy, char **ret_error)
{
        const char *key = NULL, *wrong = NULL;
        void *options;

        if (settings_new(policy->settings, policy->options_size, &options, ret_error) < 0)
                return -EPROTO;
        if (policy->check)
                wrong = policy->check(options, &key);
        settings_free(policy->settings, options);
        if (!wrong)
                return 0;
        *ret_error = g_strdup_printf("the default of %s %s", key ? key : "an option", wrong);
        return -EPROTO;
}

/* -EPROTO and an error, without the path, if the policy is not one that could be used as `name`. */
static int check_policy(const IdledPolicy *policy, const char *name, char **ret_error)
{
        g_autofree char *clean = NULL;
        int r;

        if (policy->abi != IDLED_POLICY_ABI) {
                *ret_error = g_strdup_printf("found policy ABI %u, expected %d: build it against "
                                             "the installed idled-policy.h",
                                             policy->abi, IDLED_POLICY_ABI);
                return -EPROTO;
        }
        if (!policy->name || !g_str_equal(policy->name, name)) {
                clean = log_clean(policy->name ? policy->name : "");
                *ret_error = g_strdup_printf("found policy \"%s\", expected \"%s\" in a file of "
                                             "that name",
                                             clean, name);
                return -EPROTO;
        }
        if (!policy->summary || !policy->settings || !policy->decide) {
                *ret_error = g_strdup("found no summary, settings or decide(), expected all three");
                return -EPROTO;
        }
        if (policy->options_size > OPTIONS_SIZE_MAX || policy->state_size > STATE_SIZE_MAX) {
                *ret_error = g_strdup_printf("found sizes of %zu and %zu bytes, expected at most "
                                             "%u for options and %u for state",
                                             policy->options_size, policy->state_size,
                                             OPTIONS_SIZE_MAX, STATE_SIZE_MAX);
                return -EPROTO;
        }
        r = check_rows(policy, ret_error);
        return r < 0 ? r : check_defaults(policy, ret_error);
}

int policy_load(const char *dir, const char *name, const IdledPolicy **ret_policy, char **ret_error)
{
        g_autofree char *clean = log_clean(name), *path = NULL, *error = NULL;
        GModule *module = NULL;
        gpointer symbol;
        int r;

        if (!is_policy_name(name)) {
                *ret_error = g_strdup_printf("found \"%s\", expected a policy's name: lower-case "
                                             "letters, digits, - and _",
                                             clean);
                return -EINVAL;
        }
        path = g_strconcat(dir, "/", name, SUFFIX, NULL);
        r = load_module(path, &module, ret_error);
        if (r < 0)
                return r;
        if (!g_module_symbol(module, "idled_policy", &symbol)) {
                *ret_error = g_strdup_printf("%s: found no idled_policy in it, expected a policy",
                                             path);
                return -EPROTO;
        }
        r = check_policy(symbol, name, &error);
        if (r < 0) {
                *ret_error = g_strdup_printf("%s: %s", path, error);
                return r;
        }
        *ret_policy = symbol;
        return 0;
}

char **policy_list(const char *dir)
{
        char **names = dir_list(AT_FDCWD, dir, "");
        size_t n = 0;

        for (char **name = names; *name; name++) {
                bool is_policy = g_str_has_suffix(*name, SUFFIX);

                (*name)[strlen(*name) - (is_policy ? strlen(SUFFIX) : 0)] = '\0';
                if (is_policy && is_policy_name(*name))
                        names[n++] = *name;
                else
                        g_free(*name);
        }
        names[n] = NULL;
        return names;
}
