/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening a file whose code will be executed.
 *
 * The path is walked step by step from the root directory. Each step is opened relative to the one
 * before, without following links, and the opened file is the one that is checked. A link's target
 * replaces its name in the rest of the path. So nothing can be exchanged between check and use.
 *
 * A directory such as /tmp, in which all users may create but only owners may remove, may contain a
 * directory, because that belongs to root and cannot be replaced. It must not contain the file or a
 * link, because any user can create a hard link to a file of root there.
 */
#include "config/plugin-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

#define LINKS_MAX 40

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

int safe_open(const char *path, char **ret_error)
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
