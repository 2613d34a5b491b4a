/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chosen profile's file.
 *
 * It is written under another name, forced to the disk and moved into place by rename(2), and then
 * so is the directory: after a power cut the old choice is there or the new one, whole. That takes
 * as long as the disk does, once for each choice.
 */
#include "manager/profile-state.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "config/profile.h"

#define FILE_NAME "profile"
#define NEW_NAME  "profile.new"

static int open_directory(const char *dir)
{
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int profile_state_read(const char *dir, char **ret_name)
{
        g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL), *text = NULL;
        int r;

        r = file_read_regular(path, &text);
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        if (!profile_is_name(text))
                return -EBADMSG;
        *ret_name = g_steal_pointer(&text);
        return 0;
}

/* Some file systems have no disk, and say so. */
static int force_to_disk(int fd)
{
        return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -errno : 0;
}

static int write_whole(int dir, const char *text)
{
        _fd_ int fd = openat(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             0644);
        ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? force_to_disk(fd) : -EIO;
}

static int remove_file(int dir)
{
        if (unlinkat(dir, FILE_NAME, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        return force_to_disk(dir);
}

int profile_state_write(const char *dir, const char *name)
{
        g_autofree char *line = g_strconcat(name ? name : "", "\n", NULL);
        _fd_ int fd = -1;
        int r;

        if (name && g_mkdir_with_parents(dir, 0755) < 0)
                return -errno;
        fd = open_directory(dir);
        if (fd < 0)
                return !name && fd == -ENOENT ? 0 : fd;
        if (!name)
                return remove_file(fd);
        unlinkat(fd, NEW_NAME, 0);
        r = write_whole(fd, line);
        if (r >= 0 && renameat(fd, NEW_NAME, fd, FILE_NAME) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(fd, NEW_NAME, 0);
        return r < 0 ? r : force_to_disk(fd);
}
